//! Every fault of `docs/FAULTS.md` is a test, and every test named there exists.

use kron_tidy::{files, root};
use std::collections::BTreeSet;
use std::fs;

/// Rows 1 to this.
const LAST: u32 = 46;

/// Numbers of faults in a text: `Fault 16`, `FAULTS 24, 30`, `fault_21_38_…`.
fn faults(text: &str) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let text = text.to_ascii_lowercase();
    for (at, _) in text.match_indices("fault") {
        if text[..at].ends_with(|c: char| c.is_ascii_alphanumeric()) && !text[..at].ends_with('_') {
            continue;
        }
        let rest = &text[at + "fault".len()..];
        let mut rest = rest.strip_prefix('s').unwrap_or(rest);
        loop {
            let numbers = rest.trim_start_matches([' ', ',', '_']);
            let end = numbers.find(|c: char| !c.is_ascii_digit()).unwrap_or(numbers.len());
            let Ok(number) = numbers[..end].parse() else { break };
            if numbers.len() == rest.len() {
                break;
            }
            found.insert(number);
            rest = &numbers[end..];
        }
    }
    found
}

/// The text of all tests: in `tests` folders, and in test modules.
fn tests() -> String {
    let mut all = String::new();
    for path in files(&root().join("crates")).unwrap() {
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        if !is_rust || path.starts_with(root().join("crates/kron-tidy")) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let in_tests = path.components().any(|part| part.as_os_str() == "tests");
        all += if in_tests {
            &text
        } else {
            text.split_once("#[cfg(test)]").map_or("", |(_, tests)| tests)
        };
    }
    all
}

/// The rows of the page: number, and the tests named in the last column.
fn rows() -> Vec<(u32, Vec<String>)> {
    let page = fs::read_to_string(root().join("docs/FAULTS.md")).unwrap();
    let mut rows = Vec::new();
    for line in page.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let Ok(number) = cells[0].parse() else { continue };
        assert_eq!(cells.len(), 4, "a row has four cells: {line}");
        let names = cells[3].split('`').skip(1).step_by(2).map(String::from).collect();
        rows.push((number, names));
    }
    rows
}

#[test]
fn every_fault_is_a_test() {
    let named = faults(&tests());
    let missing: Vec<u32> = (1..=LAST).filter(|number| !named.contains(number)).collect();
    assert!(missing.is_empty(), "no test names fault {missing:?}");
}

#[test]
fn the_page_has_every_fault_and_only_tests_that_exist() {
    let rows = rows();
    let numbers: Vec<u32> = rows.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=LAST).collect::<Vec<_>>());
    let tests = tests();
    // A function, or one that a macro makes.
    let exists = |name: &str| {
        let (function, made) = (format!("fn {name}("), format!("{name}: "));
        tests.lines().any(|line| line.contains(&function) || line.trim_start().starts_with(&made))
    };
    for (number, names) in rows {
        assert!(!names.is_empty(), "fault {number} has no test");
        for name in names {
            assert!(exists(&name), "fault {number}: there is no test `{name}`");
        }
    }
}

/// The check itself.
#[test]
fn numbers_are_found() {
    let text = "// Fault 3: x, FAULTS 24, 30: y\nfn fault_21_38_err_05() {} // default 7, faults8";
    assert_eq!(Vec::from_iter(faults(text)), [3, 21, 24, 30, 38]);
}
