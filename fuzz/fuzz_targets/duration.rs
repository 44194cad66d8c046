//! Any text is a duration that survives printing, or an error inside the text.
#![no_main]

use kron_core::time::duration::{MAX, Pretty, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match parse(text) {
        Ok(length) => {
            assert!(length <= MAX);
            assert_eq!(parse(&Pretty(length).to_string()), Ok(length));
        }
        Err(error) => assert!(text.get(error.start..error.end).is_some()),
    }
});
