//! What becomes of Jobs when everything is recorded: which are let go of, and which are
//! deleted because there are too many. The same whether the spec can be used or not.
//!
//! Pure.

use crate::facts::{Fact, Phase};
use kron_core::UtcInstant;
use std::time::Duration;

/// A Job is kept from vanishing for so long, so that a request to create it which is
/// still under way finds its name taken: [`PROMPT`](crate::plan::PROMPT) and the longest such
/// request, a second for times that have no fraction, and four for clocks that differ.
pub const HOLD: Duration = Duration::from_secs(20);

/// How many finished Jobs are kept.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Of those that succeeded.
    pub succeeded: usize,
    /// Of those that failed.
    pub failed: usize,
}

/// What there is to do, and when there is more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upkeep {
    /// Jobs whose finalizer is to be taken off.
    pub release: Vec<String>,
    /// Jobs beyond what is kept.
    pub delete: Vec<String>,
    /// When the next can be let go of.
    pub wake: Option<UtcInstant>,
}

impl Upkeep {
    /// Of these Jobs, whose periods are all recorded.
    #[must_use]
    pub fn of(jobs: &[Fact], limits: Limits, now: UtcInstant) -> Self {
        let held = jobs.iter().filter(|fact| fact.is_held);
        let (free, bound): (Vec<&Fact>, Vec<&Fact>) = held.partition(|fact| free_at(fact) <= now);
        let release = free.iter().map(|fact| fact.name.clone()).collect();
        let mut delete = Vec::new();
        for (phase, limit) in [(Phase::Succeeded, limits.succeeded), (Phase::Failed, limits.failed)]
        {
            let is_over = |fact: &&Fact| fact.phase == phase && !fact.is_going;
            let mut over: Vec<&Fact> = jobs.iter().filter(is_over).collect();
            over.sort_by_key(|fact| (fact.finished, fact.period));
            let surplus = over.len().saturating_sub(limit);
            delete.extend(over.into_iter().take(surplus).map(|fact| fact.name.clone()));
        }
        Self { release, delete, wake: bound.into_iter().map(free_at).min() }
    }
}

/// From when on a Job may vanish, whoever wants it gone: no request to create it is on
/// its way any more.
#[must_use]
pub fn free_at(fact: &Fact) -> UtcInstant {
    fact.created.saturating_add(HOLD)
}
