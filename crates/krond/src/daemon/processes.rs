//! The processes of runs: at the gate, running, and what is left of them.

use crate::crash;
use crate::exec::{Gate, Prepared, Released, group, process};
use crate::poll::{Interest, Poll, Source};
use kron_engine::event::{Exit, RunId};
use kron_engine::kept::Process;
use rustix::process::{Signal, pidfd_send_signal};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// All processes the daemon has to do with.
#[derive(Debug, Default)]
pub(super) struct Processes {
    runs: BTreeMap<RunId, Tended>,
    /// Runs whose process is being made, with the user it becomes.
    expected: BTreeMap<RunId, Option<Box<str>>>,
    /// Children that nobody asks about any more, until they can be reaped.
    remains: BTreeMap<u32, OwnedFd>,
}

/// The process of a run.
#[derive(Debug)]
pub(super) struct Tended {
    pub process: Process,
    pub pidfd: OwnedFd,
    /// Whether it is our child, and not an earlier daemon's.
    pub is_child: bool,
    pub gate: Door,
    /// The user it becomes.
    pub user: Option<Box<str>>,
    /// Uptime at which somebody began to make it.
    pub begun: Duration,
    /// Another process of its group that is waited for.
    pub member: Option<OwnedFd>,
}

/// The gate of a process.
#[derive(Debug)]
pub(super) enum Door {
    /// It is on its way there.
    Closed(Gate),
    /// It waits there.
    Reached(Gate),
    /// It went through; what it still has to say is why it could not go on.
    Open(Released),
    /// It went through long ago.
    None,
}

impl Processes {
    /// A process is being made.
    pub fn expect(&mut self, run: RunId, user: Option<Box<str>>) {
        self.expected.insert(run, user);
    }

    /// A process was made. `false` if nobody wants it any more.
    pub fn arrived(
        &mut self,
        run: RunId,
        prepared: Prepared,
        begun: Duration,
        poll: &Poll,
    ) -> std::io::Result<bool> {
        let Some(user) = self.expected.remove(&run) else {
            self.end(prepared.process.pid, prepared.pidfd, poll);
            return Ok(false);
        };
        let Prepared { process, pidfd, gate } = prepared;
        let watched = crash::step("watch")
            .and_then(|()| poll.add(gate.fd(), Source::Gate(run), Interest::Read))
            .and_then(|()| poll.add(&pidfd, Source::Process(run), Interest::Read));
        if let Err(error) = watched {
            self.end(process.pid, pidfd, poll);
            return Err(error);
        }
        let gate = Door::Closed(gate);
        let tended = Tended { process, pidfd, is_child: true, gate, user, begun, member: None };
        self.runs.insert(run, tended);
        Ok(true)
    }

    /// A process could not be made. `false` if nobody wanted it any more.
    pub fn failed(&mut self, run: RunId) -> bool {
        self.expected.remove(&run).is_some()
    }

    /// A process that an earlier daemon started.
    pub fn adopt(
        &mut self,
        run: RunId,
        process: Process,
        pidfd: OwnedFd,
        poll: &Poll,
    ) -> std::io::Result<()> {
        poll.add(&pidfd, Source::Process(run), Interest::Read)?;
        let tended = Tended {
            process,
            pidfd,
            is_child: false,
            gate: Door::None,
            user: None,
            begun: Duration::ZERO,
            member: None,
        };
        self.runs.insert(run, tended);
        Ok(())
    }

    pub fn get(&mut self, run: RunId) -> Option<&mut Tended> {
        self.runs.get_mut(&run)
    }

    /// Closes a gate for good; whatever is behind it ends.
    pub fn abandon(&mut self, run: RunId, poll: &Poll) {
        self.expected.remove(&run);
        if let Some(tended) = self.runs.remove(&run) {
            drop(tended.gate);
            poll.remove(&tended.pidfd);
            self.end(tended.process.pid, tended.pidfd, poll);
        }
    }

    /// Ends a child that has not become a command, and reaps it when it is dead.
    fn end(&mut self, pid: u32, pidfd: OwnedFd, poll: &Poll) {
        let _ = pidfd_send_signal(&pidfd, Signal::KILL);
        if !matches!(process::reap(&pidfd), Ok(None)) {
            return;
        }
        if poll.add(&pidfd, Source::Remains(pid), Interest::Read).is_ok() {
            self.remains.insert(pid, pidfd);
        }
    }

    /// Reaps a child that nobody asks about.
    pub fn bury(&mut self, pid: u32) {
        if let Some(pidfd) = self.remains.remove(&pid) {
            let _ = process::reap(&pidfd);
        }
    }

    /// A run is over.
    pub fn forget(&mut self, run: RunId) {
        if let Some(tended) = self.runs.remove(&run)
            && tended.is_child
        {
            let _ = process::reap(&tended.pidfd);
        }
    }
}

impl Tended {
    /// Whether nothing is left of a child that has ended, which is so after almost every run;
    /// if it cannot be told, it is not. The child is collected: as long as others are in its
    /// group, its number is not given to anybody else.
    pub fn is_alone(&mut self) -> bool {
        if self.is_child {
            if !matches!(process::reap(&self.pidfd), Ok(Some(_))) {
                return false;
            }
            self.is_child = false;
        }
        group::is_gone(&self.process)
    }

    /// How the process ended. It is not reaped yet: while it is there, nothing
    /// else can have its number.
    pub fn exit(&self) -> Exit {
        if !self.is_child {
            return Exit::UNSEEN;
        }
        match process::peek(&self.pidfd) {
            Ok(Some(exit)) => Exit { code: Some(exit.code), signal: exit.signal },
            Ok(None) | Err(_) => Exit::UNSEEN,
        }
    }
}
