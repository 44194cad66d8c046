//! What is to be made durable, and what was found to be durable.

use crate::kept::{Finished, Kept};
use alloc::boxed::Box;
use alloc::vec::Vec;
use kron_core::{Identity, Seen, UtcInstant};

/// Everything that becomes durable together. Nothing that depends on it may
/// happen before all of it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// State files to replace.
    pub jobs: Vec<Snapshot>,
    /// Lines for the roster.
    pub roster: Vec<RosterLine>,
}

/// The new contents of a state file.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Whose.
    pub identity: Identity,
    /// What is kept.
    pub kept: Kept,
    /// What is added to the history, oldest first.
    pub finished: Vec<Finished>,
}

/// What the roster learns. It knows every job ever seen, also those that have
/// no state file yet.
#[derive(Clone, Debug, PartialEq)]
pub enum RosterLine {
    /// A job is seen for the first time, again after an absence, or with another
    /// definition.
    Seen {
        /// Which job.
        identity: Identity,
        /// What is to be known of it.
        seen: Seen,
    },
    /// A job has a state file from now on.
    HasFile(Identity),
    /// A job is no longer configured.
    Gone(Identity),
}

/// What was found about a job when it was looked up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Its state file.
    pub kept: Option<Kept>,
    /// What the roster says of it.
    pub roster: Option<Rostered>,
    /// Where its unreadable state file was moved.
    pub quarantined: Option<Box<str>>,
}

impl RosterLine {
    /// A job is not configured any more. How far it may have run ahead does not move on.
    pub fn departure(identity: &Identity, seen: Option<Seen>) -> impl Iterator<Item = Self> {
        let seen = seen.map(|seen| Self::Seen { identity: identity.clone(), seen });
        seen.into_iter().chain([Self::Gone(identity.clone())])
    }
}

impl Found {
    /// Whether there was a state file that cannot be read, or is not there any more, be it
    /// that somebody removed it with the job.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        let is_missed = |roster: &Rostered| roster.has_file && self.kept.is_none();
        self.quarantined.is_some() || self.roster.as_ref().is_some_and(is_missed)
    }
}

/// What the roster says of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rostered {
    /// From its latest `Seen`, if there is one.
    pub seen: Option<Seen>,
    /// Whether it had a state file.
    pub has_file: bool,
    /// Whether it was not configured when last heard of.
    pub gone: bool,
}

impl Rostered {
    /// What is to be kept of a job that is found not to be configured any more, if that is
    /// another than is.
    #[must_use]
    pub fn departed(&self, now: UtcInstant) -> Option<Seen> {
        self.seen.filter(|seen| !seen.lead.is_zero()).map(|seen| seen.departed(now))
    }
}
