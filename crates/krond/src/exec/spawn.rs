//! One start: makes the set-up process, and a companion if it needs one.
//!
//! Runs in a thread of the [launcher](super::launcher). Uses `posix_spawn` by
//! way of `std`, whose cost does not grow with the daemon's memory; a plain fork
//! would copy its page tables.

use super::gate::Gate;
use super::launcher::{Options, Order, Refusal, Target};
use super::{LAUNCH, SYSLOG, process, syslog, wire};
use kron_engine::kept::Process;
use kron_host::launch::{Ids, Sink};
use rustix::pipe::{PipeFlags, pipe_with};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
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
struct Held(Option<Child>);

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub(super) fn spawn(
    options: &Options,
    order: Order,
) -> Result<(Prepared, Option<Companion>), Refusal> {
    let mut plan = (order.plan)().map_err(Refusal::Plan)?;
    let (mut ours, theirs) = UnixStream::pair()?;
    let mut command = Command::new(&options.program);
    command.arg(LAUNCH).stdin(OwnedFd::from(theirs));

    let to_syslog = order.stdout == Target::Syslog || order.stderr == Target::Syslog;
    let journal = to_syslog && options.journal.exists();
    let sink = |target: Target| match target {
        Target::Discard => Sink::Discard,
        Target::File(path) => Sink::File(path.into()),
        Target::Syslog if journal => {
            Sink::Journal { socket: options.journal.clone(), tag: order.tag.clone() }
        }
        // A pipe to the system log it has from the beginning.
        Target::Inherit | Target::Syslog => Sink::Inherit,
    };
    let mut pipe = None;
    if to_syslog && !journal {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(io::Error::from)?;
        if order.stderr == Target::Syslog {
            command.stderr(writer.try_clone()?);
        }
        if order.stdout == Target::Syslog {
            command.stdout(writer);
        }
        pipe = Some(reader);
    }
    plan.stdout = sink(order.stdout);
    plan.stderr = sink(order.stderr);
    let text = wire::encode(&plan)?;

    let child = command.spawn()?;
    // Their ends of socket and pipe.
    drop(command);
    let pid = child.id();
    let mut held = Held(Some(child));
    let pidfd = process::open(pid).map_err(io::Error::from)?;
    let process = process::observe(pid)?;
    let companion = pipe
        .map(|pipe| accompany(options, pipe, plan.ids.as_ref(), &order.tag, pid))
        .transpose()?;
    // Last: as long as it has no plan, it can be ended without waiting.
    ours.set_write_timeout(Some(PATIENCE))?;
    ours.write_all(&text)?;
    held.0 = None;
    Ok((Prepared { process, pidfd, gate: Gate::new(ours) }, companion))
}

fn accompany(
    options: &Options,
    pipe: OwnedFd,
    ids: Option<&Ids>,
    tag: &str,
    pid: u32,
) -> io::Result<Companion> {
    let child = Command::new(&options.program)
        .arg(SYSLOG)
        .args(syslog::words(&options.syslog, ids, tag, pid))
        .stdin(pipe)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let pid = child.id();
    let mut held = Held(Some(child));
    let pidfd = process::open(pid).map_err(io::Error::from)?;
    held.0 = None;
    Ok((pid, pidfd))
}
