//! Changes to a file that leave everything else in it as it was.
//!
//! Text in, text out: comments, order and the spelling of other entries stay.
//! The result is not checked here; read it before you keep it.

use crate::key::Key;
use crate::line::{self, Item, Raw};
use crate::print::Line;
use crate::words;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;

/// The entry with this name, if there is one, and where it stands.
#[must_use]
pub fn find(text: &str, name: &str) -> Option<(Line, Range<usize>)> {
    entries(text).find_map(|(raw, range)| {
        (raw.field(Key::Name)?.value == name).then(|| (line_of(&raw, text), range))
    })
}

/// All entries, valid or not, each with its fields in canonical order.
#[must_use]
pub fn lines(text: &str) -> Vec<Line> {
    let canonical = |(raw, _): (Raw<'_>, Range<usize>)| {
        let mut line = line_of(&raw, text);
        line.fields.sort_by_key(|(key, _)| *key);
        line
    };
    entries(text).map(canonical).collect()
}

/// A comment line, whatever the text contains: it stays one line.
#[must_use]
pub fn comment(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let text: String = text.chars().map(plain).collect();
    let text = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    alloc::format!("# {text}\n")
}

/// The file with an entry added at its end.
#[must_use]
pub fn append(text: &str, line: &Line) -> String {
    let mut out = String::from(text);
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(&line.to_string());
    out.push('\n');
    out
}

/// The file with the entry at `range` replaced.
#[must_use]
pub fn replace(text: &str, range: Range<usize>, line: &Line) -> String {
    let mut out = String::from(text);
    out.replace_range(range, &line.to_string());
    out
}

/// The file without the entry at `range`, and without the comment lines right
/// above it, which speak of it; unless they begin the file.
#[must_use]
pub fn remove(text: &str, range: Range<usize>) -> String {
    let mut start = range.start;
    let remarks: Vec<_> = line::items(text)
        .take_while(
            |item| matches!(item, Item::Remark(s) | Item::Entry(s) if s.start < range.start),
        )
        .collect();
    for item in remarks.iter().rev() {
        match item {
            Item::Remark(span) if span.slice(text).trim_start().starts_with('#') => {
                start = span.start;
            }
            _ => break,
        }
    }
    if start == 0 {
        start = range.start;
    }
    let end = (range.end + 1).min(text.len());
    let mut out = String::from(text);
    out.replace_range(start..end, "");
    out
}

fn entries(text: &str) -> impl Iterator<Item = (Raw<'_>, Range<usize>)> {
    line::items(text).filter_map(move |item| match item {
        Item::Entry(span) => Some((line::entry(text, span, &mut Vec::new()), span.start..span.end)),
        Item::Remark(_) => None,
    })
}

/// An entry as parts, its schedule as it was written.
fn line_of(raw: &Raw<'_>, text: &str) -> Line {
    let schedule = raw.schedule(text);
    let joined = schedule.len() != raw.schedule.end - raw.schedule.start || schedule.contains("  ");
    let schedule = if joined && !schedule.contains('"') {
        schedule.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
    } else {
        schedule.into_owned()
    };
    let shell = raw.field(Key::Shell).is_some_and(|field| field.value == "true");
    let fields = raw
        .fields
        .iter()
        .map(|field| {
            // Bare, a command is one word; in quotes it is divided into words.
            let one_word = field.key == Key::Command && !field.quoted && !shell;
            let value =
                if one_word { words::join(&[&field.value]) } else { field.value.to_string() };
            (field.key, value)
        })
        .collect();
    Line { schedule, fields }
}
