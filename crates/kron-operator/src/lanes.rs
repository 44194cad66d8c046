//! How many requests are under way at once, and which go first: creating Jobs is what has a
//! time; everything else waits while any is to be created, but not for ever.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};

/// How long anything else waits for Jobs to be created.
const LONGEST: Duration = Duration::from_secs(2);

/// The lanes.
#[derive(Debug)]
pub struct Lanes {
    urgent: Semaphore,
    other: Semaphore,
    turns: Semaphore,
    pending: AtomicUsize,
    quiet: Notify,
}

/// Leave to create a Job.
pub struct Urgent<'a> {
    lanes: &'a Lanes,
    permit: Option<SemaphorePermit<'a>>,
}

impl Drop for Urgent<'_> {
    fn drop(&mut self) {
        drop(self.permit.take());
        if self.lanes.pending.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.lanes.quiet.notify_waiters();
        }
    }
}

impl Lanes {
    /// So many at once.
    #[must_use]
    pub fn new(width: usize) -> Self {
        Self {
            urgent: Semaphore::new(width),
            other: Semaphore::new((width / 4).max(1)),
            turns: Semaphore::new(width * 4),
            pending: AtomicUsize::new(0),
            quiet: Notify::new(),
        }
    }

    /// Leave to create a Job.
    pub async fn urgent(&self) -> Urgent<'_> {
        self.pending.fetch_add(1, Ordering::AcqRel);
        let mut urgent = Urgent { lanes: self, permit: None };
        urgent.permit = self.urgent.acquire().await.ok();
        urgent
    }

    /// Waits until no Job is to be created.
    pub async fn quiet(&self) {
        let limit = Instant::now() + LONGEST;
        loop {
            let notified = self.quiet.notified();
            if self.pending.load(Ordering::Acquire) == 0 {
                return;
            }
            if timeout_at(limit, notified).await.is_err() {
                return;
            }
        }
    }

    /// Leave to look at something that is not due, in the order of asking: ten thousand at
    /// once would need much memory, and would only wait for each other.
    pub async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.turns.acquire().await.ok()
    }

    /// Leave to do anything else.
    pub async fn other(&self) -> Option<SemaphorePermit<'_>> {
        self.quiet().await;
        self.other.acquire().await.ok()
    }
}
