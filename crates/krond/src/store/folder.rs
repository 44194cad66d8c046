//! The state directory as the kernel knows it, and every operation on its
//! files. Nothing else in the daemon touches them.
//!
//! Operations are relative to the open directory and follow no links. Each asks
//! the [`Fault`] first, if there is one, so that a test can make any of them
//! fail; without one that is a test for `None`.

use super::error::Problem;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use std::ffi::CStr;
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Kinds of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Looking at the directory.
    Directory,
    /// Making it, because it is missing.
    MakeDirectory,
    /// Opening a file that exists.
    Open,
    /// Reading it.
    Read,
    /// Making a file.
    Create,
    /// Writing to it.
    Write,
    /// Making its contents durable.
    Sync,
    /// Closing it, which may report an error of writing.
    Close,
    /// Giving it its final name.
    Rename,
    /// Giving a file that is about to be replaced another name.
    Keep,
    /// Taking such a file for a new one.
    Reuse,
    /// Removing a leftover.
    Remove,
    /// Making names durable.
    SyncDirectory,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Directory => "looking at the directory",
            Self::MakeDirectory => "making the directory",
            Self::Open => "open",
            Self::Read => "read",
            Self::Create => "create",
            Self::Write => "write",
            Self::Sync => "fsync",
            Self::Close => "close",
            Self::Rename => "rename",
            Self::Keep => "keeping the old file",
            Self::Reuse => "using an old file",
            Self::Remove => "remove",
            Self::SyncDirectory => "fsync of the directory",
        })
    }
}

/// Decides before each operation whether it fails.
pub trait Fault: Send + Sync {
    /// The error that the operation on this file is to fail with, if any.
    ///
    /// # Errors
    /// That is what it is for.
    fn before(&self, step: Step, name: &str) -> io::Result<()>;
}

/// An open directory.
pub(super) struct Folder {
    path: PathBuf,
    handle: OwnedFd,
    /// Device and inode.
    place: (u64, u64),
    fault: Option<Arc<dyn Fault>>,
}

impl Folder {
    pub fn new(path: PathBuf, handle: OwnedFd, fault: Option<Arc<dyn Fault>>) -> io::Result<Self> {
        let stat = rustix::fs::fstat(&handle)?;
        Ok(Self { path, handle, place: (stat.st_dev, stat.st_ino), fault })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn ask(&self, step: Step, name: &str) -> io::Result<()> {
        self.fault.as_ref().map_or(Ok(()), |fault| fault.before(step, name))
    }

    /// Fails if the directory is no longer where it was: what is written now
    /// would not be found at the next start.
    pub fn check_place(&self) -> io::Result<()> {
        self.ask(Step::Directory, "")?;
        let stat = rustix::fs::lstat(&self.path)?;
        if (stat.st_dev, stat.st_ino) == self.place {
            Ok(())
        } else {
            Err(io::Error::other("the state directory was replaced by another one"))
        }
    }

    /// Opens a file for reading.
    pub fn open(&self, name: &str) -> io::Result<File> {
        self.ask(Step::Open, name)?;
        self.open_with(name, OFlags::RDONLY, Mode::empty())
    }

    /// Opens a file for reading and appending.
    pub fn open_append(&self, name: &str) -> io::Result<File> {
        self.ask(Step::Open, name)?;
        self.open_with(name, OFlags::RDWR | OFlags::APPEND, Mode::empty())
    }

    /// Opens or makes a file for reading and writing.
    pub fn open_or_create(&self, name: &str) -> io::Result<File> {
        self.ask(Step::Create, name)?;
        self.open_with(name, OFlags::RDWR | OFlags::CREATE, Mode::RUSR | Mode::WUSR)
    }

    /// Makes a file that must not exist. Its mode is 0600 whatever the umask.
    pub fn create(&self, name: &str) -> io::Result<File> {
        self.ask(Step::Create, name)?;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = self.open_with(name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, mode)?;
        rustix::fs::fchmod(&file, mode)?;
        Ok(file)
    }

    /// Opens without following a link or waiting for the other end of a pipe.
    fn open_with(&self, name: &str, flags: OFlags, mode: Mode) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.handle, name, flags, mode)?))
    }

    /// To be asked before reading from a file.
    pub fn reading(&self, name: &str) -> io::Result<()> {
        self.ask(Step::Read, name)
    }

    pub fn write(&self, mut file: &File, name: &str, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.ask(Step::Write, name) {
            // As a full disk does it: some of it is there.
            let _ = file.write_all(&bytes[..bytes.len() / 2]);
            return Err(error);
        }
        file.write_all(bytes)
    }

    pub fn truncate(&self, file: &File, name: &str, length: u64) -> io::Result<()> {
        self.ask(Step::Write, name)?;
        file.set_len(length)
    }

    pub fn sync(&self, file: &File, name: &str) -> io::Result<()> {
        self.ask(Step::Sync, name)?;
        file.sync_all()
    }

    pub fn close(&self, file: File, name: &str) -> io::Result<()> {
        self.ask(Step::Close, name)?;
        Ok(nix::unistd::close(file)?)
    }

    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.ask(Step::Rename, to)?;
        Ok(rustix::fs::renameat(&self.handle, from, &self.handle, to)?)
    }

    /// Gives a file one more name, if there is a file and the system lets it; returns its
    /// size then.
    pub fn keep(&self, name: &str, spare: &str) -> io::Result<Option<u64>> {
        use rustix::io::Errno;
        self.ask(Step::Keep, name)?;
        let none = AtFlags::empty();
        match rustix::fs::linkat(&self.handle, name, &self.handle, spare, none) {
            Ok(()) => {}
            Err(
                Errno::NOENT
                | Errno::EXIST
                | Errno::PERM
                | Errno::OPNOTSUPP
                | Errno::MLINK
                | Errno::NOSPC
                | Errno::DQUOT,
            ) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let stat = rustix::fs::statat(&self.handle, spare, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Some(stat.st_size.unsigned_abs()))
    }

    /// Opens a spare file under another name, to be written from its beginning; nothing if
    /// it is not there or not what it should be.
    fn reuse(&self, spare: &str, name: &str) -> Result<Option<File>, (Step, io::Error)> {
        use rustix::io::Errno;
        let at = |step| move |error| (step, error);
        self.ask(Step::Reuse, name).map_err(at(Step::Reuse))?;
        // A temporary file is written by whoever made it, and nobody else.
        let flags = RenameFlags::NOREPLACE;
        match rustix::fs::renameat_with(&self.handle, spare, &self.handle, name, flags) {
            Ok(()) => {}
            // Gone, or a file system that cannot be asked so.
            Err(Errno::NOENT | Errno::INVAL | Errno::NOSYS) => return Ok(None),
            Err(error) => return Err((Step::Reuse, error.into())),
        }
        let opened = self.open_with(name, OFlags::WRONLY, Mode::empty());
        // As it was made; and whoever keeps copies as links to files has none of it.
        let is_ours = |file: &File| {
            rustix::fs::fstat(file).is_ok_and(|stat| {
                FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
                    && stat.st_mode & 0o7777 == 0o600
                    && stat.st_nlink == 1
                    && !is_distrusted(&stat)
            })
        };
        if let Some(file) = opened.ok().filter(is_ours) {
            return Ok(Some(file));
        }
        self.remove(name).map_err(at(Step::Remove))?;
        Ok(None)
    }

    pub fn remove(&self, name: &str) -> io::Result<()> {
        self.ask(Step::Remove, name)?;
        Ok(rustix::fs::unlinkat(&self.handle, name, AtFlags::empty())?)
    }

    pub fn sync_directory(&self) -> io::Result<()> {
        self.ask(Step::SyncDirectory, "")?;
        Ok(rustix::fs::fsync(&self.handle)?)
    }

    pub fn exists(&self, name: &str) -> io::Result<bool> {
        match rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(rustix::io::Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Calls `each` with the name of everything in the directory.
    pub fn list(&self, mut each: impl FnMut(&CStr)) -> io::Result<()> {
        self.ask(Step::Directory, "")?;
        for item in rustix::fs::Dir::read_from(&self.handle)? {
            each(item?.file_name());
        }
        Ok(())
    }

    /// Writes a file beside its final name and makes it durable there. What is
    /// at the final name is untouched.
    pub fn write_beside(
        &self,
        temporary: &str,
        bytes: &[u8],
        spare: Option<&str>,
    ) -> Result<(), (Step, io::Error)> {
        let at = |step| move |error| (step, error);
        let old = spare.map_or(Ok(None), |spare| self.reuse(spare, temporary))?;
        let is_old = old.is_some();
        let file = match old {
            Some(file) => file,
            None => self.create(temporary).map_err(at(Step::Create))?,
        };
        self.write(&file, temporary, bytes).map_err(at(Step::Write))?;
        if is_old {
            self.truncate(&file, temporary, bytes.len() as u64).map_err(at(Step::Write))?;
        }
        self.sync(&file, temporary).map_err(at(Step::Sync))?;
        self.close(file, temporary).map_err(at(Step::Close))
    }
}

/// Whether a file or directory belongs to others, or could have been changed by
/// them.
pub(super) fn is_distrusted(stat: &Stat) -> bool {
    stat.st_uid != rustix::process::geteuid().as_raw() || stat.st_mode & 0o022 != 0
}

/// Says why a file or directory is distrusted, if it is.
pub(super) fn distrust(stat: &Stat, path: &Path) -> Result<(), Problem> {
    if !is_distrusted(stat) {
        return Ok(());
    }
    Err(if stat.st_mode & 0o022 != 0 {
        let hint = format!("`chmod go-w {}`", path.display());
        Problem::not_safe(path, "others may write to it", hint)
    } else {
        let hint = format!("it belongs to user {}; krond's state must be its own", stat.st_uid);
        Problem::not_safe(path, "another user owns it", hint)
    })
}
