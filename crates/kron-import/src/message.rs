//! Input, fit for a message.

pub(crate) use kron_core::quoted;

/// A length in seconds, as Kron and Go write it.
pub(crate) fn duration(seconds: u64) -> String {
    let length = core::time::Duration::from_secs(seconds);
    kron_core::time::duration::Pretty(length).to_string()
}
