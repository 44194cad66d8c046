//! What the threat model says is there, is there.

use kron_tidy::{files, root};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn page() -> String {
    fs::read_to_string(root().join("docs/THREATS.md")).unwrap()
}

/// What stands between backticks.
fn spans(page: &str) -> BTreeSet<&str> {
    page.lines().flat_map(|line| line.split('`').skip(1).step_by(2)).collect()
}

fn sources() -> Vec<(PathBuf, String)> {
    let rust = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    let all = files(&root().join("crates")).unwrap();
    all.into_iter()
        .filter(rust)
        .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
        .collect()
}

/// `file::test`: a file of that name, in which a test has that name.
fn is_test(text: &str, name: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start);
    let function = format!("fn {name}(");
    let mut is_marked = false;
    lines.any(|line| {
        let found = is_marked && line.starts_with(&function);
        is_marked = line == "#[test]" || (is_marked && (line.is_empty() || line.starts_with("#[")));
        found
    })
}

#[test]
fn every_test_that_is_named_exists() {
    let page = page();
    let sources = sources();
    let word = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    let named: Vec<(&str, &str)> = spans(&page)
        .into_iter()
        .filter_map(|span| span.split_once("::"))
        .filter(|(file, test)| word(file) && word(test))
        .collect();
    assert!(named.len() > 50, "{named:?}");
    let missing: Vec<_> = named
        .into_iter()
        .filter(|(file, test)| {
            let stem = |path: &Path| path.file_stem().is_some_and(|stem| stem == *file);
            !sources.iter().any(|(path, text)| stem(path) && is_test(text, test))
        })
        .collect();
    assert!(missing.is_empty(), "no such test: {missing:?}");
}

#[test]
fn every_file_that_is_named_exists() {
    let page = page();
    for span in spans(&page) {
        let Some((name, file)) = span.strip_suffix(".rs").and_then(|span| span.split_once('/'))
        else {
            continue;
        };
        let path = root().join("crates").join(name).join(format!("src/{file}.rs"));
        assert!(path.is_file(), "no such file: {span}");
    }
}

/// Every fuzz target is one that `make fuzz` runs, and every one has seeds.
#[test]
fn every_fuzz_target_is_run() {
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    let run = makefile.lines().find_map(|line| line.strip_prefix("FUZZ_TARGETS ?= ")).unwrap();
    for path in files(&root().join("fuzz/fuzz_targets")).unwrap() {
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(run.split(' ').any(|one| one == name), "`make fuzz` leaves out {name}");
        assert!(root().join("fuzz/seeds").join(name).is_dir(), "no seeds for {name}");
    }
}

/// Unsafe code stands in the files of the table, and each use has its reason.
#[test]
fn unsafe_code_is_where_it_is_said_to_be() {
    let page = page();
    let (_, section) = page.split_once("## Unsafe code").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let said: BTreeSet<PathBuf> = spans(section)
        .into_iter()
        .filter_map(|span| span.strip_suffix(".rs")?.split_once('/'))
        .map(|(name, file)| root().join("crates").join(name).join(format!("src/{file}.rs")))
        .collect();
    let mut found = BTreeSet::new();
    for (path, text) in sources() {
        // A test that counts allocations has to be an allocator.
        if !path.components().any(|part| part.as_os_str() == "src") {
            continue;
        }
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let code = line.split("//").next().unwrap();
            if code.contains("unsafe_code") || !code.split_whitespace().any(|w| w == "unsafe") {
                continue;
            }
            found.insert(path.clone());
            let before = &lines[at.saturating_sub(6)..at];
            let place = format!("{}:{}", path.display(), at + 1);
            assert!(before.iter().any(|line| line.contains("// SAFETY:")), "no reason: {place}");
        }
    }
    assert_eq!(found, said);
}
