//! When to look at which job: a heap, with one live ticket for each job.
//!
//! A job's older tickets are not searched for and removed; they are passed over
//! when they come up. Whenever most of the heap is old, it is swept.

use crate::event::JobKey;
use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use kron_core::UtcInstant;

/// Which of a job's tickets is the live one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u32);

impl Ticket {
    /// The next one; the one before is no longer live.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// The queue.
#[derive(Debug, Default)]
pub struct Queue {
    heap: BinaryHeap<Reverse<(UtcInstant, JobKey, Ticket)>>,
}

impl Queue {
    /// Puts a job in line.
    pub fn push(&mut self, at: UtcInstant, job: JobKey, ticket: Ticket) {
        self.heap.push(Reverse((at, job, ticket)));
    }

    /// The time of the first live ticket; older ones in front of it are dropped.
    pub fn first(&mut self, is_live: impl Fn(JobKey, Ticket) -> bool) -> Option<UtcInstant> {
        while let Some(Reverse((at, job, ticket))) = self.heap.peek() {
            if is_live(*job, *ticket) {
                return Some(*at);
            }
            self.heap.pop();
        }
        None
    }

    /// Takes the first job whose time has come.
    pub fn pop_due(
        &mut self,
        now: UtcInstant,
        is_live: impl Fn(JobKey, Ticket) -> bool,
    ) -> Option<JobKey> {
        if self.first(is_live)? > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, job, _))| job)
    }

    /// Drops tickets that are not live if they are the larger part.
    pub fn sweep(&mut self, live: usize, is_live: impl Fn(JobKey, Ticket) -> bool) {
        const SMALL: usize = 64;
        if self.heap.len() > SMALL + live * 2 {
            self.heap.retain(|Reverse((_, job, ticket))| is_live(*job, *ticket));
        }
    }
}
