//! A window in slices, for a picture of it.

use crate::decision::for_each_run;
use crate::identity::PeriodId;
use crate::job::Job;
use crate::time::UtcSecond;
use alloc::vec::Vec;
use core::ops::ControlFlow;

/// A part of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slice {
    /// Its first second.
    pub first: UtcSecond,
    /// Its last second.
    pub last: UtcSecond,
    /// The probability that a draw falls into it, constraints aside.
    pub probability: f64,
    /// How many of its seconds the constraints allow.
    pub allowed: u64,
}

impl Slice {
    /// Seconds in it.
    #[must_use]
    pub const fn seconds(&self) -> u64 {
        (self.last.unix_seconds() - self.first.unix_seconds() + 1) as u64
    }
}

impl Job {
    /// The window of a period in at most `count` slices of nearly equal length,
    /// in order; fewer if the window has fewer seconds.
    #[must_use]
    pub fn profile(&self, period: PeriodId, count: usize) -> Vec<Slice> {
        let window = self.window().of(period);
        let seconds = window.seconds();
        let count = (count as u64).clamp(1, seconds);
        let sampler = self.distribution().over(&window, period);
        let start = window.first().unix_seconds();
        let border = |i: u64| (u128::from(seconds) * u128::from(i) / u128::from(count)) as u64;
        let mut slices: Vec<Slice> = (0..count)
            .map(|i| {
                let (first, last) = (border(i), border(i + 1) - 1);
                Slice {
                    first: UtcSecond::new_unchecked(start + first as i64),
                    last: UtcSecond::new_unchecked(start + last as i64),
                    probability: sampler.probability(first, last),
                    allowed: last - first + 1,
                }
            })
            .collect();
        if let Some(allowed) = self.constraints().allowed() {
            for slice in &mut slices {
                slice.allowed = 0;
            }
            let _ = for_each_run(allowed, self.zone(), &window, |first, last| {
                let from = slices.partition_point(|slice| slice.last.unix_seconds() < first);
                for slice in &mut slices[from..] {
                    let (begin, end) = (slice.first.unix_seconds(), slice.last.unix_seconds());
                    if begin > last {
                        break;
                    }
                    slice.allowed += (end.min(last) - begin.max(first) + 1) as u64;
                }
                ControlFlow::Continue(())
            });
        }
        slices
    }
}
