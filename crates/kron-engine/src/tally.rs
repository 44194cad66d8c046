//! Counts for the metrics; nothing depends on them.

use core::time::Duration;
use kron_core::{Closure, Ending, Unschedulable};

/// Upper ends of the lateness classes, in milliseconds.
pub const LATENESS_MILLIS: [u64; 12] = [1, 2, 5, 10, 20, 50, 100, 250, 500, 1_000, 10_000, 60_000];

/// What happened since the daemon started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Periods executed.
    pub executed: u64,
    /// Periods skipped, because an execution was active.
    pub skipped: u64,
    /// Periods missed for no other reason than lateness.
    pub missed_late: u64,
    /// Periods missed because they could not be started.
    pub missed_obstacle: u64,
    /// Unschedulable periods: no second of the window is allowed.
    pub unschedulable_impossible: u64,
    /// Unschedulable periods: no draw fell on an allowed second.
    pub unschedulable_budget: u64,
    /// Periods that a catch-up passed over.
    pub superseded: u64,
    /// Failed attempts to start.
    pub start_failures: u64,
    /// Runs that ended with exit code 0.
    pub succeeded: u64,
    /// Runs that ended otherwise.
    pub failed: u64,
    /// Runs that were ended for the next one.
    pub replaced: u64,
    /// Runs whose end nobody saw.
    pub unseen: u64,
    /// Runs ended by their timeout.
    pub timeouts: u64,
    /// Starts by lateness: at most so many milliseconds; the last is the rest.
    pub lateness: [u64; LATENESS_MILLIS.len() + 1],
    /// All lateness together.
    pub lateness_sum: Duration,
}

impl Tally {
    pub(crate) fn count(&mut self, closure: &Closure) {
        let counter = match closure.ending() {
            Ending::Executed => &mut self.executed,
            Ending::Skipped { .. } => &mut self.skipped,
            Ending::Missed { obstacle: None, .. } => &mut self.missed_late,
            Ending::Missed { obstacle: Some(_), .. } => &mut self.missed_obstacle,
            Ending::Unschedulable(Unschedulable::Impossible) => &mut self.unschedulable_impossible,
            Ending::Unschedulable(Unschedulable::BudgetExhausted) => &mut self.unschedulable_budget,
        };
        *counter += 1;
    }

    pub(crate) fn late(&mut self, late: Duration) {
        let millis = late.as_nanos().div_ceil(1_000_000);
        let class = LATENESS_MILLIS.iter().position(|end| millis <= u128::from(*end));
        self.lateness[class.unwrap_or(LATENESS_MILLIS.len())] += 1;
        self.lateness_sum = self.lateness_sum.saturating_add(late);
    }
}
