//! Tokens of a schedule: words and modifiers.
//!
//! One pass, no recursion. White space separates tokens; inside parentheses
//! it is an error, except in a quoted string. After a mistake scanning goes on
//! where the next modifier begins, so that one slip does not hide others.

use super::piece::{Piece, find};
use crate::error::{Code, DefinitionError, Span, quoted};
use alloc::format;
use alloc::vec::Vec;

/// A word or a modifier.
#[derive(Clone, Copy, Debug)]
pub(super) enum Token<'a> {
    /// A cron field, or something that does not belong.
    Word(Piece<'a>),
    /// `@name(body)`. No body if the parentheses are missing or broken.
    Modifier { name: &'a str, span: Span, body: Option<Piece<'a>> },
}

/// Reads tokens one by one.
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// Whether an unexpected character has been reported.
    reported: bool,
}

impl<'a> Scanner<'a> {
    pub const fn new(text: &'a str) -> Self {
        Self { text, at: 0, reported: false }
    }

    pub fn next(&mut self, errors: &mut Vec<DefinitionError>) -> Option<Token<'a>> {
        let text = self.text;
        loop {
            let at = self.at;
            match text.as_bytes().get(at)? {
                b' ' | b'\t' => self.at += 1,
                b'@' => {
                    let (token, end) = modifier(text, at, errors);
                    self.at = end;
                    return Some(token);
                }
                _ => {
                    self.at = plain_end(text, at);
                    if self.at > at {
                        return Some(Token::Word(Piece { text: &text[at..self.at], at }));
                    }
                    self.skip_unexpected(errors);
                }
            }
        }
    }

    /// Probably meant as a blank; said once, then taken for one.
    #[cold]
    fn skip_unexpected(&mut self, errors: &mut Vec<DefinitionError>) {
        let Some(c) = self.text[self.at..].chars().next() else { return };
        if !self.reported {
            errors.push(unexpected(c, self.at));
        }
        self.reported = true;
        self.at += c.len_utf8();
    }
}

/// Where the plain characters that begin at `at` end.
fn plain_end(text: &str, mut at: usize) -> usize {
    loop {
        match text.as_bytes().get(at) {
            Some(b'!'..=b'~') => at += 1,
            Some(0x80..) => match text[at..].chars().next().filter(|&c| is_plain(c)) {
                Some(c) => at += c.len_utf8(),
                None => return at,
            },
            _ => return at,
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Bytes of a modifier's name.
const NAME: u8 = 1;
/// Bytes that mean something between parentheses, or may be white space.
const STOP: u8 = 2;

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => NAME,
            b'(' | b')' | b'"' | b'@' | b' ' | b'\t'..=b'\r' | 0x80.. => STOP,
            _ => 0,
        };
        byte += 1;
    }
    classes
};

fn class(byte: u8) -> u8 {
    CLASSES[usize::from(byte)]
}

/// Characters that can occur in a field; the rest is worth its own message,
/// because it is often invisible.
fn is_plain(c: char) -> bool {
    !c.is_control() && !c.is_whitespace() && !matches!(c, '\u{200b}' | '\u{feff}')
}

fn word_end(text: &str, at: usize) -> usize {
    find(text.as_bytes(), at, is_blank)
}

fn unexpected(c: char, at: usize) -> DefinitionError {
    let mut buffer = [0; 4];
    let text: &str = c.encode_utf8(&mut buffer);
    let name = match c {
        '\n' => "line feed".into(),
        '\r' => "carriage return".into(),
        '\0' => "NUL character".into(),
        '\u{a0}' => "no-break space".into(),
        _ => format!("character U+{:04X}", u32::from(c)),
    };
    DefinitionError::configuration(
        Code::UnexpectedCharacter,
        Span::new(at, at + c.len_utf8()),
        format!("unexpected {name}"),
    )
    .found(text)
    .expect("spaces or tabs between fields and modifiers")
}

/// Reads a modifier that begins at `at`; returns it and where to go on.
fn modifier<'a>(text: &'a str, at: usize, errors: &mut Vec<DefinitionError>) -> (Token<'a>, usize) {
    let bytes = text.as_bytes();
    let name_start = at + 1;
    let name_end = find(bytes, name_start, |byte| class(byte) != NAME);
    let name = &text[name_start..name_end];
    let broken = |end: usize| Token::Modifier { name, span: Span::new(at, end), body: None };
    if bytes.get(name_end) != Some(&b'(') {
        return (broken(name_end), word_end(text, name_end));
    }
    let body_start = name_end + 1;
    match closing(text, body_start) {
        Ok((close, white)) => {
            if let Some(white) = white {
                errors.push(white_space(text, white));
            }
            let body = Piece { text: &text[body_start..close], at: body_start };
            let end = close + 1;
            if bytes.get(end).is_some_and(|&b| !is_blank(b)) {
                errors.push(missing_blank(text, end));
            }
            // If something is glued to it, on to the next `@` or blank.
            let resume = find(bytes, end, |b| is_blank(b) || b == b'@');
            (Token::Modifier { name, span: Span::new(at, end), body: Some(body) }, resume)
        }
        Err((error, resume)) => {
            errors.push(error);
            (broken(resume), resume)
        }
    }
}

fn missing_blank(text: &str, at: usize) -> DefinitionError {
    let glued = Span::new(at, word_end(text, at));
    DefinitionError::configuration(
        Code::UnexpectedCharacter,
        glued,
        format!("{} follows without a space", quoted(glued.slice(text))),
    )
    .found(glued.slice(text))
    .expect("a space after `)`")
}

/// Finds the parenthesis that closes a modifier, and the first white space
/// before it outside quotes; or says why there is none and where the next
/// modifier begins.
#[allow(clippy::result_large_err, clippy::type_complexity)]
fn closing(text: &str, start: usize) -> Result<(usize, Option<usize>), (DefinitionError, usize)> {
    let bytes = text.as_bytes();
    let (mut white, mut last_blank) = (None, None);
    let mut at = start;
    loop {
        at = find(bytes, at, |byte| class(byte) == STOP);
        match bytes.get(at) {
            None => return Err((unclosed(start - 1, "parenthesis", "`)`"), at)),
            Some(b')') => return Ok((at, white)),
            Some(b'(') => return Err((nested(at), next_modifier(text, last_blank.unwrap_or(at)))),
            Some(b'"') => match quote_end(bytes, at) {
                Some(end) => at = end,
                None => return Err((unclosed(at, "quote", "a closing `\"`"), text.len())),
            },
            // The next modifier: this one was never closed.
            Some(b'@') if last_blank == Some(at - 1) => {
                return Err((unclosed(start - 1, "parenthesis", "`)`"), at));
            }
            Some(b'@') => {}
            Some(&byte) => {
                if is_blank(byte) {
                    last_blank = Some(at);
                }
                if white.is_none() && is_white(text, at) {
                    white = Some(at);
                }
            }
        }
        at += 1;
    }
}

/// Where the string whose opening quote is at `at` has its closing one.
pub(super) fn quote_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut escaped = false;
    let length = bytes[at + 1..].iter().position(|&byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })?;
    Some(at + 1 + length)
}

/// Whether a character of white space begins at `at`.
fn is_white(text: &str, at: usize) -> bool {
    text.get(at..).is_some_and(|rest| rest.starts_with(char::is_whitespace))
}

fn next_modifier(text: &str, from: usize) -> usize {
    find(text.as_bytes(), word_end(text, from), |b| b == b'@')
}

fn nested(at: usize) -> DefinitionError {
    DefinitionError::configuration(
        Code::UnexpectedCharacter,
        Span::new(at, at + 1),
        "parentheses do not nest".into(),
    )
    .found("(")
    .expect("`)` before another `(`")
}

fn unclosed(at: usize, what: &str, expected: &str) -> DefinitionError {
    DefinitionError::configuration(
        Code::Unclosed,
        Span::new(at, at + 1),
        format!("this {what} is never closed"),
    )
    .expect(expected)
}

fn white_space(text: &str, at: usize) -> DefinitionError {
    let length = text[at..].chars().next().map_or(0, char::len_utf8);
    DefinitionError::configuration(
        Code::Whitespace,
        Span::new(at, at + length),
        "white space inside parentheses".into(),
    )
    .expect("no white space between `(` and `)`, except in a quoted string")
    .hint("remove the space; only a salt may have one, in double quotes")
}
