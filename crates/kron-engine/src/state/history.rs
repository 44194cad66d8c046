//! The history of a state file: as text, to be carried over to the next file,
//! and as values, to be shown. Nothing that is decided depends on it.

use super::StateError;
use super::read::{Fields, fields, read_outcome, value, value_unless_empty};
use crate::kept::Finished;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct EntryText<'a> {
    #[serde(borrow, rename = "PeriodID")]
    period_id: Cow<'a, str>,
    #[serde(borrow)]
    outcome: Cow<'a, str>,
    #[serde(borrow)]
    chosen_time: Cow<'a, str>,
    #[serde(borrow)]
    completed_at: Cow<'a, str>,
    #[serde(default)]
    exit_code: Option<i32>,
    #[serde(default)]
    signal: Option<i32>,
    #[serde(default)]
    reason: Option<Box<str>>,
    #[serde(default)]
    started_at: Option<Cow<'a, str>>,
    #[serde(default)]
    seed_hash: Option<Cow<'a, str>>,
}

/// The newest `cap` entries as they stand in the file, oldest first. It takes
/// no more memory than these, however many there are.
///
/// # Errors
/// When the file is no state file, or its history no list.
pub fn raw_history(bytes: &[u8], cap: usize) -> Result<Vec<&str>, StateError> {
    newest(&fields(bytes)?, cap).map(Vec::from)
}

/// The newest `cap` entries, oldest first.
///
/// # Errors
/// When the file is no state file, or an entry is not what we would write.
pub fn history(bytes: &[u8], cap: usize) -> Result<Vec<Finished>, StateError> {
    newest(&fields(bytes)?, cap)?.into_iter().map(finished).collect()
}

fn newest<'a>(fields: &Fields<'a>, cap: usize) -> Result<VecDeque<&'a str>, StateError> {
    let Some(list) = fields.history.filter(|_| cap > 0) else { return Ok(VecDeque::new()) };
    let mut reader = serde_json::Deserializer::from_str(list.get());
    reader
        .deserialize_seq(Newest { cap })
        .map_err(|error| StateError::invalid("History", error.to_string()))
}

fn finished(text: &str) -> Result<Finished, StateError> {
    let field = "History";
    let entry: EntryText<'_> =
        serde_json::from_str(text).map_err(|e| StateError::invalid(field, e.to_string()))?;
    let started_at = entry.started_at.map(|text| value(field, &text)).transpose()?;
    let seed_hash = entry.seed_hash.map(|text| value(field, &text)).transpose()?;
    Ok(Finished {
        period: value(field, &entry.period_id)?,
        outcome: read_outcome(field, &entry.outcome)?,
        chosen: value_unless_empty(field, &entry.chosen_time)?,
        completed_at: value(field, &entry.completed_at)?,
        exit_code: entry.exit_code,
        signal: entry.signal,
        reason: entry.reason,
        started_at,
        seed_hash,
    })
}

/// Keeps the last few elements of a list.
struct Newest {
    cap: usize,
}

impl<'de> Visitor<'de> for Newest {
    type Value = VecDeque<&'de str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut newest = VecDeque::new();
        while let Some(entry) = list.next_element::<&'de RawValue>()? {
            if newest.len() == self.cap {
                newest.pop_front();
            }
            newest.push_back(entry.get());
        }
        Ok(newest)
    }
}
