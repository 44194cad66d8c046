//! Input, fit for a message.

/// A piece of input in backticks: no control characters, not longer than a line.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut out = String::from("`");
    for (i, c) in text.chars().enumerate() {
        if i == LONGEST {
            out.push('…');
            break;
        }
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out.push('`');
    out
}

/// A length in seconds, as Kron and Go write it.
pub(crate) fn duration(seconds: u64) -> String {
    let length = core::time::Duration::from_secs(seconds);
    kron_core::time::duration::Pretty(length).to_string()
}
