//! What a simulation is made of: jobs, settings, and what happens to them when.
//!
//! A scenario is data, so that it can be drawn from a seed, made smaller and
//! printed. Everything else that is random (how processes behave, what a disk
//! loses) is asked of the seed while the world runs.

use core::fmt;
use core::time::Duration;
use kron_core::UtcInstant;
use kron_core::time::duration::Pretty;
use kron_engine::event::Shutdown;
use kron_engine::settings::Settings;

/// Where the false configuration stands.
pub const PATH: &str = "/etc/krond.d/sim.kron";

/// Everything a simulation depends on.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Answers to everything that is not written here.
    pub seed: u64,
    /// What the clock shows at first.
    pub begin: UtcInstant,
    /// How long it goes on.
    pub length: Duration,
    /// The daemon's settings.
    pub settings: Settings,
    /// Entries of the history that are kept.
    pub history: usize,
    /// The jobs at first.
    pub jobs: Vec<Definition>,
    /// What happens, in order.
    pub happenings: Vec<(Duration, Happening)>,
    /// In how many of a thousand cases the daemon is stopped while it prepares a process, the
    /// machine sleeps or its clock is set.
    pub disturbed: u64,
}

/// One line of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The name of the job.
    pub name: String,
    /// Cron fields and modifiers, the policy aside.
    pub timing: String,
    /// What stands in `@policy()`, `suspend` aside.
    pub policy: String,
    /// Whether it is suspended.
    pub suspend: bool,
    /// Longest run.
    pub timeout: Option<Duration>,
}

impl Definition {
    /// The schedule.
    #[must_use]
    pub fn schedule(&self) -> String {
        let suspend = if self.suspend { ",suspend=true" } else { "" };
        format!("{} @policy({}{suspend})", self.timing, self.policy)
    }

    /// The line of the file.
    #[must_use]
    pub fn line(&self) -> String {
        let mut line = format!("{} name={} command=/bin/true", self.schedule(), self.name);
        if let Some(timeout) = self.timeout {
            line.push_str(&format!(" timeout={}", Pretty(timeout)));
        }
        line
    }

    /// The identity of the job.
    #[must_use]
    pub fn identity(&self) -> String {
        format!("{PATH}:{}", self.name)
    }
}

/// Something that happens to the daemon, the machine or the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// The daemon or the machine dies, so many steps after this; a step is an
    /// event, an effect or an operation on the disk.
    Crash {
        /// How.
        how: Crash,
        /// Steps until then.
        steps: u32,
        /// How long until the daemon is started again.
        down: Duration,
    },
    /// The clock on the wall is set, by so many milliseconds.
    SetClock(i64),
    /// The daemon does not run for a while.
    Absent {
        /// How long.
        length: Duration,
        /// Whether nothing else runs either: the machine sleeps.
        machine: bool,
    },
    /// The configuration changes on disk.
    Edit {
        /// What.
        change: Change,
        /// Whether the daemon is told.
        reload: bool,
    },
    /// The daemon is told to read its configuration.
    Reload,
    /// The marks of a job are to be forgotten.
    Reset(String),
    /// The daemon is asked to end.
    Shutdown {
        /// How.
        how: Shutdown,
        /// After this long, it is asked again and less kindly.
        patience: Duration,
        /// How long until it is started again.
        down: Duration,
    },
    /// Somebody damages a state file.
    Damage {
        /// Of this job.
        job: String,
        /// In this way.
        how: Damage,
    },
}

/// How something dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// kill -9 of the daemon.
    Kill,
    /// Power fails.
    Reboot,
    /// An operation on the disk fails, and the daemon ends.
    Disk,
}

/// A change of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A job is there, as this.
    Put(Definition),
    /// A job is suspended or not.
    Suspend(String, bool),
    /// A job is not there.
    Remove(String),
    /// A job has another name.
    Rename(String, String),
    /// A line that makes no sense is there until the next change.
    Break,
}

/// How a state file is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Its end is missing.
    Cut,
    /// It is something else.
    Garbage,
    /// It is empty.
    Empty,
    /// It is gone.
    Gone,
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings { grace, max_running, shutdown_limit, preparing, .. } = &self.settings;
        writeln!(f, "seed {}, from {}, for {}", self.seed, self.begin, Pretty(self.length))?;
        write!(f, "grace {}, preparing {preparing}", Pretty(*grace))?;
        if let Some(most) = max_running {
            write!(f, ", max-running {most}")?;
        }
        if let Some(limit) = shutdown_limit {
            write!(f, ", shutdown-limit {}", Pretty(*limit))?;
        }
        write!(f, ", history {}", self.history)?;
        if self.disturbed > 0 {
            write!(f, ", {} of 1000 preparations disturbed", self.disturbed)?;
        }
        f.write_str("\n")?;
        for job in &self.jobs {
            writeln!(f, "  {}", job.line())?;
        }
        for (at, happening) in &self.happenings {
            writeln!(f, "  +{:<14} {happening}", Pretty(*at).to_string())?;
        }
        Ok(())
    }
}

impl fmt::Display for Happening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Crash { how, steps, down } => {
                let how = match how {
                    Crash::Kill => "kill -9",
                    Crash::Reboot => "power fails",
                    Crash::Disk => "the disk fails",
                };
                write!(f, "{how} {steps} steps later, down for {}", Pretty(*down))
            }
            Self::SetClock(millis) => {
                let by = Pretty(Duration::from_millis(millis.unsigned_abs()));
                let way = if *millis < 0 { "back" } else { "forward" };
                write!(f, "the clock is set {way} by {by}")
            }
            Self::Absent { length, machine: true } => {
                write!(f, "the machine sleeps for {}", Pretty(*length))
            }
            Self::Absent { length, machine: false } => {
                write!(f, "the daemon is stopped for {}", Pretty(*length))
            }
            Self::Edit { change, reload } => {
                match change {
                    Change::Put(job) => write!(f, "edit: {}", job.line())?,
                    Change::Suspend(job, true) => write!(f, "edit: suspend {job}")?,
                    Change::Suspend(job, false) => write!(f, "edit: resume {job}")?,
                    Change::Remove(job) => write!(f, "edit: remove {job}")?,
                    Change::Rename(job, other) => write!(f, "edit: rename {job} to {other}")?,
                    Change::Break => write!(f, "edit: an invalid line")?,
                }
                f.write_str(if *reload { ", reload" } else { ", no reload" })
            }
            Self::Reload => f.write_str("reload"),
            Self::Reset(job) => write!(f, "state reset {job}"),
            Self::Shutdown { how, patience, down } => write!(
                f,
                "shutdown {}, patience {}, down for {}",
                how.as_str(),
                Pretty(*patience),
                Pretty(*down)
            ),
            Self::Damage { job, how } => write!(f, "state file of {job} damaged: {how:?}"),
        }
    }
}
