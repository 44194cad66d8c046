//! Which files are configuration, and whether they can be trusted.
//!
//! A job runs with someone's rights, so nobody else may be able to change what
//! it is. Refused are symbolic links, anything that is not a regular file, a
//! foreign owner, and a file or a directory above it that others may write to.
//! A sticky directory (`/tmp`) is no danger to what is in it; but others can put files
//! there, so it is none that stands for its files.

use crate::account;
use crate::places::clean;
use kron_tab::bounds::FILE_BYTES;
use nix::fcntl::OFlag;
use nix::unistd::geteuid;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Of the mode of a directory: everybody can remove only what is theirs.
const STICKY: u32 = 0o1000;

/// The ending of a configuration file.
pub const EXTENSION: &str = "kron";

/// A file as it was read.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its absolute path, the first half of the identities in it.
    pub path: String,
    /// Its contents.
    pub bytes: Vec<u8>,
    /// Numeric id of its owner.
    pub owner: u32,
}

/// Why a path cannot be used as configuration.
#[derive(Debug)]
pub struct Refusal {
    /// The path, as made absolute.
    pub path: PathBuf,
    /// The reason.
    pub reason: Reason,
}

/// The reasons.
#[derive(Debug)]
pub enum Reason {
    /// It cannot be read at all.
    Unreadable(io::Error),
    /// It can be read but must not be used; what is wrong, and what would help.
    Unsafe {
        /// What is wrong.
        message: String,
        /// What to do about it.
        hint: String,
    },
}

impl Refusal {
    fn unreadable(path: &Path, error: io::Error) -> Self {
        Self { path: path.into(), reason: Reason::Unreadable(error) }
    }

    fn not_safe(path: &Path, message: impl Into<String>, hint: impl Into<String>) -> Self {
        let reason = Reason::Unsafe { message: message.into(), hint: hint.into() };
        Self { path: path.into(), reason }
    }

    /// Whether the path could not even be read.
    #[must_use]
    pub const fn is_unreadable(&self) -> bool {
        matches!(self.reason, Reason::Unreadable(_))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Reason::Unreadable(error) => {
                let text = error.to_string();
                f.write_str(text.split(" (os error").next().unwrap_or(&text))
            }
            Reason::Unsafe { message, .. } => f.write_str(message),
        }
    }
}

impl std::error::Error for Refusal {}

/// The configuration files that a path stands for: itself, or the files of a
/// directory, by name. Dot files and what editors leave behind are no
/// configuration.
///
/// # Errors
/// When the path cannot be read, is neither, or is a directory that others can put
/// files in.
pub fn files(path: &Path) -> Result<Vec<PathBuf>, Refusal> {
    let path = clean(path).map_err(|error| Refusal::unreadable(path, error))?;
    // A link to a directory is one on the way to its files, each of which is checked.
    let metadata = fs::metadata(&path)
        .or_else(|_| fs::symlink_metadata(&path))
        .map_err(|error| Refusal::unreadable(&path, error))?;
    if metadata.is_symlink() {
        return Err(not_a_file(&path, &metadata));
    }
    if !metadata.is_dir() {
        return Ok(vec![path]);
    }
    if is_kron(&path) {
        return Err(not_a_file(&path, &metadata));
    }
    // Of any other kind of directory each file says so.
    if metadata.mode() & STICKY != 0 {
        check_mode(&path, &path, &format!("the directory `{}`", path.display()), &metadata)?;
    }
    let unreadable = |error| Refusal::unreadable(&path, error);
    let mut found = Vec::new();
    for item in fs::read_dir(&path).map_err(unreadable)? {
        let item = item.map_err(unreadable)?.path();
        if is_kron(&item) && !is_leftover(&item) {
            found.push(item);
        }
    }
    found.sort();
    Ok(found)
}

fn is_kron(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == EXTENSION)
}

fn is_leftover(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| matches!(name.as_encoded_bytes().first(), Some(b'.' | b'#')))
}

/// Reads a file that may be used as configuration: one consistent version of it.
///
/// # Errors
/// When it cannot be read or must not be trusted.
pub fn read(path: &Path) -> Result<Source, Refusal> {
    let path = clean(path).map_err(|error| Refusal::unreadable(path, error))?;
    let name = path.to_str().ok_or_else(|| {
        Refusal::not_safe(&path, "the path is not valid UTF-8", "rename the file")
    })?;
    check_name(&path)?;
    check_parents(&path)?;
    // A file that is written to while it is read is read again.
    for _ in 0..5 {
        let mut file = open(&path)?;
        let unreadable = |error| Refusal::unreadable(&path, error);
        let before = file.metadata().map_err(unreadable)?;
        check_file(&path, &before)?;
        let mut bytes = Vec::new();
        file.by_ref().take(FILE_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        let after = file.metadata().map_err(unreadable)?;
        let stamp = |m: &Metadata| (m.mtime(), m.mtime_nsec(), m.size());
        if stamp(&before) == stamp(&after) {
            return Ok(Source { path: name.into(), bytes, owner: after.uid() });
        }
    }
    let error = io::Error::other("the file keeps changing while it is read");
    Err(Refusal::unreadable(&path, error))
}

/// Whether a new configuration file may be made here: its name, and the
/// directories above it as far as they exist.
///
/// # Errors
/// When it may not.
pub fn check_new(path: &Path) -> Result<(), Refusal> {
    check_name(path)?;
    let existing = path.ancestors().skip(1).find(|directory| directory.exists());
    existing.map_or(Ok(()), |directory| check_parents(&directory.join("new")))
}

fn check_name(path: &Path) -> Result<(), Refusal> {
    let hint = "such a name is never read as configuration; rename the file";
    if !is_kron(path) {
        let message = format!("the name does not end in `.{EXTENSION}`");
        return Err(Refusal::not_safe(path, message, hint));
    }
    if is_leftover(path) {
        return Err(Refusal::not_safe(path, "the name begins with `.` or `#`", hint));
    }
    Ok(())
}

/// Opens without following a link and without waiting for the other end of a
/// pipe.
fn open(path: &Path) -> Result<File, Refusal> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC | OFlag::O_NOCTTY;
    // Opening a socket fails, and opening a device may do something.
    let metadata = fs::symlink_metadata(path).map_err(|error| Refusal::unreadable(path, error))?;
    if !metadata.is_file() {
        return Err(not_a_file(path, &metadata));
    }
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits())
        .open(path)
        .map_err(|error| Refusal::unreadable(path, error))
}

fn not_a_file(path: &Path, metadata: &Metadata) -> Refusal {
    use std::os::unix::fs::FileTypeExt;
    let kind = metadata.file_type();
    let what = if kind.is_symlink() {
        "a symbolic link"
    } else if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    let hint = if kind.is_symlink() {
        "name the file itself; links are not followed"
    } else {
        "configuration is read from regular files"
    };
    Refusal::not_safe(path, format!("this is {what}"), hint)
}

fn check_file(path: &Path, metadata: &Metadata) -> Result<(), Refusal> {
    if !metadata.is_file() {
        return Err(not_a_file(path, metadata));
    }
    check_owner(path, path, "the file", metadata)?;
    check_mode(path, path, "the file", metadata)
}

/// Checks every directory on the way to a path, and every link that the way
/// takes.
fn check_parents(path: &Path) -> Result<(), Refusal> {
    /// As many as the kernel follows.
    const LINKS: usize = 40;
    let unreadable = |at: &Path| {
        let at = at.to_path_buf();
        move |error| Refusal::unreadable(&at, error)
    };
    let mut ahead: Vec<OsString> = Vec::new();
    let push = |ahead: &mut Vec<OsString>, way: &Path| {
        ahead.extend(way.components().rev().map(|part| part.as_os_str().to_owned()));
    };
    push(&mut ahead, path.parent().unwrap_or(path));
    let mut at = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = ahead.pop() {
        if part == ".." {
            at.pop();
            continue;
        }
        // A root directory takes the place of what was before it.
        let next = at.join(&part);
        let metadata = fs::symlink_metadata(&next).map_err(unreadable(&next))?;
        if metadata.is_symlink() {
            links += 1;
            if links > LINKS {
                let error = io::Error::other("too many symbolic links");
                return Err(Refusal::unreadable(&next, error));
            }
            check_owner(path, &next, &format!("the link `{}`", next.display()), &metadata)?;
            push(&mut ahead, &fs::read_link(&next).map_err(unreadable(&next))?);
            continue;
        }
        let what = format!("the directory `{}`", next.display());
        check_owner(path, &next, &what, &metadata)?;
        // In a sticky directory nobody can replace what is not theirs.
        if metadata.mode() & STICKY == 0 {
            check_mode(path, &next, &what, &metadata)?;
        }
        at = next;
    }
    Ok(())
}

fn check_owner(path: &Path, place: &Path, what: &str, metadata: &Metadata) -> Result<(), Refusal> {
    let (owner, ours) = (metadata.uid(), geteuid().as_raw());
    if owner == 0 || owner == ours {
        return Ok(());
    }
    let name = |uid: u32| match account::by_uid(uid) {
        Ok(Some(account)) => format!("`{}`", account.name),
        _ => format!("user {uid}"),
    };
    let allowed = if ours == 0 { name(0) } else { format!("{} or {}", name(0), name(ours)) };
    Err(Refusal::not_safe(
        path,
        format!("{what} belongs to {}, not to {allowed}", name(owner)),
        format!("`chown {} {}`", name(ours).trim_matches('`'), place.display()),
    ))
}

fn check_mode(path: &Path, place: &Path, what: &str, metadata: &Metadata) -> Result<(), Refusal> {
    let mode = metadata.mode();
    let others = mode & 0o002 != 0;
    if !others && (mode & 0o020 == 0 || is_own_group(metadata)) {
        return Ok(());
    }
    let (who, letter) = if others { ("others", "o") } else { ("its group", "g") };
    Err(Refusal::not_safe(
        path,
        format!("{what} may be written to by {who}"),
        format!("`chmod {letter}-w {}`", place.display()),
    ))
}

/// Whether a group is the owner's alone, as many systems give one to each user.
fn is_own_group(metadata: &Metadata) -> bool {
    account::by_uid(metadata.uid())
        .ok()
        .flatten()
        .is_some_and(|owner| account::is_private_group(metadata.gid(), &owner))
}
