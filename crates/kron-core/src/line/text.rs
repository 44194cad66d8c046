//! `<RFC3339 UTC, 9 digits> level=… component=… event=… key=value…`

use super::Line;
use crate::logfmt::Value;
use crate::time::UtcInstant;
use alloc::string::String;

pub(super) fn push(out: &mut String, at: UtcInstant, component: &str, line: &Line) {
    push_time(out, at);
    for part in [" level=", line.level.as_str(), " component=", component, " event=", line.event] {
        out.push_str(part);
    }
    for (key, value) in &line.fields {
        out.push(' ');
        out.push_str(key);
        out.push('=');
        // A string can always be written to.
        let _ = Value(value).write(out);
    }
    out.push('\n');
}

/// A time with all nine digits, so that lines sort as text.
pub(super) fn push_time(out: &mut String, at: UtcInstant) {
    // A second, a dot in the place of its `Z`, nine digits, and the `Z`.
    let mut text = [b'Z'; 30];
    text[..20].copy_from_slice(&at.floor().to_ascii());
    text[19] = b'.';
    let mut nanos = at.subsec_nanos();
    for digit in text[20..29].iter_mut().rev() {
        *digit = b'0' + (nanos % 10) as u8;
        nanos /= 10;
    }
    // It is ASCII.
    out.push_str(core::str::from_utf8(&text).unwrap_or_default());
}
