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
#[derive(Debug)]
pub struct Queue<At: Ord = UtcInstant> {
    heap: BinaryHeap<Reverse<(At, JobKey, Ticket)>>,
}

impl<At: Ord> Default for Queue<At> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new() }
    }
}

impl<At: Ord + Copy> Queue<At> {
    /// Puts a job in line.
    pub fn push(&mut self, at: At, job: JobKey, ticket: Ticket) {
        self.heap.push(Reverse((at, job, ticket)));
    }

    /// The time of the first live ticket; older ones in front of it are dropped.
    pub fn first(&mut self, is_live: impl Fn(JobKey, Ticket) -> bool) -> Option<At> {
        while let Some(Reverse((at, job, ticket))) = self.heap.peek() {
            if is_live(*job, *ticket) {
                return Some(*at);
            }
            self.heap.pop();
        }
        None
    }

    /// Takes the first job whose time has come.
    pub fn pop_due(&mut self, now: At, is_live: impl Fn(JobKey, Ticket) -> bool) -> Option<JobKey> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;
    use core::cmp::Ordering;

    extern crate std;
    std::thread_local! {
        static COMPARED: Cell<u64> = const { Cell::new(0) };
    }

    /// A time that counts how often it is compared.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Counted(u64);

    impl PartialOrd for Counted {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    impl Ord for Counted {
        fn cmp(&self, other: &Self) -> Ordering {
            COMPARED.set(COMPARED.get() + 1);
            self.0.cmp(&other.0)
        }
    }

    /// Comparisons for taking a job out and putting it in again, among `jobs`.
    fn comparisons(jobs: u64) -> f64 {
        const TURNS: u64 = 1000;
        let mut queue = Queue::default();
        let mut state = 1_u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 20
        };
        for job in 0..jobs {
            queue.push(Counted(draw()), JobKey(job as u32), Ticket::default());
        }
        COMPARED.set(0);
        for _ in 0..TURNS {
            let job = queue.pop_due(Counted(u64::MAX), |_, _| true).unwrap();
            queue.push(Counted(draw()), job, Ticket::default());
        }
        COMPARED.get() as f64 / TURNS as f64
    }

    /// PERF-03: a hundred times the jobs, about seven comparisons more a level.
    #[test]
    fn comparisons_grow_with_the_logarithm() {
        for jobs in [1_000, 10_000, 100_000] {
            let (counted, levels) = (comparisons(jobs), (jobs as f64).log2());
            assert!(counted < 3.0 * levels + 8.0, "{jobs} jobs: {counted} comparisons");
        }
        assert!(comparisons(100_000) < 2.5 * comparisons(1_000));
    }

    /// What is not live any more is passed over, and swept when it is the larger part.
    #[test]
    fn old_tickets() {
        let mut queue = Queue::default();
        let mut ticket = Ticket::default();
        for at in 0..1000 {
            ticket = ticket.next();
            queue.push(at, JobKey(0), ticket);
            queue.sweep(1, |_, known| known == ticket);
        }
        assert!(queue.heap.len() <= 67, "{}", queue.heap.len());
        assert_eq!(queue.first(|_, known| known == ticket), Some(999));
        assert_eq!(queue.pop_due(998, |_, known| known == ticket), None);
        assert_eq!(queue.pop_due(999, |_, known| known == ticket), Some(JobKey(0)));
    }
}
