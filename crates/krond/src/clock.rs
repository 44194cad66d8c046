//! The clock and its alarms: the only place of the daemon that knows the time.
//!
//! Two alarms. One is set to a time of day and also goes off when the clock is
//! set; the other counts time that passes, whatever the clock shows. Neither
//! goes off unless there is something to do.

use kron_core::UtcInstant;
use kron_engine::event::Moment;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{Errno, read};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// The clock of the machine, or one that differs from it by what a file says:
/// tests would otherwise wait for the hour.
#[derive(Debug, Default)]
pub struct Clock {
    shift: Shift,
    file: Option<PathBuf>,
}

/// A span of time with a sign.
#[derive(Clone, Copy, Debug, Default)]
struct Shift {
    span: Duration,
    is_back: bool,
}

impl Clock {
    /// The clock of the machine, shifted by the seconds that a file names.
    ///
    /// # Errors
    /// When the file cannot be read or holds no number.
    pub fn shifted(file: PathBuf) -> io::Result<Self> {
        let mut clock = Self { shift: Shift::default(), file: Some(file) };
        clock.reread()?;
        Ok(clock)
    }

    /// Reads the shift again: to the daemon, the clock was set.
    ///
    /// # Errors
    /// When the file cannot be read or holds no number.
    pub fn reread(&mut self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let seconds: f64 = std::fs::read_to_string(file)?
            .trim()
            .parse()
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "no number of seconds"))?;
        let span = Duration::try_from_secs_f64(seconds.abs())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "too many seconds"))?;
        self.shift = Shift { span, is_back: seconds < 0.0 };
        Ok(())
    }

    /// Both clocks, now.
    #[must_use]
    pub fn moment(&self) -> Moment {
        let wall = clock_gettime(ClockId::Realtime);
        let now = UtcInstant::new(wall.tv_sec, wall.tv_nsec as u32).unwrap_or(UtcInstant::MIN);
        let now = if self.shift.is_back {
            now.saturating_sub(self.shift.span)
        } else {
            now.saturating_add(self.shift.span)
        };
        Moment { now, uptime: uptime() }
    }

    /// A time of ours as the machine counts it.
    fn to_machine(&self, at: UtcInstant) -> Timespec {
        let at = if self.shift.is_back {
            at.saturating_add(self.shift.span)
        } else {
            at.saturating_sub(self.shift.span)
        };
        Timespec { tv_sec: at.unix_seconds().max(0), tv_nsec: at.subsec_nanos().into() }
    }
}

/// Time since the machine was started, without its sleep.
#[must_use]
pub fn uptime() -> Duration {
    let uptime = clock_gettime(ClockId::Monotonic);
    Duration::new(uptime.tv_sec as u64, uptime.tv_nsec as u32)
}

/// The two alarms.
#[derive(Debug)]
pub struct Alarms {
    wall: OwnedFd,
    uptime: OwnedFd,
    set: (Option<UtcInstant>, Option<Duration>),
}

impl Alarms {
    /// Two alarms that are not set.
    ///
    /// # Errors
    /// When the system has none left.
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        Ok(Self {
            wall: timerfd_create(TimerfdClockId::Realtime, flags)?,
            uptime: timerfd_create(TimerfdClockId::Monotonic, flags)?,
            set: (None, None),
        })
    }

    /// The descriptor of the alarm for a time of day.
    #[must_use]
    pub fn wall(&self) -> BorrowedFd<'_> {
        self.wall.as_fd()
    }

    /// The descriptor of the alarm for time passed.
    #[must_use]
    pub fn uptime(&self) -> BorrowedFd<'_> {
        self.uptime.as_fd()
    }

    /// Sets both alarms, or takes them back. `true` if the clock was set since the
    /// last look: the time is to be looked at.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn set(
        &mut self,
        clock: &Clock,
        wall: Option<UtcInstant>,
        uptime: Option<Duration>,
    ) -> io::Result<bool> {
        let mut was_set = false;
        if self.set.0 != wall {
            let at = wall.map(|at| clock.to_machine(at));
            let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
            match timerfd_settime(&self.wall, flags, &once(at)) {
                Ok(_) => {}
                // The alarm is set all the same.
                Err(Errno::CANCELED) => was_set = true,
                Err(error) => return Err(error.into()),
            }
        }
        if self.set.1 != uptime {
            let at = uptime.map(|at| Timespec {
                tv_sec: at.as_secs() as i64,
                tv_nsec: at.subsec_nanos().into(),
            });
            timerfd_settime(&self.uptime, TimerfdTimerFlags::ABSTIME, &once(at))?;
        }
        self.set = (wall, uptime);
        Ok(was_set)
    }

    /// Takes note that an alarm went off.
    pub fn rang(&mut self) {
        let mut count = [0; 8];
        // Nothing to read, or cancelled because the clock was set: both are fine,
        // the time is looked at in any case.
        let _ = read(&self.wall, &mut count);
        let _ = read(&self.uptime, &mut count);
        self.set = (None, None);
    }
}

fn once(at: Option<Timespec>) -> Itimerspec {
    let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
    // All zero means never, so the first nanosecond of 1970 stands for what is past.
    let past = Timespec { tv_sec: 0, tv_nsec: 1 };
    let at = match at {
        Some(at) if at == zero => past,
        Some(at) => at,
        None => zero,
    };
    Itimerspec { it_interval: zero, it_value: at }
}
