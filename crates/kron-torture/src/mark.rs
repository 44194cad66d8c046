//! What a job does: it writes one line to the record, and sleeps.
//!
//! The line is one write to a file opened for appending, so lines of many
//! processes never mix. `R` says that the command ran; `O` that another run of the
//! same job still held the lock that a job keeps as long as it lives.

use crate::time::now;
use rustix::fs::{FlockOperation, flock};
use std::env;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::process;
use std::thread;
use std::time::Duration;

/// `RECORD LOCK MILLIS`; the lock may be `-`.
pub fn run(words: &[String]) -> io::Result<()> {
    let [record, lock, millis] = words else {
        return Err(io::Error::other("usage: mark RECORD LOCK MILLIS"));
    };
    let held = match lock.as_str() {
        "-" => None,
        path => Some(OpenOptions::new().create(true).append(true).open(path)?),
    };
    let alone = held
        .as_ref()
        .is_none_or(|file: &File| flock(file, FlockOperation::NonBlockingLockExclusive).is_ok());
    let text = |name| env::var(name).unwrap_or_default();
    let (identity, period) = (text("KRON_IDENTITY"), text("KRON_PERIOD_ID"));
    let mut record = OpenOptions::new().create(true).append(true).open(record)?;
    let (pid, at) = (process::id(), now());
    let mut line = format!("R\t{identity}\t{period}\t{pid}\t{at}\n");
    if !alone {
        line += &format!("O\t{identity}\t{period}\t{pid}\t{at}\n");
    }
    record.write_all(line.as_bytes())?;
    if let Ok(millis) = millis.parse() {
        thread::sleep(Duration::from_millis(millis));
    }
    Ok(())
}
