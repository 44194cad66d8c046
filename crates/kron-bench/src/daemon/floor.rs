//! What a single durable start takes on this machine, without a scheduler.
//!
//! A bare loop that does what the contract asks of one start and nothing else: it waits
//! for a time of the clock, makes a process that waits, writes a file of the size of a
//! state file beside it, syncs that, renames it, syncs the directory, and lets the
//! process go on. Nobody who records a start before making it can be faster here.

use super::marks::{Marks, Nanos, SECOND, millis, now};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// The loop.
#[derive(Debug)]
pub struct Floor {
    directory: PathBuf,
    marks: Marks,
    mark: PathBuf,
    /// How late each start was, in milliseconds.
    pub late: Vec<f64>,
}

impl Floor {
    /// Beside the daemon's own directory, on the same disk.
    pub fn new(directory: PathBuf, mark: &Path) -> io::Result<Self> {
        fs::create_dir(&directory)?;
        let marks = Marks::new(&directory.join("marks"))?;
        Ok(Self { directory, marks, mark: mark.into(), late: Vec::new() })
    }

    /// One start, with a state as large as the largest in this directory.
    pub fn start(&mut self, states: &Path) -> io::Result<()> {
        // What the daemon still has to record is not to be in the way.
        thread::sleep(Duration::from_millis(100));
        let state = vec![b' '; largest(states)? as usize];
        self.marks.clear()?;
        let due = now() + SECOND / 4;
        sleep_until(due)?;
        let mut process = Command::new(&self.mark)
            .arg(&self.marks.0)
            .arg("wait")
            .stdin(Stdio::piped())
            .spawn()?;
        let temporary = self.directory.join("state.tmp");
        let mut file = File::create(&temporary)?;
        file.write_all(&state)?;
        file.sync_all()?;
        fs::rename(&temporary, self.directory.join("state"))?;
        File::open(&self.directory)?.sync_all()?;
        if let Some(mut gate) = process.stdin.take() {
            gate.write_all(b"\n")?;
        }
        process.wait()?;
        let marks = self.marks.wait(1, Duration::ZERO)?;
        let mark = marks.first().ok_or_else(|| io::Error::other("the floor started nothing"))?;
        self.late.push(millis(mark - due));
        Ok(())
    }
}

/// Waits for a time of the clock, as an alarm of the clock does.
fn sleep_until(due: Nanos) -> io::Result<()> {
    let (flags, at) =
        (ClockNanosleepFlags::TIMER_ABSTIME, TimeSpec::new(due / SECOND, due % SECOND));
    clock_nanosleep(ClockId::CLOCK_REALTIME, flags, &at)?;
    Ok(())
}

fn largest(directory: &Path) -> io::Result<u64> {
    let mut most = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        // A file may be replaced while somebody looks.
        let Ok(about) = entry.metadata() else { continue };
        most = most.max(if about.is_dir() { largest(&entry.path())? } else { about.len() });
    }
    Ok(most)
}
