//! A small process that makes set-up processes.
//!
//! Executing this program costs more than all the rest of a start, so it is done
//! beforehand: the nursery waits for orders, copies itself for each, and the copies
//! are the daemon's own children. One is at hand when something is due soon; while many
//! starts are asked for at once, there are more; after them, none.
//!
//! The daemon sends a byte with the descriptors of a start (its gate, and where
//! output goes if that is a pipe), and gets back the number of the process, or
//! the error number, negative.

use super::stray::{self, Making};
use super::{LAUNCH, setup};
use kron_host::sibling::{Born, Siblings};
use nix::errno::Errno;
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a nursery may take to make a process: it does nothing else.
const PATIENCE: Duration = Duration::from_secs(10);
/// Which descriptors come with a byte, besides the gate.
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
/// Gate, standard output, standard error.
const MOST: usize = 3;

/// The nurseries of a daemon.
#[derive(Debug, Default)]
pub(super) struct Nurseries {
    pool: Mutex<Pool>,
    returned: Condvar,
}

#[derive(Debug, Default)]
struct Pool {
    idle: Vec<Nursery>,
    in_use: usize,
    last_used: Option<Instant>,
}

/// What a set-up process gets: its gate, and where output goes if that is a pipe.
#[derive(Clone, Copy)]
pub(super) struct Descriptors<'a> {
    pub gate: BorrowedFd<'a>,
    pub stdout: Option<BorrowedFd<'a>>,
    pub stderr: Option<BorrowedFd<'a>>,
}

impl Nurseries {
    /// Has one at hand.
    pub fn open(&self, program: &Path) -> io::Result<()> {
        let mut pool = self.pool();
        pool.last_used = Some(Instant::now());
        pool.idle.retain_mut(Nursery::is_alive);
        if pool.idle.is_empty() && pool.in_use == 0 {
            pool.idle.push(Nursery::begin(program, &Making::begin())?);
        }
        Ok(())
    }

    /// Whether there are any.
    pub fn is_open(&self) -> bool {
        let pool = self.pool();
        pool.in_use > 0 || !pool.idle.is_empty()
    }

    /// Ends those that wait, unless one was needed within this time.
    pub fn close(&self, idle: Duration) {
        let mut pool = self.pool();
        if pool.last_used.is_none_or(|at| at.elapsed() >= idle) {
            let superfluous = std::mem::take(&mut pool.idle);
            drop(pool);
            drop(superfluous);
        }
    }

    /// Makes a process that begins as [`setup::run`] does. After a failure its gate
    /// is of no use. Unless it is crowded, waits for a nursery that is in use: beginning
    /// another takes as long as several starts.
    pub fn bear(
        &self,
        program: &Path,
        descriptors: Descriptors<'_>,
        is_crowded: impl Fn() -> bool,
    ) -> io::Result<u32> {
        let nursery = self.take(&is_crowded);
        let making = Making::begin();
        let mut nursery = nursery.map_or_else(|| Nursery::begin(program, &making), Ok);
        let answer = match &mut nursery {
            Ok(nursery) => nursery.ask(descriptors),
            Err(_) => Ok(Err(Errno::EAGAIN.into())),
        };
        let (nursery, result) = match (nursery, answer) {
            (Ok(nursery), Ok(answer)) => {
                if let Ok(pid) = &answer {
                    stray::note_child(*pid);
                }
                (Some(nursery), answer)
            }
            // It may have made a process before it failed. That one has the gate, so
            // nobody else may get it; with the gate closed, it ends.
            (Ok(nursery), Err(_)) => {
                stray::suspect(nursery.child.id());
                // Whatever it makes, it has made when it is gone.
                drop(nursery);
                (None, Err(Errno::EAGAIN.into()))
            }
            (Err(error), _) => (None, Err(error)),
        };
        drop(making);
        self.put_by(nursery, is_crowded());
        result
    }

    /// A nursery, or leave to begin one.
    fn take(&self, is_crowded: impl Fn() -> bool) -> Option<Nursery> {
        let mut pool = self.pool();
        loop {
            while let Some(mut nursery) = pool.idle.pop() {
                if nursery.is_alive() {
                    pool.in_use += 1;
                    return Some(nursery);
                }
            }
            if pool.in_use == 0 || is_crowded() {
                pool.in_use += 1;
                return None;
            }
            pool = self.returned.wait(pool).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Keeps a nursery for the next start, unless there is one and no crowd: then it
    /// ends.
    fn put_by(&self, nursery: Option<Nursery>, is_crowded: bool) {
        let mut pool = self.pool();
        pool.in_use -= 1;
        pool.last_used = Some(Instant::now());
        let superfluous = match nursery {
            Some(nursery) if pool.idle.is_empty() || is_crowded => {
                pool.idle.push(nursery);
                None
            }
            other => other,
        };
        // Ending one is not waited for by others.
        drop(pool);
        self.returned.notify_one();
        drop(superfluous);
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The daemon's side of one.
#[derive(Debug)]
struct Nursery {
    child: Child,
    /// Closed first, which is what ends it.
    socket: Option<UnixStream>,
}

impl Nursery {
    /// Begins one.
    fn begin(program: &Path, _making: &Making) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(PATIENCE))?;
        let child = Command::new(program).arg(LAUNCH).stdin(OwnedFd::from(theirs)).spawn()?;
        stray::note_nursery(child.id(), true);
        Ok(Self { child, socket: Some(ours) })
    }

    /// Whether it is still there: somebody may have ended it while it was idle.
    fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// The outer error is the nursery's, the inner that of the process.
    fn ask(&mut self, descriptors: Descriptors<'_>) -> io::Result<io::Result<u32>> {
        let Descriptors { gate, stdout, stderr } = descriptors;
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
        stray::note_nursery(self.child.id(), false);
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
    let mut socket = File::from(socket);
    loop {
        let order = match receive(&socket) {
            Ok(Some(order)) => order,
            Ok(None) => return 0,
            Err(_) => return BROKEN,
        };
        let answer = match siblings.make() {
            Ok(Born::Here) => {
                // What the nursery owns the copy must not, before it closes the rest.
                drop(socket);
                std::process::exit(become_it(order).into())
            }
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

fn receive(socket: &File) -> io::Result<Option<Delivery>> {
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

/// Puts the descriptors where they belong, and owns none from then on; what it was handed
/// down besides is closed by the set-up itself.
fn become_it(order: Delivery) -> u8 {
    let stdout = order.stdout.as_ref().map_or(Ok(()), dup2_stdout);
    let stderr = order.stderr.as_ref().map_or(Ok(()), dup2_stderr);
    if stdout.and(stderr).and(dup2_stdin(&order.gate)).is_err() {
        return Errno::EBADF as u8;
    }
    drop(order);
    setup::run()
}
