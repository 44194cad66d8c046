//! One attempt to execute a period.

use crate::event::{Exit, JobKey};
use crate::kept::Process;
use alloc::boxed::Box;
use core::time::Duration;
use kron_core::{Closure, PeriodId, SeedHash, UtcInstant, UtcSecond};

/// A run, from the moment it may start until its last process is gone.
#[derive(Debug)]
pub(crate) struct Run {
    pub job: JobKey,
    pub period: PeriodId,
    pub chosen: UtcSecond,
    pub seed_hash: Option<SeedHash>,
    /// The end of its period, which only `judge` can give; nothing for a run that
    /// an earlier daemon started.
    pub closure: Option<Closure>,
    pub phase: Phase,
    /// Uptime at which its preparation began.
    pub prepared_since: Duration,
    /// Whether its preparation takes so long that others do not wait for it.
    pub is_stalled: bool,
    /// How long it may take: what its entry said when it began.
    pub timeout: Option<Duration>,
    /// Why it is being ended, if it is.
    pub ending: Option<Ending>,
}

/// How far a run is.
#[derive(Debug)]
pub(crate) enum Phase {
    /// Waits until fewer others are under preparation.
    Queued,
    /// Its process is being made.
    Preparing,
    /// At the gate; its start is being recorded.
    AtGate(Begun),
    /// The command runs.
    Running(Begun),
    /// Its leader is gone; the rest of its group is being waited for.
    Leaderless(Begun, Exit),
}

/// A process that is recorded, or about to be.
#[derive(Clone, Debug)]
pub(crate) struct Begun {
    pub process: Process,
    pub started_at: UtcInstant,
    /// The user it became.
    pub user: Option<Box<str>>,
}

/// A run that is made to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    pub why: Why,
    /// Whether its first process had not ended by itself before.
    pub is_led: bool,
    pub killed: bool,
    /// Given up on: it does not die.
    pub hopeless: bool,
}

/// Why a run is made to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    Timeout,
    Replaced,
    Shutdown,
}

impl Why {
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Replaced => "replaced",
            Self::Shutdown => "shutdown",
        }
    }
}

/// What is to happen to a run at some uptime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Alarm {
    /// Its preparation takes too long.
    Unprepared,
    /// Its timeout is over.
    Timeout,
    /// Its grace is over.
    Kill,
    /// It should have been dead by now.
    Undead,
}

impl Run {
    /// Whether this end is a failure of the command. What `replace` ended did not fail.
    pub fn has_failed(&self, exit: Exit) -> bool {
        let is_replaced =
            self.ending.is_some_and(|ending| ending.why == Why::Replaced && ending.is_led);
        exit.code.is_some_and(|code| code != 0) && !is_replaced
    }

    /// Whether nothing is recorded of it yet.
    pub fn is_unstarted(&self) -> bool {
        matches!(self.phase, Phase::Queued | Phase::Preparing)
    }

    /// Whether it takes a place among those under preparation.
    pub fn takes_place(&self) -> bool {
        matches!(self.phase, Phase::Preparing) && !self.is_stalled
    }

    /// Whether an alarm still has something to say: one that has come to nothing
    /// is no reason to wake up.
    pub fn awaits(&self, alarm: Alarm) -> bool {
        match alarm {
            Alarm::Unprepared => matches!(self.phase, Phase::Preparing),
            Alarm::Timeout => self.ending.is_none(),
            Alarm::Kill => self.ending.is_some_and(|ending| !ending.killed),
            Alarm::Undead => self.ending.is_some_and(|ending| !ending.hopeless),
        }
    }

    /// Process and start, once there is one that counts.
    pub fn begun(&self) -> Option<&Begun> {
        match &self.phase {
            Phase::Queued | Phase::Preparing => None,
            Phase::AtGate(begun) | Phase::Running(begun) | Phase::Leaderless(begun, _) => {
                Some(begun)
            }
        }
    }
}
