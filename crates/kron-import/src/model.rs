//! What goes in and what comes out.

use kron_tab::{Key, Line};

/// What the importer may know about the machine that the files are from.
#[derive(Clone, Copy)]
pub struct Host<'a> {
    /// IANA name of the local zone, in which cron and systemd read the clock.
    pub zone: &'a str,
    /// Owner of a user's crontab or of a user's units.
    pub user: &'a str,
    /// Home directory of a user, if it is known.
    pub home: &'a dyn Fn(&str) -> Option<String>,
    /// Whether the entries are for the system's configuration, run by root,
    /// rather than for that of `user`.
    pub system: bool,
}

/// What kind of text a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A user's crontab, as `crontab -l` prints it.
    Crontab,
    /// `/etc/crontab` and the files of `/etc/cron.d`, with a user column.
    SystemCrontab,
    /// Timer units, and the service units that they start.
    Systemd,
    /// Kubernetes manifests.
    CronJob,
}

/// One file. The name of a systemd unit matters; other names do not.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// The file's name; directories before it are ignored.
    pub name: &'a str,
    /// Everything in it.
    pub text: &'a str,
}

/// Everything found in the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Import {
    /// What asked to be run, in the order of the files.
    pub items: Vec<Item>,
    /// What concerns no single item.
    pub remarks: Vec<Remark>,
}

/// Something to know that concerns no single item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Which of the files, from 0.
    pub file: usize,
    /// The line, from 1; nothing if it is about the whole file.
    pub line: Option<usize>,
    /// What there is to know.
    pub text: String,
}

/// One thing that asked to be run, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Which of the files, from 0.
    pub file: usize,
    /// The line on which it begins, from 1.
    pub line: usize,
    /// The original: a crontab line, a unit and its calendar, a manifest's name.
    pub source: String,
    /// What became of it.
    pub verdict: Verdict,
}

/// How far an entry does what the original did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It does the same at the same times.
    Exact(Entry),
    /// It differs in the ways listed, of which there is at least one.
    Changed {
        /// The entry.
        entry: Entry,
        /// The ways in which it differs.
        changes: Vec<String>,
    },
    /// It cannot be carried over, for at least one reason.
    Refused {
        /// Why.
        reasons: Vec<String>,
    },
}

impl Verdict {
    /// The entry, unless it was refused.
    #[must_use]
    pub const fn entry(&self) -> Option<&Entry> {
        match self {
            Self::Exact(entry) | Self::Changed { entry, .. } => Some(entry),
            Self::Refused { .. } => None,
        }
    }

    /// Changes or reasons; none for an exact entry.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        match self {
            Self::Exact(_) => &[],
            Self::Changed { changes, .. } => changes,
            Self::Refused { reasons } => reasons,
        }
    }
}

/// An entry for a `.kron` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name: `a-z`, `0-9`, and `-`, `/`, `.`, `_` inside; 100 bytes at most.
    pub name: String,
    /// Cron fields and modifiers; [`kron_core::Job::parse`] accepts them.
    pub schedule: String,
    /// The other fields in the order of a file, values without their quotes: each
    /// is one line, without control characters other than tabs. `env` may repeat.
    pub fields: Vec<(&'static str, String)>,
}

impl Entry {
    /// The entry as a line of a file, its fields in canonical order.
    #[must_use]
    pub fn line(&self) -> Line {
        let mut line = Line { schedule: self.schedule.clone(), fields: Vec::new() };
        line.fields.push((Key::Name, self.name.clone()));
        let known = |(name, value): &(&str, String)| Some((Key::find(name)?, value.clone()));
        line.fields.extend(self.fields.iter().filter_map(known));
        line.fields.sort_by_key(|(key, _)| *key);
        line
    }
}
