//! The other end of the socket: asks a running daemon.

use super::{Refusal, Reply, Request, server};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_peercred};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use rustix::process::{PidfdFlags, pidfd_open};
use serde_json::Value;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Why there is no answer.
#[derive(Debug)]
pub enum NoAnswer {
    /// Nobody listens.
    NotRunning(io::Error),
    /// The daemon said no.
    Refused(Refusal),
    /// The daemon ended first.
    Died,
    /// The daemon closed the conversation.
    Closed,
    /// The daemon listens, and says nothing.
    Silent,
    /// The conversation broke off.
    BrokenOff(io::Error),
}

/// A conversation with the daemon.
#[derive(Debug)]
pub struct Conversation {
    reader: BufReader<UnixStream>,
    /// The daemon's process, if it can be seen from here.
    daemon: Option<OwnedFd>,
}

/// How long a daemon may take for an answer that it need not wait for itself.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the process of a daemon may outlive its last conversation.
const PARTING: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };

impl Conversation {
    /// Asks something.
    ///
    /// # Errors
    /// When there is nobody to ask.
    pub fn begin(socket: &Path, request: &Request) -> Result<Self, NoAnswer> {
        let (_directory, short) =
            server::short(socket).map_err(|errno| NoAnswer::NotRunning(errno.into()))?;
        let mut stream = connect(&short).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => NoAnswer::Silent,
            _ => NoAnswer::NotRunning(error),
        })?;
        let daemon = peer(&stream);
        let mut line = serde_json::to_vec(request)
            .map_err(|error| NoAnswer::BrokenOff(io::Error::other(error)))?;
        line.push(b'\n');
        if request.is_answered_at_once() {
            stream.set_read_timeout(Some(PATIENCE)).map_err(NoAnswer::BrokenOff)?;
        }
        stream.write_all(&line).map_err(|error| match error.kind() {
            ErrorKind::BrokenPipe => NoAnswer::Closed,
            _ => NoAnswer::BrokenOff(error),
        })?;
        Ok(Self { reader: BufReader::new(stream), daemon })
    }

    /// Hands over each row of the answer, then gives its end.
    ///
    /// # Errors
    /// When the daemon says no, or nothing.
    pub fn finish(&mut self, mut row: impl FnMut(Value)) -> Result<Value, NoAnswer> {
        let mut line = String::new();
        loop {
            line.clear();
            let end = match self.reader.read_line(&mut line) {
                Ok(0) => Some(NoAnswer::Closed),
                Ok(_) => None,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Err(NoAnswer::Silent);
                }
                Err(error) => Some(NoAnswer::BrokenOff(error)),
            };
            if let Some(end) = end {
                return Err(if self.has_ended(Some(&PARTING)) { NoAnswer::Died } else { end });
            }
            match serde_json::from_str(&line) {
                Ok(Reply::Row(value)) => row(value),
                Ok(Reply::Done(value)) => return Ok(value),
                Ok(Reply::Failed(refusal)) => return Err(NoAnswer::Refused(refusal)),
                Err(error) => return Err(NoAnswer::BrokenOff(io::Error::other(error))),
            }
        }
    }

    /// Waits until the daemon is gone, with everything it held.
    pub fn wait_for_the_end(mut self) {
        if self.daemon.is_some() {
            self.has_ended(None);
        } else {
            let _ = io::Read::read_to_end(&mut self.reader, &mut Vec::new());
        }
    }

    /// Whether the process of the daemon ends within this time.
    fn has_ended(&self, within: Option<&Timespec>) -> bool {
        let Some(daemon) = &self.daemon else { return false };
        let mut fds = [PollFd::new(daemon, PollFlags::IN)];
        loop {
            match poll(&mut fds, within) {
                Err(Errno::INTR) => {}
                other => return other.is_ok_and(|ready| ready > 0),
            }
        }
    }
}

/// A connection, unless so many wait at the other end that there is no place within the time.
fn connect(path: &Path) -> io::Result<UnixStream> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(PATIENCE))?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket.into())
}

/// The process at the other end; none if it is not to be seen from here, as in a container.
fn peer(stream: &UnixStream) -> Option<OwnedFd> {
    let pid = socket_peercred(stream).ok()?.pid;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}
