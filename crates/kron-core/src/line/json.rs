//! The pairs of a line as one object: `time`, `level`, `component`, `event`, and
//! the particulars under their own names.
//!
//! Values are strings, but for those of [`is_number`] and [`is_boolean`].

use super::Line;
use super::text::push_time;
use crate::time::UtcInstant;
use alloc::string::String;
use core::fmt::Write;

/// Keys whose values are numbers.
fn is_number(key: &str) -> bool {
    matches!(
        key,
        "added"
            | "adopted"
            | "attempts"
            | "changed"
            | "column"
            | "count"
            | "exit_code"
            | "files"
            | "holder"
            | "jobs"
            | "line"
            | "max_attempts"
            | "pid"
            | "removed"
            | "running"
            | "signal"
    )
}

/// Keys whose values are `true` or `false`.
fn is_boolean(key: &str) -> bool {
    matches!(key, "at_least" | "fatal" | "unschedulable")
}

pub(super) fn push(out: &mut String, at: UtcInstant, component: &str, line: &Line) {
    out.push_str("{\"time\":\"");
    push_time(out, at);
    for part in [
        "\",\"level\":\"",
        line.level.as_str(),
        "\",\"component\":\"",
        component,
        "\",\"event\":\"",
        line.event,
    ] {
        out.push_str(part);
    }
    out.push('"');
    for (key, value) in &line.fields {
        for part in [",\"", key, "\":"] {
            out.push_str(part);
        }
        push_value(out, key, value);
    }
    out.push_str("}\n");
}

fn push_value(out: &mut String, key: &str, value: &str) {
    // A value of another shape than its key promises stays a string.
    if is_number(key)
        && let Ok(number) = value.parse::<i64>()
    {
        let _ = write!(out, "{number}");
    } else if is_boolean(key) && matches!(value, "true" | "false") {
        out.push_str(value);
    } else {
        push_string(out, value);
    }
}

/// A string of JSON. Beyond what JSON demands, everything is escaped that could
/// command a terminal, end a line or turn its direction.
fn push_string(out: &mut String, value: &str) {
    let odd = |c: char| {
        matches!(c, '"' | '\\' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            || c.is_control()
    };
    out.push('"');
    let mut rest = value;
    // Most have nothing to escape, and bytes are looked at faster.
    if rest.bytes().all(|b| matches!(b, b' '..=b'~') && !matches!(b, b'"' | b'\\')) {
        out.push_str(rest);
        rest = "";
    }
    while let Some(at) = rest.find(odd) {
        let (plain, from) = rest.split_at(at);
        out.push_str(plain);
        let mut chars = from.chars();
        match chars.next() {
            Some(c @ ('"' | '\\')) => out.extend(['\\', c]),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            // All of them are in the first plane.
            Some(c) => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}
