//! Serves the metrics page: just enough HTTP to be asked for one page.

use crate::poll::{Interest, Poll, Source};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};

/// Most readers at once; beyond that the oldest is dropped.
const READERS: usize = 16;
/// Most that are let in at once: who knocks faster than we open must not keep us
/// from everything else.
const AT_ONCE: usize = 16;
/// Longest request.
const REQUEST_BYTES: usize = 8 * 1024;

/// Those who measure us.
#[derive(Debug)]
pub(super) struct Scrapes {
    listener: TcpListener,
    readers: BTreeMap<u32, Reader>,
    next: u32,
    is_deaf: bool,
}

#[derive(Debug)]
struct Reader {
    stream: TcpStream,
    input: Vec<u8>,
    output: Vec<u8>,
    sent: usize,
}

impl Scrapes {
    pub fn new(listener: TcpListener, poll: &Poll) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        poll.add(&listener, Source::Metrics, Interest::Read)?;
        Ok(Self { listener, readers: BTreeMap::new(), next: 1, is_deaf: false })
    }

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
            if self.readers.len() >= READERS {
                self.readers.pop_first();
            }
            let id = self.next;
            self.next = self.next.wrapping_add(1);
            if stream.set_nonblocking(true).is_ok()
                && poll.add(&stream, Source::Scraper(id), Interest::Read).is_ok()
            {
                let reader = Reader { stream, input: Vec::new(), output: Vec::new(), sent: 0 };
                self.readers.insert(id, reader);
            }
        }
    }

    /// Listens again, if it does not: accepting failed.
    pub fn listen_again(&mut self, poll: &Poll) {
        if self.is_deaf && poll.add(&self.listener, Source::Metrics, Interest::Read).is_ok() {
            self.is_deaf = false;
        }
    }

    /// A reader is ready to be read from or written to.
    pub fn ready(&mut self, id: u32, poll: &Poll, page: impl FnOnce() -> String) {
        let Some(reader) = self.readers.get_mut(&id) else { return };
        if reader.output.is_empty() {
            match reader.ask() {
                Ok(None) => return,
                Ok(Some(path)) => {
                    reader.output = answer(&path, page);
                    let _ = poll.change(&reader.stream, Source::Scraper(id), Interest::Write);
                }
                Err(_) => {
                    self.readers.remove(&id);
                    return;
                }
            }
        }
        let Some(reader) = self.readers.get_mut(&id) else { return };
        if reader.send() {
            self.readers.remove(&id);
        }
    }
}

impl Reader {
    /// The path that is asked for, once the request is complete.
    fn ask(&mut self) -> io::Result<Option<String>> {
        let mut part = [0; 2048];
        loop {
            match self.stream.read(&mut part) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(length) => self.input.extend_from_slice(&part[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if self.input.windows(4).any(|end| end == b"\r\n\r\n") {
                let line = self.input.split(|b| *b == b'\r').next().unwrap_or_default();
                let line = String::from_utf8_lossy(line);
                let mut words = line.split(' ');
                let path = words.next().filter(|method| *method == "GET").and(words.next());
                return Ok(Some(path.unwrap_or_default().into()));
            }
            if self.input.len() > REQUEST_BYTES {
                return Err(ErrorKind::InvalidData.into());
            }
        }
    }

    /// Sends what can be sent. Returns whether that was all, or is of no use.
    fn send(&mut self) -> bool {
        while self.sent < self.output.len() {
            match self.stream.write(&self.output[self.sent..]) {
                Ok(0) => return true,
                Ok(length) => self.sent += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return true,
            }
        }
        true
    }
}

fn answer(path: &str, page: impl FnOnce() -> String) -> Vec<u8> {
    let (status, body) = match path.split('?').next().unwrap_or_default() {
        "/metrics" => ("200 OK", page()),
        _ => ("404 Not Found", String::from("metrics are at /metrics\n")),
    };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
