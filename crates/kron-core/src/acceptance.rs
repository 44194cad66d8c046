//! How likely a period is to find an allowed second.
//!
//! The measure of the allowed seconds under the distribution, worked out from
//! its distribution function; no sampling. It speaks of a random seed: for the
//! seed a period really has, decide it.

use crate::bounds::SAMPLING_BUDGET;
use crate::decision::for_each_run;
use crate::identity::PeriodId;
use crate::job::Job;
use core::ops::ControlFlow;

/// What the constraints leave of a period's window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Acceptance {
    candidates: u64,
    allowed: u64,
    per_draw: f64,
}

impl Acceptance {
    /// Whole seconds in the window.
    #[must_use]
    pub const fn candidate_seconds(&self) -> u64 {
        self.candidates
    }

    /// Whole seconds that the constraints allow.
    #[must_use]
    pub const fn allowed_seconds(&self) -> u64 {
        self.allowed
    }

    /// The probability that one draw is accepted.
    #[must_use]
    pub const fn per_draw(&self) -> f64 {
        self.per_draw
    }

    /// Whether no second is allowed at all.
    #[must_use]
    pub const fn is_impossible(&self) -> bool {
        self.allowed == 0
    }

    /// The probability that the whole sampling budget fails.
    #[must_use]
    pub fn unschedulable(&self) -> f64 {
        libm::exp(f64::from(SAMPLING_BUDGET) * libm::log1p(-self.per_draw))
    }
}

impl Job {
    /// The exact share of draws that a period's constraints accept.
    ///
    /// ```
    /// use kron_core::{Job, Zones};
    /// let schedule = "0 10 * * * @win(after,2h) @avoid(hours=11)";
    /// let job = Job::parse("x", schedule, &mut Zones::bundled())?;
    /// let acceptance = job.acceptance("2026-03-02T10:00:00Z".parse()?);
    /// assert_eq!(acceptance.candidate_seconds(), 7201);
    /// assert_eq!(acceptance.allowed_seconds(), 3601);
    /// assert!((acceptance.per_draw() - 3601.0 / 7201.0).abs() < 1e-15);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn acceptance(&self, period: PeriodId) -> Acceptance {
        let window = self.window().of(period);
        let candidates = window.seconds();
        let Some(allowed) = self.constraints().allowed() else {
            return Acceptance { candidates, allowed: candidates, per_draw: 1.0 };
        };
        let sampler = self.distribution().over(&window, period);
        let start = window.first().unix_seconds();
        let (mut seconds, mut per_draw) = (0, 0.0);
        let _ = for_each_run(allowed, self.zone(), &window, |first, last| {
            let (first, last) = ((first - start) as u64, (last - start) as u64);
            seconds += last - first + 1;
            per_draw += sampler.probability(first, last);
            ControlFlow::Continue(())
        });
        if seconds == candidates {
            per_draw = 1.0;
        }
        Acceptance { candidates, allowed: seconds, per_draw: per_draw.clamp(0.0, 1.0) }
    }
}
