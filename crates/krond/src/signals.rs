//! Signals as a descriptor.

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// The signals that mean something to the daemon. They are blocked in every
/// thread from here on, and come out of a descriptor instead.
#[derive(Debug)]
pub struct Signals {
    descriptor: SignalFd,
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// To end.
    Stop,
    /// To read the configuration again.
    Reload,
    /// In tests: to look at the clock again.
    Clock,
}

/// The signals themselves.
pub fn wanted() -> SigSet {
    [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGUSR2].into_iter().collect()
}

impl Signals {
    /// Blocks them. To be called before any thread is made.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn new() -> io::Result<Self> {
        let signals = wanted();
        signals.thread_block()?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        Ok(Self { descriptor: SignalFd::with_flags(&signals, flags)? })
    }

    /// Everything asked since the last time. The kernel keeps one of each kind.
    pub fn take(&self) -> Vec<Asked> {
        let mut asked = Vec::new();
        while let Ok(Some(signal)) = self.descriptor.read_signal() {
            let signal =
                i32::try_from(signal.ssi_signo).ok().and_then(|n| Signal::try_from(n).ok());
            asked.extend(match signal {
                Some(Signal::SIGHUP) => Some(Asked::Reload),
                Some(Signal::SIGUSR2) => Some(Asked::Clock),
                Some(_) => Some(Asked::Stop),
                None => None,
            });
        }
        asked
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
