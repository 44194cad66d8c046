//! The daemon's side of one start: hearing from the set-up process, and letting
//! it go.

use super::wire::{self, GO, REPORT_BYTES};
use kron_host::launch::LaunchError;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::task::Poll;

/// A process that waits. Dropping this ends it, with nothing run.
#[derive(Debug)]
pub struct Gate {
    socket: UnixStream,
    bytes: [u8; REPORT_BYTES],
    filled: usize,
}

/// What a set-up process has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// Nothing is left but to execute the command.
    Ready,
    /// Something failed; the process ends, with nothing run.
    Failed(LaunchError),
    /// It has ended without a word: killed, most likely.
    Gone,
}

impl Gate {
    pub(super) const fn new(socket: UnixStream) -> Self {
        Self { socket, bytes: [0; REPORT_BYTES], filled: 0 }
    }

    /// The descriptor that is readable when there is something to hear.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// What the process has said since, never waiting for it. After `Ready`,
    /// `Gone` may still follow.
    pub fn report(&mut self) -> Poll<Report> {
        loop {
            match recv(&self.socket, &mut self.bytes[self.filled..], RecvFlags::DONTWAIT) {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Poll::Pending,
                Err(_) | Ok((0, _)) => return Poll::Ready(Report::Gone),
                Ok((count, _)) => self.filled += count,
            }
            if self.filled == REPORT_BYTES {
                self.filled = 0;
                return Poll::Ready(match wire::read_report(self.bytes) {
                    Some(Ok(())) => Report::Ready,
                    Some(Err(error)) => Report::Failed(error),
                    None => Report::Gone,
                });
            }
        }
    }

    /// Lets the process execute its command. To be called once it is ready, and
    /// once the start is on disk.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn release(self) -> io::Result<Released> {
        // One byte into an empty buffer never waits.
        send(&self.socket, &[GO], SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?;
        Ok(Released(self))
    }
}

/// A process that was let go. Nobody needs to keep this, but it knows why a
/// command could not be executed, which an exit code of 126 or 127 alone does
/// not say.
#[derive(Debug)]
pub struct Released(Gate);

impl Released {
    /// Why the command could not be executed, if so; never waits. Sure once the
    /// process has ended.
    pub fn failure(&mut self) -> Option<LaunchError> {
        match self.0.report() {
            Poll::Ready(Report::Failed(error)) => Some(error),
            _ => None,
        }
    }
}
