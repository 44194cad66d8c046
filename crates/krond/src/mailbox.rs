//! Results of other threads, for the loop to find: a queue, and a descriptor
//! that is readable while something may be in it.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

/// A queue with a descriptor.
#[derive(Debug)]
pub struct Mailbox<T> {
    letters: Mutex<Vec<T>>,
    bell: OwnedFd,
}

impl<T> Mailbox<T> {
    /// An empty one.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn new() -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { letters: Mutex::new(Vec::new()), bell })
    }

    /// Puts something in.
    pub fn post(&self, letter: T) {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner).push(letter);
        // Fails only when it is readable already.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// Takes everything out.
    pub fn take(&self) -> Vec<T> {
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        std::mem::take(&mut *self.letters.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T> AsFd for Mailbox<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
