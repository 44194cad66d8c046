//! Any bytes are a file with entries and problems whose places are in it; an
//! entry prints to a line that means the same; edits keep the rest.
#![no_main]

use kron_core::Zones;
use kron_tab::{edit, read};
use libfuzzer_sys::fuzz_target;
use std::cell::RefCell;

thread_local! {
    static ZONES: RefCell<Zones> = RefCell::new(Zones::bundled());
}

fuzz_target!(|bytes: &[u8]| {
    ZONES.with_borrow_mut(|zones| {
        let tab = read("/etc/krond.d/fuzz.kron", bytes, zones);
        for problem in &tab.problems {
            assert!(problem.span.start <= problem.span.end && problem.span.end <= bytes.len());
        }
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        for problem in &tab.problems {
            let whole = problem.code != "byte-order-mark";
            assert!(!whole || text.get(problem.span.start..problem.span.end).is_some());
        }
        for entry in &tab.entries {
            let line = entry.line().to_string();
            let again = read("/etc/krond.d/fuzz.kron", line.as_bytes(), zones);
            assert_eq!(again.problems, [], "{line}");
            assert_eq!(again.entries[0].line().to_string(), line);
            assert_eq!(again.entries[0].job, entry.job);
            assert_eq!(again.entries[0].command, entry.command);
            let (found, range) = edit::find(text, entry.name()).expect("an entry is found");
            let replaced = edit::replace(text, range, &found);
            let same = read("/etc/krond.d/fuzz.kron", replaced.as_bytes(), zones);
            assert_eq!(same.entries.len(), tab.entries.len());
            let kept = same.entries.iter().find(|other| other.name() == entry.name());
            assert_eq!(kept.expect("still there").command, entry.command);
        }
    });
});
