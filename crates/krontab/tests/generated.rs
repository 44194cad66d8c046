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
        check(&format!("man/{name}.1"), &page(command));
    }
}

/// A man page: what clap knows, and the text below `--help` set as it is.
fn page(command: clap::Command) -> Vec<u8> {
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let has_commands = command.get_subcommands().next().is_some();
    let version = env!("CARGO_PKG_VERSION");
    let man =
        clap_mangen::Man::new(command).date("2026-11-16").source(format!("krontab {version}"));
    let mut out = Vec::new();
    man.render_title(&mut out).unwrap();
    man.render_name_section(&mut out).unwrap();
    man.render_synopsis_section(&mut out).unwrap();
    man.render_description_section(&mut out).unwrap();
    man.render_options_section(&mut out).unwrap();
    if has_commands {
        man.render_subcommands_section(&mut out).unwrap();
    }
    for block in after.split("\n\n") {
        // `Examples:` and the like are headings; other text is a remark.
        let (heading, body) = match block.split_once(":\n") {
            Some((heading, body)) if !heading.contains(['\n', ' ']) || heading == "Exit codes" => {
                (heading.to_uppercase(), body)
            }
            _ => ("NOTES".into(), block),
        };
        let body = body.replace('\\', "\\e").replace('-', "\\-").replace("\n.", "\n\\&.");
        let body = body.replace('\'', "\\(aq");
        out.extend(format!(".SH \"{heading}\"\n.nf\n{body}\n.fi\n").bytes());
    }
    let pages = ".SH \"SEE ALSO\"\nkrontab(1), kron(5)\n";
    out.extend(pages.bytes());
    out
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

/// The page of the file format is written by hand; it names every field and
/// every modifier.
#[test]
fn the_page_of_the_format_is_complete() {
    let page = fs::read_to_string(root().join("man/kron.5")).unwrap().replace("\\-", "-");
    for key in kron_tab::Key::ALL {
        assert!(page.contains(key.as_str()), "{}", key.as_str());
    }
    for modifier in ["@tz", "@win", "@dist", "@seed", "@policy", "@only", "@avoid"] {
        assert!(page.contains(modifier), "{modifier}");
    }
}
