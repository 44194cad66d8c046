//! The daemons, each with its jobs in a directory of its own.
//!
//! The peers run in a private mount namespace in which the places of crontabs
//! are empty directories of ours: the machine's own jobs are out of their sight.

use super::marks::{MINUTE, Marks, Nanos, SECOND, now};
use super::usage::{Work, memory};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Whose jobs: all at once every minute, or in another month.
#[derive(Clone, Copy, Debug)]
pub enum Jobs {
    /// Due at every full minute.
    EachMinute { count: usize, shell: bool },
    /// None of them due soon.
    Far { count: usize },
    /// The first at every full minute, the others not soon.
    Beside { count: usize },
}

impl Jobs {
    pub const fn count(self) -> usize {
        match self {
            Self::EachMinute { count, .. } | Self::Far { count } | Self::Beside { count } => count,
        }
    }

    /// Five fields, as every cron understands them.
    fn fields(self, number: usize) -> String {
        match self {
            Self::EachMinute { .. } => "* * * * *".into(),
            Self::Beside { .. } if number == 0 => "* * * * *".into(),
            Self::Far { .. } | Self::Beside { .. } => {
                // Half a year from now, whenever that is.
                let month = (now() / (MINUTE * 60 * 24) + 182) % 365 / 31 + 1;
                format!("{} {} {} {month} *", number % 60, number / 60 % 24, number % 28 + 1)
            }
        }
    }
}

/// A daemon that runs, and ends with this.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    pub marks: Marks,
    /// From its start until it was ready, if it can tell.
    pub ready: Option<Duration>,
    shift: Option<PathBuf>,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Daemon {
    /// Ends it as its operator would.
    pub fn stop(mut self) -> io::Result<()> {
        kill(self.pid(), Signal::SIGTERM)?;
        let end = Instant::now() + Duration::from_secs(20);
        while self.child.try_wait()?.is_none() {
            if Instant::now() > end {
                return Err(io::Error::other("a daemon does not end"));
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    pub fn memory(&self) -> io::Result<u64> {
        memory(self.child.id())
    }

    pub fn work(&self) -> io::Result<Work> {
        Work::of(self.child.id())
    }

    /// Sets the daemon's clock to `before` the full minute after `past`; the time
    /// of that minute as the daemon has it, and what its clock is ahead by.
    pub fn approach_minute(&self, past: Nanos, before: Nanos) -> io::Result<(Nanos, Nanos)> {
        let minute = (past / MINUTE + 1) * MINUTE;
        let ahead = minute - before - now();
        if let Some(file) = &self.shift {
            fs::write(file, format!("{}.{:09}", ahead / SECOND, ahead % SECOND))?;
            kill(self.pid(), Signal::SIGUSR2)?;
        }
        Ok((minute, ahead))
    }
}

/// Where everything is.
#[derive(Debug)]
pub struct Place {
    pub directory: PathBuf,
    pub krond: PathBuf,
    pub mark: PathBuf,
}

impl Place {
    fn fresh(&self, name: &str) -> io::Result<PathBuf> {
        let directory = self.directory.join(name);
        if directory.exists() {
            fs::remove_dir_all(&directory)?;
        }
        fs::create_dir(&directory)?;
        Ok(directory)
    }

    /// Starts `krond` with these jobs, new to it.
    pub fn krond(&self, name: &str, jobs: Jobs) -> io::Result<Daemon> {
        let directory = self.fresh(name)?;
        let marks = Marks::new(&directory.join("marks"))?;
        let mut text = String::new();
        for number in 0..jobs.count() {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{} @win(after,0s) name=job-{number} {}command=\"{} {}\"",
                jobs.fields(number),
                if matches!(jobs, Jobs::EachMinute { shell: true, .. }) {
                    "shell=true "
                } else {
                    ""
                },
                self.mark.display(),
                marks.0.display()
            );
        }
        fs::write(directory.join("jobs.kron"), text)?;
        fs::write(directory.join("shift"), "1")?;
        self.krond_again(name)
    }

    /// Starts `krond` with jobs that it knows.
    pub fn krond_again(&self, name: &str) -> io::Result<Daemon> {
        let directory = self.directory.join(name);
        let marks = Marks::new(&directory.join("marks"))?;
        let (bell_path, shift) = (directory.join("bell"), directory.join("shift"));
        let _ = fs::remove_file(&bell_path);
        let bell = UnixDatagram::bind(&bell_path)?;
        bell.set_read_timeout(Some(Duration::from_secs(60)))?;
        let begun = Instant::now();
        let child = Command::new(&self.krond)
            .arg("start")
            .arg(directory.join("jobs.kron"))
            .arg("--state-dir")
            .arg(directory.join("state"))
            .arg("--clock-shift")
            .arg(&shift)
            .env("NOTIFY_SOCKET", &bell_path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(directory.join("log"))?)
            .spawn()?;
        let mut daemon = Daemon { child, marks, ready: None, shift: Some(shift) };
        let mut word = [0; 64];
        let length = bell.recv(&mut word)?;
        if &word[..length] != b"READY=1" {
            return Err(io::Error::other("krond did not start"));
        }
        daemon.ready = Some(begun.elapsed());
        Ok(daemon)
    }

    /// Starts a peer with these jobs.
    pub fn peer(&self, peer: Peer, name: &str, jobs: Jobs) -> io::Result<Daemon> {
        let directory = self.fresh(name)?;
        let marks = Marks::new(&directory.join("marks"))?;
        let begun = Marks::new(&directory.join("begun"))?;
        for part in ["spool", "cron.d", "run"] {
            fs::create_dir(directory.join(part))?;
        }
        let crontab = |path: PathBuf, text: &str| {
            fs::write(&path, text)?;
            fs::set_permissions(path, fs::Permissions::from_mode(0o600))
        };
        let (mark, user) = (self.mark.display(), if peer == Peer::Debian { "root " } else { "" });
        let lines = |numbers: Range<usize>| {
            let mut text = String::new();
            for number in numbers {
                let fields = jobs.fields(number);
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{fields} {user}{mark} {}", marks.0.display());
            }
            text
        };
        match peer {
            Peer::Debian => {
                // Starts when everything is read.
                let reboot = format!("@reboot {user}{mark} {}\n", begun.0.display());
                crontab(directory.join("crontab"), &reboot)?;
                // It takes no file of many lines.
                for start in (0..jobs.count()).step_by(1_000) {
                    let part = lines(start..jobs.count().min(start + 1_000));
                    crontab(directory.join(format!("cron.d/part-{start}")), &part)?;
                }
            }
            Peer::Busybox => crontab(directory.join("spool/root"), &lines(0..jobs.count()))?,
        }
        let started = now();
        let child = Command::new("unshare")
            .args(["-m", "sh", "-ec", peer.script(), "sh"])
            .arg(&directory)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(directory.join("log"))?)
            .spawn()?;
        let mut daemon = Daemon { child, marks, ready: None, shift: None };
        let patience = if peer.tells_of_start() { 20 } else { 2 };
        let mark = begun.wait(1, Duration::from_secs(patience))?.first().copied();
        daemon.ready = mark.map(|mark| Duration::from_nanos((mark - started) as u64));
        if let Some(status) = daemon.child.try_wait()? {
            return Err(io::Error::other(format!("{}: {status}", peer.name())));
        }
        Ok(daemon)
    }
}

/// Who we are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    Debian,
    Busybox,
}

impl Peer {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Debian => "cron",
            Self::Busybox => "busybox",
        }
    }

    const fn script(self) -> &'static str {
        match self {
            Self::Debian => {
                "mount --bind \"$1/spool\" /var/spool/cron/crontabs
                 mount --bind \"$1/cron.d\" /etc/cron.d
                 mount --bind \"$1/crontab\" /etc/crontab
                 mount --bind \"$1/run\" /run
                 exec cron -f"
            }
            Self::Busybox => {
                "mount --bind \"$1/run\" /run
                 exec busybox crond -f -c \"$1/spool\" -L /dev/null"
            }
        }
    }

    /// Whether it knows `@reboot`, of which Debian's busybox dies.
    const fn tells_of_start(self) -> bool {
        matches!(self, Self::Debian)
    }

    /// Whether it can be run here.
    pub fn is_there(self) -> bool {
        let script = match self {
            Self::Debian => "test -d /var/spool/cron/crontabs && command -v cron",
            Self::Busybox => "busybox --list | grep -x crond",
        };
        let tried = Command::new("unshare")
            .args(["-m", "sh", "-c", script])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        tried.is_ok_and(|status| status.success())
    }
}

pub fn programs(directory: &Path) -> Option<Place> {
    let beside = |name: &str| {
        let path = std::env::current_exe().ok()?.with_file_name(name);
        path.is_file().then_some(path)
    };
    Some(Place {
        directory: directory.into(),
        krond: beside("krond")?,
        mark: beside("kron-bench-mark")?,
    })
}
