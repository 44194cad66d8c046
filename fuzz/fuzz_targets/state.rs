//! Any bytes are the state of a job or an error. What is read is written to a
//! text that is read as the same, closes what it closed, and is its own copy.
#![no_main]

use kron_core::Identity;
use kron_engine::kept::{Finished, Kept};
use kron_engine::state::{StateError, TEXT_BYTES, decode, encode, entry, history, raw_history};
use libfuzzer_sys::fuzz_target;

/// Entries of the history that are kept.
const CAP: usize = 5;

fuzz_target!(|bytes: &[u8]| {
    let identity = Identity::new("/etc/krond.d/shop.kron:import").expect("an identity");
    match decode(bytes, &identity) {
        Ok(kept) => check(bytes, &identity, &kept),
        Err(StateError::WrongIdentity(other)) => {
            // Somebody's, unless nobody can be called so.
            let Ok(other) = Identity::new(&other) else { return };
            if let Ok(kept) = decode(bytes, &other) {
                check(bytes, &other, &kept);
            }
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            // Whatever is no JSON has no history either.
            assert!(!error.is_damage() || raw_history(bytes, CAP).is_err());
        }
    }
});

fn check(bytes: &[u8], identity: &Identity, kept: &Kept) {
    let closed = kept.last.iter().map(|last| last.period);
    for period in closed.chain(kept.active.iter().map(|active| active.period)) {
        assert!(kept.ledger.is_marked(period));
    }
    let raw = raw_history(bytes, CAP).unwrap_or_default();
    let first = encode(identity, kept, raw.iter().copied(), CAP);
    let again = decode(&first, identity).expect("what was written is read");
    assert_eq!(raw_history(&first, CAP).expect("a history"), raw);
    if texts(kept).all(|text| text.len() <= TEXT_BYTES) {
        assert_eq!(again, *kept);
    }
    let second = encode(identity, &again, raw.iter().copied(), CAP);
    assert_eq!(second, first);

    let Ok(finished) = history(bytes, CAP) else { return };
    assert_eq!(finished.len(), raw.len());
    let entries: Vec<String> = finished.iter().map(entry).collect();
    let written = encode(identity, kept, entries.iter().map(String::as_str), CAP);
    let read = history(&written, CAP).expect("what was written is read");
    let short = |entry: &Finished| entry.reason.as_ref().is_none_or(|r| r.len() <= TEXT_BYTES);
    if finished.iter().all(short) {
        assert_eq!(read, finished);
    }
}

/// Texts that are cut if they are long.
fn texts(kept: &Kept) -> impl Iterator<Item = &str> {
    let last = kept.last.iter().flat_map(|last| [&last.reason, &last.distribution]);
    let boots = kept.active.iter().map(|active| &active.process.boot_id);
    last.chain(boots).filter_map(|text| text.as_deref())
}
