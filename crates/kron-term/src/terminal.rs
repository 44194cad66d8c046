//! Standard output and standard error: colour, width, and pipes that close.

use crate::choice::Colour;
use anstream::{AutoStream, ColorChoice};
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

/// Settles for the whole process when colours are used.
pub fn choose_colour(colour: Colour) {
    match colour {
        Colour::Auto => {}
        Colour::Always => ColorChoice::Always.write_global(),
        Colour::Never => ColorChoice::Never.write_global(),
    }
}

/// Columns of the terminal, or what fits a page if there is none.
#[must_use]
pub fn width() -> usize {
    const PAGE: usize = 80;
    if !io::stdout().is_terminal() {
        return PAGE;
    }
    std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok())
        .or_else(|| terminal_size().map(usize::from))
        .unwrap_or(PAGE)
        .clamp(40, 200)
}

fn terminal_size() -> Option<u16> {
    terminal_size::terminal_size().map(|(width, _)| width.0)
}

/// The text without anything that could command a terminal or turn its lines
/// around, wherever it came from: only line ends, tabs and our own colours stay,
/// the rest is shown as an escape.
fn harmless(text: &str) -> Cow<'_, str> {
    let odd = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(odd) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(odd) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = colour_length(rest);
        if length > 0 {
            out.push_str(&rest[..length]);
            rest = &rest[length..];
        } else if let Some(c) = rest.chars().next() {
            out.extend(c.escape_default());
            rest = &rest[c.len_utf8()..];
        }
    }
    Cow::Owned(out + rest)
}

/// The length of a sequence that only sets colours, at the beginning of a text.
fn colour_length(text: &str) -> usize {
    let Some(body) = text.strip_prefix("\u{1b}[") else { return 0 };
    match body.find(|c: char| !c.is_ascii_digit() && c != ';') {
        Some(end) if body[end..].starts_with('m') => 2 + end + 1,
        _ => 0,
    }
}

/// What kept standard output from being written, for the end.
static FAILED: Mutex<Option<io::Error>> = Mutex::new(None);

/// Prints to standard output. Styles are left out where they are not shown. A
/// reader that went away is no error; any other is told at the end.
pub fn print(text: &str) {
    let mut out = AutoStream::auto(io::stdout());
    note_failure(out.write_all(harmless(text).as_bytes()).and_then(|()| out.flush()));
}

/// Takes note of output that could not be written.
pub fn note_failure(written: io::Result<()>) {
    if let Err(error) = unless_closed(written) {
        let mut failed = FAILED.lock().unwrap_or_else(PoisonError::into_inner);
        failed.get_or_insert(error);
    }
}

/// The first thing that could not be written, if any.
#[must_use]
pub fn failure() -> Option<io::Error> {
    FAILED.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Prints to standard error.
pub fn print_error(text: &str) {
    let _ = AutoStream::auto(io::stderr()).write_all(harmless(text).as_bytes());
}

/// An error of writing, unless the reader has simply gone away.
///
/// # Errors
/// The one given, unless it is a closed pipe.
pub fn unless_closed(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Whether standard error shows colours.
#[must_use]
pub fn error_has_colour() -> bool {
    AutoStream::choice(&io::stderr()) != ColorChoice::Never
}

/// A text without its styles.
#[must_use]
pub fn without_styles(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// A value as JSON, indented, on standard output.
pub fn print_json(value: &impl serde::Serialize) {
    match serde_json::to_string_pretty(value) {
        Ok(text) => print(&format!("{text}\n")),
        // Only for maps whose keys are not strings, or failing implementations.
        Err(error) => print_error(&format!("error: {error}\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_commands_the_terminal() {
        for (text, expected) in [
            ("plain\tä\n", "plain\tä\n"),
            ("\u{1b}[1;31mred\u{1b}[0m", "\u{1b}[1;31mred\u{1b}[0m"),
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("\u{1b}[2J", "\\u{1b}[2J"),
            ("\u{1b}[31", "\\u{1b}[31"),
            ("a\u{202e}b", "a\\u{202e}b"),
            ("\u{9b}31m", "\\u{9b}31m"),
        ] {
            assert_eq!(harmless(text), expected, "{text:?}");
        }
    }
}
