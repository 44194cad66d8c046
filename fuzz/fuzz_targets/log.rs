//! Any line is read as pairs or refused; what is written is read back.
#![no_main]

use kron_core::logfmt::{Value, pairs};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &str| {
    let read: Result<Vec<_>, _> = pairs(line).collect();
    if let Ok(read) = read {
        let written: Vec<String> =
            read.iter().map(|(key, value)| format!("{key}={}", Value(value))).collect();
        let written = written.join(" ");
        let again: Result<Vec<_>, _> = pairs(&written).collect();
        assert_eq!(again.expect("what was written is read"), read);
    }
    let quoted = format!("a={} b=c", Value(line));
    let read: Vec<_> = pairs(&quoted).map(|pair| pair.expect("a pair")).collect();
    assert_eq!(read[0].1, line);
    assert_eq!(read[1], ("b", "c".into()));
});
