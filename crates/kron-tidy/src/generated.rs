//! Man pages and completions of a program, from its command line.
//!
//! They are committed, so that installing needs no more than copying; a test of
//! each program compares them, or writes them anew if `UPDATE` is set.

use crate::root;
use clap::Command;
use clap_complete::{Shell, generate};
use std::fs;

/// The date of the pages: that of the version.
const DATE: &str = "2026-11-16";

/// Compares a committed file with what it should be, or writes it.
///
/// # Panics
/// When it differs, or cannot be written.
pub fn check(path: &str, contents: &[u8]) {
    let file = root().join(path);
    if std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, contents).unwrap();
    }
    let committed = fs::read(&file).unwrap_or_default();
    assert!(committed == contents, "{path} is out of date: run `make generate`");
}

/// Checks the pages of a program and all its commands; returns how many there are.
///
/// # Panics
/// When one differs.
#[must_use]
pub fn man_pages(command: Command, section: &str, version: &str) -> usize {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let program = command.get_name().to_string();
    let source = format!("{program} {version}");
    let mut pages = Vec::new();
    collect(&command, &program, &program, &mut pages);
    for (name, command) in &pages {
        check(&format!("man/{name}.{section}"), &page(command, section, &source));
    }
    pages.len()
}

/// A page for a command, and one for each command below it.
fn collect(command: &Command, name: &str, usage: &str, pages: &mut Vec<(String, Command)>) {
    // Names are for the whole life of a program; here that is a test.
    let titled = command.clone().name(&*name.to_string().leak()).bin_name(usage);
    pages.push((name.into(), titled));
    for sub in command.get_subcommands() {
        let word = sub.get_name();
        collect(sub, &format!("{name}-{word}"), &format!("{usage} {word}"), pages);
    }
}

/// A man page: what clap knows, and the text below `--help` set as it is.
fn page(command: &Command, section: &str, source: &str) -> Vec<u8> {
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let has_commands = command.get_subcommands().next().is_some();
    let man = clap_mangen::Man::new(command.clone()).section(section).date(DATE).source(source);
    let mut out = Vec::new();
    man.render_title(&mut out).unwrap();
    man.render_name_section(&mut out).unwrap();
    man.render_synopsis_section(&mut out).unwrap();
    man.render_description_section(&mut out).unwrap();
    man.render_options_section(&mut out).unwrap();
    if has_commands {
        man.render_subcommands_section(&mut out).unwrap();
    }
    for block in after.split("\n\n").filter(|block| !block.is_empty()) {
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
    let others = ["krontab(1)", "krond(8)", "kron(5)"].into_iter();
    let others = others.filter(|page| page.split('(').next() != Some(command.get_name()));
    let others = others.collect::<Vec<_>>().join(", ");
    out.extend(format!(".SH \"SEE ALSO\"\n{others}\n").bytes());
    out
}

/// Checks the completions for bash, zsh and fish.
///
/// # Panics
/// When one differs.
pub fn completions(mut command: Command) {
    let name = command.get_name().to_string();
    for (shell, file) in [
        (Shell::Bash, format!("{name}.bash")),
        (Shell::Zsh, format!("_{name}")),
        (Shell::Fish, format!("{name}.fish")),
    ] {
        let mut out = Vec::new();
        generate(shell, &mut command, &name, &mut out);
        check(&format!("completions/{file}"), &out);
    }
}
