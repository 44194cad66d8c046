//! What a job's process looks like, and how to become it.
//!
//! A [`Plan`] says everything: words, environment, directory, mask, ids and
//! limits. [`Plan::become_it`] is called in a process made for the purpose; it
//! either turns into the command or says what failed. It never goes on after a
//! failure, so nothing runs with rights it should not have.

use crate::account::{self, Account};
use crate::slate;
use kron_tab::{Command, Entry, Limits};
use nix::errno::Errno;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{
    Gid, Uid, execve, geteuid, getgid, getresgid, getresuid, getuid, setgroups, setresgid,
    setresuid, setsid,
};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
use serde::{Deserialize, Serialize};
use std::ffi::{CString, OsStr};
use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The search path of a job whose environment has none; that of a service.
pub const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The last step.
const EXECUTE: &str = "execute it";

/// A process to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Program and arguments; at least one word.
    pub words: Vec<String>,
    /// The whole environment, in order.
    pub env: Vec<(String, String)>,
    /// Directory to start in, if not the present one.
    pub cwd: Option<String>,
    /// File mode mask, if not the present one.
    pub umask: Option<u16>,
    /// Ids to take on, if not the present ones.
    pub ids: Option<Ids>,
    /// Limits to set.
    pub limits: Vec<Limit>,
}

/// Ids of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ids {
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Supplementary groups.
    pub groups: Vec<u32>,
}

/// A limit of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// Open files.
    Nofile(u64),
    /// Processes of the user.
    Nproc(u64),
    /// Address space, in bytes.
    Memory(u64),
    /// Processor time, in seconds.
    Cpu(u64),
    /// Size of a file, in bytes.
    Fsize(u64),
    /// Size of a core dump, in bytes.
    Core(u64),
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
    /// Its environment, in order.
    pub env: Vec<(String, String)>,
    /// Its directory, if not the present one.
    pub cwd: Option<String>,
    /// Its file mode mask, if not the present one.
    pub umask: Option<u16>,
    /// Whether its groups are those that its user has, and not the present ones.
    pub own_groups: bool,
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
            env,
            cwd: Some(home.unwrap_or_else(|| "/".into())),
            umask: Some(0o022),
            own_groups: true,
        })
    }

    /// A daemon that is this very process, as far as jobs can tell.
    #[must_use]
    pub fn here() -> Self {
        // A variable that is not UTF-8 cannot be written in an entry either.
        let env = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Self { env, cwd: None, umask: None, own_groups: false }
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

/// The ids that an entry asks for, and the account if it is another one;
/// `None` if it asks for nothing that is not so already.
///
/// # Errors
/// When there is no such user or group, or it may not be taken on.
pub fn ids(
    user: Option<&str>,
    group: Option<&str>,
) -> Result<Option<(Ids, Option<Account>)>, PlanError> {
    let account = match user {
        None => None,
        Some(name) => Some(
            account::by_name(name)
                .map_err(PlanError::Database)?
                .ok_or_else(|| PlanError::UnknownUser(name.into()))?,
        ),
    };
    let gid = match group {
        None => None,
        Some(name) => Some(
            account::group_id(name)
                .map_err(PlanError::Database)?
                .ok_or_else(|| PlanError::UnknownGroup(name.into()))?,
        ),
    };
    if account.is_none() && gid.is_none() {
        return Ok(None);
    }
    let me = geteuid();
    if !me.is_root() {
        let other_user = account.as_ref().filter(|account| account.uid != me.as_raw());
        let other_group = gid.filter(|gid| *gid != getgid().as_raw());
        return match (other_user, other_group, group) {
            (Some(account), _, _) => Err(PlanError::NotPermitted(account.name.clone())),
            (None, Some(_), Some(name)) => Err(PlanError::NotPermitted(name.into())),
            _ => Ok(None),
        };
    }
    let whose = match &account {
        Some(account) => account.clone(),
        None => match account::by_uid(getuid().as_raw()).map_err(PlanError::Database)? {
            Some(account) => account,
            None => return Err(PlanError::UnknownUser(getuid().to_string())),
        },
    };
    let gid = gid.unwrap_or(whose.gid);
    let groups = whose.groups(gid).map_err(PlanError::Database)?;
    Ok(Some((Ids { uid: whose.uid, gid, groups }, account)))
}

impl Plan {
    /// The process of an entry, as a daemon would start it.
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
            env,
            cwd: entry.cwd.as_deref().map(String::from).or(daemon.cwd),
            umask: entry.umask.or(daemon.umask),
            ids: ids.map(|(ids, _)| ids),
            limits: limits(&entry.limits),
        })
    }

    /// The program to execute, looked for as a shell would.
    ///
    /// # Errors
    /// When there is none, or it is not executable.
    pub fn program(&self) -> Result<PathBuf, NoProgram> {
        let path = self.env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_str());
        let word = self.words.first().map_or("", String::as_str);
        find_program(word, path.unwrap_or(DEFAULT_PATH), self.cwd.as_deref().map(Path::new))
    }

    /// Becomes the process. Returns only if it cannot, and then nothing has run.
    #[must_use]
    pub fn become_it(&self) -> LaunchError {
        match self.try_become() {
            Ok(never) => match never {},
            Err(error) => error,
        }
    }

    fn try_become(&self) -> Result<std::convert::Infallible, LaunchError> {
        let step = |step: &'static str| move |errno: Errno| LaunchError { step, errno };
        // Fails only for the leader of a group, which a new process is not.
        setsid().map_err(step("begin a session"))?;
        slate::empty_input().map_err(step("open /dev/null"))?;
        slate::default_signals().map_err(step("reset signals"))?;
        slate::close_others_on_exec().map_err(step("close descriptors"))?;
        // What only root may raise, before the rights are gone; the number of
        // processes counts against the new user, so that one comes after.
        let limit = |limit: &Limit| {
            let (resource, value) = limit.resource();
            setrlimit(resource, value, value).map_err(step("set a limit"))
        };
        let (late, early): (Vec<&Limit>, Vec<&Limit>) =
            self.limits.iter().partition(|limit| matches!(limit, Limit::Nproc(_)));
        early.into_iter().try_for_each(limit)?;
        if let Some(ids) = &self.ids {
            take_on(ids)?;
        }
        late.into_iter().try_for_each(limit)?;
        if let Some(mask) = self.umask {
            umask(Mode::from_bits_truncate(mask.into()));
        }
        if let Some(cwd) = &self.cwd {
            nix::unistd::chdir(Path::new(cwd)).map_err(step("change directory"))?;
        }
        let program = self.program().map_err(|error| LaunchError {
            step: EXECUTE,
            errno: match error {
                NoProgram::NotFound(_) => Errno::ENOENT,
                NoProgram::NotExecutable(_) => Errno::EACCES,
            },
        })?;
        let text =
            |text: &str| CString::new(text).map_err(|_| step("pass a NUL byte")(Errno::EINVAL));
        let program = text(&program.to_string_lossy())?;
        let words: Vec<CString> =
            self.words.iter().map(|word| text(word)).collect::<Result<_, _>>()?;
        let env = self.env.iter().map(|(name, value)| text(&format!("{name}={value}")));
        let env: Vec<CString> = env.collect::<Result<_, _>>()?;
        // Not `execvp`, which hands a file without `#!` to a shell.
        execve(&program, &words, &env).map_err(step(EXECUTE))
    }
}

fn set(env: &mut Vec<(String, String)>, name: String, value: String) {
    match env.iter_mut().find(|(known, _)| *known == name) {
        Some((_, old)) => *old = value,
        None => env.push((name, value)),
    }
}

/// Groups, then group, then user; and looks whether it is so.
fn take_on(ids: &Ids) -> Result<(), LaunchError> {
    let step = |step: &'static str| move |errno: Errno| LaunchError { step, errno };
    let (uid, gid) = (Uid::from_raw(ids.uid), Gid::from_raw(ids.gid));
    let groups: Vec<Gid> = ids.groups.iter().copied().map(Gid::from_raw).collect();
    setgroups(&groups).map_err(step("set groups"))?;
    setresgid(gid, gid, gid).map_err(step("set group id"))?;
    setresuid(uid, uid, uid).map_err(step("set user id"))?;
    let users = getresuid().map_err(step("get user id"))?;
    let groups = getresgid().map_err(step("get group id"))?;
    let taken = [users.real, users.effective, users.saved].iter().all(|id| *id == uid)
        && [groups.real, groups.effective, groups.saved].iter().all(|id| *id == gid);
    if !uid.is_root() {
        let none = CapabilitySet::empty();
        let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
        set_capabilities(None, sets)
            .map_err(|errno| step("drop capabilities")(Errno::from_raw(errno.raw_os_error())))?;
    }
    if !taken || (!uid.is_root() && setresuid(uid, Uid::from_raw(0), uid).is_ok()) {
        return Err(LaunchError { step: "verify ids", errno: Errno::EPERM });
    }
    Ok(())
}

impl Limit {
    const fn resource(self) -> (Resource, u64) {
        match self {
            Self::Nofile(n) => (Resource::RLIMIT_NOFILE, n),
            Self::Nproc(n) => (Resource::RLIMIT_NPROC, n),
            Self::Memory(n) => (Resource::RLIMIT_AS, n),
            Self::Cpu(n) => (Resource::RLIMIT_CPU, n),
            Self::Fsize(n) => (Resource::RLIMIT_FSIZE, n),
            Self::Core(n) => (Resource::RLIMIT_CORE, n),
        }
    }
}

fn limits(limits: &Limits) -> Vec<Limit> {
    let given = [
        limits.nofile.map(Limit::Nofile),
        limits.nproc.map(Limit::Nproc),
        limits.memory.map(Limit::Memory),
        limits.cpu.map(Limit::Cpu),
        limits.fsize.map(Limit::Fsize),
        limits.core.map(Limit::Core),
    ];
    given.into_iter().flatten().collect()
}

/// A step on the way to the process that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchError {
    /// Which one.
    pub step: &'static str,
    /// What the kernel said.
    pub errno: Errno,
}

impl LaunchError {
    /// The exit code that shells use for it: 127 if there is no such program,
    /// 126 for anything else.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        if self.step == EXECUTE && self.errno == Errno::ENOENT { 127 } else { 126 }
    }
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.step, self.errno.desc())
    }
}

impl std::error::Error for LaunchError {}

/// Why a program cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoProgram {
    /// There is none.
    NotFound(String),
    /// There is something, but it is not an executable file.
    NotExecutable(PathBuf),
}

impl fmt::Display for NoProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(word) => write!(f, "there is no program `{word}`"),
            Self::NotExecutable(path) => {
                write!(f, "`{}` is not an executable file", path.display())
            }
        }
    }
}

impl std::error::Error for NoProgram {}

/// Looks for a program: a word with a slash is a path, relative to the job's
/// directory; any other is looked for along the search path.
///
/// # Errors
/// When there is none, or it is not executable.
pub fn find_program(word: &str, path: &str, cwd: Option<&Path>) -> Result<PathBuf, NoProgram> {
    if word.contains('/') {
        let file = cwd.map_or_else(|| PathBuf::from(word), |cwd| cwd.join(word));
        return match executable(&file) {
            Some(true) => Ok(file),
            Some(false) => Err(NoProgram::NotExecutable(file)),
            None => Err(NoProgram::NotFound(word.into())),
        };
    }
    let mut refused = None;
    for directory in path.split(':').filter(|directory| !directory.is_empty()) {
        let file = Path::new(directory).join(OsStr::new(word));
        match executable(&file) {
            Some(true) => return Ok(file),
            Some(false) => refused = refused.or(Some(file)),
            None => {}
        }
    }
    Err(refused.map_or_else(|| NoProgram::NotFound(word.into()), NoProgram::NotExecutable))
}

/// Whether a file can be executed by someone; nothing if there is no file.
fn executable(file: &Path) -> Option<bool> {
    let metadata = file.metadata().ok()?;
    Some(metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
