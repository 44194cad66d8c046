//! What a client has said so far: one line of JSON, in whatever pieces it comes.

use super::{REQUEST_BYTES, Request};

/// The beginning of a line; never more of it than a request may have.
#[derive(Debug, Default)]
pub struct Inbox(Vec<u8>);

/// What has been said with another piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// Nothing whole yet.
    Part,
    /// This.
    Request(Request),
    /// Nothing that is understood, or too much.
    Nonsense,
}

impl Inbox {
    /// Hears another piece. What follows the first line is not looked at.
    pub fn hear(&mut self, piece: &[u8]) -> Said {
        let end = piece.iter().position(|byte| *byte == b'\n');
        let piece = &piece[..end.unwrap_or(piece.len())];
        if self.0.len() + piece.len() > REQUEST_BYTES {
            return Said::Nonsense;
        }
        self.0.extend_from_slice(piece);
        match end.map(|_| serde_json::from_slice(&self.0)) {
            None => Said::Part,
            Some(Ok(request)) => Said::Request(request),
            Some(Err(_)) => Said::Nonsense,
        }
    }

    /// Bytes that are kept.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same however it is cut into pieces.
    #[track_caller]
    fn check(text: &[u8], expected: &Said) {
        for size in [1, 7, 4096, text.len().max(1)] {
            let mut inbox = Inbox::default();
            let said = text.chunks(size).map(|piece| inbox.hear(piece));
            let said = said.into_iter().find(|said| *said != Said::Part).unwrap_or(Said::Part);
            assert_eq!(said, *expected, "pieces of {size}");
        }
    }

    #[test]
    fn pieces() {
        check(b"", &Said::Part);
        check(b"{\"command\":\"status\"}", &Said::Part);
        check(b"{\"command\":\"status\"}\n", &Said::Request(Request::Status));
        check(b" {\"command\":\"status\"}\r\nrest", &Said::Request(Request::Status));
        check(b"\n", &Said::Nonsense);
        check(b"{\"command\":\"history\",\"job\":\"a\",\"more\":1}\n", &Said::Nonsense);
        check(b"\xff\n", &Said::Nonsense);
    }

    /// The limit is that of the line, wherever it is cut.
    #[test]
    fn the_longest_request() {
        let request = |bytes: usize| {
            let mut text = b"{\"command\":\"status\"}".to_vec();
            text.resize(bytes, b' ');
            text.push(b'\n');
            text
        };
        check(&request(REQUEST_BYTES), &Said::Request(Request::Status));
        check(&request(REQUEST_BYTES + 1), &Said::Nonsense);
        check(&vec![b'['; REQUEST_BYTES + 1], &Said::Nonsense);
        check(&[vec![b'['; REQUEST_BYTES], b"\n".to_vec()].concat(), &Said::Nonsense);
    }
}
