//! The companion of a job whose output goes to the system log, where there is no
//! journal: a process that reads a pipe and sends a datagram a line.
//!
//! A process of its own, so that a daemon that ends takes no output with it; and
//! with the job's rights, since what it reads is the job's. It needs the same
//! memory whatever is written, and ends when the last writer does. A log that is
//! not there, or does not listen, costs lines and never holds up the job for
//! long; how many were lost is said once it is back.

use kron_host::launch::{self, Ids};
use nix::unistd::setsid;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Facility daemon, severity informational.
const PRIORITY: u8 = 3 * 8 + 6;
/// Longest piece of a line.
const LINE_BYTES: usize = 8 * 1024;
/// How long a log may take to listen before lines are dropped.
const PATIENCE: Duration = Duration::from_secs(2);
/// Exit code when the words are not those of [`words`].
const MISUSED: u8 = 2;
/// Exit code when the job's rights could not be taken on.
const REFUSED: u8 = 1;

/// What a companion is to know, as words of its command line: none of it is
/// secret.
pub(super) fn words(socket: &Path, ids: Option<&Ids>, tag: &str, pid: u32) -> [OsString; 4] {
    let ids = ids.map_or_else(String::new, |ids| {
        let mut text = format!("{}:{}", ids.uid, ids.gid);
        for group in &ids.groups {
            text.push_str(&format!(":{group}"));
        }
        text
    });
    [socket.into(), ids.into(), tag.into(), pid.to_string().into()]
}

fn read_ids(text: &str) -> Option<Ids> {
    let mut numbers = text.split(':').map(|number| number.parse::<u32>().ok());
    let (uid, gid) = (numbers.next()??, numbers.next()??);
    let groups = numbers.collect::<Option<Vec<u32>>>()?;
    Some(Ids { uid, gid, groups })
}

/// Is the companion; the exit code.
pub(super) fn run(words: impl Iterator<Item = OsString>) -> u8 {
    let words: Vec<OsString> = words.collect();
    let [socket, ids, tag, pid] = words.as_slice() else { return MISUSED };
    // No word, if they stay what they are.
    let switched = !ids.is_empty();
    let ids = ids.to_str().and_then(read_ids);
    if switched && ids.is_none() {
        return MISUSED;
    }
    let Ok(pipe) = launch::begin() else { return REFUSED };
    // Its own session: what ends the daemon's or the job's does not end this.
    let _ = setsid();
    if ids.is_some_and(|ids| ids.take_on().is_err()) || std::env::set_current_dir("/").is_err() {
        return REFUSED;
    }
    let (tag, pid) = (tag.to_string_lossy(), pid.to_string_lossy());
    let mut log = Log::new(socket.into(), format!("<{PRIORITY}>{tag}[{pid}]: ").into_bytes());
    match lines(&mut File::from(pipe), |line| log.send(line)) {
        Ok(()) => 0,
        Err(_) => REFUSED,
    }
}

/// Calls `each` for every line, and for every piece of one that is too long.
/// Lines that are empty say nothing.
fn lines(from: &mut impl Read, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    let mut each = |line: &[u8]| {
        if !line.is_empty() {
            each(line);
        }
    };
    let mut buffer = [0; LINE_BYTES];
    let mut filled = 0;
    loop {
        let count = match from.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        // What was there before has no end of line in it.
        let mut begin = 0;
        let mut look = filled;
        filled += count;
        while let Some(at) = buffer[look..filled].iter().position(|byte| *byte == b'\n') {
            each(&buffer[begin..look + at]);
            begin = look + at + 1;
            look = begin;
        }
        buffer.copy_within(begin..filled, 0);
        filled -= begin;
        if filled == buffer.len() {
            each(&buffer);
            filled = 0;
        }
    }
    each(&buffer[..filled]);
    Ok(())
}

/// The system log, as far as it listens.
struct Log {
    path: PathBuf,
    prefix: Vec<u8>,
    socket: Option<UnixDatagram>,
    /// Lines that nobody heard since the last that somebody did.
    lost: u64,
}

impl Log {
    const fn new(path: PathBuf, prefix: Vec<u8>) -> Self {
        Self { path, prefix, socket: None, lost: 0 }
    }

    fn send(&mut self, line: &[u8]) {
        if self.lost > 0 {
            let note = format!("{} lines were lost: the system log did not listen", self.lost);
            if self.try_twice(note.as_bytes()).is_ok() {
                self.lost = 0;
            }
        }
        if self.lost > 0 || self.try_twice(line).is_err() {
            self.lost += 1;
        }
    }

    /// A log that was started again has another socket.
    fn try_twice(&mut self, line: &[u8]) -> io::Result<()> {
        match self.try_once(line) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => self.try_once(line),
            other => other,
        }
    }

    fn try_once(&mut self, line: &[u8]) -> io::Result<()> {
        let socket = match self.socket.take() {
            Some(socket) => socket,
            None => {
                let socket = UnixDatagram::unbound()?;
                socket.connect(&self.path)?;
                socket
            }
        };
        // Patience once; as long as it does not listen, none for the next line.
        socket.set_nonblocking(self.lost > 0)?;
        socket.set_write_timeout(Some(PATIENCE))?;
        let datagram = [&self.prefix[..], line].concat();
        let sent = socket.send(&datagram);
        if !sent.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::WouldBlock) {
            self.socket = Some(socket);
        }
        sent.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &[u8], expected: &[&[u8]]) {
        // In one piece, and byte by byte.
        for step in [text.len().max(1), 1, 3] {
            struct Slow<'a>(&'a [u8], usize);
            impl Read for Slow<'_> {
                fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                    let count = self.1.min(buffer.len());
                    self.0.read(&mut buffer[..count])
                }
            }
            let mut seen = Vec::new();
            lines(&mut Slow(text, step), |line| seen.push(line.to_vec())).unwrap();
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn pieces() {
        check(b"", &[]);
        check(b"a\nb\n", &[b"a", b"b"]);
        check(b"a\n\n\nb", &[b"a", b"b"]);
        check(b"no end", &[b"no end"]);
        check(b"\xff\x00\n", &[b"\xff\x00"]);
        let long = vec![b'x'; LINE_BYTES * 2 + 5];
        check(&long, &[&long[..LINE_BYTES], &long[..LINE_BYTES], b"xxxxx"]);
        let exactly = [&[b'y'; LINE_BYTES][..], b"\nz\n"].concat();
        check(&exactly, &[&[b'y'; LINE_BYTES], b"z"]);
    }

    #[test]
    fn ids_as_words() {
        let ids = Ids { uid: 1, gid: 2, groups: vec![3, 4] };
        let [_, text, ..] = words(Path::new("/dev/log"), Some(&ids), "a", 1);
        assert_eq!(read_ids(text.to_str().unwrap()), Some(ids));
        assert_eq!(read_ids(""), None);
        assert_eq!(read_ids("1"), None);
        assert_eq!(read_ids("1:x"), None);
        let none = Ids { uid: 1, gid: 2, groups: vec![] };
        assert_eq!(read_ids("1:2"), Some(none));
    }
}
