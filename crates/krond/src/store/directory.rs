//! Coming into possession of the state directory: made if it is missing,
//! refused if others could have changed it, locked for life (STATE, File
//! Permissions and Locking).

use super::error::{Problem, StoreError, Warning};
use super::folder::{Fault, Folder, Step, distrust};
use super::names;
use crate::exec::process;
use rustix::fs::{FlockOperation, Mode, OFlags};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const LOCK: &str = "lock";

/// A daemon that was killed while it made a process leaves its lock with that one
/// until it is executed. So long the lock of a dead holder is waited for…
const ORPHANED: Duration = Duration::from_secs(1);
/// …looking this often.
const LOOK: Duration = Duration::from_millis(5);

/// Opens the directory; makes it first if it is missing.
pub(super) fn open(
    path: &Path,
    fault: Option<Arc<dyn Fault>>,
) -> Result<(Folder, Option<Warning>), Problem> {
    let failed = |error: io::Error| Problem::failed(path, Step::Directory, error);
    if let Some(fault) = &fault {
        fault.before(Step::Directory, "").map_err(failed)?;
    }
    let path = std::path::absolute(path).map_err(failed)?;
    let path = path.as_path();
    make(path)?;
    if fs::symlink_metadata(path).map_err(failed)?.is_symlink() {
        let hint = "name the directory itself; links are not followed".into();
        return Err(Problem::not_safe(path, "this is a symbolic link", hint));
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = rustix::fs::open(path, flags, Mode::empty()).map_err(|e| failed(e.into()))?;
    let stat = rustix::fs::fstat(&handle).map_err(|error| failed(error.into()))?;
    distrust(&stat, path)?;
    let mode = stat.st_mode & 0o7777;
    let mut warning = None;
    if mode != 0o700 {
        rustix::fs::fchmod(&handle, Mode::RWXU).map_err(|error| failed(error.into()))?;
        warning = Some(Warning::Tightened { path: path.into(), mode });
    }
    let folder = Folder::new(path.into(), handle, fault).map_err(failed)?;
    Ok((folder, warning))
}

/// Makes the directory 0700 and what is missing above it 0755, whatever the
/// umask, and all of it durable.
fn make(path: &Path) -> Result<(), Problem> {
    let missing: Vec<&Path> =
        path.ancestors().take_while(|at| fs::symlink_metadata(at).is_err()).collect();
    for at in missing.into_iter().rev() {
        let failed = |error| Problem::failed(at, Step::MakeDirectory, error);
        match DirBuilder::new().mode(0o700).create(at) {
            // Someone was quicker; whether it is fit is looked at later.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            result => result.map_err(failed)?,
        }
        let mode = if at == path { 0o700 } else { 0o755 };
        set_mode(at, Mode::from_raw_mode(mode)).map_err(failed)?;
        if let Some(parent) = at.parent() {
            File::open(parent).and_then(|parent| parent.sync_all()).map_err(failed)?;
        }
    }
    Ok(())
}

/// Sets the mode of a directory, and of nothing that a link in its place may lead
/// to: not everything above the directory need be ours alone.
fn set_mode(directory: &Path, mode: Mode) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = rustix::fs::open(directory, flags, Mode::empty())?;
    Ok(rustix::fs::fchmod(&handle, mode)?)
}

/// Takes the lock. It is held as long as the file is open, and given up by the
/// kernel however the process ends; no program that is started inherits it.
pub(super) fn lock(folder: &Folder) -> Result<File, StoreError> {
    let path = folder.path_of(LOCK);
    let failed = |error: io::Error| StoreError::from(Problem::failed(&path, Step::Create, error));
    let mut file = folder.open_or_create(LOCK).map_err(failed)?;
    let stat = rustix::fs::fstat(&file).map_err(|error| failed(error.into()))?;
    distrust(&stat, &path)?;
    let begun = Instant::now();
    loop {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let pid = holder(&mut file);
                // A holder that has just begun has not written its number yet.
                if pid.is_some_and(process::may_live) || begun.elapsed() > ORPHANED {
                    return Err(StoreError::Locked { path, pid });
                }
                thread::sleep(LOOK);
            }
            Err(error) => return Err(failed(error.into())),
        }
    }
    rustix::fs::fchmod(&file, Mode::RUSR | Mode::WUSR).map_err(|error| failed(error.into()))?;
    // What counts is the lock; the number is for people, and for who waits above.
    file.set_len(0).map_err(failed)?;
    file.rewind().map_err(failed)?;
    writeln!(file, "{}", std::process::id()).map_err(failed)?;
    Ok(file)
}

/// Who wrote that it holds the lock.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// Removes what another daemon left behind: spare files, and what a commit wrote that a
/// crash cut short.
pub(super) fn remove_leftovers(folder: &Folder) -> Result<(), Problem> {
    let (mut leftovers, mut spares) = (Vec::new(), Vec::new());
    let listed = folder.list(|name| match name.to_str() {
        Ok(name) if names::is_temporary(name) => leftovers.push(name.to_owned()),
        Ok(name) if names::is_spare(name) => spares.push(name.to_owned()),
        _ => {}
    });
    listed.map_err(|error| Problem::failed(folder.path(), Step::Directory, error))?;
    for name in leftovers {
        let removed = folder.remove(&name);
        removed.map_err(|error| Problem::failed(folder.path_of(&name), Step::Remove, error))?;
    }
    for name in spares {
        // One that cannot be removed is in nobody's way.
        let _ = folder.remove(&name);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// Somebody who can write above the directory puts a link in its place.
    #[test]
    fn no_mode_through_a_link() {
        let place = tempfile::tempdir().unwrap();
        let (target, link) = (place.path().join("target"), place.path().join("link"));
        DirBuilder::new().mode(0o700).create(&target).unwrap();
        symlink(&target, &link).unwrap();
        let mode = || fs::metadata(&target).unwrap().permissions().mode() & 0o777;
        assert!(set_mode(&link, Mode::from_raw_mode(0o755)).is_err());
        assert_eq!(mode(), 0o700);
        set_mode(&target, Mode::from_raw_mode(0o755)).unwrap();
        assert_eq!(mode(), 0o755);
    }
}
