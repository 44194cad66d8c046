//! `<RFC3339 UTC, 9 digits> level=… component=krond event=… key=value…`

use kron_core::UtcInstant;
use kron_core::logfmt::Value;
use kron_engine::line::Line;

/// Who writes these lines.
pub(super) const COMPONENT: &str = "krond";

pub(super) fn push(out: &mut String, at: UtcInstant, line: &Line) {
    push_time(out, at);
    for part in [" level=", line.level.as_str(), " component=", COMPONENT, " event=", line.event] {
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
    let second = at.floor().to_ascii();
    out.extend(second[..19].iter().map(|&b| char::from(b)));
    out.push('.');
    let mut divisor = 100_000_000;
    while divisor > 0 {
        out.push(char::from(b'0' + (at.subsec_nanos() / divisor % 10) as u8));
        divisor /= 10;
    }
    out.push('Z');
}
