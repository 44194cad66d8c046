//! What the engine hears, and what it wants done.

use crate::commit::{Batch, Found};
use crate::kept::Process;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;
use kron_core::line::Line;
use kron_core::{PeriodId, UtcInstant, UtcSecond};
use kron_tab::Entry;

/// The two clocks, read once for everything that is handled together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// What the clock on the wall shows; it may be set.
    pub now: UtcInstant,
    /// How long the machine has been running since some fixed point; it never
    /// goes back. Timeouts and grace periods are measured on it.
    pub uptime: Duration,
}

/// A job in the engine. Numbers are used again after a job is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobKey(pub(crate) u32);

/// One attempt to execute a period, from its preparation to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub u64);

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    /// Time passed, or the clock was set. Everything due is looked at.
    Tick,
    /// A process is at the gate: everything that can fail has succeeded, and
    /// nothing of the job has run.
    Prepared {
        /// Which.
        run: RunId,
        /// The process.
        process: Process,
        /// The user it has become, if not the daemon's own.
        user: Option<Box<str>>,
        /// Uptime at which somebody began to make it: until then it waited for others.
        begun: Duration,
    },
    /// A process could not be prepared; there is none.
    Unprepared {
        /// Which.
        run: RunId,
        /// Why.
        failure: StartFailure,
    },
    /// The batch handed out last is durable.
    Committed,
    /// The process of a run has ended.
    Exited {
        /// Which.
        run: RunId,
        /// How, as far as that was seen.
        exit: Exit,
    },
    /// No process of a run's group is left but perhaps its dead leader.
    GroupGone(RunId),
    /// There is a new configuration, all of it valid.
    Reload(Vec<Enrolment>),
    /// The way out of a mark in the future: forget the marks of a job.
    Reset(JobKey),
    /// The daemon is to end.
    Shutdown(Shutdown),
}

/// A configured job and what was found about it. For a job that the engine
/// knows already, what was found is not looked at.
#[derive(Debug)]
pub struct Enrolment {
    /// The job.
    pub entry: Entry,
    /// What was kept of it.
    pub found: Found,
    /// For each execution that was active: how long it has run by now, by a clock that
    /// nobody sets; nothing if it has ended.
    pub alive: Vec<Option<Duration>>,
}

/// Why a process could not be prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartFailure {
    /// What was tried.
    pub operation: &'static str,
    /// What went wrong, for people.
    pub message: String,
    /// Whether it may work a little later.
    pub is_transient: bool,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code, 128 + n after signal n; `None` if nobody saw.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

impl Exit {
    /// Nobody saw how it ended, and success is never assumed.
    pub const UNSEEN: Self = Self { code: None, signal: None };
}

/// What becomes of running jobs when the daemon ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shutdown {
    /// They are waited for.
    Wait,
    /// They are ended.
    Terminate,
    /// They are left to themselves, and found again at the next start.
    Detach,
}

impl Shutdown {
    /// The word of the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Terminate => "terminate",
            Self::Detach => "detach",
        }
    }
}

/// Something to be done, in the order given.
#[derive(Debug)]
pub enum Effect {
    /// Write a line to the log.
    Log(Line),
    /// Write the plan of a period to the log: what [`crate::Engine::plan`] says,
    /// which is long, while a start has one for every job.
    Plan(JobKey, PeriodId),
    /// Prepare a process up to the gate; answer with [`Event::Prepared`] or
    /// [`Event::Unprepared`].
    Prepare(Preparation),
    /// Make a batch durable; answer with [`Event::Committed`], or end the daemon.
    /// There is never a second one before the answer.
    Commit(Box<Batch>),
    /// Open the gate: the command runs from here on.
    Release(RunId),
    /// Close the gate; the process ends without having run anything. There is no
    /// answer.
    Abandon(RunId),
    /// Watch a process that an earlier daemon started; if it is not there any
    /// more, answer with [`Event::Exited`] at once.
    Adopt(RunId, Process),
    /// Send a signal to the group of a run.
    Signal(RunId, Signal),
    /// Answer with [`Event::GroupGone`] as soon as that is so.
    WatchGroup(RunId),
    /// A run is over; nothing refers to it any more.
    Forget(RunId),
    /// The configuration of [`Event::Reload`] is in force, durably.
    Reloaded(Changes),
    /// The marks of [`Event::Reset`] are gone, durably.
    ResetDone,
    /// End the daemon: everything is recorded.
    Stop,
}

/// What became of the jobs at a reload, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Were not there before.
    pub added: usize,
    /// Have another definition.
    pub changed: usize,
    /// Are not there any more.
    pub removed: usize,
}

impl core::ops::Add for Changes {
    type Output = Self;

    fn add(self, later: Self) -> Self {
        Self {
            added: self.added + later.added,
            changed: self.changed + later.changed,
            removed: self.removed + later.removed,
        }
    }
}

/// A process to be prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preparation {
    /// The run it is for.
    pub run: RunId,
    /// The job; its entry says what to run.
    pub job: JobKey,
    /// The period.
    pub period: PeriodId,
    /// The chosen time.
    pub chosen: UtcSecond,
}

/// A signal for a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Please end.
    Terminate,
    /// End.
    Kill,
}
