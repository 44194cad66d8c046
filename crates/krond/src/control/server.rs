//! The daemon's end of the socket. Nobody who is slow, silent or talks too much
//! holds up anything: no call here waits.

use super::inbox::{Inbox, Said};
use super::{Reply, Request};
use crate::poll::{Interest, Poll, Source};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::geteuid;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Most conversations at once; beyond that the oldest is ended.
const CLIENTS: usize = 64;

/// Most that are let in at once: who knocks faster than we open must not keep us
/// from everything else.
const AT_ONCE: usize = 16;

/// Enough to send for now: more rows are made when this has gone out.
pub const ENOUGH: usize = 256 * 1024;

/// The socket, and those who talk.
#[derive(Debug)]
pub struct Server {
    listener: UnixListener,
    path: PathBuf,
    clients: BTreeMap<u32, Client>,
    next: u32,
    is_deaf: bool,
}

/// Somebody who talks.
#[derive(Debug)]
struct Client {
    stream: UnixStream,
    inbox: Inbox,
    output: Vec<u8>,
    sent: usize,
    /// Whether the last line is in the output.
    is_answered: bool,
    is_asking: bool,
}

/// What became of a client that was ready.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// Nothing to be done.
    Nothing,
    /// It asks this.
    Request(Request),
    /// Its output is sent, and its answer goes on.
    Hungry,
    /// It is gone.
    Gone,
}

/// Whether a client takes more of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appetite {
    /// At once.
    More,
    /// When what it has is sent.
    Enough,
    /// It is gone.
    Gone,
}

/// A path for a socket however long the real one is: the system takes 107 bytes.
/// The descriptor must live as long as the path is used.
pub(super) fn short(path: &Path) -> Result<(Option<rustix::fd::OwnedFd>, PathBuf), Errno> {
    const LONGEST: usize = 107;
    if path.as_os_str().len() <= LONGEST {
        return Ok((None, path.into()));
    }
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Errno::INVAL);
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(rustix::fs::CWD, parent, flags, Mode::empty())?;
    let path = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name);
    Ok((Some(directory), path))
}

impl Server {
    /// Opens the socket. Whoever holds the lock of the state directory owns the
    /// socket, so one that is left over is removed.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::FileTypeExt;
        match fs::symlink_metadata(path) {
            Ok(old) if old.file_type().is_socket() => {
                if old_owner_listens(path) {
                    return Err(io::Error::new(ErrorKind::AddrInUse, "another daemon uses it"));
                }
                fs::remove_file(path)?;
            }
            Ok(_) => return Err(io::Error::new(ErrorKind::AlreadyExists, "it is not a socket")),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let (_directory, short) = short(path)?;
        let listener = UnixListener::bind(short)?;
        close_to_others(path)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, path: path.into(), clients: BTreeMap::new(), next: 1, is_deaf: false })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for whoever wants to talk.
    ///
    /// # Errors
    /// When that is impossible.
    pub fn register(&self, poll: &Poll) -> io::Result<()> {
        poll.add(&self.listener, Source::Control, Interest::Read)
    }

    /// Lets in those who may come in; the rest the next time. If that fails, nobody
    /// is listened to until [`Server::listen_again`]: it would fail again at once.
    pub fn accept(&mut self, poll: &Poll) {
        for _ in 0..AT_ONCE {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => {
                    poll.remove(&self.listener);
                    self.is_deaf = true;
                    return;
                }
            };
            if stream.set_nonblocking(true).is_err() || !may_talk(&stream) {
                continue;
            }
            if self.clients.len() >= CLIENTS {
                self.clients.pop_first();
            }
            let id = self.next;
            self.next = self.next.wrapping_add(1);
            if poll.add(&stream, Source::Client(id), Interest::Read).is_ok() {
                let client = Client {
                    stream,
                    inbox: Inbox::default(),
                    output: Vec::new(),
                    sent: 0,
                    is_answered: false,
                    is_asking: true,
                };
                self.clients.insert(id, client);
            }
        }
    }

    /// Listens again, if it does not.
    pub fn listen_again(&mut self, poll: &Poll) {
        if self.is_deaf && self.register(poll).is_ok() {
            self.is_deaf = false;
        }
    }

    /// A client has everything there is so far.
    pub fn pause(&mut self, id: u32, poll: &Poll) {
        if let Some(client) = self.clients.get(&id) {
            poll.remove(&client.stream);
        }
    }

    /// A client is ready to be read from or written to.
    pub fn ready(&mut self, id: u32, poll: &Poll) -> Heard {
        let Some(client) = self.clients.get_mut(&id) else { return Heard::Gone };
        let heard = if client.is_asking { client.listen() } else { client.send() };
        match heard {
            Heard::Gone => {
                self.clients.remove(&id);
            }
            Heard::Request(_) => {
                client.is_asking = false;
                // Until there is an answer, nothing of it is of interest; if it has gone
                // by then, that is noticed then.
                poll.remove(&client.stream);
            }
            Heard::Nothing | Heard::Hungry => {}
        }
        heard
    }

    /// Gives a client a part of its answer.
    pub fn reply(&mut self, id: u32, reply: &Reply, poll: &Poll) -> Appetite {
        let Some(client) = self.clients.get_mut(&id) else { return Appetite::Gone };
        if client.output.is_empty() {
            poll.remove(&client.stream);
            if poll.add(&client.stream, Source::Client(id), Interest::Write).is_err() {
                self.clients.remove(&id);
                return Appetite::Gone;
            }
        }
        if serde_json::to_writer(&mut client.output, reply).is_ok() {
            client.output.push(b'\n');
        }
        client.is_answered = !matches!(reply, Reply::Row(_));
        if client.output.len() < ENOUGH { Appetite::More } else { Appetite::Enough }
    }

    /// Sends what can be sent at once; the daemon ends.
    pub fn say_goodbye(&mut self) {
        for client in self.clients.values_mut() {
            let _ = client.send();
        }
        let _ = fs::remove_file(&self.path);
    }
}

/// Lets nobody else connect to a socket; does nothing to what a link in its place
/// may lead to.
fn close_to_others(path: &Path) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let socket = openat(rustix::fs::CWD, path, flags, Mode::empty())?;
    let itself = Path::new("/proc/self/fd").join(socket.as_raw_fd().to_string());
    fs::set_permissions(itself, fs::Permissions::from_mode(0o600))
}

/// Whether somebody listens at a socket that is there already; never waits.
fn old_owner_listens(path: &Path) -> bool {
    let knock = || {
        let (_directory, short) = short(path)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        connect(&socket, &SocketAddrUnix::new(&*short)?)
    };
    // Somebody who has as many callers as wait there is busy, not gone.
    matches!(knock(), Ok(()) | Err(Errno::AGAIN))
}

/// Only root and our own user may. Others learn nothing, not even why.
fn may_talk(stream: &UnixStream) -> bool {
    // Not by rustix, which has no answer for a peer whose number does not exist here: one
    // from outside a container.
    getsockopt(stream, PeerCredentials)
        .is_ok_and(|peer| peer.uid() == 0 || peer.uid() == geteuid().as_raw())
}

impl Client {
    fn listen(&mut self) -> Heard {
        let mut piece = [0; 4096];
        loop {
            let length = match self.stream.read(&mut piece) {
                Ok(0) => return Heard::Gone,
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Heard::Nothing,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return Heard::Gone,
            };
            match self.inbox.hear(&piece[..length]) {
                Said::Part => {}
                Said::Request(request) => return Heard::Request(request),
                Said::Nonsense => return Heard::Gone,
            }
        }
    }

    fn send(&mut self) -> Heard {
        while self.sent < self.output.len() {
            match self.stream.write(&self.output[self.sent..]) {
                Ok(0) => return Heard::Gone,
                Ok(length) => self.sent += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Heard::Nothing,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Heard::Gone,
            }
        }
        self.output.clear();
        self.sent = 0;
        if self.is_answered { Heard::Gone } else { Heard::Hungry }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A start does not wait for somebody whose socket has as many callers as fit.
    #[test]
    fn an_old_owner_that_is_busy() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("socket");
        let listens = |path: PathBuf| {
            let (tell, told) = std::sync::mpsc::channel();
            std::thread::spawn(move || tell.send(old_owner_listens(&path)));
            told.recv_timeout(std::time::Duration::from_secs(20)).expect("it waits")
        };
        assert!(!listens(path.clone()));
        let listener = UnixListener::bind(&path).unwrap();
        assert!(listens(path.clone()));
        rustix::net::listen(&listener, 0).unwrap();
        let mut callers = Vec::new();
        for _ in 0..4 {
            callers.push(std::thread::spawn({
                let path = path.clone();
                move || UnixStream::connect(path)
            }));
        }
        assert!(listens(path.clone()));
        drop(listener);
        assert!(!listens(path));
        for caller in callers {
            let _ = caller.join();
        }
    }

    /// Somebody who can write to the socket's directory puts a link in its place.
    #[test]
    fn no_mode_through_a_link() {
        let place = tempfile::tempdir().unwrap();
        let (target, link) = (place.path().join("target"), place.path().join("link"));
        fs::write(&target, "").unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o644)).unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert!(close_to_others(&link).is_err());
        assert_eq!(mode(&target), 0o644);
        let socket = place.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        close_to_others(&socket).unwrap();
        assert_eq!(mode(&socket), 0o600);
    }
}
