//! Files that were replaced, and into which others are written later.
//!
//! Of everything about replacing a file, making the new one and removing the old one costs
//! most where there are many: ext4 passes over each inode that was freed in the last minutes
//! whenever it looks for a free one. So a file that is replaced keeps a name, and the next
//! temporary file is that one, renamed and overwritten. What [`commit`](super::commit) does
//! with a temporary file stays the same: written, synced, renamed over the final name.
//!
//! Whoever has a state file open reads it whole, because it is not written into before it
//! has been a spare for [`AGE`]. Only what this process has replaced, durably, is a spare:
//! those that another one left behind are removed with its temporary files.

use super::names;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a file is left as it is after it was replaced.
pub(super) const AGE: Duration = Duration::from_secs(30);
/// Files that are kept.
const MOST: usize = 4096;
/// And how much there may be in them before no more are.
const MOST_BYTES: u64 = 64 << 20;

/// The files that are kept.
#[derive(Debug)]
pub(super) struct Spares {
    age: Duration,
    pile: Mutex<Pile>,
}

#[derive(Debug, Default)]
struct Pile {
    /// The oldest first.
    files: VecDeque<Spare>,
    bytes: u64,
    next: u32,
}

#[derive(Debug)]
struct Spare {
    since: Instant,
    number: u32,
    size: u64,
}

impl Spares {
    pub fn new(age: Duration) -> Self {
        Self { age, pile: Mutex::default() }
    }

    /// The name of a file that may be written into.
    pub fn take(&self) -> Option<String> {
        let mut pile = self.pile.lock().unwrap_or_else(PoisonError::into_inner);
        pile.files.front().filter(|spare| spare.since.elapsed() >= self.age)?;
        let spare = pile.files.pop_front()?;
        pile.bytes -= spare.size;
        Some(names::spare(spare.number))
    }

    /// Numbers for this many files that are about to be replaced, or for as many as are
    /// kept.
    pub fn numbers(&self, count: usize) -> std::ops::Range<u32> {
        let mut pile = self.pile.lock().unwrap_or_else(PoisonError::into_inner);
        let room = if pile.bytes < MOST_BYTES { MOST.saturating_sub(pile.files.len()) } else { 0 };
        let count = count.min(room) as u32;
        let first = pile.next;
        // All those in use are among the last few thousand.
        pile.next = first.checked_add(count).unwrap_or(0);
        if pile.next == 0 { 0..0 } else { first..pile.next }
    }

    /// These were replaced, durably; with their sizes.
    pub fn put(&self, replaced: Vec<(u32, u64)>) {
        let since = Instant::now();
        let mut pile = self.pile.lock().unwrap_or_else(PoisonError::into_inner);
        for (number, size) in replaced {
            pile.bytes += size;
            pile.files.push_back(Spare { since, number, size });
        }
    }
}
