//! A whole file.

use crate::bounds::{ENTRIES, FILE_BYTES, LINE_BYTES, PROBLEMS};
use crate::entry::{self, Entry};
use crate::line::{self, Item};
use crate::problem::Problem;
use crate::text;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use kron_core::{Span, Zones};

/// What a file contains: its valid entries, and everything wrong with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tab {
    /// Valid entries, in the order of the file.
    pub entries: Vec<Entry>,
    /// Problems, in the order of the file; a file is valid if there are none.
    pub problems: Vec<Problem>,
}

/// Reads a file. `path` is its absolute path, the first half of identities.
#[must_use]
pub fn read(path: &str, bytes: &[u8], zones: &mut Zones) -> Tab {
    if bytes.len() > FILE_BYTES {
        let problem = Problem::new(
            "file-too-large",
            Span::default(),
            format!("file of {} bytes is too large", bytes.len()),
        )
        .senseless()
        .expect(format!("at most {FILE_BYTES} bytes"));
        return Tab { entries: Vec::new(), problems: Vec::from([problem]) };
    }
    let text = match text::decode(bytes) {
        Ok(text) => text,
        Err(problems) => return Tab { entries: Vec::new(), problems },
    };
    let entries = || {
        line::items(text).filter_map(|item| match item {
            Item::Entry(span) => Some(span),
            Item::Remark(_) => None,
        })
    };
    // Settled before any of them is read.
    if let Some(span) = entries().nth(ENTRIES) {
        let problem =
            Problem::new("too-many-entries", first_line(text, span), "file has too many entries")
                .senseless()
                .expect(format!("at most {ENTRIES} entries"));
        return Tab { entries: Vec::new(), problems: Vec::from([problem]) };
    }
    let mut tab = Tab::default();
    let mut names: BTreeMap<Box<str>, Span> = BTreeMap::new();
    for span in entries() {
        if tab.problems.len() >= PROBLEMS {
            tab.problems.push(
                Problem::new("too-many-problems", first_line(text, span), "reading stopped here")
                    .expect(format!("fewer than {PROBLEMS} problems"))
                    .hint("is this a configuration file?"),
            );
            break;
        }
        if let Some(entry) = read_entry(text, span, path, zones, &mut names, &mut tab.problems) {
            tab.entries.push(entry);
        }
    }
    tab.problems.sort_by_key(|problem| problem.span);
    tab
}

/// The first line of an entry, which is enough to point at.
fn first_line(text: &str, span: Span) -> Span {
    let length = span.slice(text).find('\n').unwrap_or(span.end - span.start);
    Span::new(span.start, span.start + length)
}

fn read_entry(
    text: &str,
    span: Span,
    path: &str,
    zones: &mut Zones,
    names: &mut BTreeMap<Box<str>, Span>,
    problems: &mut Vec<Problem>,
) -> Option<Entry> {
    let length = span.end - span.start;
    if length > LINE_BYTES {
        problems.push(
            Problem::new(
                "line-too-long",
                Span::new(span.start, span.start),
                format!("entry of {length} bytes is too long"),
            )
            .senseless()
            .expect(format!("at most {LINE_BYTES} bytes")),
        );
        return None;
    }
    let mut found = Vec::new();
    let raw = line::entry(text, span, &mut found);
    // A foreign line has been reported, but its name is taken all the same.
    let entry = if raw.foreign {
        if raw.schedule.start < raw.schedule.end {
            entry::job(&raw, text, path, None, zones, &mut found);
        }
        None
    } else {
        entry::check(&raw, text, path, span, zones, &mut found)
    };
    if let Some(field) = raw.fields.iter().find(|field| field.key == crate::Key::Name) {
        match names.get(&*field.value) {
            None => {
                names.insert((*field.value).into(), field.value_span);
            }
            Some(first) => found.push(
                Problem::new(
                    "duplicate-name",
                    field.value_span,
                    format!("name `{}` is given to two entries", field.value),
                )
                .found(&field.value)
                .expect("a name that is unique in its file")
                .with_note(*first, "given here first"),
            ),
        }
    }
    let valid = found.is_empty();
    problems.append(&mut found);
    entry.filter(|_| valid)
}
