//! Every dependency may be used under a licence we accept.
//!
//! Advisories are not checked: their database is in no package registry, so a
//! machine that has nothing else cannot get it.

use kron_tidy::{cargo, root};
use serde_json::Value;

const ACCEPTED: [&str; 10] = [
    "MIT",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "CC0-1.0",
    // For data: the list of root certificates.
    "CDLA-Permissive-2.0",
];

/// Packages that state their licence in a file only; read by a person.
const READ: [(&str, &str); 1] = [
    // Compared with in the benchmark, part of no program.
    ("saffron 0.1.0", "BSD-3-Clause"),
];

/// Whether an SPDX expression can be satisfied: for `AND` both sides, for `OR`
/// either.
fn acceptable(expression: &str) -> bool {
    let expression = expression.trim();
    // Old manifests write a slash for OR. Parentheses bind tightest.
    if let Some(inner) = expression.strip_prefix('(').and_then(|e| e.strip_suffix(')'))
        && !inner.contains(['(', ')'])
    {
        return acceptable(inner);
    }
    let outside = |word: &str| {
        let mut depth = 0;
        expression.char_indices().find_map(|(i, c)| {
            depth += match c {
                '(' => 1,
                ')' => -1,
                _ => 0,
            };
            (depth == 0 && expression[i..].starts_with(word)).then_some(i)
        })
    };
    for (word, both) in [(" OR ", false), ("/", false), (" AND ", true)] {
        if let Some(at) = outside(word) {
            let (left, right) = (&expression[..at], &expression[at + word.len()..]);
            let (left, right) = (acceptable(left), acceptable(right));
            return if both { left && right } else { left || right };
        }
    }
    let licence = expression.split(" WITH ").next().unwrap_or(expression);
    ACCEPTED.contains(&licence)
}

#[test]
fn expressions() {
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("MIT OR GPL-3.0", true),
        ("MIT AND GPL-3.0", false),
        ("MIT/Apache-2.0", true),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("(MIT OR GPL-2.0) AND GPL-3.0", false),
        ("Apache-2.0 WITH LLVM-exception OR GPL-3.0", true),
    ] {
        assert_eq!(acceptable(expression), expected, "{expression}");
    }
}

#[test]
fn every_dependency_has_an_acceptable_licence() {
    let output = cargo(&root(), &["metadata", "--format-version=1", "--locked"]).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 20);
    let refused: Vec<String> = packages
        .iter()
        .map(|package| {
            let field = |name: &str| package[name].as_str().unwrap_or_default().to_string();
            (format!("{} {}", field("name"), field("version")), field("license"))
        })
        .filter(|(name, licence)| {
            let read = READ.iter().find(|(known, _)| known == name).map(|(_, licence)| *licence);
            !acceptable(read.unwrap_or(licence))
        })
        .map(|(name, licence)| format!("{name}: {licence:?}"))
        .collect();
    assert!(refused.is_empty(), "{refused:?}");
}
