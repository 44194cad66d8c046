//! Nominal times in UTC, with the gaps and folds of local time.
//!
//! For a fixed time of day each local minute belongs to exactly one instant: a
//! repeated one to its first pass, a skipped one to the end of the gap. For any
//! other schedule a local minute belongs to every instant at which the wall
//! clock shows it: none in a gap, two in a fold.
//!
//! Both searches go from stretch to stretch of constant offset and ask the
//! plain calendar at most once a stretch, usually once in all.

use super::Cron;
use crate::bounds::NOMINAL_YEAR;
use crate::time::civil::Date;
use crate::time::zone::{Stretch, Zone};
use crate::time::{DAY_SECONDS, UtcSecond};

/// Nominal times lie strictly between these, in every zone.
const EARLIEST: i64 = Date { year: NOMINAL_YEAR.min, month: 1, day: 1 }.day_number() * DAY_SECONDS;
const LATEST: i64 =
    (Date { year: NOMINAL_YEAR.max, month: 12, day: 31 }.day_number() + 1) * DAY_SECONDS;

impl Cron {
    /// The smallest nominal time later than `after`, or nothing before the end
    /// of year 9997.
    #[must_use]
    pub fn next_nominal(&self, zone: &Zone, after: UtcSecond) -> Option<UtcSecond> {
        let after = after.unix_seconds().max(EARLIEST);
        let stretch = zone.stretch(after);
        let found = if self.is_fixed_time() {
            self.next_fixed(zone, stretch, after)
        } else {
            self.next_on_wall(zone, stretch, after)
        };
        found.filter(|&nominal| nominal < LATEST).map(UtcSecond::new_unchecked)
    }

    /// The greatest nominal time at or before `at`, or nothing after the
    /// beginning of year 3.
    #[must_use]
    pub fn prev_nominal(&self, zone: &Zone, at: UtcSecond) -> Option<UtcSecond> {
        let at = at.unix_seconds().min(LATEST - 1);
        let stretch = zone.stretch(at);
        let found = if self.is_fixed_time() {
            self.prev_fixed(zone, stretch, at)
        } else {
            self.prev_on_wall(zone, stretch, at)
        };
        found.filter(|&nominal| nominal > EARLIEST).map(UtcSecond::new_unchecked)
    }

    fn next_fixed(&self, zone: &Zone, mut stretch: Stretch, after: i64) -> Option<i64> {
        let first = (after + 1 + stretch.offset).max(stretch.fresh_from);
        let local = self.match_at_or_after(ceil_minute(first))? * 60;
        if local >= stretch.local_end() {
            // Near the right stretch at once; a year away is many stretches.
            stretch = zone.stretch(local - stretch.offset);
            while local < stretch.fresh_from {
                stretch = zone.stretch_before(&stretch)?;
            }
        }
        while local >= stretch.local_end() {
            stretch = zone.stretch_after(&stretch)?;
        }
        // In the gap before this stretch: its first instant.
        Some(stretch.start.max(local - stretch.offset))
    }

    fn prev_fixed(&self, zone: &Zone, mut stretch: Stretch, at: i64) -> Option<i64> {
        // In a repeated hour the last local second so far is the one before it.
        let last = (at + stretch.offset).max(stretch.fresh_from - 1);
        let local = self.match_at_or_before(last.div_euclid(60))? * 60;
        if local < stretch.fresh_from {
            stretch = zone.stretch(local - stretch.offset);
            while local >= stretch.local_end() {
                stretch = zone.stretch_after(&stretch)?;
            }
        }
        while local < stretch.fresh_from {
            stretch = zone.stretch_before(&stretch)?;
        }
        Some(stretch.start.max(local - stretch.offset))
    }

    fn next_on_wall(&self, zone: &Zone, mut stretch: Stretch, after: i64) -> Option<i64> {
        let mut first = after + 1 + stretch.offset;
        let mut local = self.match_at_or_after(ceil_minute(first))? * 60;
        while local >= stretch.local_end() {
            stretch = zone.stretch_after(&stretch)?;
            let start = stretch.local_start();
            // After a fold earlier minutes count again; after a gap the match
            // may be gone. Otherwise it is still the next one.
            if start < first || local < start {
                first = start;
                local = self.match_at_or_after(ceil_minute(first))? * 60;
            }
        }
        Some(local - stretch.offset)
    }

    fn prev_on_wall(&self, zone: &Zone, mut stretch: Stretch, at: i64) -> Option<i64> {
        let mut last = at + stretch.offset;
        let mut local = self.match_at_or_before(last.div_euclid(60))? * 60;
        while local < stretch.local_start() {
            stretch = zone.stretch_before(&stretch)?;
            let end = stretch.local_end() - 1;
            if end > last || local > end {
                last = end;
                local = self.match_at_or_before(last.div_euclid(60))? * 60;
            }
        }
        Some(local - stretch.offset)
    }
}

fn ceil_minute(local_second: i64) -> i64 {
    (local_second + 59).div_euclid(60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::Spec;
    use alloc::vec::Vec;

    /// Zones that no country has: changes minutes apart, of any size, so that
    /// stretches lie wholly inside a fold, and gaps and folds overlap.
    fn odd_zone(seed: u64) -> (Zone, Vec<(i64, i32)>) {
        let mut generator = seed;
        let mut next = |below: i64| {
            generator = generator.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (generator >> 33) as i64 % below
        };
        let mut offsets = Vec::from([(crate::time::zone::FAR_PAST, 0)]);
        let mut at = 1_000_000_000;
        for _ in 0..12 {
            at += 600 + next(30_000);
            offsets.push((at, (next(48) as i32 - 24) * 900));
        }
        (Zone::from_transitions("Odd/Zone", &offsets), offsets)
    }

    /// CORE-04, CORE-11: the rule itself, on a clock watched second by second.
    #[test]
    fn odd_zones_agree_with_a_clock_on_the_wall() {
        for seed in 0..60 {
            let (zone, offsets) = odd_zone(seed);
            let offset = |utc: i64| {
                let i = offsets.partition_point(|(start, _)| *start <= utc) - 1;
                i64::from(offsets[i].1)
            };
            for text in ["*/7 * * * *", "13,47 0-23 * * *", "*/30 2,5 * * *", "15 9 * * *"] {
                let cron = Spec::parse(text).unwrap().cron().value;
                let (start, end) = (999_900_000, 1_000_500_000);
                let expected = watched(&cron, start, end, offset);
                let within = |t: UtcSecond| (start + 90_000..end).contains(&t.unix_seconds());
                let mut at = UtcSecond::new_unchecked(start + 90_000 - 1);
                let mut forward = Vec::new();
                while let Some(next) = cron.next_nominal(&zone, at).filter(|t| within(*t)) {
                    forward.push(next.unix_seconds());
                    at = next;
                }
                assert_eq!(forward, expected, "{text} in zone {seed}, forward");
                let mut at = UtcSecond::new_unchecked(end - 1);
                let mut backward = Vec::new();
                while let Some(last) = cron.prev_nominal(&zone, at).filter(|t| within(*t)) {
                    backward.push(last.unix_seconds());
                    at = UtcSecond::new_unchecked(last.unix_seconds() - 1);
                }
                backward.reverse();
                assert_eq!(backward, expected, "{text} in zone {seed}, backward");
            }
        }
    }

    /// Nominal times from a day and an hour after `start` on, by looking at
    /// every second.
    fn watched(cron: &Cron, start: i64, end: i64, offset: impl Fn(i64) -> i64) -> Vec<i64> {
        let matches =
            |local: i64| local % 60 == 0 && cron.match_at_or_after(local / 60) == Some(local / 60);
        let mut found = Vec::new();
        let mut shown = start + offset(start);
        for at in start + 1..end {
            let local = at + offset(at);
            let hit = if cron.is_fixed_time() {
                (shown + 1..=local).any(matches)
            } else {
                matches(local)
            };
            if hit && at >= start + 90_000 {
                found.push(at);
            }
            shown = shown.max(local);
        }
        found
    }
}
