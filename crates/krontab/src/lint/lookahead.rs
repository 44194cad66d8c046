//! The periods of a year ahead: which of them will have no time.
//!
//! Only jobs with constraints can be unschedulable. Looking at a year of one
//! takes milliseconds at most; for a file with a hundred thousand of them each
//! gets its share of a budget, and what that does not cover is counted.

use kron_core::{Job, PeriodId, UtcSecond};

/// Periods of a file that are looked at, for up to `MANY` jobs…
const BUDGET: usize = 10_000_000;
const MANY: usize = 1_000;
/// …and for more of them.
const SMALL_BUDGET: usize = 300_000;
/// Periods looked at for each job even so.
const LEAST: usize = 2;
/// Up to this many the odds of each period are worked out.
const ODDS: usize = 1_000;
/// Beyond, only of those that took this many draws.
const MANY_DRAWS: u16 = 20;

/// What a job's year looks like.
pub struct Outlook {
    /// Periods looked at.
    pub seen: usize,
    /// The local date they reach to.
    pub until: String,
    /// Those that will have no time.
    pub unschedulable: Vec<PeriodId>,
    /// The one whose constraints leave least, but something.
    pub worst: Option<Odds>,
}

/// How likely a period is to find its time.
#[derive(Clone, Copy)]
pub struct Odds {
    pub period: PeriodId,
    pub per_draw: f64,
    pub unschedulable: f64,
}

/// Looks ahead, within a budget for all jobs together.
pub struct Lookahead {
    from: UtcSecond,
    until: UtcSecond,
    /// Periods looked at for each job.
    most: usize,
    shortened: usize,
}

impl Lookahead {
    pub const fn new(from: UtcSecond, until: UtcSecond) -> Self {
        Self { from, until, most: BUDGET, shortened: 0 }
    }

    /// Divides the budget between as many jobs.
    pub fn expect(&mut self, jobs: usize) {
        let budget = if jobs <= MANY { BUDGET } else { SMALL_BUDGET };
        self.most = (budget / jobs.max(1)).max(LEAST);
    }

    /// How many jobs were not looked at for the whole year.
    pub const fn shortened(&self) -> usize {
        self.shortened
    }

    /// The outlook of a job that has constraints.
    pub fn look(&mut self, job: &Job) -> Option<Outlook> {
        if !is_constrained(job) {
            return None;
        }
        let mut outlook =
            Outlook { seen: 0, until: String::new(), unschedulable: Vec::new(), worst: None };
        let mut at = self.from;
        while let Some(period) = job.next_period(at).filter(|p| p.nominal() <= self.until) {
            if outlook.seen == self.most {
                self.shortened += 1;
                break;
            }
            at = period.nominal();
            outlook.seen += 1;
            let decision = job.decide(period);
            if decision.chosen().is_none() {
                outlook.unschedulable.push(period);
            }
            if outlook.seen <= ODDS || decision.attempts() > MANY_DRAWS {
                outlook.consider(job, period);
            }
        }
        outlook.until = job.zone().local_time(at.min(self.until)).date().to_string();
        Some(outlook)
    }
}

impl Outlook {
    fn consider(&mut self, job: &Job, period: PeriodId) {
        let acceptance = job.acceptance(period);
        let per_draw = acceptance.per_draw();
        if acceptance.is_impossible() || self.worst.is_some_and(|w| w.per_draw <= per_draw) {
            return;
        }
        self.worst = Some(Odds { period, per_draw, unschedulable: acceptance.unschedulable() });
    }
}

/// Whether a job can be unschedulable at all.
pub fn is_constrained(job: &Job) -> bool {
    !job.constraints().only().is_empty() || !job.constraints().avoid().is_empty()
}
