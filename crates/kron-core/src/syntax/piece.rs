//! A piece of a schedule: some of its text, and where that stands.

use super::scan::quote_end;
use crate::error::Span;
use core::iter::from_fn;

/// Text and the place of its first byte.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub text: &'a str,
    pub at: usize,
}

impl Piece<'_> {
    pub const fn end(self) -> usize {
        self.at + self.text.len()
    }

    pub const fn span(self) -> Span {
        Span::new(self.at, self.end())
    }

    /// What stands before and after the first `separator`, an ASCII character.
    pub fn cut(self, separator: u8) -> Option<(Self, Self)> {
        let i = find(self.text.as_bytes(), 0, |byte| byte == separator);
        (i < self.text.len()).then(|| self.around(i))
    }

    /// What stands before and after the ASCII character at `i`.
    fn around(self, i: usize) -> (Self, Self) {
        let (before, after) = (&self.text[..i], &self.text[i + 1..]);
        (Piece { text: before, at: self.at }, Piece { text: after, at: self.at + i + 1 })
    }

    /// The pieces between separators; at least one, possibly empty.
    pub fn split(self, separator: u8) -> impl Iterator<Item = Self> {
        split_by(self, move |piece| piece.cut(separator))
    }

    /// The pieces between the commas outside quotes.
    pub fn arguments(self) -> impl Iterator<Item = Self> {
        split_by(self, Self::cut_argument)
    }

    fn cut_argument(self) -> Option<(Self, Self)> {
        let bytes = self.text.as_bytes();
        let mut i = 0;
        loop {
            i = find(bytes, i, |byte| byte == b',' || byte == b'"');
            match bytes.get(i)? {
                b'"' => i = quote_end(bytes, i)? + 1,
                _ => return Some(self.around(i)),
            }
        }
    }
}

/// The first byte from `at` on that is sought, or the end.
pub(super) fn find(bytes: &[u8], mut at: usize, sought: impl Fn(u8) -> bool) -> usize {
    while at < bytes.len() && !sought(bytes[at]) {
        at += 1;
    }
    at
}

fn split_by<'a>(
    whole: Piece<'a>,
    cut: impl Fn(Piece<'a>) -> Option<(Piece<'a>, Piece<'a>)>,
) -> impl Iterator<Item = Piece<'a>> {
    let mut rest = Some(whole);
    from_fn(move || {
        let last = rest?;
        let (piece, after) = match cut(last) {
            Some((piece, after)) => (piece, Some(after)),
            None => (last, None),
        };
        rest = after;
        Some(piece)
    })
}
