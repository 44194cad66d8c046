//! What comes next: the periods of many jobs in the order in which they are due.

use crate::decision::Decision;
use crate::identity::PeriodId;
use crate::job::Job;
use crate::time::{UtcInstant, UtcSecond};
use alloc::collections::BinaryHeap;
use alloc::string::ToString;
use core::cmp::Reverse;
use core::time::Duration;

/// A moment on the timeline: a window opens, and from then on its period may be
/// due; or a period is due.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Opens,
    Due,
}

/// The decisions of all jobs that are due at `from` or later, by when they are
/// due: at their chosen time, or if there is none when their window opens. Each
/// comes with its job's place in the slice.
///
/// Windows may overlap and chosen times may cross; a heap keeps one window of
/// each job ahead, so that each step costs the logarithm of the number of jobs.
pub fn timeline<J: AsRef<Job>>(
    jobs: &[J],
    from: UtcSecond,
) -> impl Iterator<Item = (usize, Decision<'_>)> + '_ {
    let mut heap: BinaryHeap<Reverse<(UtcInstant, Event, PeriodId, usize)>> = BinaryHeap::new();
    let opens = |job: &Job, period: PeriodId| {
        period.nominal().instant().saturating_sub(job.window().lead())
    };
    for (i, job) in jobs.iter().map(AsRef::as_ref).enumerate() {
        if let Some(period) = job.first_period_reaching(from) {
            heap.push(Reverse((opens(job, period), Event::Opens, period, i)));
        }
    }
    core::iter::from_fn(move || {
        loop {
            let Reverse((at, event, period, i)) = heap.pop()?;
            let job = jobs[i].as_ref();
            if event == Event::Due {
                if at >= from.instant() {
                    return Some((i, job.decide(period)));
                }
                continue;
            }
            heap.push(Reverse((job.decide(period).due(), Event::Due, period, i)));
            if let Some(next) = job.next_period(period.nominal()) {
                heap.push(Reverse((opens(job, next), Event::Opens, next, i)));
            }
        }
    })
}

impl AsRef<Self> for Job {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl Job {
    /// The first period whose window does not end before `at`.
    fn first_period_reaching(&self, at: UtcSecond) -> Option<PeriodId> {
        let trail = self.window().trail() + Duration::from_secs(1);
        self.next_period(at.instant().saturating_sub(trail).floor())
    }

    /// The first chosen time from `from` up to `until`.
    ///
    /// ```
    /// use kron_core::{Job, Zones};
    /// let job = Job::parse("x", "* * * * * @only(hours=20)", &mut Zones::bundled())?;
    /// let next = job.next_chosen("2026-03-01T03:00:30Z".parse()?, "2026-03-02T00:00:00Z".parse()?);
    /// assert_eq!(next.unwrap().to_string(), "2026-03-01T20:00:00Z");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn next_chosen(&self, from: UtcSecond, until: UtcSecond) -> Option<UtcSecond> {
        timeline(core::slice::from_ref(self), from)
            .take_while(|(_, decision)| decision.due() <= until.instant())
            .find_map(|(_, decision)| decision.chosen())
    }

    /// The first period of a day, if `text` is a date and nothing else; `midnight`
    /// is the instant it stands for.
    #[must_use]
    pub fn period_of_day(&self, text: &str, midnight: UtcSecond) -> Option<PeriodId> {
        let day = |at: UtcSecond| self.zone().local_time(at).date();
        let just_before = UtcSecond::new(midnight.unix_seconds() - 1).ok()?;
        (text == day(midnight).to_string())
            .then(|| self.next_period(just_before))
            .flatten()
            .filter(|period| day(period.nominal()) == day(midnight))
    }

    /// The period that a time belongs to: the one whose nominal time it is, or
    /// else whose chosen time, or else the latest one whose window had opened by
    /// then; or, before all, the first.
    #[must_use]
    pub fn period_at(&self, at: UtcSecond) -> Option<PeriodId> {
        if let Some(period) = self.prev_period(at).filter(|period| period.nominal() == at) {
            return Some(period);
        }
        let opened = at.instant().saturating_add(self.window().lead()).floor();
        let latest = self.prev_period(opened);
        let mut open = self.first_period_reaching(at);
        while let Some(period) = open.filter(|period| Some(*period) <= latest) {
            if self.decide(period).chosen() == Some(at) {
                return Some(period);
            }
            open = self.next_period(period.nominal());
        }
        latest.or_else(|| self.next_period(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Zones;
    use alloc::vec::Vec;

    /// Against all periods of a long stretch, decided one by one and sorted.
    #[test]
    fn in_the_order_of_chosen_times() {
        let mut zones = Zones::bundled();
        let jobs: Vec<Job> = [
            "*/20 * * * * @win(around,3h)",
            "*/30 * * * * @win(after,5h) @dist(skewLate) @only(hours=3-20)",
            "0 2 * * * @tz(Europe/Paris) @win(around,26h)",
            "7 * * * *",
        ]
        .iter()
        .enumerate()
        .map(|(i, text)| Job::parse(&alloc::format!("job-{i}"), text, &mut zones).unwrap())
        .collect();
        let second = |text: &str| -> UtcSecond { text.parse().unwrap() };
        let (from, until) = (second("2026-03-28T10:00:00Z"), second("2026-03-30T00:00:00Z"));
        let mut expected: Vec<(UtcInstant, PeriodId, usize)> = Vec::new();
        for (i, job) in jobs.iter().enumerate() {
            let mut at = second("2026-03-25T00:00:00Z");
            while let Some(period) = job.next_period(at) {
                at = period.nominal();
                if at > second("2026-04-02T00:00:00Z") {
                    break;
                }
                let due = job.decide(period).due();
                if from.instant() <= due && due <= until.instant() {
                    expected.push((due, period, i));
                }
            }
        }
        expected.sort();
        let found: Vec<_> = timeline(&jobs, from)
            .map(|(i, decision)| (decision.due(), decision.period(), i))
            .take_while(|(due, ..)| *due <= until.instant())
            .collect();
        assert!(expected.len() > 200);
        assert_eq!(found, expected);
        // A chosen time belongs to its own period, whatever windows are open.
        for (due, period, i) in expected {
            let job = &jobs[i];
            if job.decide(period).chosen().is_some() && job.prev_period(due.floor()) != Some(period)
            {
                let nominal = job.prev_period(due.floor()).unwrap().nominal() == due.floor();
                let shared = job.period_at(due.floor()).unwrap();
                let same = job.decide(shared).chosen() == Some(due.floor());
                assert!(nominal || same, "{due} {period}");
            }
        }
    }
}
