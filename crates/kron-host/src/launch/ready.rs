//! Becoming a job's process, in a process made for the purpose.
//!
//! [`begin`] makes room, [`Plan::prepare`] does all that can fail, and
//! [`Prepared::execute`] is the last call. None goes on after a failure, so
//! nothing runs with rights it should not have.

use super::program::{NoProgram, find_mine};
use super::step::{LaunchError, Step};
use super::{DEFAULT_PATH, Plan, limits, sink};
use crate::slate;
use nix::errno::Errno;
use nix::sys::stat::{Mode, umask};
use nix::unistd::{chdir, execve, setsid};
use std::ffi::{CString, OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// The first thing a new process does: closes every descriptor but 0, 1 and 2,
/// and puts its standard input aside, from which it is to learn its plan. The
/// command will have neither that nor any other.
///
/// Whoever calls this owns no descriptor but those three: that is looked at first.
///
/// # Errors
/// When it does own another, or there is no `/dev/null`, say.
pub fn begin() -> Result<OwnedFd, LaunchError> {
    slate::close_others().map_err(Step::Descriptors.failed())?;
    slate::set_input_aside().map_err(Step::Input.failed())
}

/// A process that is ready.
#[derive(Debug)]
pub struct Prepared {
    program: CString,
    words: Vec<CString>,
    env: Vec<CString>,
}

impl Prepared {
    /// Executes the command. Returns only if that fails.
    #[must_use]
    pub fn execute(&self) -> LaunchError {
        // Not `execvp`, which hands a file without `#!` to a shell.
        match execve(&self.program, &self.words, &self.env) {
            Ok(never) => match never {},
            Err(errno) => LaunchError { step: Step::Execute, errno },
        }
    }
}

impl Plan {
    /// Does everything but execute the command.
    ///
    /// # Errors
    /// When something fails; the process is of no further use then.
    pub fn prepare(&self) -> Result<Prepared, LaunchError> {
        // Fails only for the leader of a group, which a new process is not.
        setsid().map_err(Step::Session.failed())?;
        slate::default_signals().map_err(Step::Signals.failed())?;
        let lowered = limits::raise(&self.limits, self.restore_nofile)?;
        if let Some(ids) = &self.ids {
            ids.take_on()?;
        }
        if let Some(mask) = self.umask {
            umask(Mode::from_bits_truncate(mask.into()));
        }
        if let Some(cwd) = &self.cwd {
            chdir(Path::new(cwd)).map_err(Step::Directory.failed())?;
        }
        sink::direct(&self.stdout, &self.stderr)?;
        let prepared = self.words_of_the_kernel()?;
        lowered.set()?;
        Ok(prepared)
    }

    /// Becomes the process. Returns only if it cannot, and then nothing has run.
    #[must_use]
    pub fn become_it(&self) -> LaunchError {
        match self.prepare() {
            Ok(prepared) => prepared.execute(),
            Err(error) => error,
        }
    }

    fn words_of_the_kernel(&self) -> Result<Prepared, LaunchError> {
        let env = self.environment();
        let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str());
        let word = self.words.first().map_or("", String::as_str);
        let program =
            find_mine(word, path.unwrap_or(OsStr::new(DEFAULT_PATH))).map_err(|error| {
                Step::Execute.failed()(match error {
                    NoProgram::NotFound(_) => Errno::ENOENT,
                    NoProgram::NotExecutable(_) => Errno::EACCES,
                })
            })?;
        let text =
            |text: Vec<u8>| CString::new(text).map_err(|_| Step::Words.failed()(Errno::EINVAL));
        let variable = |(name, value): (OsString, OsString)| {
            let mut both = name.into_vec();
            both.push(b'=');
            both.extend(value.as_bytes());
            text(both)
        };
        Ok(Prepared {
            program: text(program.into_os_string().into_vec())?,
            words: self
                .words
                .iter()
                .map(|word| text(word.clone().into_bytes()))
                .collect::<Result<_, _>>()?,
            env: env.into_iter().map(variable).collect::<Result<_, _>>()?,
        })
    }

    /// The environment of the command, from that of this process.
    fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut env: Vec<(OsString, OsString)> =
            if self.inherit_env { std::env::vars_os().collect() } else { Vec::new() };
        let replaced = |name: &OsString| {
            self.unset.iter().any(|known| name == known.as_str())
                || self.env.iter().any(|(known, _)| name == known.as_str())
        };
        env.retain(|(name, _)| !replaced(name));
        env.extend(self.env.iter().map(|(name, value)| (name.into(), value.into())));
        env
    }
}
