//! Which periods matter now (SPEC, Periods; STATE, Period Advancement Rules).
//!
//! Windows may overlap, chosen times may cross, `around` may choose before the
//! nominal time. So "what is due" is asked of every period whose window can
//! still matter, never of the latest nominal time alone. All searches are
//! bounded: by the windows that can be open at once, and when catching up by
//! [`CATCH_UP_PERIODS`].

use crate::bounds::{CATCH_UP_PERIODS, OPEN_WINDOWS, STALL};
use crate::decision::Decision;
use crate::identity::PeriodId;
use crate::job::Job;
use crate::ledger::Ledger;
use crate::mutant::{self, Mutant};
use crate::time::{UtcInstant, UtcSecond};
use alloc::vec::Vec;
use core::time::Duration;

/// What a job asks for at one moment.
#[derive(Debug)]
pub struct Agenda<'j> {
    /// Periods to be judged now, in the order of their due times.
    pub due: Vec<Decision<'j>>,
    /// Periods that passed unattended and are closed without a record of their
    /// own; hand them to [`Ledger::supersede`] when those in `due` have been judged: the
    /// marks of very many may close what is left behind them.
    pub superseded: Superseded,
    /// The open period that comes due next after now.
    pub next: Option<Decision<'j>>,
}

/// Periods that a catch-up passes over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Superseded {
    count: u32,
    more: bool,
    through: Option<PeriodId>,
    marks: Vec<PeriodId>,
}

impl Superseded {
    /// How many there are, as far as they were counted.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Whether there may be more, further back than is worth looking.
    #[must_use]
    pub const fn is_at_least(&self) -> bool {
        self.more
    }

    /// Whether there is nothing to close.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0 && !self.more
    }

    pub(crate) const fn through(&self) -> Option<PeriodId> {
        self.through
    }

    pub(crate) fn marks(&self) -> &[PeriodId] {
        &self.marks
    }
}

/// Since when somebody has been watching the clock without a break.
///
/// Periods that come due while somebody watches are all judged. Of those that
/// came due before, only the latest is: that is what keeps a machine that was
/// off, asleep, stopped or set to another time from running its backlog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attention {
    since: UtcInstant,
    last: UtcInstant,
}

/// What interrupted the attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lapse {
    /// The clock went back by this much.
    Backward(Duration),
    /// A wake-up came this much too late: the clock went forward, or the
    /// machine or the process was stopped.
    Forward(Duration),
}

impl Attention {
    /// Attention begins now.
    #[must_use]
    pub const fn begin(now: UtcInstant) -> Self {
        Self { since: now, last: now }
    }

    /// Since when.
    #[must_use]
    pub const fn since(&self) -> UtcInstant {
        self.since
    }

    /// Notes a wake-up at `now` that was asked for at `planned`, and says if
    /// there was a lapse.
    pub fn wake(&mut self, planned: Option<UtcInstant>, now: UtcInstant) -> Option<Lapse> {
        let lapse = match self.last.since(now).filter(|by| !by.is_zero()) {
            Some(by) => Some(Lapse::Backward(by)),
            None => planned
                .and_then(|planned| now.since(planned))
                .filter(|late| *late > STALL)
                .map(Lapse::Forward),
        };
        self.last = now;
        if lapse.is_some() {
            self.since = now;
        }
        lapse
    }
}

/// What a job asks for at `now`, given its ledger and since when the clock has
/// been watched. What was `seen` to be due before that, and is still open, waits for
/// something: it is judged again, not passed over, as far as it is among the latest
/// [`OPEN_WINDOWS`].
#[must_use]
pub fn agenda<'j>(
    job: &'j Job,
    ledger: &Ledger,
    attentive_since: UtcInstant,
    seen: &[PeriodId],
    now: UtcInstant,
) -> Agenda<'j> {
    let is_mutant = mutant::is(Mutant::SuspendIgnored) || mutant::is(Mutant::SuspendMisses);
    if job.policy().suspend && !is_mutant {
        return Agenda { due: Vec::new(), superseded: Superseded::default(), next: None };
    }
    let seen = if mutant::is(Mutant::WaitingForgotten) { &[] } else { seen };
    let mut survey = Survey::of_seen(job, ledger, seen, now);
    survey.look_back(job, ledger, attentive_since, now);
    let (due, mut superseded) = survey.finish(job, now);
    if mutant::is(Mutant::SuspendMisses) && job.policy().suspend {
        superseded = Superseded::default();
    }
    Agenda { due, superseded, next: next_due(job, ledger, now) }
}

/// The open period that comes due next after `now`.
fn next_due<'j>(job: &'j Job, ledger: &Ledger, now: UtcInstant) -> Option<Decision<'j>> {
    let trail = job.window().trail();
    // Below this every window is over, or closed by a mark.
    let window_floor = now.max(ledger.not_before()).saturating_sub(trail);
    let mut after = second_before(window_floor);
    if let Some(through) = ledger.handled_through() {
        after = after.max(through.nominal());
    }
    let mut soonest: Option<Decision<'j>> = None;
    while let Some(period) = job.next_period(after) {
        after = period.nominal();
        if soonest.is_some_and(|soonest| job.window().of(period).start() > soonest.due()) {
            break;
        }
        if ledger.is_marked(period) {
            continue;
        }
        let decision = job.decide(period);
        let is_sooner = soonest.is_none_or(|soonest| decision.due() < soonest.due());
        if decision.due() > now && is_sooner && !ledger.is_closed(&decision) {
            soonest = Some(decision);
        }
    }
    soonest
}

fn second_before(instant: UtcInstant) -> UtcSecond {
    instant.saturating_sub(Duration::from_secs(1)).floor()
}

/// The open periods at or before now, collected from the latest back.
#[derive(Default)]
struct Survey<'j> {
    /// Came due while somebody was watching; those seen before come first.
    attended: Vec<Decision<'j>>,
    /// How many those are.
    seen: usize,
    /// Of those that came due before: the one with the latest chosen time…
    latest: Option<Decision<'j>>,
    /// …and the latest that has none.
    latest_unschedulable: Option<Decision<'j>>,
    /// Came due unattended, the two above included; latest first.
    passed: Vec<PeriodId>,
    /// Earliest nominal time of a window that is open but not yet due.
    earliest_waiting: Option<PeriodId>,
    /// Whether the search was cut short.
    cut: bool,
}

impl<'j> Survey<'j> {
    /// With what has been seen, as far as it is due and open and a period still.
    fn of_seen(job: &'j Job, ledger: &Ledger, seen: &[PeriodId], now: UtcInstant) -> Self {
        let exists = |period: &&PeriodId| job.prev_period(period.nominal()) == Some(**period);
        let is_open =
            |decision: &Decision<'_>| decision.due() <= now && !ledger.is_closed(decision);
        let decisions = seen.iter().filter(exists).map(|period| job.decide(*period));
        let mut attended: Vec<_> = decisions.filter(is_open).collect();
        attended.sort_by_key(Decision::period);
        attended.dedup_by_key(|decision| decision.period());
        attended.drain(..attended.len().saturating_sub(OPEN_WINDOWS));
        Self { seen: attended.len(), attended, ..Self::default() }
    }

    fn look_back(
        &mut self,
        job: &'j Job,
        ledger: &Ledger,
        attentive_since: UtcInstant,
        now: UtcInstant,
    ) {
        let mut at = now.saturating_add(job.window().lead()).floor();
        let mut looked_at = 0;
        while let Some(period) = job.prev_period(at) {
            let window = job.window().of(period);
            let over = ledger.handled_through().is_some_and(|through| period <= through)
                || window.end() < ledger.not_before();
            if over {
                return;
            }
            looked_at += 1;
            if looked_at > CATCH_UP_PERIODS {
                self.cut = true;
                return;
            }
            at = second_before(period.nominal().instant());
            let seen = self.attended[..self.seen].binary_search_by_key(&period, Decision::period);
            if seen.is_ok() || ledger.is_marked(period) {
                continue;
            }
            // Too early to be the latest of anything: no need to decide it.
            let outdone = window.end() < attentive_since
                && window.start() >= ledger.not_before()
                && self.latest.is_some_and(|latest| window.end() < latest.due());
            if outdone {
                self.passed.push(period);
                continue;
            }
            let decision = job.decide(period);
            if !ledger.is_closed(&decision) {
                self.sort_in(decision, attentive_since, now);
            }
        }
    }

    fn sort_in(&mut self, decision: Decision<'j>, attentive_since: UtcInstant, now: UtcInstant) {
        let due = decision.due();
        if due > now {
            self.earliest_waiting = Some(decision.period());
        } else if due >= attentive_since {
            self.attended.push(decision);
        } else {
            self.passed.push(decision.period());
            let slot = match decision.chosen() {
                Some(_) => &mut self.latest,
                None => &mut self.latest_unschedulable,
            };
            if slot.is_none_or(|latest| due > latest.due()) {
                self.attended.extend(slot.filter(|_| mutant::is(Mutant::CatchUpTwo)));
                *slot = Some(decision);
            }
        }
    }

    fn finish(self, job: &Job, now: UtcInstant) -> (Vec<Decision<'j>>, Superseded) {
        let mut due = self.attended;
        // An unschedulable period is worth a record of its own only if no later
        // one could run: otherwise it is part of what was passed over.
        let unschedulable = self.latest_unschedulable.filter(|unschedulable| {
            self.latest.is_none_or(|latest| unschedulable.due() > latest.due())
        });
        due.extend(self.latest);
        due.extend(unschedulable);
        due.sort_by_key(|decision| (decision.due(), decision.period()));

        let is_due = |period: PeriodId| due.iter().any(|decision| decision.period() == period);
        let passed: Vec<PeriodId> =
            self.passed.into_iter().filter(|period| !is_due(*period)).collect();
        if passed.is_empty() && !self.cut {
            return (due, Superseded::default());
        }
        let earliest_open = due.iter().map(Decision::period).chain(self.earliest_waiting).min();
        // Everything before the first open period is closed by one mark; not
        // beyond now, for the reason that `Ledger` gives.
        let before_open =
            earliest_open.map_or(now, |open| second_before(open.nominal().instant()).instant());
        let through = job.prev_period(before_open.min(now).floor());
        let marks = passed.iter().copied().filter(|p| Some(*p) > through).collect();
        let count = passed.len() as u32;
        (due, Superseded { count, more: self.cut, through, marks })
    }
}
