//! Whole files, as people and packages write them, and what becomes of them.
//!
//! The files in `data` are our own, made after what is common in the wild. What
//! is expected stands beside them in a `.expected` file: each item with its line
//! and verdict, its entry, and `!` before what changed or why it was refused.

use kron_core::Zones;
use kron_import::{File, Format, Host, Import, Names, Verdict, import};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn home(user: &str) -> Option<String> {
    match user {
        "root" => Some("/root".into()),
        "list" => None,
        _ => Some(format!("/home/{user}")),
    }
}

fn show(import: &Import, names: &[String]) -> String {
    let mut out = String::new();
    let place = |file: usize| if names.len() > 1 { names[file].as_str() } else { "line" };
    for item in &import.items {
        let verdict = match item.verdict {
            Verdict::Exact(_) => "exact",
            Verdict::Changed { .. } => "changed",
            Verdict::Refused { .. } => "refused",
        };
        let name = item.verdict.entry().map_or("", |entry| &entry.name);
        let heading = format!("{} {}: {verdict} {name}", place(item.file), item.line);
        let _ = writeln!(out, "{}\n  < {}", heading.trim(), item.source);
        if let Some(entry) = item.verdict.entry() {
            let _ = writeln!(out, "  {}", entry.schedule);
            for (key, value) in &entry.fields {
                let _ = writeln!(out, "  {key}={value}");
            }
        }
        for note in item.verdict.notes() {
            let _ = writeln!(out, "  ! {note}");
        }
    }
    for remark in &import.remarks {
        let line = remark.line.map_or("all".into(), |line| line.to_string());
        let _ = writeln!(out, "{} {line}: {}", place(remark.file), remark.text);
    }
    out
}

/// Imports files and compares with what is expected. With `EXPECT=write` in the
/// environment the expectation is written instead, to be read before it is kept.
fn check(format: Format, names: &[String], system: bool, expected: &str) {
    let texts: Vec<String> =
        names.iter().map(|name| fs::read_to_string(data(name)).unwrap()).collect();
    let files: Vec<File<'_>> =
        names.iter().zip(&texts).map(|(name, text)| File { name, text }).collect();
    let host = Host { zone: "Europe/Berlin", user: "ada", home: &home, system };
    let import = import(format, &files, &host, &mut Names::new(), &mut Zones::bundled());
    let found = show(&import, names);
    if std::env::var_os("EXPECT").is_some_and(|value| value == "write") {
        fs::write(data(expected), &found).unwrap();
    }
    let expected = fs::read_to_string(data(expected)).unwrap_or_default();
    for (found, expected) in found.lines().zip(expected.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.lines().count(), expected.lines().count());
}

#[test]
fn a_users_crontab() {
    check(Format::Crontab, &["user.crontab".into()], false, "user.expected");
}

#[test]
fn the_systems_crontab() {
    check(Format::SystemCrontab, &["system.crontab".into()], true, "system.expected");
}

#[test]
fn timers_and_services() {
    let mut names: Vec<String> = fs::read_dir(data("units"))
        .unwrap()
        .map(|entry| format!("units/{}", entry.unwrap().file_name().display()))
        .collect();
    names.sort();
    check(Format::Systemd, &names, true, "units.expected");
}

#[test]
fn manifests() {
    check(Format::CronJob, &["cronjobs.yaml".into()], true, "cronjobs.expected");
}
