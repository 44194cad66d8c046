//! What can go wrong with state, and what is only worth a warning.

use super::folder::Step;
use kron_core::{Identity, quoted};
use kron_engine::state::StateError;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why the daemon must not start with this state.
#[derive(Debug)]
pub enum StoreError {
    /// Another daemon uses the directory.
    Locked {
        /// The lock file.
        path: PathBuf,
        /// Who holds it, as far as it says.
        pid: Option<u32>,
    },
    /// Files or directories that cannot be used; all that were found.
    Refused(Vec<Problem>),
}

/// A file or directory that cannot be used.
#[derive(Debug)]
pub struct Problem {
    /// Which.
    pub path: PathBuf,
    /// Whose state it is, if of a job.
    pub identity: Option<Identity>,
    /// Why.
    pub reason: Reason,
}

/// The reasons.
#[derive(Debug)]
pub enum Reason {
    /// An operation failed (`PersistenceError`).
    Failed {
        /// Which.
        step: Step,
        /// How.
        error: io::Error,
    },
    /// Others may have changed it, or could (`PersistenceError`).
    Unsafe {
        /// What is wrong.
        message: String,
        /// What to do about it.
        hint: String,
    },
    /// It means something else than we understand (`IncompatibleStateError`).
    State(StateError),
}

impl Problem {
    pub(super) fn failed(
        path: impl Into<PathBuf>,
        step: Step,
        error: impl Into<io::Error>,
    ) -> Self {
        let reason = Reason::Failed { step, error: error.into() };
        Self { path: path.into(), identity: None, reason }
    }

    pub(super) fn not_safe(path: impl Into<PathBuf>, message: &str, hint: String) -> Self {
        let reason = Reason::Unsafe { message: message.into(), hint };
        Self { path: path.into(), identity: None, reason }
    }

    pub(super) fn of(mut self, identity: &Identity) -> Self {
        self.identity = Some(identity.clone());
        self
    }

    /// The category of ERROR-MODEL.md.
    #[must_use]
    pub const fn category(&self) -> &'static str {
        match self.reason {
            // Too much to be read is unreadable, whatever it would have meant.
            Reason::State(StateError::TooLarge { .. })
            | Reason::Failed { .. }
            | Reason::Unsafe { .. } => "PersistenceError",
            Reason::State(_) => "IncompatibleStateError",
        }
    }
}

impl StoreError {
    /// The category of ERROR-MODEL.md: that of the first problem.
    #[must_use]
    pub fn category(&self) -> &'static str {
        match self {
            Self::Locked { .. } => "SystemError",
            Self::Refused(problems) => {
                problems.first().map_or("PersistenceError", Problem::category)
            }
        }
    }
}

impl From<Problem> for StoreError {
    fn from(problem: Problem) -> Self {
        Self::Refused(vec![problem])
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: ", self.path.display())?;
        match &self.reason {
            Reason::Failed { step, error } => write!(f, "{step} failed: {error}"),
            Reason::Unsafe { message, hint } => write!(f, "{message}; {hint}"),
            Reason::State(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Locked { path, pid } => {
                write!(f, "`{}` is locked by another krond", path.display())?;
                pid.map_or(Ok(()), |pid| write!(f, ", process {pid}"))
            }
            Self::Refused(problems) => {
                for (place, problem) in problems.iter().enumerate() {
                    write!(f, "{}{problem}", if place > 0 { "\n" } else { "" })?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for StoreError {}
impl std::error::Error for Problem {}

/// Why something is not durable. It is final: nothing that depends on it may
/// happen any more.
#[derive(Debug)]
pub struct CommitError {
    /// Whose state was being written; `None` for the roster and the directory.
    pub identity: Option<Identity>,
    /// The file.
    pub path: PathBuf,
    /// What failed.
    pub step: Step,
    /// How; its `raw_os_error` is the errno.
    pub error: io::Error,
}

impl fmt::Display for CommitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {} failed: {}", self.path.display(), self.step, self.error)?;
        self.identity.as_ref().map_or(Ok(()), |id| write!(f, " (state of {})", quoted(id.as_str())))
    }
}

impl std::error::Error for CommitError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// Something to be told, after which work goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// Others could look into the directory; now they cannot.
    Tightened {
        /// The directory.
        path: PathBuf,
        /// The permissions it had.
        mode: u32,
    },
    /// The last line of the roster was cut short by a crash, and dropped. It had
    /// never been reported as durable.
    RosterTorn {
        /// The roster.
        path: PathBuf,
        /// How much was dropped.
        bytes: u64,
    },
    /// The roster was damaged and moved aside; a job without a state file counts
    /// as new.
    RosterQuarantined {
        /// Where to.
        path: PathBuf,
        /// What was wrong.
        detail: String,
    },
    /// A damaged state file was moved aside.
    Quarantined {
        /// Whose it was.
        identity: Identity,
        /// Where to.
        path: PathBuf,
        /// What was wrong.
        detail: String,
    },
    /// The state file could not be read any more while it was replaced; the new
    /// one is complete but for earlier history.
    HistoryLost {
        /// Whose it was.
        identity: Identity,
        /// The file.
        path: PathBuf,
        /// What was wrong.
        detail: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tightened { path, mode } => {
                write!(f, "`{}` had mode {mode:04o}; it is 0700 now", path.display())
            }
            Self::RosterTorn { path, bytes } => write!(
                f,
                "`{}`: dropped a last line cut short by a crash ({bytes} bytes)",
                path.display()
            ),
            Self::RosterQuarantined { path, detail } => write!(
                f,
                "the roster is damaged ({detail}) and was moved to `{}`; \
                 jobs without a state file count as new",
                path.display()
            ),
            Self::Quarantined { path, detail, .. } => {
                write!(
                    f,
                    "a state file is damaged ({detail}) and was moved to `{}`",
                    path.display()
                )
            }
            Self::HistoryLost { path, detail, .. } => {
                write!(f, "`{}`: earlier history is lost: {detail}", path.display())
            }
        }
    }
}
