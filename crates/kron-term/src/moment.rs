//! Times as people write them on a command line.

use crate::failure::{Failure, INVALID};
use kron_core::time::civil::Date;
use kron_core::time::duration;
use kron_core::{UtcInstant, UtcSecond, Zone, quoted};

/// What is accepted, for help and messages.
pub const ACCEPTED: &str = "`2026-03-01T10:00:00Z`, `2026-03-01 10:00` (in the job's zone), \
     `2026-03-01`, `now`, `+2h` or `-90m`";

/// Reads a time. Without an offset it is local to `zone`.
///
/// # Errors
/// When it is none; the failure says what is accepted.
pub fn parse(text: &str, zone: &Zone, now: UtcSecond) -> Result<UtcSecond, Failure> {
    let invalid = || {
        Failure::new(INVALID, format!("{} is not a time", quoted(text)))
            .hint(format!("accepted are {ACCEPTED}"))
    };
    if text == "now" {
        return Ok(now);
    }
    if let Ok(instant) = text.parse::<UtcInstant>() {
        return Ok(instant.floor());
    }
    if let Some(ahead) = text.strip_prefix('+') {
        let length = duration::parse(ahead).map_err(|_| invalid())?;
        return Ok(now.instant().saturating_add(length).floor());
    }
    if let Some(ago) = text.strip_prefix('-') {
        let length = duration::parse(ago).map_err(|_| invalid())?;
        return Ok(now.instant().saturating_sub(length).floor());
    }
    let (date, second) = date_and_time(text).ok_or_else(invalid)?;
    zone.first_instant_of(date, second).ok_or_else(invalid)
}

/// `2026-03-01`, with `10:00` or `10:00:30` behind a blank or a `T`.
fn date_and_time(text: &str) -> Option<(Date, u32)> {
    let digits = |text: &str, length: usize| {
        (text.len() == length && text.bytes().all(|b| b.is_ascii_digit()))
            .then(|| text.parse::<u32>().ok())
            .flatten()
    };
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let mut parts = date.split('-');
    let year = digits(parts.next()?, 4)?;
    let month = digits(parts.next()?, 2)?;
    let day = digits(parts.next()?, 2)?;
    if parts.next().is_some() {
        return None;
    }
    let date = Date::new(year as i32, month as u8, day as u8)?;
    let Some(time) = time else { return Some((date, 0)) };
    let mut parts = time.split(':');
    let hour = digits(parts.next()?, 2).filter(|hour| *hour < 24)?;
    let minute = digits(parts.next()?, 2).filter(|minute| *minute < 60)?;
    let second = match parts.next() {
        Some(second) => digits(second, 2).filter(|second| *second < 60)?,
        None => 0,
    };
    parts.next().is_none().then_some((date, hour * 3600 + minute * 60 + second))
}

/// A time as the clock on the wall shows it: `Mon 2026-03-02 10:00:00 +01:00`.
#[must_use]
pub fn local(zone: &Zone, at: UtcSecond) -> String {
    let local = zone.local_time(at);
    format!("{} {local}", local.weekday())
}

/// A time with its distance, for one line: UTC, local, and how long until then.
#[must_use]
pub fn in_full(zone: &Zone, at: UtcSecond, now: UtcSecond) -> String {
    format!("{at}  {}  {}", local(zone, at), distance(now, at))
}

/// How long from `now` to `then`, in at most two units: `in 3h 20m`.
#[must_use]
pub fn distance(now: UtcSecond, then: UtcSecond) -> String {
    let seconds = then.unix_seconds() - now.unix_seconds();
    let length = two_units(seconds.unsigned_abs());
    match seconds {
        0 => "now".into(),
        1.. => format!("in {length}"),
        _ => format!("{length} ago"),
    }
}

/// A length in at most two units.
#[must_use]
pub fn two_units(seconds: u64) -> String {
    let units = [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)];
    let first = units.iter().position(|(_, size)| seconds >= *size).unwrap_or(3);
    let (unit, size) = units[first];
    let mut text = format!("{}{unit}", seconds / size);
    if let Some((unit, smaller)) = units.get(first + 1) {
        let rest = seconds % size / smaller;
        if rest > 0 {
            text += &format!(" {rest}{unit}");
        }
    }
    text
}
