//! What the daemons start in a benchmark: notes the time as its first act.
//!
//! Appends a line to the file named by its argument; if there is a second one, it waits
//! for a byte of its standard input before that. Nothing is linked in but the standard
//! library, so that what is measured is the daemon.

use std::fs::OpenOptions;
use std::io::{Read, Write, stdin};
use std::time::{SystemTime, UNIX_EPOCH};

fn main() -> std::io::Result<()> {
    if std::env::args_os().nth(2).is_some() {
        stdin().read_exact(&mut [0])?;
    }
    let now = SystemTime::now();
    let nanos = now.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    let path = std::env::args_os().nth(1).unwrap_or_else(|| "/dev/stdout".into());
    OpenOptions::new().append(true).open(path)?.write_all(format!("{nanos}\n").as_bytes())
}
