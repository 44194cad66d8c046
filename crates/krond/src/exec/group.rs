//! Everything a job has started, as far as it stayed in the job's process group:
//! finding it, and signalling it.
//!
//! The number of a group belongs to it as long as one process is in it, or the
//! leader has not been collected. So a child of ours that we have not collected
//! is signalled with its whole group in one call. In any other case members are
//! looked for one by one, and signalled through descriptors.

use super::process::{Stat, boot_id, has_ended, open_if};
use kron_engine::kept::Process;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, kill_process_group, pidfd_send_signal, test_kill_process_group,
};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

/// How often members are looked for again, since one may just be making another.
const ROUNDS: usize = 8;

/// What the leader of a group is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leader {
    /// A child that was not collected yet.
    Child,
    /// A process that an earlier daemon started, or one that is gone.
    Other,
}

/// Sends a signal to a job's leader, by its descriptor, and to all of its
/// group. `SIGTERM` is followed by `SIGCONT`, so that what is stopped hears it.
/// Whether there was anybody.
///
/// # Errors
/// When processes cannot be listed or signalled; the rest has been all the same.
pub fn signal_group(
    process: &Process,
    pidfd: BorrowedFd<'_>,
    leader: Leader,
    signal: Signal,
) -> io::Result<bool> {
    if leader == Leader::Child
        && let Some(group) = group_of(process)
    {
        match kill_process_group(group, signal) {
            Ok(()) => {
                if signal == Signal::TERM {
                    let _ = kill_process_group(group, Signal::CONT);
                }
                return Ok(true);
            }
            // Not the leader of a group yet.
            Err(Errno::SRCH) => return send(pidfd, signal),
            Err(error) => return Err(error.into()),
        }
    }
    let leader = if has_ended(pidfd)? { Ok(false) } else { send(pidfd, signal) };
    let members = signal_members(process, signal);
    Ok(leader? | members?)
}

/// Sends a signal to what is left of a group besides its leader. Whether there
/// was anybody.
///
/// # Errors
/// When processes cannot be listed or signalled; the rest has been all the same.
pub fn signal_members(process: &Process, signal: Signal) -> io::Result<bool> {
    let mut known = HashSet::new();
    let mut outcome = Ok(());
    for _ in 0..ROUNDS {
        let before = known.len();
        scan([process], |_, pid, stat, pidfd| {
            if known.insert((pid, stat.start_ticks))
                && let Err(error) = send(std::os::fd::AsFd::as_fd(&pidfd), signal)
            {
                outcome = Err(error);
            }
            true
        })?;
        if known.len() == before {
            break;
        }
    }
    outcome.map(|()| !known.is_empty())
}

/// Whether nobody has the number of this group, the leader included; one call.
#[must_use]
pub fn is_gone(process: &Process) -> bool {
    group_of(process).is_some_and(|group| test_kill_process_group(group) == Err(Errno::SRCH))
}

/// Of each group one process that lives besides its leader, if there is any: as long as
/// that one is there, so is the group. Takes one look at all processes, however many groups
/// are asked for; none if nothing is left of any, which can be told only of those whose
/// leader was collected.
///
/// # Errors
/// When processes cannot be listed.
pub fn survivors<'a>(
    processes: impl ExactSizeIterator<Item = &'a Process>,
) -> io::Result<Vec<Option<OwnedFd>>> {
    let mut found: Vec<Option<OwnedFd>> = Vec::new();
    found.resize_with(processes.len(), || None);
    scan(processes, |number, _, _, pidfd| {
        found[number] = Some(pidfd);
        false
    })?;
    Ok(found)
}

fn group_of(process: &Process) -> Option<Pid> {
    // Number 1 as a group would be "everybody" in some calls, and is never a job.
    i32::try_from(process.pid).ok().filter(|pid| *pid > 1).and_then(Pid::from_raw)
}

fn send(pidfd: BorrowedFd<'_>, signal: Signal) -> io::Result<bool> {
    match pidfd_send_signal(pidfd, signal) {
        Ok(()) => {}
        Err(Errno::SRCH) => return Ok(false),
        Err(error) => return Err(error.into()),
    }
    if signal == Signal::TERM {
        let _ = pidfd_send_signal(pidfd, Signal::CONT);
    }
    Ok(true)
}

/// A group that may have members.
struct Group {
    /// Which of those that were asked for.
    number: usize,
    start_ticks: u64,
}

/// Calls `found` with every process of these groups but their leaders, and with the number
/// of its group, until that says that it has heard enough of this one.
fn scan<'a>(
    processes: impl IntoIterator<Item = &'a Process>,
    mut found: impl FnMut(usize, u32, &Stat, OwnedFd) -> bool,
) -> io::Result<()> {
    let mut groups = HashMap::new();
    for (number, process) in processes.into_iter().enumerate() {
        let (Some(group), Some(start_ticks)) = (group_of(process), process.start_ticks) else {
            continue;
        };
        if process.boot_id.as_deref() != Some(boot_id()?)
            || test_kill_process_group(group) == Err(Errno::SRCH)
        {
            continue;
        }
        // A leader of the same number that began at another time leads another group.
        if Stat::of(process.pid)?.is_none_or(|stat| stat.start_ticks == start_ticks) {
            groups.insert(process.pid, Group { number, start_ticks });
        }
    }
    if groups.is_empty() {
        return Ok(());
    }
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        // Most are not, and need no descriptor to tell.
        let stat = match Stat::of(pid) {
            // What we may not even look at is somebody else's.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
            other => other?,
        };
        let Some(stat) = stat.filter(|stat| stat.group != pid) else { continue };
        let Some(group) = groups.get(&stat.group) else { continue };
        // Each job is a session of its own; what is in its group, is in that, too, and
        // began after it.
        let ours = |now: &Stat| {
            now.group == stat.group
                && now.session == stat.group
                && now.start_ticks >= group.start_ticks
                && now.start_ticks == stat.start_ticks
        };
        if ours(&stat)
            && let Some(pidfd) = open_if(pid, ours)?
            && !found(group.number, pid, &stat, pidfd)
        {
            groups.remove(&stat.group);
            if groups.is_empty() {
                break;
            }
        }
    }
    Ok(())
}
