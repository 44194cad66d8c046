//! One life of the real daemon.

use crate::place::Place;
use crate::time::{MILLI, Nanos, SECOND, now, sleep};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::io;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Longest that anything is waited for; what takes longer hangs.
pub const PATIENCE: Nanos = 30 * SECOND;

pub struct Daemon {
    child: Child,
    bell: UnixDatagram,
    pub log: PathBuf,
    pub from: Nanos,
    pub ready: Option<Nanos>,
    ended: Option<ExitStatus>,
}

/// How it is started.
pub struct Options<'a> {
    pub krond: &'a Path,
    pub number: usize,
    pub crash_at: Option<String>,
    pub mutant: Option<&'a str>,
    pub shutdown: &'static str,
}

impl Daemon {
    pub fn start(place: &Place, options: &Options<'_>) -> io::Result<Self> {
        let bell_path = place.file("bell");
        let _ = fs::remove_file(&bell_path);
        let bell = UnixDatagram::bind(&bell_path)?;
        bell.set_read_timeout(Some(Duration::from_millis(3)))?;
        let log = place.file("logs").join(format!("{:05}", options.number));
        let mut command = Command::new(options.krond);
        command.arg("start").arg(place.file("jobs.kron"));
        command.arg("--state-dir").arg(place.state());
        command.arg("--clock-shift").arg(place.file("shift"));
        command.args(["--grace", "200ms", "--shutdown-limit", "300ms"]);
        command.args(["--shutdown", options.shutdown]);
        if options.number.is_multiple_of(2) {
            // No life is so long that it would happen by itself.
            command.args(["--spare-age", "0s"]);
        }
        if let Some(point) = &options.crash_at {
            command.args(["--crash-at", point]);
        }
        if let Some(mutant) = options.mutant {
            command.args(["--mutant", mutant]);
        }
        command.env("NOTIFY_SOCKET", &bell_path).env("TZ", "UTC");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log)?);
        let from = now();
        let child = command.spawn()?;
        Ok(Self { child, bell, log, from, ready: None, ended: None })
    }

    /// Waits until it is ready or has ended; not longer than until a time.
    pub fn wait_ready(&mut self, until: Nanos) -> io::Result<bool> {
        let mut word = [0; 64];
        while self.ready.is_none() && !self.has_ended()? {
            match self.bell.recv(&mut word) {
                Ok(length) if &word[..length] == b"READY=1" => self.ready = Some(now()),
                _ if now() >= until => break,
                _ => {}
            }
        }
        Ok(self.ready.is_some())
    }

    pub fn has_ended(&mut self) -> io::Result<bool> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait()?;
        }
        Ok(self.ended.is_some())
    }

    pub fn signal(&self, signal: Signal) {
        // It is our child and not collected yet, so the number is its own.
        if self.ended.is_none() {
            let _ = kill(Pid::from_raw(self.child.id() as i32), signal);
        }
    }

    /// Waits for its end, not longer than until a time.
    pub fn wait_end(&mut self, until: Nanos) -> io::Result<bool> {
        while !self.has_ended()? {
            if now() >= until {
                return Ok(false);
            }
            sleep(MILLI);
        }
        Ok(true)
    }

    /// Kills it, if it still lives; how it ended.
    pub fn end(&mut self) -> io::Result<ExitStatus> {
        self.signal(Signal::SIGKILL);
        let status = match self.ended {
            Some(status) => status,
            None => self.child.wait()?,
        };
        self.ended = Some(status);
        Ok(status)
    }

    /// Waits until something appears in the log behind an offset.
    pub fn wait_log(&mut self, offset: u64, text: &str, until: Nanos) -> io::Result<bool> {
        loop {
            let log = fs::read(&self.log)?;
            let tail = log.get(offset as usize..).unwrap_or_default();
            if String::from_utf8_lossy(tail).contains(text) {
                return Ok(true);
            }
            if now() >= until || self.has_ended()? {
                return Ok(false);
            }
            sleep(2 * MILLI);
        }
    }

    pub fn log_length(&self) -> u64 {
        fs::metadata(&self.log).map_or(0, |stat| stat.len())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if self.ended.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Exit code, or 128 and the number of the signal.
pub fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}
