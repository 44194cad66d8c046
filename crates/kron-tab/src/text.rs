//! What a file may be made of: UTF-8 lines that end in a line feed.
//!
//! No byte order mark, no NUL, no carriage return. Each gets its own message,
//! because each has its own cause.

use crate::problem::Problem;
use alloc::format;
use alloc::vec::Vec;
use kron_core::Span;

/// The text of a file, or everything that keeps it from being one.
pub(crate) fn decode(bytes: &[u8]) -> Result<&str, Vec<Problem>> {
    let mut problems = Vec::new();
    if bytes.starts_with(b"\xef\xbb\xbf") {
        problems.push(
            Problem::new("byte-order-mark", Span::new(0, 3), "file begins with a byte order mark")
                .expect("UTF-8 without a byte order mark")
                .hint("save the file as plain UTF-8"),
        );
    }
    if let Some(at) = bytes.iter().position(|&b| b == 0) {
        problems.push(
            Problem::new("nul-byte", Span::new(at, at + 1), "file has a NUL byte")
                .expect("text")
                .hint("is this a binary file, or UTF-16?"),
        );
    }
    if let Some(at) = bytes.iter().position(|&b| b == b'\r') {
        let count = bytes.iter().filter(|&&b| b == b'\r').count();
        let lines = if count == 1 { "a line ends".into() } else { format!("{count} lines end") };
        problems.push(
            Problem::new(
                "carriage-return",
                Span::new(at, at + 1),
                format!("{lines} with a carriage return"),
            )
            .expect("lines that end with a line feed only")
            .hint("convert the file: `sed -i 's/\\r$//' FILE`"),
        );
    }
    match core::str::from_utf8(bytes) {
        Ok(text) if problems.is_empty() => return Ok(text),
        Ok(_) => {}
        Err(error) => {
            let at = error.valid_up_to();
            let end = at + error.error_len().unwrap_or(bytes.len() - at);
            problems.push(
                Problem::new("invalid-utf8", Span::new(at, end), "file is not valid UTF-8")
                    .expect("UTF-8")
                    .hint("convert the file: `iconv -f ISO-8859-1 -t UTF-8 FILE`"),
            );
        }
    }
    problems.sort_by_key(|problem| problem.span);
    Err(problems)
}

/// Line and column of a byte, both counted from 1; the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line.
    pub line: usize,
    /// Column.
    pub column: usize,
}

/// Where the lines of a file begin.
#[derive(Clone, Debug)]
pub struct Lines<'t> {
    bytes: &'t [u8],
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    /// Looks through a file once.
    #[must_use]
    pub fn new(bytes: &'t [u8]) -> Self {
        let ends = bytes.iter().enumerate().filter(|&(_, &b)| b == b'\n');
        let starts = core::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
        Self { bytes, starts }
    }

    /// Line and column of a byte.
    #[must_use]
    pub fn position(&self, offset: usize) -> Position {
        let offset = offset.min(self.bytes.len());
        let line = self.starts.partition_point(|&start| start <= offset);
        let before = &self.bytes[self.starts[line - 1]..offset];
        let column = alloc::string::String::from_utf8_lossy(before).chars().count() + 1;
        Position { line, column }
    }

    /// The bytes of the lines that a span touches, without the last line feed.
    #[must_use]
    pub fn around(&self, span: Span) -> Span {
        let start = self.starts[self.position(span.start).line - 1];
        let last = self.position(span.end.max(span.start)).line;
        let end = self.starts.get(last).map_or(self.bytes.len(), |next| next - 1);
        Span::new(start, end)
    }
}
