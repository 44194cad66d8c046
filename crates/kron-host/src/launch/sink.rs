//! Where a process writes, opened by the process itself when it has the rights
//! of its user and no others.

use super::step::{LaunchError, Step};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl, open};
use nix::sys::stat::{Mode, SFlag, fstat};
use nix::unistd::{dup2_stderr, dup2_stdout};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// The facility and severity of what jobs write: daemon, informational.
const INFORMATIONAL: u8 = 6;

/// Where standard output or standard error goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sink {
    /// It stays what it is.
    #[default]
    Inherit,
    /// It is thrown away.
    Discard,
    /// It is appended to a file.
    File(PathBuf),
    /// It is a stream of the journal.
    Journal {
        /// The journal's socket.
        socket: PathBuf,
        /// The name under which lines appear.
        tag: String,
    },
}

/// Takes both up. The same place for both is one open file, so that neither
/// overwrites the other.
pub(super) fn direct(stdout: &Sink, stderr: &Sink) -> Result<(), LaunchError> {
    let shared = stdout.open().map_err(Step::Stdout.failed())?;
    if let Some(file) = &shared {
        dup2_stdout(file).map_err(Step::Stdout.failed())?;
    }
    let own =
        if stdout == stderr { shared } else { stderr.open().map_err(Step::Stderr.failed())? };
    if let Some(file) = &own {
        dup2_stderr(file).map_err(Step::Stderr.failed())?;
    }
    Ok(())
}

impl Sink {
    fn open(&self) -> Result<Option<OwnedFd>, Errno> {
        match self {
            Self::Inherit => Ok(None),
            Self::Discard => {
                let flags = OFlag::O_WRONLY | OFlag::O_CLOEXEC;
                open("/dev/null", flags, Mode::empty()).map(Some)
            }
            Self::File(path) => append(path).map(Some),
            Self::Journal { socket, tag } => {
                journal(socket, tag).map(Some).map_err(|error| errno(&error))
            }
        }
    }
}

/// A file to append to. Opening does not wait, as it would for the reader of a
/// FIFO, and what is no file or device is refused.
fn append(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlag::O_APPEND
        | OFlag::O_CREAT
        | OFlag::O_WRONLY
        | OFlag::O_NOFOLLOW
        | OFlag::O_NONBLOCK
        | OFlag::O_NOCTTY
        | OFlag::O_CLOEXEC;
    let file = open(path, flags, Mode::from_bits_truncate(0o666))?;
    let kind = SFlag::from_bits_truncate(fstat(&file)?.st_mode) & SFlag::S_IFMT;
    if kind != SFlag::S_IFREG && kind != SFlag::S_IFCHR {
        return Err(Errno::ENXIO);
    }
    fcntl(&file, FcntlArg::F_SETFL(OFlag::O_APPEND))?;
    Ok(file)
}

/// A stream of the journal. What it is told first, a line each: the name, the
/// unit (which it finds out itself), the severity, whether lines may begin with
/// another, and whether to pass lines on to syslog, the kernel and the console.
fn journal(socket: &Path, tag: &str) -> io::Result<OwnedFd> {
    let mut stream = UnixStream::connect(socket)?;
    stream.shutdown(Shutdown::Read)?;
    stream.write_all(format!("{tag}\n\n{INFORMATIONAL}\n0\n0\n0\n0\n").as_bytes())?;
    Ok(stream.into())
}

fn errno(error: &io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}
