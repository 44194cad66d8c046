//! The decision: which second of its window a period gets
//! (SPEC, Decision Computation).
//!
//! A pure function of job and period. Each attempt takes one draw; the first
//! allowed second wins. A [`Decision`] borrows its job, so making one allocates
//! nothing; to keep one, keep the period and decide again, or make a
//! [`Record`](crate::Record).

use crate::bounds::SAMPLING_BUDGET;
use crate::constraint::{Allowed, Violation};
use crate::identity::PeriodId;
use crate::job::Job;
use crate::mutant::{self, Mutant};
use crate::seed::{PeriodKey, SeedHash};
use crate::time::zone::{Stretch, Zone};
use crate::time::{DAY_SECONDS, UtcInstant, UtcSecond};
use crate::window::Window;
use alloc::vec::Vec;
use core::fmt;
use core::ops::ControlFlow;

/// The decision for one period of one job.
#[derive(Clone, Copy, Debug)]
pub struct Decision<'j> {
    job: &'j Job,
    period: PeriodId,
    window: Window,
    period_key: PeriodKey,
    seed_hash: SeedHash,
    choice: Result<UtcSecond, Unschedulable>,
    attempts: u16,
}

/// Why a period has no chosen time. An outcome, not an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unschedulable {
    /// The constraints allow no second of the window.
    Impossible,
    /// They allow some, but none was drawn within the budget.
    BudgetExhausted,
}

impl Unschedulable {
    /// A short stable word, for metrics and JSON.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Impossible => "impossible",
            Self::BudgetExhausted => "budget-exhausted",
        }
    }
}

impl fmt::Display for Unschedulable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Impossible => f.write_str("the constraints allow no second of the window"),
            Self::BudgetExhausted => {
                write!(f, "none of {SAMPLING_BUDGET} draws fell on an allowed second")
            }
        }
    }
}

impl<'j> Decision<'j> {
    /// The job decided for.
    #[must_use]
    pub const fn job(&self) -> &'j Job {
        self.job
    }

    /// The period; its id is the nominal time.
    #[must_use]
    pub const fn period(&self) -> PeriodId {
        self.period
    }

    /// From when to when a time could be chosen.
    #[must_use]
    pub const fn window(&self) -> &Window {
        &self.window
    }

    /// The period as the seed sees it.
    #[must_use]
    pub const fn period_key(&self) -> &PeriodKey {
        &self.period_key
    }

    /// The seed.
    #[must_use]
    pub const fn seed_hash(&self) -> &SeedHash {
        &self.seed_hash
    }

    /// The chosen time, if there is one.
    #[must_use]
    pub fn chosen(&self) -> Option<UtcSecond> {
        self.choice.ok()
    }

    /// The chosen time, or why there is none.
    ///
    /// # Errors
    /// In the sense of an outcome: unschedulable.
    pub const fn choice(&self) -> Result<UtcSecond, Unschedulable> {
        self.choice
    }

    /// Draws made: the chosen second was the last of them. None are needed if
    /// the window has a single second, and none are made if no second is allowed.
    #[must_use]
    pub const fn attempts(&self) -> u16 {
        self.attempts
    }

    /// The instant at which this period asks for attention: the chosen time, or
    /// the window's start if there is none.
    #[must_use]
    pub fn due(&self) -> UtcInstant {
        match self.choice {
            Ok(chosen) if mutant::is(Mutant::StartEarly) => {
                chosen.instant().saturating_sub(core::time::Duration::from_secs(1))
            }
            Ok(chosen) => chosen.instant(),
            Err(_) => self.window.start(),
        }
    }
}

/// A candidate that was drawn and refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// Which draw, counted from 1.
    pub attempt: u16,
    /// The second it fell on.
    pub candidate: UtcSecond,
    /// The clause that refused it.
    pub violation: Violation,
}

impl Job {
    /// Decides a period.
    #[must_use]
    pub fn decide(&self, period: PeriodId) -> Decision<'_> {
        self.decide_watched(period, |_, _, _| {})
    }

    /// Decides a period and tells which candidates were refused, and why.
    #[must_use]
    pub fn decide_explained(&self, period: PeriodId) -> (Decision<'_>, Vec<Rejected>) {
        let mut rejected = Vec::new();
        let decision = self.decide_watched(period, |attempt, candidate, local| {
            if let Some(violation) = self.constraints().violated(local) {
                rejected.push(Rejected { attempt, candidate, violation });
            }
        });
        (decision, rejected)
    }

    /// `watch` gets each refused draw: its number, the second, and the local
    /// second. Where it does nothing, it costs nothing.
    fn decide_watched(
        &self,
        period: PeriodId,
        watch: impl FnMut(u16, UtcSecond, i64),
    ) -> Decision<'_> {
        let window = self.window().of(period);
        let period_key = self.seed_strategy().period_key(period, self.zone());
        let seed_hash = SeedHash::of(self.identity(), period_key.as_str(), self.salt());
        let (choice, attempts) = self.choose(period, &window, &seed_hash, watch);
        Decision { job: self, period, window, period_key, seed_hash, choice, attempts }
    }

    #[inline]
    fn choose(
        &self,
        period: PeriodId,
        window: &Window,
        seed_hash: &SeedHash,
        mut watch: impl FnMut(u16, UtcSecond, i64),
    ) -> (Result<UtcSecond, Unschedulable>, u16) {
        let first = window.first().unix_seconds();
        let allowed = self.constraints().allowed();
        if window.seconds() == 1 {
            let offset = || self.zone().offset_seconds(window.first());
            return match allowed {
                Some(allowed) if !allowed.second(first + offset()) => {
                    (Err(Unschedulable::Impossible), 0)
                }
                _ => (Ok(window.first()), 0),
            };
        }
        let mut generator = seed_hash.generator();
        let sampler = self.distribution().over(window, period);
        let Some(allowed) = allowed else {
            let second = first + sampler.second(generator.draw()) as i64;
            return (Ok(UtcSecond::new_unchecked(second)), 1);
        };
        let mut clock = WallClock::new(self.zone(), first);
        for attempt in 1..=SAMPLING_BUDGET {
            let candidate = first + sampler.second(generator.draw()) as i64;
            let local = clock.local(candidate);
            if allowed.second(local) {
                return (Ok(UtcSecond::new_unchecked(candidate)), attempt);
            }
            // Asked once, and only when the first draw failed. The answer does
            // not depend on the draws, so neither does the outcome.
            if attempt == 1 && !self.allows_any(allowed, window) {
                return (Err(Unschedulable::Impossible), 0);
            }
            watch(attempt, UtcSecond::new_unchecked(candidate), local);
        }
        (Err(Unschedulable::BudgetExhausted), SAMPLING_BUDGET)
    }

    fn allows_any(&self, allowed: &Allowed, window: &Window) -> bool {
        for_each_run(allowed, self.zone(), window, |_, _| ControlFlow::Break(())).is_break()
    }

    /// The seconds of a period's window that the constraints allow, as runs of
    /// first and last second.
    #[must_use]
    pub fn allowed_runs(&self, period: PeriodId) -> Vec<(UtcSecond, UtcSecond)> {
        let window = self.window().of(period);
        let Some(allowed) = self.constraints().allowed() else {
            return Vec::from([(window.first(), window.last())]);
        };
        let mut runs: Vec<(UtcSecond, UtcSecond)> = Vec::new();
        let _ = for_each_run(allowed, self.zone(), &window, |first, last| {
            match runs.last_mut() {
                // Midnight and changes of offset cut runs in two.
                Some(run) if run.1.unix_seconds() + 1 == first => {
                    run.1 = UtcSecond::new_unchecked(last);
                }
                _ => runs.push((UtcSecond::new_unchecked(first), UtcSecond::new_unchecked(last))),
            }
            ControlFlow::Continue(())
        });
        runs
    }
}

/// The wall clock of a zone, for many nearby instants.
struct WallClock<'z> {
    zone: &'z Zone,
    stretch: Stretch,
}

impl<'z> WallClock<'z> {
    fn new(zone: &'z Zone, at: i64) -> Self {
        Self { zone, stretch: zone.stretch(at) }
    }

    fn local(&mut self, at: i64) -> i64 {
        if at < self.stretch.start || at >= self.stretch.end {
            self.stretch = self.zone.stretch(at);
        }
        at + self.stretch.offset
    }
}

/// Calls `each` with the allowed runs of a window, in order, until it breaks.
pub(crate) fn for_each_run(
    allowed: &Allowed,
    zone: &Zone,
    window: &Window,
    mut each: impl FnMut(i64, i64) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let last = window.last().unix_seconds();
    let mut from = window.first().unix_seconds();
    while from <= last {
        let stretch = zone.stretch(from);
        let until = last.min(stretch.end - 1);
        let (local_from, local_until) = (from + stretch.offset, until + stretch.offset);
        for day in local_from.div_euclid(DAY_SECONDS)..=local_until.div_euclid(DAY_SECONDS) {
            if !allowed.day(day) {
                continue;
            }
            let midnight = day * DAY_SECONDS;
            let first = local_from.max(midnight) - midnight;
            let last = (local_until - midnight).min(DAY_SECONDS - 1);
            let mut minute = (first / 60) as u16;
            while let Some((run_first, run_last)) = allowed.minutes.run_at_or_after(minute) {
                let run_first = first.max(i64::from(run_first) * 60);
                if run_first > last {
                    break;
                }
                let end = last.min(i64::from(run_last) * 60 + 59);
                let to_utc = midnight - stretch.offset;
                each(run_first + to_utc, end + to_utc)?;
                minute = run_last + 1;
            }
        }
        from = until + 1;
    }
    ControlFlow::Continue(())
}
