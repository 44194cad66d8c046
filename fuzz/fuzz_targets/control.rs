//! Whatever a client sends, in whatever pieces, is one request, no whole line
//! yet, or nonsense, and the pieces make no difference. A request and a reply
//! survive being written and read.
#![no_main]

use krond::control::inbox::{Inbox, Said};
use krond::control::{REQUEST_BYTES, Reply};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let whole = Inbox::default().hear(bytes);

    let mut inbox = Inbox::default();
    let mut rest = bytes;
    // Pieces of any size, which follow from the bytes.
    let mut sizes = bytes.iter().fold(1, |sum: u32, byte| sum.wrapping_mul(31) ^ u32::from(*byte));
    let mut said = Said::Part;
    while said == Said::Part && !rest.is_empty() {
        sizes = sizes.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        let most = 1 << (sizes >> 28);
        let size = ((sizes >> 8) as usize % most + 1).min(rest.len());
        let (piece, others) = rest.split_at(size);
        said = inbox.hear(piece);
        assert!(inbox.bytes() <= REQUEST_BYTES);
        rest = others;
    }
    assert_eq!(said, whole);

    match whole {
        Said::Request(request) => {
            let mut line = serde_json::to_vec(&request).expect("a line");
            assert!(!line.contains(&b'\n'));
            line.push(b'\n');
            assert_eq!(Inbox::default().hear(&line), Said::Request(request));
        }
        Said::Part => assert!(!bytes.contains(&b'\n') && bytes.len() <= REQUEST_BYTES),
        Said::Nonsense => assert!(bytes.contains(&b'\n') || bytes.len() > REQUEST_BYTES),
    }
    // The other end reads lines of its own.
    if let Ok(reply) = serde_json::from_slice::<Reply>(bytes) {
        let line = serde_json::to_vec(&reply).expect("a line");
        assert!(!line.contains(&b'\n'));
        let again: Reply = serde_json::from_slice(&line).expect("what was written is read");
        // The last bit of a fraction is not kept; no answer has one.
        assert!(again == reply || line.contains(&b'.') || line.contains(&b'e'));
    }
});
