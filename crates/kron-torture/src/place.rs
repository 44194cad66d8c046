//! The directory of one round: configuration, state, record, logs. With rights, the
//! state is on a small file system of its own, which can be full or read-only.

use crate::time::{Nanos, SECOND};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

const NOTHING: Option<&str> = None;
/// Enough for a round's state.
const SIZE: &str = "size=16m,mode=0700";

/// Leaves the mounts that everybody sees; what is mounted from here on is seen by
/// this process and its children only, and goes with them. Only while there is one
/// thread.
pub fn leave_mounts() -> nix::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(NOTHING, "/", NOTHING, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NOTHING)
}

#[derive(Debug)]
pub struct Place {
    pub directory: PathBuf,
    /// Whether the state is on a file system of its own.
    is_mounted: bool,
    /// State files as they were last seen.
    seen: HashMap<PathBuf, (u64, i64, i64)>,
}

impl Place {
    pub fn new(directory: PathBuf, own_volume: bool) -> io::Result<Self> {
        let make = |path: &Path| DirBuilder::new().mode(0o755).create(path);
        make(&directory)?;
        make(&directory.join("volume"))?;
        make(&directory.join("locks"))?;
        make(&directory.join("logs"))?;
        let place = Self { directory, is_mounted: own_volume, seen: HashMap::new() };
        if own_volume {
            let volume = place.volume();
            mount(Some("tmpfs"), &volume, Some("tmpfs"), MsFlags::empty(), Some(SIZE))?;
        }
        Ok(place)
    }

    pub const fn has_volume(&self) -> bool {
        self.is_mounted
    }

    fn volume(&self) -> PathBuf {
        self.directory.join("volume")
    }

    pub fn state(&self) -> PathBuf {
        self.volume().join("state")
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub fn identity(&self, name: &str) -> String {
        format!("{}:{name}", self.file("jobs.kron").display())
    }

    pub fn state_file(&self, name: &str) -> PathBuf {
        let hash = Sha256::digest(self.identity(name));
        let digits: Vec<String> = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        self.state().join(digits.concat() + ".json")
    }

    /// Replaces a file in one step.
    pub fn replace(&self, name: &str, text: &str) -> io::Result<()> {
        let beside = self.file(&format!("{name}.new"));
        fs::write(&beside, text)?;
        fs::rename(beside, self.file(name))
    }

    /// Sets what the daemon's clock is ahead by.
    pub fn set_shift(&self, shift: Nanos) -> io::Result<()> {
        let sign = if shift < 0 { "-" } else { "" };
        let (seconds, nanos) = (shift.abs() / 1_000_000_000, shift.abs() % 1_000_000_000);
        self.replace("shift", &format!("{sign}{seconds}.{nanos:09}\n"))
    }

    /// State files that changed since the last look, and when they were written.
    pub fn changed_state(&mut self, names: &[String]) -> Vec<(String, Vec<u8>, Nanos)> {
        let mut changed = Vec::new();
        for name in names {
            let path = self.state_file(name);
            let Ok(stat) = fs::metadata(&path) else { continue };
            let version = (stat.ino(), stat.mtime(), stat.mtime_nsec());
            if self.seen.insert(path.clone(), version) != Some(version)
                && let Ok(text) = fs::read(&path)
            {
                changed.push((name.clone(), text, stat.mtime() * SECOND + stat.mtime_nsec()));
            }
        }
        changed
    }

    /// Takes what a state file is now as seen: it was damaged on purpose.
    pub fn look_away(&mut self, path: &Path) {
        if let Ok(stat) = fs::metadata(path) {
            let version = (stat.ino(), stat.mtime(), stat.mtime_nsec());
            self.seen.insert(path.into(), version);
        }
    }

    /// Takes all room that is left on the volume.
    pub fn fill(&self) -> io::Result<()> {
        let mut file = File::create(self.volume().join("filler"))?;
        for size in [1 << 16, 1 << 12, 1 << 8, 1] {
            while file.write_all(&vec![0; size]).is_ok() {}
        }
        Ok(())
    }

    pub fn free(&self) -> io::Result<()> {
        fs::remove_file(self.volume().join("filler"))
    }

    pub fn set_read_only(&self, read_only: bool) -> nix::Result<()> {
        let flags = if read_only { MsFlags::MS_RDONLY } else { MsFlags::empty() };
        let set =
            || mount(NOTHING, &self.volume(), NOTHING, MsFlags::MS_REMOUNT | flags, Some(SIZE));
        // A process that is about to end may still hold a file.
        for _ in 0..200 {
            match set() {
                Err(nix::errno::Errno::EBUSY) => thread::sleep(Duration::from_millis(10)),
                other => return other,
            }
        }
        set()
    }

    /// Lets go of the volume; with `keep`, its contents stay as a copy.
    pub fn unmount(&mut self, keep: bool) -> io::Result<()> {
        if !self.is_mounted {
            return Ok(());
        }
        if keep {
            let copy = self.file("state-at-the-end");
            fs::create_dir_all(&copy)?;
            for entry in fs::read_dir(self.state())?.flatten() {
                if entry.metadata().is_ok_and(|stat| stat.is_file()) {
                    fs::copy(entry.path(), copy.join(entry.file_name()))?;
                }
            }
        }
        self.is_mounted = false;
        Ok(umount2(&self.volume(), MntFlags::MNT_DETACH)?)
    }
}
