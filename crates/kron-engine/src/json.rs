//! Writing JSON by hand: one key a line for people, or all on one line.
//!
//! Files of state are read by tired people, so where a line ends matters, and
//! writing cannot fail, so nothing here returns an error. Reading is serde's.

use alloc::string::String;
use core::fmt::{Display, Write};

/// An object that is being written.
pub(crate) struct Object<'o> {
    out: &'o mut String,
    style: Style,
    empty: bool,
}

/// How an object is laid out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// One key a line.
    Lines,
    /// All on one line, without spaces.
    Compact,
}

impl<'o> Object<'o> {
    pub fn begin(out: &'o mut String, style: Style) -> Self {
        out.push('{');
        Self { out, style, empty: true }
    }

    pub fn end(self) {
        self.out.push_str(if self.style == Style::Lines { "\n}" } else { "}" });
    }

    /// Writes a key; the value is for the caller to write next.
    pub fn key(&mut self, name: &str) -> &mut String {
        if !self.empty {
            self.out.push(',');
        }
        self.empty = false;
        let (lead, colon) = match self.style {
            Style::Lines => ("\n  \"", "\": "),
            Style::Compact => ("\"", "\":"),
        };
        self.out.push_str(lead);
        self.out.push_str(name);
        self.out.push_str(colon);
        self.out
    }

    /// A value that is written as a string; its text needs no escapes.
    pub fn plain(&mut self, name: &str, value: impl Display) {
        let out = self.key(name);
        // Writing to a string cannot fail.
        let _ = write!(out, "\"{value}\"");
    }

    /// A value that is written as a string, empty if there is none.
    pub fn plain_or_empty(&mut self, name: &str, value: Option<impl Display>) {
        match value {
            Some(value) => self.plain(name, value),
            None => self.plain(name, ""),
        }
    }

    /// A value that is written as a string, `null` if there is none.
    pub fn plain_or_null(&mut self, name: &str, value: Option<impl Display>) {
        match value {
            Some(value) => self.plain(name, value),
            None => self.key(name).push_str("null"),
        }
    }

    /// Any text, `null` if there is none.
    pub fn text_or_null(&mut self, name: &str, value: Option<&str>) {
        let out = self.key(name);
        match value {
            Some(value) => quote(out, value),
            None => out.push_str("null"),
        }
    }

    /// Any text.
    pub fn text(&mut self, name: &str, value: &str) {
        quote(self.key(name), value);
    }

    /// A number, `null` if there is none.
    pub fn number_or_null(&mut self, name: &str, value: Option<impl Display>) {
        let out = self.key(name);
        let _ = match value {
            Some(value) => write!(out, "{value}"),
            None => out.write_str("null"),
        };
    }
}

/// Writes a text as a JSON string.
pub(crate) fn quote(out: &mut String, text: &str) {
    out.push('"');
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        // All of these are ASCII, so both sides are whole characters.
        out.push_str(&text[from..at]);
        from = at + 1;
        let _ = match byte {
            b'"' | b'\\' => write!(out, "\\{}", char::from(byte)),
            b'\n' => out.write_str("\\n"),
            b'\t' => out.write_str("\\t"),
            _ => write!(out, "\\u{byte:04x}"),
        };
    }
    out.push_str(&text[from..]);
    out.push('"');
}
