//! Calendar dates as day numbers, in the proleptic Gregorian calendar.
//!
//! Day 0 is 1970-01-01. The conversions are Howard Hinnant's well-known
//! algorithms on years that begin in March; tests compare them with jiff.

use crate::bounds::YEAR;
use core::fmt;

/// A calendar date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    /// Year of the Gregorian calendar.
    pub year: i32,
    /// Month, 1 to 12.
    pub month: u8,
    /// Day of the month, 1 to 31.
    pub day: u8,
}

impl Date {
    /// A date that exists, or nothing.
    #[must_use]
    pub fn new(year: i32, month: u8, day: u8) -> Option<Self> {
        let exists = YEAR.contains(year)
            && (1..=12).contains(&month)
            && (1..=days_in_month(year, month)).contains(&day);
        exists.then_some(Self { year, month, day })
    }

    /// Days since 1970-01-01.
    #[must_use]
    pub const fn day_number(self) -> i64 {
        let year = self.year as i64 - (self.month <= 2) as i64;
        let era = year.div_euclid(400);
        let year_of_era = year - era * 400;
        let month_from_march = (self.month as i64 + 9) % 12;
        let day_of_year = (153 * month_from_march + 2) / 5 + self.day as i64 - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * 146_097 + day_of_era - 719_468
    }

    /// The date `days` after (or before) 1970-01-01.
    #[must_use]
    pub const fn from_day_number(days: i64) -> Self {
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        // Within an era everything is small and unsigned, which divides faster.
        let day_of_era = (shifted - era * 146_097) as u32;
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = (day_of_year - (153 * month_from_march + 2) / 5 + 1) as u8;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = year_of_era as i32 + era as i32 * 400 + (month <= 2) as i32;
        Self { year, month: month as u8, day }
    }

    /// The ISO 8601 week: the year it belongs to and its number, 1 to 53.
    #[must_use]
    pub fn iso_week(self) -> (i32, u8) {
        let days = self.day_number();
        // The week belongs to the year of its Thursday.
        let monday_based = (days + 3).rem_euclid(7);
        let thursday = days - monday_based + 3;
        let year = Self::from_day_number(thursday).year;
        let first = Self { year, month: 1, day: 1 }.day_number();
        (year, ((thursday - first) / 7 + 1) as u8)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// Day of the week of a day number, 0 for Sunday.
#[must_use]
pub const fn weekday(days: i64) -> u8 {
    (days + 4).rem_euclid(7) as u8
}

/// Whether a year has a 29 February.
#[must_use]
pub const fn is_leap(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Number of days of a month.
#[must_use]
pub const fn days_in_month(year: i32, month: u8) -> u8 {
    match month {
        2 => 28 + is_leap(year) as u8,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_jiff_on_every_day_of_six_centuries() {
        let first = Date { year: 1800, month: 1, day: 1 }.day_number();
        let last = Date { year: 2400, month: 12, day: 31 }.day_number();
        let epoch = jiff::civil::date(1970, 1, 1);
        let mut theirs = jiff::civil::date(1800, 1, 1);
        for days in first..=last {
            let ours = Date::from_day_number(days);
            assert_eq!(
                (ours.year, ours.month, ours.day),
                (theirs.year().into(), theirs.month() as u8, theirs.day() as u8)
            );
            assert_eq!(ours.day_number(), days);
            assert_eq!(weekday(days), theirs.weekday().to_sunday_zero_offset() as u8);
            assert_eq!(days_in_month(ours.year, ours.month), theirs.days_in_month() as u8);
            // CORE-27: the week of the year, and the year it belongs to.
            let week = theirs.iso_week_date();
            assert_eq!(ours.iso_week(), (week.year().into(), week.week() as u8), "{ours}");
            theirs = theirs.tomorrow().unwrap();
        }
        assert_eq!(epoch.tomorrow().unwrap(), jiff::civil::date(1970, 1, 2));
    }

    #[test]
    fn borders_of_the_accepted_years() {
        for (year, month, day, exists) in [
            (1, 1, 1, true),
            (9999, 12, 31, true),
            (0, 12, 31, false),
            (10_000, 1, 1, false),
            (2026, 2, 29, false),
            (2028, 2, 29, true),
            (2100, 2, 29, false),
            (2000, 2, 29, true),
            (2026, 4, 31, false),
            (2026, 0, 1, false),
            (2026, 13, 1, false),
            (2026, 1, 0, false),
        ] {
            let date = Date::new(year, month, day);
            assert_eq!(date.is_some(), exists, "{year}-{month}-{day}");
            if let Some(date) = date {
                assert_eq!(Date::from_day_number(date.day_number()), date);
            }
        }
    }
}
