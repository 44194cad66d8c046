//! The one timer: absolute, on the clock that people set, and it says when they do.

use kron_core::UtcInstant;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::io;
use std::os::fd::OwnedFd;
use tokio::io::unix::AsyncFd;

/// A timer.
pub struct Alarm {
    timer: AsyncFd<OwnedFd>,
    at: Option<UtcInstant>,
}

impl Alarm {
    /// A timer that is not set.
    ///
    /// # Errors
    /// When the system has none left.
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Realtime, flags)?;
        // Deprecated for those whose descriptor may change or close under it; an `OwnedFd`
        // does neither. What took its place is unsafe.
        #[allow(deprecated)]
        let timer = AsyncFd::new(timer)?;
        Ok(Self { timer, at: None })
    }

    /// When it is to ring, unless it has.
    #[must_use]
    pub const fn at(&self) -> Option<UtcInstant> {
        self.at
    }

    /// Sets it; `true` if the clock was set since the last time.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn set(&mut self, at: UtcInstant) -> io::Result<bool> {
        if self.at == Some(at) {
            return Ok(false);
        }
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        // All zero means never, so what is past is the first nanosecond.
        let (tv_sec, tv_nsec) = (at.unix_seconds().max(0), at.subsec_nanos().max(1).into());
        let time = Itimerspec { it_interval: zero, it_value: Timespec { tv_sec, tv_nsec } };
        let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
        self.at = Some(at);
        match timerfd_settime(self.timer.get_ref(), flags, &time) {
            Ok(_) => Ok(false),
            // It is set all the same.
            Err(rustix::io::Errno::CANCELED) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until it rings, or the clock is set.
    pub async fn rang(&mut self) {
        if let Ok(mut ready) = self.timer.readable().await {
            // Nothing to read, or cancelled: the time is looked at in any case.
            let _ = rustix::io::read(self.timer.get_ref(), &mut [0; 8]);
            ready.clear_ready();
        }
        self.at = None;
    }
}
