//! Which file a command's first word is.

use nix::unistd::{AccessFlags, eaccess};
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

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
/// When there is none, or nobody may execute it.
pub fn find_program(word: &str, path: &str, cwd: Option<&Path>) -> Result<PathBuf, NoProgram> {
    search(word, OsStr::new(path), cwd, |file| {
        file.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
    })
}

/// The same, for the user and in the directory that this process has now.
pub(super) fn find_mine(word: &str, path: &OsStr) -> Result<PathBuf, NoProgram> {
    search(word, path, None, |file| eaccess(file, AccessFlags::X_OK).is_ok())
}

fn search(
    word: &str,
    path: &OsStr,
    cwd: Option<&Path>,
    may: impl Fn(&Path) -> bool,
) -> Result<PathBuf, NoProgram> {
    // Nothing if there is nothing of that name.
    let executable = |file: &Path| {
        let metadata = file.metadata().ok()?;
        Some(metadata.is_file() && may(file))
    };
    if word.contains('/') {
        let file = cwd.map_or_else(|| PathBuf::from(word), |cwd| cwd.join(word));
        return match executable(&file) {
            Some(true) => Ok(file),
            Some(false) => Err(NoProgram::NotExecutable(file)),
            None => Err(NoProgram::NotFound(word.into())),
        };
    }
    if word.is_empty() {
        return Err(NoProgram::NotFound(word.into()));
    }
    let mut refused = None;
    for directory in std::env::split_paths(path).filter(|path| !path.as_os_str().is_empty()) {
        let file = directory.join(word);
        match executable(&file) {
            Some(true) => return Ok(file),
            Some(false) => refused = refused.or(Some(file)),
            None => {}
        }
    }
    Err(refused.map_or_else(|| NoProgram::NotFound(word.into()), NoProgram::NotExecutable))
}
