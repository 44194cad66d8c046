//! `OnCalendar=` expressions as cron fields.
//!
//! systemd has seconds, years, and the last days of a month; cron has not. And
//! where both weekday and day of the month are given, systemd means "and" where
//! cron means "or": that is written with a leading `*` where a step happens to
//! give the same days, and as an `@only` clause where none does.

use crate::fields::list;
use crate::message::quoted;
use kron_core::bounds::{Bounds, DAY_OF_MONTH, HOUR, MINUTE, MONTH};

/// An expression that cron can express.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Calendar {
    pub cron: String,
    pub zone: Option<String>,
    /// Weekdays that must match too, for `@only`.
    pub only_weekdays: Option<String>,
    /// Second of the day at which the last of a day's times begins.
    pub latest_second: u64,
    pub changes: Vec<String>,
}

const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const ALL_WEEKDAYS: u64 = 0x7f;

fn shorthand(word: &str) -> Option<&'static str> {
    Some(match word.to_ascii_lowercase().as_str() {
        "minutely" => "*-*-* *:*:00",
        "hourly" => "*-*-* *:00:00",
        "daily" => "*-*-* 00:00:00",
        "monthly" => "*-*-01 00:00:00",
        "weekly" => "Mon *-*-* 00:00:00",
        "yearly" | "annually" | "anually" => "*-01-01 00:00:00",
        "quarterly" => "*-01,04,07,10-01 00:00:00",
        "semiannually" | "semi-annually" | "biannually" | "bi-annually" => "*-01,07-01 00:00:00",
        _ => return None,
    })
}

/// Reads an expression.
pub(super) fn convert(text: &str) -> Result<Calendar, String> {
    let mut tokens: Vec<&str> = text.split_ascii_whitespace().collect();
    if tokens.iter().any(|token| token.starts_with('@')) {
        return Err(format!("{} is a single moment, not a calendar", quoted(text)));
    }
    let mut zone = None;
    if let [first, .., last] = tokens[..] {
        let is_zone = last.starts_with(|c: char| c.is_ascii_alphabetic())
            && (!last.contains(':') && weekdays(last).is_err() || shorthand(first).is_some());
        if is_zone {
            zone = Some(last.to_string());
            tokens.pop();
        }
    }
    if let [word] = tokens[..]
        && let Some(meaning) = shorthand(word)
    {
        tokens = meaning.split(' ').collect();
    }
    let mut days_of_week = ALL_WEEKDAYS;
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next_if(|t| t.starts_with(|c: char| c.is_ascii_alphabetic())) {
        days_of_week = weekdays(token)?;
    }
    let date = tokens.next_if(|token| token.contains(['-', '~'])).unwrap_or("*-*-*");
    let time = tokens.next().unwrap_or("00:00:00");
    if tokens.next().is_some() || text.trim().is_empty() {
        return Err(format!("{} is not a calendar that is understood", quoted(text)));
    }
    assemble(days_of_week, date, time, zone)
}

fn assemble(
    days_of_week: u64,
    date: &str,
    time: &str,
    zone: Option<String>,
) -> Result<Calendar, String> {
    let mut changes = Vec::new();
    if date.contains('~') {
        return Err(format!(
            "{} counts from the end of the month, which cron cannot",
            quoted(date)
        ));
    }
    let (month, day) = match date.split('-').collect::<Vec<_>>()[..] {
        ["*", month, day] | [month, day] => (month, day),
        [_, _, _] => {
            return Err(format!("{} is limited to years, which cron cannot be", quoted(date)));
        }
        _ => return Err(format!("{} is not a date", quoted(date))),
    };
    let (hour, minute, second) = match time.split(':').collect::<Vec<_>>()[..] {
        [hour, minute] => (hour, minute, "0"),
        [hour, minute, second] => (hour, minute, second),
        _ => return Err(format!("{} is not a time of day", quoted(time))),
    };
    check_second(second, &mut changes)?;
    let (minute, hour) = (component(minute, MINUTE)?, component(hour, HOUR)?);
    let (mut day, month) = (component(day, DAY_OF_MONTH)?, component(month, MONTH)?);
    let mut weekday = if days_of_week == ALL_WEEKDAYS { "*".into() } else { list(days_of_week) };
    let mut only_weekdays = None;
    if day != "*" && weekday != "*" {
        let stepped = |min: u8, max: u8, set: u64| {
            (2..=max - min).find(|&step| {
                (min..=max).step_by(step.into()).fold(0, |set, n| set | 1_u64 << n) == set
            })
        };
        if day.starts_with("*/") {
            // Already an "and".
        } else if let Some(step) = stepped(1, 31, set(&day)) {
            day = format!("*/{step}");
        } else if let Some(step) = stepped(0, 6, days_of_week) {
            weekday = format!("*/{step}");
        } else {
            changes.push(format!(
                "the weekday is a constraint here: on other days of {} a period is recorded as \
                 unschedulable",
                quoted(&day)
            ));
            only_weekdays = Some(core::mem::replace(&mut weekday, "*".into()));
        }
    }
    let last = |field: &str, bounds: Bounds<u8>| match field {
        "*" => u64::from(bounds.max),
        _ => u64::from(63 - set_within(field, bounds).leading_zeros().min(63)),
    };
    let latest_second = last(&hour, HOUR) * 3600 + last(&minute, MINUTE) * 60;
    let cron = format!("{minute} {hour} {day} {month} {weekday}");
    Ok(Calendar { cron, zone, only_weekdays, latest_second, changes })
}

/// Seconds other than `00` are lost; several of them cannot be.
fn check_second(text: &str, changes: &mut Vec<String>) -> Result<(), String> {
    if text == "*" || text.contains([',', '/']) || text.contains("..") {
        return Err(format!("{} is more than once a minute", quoted(text)));
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || whole.parse::<u8>().map_or(true, |n| n > 59) {
        return Err(format!("{} is not a second", quoted(text)));
    }
    if text.bytes().any(|b| b.is_ascii_digit() && b != b'0') {
        changes.push(format!("second {} becomes the full minute", quoted(text)));
    }
    Ok(())
}

/// A list of weekdays, as cron's bits: 0 is Sunday.
fn weekdays(text: &str) -> Result<u64, String> {
    let error = || format!("{} is not a list of weekdays", quoted(text));
    let day = |name: &str| {
        let name = name.to_ascii_lowercase();
        let known = |day: &&str| **day == name || (name.len() == 3 && day.starts_with(&name));
        WEEKDAYS.iter().position(known).ok_or_else(error)
    };
    let mut set = 0;
    for item in text.trim_end_matches(',').split(',') {
        let ends = item.split_once("..").or_else(|| item.split_once('-'));
        let (first, last) = match ends {
            Some((first, last)) => (day(first)?, day(last)?),
            None => (day(item)?, day(item)?),
        };
        if first > last {
            return Err(format!("{} runs backward; systemd refuses it", quoted(item)));
        }
        set |= (first..=last).fold(0, |set, day| set | 1 << ((day + 1) % 7));
    }
    Ok(set)
}

/// One component, as the text of a cron field.
fn component(text: &str, bounds: Bounds<u8>) -> Result<String, String> {
    if text == "*" {
        return Ok("*".into());
    }
    let what = bounds.what;
    let number = |text: &str| {
        let number = text.parse().ok().filter(|n| text.len() < 4 && bounds.contains(*n));
        number.ok_or_else(|| format!("{what} {} is out of range {bounds}", quoted(text)))
    };
    let mut items = Vec::new();
    for item in text.split(',') {
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, Some(step)),
            None => (item, None),
        };
        let (first, last) = match range.split_once("..") {
            Some((first, last)) => (number(first)?, number(last)?),
            None => {
                let first = number(range)?;
                (first, if step.is_some() { bounds.max } else { first })
            }
        };
        if first > last {
            return Err(format!(
                "{what} range {} runs backward; systemd refuses it",
                quoted(range)
            ));
        }
        let step = match step {
            None => 1,
            Some(text) => text
                .parse()
                .ok()
                .filter(|&step| step > 0)
                .ok_or_else(|| format!("{} is not a step", quoted(text)))?,
        };
        items.push(show(first, last, step, bounds));
    }
    Ok(items.join(","))
}

fn show(first: u8, last: u8, step: u32, bounds: Bounds<u8>) -> String {
    if step > u32::from(last - first) {
        return first.to_string();
    }
    match ((first, last) == (bounds.min, bounds.max), step) {
        (true, 1) => "*".into(),
        (true, _) => format!("*/{step}"),
        (false, 1) => format!("{first}-{last}"),
        (false, _) => format!("{first}-{last}/{step}"),
    }
}

/// The values of a field made above.
fn set(field: &str) -> u64 {
    set_within(field, DAY_OF_MONTH)
}

fn set_within(field: &str, bounds: Bounds<u8>) -> u64 {
    let mut set = 0;
    for item in field.split(',') {
        let (range, step) = item.split_once('/').unwrap_or((item, "1"));
        let (first, last) = match range {
            "*" => (bounds.min, bounds.max),
            _ => {
                let (first, last) = range.split_once('-').unwrap_or((range, range));
                (first.parse().unwrap_or(bounds.min), last.parse().unwrap_or(bounds.min))
            }
        };
        let step = step.parse().unwrap_or(1_usize).max(1);
        set = (first..=last).step_by(step).fold(set, |set, n| set | 1_u64 << (n & 63));
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calendars() {
        for (text, expected) in [
            ("minutely", "* * * * *"),
            ("hourly", "0 * * * *"),
            ("daily", "0 0 * * *"),
            ("weekly", "0 0 * * 1"),
            ("monthly", "0 0 1 * *"),
            ("yearly", "0 0 1 1 *"),
            ("quarterly", "0 0 1 1,4,7,10 *"),
            ("semiannually", "0 0 1 1,7 *"),
            ("daily UTC", "0 0 * * * UTC"),
            ("*-*-* 6,18:00", "0 6,18 * * *"),
            ("*-*-* 07..23:30", "30 7-23 * * *"),
            ("Sun *-*-* 03:10:00", "10 3 * * 0"),
            ("Mon..Fri 09:00", "0 9 * * 1-5"),
            ("Sat,Sunday 10:00 Europe/Paris", "0 10 * * 0,6 Europe/Paris"),
            ("Mon-Wed,Fri *-*-* 1:05", "5 1 * * 1-3,5"),
            ("1:05:00", "5 1 * * *"),
            ("*:00/10", "*/10 * * * *"),
            ("*:0/15", "*/15 * * * *"),
            ("*:5/15", "5-59/15 * * * *"),
            ("8..18/2:00", "0 8-18/2 * * *"),
            ("*-*-1,15 12:00", "0 12 1,15 * *"),
            ("*-10,11-* 12:00", "0 12 * 10,11 *"),
            ("12-24 18:00", "0 18 24 12 *"),
            ("*-1/3-01", "0 0 1 */3 *"),
            ("Mon *-*-1/2 04:00", "0 4 */2 * 1"),
            ("Mon *-*-1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31 04:00", "0 4 */2 * 1"),
            ("Sat,Sun *-*-1..7 04:00", "0 4 1-7 * */6"),
            ("Sun *-*-1..7 1:00:00", "0 1 1-7 * * only 0 changed"),
            ("Mon..Sun *-*-1..7 1:00:00", "0 1 1-7 * *"),
            ("*:30:15", "30 * * * * changed"),
            ("*:30:00.5", "30 * * * * changed"),
            ("*:*:0/10", "refused: `0/10` is more than once a minute"),
            ("*-*~1", "refused: `*-*~1` counts from the end"),
            ("2026-*-* 00:00", "refused: `2026-*-*` is limited to years"),
            ("*-*-* */2:00", "refused: hour `*` is out of range 0-23"),
            ("Fri..Mon 1:00", "refused: `Fri..Mon` runs backward"),
            ("@12345", "refused: `@12345` is a single moment"),
            ("12..6:00", "refused: hour range `12..6` runs backward"),
            ("nonsense", "refused: `nonsense` is not a list of weekdays"),
            ("*:99", "refused: minute `99` is out of range 0-59"),
            ("", "refused: `` is not a calendar"),
            ("1:00 2:00 3:00", "refused: `1:00 2:00 3:00` is not a calendar"),
            ("*-*-* *:0/0", "refused: `0` is not a step"),
        ] {
            let found = match convert(text) {
                Ok(Calendar { cron, zone, only_weekdays, changes, .. }) => {
                    let mut out = vec![cron];
                    out.extend(zone);
                    out.extend(only_weekdays.map(|days| format!("only {days}")));
                    out.extend((!changes.is_empty()).then(|| "changed".into()));
                    out.join(" ")
                }
                Err(reason) => format!("refused: {reason}"),
            };
            if expected.starts_with("refused") {
                assert!(found.starts_with(expected), "{text}: {found}");
            } else {
                assert_eq!(found, expected, "{text}");
            }
        }
    }

    #[test]
    fn the_last_time_of_a_day() {
        for (text, expected) in
            [("daily", 0), ("1..7:30", 27_000), ("*:*", 86_340), ("*:0/15", 85_500)]
        {
            assert_eq!(convert(text).unwrap().latest_second, expected, "{text}");
        }
    }
}
