//! How many windows of a schedule can be open at once.

use super::Cron;
use super::days::DAY_MINUTES;
use alloc::vec::Vec;
use core::ops::RangeInclusive;
use core::time::Duration;

/// Years in which every sequence of weekdays and leap days occurs.
pub(super) const YEARS: RangeInclusive<i32> = 2001..=2028;

impl Cron {
    /// Whether some stretch of length `window`, ends included, holds more than
    /// `limit` nominal times; on a calendar without DST changes.
    ///
    /// Exact, in one pass over 28 years of matching days: with *k* times a day,
    /// the nominal time `limit` places later is a fixed number of matching days
    /// away, give or take one.
    pub(crate) fn exceeds_open_windows(&self, window: Duration, limit: usize) -> bool {
        let window_minutes = (window.as_secs() / 60) as i64;
        // The usual cases, settled without looking at a calendar.
        let touched_hours = (window_minutes / 60 + 2) as usize;
        let touched_days = (window_minutes / DAY_MINUTES + 2) as usize;
        let per_hour = self.minutes.count_ones() as usize;
        let per_day = self.times_per_day() as usize;
        if per_day * touched_days <= limit || per_hour * touched_hours <= limit {
            return false;
        }
        let times = self.times_of_day();
        let (whole, rest) = (limit / per_day, limit % per_day);
        // Least distance within the day, for times that need no extra day…
        let near = (0..per_day - rest).map(|i| times[i + rest] - times[i]).min();
        // …and for those that do.
        let far = (per_day - rest..per_day).map(|i| times[i + rest - per_day] - times[i]).min();
        // Matching days are a day apart or more.
        let possible = |&(apart, least): &(usize, Option<i64>)| {
            least.is_some_and(|least| apart as i64 * DAY_MINUTES + least <= window_minutes)
        };
        let cases = [(whole, near), (whole + 1, far)];
        if !cases.iter().any(possible) {
            return false;
        }
        let days = self.matching_days(YEARS);
        cases.into_iter().any(|(apart, least)| {
            let Some(least) = least else { return false };
            let shortest =
                (0..days.len().saturating_sub(apart)).map(|i| days[i + apart] - days[i]).min();
            shortest.is_some_and(|days| days * DAY_MINUTES + least <= window_minutes)
        })
    }

    fn times_of_day(&self) -> Vec<i64> {
        let mut times = Vec::with_capacity(self.times_per_day() as usize);
        for hour in (0..24).filter(|hour| self.hours >> hour & 1 == 1) {
            let minutes = (0..60).filter(|minute| self.minutes >> minute & 1 == 1);
            times.extend(minutes.map(|minute| hour * 60 + minute));
        }
        times
    }
}
