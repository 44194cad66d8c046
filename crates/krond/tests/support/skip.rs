//! What is left out where something is missing.

/// Set where nothing may be left out, because it is known that everything is there.
const REQUIRED: &str = "KRON_ROOT_REQUIRED";

/// Says that a test is left out, and why; an error where it must not be.
#[track_caller]
pub fn skip(why: impl std::fmt::Display) {
    assert!(std::env::var_os(REQUIRED).is_none(), "{why}, and {REQUIRED} is set");
    println!("SKIPPED: {why}");
}
