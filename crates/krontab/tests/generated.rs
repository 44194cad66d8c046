//! Man pages and completions are committed, and are those of this program.
//!
//! `UPDATE=1 cargo test -p krontab --test generated` writes them anew.

use clap::CommandFactory;
use clap_complete::{Shell, generate};
use krontab::cli::Cli;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compares a file with what it should be, or writes it.
fn check(path: &str, contents: &[u8]) {
    let file = root().join(path);
    if std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, contents).unwrap();
    }
    let committed = fs::read(&file).unwrap_or_default();
    let same = committed == contents;
    assert!(same, "{path} is out of date: run `UPDATE=1 cargo test -p krontab --test generated`");
}

#[test]
fn man_pages() {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut pages = vec![("krontab".to_string(), command.clone())];
    for sub in command.get_subcommands() {
        let name = format!("krontab-{}", sub.get_name());
        // Names are for the whole life of a program; here that is a test.
        let titled = sub.clone().name(&*name.clone().leak());
        pages.push((name, titled.bin_name(format!("krontab {}", sub.get_name()))));
    }
    assert!(pages.len() > 12);
    for (name, command) in pages {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).date("2026-11-16").render(&mut page).unwrap();
        check(&format!("man/{name}.1"), &page);
    }
}

#[test]
fn completions() {
    for (shell, file) in
        [(Shell::Bash, "krontab.bash"), (Shell::Zsh, "_krontab"), (Shell::Fish, "krontab.fish")]
    {
        let mut out = Vec::new();
        generate(shell, &mut Cli::command(), "krontab", &mut out);
        check(&format!("completions/{file}"), &out);
    }
}
