//! From what is kept to text.

use super::{HISTORY_BYTES, TEXT_BYTES, VERSION};
use crate::json::{Object, Style};
use crate::kept::{Active, Finished, Kept};
use alloc::string::String;
use alloc::vec::Vec;
use kron_core::{Identity, UtcInstant};

/// The text of a state file. `history` are entries as [`entry`] and
/// [`raw_history`](super::raw_history) give them, oldest first; of these the
/// newest `cap` are written.
#[must_use]
pub fn encode<'h, H>(identity: &Identity, kept: &Kept, history: H, cap: usize) -> Vec<u8>
where
    H: DoubleEndedIterator<Item = &'h str> + Clone,
{
    let mut out = String::with_capacity(1536);
    let mut file = Object::begin(&mut out, Style::Lines);
    file.plain("Version", VERSION);
    file.text("Identity", identity.as_str());
    write_last(&mut file, kept);
    write_ledger(&mut file, kept);
    let newest = kept.active.last();
    match newest {
        Some(active) => write_active(file.key("ActiveExecution"), active),
        None => file.key("ActiveExecution").push_str("null"),
    }
    let list = file.key("ActiveExecutions");
    list.push('[');
    for (place, active) in kept.active.iter().enumerate() {
        list.push_str(if place > 0 { ",\n    " } else { "\n    " });
        write_active(list, active);
    }
    list.push_str(if newest.is_some() { "\n  ]" } else { "]" });
    write_history(file.key("History"), history, cap);
    file.end();
    out.push('\n');
    out.into_bytes()
}

fn write_last(file: &mut Object<'_>, kept: &Kept) {
    let last = kept.last.as_deref();
    file.plain_or_empty("LastHandledPeriodID", last.map(|last| last.period));
    file.plain_or_empty("LastOutcome", last.map(|last| last.outcome));
    file.plain_or_empty("LastChosenTime", last.and_then(|last| last.chosen));
    file.plain_or_empty("LastNominalTime", last.map(|last| last.period.nominal()));
    file.text_or_null("LastReason", last.and_then(|last| last.reason.as_deref()).map(cut));
    file.plain_or_null("LastStartedAt", last.and_then(|last| last.started_at));
    file.number_or_null("LastExitCode", last.and_then(|last| last.exit_code));
    file.plain_or_null("LastSeedHash", last.and_then(|last| last.seed_hash));
    let distribution = last.and_then(|last| last.distribution.as_deref());
    file.text_or_null("LastDistribution", distribution.map(cut));
}

fn write_ledger(file: &mut Object<'_>, kept: &Kept) {
    let ledger = &kept.ledger;
    // Empty says "none", which an absent key would not.
    file.plain_or_empty("HandledThrough", ledger.handled_through());
    let list = file.key("HandledAhead");
    list.push('[');
    for (place, period) in ledger.handled_ahead().iter().enumerate() {
        list.push_str(if place > 0 { ", \"" } else { "\"" });
        for byte in period.nominal().to_ascii() {
            list.push(char::from(byte));
        }
        list.push('"');
    }
    list.push(']');
    let not_before = Some(ledger.not_before()).filter(|time| *time > UtcInstant::MIN);
    file.plain_or_null("NotBefore", not_before);
    file.plain_or_null("DefinitionHash", ledger.definition());
}

fn write_active(out: &mut String, active: &Active) {
    let mut object = Object::begin(out, Style::Compact);
    object.plain("PeriodID", active.period);
    object.number_or_null("PID", Some(active.process.pid));
    object.plain("StartedAt", active.started_at);
    object.plain("ChosenTime", active.chosen);
    if let Some(boot) = &active.process.boot_id {
        object.text("BootID", cut(boot));
    }
    if let Some(ticks) = active.process.start_ticks {
        object.number_or_null("StartTicks", Some(ticks));
    }
    object.end();
}

fn write_history<'h, H>(out: &mut String, history: H, cap: usize)
where
    H: DoubleEndedIterator<Item = &'h str> + Clone,
{
    let mut bytes = 0;
    let newest = history.clone().rev().take(cap).take_while(|entry| {
        bytes += entry.len() + ",\n    ".len();
        bytes <= HISTORY_BYTES
    });
    let written = newest.count();
    let dropped = history.clone().count() - written;
    out.reserve(bytes.min(HISTORY_BYTES) + 8);
    out.push('[');
    for (place, entry) in history.skip(dropped).enumerate() {
        out.push_str(if place > 0 { ",\n    " } else { "\n    " });
        out.push_str(entry);
    }
    out.push_str(if written > 0 { "\n  ]" } else { "]" });
}

/// An entry of the history, on one line.
#[must_use]
pub fn entry(finished: &Finished) -> String {
    let mut out = String::with_capacity(384);
    let mut object = Object::begin(&mut out, Style::Compact);
    object.plain("PeriodID", finished.period);
    object.plain("Outcome", finished.outcome);
    object.plain("NominalTime", finished.period.nominal());
    object.plain_or_empty("ChosenTime", finished.chosen);
    object.plain("CompletedAt", finished.completed_at);
    object.number_or_null("ExitCode", finished.exit_code);
    if let Some(signal) = finished.signal {
        object.number_or_null("Signal", Some(signal));
    }
    if let Some(reason) = &finished.reason {
        object.text("Reason", cut(reason));
    }
    if let Some(started_at) = finished.started_at {
        object.plain("StartedAt", started_at);
    }
    if let Some(seed_hash) = finished.seed_hash {
        object.plain("SeedHash", seed_hash);
    }
    object.end();
    out
}

/// The beginning of a text that may be long.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
