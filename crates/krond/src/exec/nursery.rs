//! A small process that makes set-up processes.
//!
//! Executing this program costs more than all the rest of a start, so it is done
//! beforehand: the nursery waits for orders, copies itself for each, and the copies
//! are the daemon's own children. One is always at hand; while many starts are
//! asked for at once, there are more.
//!
//! The daemon sends a byte with the descriptors of a start (its gate, and where
//! output goes if that is a pipe), and gets back the number of the process, or
//! the error number, negative.

use super::{LAUNCH, setup};
use kron_host::sibling::{Born, Siblings};
use nix::errno::Errno;
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

/// How long a nursery may take to make a process: it does nothing else.
const PATIENCE: Duration = Duration::from_secs(10);
/// Which descriptors come with a byte, besides the gate.
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
/// Gate, standard output, standard error.
const MOST: usize = 3;

/// The daemon's side.
#[derive(Debug)]
pub(super) struct Nursery {
    child: Child,
    /// Closed first, which is what ends it.
    socket: Option<UnixStream>,
}

impl Nursery {
    /// Makes a process that begins as [`setup::run`] does, with this gate. Begins
    /// a nursery if there is none. After a failure the gate is of no use.
    pub fn bear(
        nursery: &mut Option<Self>,
        program: &Path,
        gate: BorrowedFd<'_>,
        stdout: Option<BorrowedFd<'_>>,
        stderr: Option<BorrowedFd<'_>>,
    ) -> io::Result<u32> {
        let current = match nursery {
            Some(known) => known,
            None => nursery.insert(Self::begin(program)?),
        };
        match current.ask(gate, stdout, stderr) {
            Ok(answer) => answer,
            // It may have made a process before it failed. That one has the gate, so
            // nobody else may get it; with the gate closed, it ends.
            Err(_) => {
                drop(nursery.take());
                Err(Errno::EAGAIN.into())
            }
        }
    }

    /// Begins one.
    pub fn begin(program: &Path) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(PATIENCE))?;
        let child = Command::new(program).arg(LAUNCH).stdin(OwnedFd::from(theirs)).spawn()?;
        Ok(Self { child, socket: Some(ours) })
    }

    /// Whether it is still there: somebody may have ended it while it was idle.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// The outer error is the nursery's, the inner that of the process.
    fn ask(
        &mut self,
        gate: BorrowedFd<'_>,
        stdout: Option<BorrowedFd<'_>>,
        stderr: Option<BorrowedFd<'_>>,
    ) -> io::Result<io::Result<u32>> {
        let socket = self.socket.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        let byte = stdout.map_or(0, |_| STDOUT) | stderr.map_or(0, |_| STDERR);
        let descriptors: Vec<BorrowedFd<'_>> =
            [Some(gate), stdout, stderr].into_iter().flatten().collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
        sendmsg(&*socket, &[IoSlice::new(&[byte])], &mut control, SendFlags::NOSIGNAL)?;
        let mut answer = [0; 4];
        socket.read_exact(&mut answer)?;
        let answer = i32::from_le_bytes(answer);
        Ok(u32::try_from(answer).map_err(|_| io::Error::from_raw_os_error(-answer)))
    }
}

impl Drop for Nursery {
    fn drop(&mut self) {
        drop(self.socket.take());
        // It would end by itself; but nobody has to wait for that.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Exit code of a nursery that could not work.
const BROKEN: u8 = 125;

/// The nursery itself; and, in each copy, a set-up process.
pub(super) fn run() -> u8 {
    let Ok(mut siblings) = Siblings::new() else { return BROKEN };
    // The daemon's first words come on standard input.
    let Ok(socket) = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3) else {
        return BROKEN;
    };
    let mut socket = UnixStream::from(socket);
    loop {
        let order = match receive(&socket) {
            Ok(Some(order)) => order,
            Ok(None) => return 0,
            Err(_) => return BROKEN,
        };
        let answer = match siblings.make() {
            // At once: the descriptors that are still owned here are closed already.
            Ok(Born::Here) => std::process::exit(become_it(&order).into()),
            Ok(Born::Beside(pid)) => pid.cast_signed(),
            Err(errno) => -(errno as i32),
        };
        if socket.write_all(&answer.to_le_bytes()).is_err() {
            return BROKEN;
        }
    }
}

/// The descriptors of a start.
struct Delivery {
    gate: OwnedFd,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
}

fn receive(socket: &UnixStream) -> io::Result<Option<Delivery>> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let mut slices = [IoSliceMut::new(&mut byte)];
        match recvmsg(socket, &mut slices, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other?,
        }
    };
    if received.bytes == 0 {
        return Ok(None);
    }
    let mut descriptors: Vec<OwnedFd> = Vec::with_capacity(MOST);
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    let mut descriptors = descriptors.into_iter();
    let gate = descriptors.next().ok_or(io::ErrorKind::InvalidData)?;
    let stdout = if byte[0] & STDOUT == 0 { None } else { descriptors.next() };
    let stderr = if byte[0] & STDERR == 0 { None } else { descriptors.next() };
    Ok(Some(Delivery { gate, stdout, stderr }))
}

/// Puts the descriptors where they belong; everything else is closed by the
/// set-up itself.
fn become_it(order: &Delivery) -> u8 {
    let stdout = order.stdout.as_ref().map_or(Ok(()), dup2_stdout);
    let stderr = order.stderr.as_ref().map_or(Ok(()), dup2_stderr);
    if stdout.and(stderr).and(dup2_stdin(&order.gate)).is_err() {
        return Errno::EBADF as u8;
    }
    setup::run()
}
