//! The plain calendar: the next or previous local minute that matches.
//!
//! No zones here; a local minute is a number, counted from 1970-01-01T00:00
//! on the wall. Days are found a month at a time, on a 32-bit set of the
//! month's matching days, so no search walks days or minutes.

use super::Cron;
use crate::bounds::NOMINAL_YEAR;
use crate::time::civil::{Date, days_in_month, weekday};
use alloc::vec::Vec;
use core::ops::RangeInclusive;

pub(super) const DAY_MINUTES: i64 = 1440;

/// A month, and the day number of its first day.
#[derive(Clone, Copy)]
struct Month {
    year: i32,
    number: u8,
    first: i64,
}

impl Month {
    fn of(date: Date, day: i64) -> Self {
        Self { year: date.year, number: date.month, first: day + 1 - i64::from(date.day) }
    }

    fn new(year: i32, number: u8) -> Self {
        Self { year, number, first: Date { year, month: number, day: 1 }.day_number() }
    }
}

impl Cron {
    /// The first match at or after a local minute.
    pub(super) fn match_at_or_after(&self, minute: i64) -> Option<i64> {
        let day = minute.div_euclid(DAY_MINUTES);
        let today = |day| {
            let time = self.time_at_or_after(minute.rem_euclid(DAY_MINUTES) as u32)?;
            Some(day * DAY_MINUTES + i64::from(time))
        };
        let later = |day| day * DAY_MINUTES + i64::from(self.first_time());
        if self.every_day_matches() {
            return today(day).or_else(|| (day < LAST_DAY).then(|| later(day + 1)));
        }
        let date = Date::from_day_number(day);
        let mut month = Month::of(date, day);
        let mut days = self.days_of(month) >> date.day << date.day;
        if days >> date.day & 1 == 1 {
            if let Some(found) = today(day) {
                return Some(found);
            }
            days &= days - 1;
        }
        while days == 0 {
            month = self.month_after(month);
            if month.year > LAST_YEAR {
                return None;
            }
            days = self.days_of(month);
        }
        Some(later(month.first + i64::from(days.trailing_zeros()) - 1))
    }

    /// The last match at or before a local minute.
    pub(super) fn match_at_or_before(&self, minute: i64) -> Option<i64> {
        let day = minute.div_euclid(DAY_MINUTES);
        let today = |day| {
            let time = self.time_at_or_before(minute.rem_euclid(DAY_MINUTES) as u32)?;
            Some(day * DAY_MINUTES + i64::from(time))
        };
        let earlier = |day| day * DAY_MINUTES + i64::from(self.last_time());
        if self.every_day_matches() {
            return today(day).or_else(|| (day > FIRST_DAY).then(|| earlier(day - 1)));
        }
        let date = Date::from_day_number(day);
        let mut month = Month::of(date, day);
        let mut days = self.days_of(month) & ((2_u64 << date.day) - 1) as u32;
        if days >> date.day & 1 == 1 {
            if let Some(found) = today(day) {
                return Some(found);
            }
            days &= !(1 << date.day);
        }
        while days == 0 {
            month = self.month_before(month);
            if month.year < FIRST_YEAR {
                return None;
            }
            days = self.days_of(month);
        }
        Some(earlier(month.first + i64::from(days.ilog2()) - 1))
    }

    pub(super) fn first_time(&self) -> u32 {
        self.hours.trailing_zeros() * 60 + self.minutes.trailing_zeros()
    }

    pub(super) fn last_time(&self) -> u32 {
        self.hours.ilog2() * 60 + self.minutes.ilog2()
    }

    fn time_at_or_after(&self, minute_of_day: u32) -> Option<u32> {
        let (hour, minute) = (minute_of_day / 60, minute_of_day % 60);
        if self.hours >> hour & 1 == 1 {
            let rest = self.minutes >> minute;
            if rest != 0 {
                return Some(hour * 60 + minute + rest.trailing_zeros());
            }
        }
        let rest = self.hours >> (hour + 1);
        (rest != 0).then(|| (hour + 1 + rest.trailing_zeros()) * 60 + self.minutes.trailing_zeros())
    }

    fn time_at_or_before(&self, minute_of_day: u32) -> Option<u32> {
        let (hour, minute) = (minute_of_day / 60, minute_of_day % 60);
        if self.hours >> hour & 1 == 1 {
            let rest = self.minutes & ((2 << minute) - 1);
            if rest != 0 {
                return Some(hour * 60 + rest.ilog2());
            }
        }
        let rest = self.hours & ((1 << hour) - 1);
        (rest != 0).then(|| rest.ilog2() * 60 + self.minutes.ilog2())
    }

    pub(super) fn every_day_matches(&self) -> bool {
        self.days_of_month == 0xFFFF_FFFE && self.months == 0x1FFE && self.days_of_week == 0x7F
    }

    /// Matching days of a month, bit *n* for day *n*.
    fn days_of(&self, month: Month) -> u32 {
        if self.months >> month.number & 1 == 0 {
            return 0;
        }
        let length = days_in_month(month.year, month.number);
        // Bit 0 for the weekday of the first, then the week repeated five times.
        let first = weekday(month.first);
        let week = u64::from(self.days_of_week);
        let week = (week >> first | week << (7 - first)) & 0x7F;
        let by_week = (week * 0x0000_0000_1020_4081) << 1;
        let by_month = u64::from(self.days_of_month);
        let days = if self.either_day_matches() { by_month | by_week } else { by_month & by_week };
        days as u32 & ((2_u64 << length) - 2) as u32
    }

    fn month_after(&self, month: Month) -> Month {
        let later = self.months >> (month.number + 1);
        if later == 0 {
            Month::new(month.year + 1, self.months.trailing_zeros() as u8)
        } else {
            Month::new(month.year, month.number + 1 + later.trailing_zeros() as u8)
        }
    }

    fn month_before(&self, month: Month) -> Month {
        let earlier = self.months & ((1 << month.number) - 1);
        if earlier == 0 {
            Month::new(month.year - 1, self.months.ilog2() as u8)
        } else {
            Month::new(month.year, earlier.ilog2() as u8)
        }
    }

    /// Every matching day of some years, in order.
    pub(super) fn matching_days(&self, years: RangeInclusive<i32>) -> Vec<i64> {
        let mut matching = Vec::new();
        let mut month = Month::new(*years.start(), self.months.trailing_zeros() as u8);
        while month.year <= *years.end() {
            let mut days = self.days_of(month);
            while days != 0 {
                matching.push(month.first + i64::from(days.trailing_zeros()) - 1);
                days &= days - 1;
            }
            month = self.month_after(month);
        }
        matching
    }
}

/// Where the search gives up: a year beyond nominal times on either side,
/// because a local date may be a day off. The exact limits are in UTC.
const FIRST_YEAR: i32 = NOMINAL_YEAR.min - 1;
const LAST_YEAR: i32 = NOMINAL_YEAR.max + 1;
const FIRST_DAY: i64 = Date { year: FIRST_YEAR, month: 1, day: 1 }.day_number();
const LAST_DAY: i64 = Date { year: LAST_YEAR, month: 12, day: 31 }.day_number();
