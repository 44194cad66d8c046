//! From text to what is kept.
//!
//! Damage (no JSON) and meaning (a version, a job or a value that is not ours)
//! are told apart, because the daemon goes on after the one and not after the
//! other. Whatever is nested in keys we do not know is passed over without
//! recursion.

use super::{FILE_BYTES, StateError};
use crate::kept::{Active, Kept, Last, Process};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt::Display;
use core::str::FromStr;
use kron_core::{Identity, Ledger, Outcome, PeriodId};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The keys of a state file, their values still text. `null` counts as absent.
#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct Fields<'a> {
    #[serde(borrow)]
    version: Option<&'a RawValue>,
    #[serde(borrow)]
    identity: Option<&'a RawValue>,
    #[serde(borrow, rename = "LastHandledPeriodID")]
    last_handled_period_id: Option<&'a RawValue>,
    #[serde(borrow)]
    last_outcome: Option<&'a RawValue>,
    #[serde(borrow)]
    last_chosen_time: Option<&'a RawValue>,
    #[serde(borrow)]
    last_nominal_time: Option<&'a RawValue>,
    #[serde(borrow)]
    last_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    last_started_at: Option<&'a RawValue>,
    #[serde(borrow)]
    last_exit_code: Option<&'a RawValue>,
    #[serde(borrow)]
    last_seed_hash: Option<&'a RawValue>,
    #[serde(borrow)]
    last_distribution: Option<&'a RawValue>,
    #[serde(borrow)]
    handled_through: Option<&'a RawValue>,
    #[serde(borrow)]
    handled_ahead: Option<&'a RawValue>,
    #[serde(borrow)]
    not_before: Option<&'a RawValue>,
    #[serde(borrow)]
    definition_hash: Option<&'a RawValue>,
    #[serde(borrow)]
    active_execution: Option<&'a RawValue>,
    #[serde(borrow)]
    active_executions: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) history: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ActiveText<'a> {
    #[serde(borrow, rename = "PeriodID")]
    period_id: Cow<'a, str>,
    #[serde(rename = "PID")]
    pid: u32,
    #[serde(borrow)]
    started_at: Cow<'a, str>,
    #[serde(borrow)]
    chosen_time: Cow<'a, str>,
    #[serde(rename = "BootID", default)]
    boot_id: Option<Box<str>>,
    #[serde(default)]
    start_ticks: Option<u64>,
}

/// Reads a state file as that of a job.
///
/// # Errors
/// When it is damaged, of an unknown version, of another job, or when a required
/// key is missing or a value invalid.
pub fn decode(bytes: &[u8], identity: &Identity) -> Result<Kept, StateError> {
    let fields = fields(bytes)?;
    let stored = required("Identity", fields.identity)?;
    if stored != identity.as_str() {
        return Err(StateError::WrongIdentity(stored.into()));
    }
    let last = last(&fields)?;
    let active = actives(&fields)?;
    let ledger = ledger(&fields, last.as_deref(), &active)?;
    Ok(Kept { ledger, last, active })
}

/// The keys of a file, brought to today's version.
pub(super) fn fields(bytes: &[u8]) -> Result<Fields<'_>, StateError> {
    if bytes.len() > FILE_BYTES {
        return Err(StateError::TooLarge { bytes: bytes.len() as u64 });
    }
    let text = core::str::from_utf8(bytes)
        .map_err(|error| StateError::NotJson { detail: error.to_string().into() })?;
    let is_object = text.trim_ascii_start().starts_with('{');
    let fields: Fields<'_> = match serde_json::from_str(text) {
        Ok(fields) if is_object => fields,
        parsed => {
            // Is it JSON at all?
            serde_json::from_str::<&RawValue>(text).map_err(|e| StateError::not_json(&e))?;
            return Err(match parsed {
                Err(error) if is_object => StateError::invalid("State", error.to_string()),
                _ => StateError::invalid("State", "not a JSON object"),
            });
        }
    };
    let version = required("Version", fields.version)?;
    migrate(&version, fields)
}

/// Brings the keys of a file from its version to today's, one version after the
/// other. A way from an older version must keep `LastHandledPeriodID` and every
/// closed period closed, and give the same result each time.
fn migrate<'a>(version: &str, fields: Fields<'a>) -> Result<Fields<'a>, StateError> {
    match version {
        super::VERSION => Ok(fields),
        unknown => Err(StateError::UnknownVersion(unknown.into())),
    }
}

fn last(fields: &Fields<'_>) -> Result<Option<Box<Last>>, StateError> {
    let period = required("LastHandledPeriodID", fields.last_handled_period_id)?;
    let outcome = required("LastOutcome", fields.last_outcome)?;
    let chosen = required("LastChosenTime", fields.last_chosen_time)?;
    let nominal = required("LastNominalTime", fields.last_nominal_time)?;
    if period.is_empty() {
        let companions =
            [("LastOutcome", outcome), ("LastChosenTime", chosen), ("LastNominalTime", nominal)];
        return match companions.into_iter().find(|(_, value)| !value.is_empty()) {
            Some((field, value)) => Err(StateError::invalid(
                field,
                format!("is {}, but `LastHandledPeriodID` is empty", kron_core::quoted(&value)),
            )),
            None => Ok(None),
        };
    }
    let period: PeriodId = value("LastHandledPeriodID", &period)?;
    if value::<PeriodId>("LastNominalTime", &nominal)? != period {
        return Err(StateError::invalid(
            "LastNominalTime",
            format!("is {nominal}, but the period is {period}"),
        ));
    }
    Ok(Some(Box::new(Last {
        period,
        outcome: read_outcome("LastOutcome", &outcome)?,
        chosen: value_unless_empty("LastChosenTime", &chosen)?,
        reason: optional("LastReason", fields.last_reason)?,
        started_at: optional_value("LastStartedAt", fields.last_started_at)?,
        exit_code: optional("LastExitCode", fields.last_exit_code)?,
        seed_hash: optional_value("LastSeedHash", fields.last_seed_hash)?,
        distribution: optional("LastDistribution", fields.last_distribution)?,
    })))
}

fn actives(fields: &Fields<'_>) -> Result<Vec<Active>, StateError> {
    let read = |field, text: ActiveText<'_>| {
        // Signals to number 0 or to numbers beyond the kernel's go elsewhere.
        if !(1..=i32::MAX as u32).contains(&text.pid) {
            return Err(StateError::invalid(field, format!("`PID` cannot be {}", text.pid)));
        }
        Ok(Active {
            period: value(field, &text.period_id)?,
            chosen: value(field, &text.chosen_time)?,
            started_at: value(field, &text.started_at)?,
            process: Process {
                pid: text.pid,
                start_ticks: text.start_ticks,
                boot_id: text.boot_id,
            },
        })
    };
    let (one, all) = ("ActiveExecution", "ActiveExecutions");
    let list: Option<Vec<ActiveText<'_>>> = optional(all, fields.active_executions)?;
    let mut active = Vec::new();
    for text in list.unwrap_or_default() {
        active.push(read(all, text)?);
    }
    if let Some(text) = optional(one, fields.active_execution)? {
        let newest = read(one, text)?;
        let same = |a: &Active| a.period == newest.period && a.process.pid == newest.process.pid;
        if !active.iter().any(same) {
            active.push(newest);
        }
    }
    Ok(active)
}

/// The marks. A file without ours has `LastHandledPeriodID` alone, and nothing
/// up to it may run; the periods handled last and still active are closed too,
/// whatever the marks say.
fn ledger(
    fields: &Fields<'_>,
    last: Option<&Last>,
    active: &[Active],
) -> Result<Ledger, StateError> {
    let last = last.map(|last| last.period);
    let through = match fields.handled_through {
        Some(raw) => value_unless_empty("HandledThrough", &required("HandledThrough", Some(raw))?)?,
        None => last,
    };
    let listed: Option<Vec<Cow<'_, str>>> = optional("HandledAhead", fields.handled_ahead)?;
    let mut ahead = Vec::new();
    for text in listed.unwrap_or_default() {
        ahead.push(value("HandledAhead", &text)?);
    }
    ahead.extend(last);
    ahead.extend(active.iter().map(|active| active.period));
    let not_before = optional_value("NotBefore", fields.not_before)?;
    let definition = optional_value("DefinitionHash", fields.definition_hash)?;
    Ok(Ledger::restore(through, ahead, not_before, definition))
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The text of a key that must be there.
fn required<'a>(
    field: &'static str,
    raw: Option<&'a RawValue>,
) -> Result<Cow<'a, str>, StateError> {
    let raw = raw.ok_or(StateError::Missing(field))?;
    let text: Text<'a> =
        serde_json::from_str(raw.get()).map_err(|e| StateError::invalid(field, e.to_string()))?;
    Ok(text.0)
}

/// The value of a key that may be absent.
fn optional<'a, T: Deserialize<'a>>(
    field: &'static str,
    raw: Option<&'a RawValue>,
) -> Result<Option<T>, StateError> {
    raw.map(|raw| serde_json::from_str(raw.get()))
        .transpose()
        .map_err(|error| StateError::invalid(field, error.to_string()))
}

/// The value of a key that is a text with a form, and may be absent or empty.
fn optional_value<T: FromStr<Err: Display>>(
    field: &'static str,
    raw: Option<&RawValue>,
) -> Result<Option<T>, StateError> {
    let text: Option<Text<'_>> = optional(field, raw)?;
    text.map_or(Ok(None), |text| value_unless_empty(field, &text.0))
}

pub(super) fn value_unless_empty<T: FromStr<Err: Display>>(
    field: &'static str,
    text: &str,
) -> Result<Option<T>, StateError> {
    if text.is_empty() { Ok(None) } else { value(field, text).map(Some) }
}

pub(super) fn value<T: FromStr<Err: Display>>(
    field: &'static str,
    text: &str,
) -> Result<T, StateError> {
    text.parse().map_err(|error: T::Err| {
        StateError::invalid(field, format!("{}: {error}", kron_core::quoted(text)))
    })
}

pub(super) fn read_outcome(field: &'static str, text: &str) -> Result<Outcome, StateError> {
    Outcome::ALL.into_iter().find(|outcome| outcome.as_str() == text).ok_or_else(|| {
        StateError::invalid(field, format!("{} is no outcome", kron_core::quoted(text)))
    })
}
