//! Every requirement of a finished part is named by at least one test.

use kron_tidy::{files, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// Parts that exist, as prefixes of ids with the last number finished.
const FINISHED: [(&str, u32); 10] = [
    ("CORE", 51),
    ("SYN", 45),
    ("LIF", 19),
    ("SCH", 20),
    ("EXE", 32),
    ("STA", 38),
    ("ERR", 32),
    ("OBS", 8),
    ("PERF", 5),
    ("OPR", 10),
];

const GROUPS: [&str; 10] = ["CORE", "SYN", "LIF", "SCH", "EXE", "STA", "ERR", "OBS", "OPR", "PERF"];

/// Ids such as `CORE-07` in a text.
fn ids(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for group in GROUPS {
        for (at, _) in text.match_indices(&format!("{group}-")) {
            let number = text.get(at + group.len() + 1..at + group.len() + 3);
            let starts_a_word = !text[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
            if let Some(number) = number.filter(|n| n.bytes().all(|b| b.is_ascii_digit()))
                && starts_a_word
            {
                found.insert(format!("{group}-{number}"));
            }
        }
    }
    found
}

/// The rows of the requirements page, withdrawn ones left out.
fn requirements() -> BTreeSet<String> {
    let page = fs::read_to_string(root().join("docs/REQUIREMENTS.md")).unwrap();
    page.lines()
        .filter(|line| line.starts_with("| ") && !line.contains("| Withdrawn"))
        .filter_map(|line| line[2..].split(' ').next())
        .filter(|first| ids(first).contains(*first))
        .map(String::from)
        .collect()
}

/// Ids named by tests: in `tests` folders, and in test modules.
fn named() -> BTreeMap<String, PathBuf> {
    let mut named = BTreeMap::new();
    for path in files(&root().join("crates")).unwrap() {
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        if !is_rust || path.starts_with(root().join("crates/kron-tidy")) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let in_tests = path.components().any(|part| part.as_os_str() == "tests");
        let tests =
            if in_tests { &*text } else { text.split_once("#[cfg(test)]").map_or("", |(_, t)| t) };
        for id in ids(tests) {
            named.insert(id, path.clone());
        }
    }
    named
}

#[test]
fn every_finished_row_is_named_by_a_test() {
    let requirements = requirements();
    assert_eq!(requirements.len(), 259);
    let named = named();
    let finished = |id: &str| {
        let (group, number) = id.split_once('-').unwrap();
        FINISHED
            .iter()
            .any(|(prefix, last)| *prefix == group && number.parse::<u32>().unwrap() <= *last)
    };
    let missing: Vec<&String> =
        requirements.iter().filter(|id| finished(id) && !named.contains_key(*id)).collect();
    assert!(missing.is_empty(), "no test names {missing:?}");
    let open = requirements.iter().filter(|id| !named.contains_key(*id)).count();
    println!(
        "{} of {} rows are named by a test, {open} are open",
        requirements.len() - open,
        requirements.len()
    );
}

#[test]
fn no_test_names_a_row_that_does_not_exist() {
    let requirements = requirements();
    let unknown: Vec<_> =
        named().into_iter().filter(|(id, _)| !requirements.contains(id)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// The check itself: ids are found, and only whole ones.
#[test]
fn ids_are_found() {
    let found = ids("// CORE-07, SYN-1 and (ERR-05): XCORE-08 OBS-123 PERF-0x");
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    assert_eq!(found, ["CORE-07", "ERR-05", "OBS-12"]);
}
