//! A whole file.

use crate::bounds::{ENTRIES, FILE_BYTES, LINE_BYTES};
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
    let mut tab = Tab::default();
    let mut names: BTreeMap<Box<str>, Span> = BTreeMap::new();
    let mut count = 0;
    for item in line::items(text) {
        let Item::Entry(span) = item else { continue };
        count += 1;
        if count > ENTRIES {
            tab.problems.push(
                Problem::new("too-many-entries", span, "file has too many entries")
                    .senseless()
                    .expect(format!("at most {ENTRIES} entries")),
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
    let entry = entry::check(&raw, text, path, span, zones, &mut found);
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
