//! The other end of the socket: asks a running daemon.

use super::{Refusal, Reply, Request, server};
use serde_json::Value;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Why there is no answer.
#[derive(Debug)]
pub enum NoAnswer {
    /// Nobody listens.
    NotRunning(io::Error),
    /// The daemon said no.
    Refused(Refusal),
    /// The conversation broke off.
    BrokenOff(io::Error),
}

/// A conversation with the daemon.
#[derive(Debug)]
pub struct Conversation {
    reader: BufReader<UnixStream>,
}

impl Conversation {
    /// Asks something.
    ///
    /// # Errors
    /// When there is nobody to ask.
    pub fn begin(socket: &Path, request: &Request) -> Result<Self, NoAnswer> {
        let (_directory, short) = server::short(socket).map_err(NoAnswer::NotRunning)?;
        let mut stream = UnixStream::connect(short).map_err(NoAnswer::NotRunning)?;
        let mut line = serde_json::to_vec(request)
            .map_err(|error| NoAnswer::BrokenOff(io::Error::other(error)))?;
        line.push(b'\n');
        stream.write_all(&line).map_err(NoAnswer::BrokenOff)?;
        Ok(Self { reader: BufReader::new(stream) })
    }

    /// Hands over each row of the answer, then gives its end.
    ///
    /// # Errors
    /// When the daemon says no, or nothing.
    pub fn finish(&mut self, mut row: impl FnMut(Value)) -> Result<Value, NoAnswer> {
        let mut line = String::new();
        loop {
            line.clear();
            let length = self.reader.read_line(&mut line).map_err(NoAnswer::BrokenOff)?;
            if length == 0 {
                let error = io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the daemon closed the conversation without an answer",
                );
                return Err(NoAnswer::BrokenOff(error));
            }
            match serde_json::from_str(&line) {
                Ok(Reply::Row(value)) => row(value),
                Ok(Reply::Done(value)) => return Ok(value),
                Ok(Reply::Failed(refusal)) => return Err(NoAnswer::Refused(refusal)),
                Err(error) => return Err(NoAnswer::BrokenOff(io::Error::other(error))),
            }
        }
    }

    /// Waits until the daemon is gone.
    pub fn wait_for_the_end(mut self) {
        let mut rest = Vec::new();
        let _ = io::Read::read_to_end(&mut self.reader, &mut rest);
    }
}
