//! One start: makes the set-up process, and a companion if it needs one.
//!
//! Runs in a thread of the [launcher](super::launcher), with the help of a
//! [nursery](super::nursery).

use super::gate::Gate;
use super::launcher::{Options, Order, Refusal, Target};
use super::nursery::Descriptors;
use super::stray::{self, Making};
use super::{SYSLOG, process, syslog, wire};
use crate::crash;
use kron_engine::kept::Process;
use kron_host::launch::{Ids, Sink};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, pidfd_send_signal, waitpid};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long a set-up process may take to read its plan. It does nothing else
/// until then.
const PATIENCE: Duration = Duration::from_secs(10);

/// A process that will say whether it is ready, and wait.
#[derive(Debug)]
pub struct Prepared {
    /// The process, which becomes the command.
    pub process: Process,
    /// The same as a descriptor; readable once it has ended.
    pub pidfd: OwnedFd,
    /// Where it waits.
    pub gate: Gate,
}

/// A companion: its number, and its descriptor.
pub(super) type Companion = (u32, OwnedFd);

/// A child that is ended and collected unless it is kept.
struct Held(Option<OwnedFd>);

impl Held {
    fn keep(mut self) -> io::Result<OwnedFd> {
        self.0.take().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(pidfd) = &self.0 {
            let _ = pidfd_send_signal(pidfd, Signal::KILL);
            // It has run nothing that could hold it up.
            let _ = process::wait(pidfd);
        }
    }
}

pub(super) fn spawn(
    options: &Options,
    order: Order,
    bear: impl FnOnce(Descriptors<'_>) -> io::Result<u32>,
) -> Result<(Prepared, Option<Companion>), Refusal> {
    let mut plan = (order.plan)().map_err(Refusal::Plan)?;
    crash::step("gate")?;
    let (mut ours, theirs) = UnixStream::pair()?;
    let to_syslog = order.stdout == Target::Syslog || order.stderr == Target::Syslog;
    let journal = to_syslog && options.journal.exists();
    if to_syslog && !journal && !options.syslog.exists() {
        let (journal, syslog) = (options.journal.display(), options.syslog.display());
        let message = format!("there is no system log: neither `{journal}` nor `{syslog}`");
        return Err(Refusal::Spawn(io::Error::new(io::ErrorKind::NotFound, message)));
    }
    let sink = |target: Target| match target {
        Target::Discard => Sink::Discard,
        Target::File(path) => Sink::File(path.into()),
        Target::Syslog if journal => {
            Sink::Journal { socket: options.journal.clone(), tag: order.tag.clone() }
        }
        // A pipe to the system log it has from the beginning.
        Target::Inherit | Target::Syslog => Sink::Inherit,
    };
    let pipe = if to_syslog && !journal {
        crash::step("pipe")?;
        Some(pipe_with(PipeFlags::CLOEXEC).map_err(io::Error::from)?)
    } else {
        None
    };
    let writer = pipe.as_ref().map(|(_, writer)| writer.as_fd());
    let stdout = writer.filter(|_| order.stdout == Target::Syslog);
    let stderr = writer.filter(|_| order.stderr == Target::Syslog);
    crash::step("fork")?;
    let pid = bear(Descriptors { gate: theirs.as_fd(), stdout, stderr })?;
    let opened = crash::step("pidfd").and_then(|()| Ok(process::open(pid)?));
    let pidfd = match opened {
        Ok(pidfd) => pidfd,
        Err(error) => {
            // It sees its gate close and ends; nobody else would collect it.
            drop((ours, theirs));
            let _ = waitpid(i32::try_from(pid).ok().and_then(Pid::from_raw), WaitOptions::empty());
            return Err(Refusal::Spawn(error));
        }
    };
    let held = Held(Some(pidfd));
    crash::step("observe")?;
    let process = process::observe(pid)?;
    // Their ends of socket and pipe.
    drop(theirs);
    let pipe = pipe.map(|(reader, _)| reader);
    plan.stdout = sink(order.stdout);
    plan.stderr = sink(order.stderr);
    let text = wire::encode(&plan)?;

    let companion = pipe
        .map(|pipe| accompany(options, pipe, plan.ids.as_ref(), &order.tag, pid))
        .transpose()?;
    // Last: as long as it has no plan, it can be ended without waiting.
    ours.set_write_timeout(Some(PATIENCE))?;
    crash::step("plan")?;
    // If it is gone already, another may live.
    ours.write_all(&text).map_err(|_| io::Error::from(rustix::io::Errno::AGAIN))?;
    let pidfd = held.keep()?;
    let companion = companion.map(|(pid, held)| Ok::<_, io::Error>((pid, held.keep()?)));
    Ok((Prepared { process, pidfd, gate: Gate::new(ours) }, companion.transpose()?))
}

fn accompany(
    options: &Options,
    pipe: OwnedFd,
    ids: Option<&Ids>,
    tag: &str,
    pid: u32,
) -> io::Result<(u32, Held)> {
    crash::step("companion")?;
    let making = Making::begin();
    let mut child = Command::new(&options.program)
        .arg(SYSLOG)
        .args(syslog::words(&options.syslog, ids, tag, pid))
        .stdin(pipe)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let pid = child.id();
    stray::note_child(pid);
    drop(making);
    match process::open(pid) {
        Ok(pidfd) => Ok((pid, Held(Some(pidfd)))),
        Err(error) => {
            let _ = child.kill();
            let _ = child.wait();
            Err(error.into())
        }
    }
}
