//! What a job's process looks like, and how to become it.
//!
//! A [`Plan`] says everything: words, environment, directory, mask, ids, limits
//! and where output goes. It is carried out in a process made for the purpose:
//! [`begin`], [`Plan::prepare`], [`Prepared::execute`], or all but the first at
//! once with [`Plan::become_it`].
//!
//! What it does not do: make that process, or wait for it.

mod ids;
mod limits;
mod program;
mod ready;
mod sink;
mod step;

pub use ids::{Ids, ids};
pub use limits::Limit;
pub use program::{NoProgram, find_program};
pub use ready::{Prepared, begin};
pub use sink::Sink;
pub use step::{LaunchError, Step};

use crate::account::{self, Account};
use kron_tab::{Command, Entry};
use nix::errno::Errno;
use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;

/// The search path of a job whose environment has none; that of a service.
pub const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What a service manager says to the daemon alone, and jobs must not take for
/// theirs.
const OF_THE_DAEMON: [&str; 6] = [
    "NOTIFY_SOCKET",
    "WATCHDOG_USEC",
    "WATCHDOG_PID",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
];

/// A process to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Program and arguments; at least one word.
    pub words: Vec<String>,
    /// Whether it begins with the environment of the process that becomes it, or
    /// with none. Never copied into the plan: values need not be UTF-8.
    pub inherit_env: bool,
    /// Variables that are not inherited.
    pub unset: Vec<String>,
    /// Variables on top, in order.
    pub env: Vec<(String, String)>,
    /// Directory to start in, if not the present one.
    pub cwd: Option<String>,
    /// File mode mask, if not the present one.
    pub umask: Option<u16>,
    /// Ids to take on, if not the present ones.
    pub ids: Option<Ids>,
    /// Limits to set.
    pub limits: Vec<Limit>,
    /// How many files it may open, soft and hard, if it does not limit them
    /// itself and the present numbers are somebody else's.
    pub restore_nofile: Option<(u64, u64)>,
    /// Where standard output goes.
    pub stdout: Sink,
    /// Where standard error goes.
    pub stderr: Sink,
}

/// Why an entry cannot be run here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// No such user.
    UnknownUser(String),
    /// No such group.
    UnknownGroup(String),
    /// Only root may run something as another user or group.
    NotPermitted(String),
    /// The user database could not be asked.
    Database(Errno),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownUser(name) => write!(f, "there is no user `{name}`"),
            Self::UnknownGroup(name) => write!(f, "there is no group `{name}`"),
            Self::NotPermitted(name) => write!(f, "only root may run something as `{name}`"),
            Self::Database(errno) => write!(f, "the user database cannot be read: {errno}"),
        }
    }
}

impl std::error::Error for PlanError {}

/// What a daemon hands on to jobs that do not say otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Daemon {
    /// Whether its environment is that of this process.
    pub inherit_env: bool,
    /// Variables that are its own only.
    pub unset: Vec<String>,
    /// Its variables on top of that, in order.
    pub env: Vec<(String, String)>,
    /// Its directory, if not the present one.
    pub cwd: Option<String>,
    /// Its file mode mask, if not the present one.
    pub umask: Option<u16>,
    /// Whether its groups are those that its user has, and not the present ones.
    pub own_groups: bool,
    /// How many files it could open when it was started, soft and hard, if it
    /// has changed that since.
    pub nofile: Option<(u64, u64)>,
}

impl Daemon {
    /// A daemon that a service manager started: a search path, who it runs as,
    /// the root directory for root and the home of anybody else, mask 022.
    ///
    /// # Errors
    /// When the user database cannot be asked.
    pub fn as_service() -> Result<Self, PlanError> {
        let mut env = vec![("PATH".into(), DEFAULT_PATH.into())];
        let account = account::current().map_err(PlanError::Database)?;
        env.extend(account.iter().flat_map(identity_variables));
        let home = account.map(|account| account.home.to_string_lossy().into_owned());
        let home = home.filter(|home| !geteuid().is_root() && Path::new(home).is_dir());
        Ok(Self {
            inherit_env: false,
            unset: Vec::new(),
            env,
            cwd: Some(home.unwrap_or_else(|| "/".into())),
            umask: Some(0o022),
            own_groups: true,
            nofile: None,
        })
    }

    /// A daemon that is this very process, as far as jobs can tell.
    #[must_use]
    pub fn here() -> Self {
        Self {
            inherit_env: true,
            unset: OF_THE_DAEMON.map(String::from).into(),
            env: Vec::new(),
            cwd: None,
            umask: None,
            own_groups: false,
            nofile: None,
        }
    }
}

fn identity_variables(account: &Account) -> [(String, String); 4] {
    [
        ("HOME".into(), account.home.to_string_lossy().into_owned()),
        ("USER".into(), account.name.clone()),
        ("LOGNAME".into(), account.name.clone()),
        ("SHELL".into(), account.shell.to_string_lossy().into_owned()),
    ]
}

impl Plan {
    /// The process of an entry, as a daemon would start it.
    ///
    /// Its output is what it is here: where an entry sends it depends on the run.
    /// Asks the user database, which may take its time.
    ///
    /// # Errors
    /// When its user or group cannot be taken on.
    pub fn of(entry: &Entry, daemon: Daemon) -> Result<Self, PlanError> {
        let mut env = daemon.env;
        let mut ids = ids(entry.user.as_deref(), entry.group.as_deref())?;
        if ids.is_none() && daemon.own_groups && geteuid().is_root() {
            let me = account::current().map_err(PlanError::Database)?;
            let own = |me: Account| -> Result<_, PlanError> {
                let groups = me.groups(me.gid).map_err(PlanError::Database)?;
                Ok((Ids { uid: me.uid, gid: me.gid, groups }, None))
            };
            ids = me.map(own).transpose()?;
        }
        if let Some((_, Some(account))) = &ids {
            for (name, value) in identity_variables(account) {
                set(&mut env, name, value);
            }
        }
        for variable in &entry.env {
            set(&mut env, variable.name.to_string(), variable.value.to_string());
        }
        let words = match &entry.command {
            Command::Direct(words) => words.clone(),
            Command::Shell(text) => vec!["/bin/sh".into(), "-c".into(), text.clone()],
        };
        Ok(Self {
            words,
            inherit_env: daemon.inherit_env,
            unset: daemon.unset,
            env,
            cwd: entry.cwd.as_deref().map(String::from).or(daemon.cwd),
            umask: entry.umask.or(daemon.umask),
            ids: ids.map(|(ids, _)| ids),
            limits: limits::limits(&entry.limits),
            restore_nofile: daemon.nofile,
            stdout: Sink::Inherit,
            stderr: Sink::Inherit,
        })
    }

    /// Sets a variable on top of all others, also those of the entry.
    pub fn set_env(&mut self, name: impl Into<String>, value: impl Into<String>) {
        set(&mut self.env, name.into(), value.into());
    }
}

fn set(env: &mut Vec<(String, String)>, name: String, value: String) {
    match env.iter_mut().find(|(known, _)| *known == name) {
        Some((_, old)) => *old = value,
        None => env.push((name, value)),
    }
}
