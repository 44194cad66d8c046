//! The plain calendar: the next or previous local minute that matches.
//!
//! No zones here; a local minute is a number, counted from 1970-01-01T00:00
//! on the wall. Days are found a month at a time, on a 32-bit set of the
//! month's matching days, so no search walks days or minutes.

use super::Cron;
use crate::bounds::NOMINAL_YEAR;
use crate::time::civil::{Date, days_in_month, weekday};

pub(super) const DAY_MINUTES: i64 = 1440;

impl Cron {
    /// The first match at or after a local minute.
    pub(super) fn match_at_or_after(&self, minute: i64) -> Option<i64> {
        let day = minute.div_euclid(DAY_MINUTES);
        if self.matches_day(day) {
            let time = self.time_at_or_after(minute.rem_euclid(DAY_MINUTES) as u32);
            if let Some(time) = time {
                return Some(day * DAY_MINUTES + i64::from(time));
            }
        }
        let day = self.day_at_or_after(day + 1)?;
        Some(day * DAY_MINUTES + i64::from(self.first_time()))
    }

    /// The last match at or before a local minute.
    pub(super) fn match_at_or_before(&self, minute: i64) -> Option<i64> {
        let day = minute.div_euclid(DAY_MINUTES);
        if self.matches_day(day) {
            let time = self.time_at_or_before(minute.rem_euclid(DAY_MINUTES) as u32);
            if let Some(time) = time {
                return Some(day * DAY_MINUTES + i64::from(time));
            }
        }
        let day = self.day_at_or_before(day - 1)?;
        Some(day * DAY_MINUTES + i64::from(self.last_time()))
    }

    fn first_time(&self) -> u32 {
        self.hours.trailing_zeros() * 60 + self.minutes.trailing_zeros()
    }

    fn last_time(&self) -> u32 {
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

    fn every_day_matches(&self) -> bool {
        self.days_of_month == 0xFFFF_FFFE && self.months == 0x1FFE && self.days_of_week == 0x7F
    }

    fn matches_day(&self, day: i64) -> bool {
        if self.every_day_matches() {
            return true;
        }
        let date = Date::from_day_number(day);
        if self.months >> date.month & 1 == 0 {
            return false;
        }
        let by_month = self.days_of_month >> date.day & 1 == 1;
        let by_week = self.days_of_week >> weekday(day) & 1 == 1;
        if self.either_day_matches() { by_month || by_week } else { by_month && by_week }
    }

    /// Matching days of a month, bit *n* for day *n*, weekdays spread out.
    pub(super) fn days_of(&self, year: i32, month: u8) -> u32 {
        let length = days_in_month(year, month);
        let first = weekday(Date { year, month, day: 1 }.day_number());
        // Bit 0 for the weekday of the first, then the week repeated five times.
        let week = u64::from(self.days_of_week);
        let week = (week >> first | week << (7 - first)) & 0x7F;
        let by_week = (week * 0x0000_0000_1020_4081) << 1;
        let by_month = u64::from(self.days_of_month);
        let days = if self.either_day_matches() { by_month | by_week } else { by_month & by_week };
        days as u32 & ((2_u64 << length) - 2) as u32
    }

    fn day_at_or_after(&self, day: i64) -> Option<i64> {
        if self.every_day_matches() {
            return (day <= LAST_DAY).then_some(day);
        }
        let mut date = Date::from_day_number(day);
        while date.year <= NOMINAL_YEAR.max {
            if self.months >> date.month & 1 == 1 {
                let days = self.days_of(date.year, date.month) >> date.day;
                if days != 0 {
                    date.day += days.trailing_zeros() as u8;
                    return Some(date.day_number());
                }
            }
            date.day = 1;
            let later = self.months >> (date.month + 1);
            if later == 0 {
                date.year += 1;
                date.month = self.months.trailing_zeros() as u8;
            } else {
                date.month += 1 + later.trailing_zeros() as u8;
            }
        }
        None
    }

    fn day_at_or_before(&self, day: i64) -> Option<i64> {
        if self.every_day_matches() {
            return (day >= FIRST_DAY).then_some(day);
        }
        let mut date = Date::from_day_number(day);
        while date.year >= NOMINAL_YEAR.min {
            if self.months >> date.month & 1 == 1 {
                let days = self.days_of(date.year, date.month) & ((2_u64 << date.day) - 1) as u32;
                if days != 0 {
                    date.day = days.ilog2() as u8;
                    return Some(date.day_number());
                }
            }
            date.day = 31;
            let earlier = self.months & ((1 << date.month) - 1);
            if earlier == 0 {
                date.year -= 1;
                date.month = self.months.ilog2() as u8;
            } else {
                date.month = earlier.ilog2() as u8;
            }
        }
        None
    }
}

/// First and last day that a nominal time may fall on.
const FIRST_DAY: i64 = Date { year: NOMINAL_YEAR.min, month: 1, day: 1 }.day_number();
const LAST_DAY: i64 = Date { year: NOMINAL_YEAR.max, month: 12, day: 31 }.day_number();
