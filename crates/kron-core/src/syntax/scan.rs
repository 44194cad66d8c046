//! Tokens of a schedule: words and modifiers.
//!
//! One pass, no recursion. White space separates tokens; inside parentheses
//! it is an error, except in a quoted string. After a mistake scanning goes on
//! where the next modifier begins, so that one slip does not hide others.

use crate::error::{Code, DefinitionError, Span, quoted};
use alloc::format;
use alloc::vec::Vec;

/// A piece of a schedule.
#[derive(Clone, Copy, Debug)]
pub(super) enum Token<'a> {
    /// A cron field, or something that does not belong.
    Word { text: &'a str, at: usize },
    /// `@name(body)`. No body if the parentheses are missing or broken.
    Modifier { name: &'a str, span: Span, body: Option<Body<'a>> },
}

/// What stands between a modifier's parentheses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body<'a> {
    pub text: &'a str,
    pub at: usize,
}

impl Body<'_> {
    pub fn span(&self) -> Span {
        Span::new(self.at, self.at + self.text.len())
    }
}

pub(super) fn tokens<'a>(text: &'a str, errors: &mut Vec<DefinitionError>) -> Vec<Token<'a>> {
    let mut tokens = Vec::new();
    let mut reported = false;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if is_blank(c) {
            at += 1;
        } else if !is_plain(c) {
            // Probably meant as a blank; said once, then taken for one.
            if !reported {
                errors.push(unexpected(c, at));
            }
            reported = true;
            at += c.len_utf8();
        } else if c == '@' {
            let (token, end) = modifier(text, at, errors);
            tokens.push(token);
            at = end;
        } else {
            let end = text[at..].find(|c| is_blank(c) || !is_plain(c));
            let end = end.map_or(text.len(), |length| at + length);
            tokens.push(Token::Word { text: &text[at..end], at });
            at = end;
        }
    }
    tokens
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

/// Characters that can occur in a field; the rest is worth its own message,
/// because it is often invisible.
fn is_plain(c: char) -> bool {
    !c.is_control() && !c.is_whitespace() && !matches!(c, '\u{200b}' | '\u{feff}')
}

fn word_end(text: &str, at: usize) -> usize {
    text[at..].find(is_blank).map_or(text.len(), |length| at + length)
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
    let name_start = at + 1;
    let rest = &text[name_start..];
    let name_end = name_start
        + rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
    let name = &text[name_start..name_end];
    let broken = |end: usize| Token::Modifier { name, span: Span::new(at, end), body: None };
    if !text[name_end..].starts_with('(') {
        return (broken(name_end.max(name_start)), word_end(text, name_end));
    }
    let body_start = name_end + 1;
    match closing(text, body_start) {
        Ok(close) => {
            let body = Body { text: &text[body_start..close], at: body_start };
            check_blanks(body, errors);
            let end = close + 1;
            if text[end..].chars().next().is_some_and(|c| !is_blank(c)) {
                errors.push(missing_blank(text, end));
            }
            let span = Span::new(at, end);
            (Token::Modifier { name, span, body: Some(body) }, end.max(skip_to_token(text, end)))
        }
        Err((error, resume)) => {
            errors.push(error);
            (broken(resume), resume)
        }
    }
}

/// After a modifier that something is glued to, the next `@` or blank.
fn skip_to_token(text: &str, end: usize) -> usize {
    text[end..].find(|c| is_blank(c) || c == '@').map_or(text.len(), |length| end + length)
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

/// Finds the parenthesis that closes a modifier, or says why there is none and
/// where the next modifier begins.
#[allow(clippy::result_large_err)]
fn closing(text: &str, start: usize) -> Result<usize, (DefinitionError, usize)> {
    let mut quote = None;
    let mut escaped = false;
    let mut last_blank = None;
    for (i, c) in text[start..].char_indices() {
        let at = start + i;
        match (quote, c) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(_), '"') => quote = None,
            (None, '"') => quote = Some(at),
            (None, ')') => return Ok(at),
            (None, '(') => {
                let span = Span::new(at, at + 1);
                let error = DefinitionError::configuration(
                    Code::UnexpectedCharacter,
                    span,
                    "parentheses do not nest".into(),
                )
                .found("(")
                .expect("`)` before another `(`");
                return Err((error, next_modifier(text, last_blank.unwrap_or(at))));
            }
            (None, c) if is_blank(c) => last_blank = Some(at),
            // The next modifier: this one was never closed.
            (None, '@') if last_blank == Some(at - 1) => {
                return Err((unclosed(start - 1, "parenthesis", "`)`"), at));
            }
            _ => {}
        }
    }
    let error = match quote {
        Some(at) => unclosed(at, "quote", "a closing `\"`"),
        None => unclosed(start - 1, "parenthesis", "`)`"),
    };
    Err((error, text.len()))
}

fn next_modifier(text: &str, from: usize) -> usize {
    let blank = text[from..].find(is_blank).map_or(text.len(), |i| from + i);
    text[blank..].find('@').map_or(text.len(), |i| blank + i)
}

fn unclosed(at: usize, what: &str, expected: &str) -> DefinitionError {
    DefinitionError::configuration(
        Code::Unclosed,
        Span::new(at, at + 1),
        format!("this {what} is never closed"),
    )
    .expect(expected)
}

/// Reports the first white space of a body that is not inside quotes.
fn check_blanks(body: Body<'_>, errors: &mut Vec<DefinitionError>) {
    let mut quoted = false;
    let mut escaped = false;
    for (i, c) in body.text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            c if !quoted && c.is_whitespace() => {
                let at = body.at + i;
                errors.push(
                    DefinitionError::configuration(
                        Code::Whitespace,
                        Span::new(at, at + c.len_utf8()),
                        "white space inside parentheses".into(),
                    )
                    .expect("no white space between `(` and `)`, except in a quoted string")
                    .hint("remove the space, or put the value in double quotes"),
                );
                return;
            }
            _ => {}
        }
    }
}
