//! What really happened, as the world saw it. The checker knows nothing else.

use crate::scenario::Definition;
use core::fmt;
use core::time::Duration;
use kron_core::line::Line;
use kron_core::{Outcome, PeriodId, UtcInstant, UtcSecond};
use kron_engine::event::{RunId, Shutdown};
use std::rc::Rc;

/// When something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    /// True time since the world began; it never goes back and is never set.
    pub true_time: Duration,
    /// What of it the machine was not asleep; timeouts are measured by this.
    pub awake: Duration,
    /// The clock on the wall.
    pub wall: UtcInstant,
}

/// What the disk had of a job when the daemon looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDisk {
    /// Neither a file nor a line of the roster.
    Nothing,
    /// A file, a line, or both.
    Something,
    /// A file that is damaged or gone.
    Damaged,
}

/// A thing that happened.
#[derive(Clone, Debug)]
pub enum Fact {
    /// A daemon began.
    Started,
    /// It looked a job up.
    LookedUp {
        /// The job.
        identity: Rc<str>,
        /// What was there.
        found: OnDisk,
        /// Whether the last file whose commit was never answered is there.
        survived: bool,
        /// Processes that its file names and that are alive.
        alive: Vec<u64>,
    },
    /// The engine was told of a valid configuration.
    Configured(Vec<Rc<Definition>>),
    /// The configuration is in force, durably.
    Confirmed,
    /// A configuration was refused.
    Refused,
    /// The engine is told something.
    Heard {
        /// What.
        what: &'static str,
        /// When it had asked to be woken.
        planned: Option<UtcInstant>,
        /// How long it has been over what it had asked for by the uptime.
        overdue: Duration,
        /// Whether nothing came of it.
        idle: bool,
    },
    /// A line of the log.
    Said(Line),
    /// A process is to be made.
    Prepare {
        /// Run.
        run: RunId,
        /// Job.
        identity: Rc<str>,
        /// Period.
        period: PeriodId,
        /// Its chosen time, as the engine has it.
        chosen: UtcSecond,
    },
    /// A process stands at the gate, and the engine hears of it.
    AtGate {
        /// Run.
        run: RunId,
    },
    /// A process could not be made, and the engine hears of it.
    NotMade {
        /// Run.
        run: RunId,
    },
    /// A gate is closed.
    Abandoned {
        /// Run.
        run: RunId,
    },
    /// A batch is to become durable, with these outcomes.
    Commit(Vec<Recorded>),
    /// It is durable, and the engine hears of it.
    Committed,
    /// A command runs.
    Released {
        /// Run.
        run: RunId,
        /// Its process, unique over all boots.
        process: u64,
        /// Whether a disk that loses power now says so.
        durable: bool,
    },
    /// An execution of an earlier daemon is watched.
    Adopted {
        /// Run.
        run: RunId,
        /// Its process.
        process: u64,
    },
    /// A process ended, whether or not somebody saw.
    Ended {
        /// Its process.
        process: u64,
    },
    /// A run has no process left, as far as the engine knows.
    Forgotten {
        /// Run.
        run: RunId,
    },
    /// A signal was sent.
    Signalled {
        /// Run.
        run: RunId,
        /// Whether it cannot be ignored.
        kill: bool,
    },
    /// The marks of a job are to be forgotten.
    Reset(Rc<str>),
    /// The daemon is asked to end.
    Shutdown(Shutdown),
    /// The daemon is gone.
    Gone {
        /// Whether it went by itself, everything done.
        stopped: bool,
        /// Whether all processes are gone too.
        reboot: bool,
    },
    /// The daemon does not run until then.
    Away {
        /// In true time.
        until: Duration,
        /// And when that is, at the latest, in the time the machine is not asleep.
        awake: Duration,
    },
    /// Something outside the daemon, for whoever reads the trace.
    Outside(String),
}

/// An outcome in a batch.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The job.
    pub identity: Rc<str>,
    /// The period.
    pub period: PeriodId,
    /// Its outcome.
    pub outcome: Outcome,
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started => f.write_str("daemon    starts"),
            Self::LookedUp { identity, found, survived, .. } => {
                write!(f, "disk      {}: {found:?}", short(identity))?;
                if *survived { f.write_str(", with a commit nobody heard of") } else { Ok(()) }
            }
            Self::Configured(jobs) => {
                f.write_str("event     configuration")?;
                for job in jobs {
                    write!(f, "\n{:46}{}", "", job.line())?;
                }
                Ok(())
            }
            Self::Confirmed => f.write_str("effect    reloaded"),
            Self::Refused => f.write_str("config    refused"),
            Self::Heard { what, idle, .. } => {
                write!(f, "event     {what}{}", if *idle { " (nothing came of it)" } else { "" })
            }
            Self::Said(line) => {
                write!(f, "log       {} {}", line.level.as_str(), line.event)?;
                for key in ["job", "period_id", "chosen_time", "outcome", "reason", "count", "by"] {
                    if let Some(value) = line.get(key) {
                        write!(f, " {key}={value}")?;
                    }
                }
                Ok(())
            }
            Self::Prepare { run, identity, period, .. } => {
                write!(f, "effect    prepare {} {period} (run {})", short(identity), run.0)
            }
            Self::AtGate { run } => write!(f, "event     at the gate (run {})", run.0),
            Self::NotMade { run } => write!(f, "event     not made (run {})", run.0),
            Self::Abandoned { run } => write!(f, "effect    abandon (run {})", run.0),
            Self::Commit(outcomes) => {
                f.write_str("effect    commit")?;
                for Recorded { identity, period, outcome } in outcomes {
                    write!(f, " {} {period}={outcome}", short(identity))?;
                }
                Ok(())
            }
            Self::Committed => f.write_str("event     committed"),
            Self::Released { run, process, .. } => {
                write!(f, "effect    release (run {}, process {process})", run.0)
            }
            Self::Adopted { run, process } => {
                write!(f, "effect    adopt (run {}, process {process})", run.0)
            }
            Self::Ended { process } => write!(f, "process   {process} ends"),
            Self::Forgotten { run } => write!(f, "effect    forget (run {})", run.0),
            Self::Signalled { run, kill } => {
                write!(f, "effect    {} (run {})", if *kill { "KILL" } else { "TERM" }, run.0)
            }
            Self::Reset(identity) => write!(f, "event     reset {}", short(identity)),
            Self::Shutdown(how) => write!(f, "event     shutdown {}", how.as_str()),
            Self::Gone { stopped: true, .. } => f.write_str("daemon    has ended"),
            Self::Gone { reboot: true, .. } => f.write_str("machine   loses power"),
            Self::Gone { .. } => f.write_str("daemon    dies"),
            Self::Away { .. } => f.write_str("daemon    is away"),
            Self::Outside(what) => write!(f, "outside   {what}"),
        }
    }
}

/// The name in an identity.
#[must_use]
pub fn short(identity: &str) -> &str {
    identity.rsplit(':').next().unwrap_or(identity)
}
