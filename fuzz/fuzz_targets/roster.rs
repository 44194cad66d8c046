//! Any line of a roster is read or refused. What is read is written to a line
//! that is read as the same, and the quick way of reading sees what the slow
//! one sees.
#![no_main]

use kron_engine::commit::Rostered;
use kron_engine::roster::{HEADER, LINE_BYTES, Line, read, write};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut known = Rostered::unknown();
    for line in bytes.split(|byte| *byte == b'\n') {
        let result = read(line);
        // The space changes nothing but the way of reading.
        if let Some(rest) = line.strip_prefix(b"{") {
            let slowly = read(&[b"{ ", rest].concat());
            assert_eq!(slowly.is_ok(), result.is_ok(), "{result:?} {slowly:?}");
            assert!(slowly.is_err() || slowly == result);
        }
        match result {
            Err(message) => assert!(!message.is_empty()),
            Ok(Line::Header(version)) => {
                let ours = read(HEADER.trim_end().as_bytes());
                assert_eq!(&*version == "1", ours == Ok(Line::Header(version)));
            }
            Ok(Line::Of(line)) => {
                let mut written = String::new();
                write(&mut written, &line);
                let text = written.strip_suffix('\n').expect("a line");
                assert!(!text.contains('\n') && text.len() <= LINE_BYTES);
                assert_eq!(read(text.as_bytes()), Ok(Line::Of(line.clone())));
                known.learn(&line);
                assert!(known.seen.is_some() || known.has_file || known.gone);
            }
        }
    }
});
