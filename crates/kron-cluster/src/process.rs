//! One program of the control plane: started, watched, stopped.

use crate::error::Error;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Longest that anything is waited for. A start takes three seconds; a busy machine can
/// make that a minute.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// Between two looks.
pub const PAUSE: Duration = Duration::from_millis(50);
/// Of a log, in a message.
const LAST_LINES: usize = 15;

/// A running program. It is killed when dropped.
#[derive(Debug)]
pub struct Process {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a program in a process group; what it says is added to its log.
    pub fn start(
        name: &'static str,
        program: &Path,
        arguments: &[String],
        log: PathBuf,
        group: u32,
    ) -> Result<Self, Error> {
        let output = OpenOptions::new().create(true).append(true).open(&log);
        let output = output.and_then(|output| Ok((output.try_clone()?, output)));
        let (stdout, stderr) =
            output.map_err(Error::io(format_args!("cannot write `{}`", log.display())))?;
        let child = Command::new(program)
            .args(arguments)
            .process_group(group.cast_signed())
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr)
            .spawn()
            .map_err(Error::io(format_args!("cannot start `{}`", program.display())))?;
        Ok(Self { name, child, log })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal; an error if the program has ended.
    pub fn signal(&mut self, signal: Signal) -> Result<(), Error> {
        // Not collected, so the number is still its own.
        self.check()?;
        kill(Pid::from_raw(self.child.id().cast_signed()), signal)
            .map_err(|errno| Error::failed(format!("cannot signal {}: {errno}", self.name)))
    }

    /// An error, with the end of its log, if the program has ended.
    pub fn check(&mut self) -> Result<(), Error> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(self.failed(&format!("ended: {status}"))),
            Err(error) => Err(self.failed(&format!("cannot be waited for: {error}"))),
        }
    }

    /// Waits until something about it is true.
    pub fn wait_until(&mut self, mut is_ready: impl FnMut() -> bool) -> Result<(), Error> {
        let until = Instant::now() + PATIENCE;
        while !is_ready() {
            self.check()?;
            if Instant::now() >= until {
                return Err(self.failed(&format!("is not ready after {PATIENCE:?}")));
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn failed(&self, what: &str) -> Error {
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        Error::failed(format!("{} {what}{}", self.name, last_lines(&log)))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // They fail only if it has ended already. A paused program can be killed, too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The end of what a program said, indented below a message.
pub fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(LAST_LINES);
    lines[from..].iter().flat_map(|line| ["\n  ", line]).collect()
}

#[cfg(test)]
mod tests {
    use super::{LAST_LINES, last_lines};

    #[test]
    fn messages_show_the_end_of_a_log() {
        for (text, expected) in [("", ""), ("a", "\n  a"), ("a\nb\n", "\n  a\n  b")] {
            assert_eq!(last_lines(text), expected, "{text:?}");
        }
        let long = "first\n".to_string() + &"line\n".repeat(LAST_LINES);
        assert_eq!(last_lines(&long), "\n  line".repeat(LAST_LINES));
    }
}
