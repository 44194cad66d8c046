//! Any bytes are a file with entries and problems whose places are in it; an
//! entry prints to a line that means the same; edits keep the rest.
#![no_main]

use kron_fuzz::with_zones;
use kron_tab::{edit, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    with_zones(|zones| {
        let tab = read("/etc/krond.d/fuzz.kron", bytes, zones);
        for problem in &tab.problems {
            assert!(problem.span.start <= problem.span.end && problem.span.end <= bytes.len());
        }
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        for problem in &tab.problems {
            let whole = problem.code != "byte-order-mark";
            assert!(!whole || text.get(problem.span.start..problem.span.end).is_some());
        }
        // All of them at once: what one of them means does not depend on others.
        let lines: Vec<String> = tab.entries.iter().map(|entry| entry.line().to_string()).collect();
        let printed = lines.join("\n");
        let again = read("/etc/krond.d/fuzz.kron", printed.as_bytes(), zones);
        assert_eq!(again.problems, [], "{printed}");
        assert_eq!(again.entries.len(), tab.entries.len());
        for ((entry, again), line) in tab.entries.iter().zip(&again.entries).zip(&lines) {
            assert_eq!(again.line().to_string(), *line);
            assert_eq!(again.job, entry.job);
            assert_eq!(again.command, entry.command);
        }
        // One edit for a file, of an entry that its length chooses.
        let Some(entry) = tab.entries.get(bytes.len() % tab.entries.len().max(1)) else { return };
        let (found, range) = edit::find(text, entry.name()).expect("an entry is found");
        let replaced = edit::replace(text, range, &found);
        let same = read("/etc/krond.d/fuzz.kron", replaced.as_bytes(), zones);
        assert_eq!(same.entries.len(), tab.entries.len());
        let kept = same.entries.iter().find(|other| other.name() == entry.name());
        assert_eq!(kept.expect("still there").command, entry.command);
    });
});
