//! One process: whether it is still the one we know, and how it ended.
//!
//! Numbers of processes are used again. A process is taken for the one that was
//! written down only if the boot, the number and the kernel's start time all
//! match; a descriptor opened before that is looked at stays with it whatever
//! becomes of the number.

use kron_engine::kept::Process;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::param::clock_ticks_per_second;
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;
use std::time::Duration;

/// What the kernel says about a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Its parent.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// Its session.
    pub session: u32,
    /// When it was started, in ticks since the boot.
    pub start_ticks: u64,
}

impl Stat {
    /// Reads the text of `/proc/PID/stat`; `None` if it is something else, or of
    /// a process that is no more.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        // The second field is a name in parentheses, chosen by the process, which
        // may contain anything; what follows the last one never does.
        let end = text.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(&text[end + 1..]).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let _state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let session = fields.next()?.parse().ok()?;
        // The start is field 22 of the page proc(5), the session field 6.
        let start_ticks = fields.nth(15)?.parse().ok()?;
        Some(Self { parent, group, session, start_ticks })
    }

    /// Asks about a process; `None` if there is none of this number.
    ///
    /// # Errors
    /// When the kernel cannot be asked.
    pub fn of(pid: u32) -> io::Result<Option<Self>> {
        match fs::read(format!("/proc/{pid}/stat")) {
            // One that is just being collected has group and session -1.
            Ok(text) => Ok(Self::parse(&text)),
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

/// Which boot this is.
///
/// # Errors
/// When the kernel cannot be asked.
pub fn boot_id() -> io::Result<&'static str> {
    static BOOT_ID: OnceLock<Box<str>> = OnceLock::new();
    if let Some(id) = BOOT_ID.get() {
        return Ok(id);
    }
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(BOOT_ID.get_or_init(|| id.trim().into()))
}

/// A process, such that it can be known again.
///
/// # Errors
/// When there is none of this number, or the kernel cannot be asked.
pub fn observe(pid: u32) -> io::Result<Process> {
    let stat = Stat::of(pid)?.ok_or(Errno::SRCH)?;
    let boot_id = Some(boot_id()?.into());
    Ok(Process { pid, start_ticks: Some(stat.start_ticks), boot_id })
}

/// A descriptor of exactly this process, if it still lives; one that has ended
/// and was not collected does not.
///
/// # Errors
/// When the kernel cannot be asked.
pub fn find(process: &Process) -> io::Result<Option<OwnedFd>> {
    let Some(start_ticks) = process.start_ticks else { return Ok(None) };
    if process.boot_id.as_deref() != Some(boot_id()?) {
        return Ok(None);
    }
    open_if(process.pid, |stat| stat.start_ticks == start_ticks)
}

/// How long ago a process of this boot was started, the time that the machine slept
/// included; nothing of one whose start is not known.
#[must_use]
pub fn age(process: &Process) -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    let now = Duration::new(now.tv_sec as u64, now.tv_nsec as u32);
    let begun = process.start_ticks.map(|ticks| {
        let rate = clock_ticks_per_second();
        Duration::new(ticks / rate, ((ticks % rate) * 1_000_000_000 / rate) as u32)
    });
    begun.and_then(|begun| now.checked_sub(begun)).unwrap_or_default()
}

/// Whether there may be a living process with this number; one that has ended and
/// was not collected does not live.
#[must_use]
pub fn may_live(pid: u32) -> bool {
    !matches!(open_if(pid, |_| true), Ok(None))
}

/// A descriptor of the process with this number, if it lives and is as asked.
pub(super) fn open_if(pid: u32, wanted: impl Fn(&Stat) -> bool) -> io::Result<Option<OwnedFd>> {
    let pidfd = match open(pid) {
        Ok(pidfd) => pidfd,
        // Not there, or a thread of something else.
        Err(Errno::SRCH | Errno::INVAL | Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    // Only now: what is said about the number is said about the descriptor if the
    // process still lives afterwards.
    let matches = Stat::of(pid)?.is_some_and(|stat| wanted(&stat));
    Ok(if matches && !has_ended(&pidfd)? { Some(pidfd) } else { None })
}

pub(super) fn open(pid: u32) -> Result<OwnedFd, Errno> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
    pidfd_open(pid, PidfdFlags::empty())
}

/// Whether a process has ended, collected or not; never waits.
///
/// # Errors
/// When the kernel cannot be asked.
pub fn has_ended(pidfd: impl AsFd) -> io::Result<bool> {
    let mut fds = [PollFd::new(&pidfd, PollFlags::IN)];
    loop {
        match poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
            Err(Errno::INTR) => {}
            other => return Ok(other? > 0),
        }
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code; 128 + n for signal n.
    pub code: i32,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// How a child ended, leaving it to be collected; `None` while it runs.
///
/// # Errors
/// `ECHILD` when it is not a child of ours, or was collected.
pub fn peek(pidfd: impl AsFd) -> io::Result<Option<Exit>> {
    status(pidfd, WaitIdOptions::NOWAIT)
}

/// Collects a child that has ended; `None` while it runs.
///
/// # Errors
/// `ECHILD` when it is not a child of ours, or was collected.
pub fn reap(pidfd: impl AsFd) -> io::Result<Option<Exit>> {
    status(pidfd, WaitIdOptions::empty())
}

/// Waits for the end of a child that cannot hold it up, and collects it.
///
/// # Errors
/// When it is not our child.
pub(super) fn wait(pidfd: impl AsFd) -> io::Result<()> {
    loop {
        match waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED) {
            Err(Errno::INTR) => {}
            other => return Ok(other.map(drop)?),
        }
    }
}

fn status(pidfd: impl AsFd, options: WaitIdOptions) -> io::Result<Option<Exit>> {
    let options = options | WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    let status = loop {
        match waitid(WaitId::PidFd(pidfd.as_fd()), options) {
            Err(Errno::INTR) => {}
            other => break other?,
        }
    };
    Ok(status.and_then(|status| match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Some(Exit { code, signal: None }),
        (None, Some(signal)) => Some(Exit { code: 128 + signal, signal: Some(signal) }),
        (None, None) => None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &[u8]) {
        let mut text = b"42 (".to_vec();
        text.extend(name);
        text.extend(b") S 1 41 40 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 12 13 14");
        let expected = Stat { parent: 1, group: 41, session: 40, start_ticks: 987_654 };
        assert_eq!(Stat::parse(&text), Some(expected), "{name:?}");
    }

    /// FAULTS 30: whatever a process calls itself.
    #[test]
    fn names() {
        for name in [&b"sh"[..], b") R 1", b"", b"(", b"))", b"a b c", b"x\n) Z 2 3", b"\xff\xfe)"]
        {
            check(name);
        }
    }

    #[test]
    fn something_else() {
        let collected = b"42 (sh) X 0 -1 -1 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 0 0 987654 12";
        for text in [&b""[..], b"42 (sh", b"42 (sh) S", b"42 (sh) S 1 2 x 4", collected] {
            assert_eq!(Stat::parse(text), None);
        }
    }

    #[test]
    fn ages() {
        let me = observe(std::process::id()).unwrap();
        let now = clock_gettime(ClockId::Boottime);
        let first = age(&me);
        assert!(first < Duration::from_secs(now.tv_sec as u64 + 1));
        std::thread::sleep(Duration::from_millis(20));
        assert!(age(&me) > first);
        assert_eq!(age(&Process { start_ticks: None, ..me.clone() }), Duration::ZERO);
        assert_eq!(age(&Process { start_ticks: Some(u64::MAX / 2), ..me }), Duration::ZERO);
    }

    #[test]
    fn this_very_process() {
        let me = observe(std::process::id()).unwrap();
        assert!(find(&me).unwrap().is_some());
        let earlier = Process { start_ticks: me.start_ticks.map(|ticks| ticks + 1), ..me.clone() };
        let other_boot = Process { boot_id: Some("another".into()), ..me.clone() };
        let unknown = Process { start_ticks: None, ..me };
        for process in [earlier, other_boot, unknown] {
            assert!(find(&process).unwrap().is_none(), "{process:?}");
        }
    }
}
