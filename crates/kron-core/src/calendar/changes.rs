//! Which changes of the clock a schedule meets.
//!
//! For advice only: `nominal` decides what happens then.

use super::Cron;
use crate::identity::PeriodId;
use crate::job::Job;
use crate::time::UtcSecond;
use crate::time::civil::Date;

/// What a clock does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// It jumps forward: local times are skipped.
    Gap,
    /// It goes back: local times are repeated.
    Fold,
}

/// A change of local time that touches times of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockChange {
    /// The instant of the change.
    pub at: UtcSecond,
    /// Forward or back.
    pub kind: ChangeKind,
    /// How many of the schedule's local times are skipped or repeated.
    pub times: u32,
    /// The first of them, as hour and minute.
    pub first: (u8, u8),
    /// The local date of that first one.
    pub date: Date,
}

impl Job {
    /// The changes of the clock between two instants that skip or repeat a
    /// local time of this schedule.
    ///
    /// ```
    /// use kron_core::{Job, Zones};
    /// let job = Job::parse("x", "30 2 * * * @tz(Europe/Paris)", &mut Zones::bundled())?;
    /// let changes: Vec<_> = job
    ///     .clock_changes("2026-01-01T00:00:00Z".parse()?, "2027-01-01T00:00:00Z".parse()?)
    ///     .collect();
    /// assert_eq!(changes.len(), 2);
    /// assert_eq!(changes[0].at.to_string(), "2026-03-29T01:00:00Z");
    /// assert_eq!((changes[0].times, changes[0].first), (1, (2, 30)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clock_changes(
        &self,
        from: UtcSecond,
        until: UtcSecond,
    ) -> impl Iterator<Item = ClockChange> + '_ {
        let zone = self.zone();
        let mut stretch = Some(zone.stretch(from.unix_seconds()));
        core::iter::from_fn(move || {
            loop {
                let next = zone.stretch_after(stretch.as_ref()?);
                stretch = next;
                let now = next?;
                if now.start >= until.unix_seconds() {
                    return None;
                }
                let (kind, first, end) = if now.fresh_from < now.local_start() {
                    (ChangeKind::Gap, now.fresh_from, now.local_start())
                } else {
                    (ChangeKind::Fold, now.local_start(), now.fresh_from.min(now.local_end()))
                };
                if let Some((times, minute)) = matches_between(self.cron(), first, end) {
                    let minute_of_day = minute.rem_euclid(24 * 60);
                    return Some(ClockChange {
                        at: UtcSecond::new_unchecked(now.start),
                        kind,
                        times,
                        first: ((minute_of_day / 60) as u8, (minute_of_day % 60) as u8),
                        date: Date::from_day_number(minute.div_euclid(24 * 60)),
                    });
                }
            }
        })
    }
}

impl Job {
    /// Two periods whose windows overlap only because the clock is changed
    /// between them, which brings them nearer than they ever are otherwise.
    #[must_use]
    pub fn overlap_at_a_change(
        &self,
        from: UtcSecond,
        until: UtcSecond,
    ) -> Option<(PeriodId, PeriodId)> {
        let zone = self.zone();
        let mut stretch = zone.stretch_after(&zone.stretch(from.unix_seconds()))?;
        while stretch.start < until.unix_seconds() {
            let change = UtcSecond::new_unchecked(stretch.start);
            let before = self.prev_period(UtcSecond::new_unchecked(stretch.start - 1));
            let mut pair = before.or_else(|| self.next_period(change));
            // The period before the change, and the first ones after it.
            for _ in 0..3 {
                let Some((first, second)) =
                    pair.and_then(|first| Some((first, self.next_period(first.nominal())?)))
                else {
                    break;
                };
                let apart = second.nominal().unix_seconds() - first.nominal().unix_seconds();
                if (apart as u64) < self.window().duration.as_secs() {
                    return Some((first, second));
                }
                pair = Some(second);
            }
            stretch = zone.stretch_after(&stretch)?;
        }
        None
    }
}

/// How many local minutes of a schedule begin in `first..end`, and the first.
fn matches_between(cron: &Cron, first: i64, end: i64) -> Option<(u32, i64)> {
    let mut times = 0;
    let mut earliest = None;
    let mut minute = (first + 59).div_euclid(60);
    while let Some(found) = cron.match_at_or_after(minute).filter(|found| found * 60 < end) {
        times += 1;
        earliest = earliest.or(Some(found));
        minute = found + 1;
    }
    earliest.map(|earliest| (times, earliest))
}
