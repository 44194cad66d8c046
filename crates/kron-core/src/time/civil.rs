//! Calendar dates as day numbers, in the proleptic Gregorian calendar.
//!
//! Day 0 is 1970-01-01. The conversions are those of Neri and Schneider
//! ("Euclidean affine functions and their application to calendar algorithms"):
//! years begin in March, and all arithmetic is on small unsigned numbers.
//! Tests compare them with jiff.

use crate::bounds::YEAR;
use core::fmt;

/// Whole 400-year cycles added before and taken off after, so that no number
/// is negative for any date that can be asked about.
const CYCLES: u32 = 10;
/// From 0000-03-01, where the algorithms count from, to 1970-01-01; plus the cycles.
const SHIFT_DAYS: i64 = 719_468 + CYCLES as i64 * 146_097;
const SHIFT_YEARS: i32 = CYCLES as i32 * 400;

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
        let before_march = self.month <= 2;
        let year = (self.year + SHIFT_YEARS - before_march as i32) as u32;
        let month = self.month as u32 + 12 * before_march as u32;
        let century = year / 100;
        let year_days = 1461 * year / 4 - century + century / 4;
        let month_days = (979 * month - 2919) / 32;
        (year_days + month_days + self.day as u32 - 1) as i64 - SHIFT_DAYS
    }

    /// The date `days` after (or before) 1970-01-01.
    #[must_use]
    pub const fn from_day_number(days: i64) -> Self {
        let days = (days + SHIFT_DAYS) as u32;
        let century_part = 4 * days + 3;
        let century = century_part / 146_097;
        let day_of_century = century_part % 146_097 / 4;
        let year_part = 2_939_745 * (4 * day_of_century + 3) as u64;
        let year_of_century = (year_part >> 32) as u32;
        let day_of_year = year_part as u32 / 2_939_745 / 4;
        let month_part = 2141 * day_of_year + 197_913;
        let month = month_part >> 16;
        let day = (month_part & 0xFFFF) / 2141 + 1;
        // Day 306 of a year that begins in March is 1 January.
        let new_year = day_of_year >= 306;
        Self {
            year: (100 * century + year_of_century + new_year as u32) as i32 - SHIFT_YEARS,
            month: (month - 12 * new_year as u32) as u8,
            day: day as u8,
        }
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
    // 1970-01-01 was a Thursday; the shift is a multiple of seven.
    ((days + 4 + 700_000_000) as u32 % 7) as u8
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
    }

    #[test]
    fn borders_of_the_accepted_years() {
        for (year, month, day, exists) in [
            (1, 1, 1, true),
            (4, 2, 29, true),
            (9996, 2, 29, true),
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
