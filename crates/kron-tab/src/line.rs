//! Where entries, their schedules and their fields begin and end.
//!
//! Works on the bytes of the whole file, so that every place is a place in
//! the file. A `\` at the end of a line joins it with the next: the backslash,
//! the line end and the blanks that follow count as one space. A `#` makes a
//! comment only where a line begins.

use crate::bounds::{ENTRY_PROBLEMS, FIELDS};
use crate::foreign;
use crate::key::Key;
use crate::problem::Problem;
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use kron_core::{Span, quoted};

/// A piece of a file, from the start of its first line to the end of its last,
/// line feed excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A blank line or a comment.
    Remark(Span),
    /// An entry, possibly over several lines.
    Entry(Span),
}

/// Divides a file into its items.
pub(crate) fn items(text: &str) -> impl Iterator<Item = Item> + '_ {
    let mut at = 0;
    core::iter::from_fn(move || {
        if at >= text.len() {
            return None;
        }
        let start = at;
        let mut end = line_end(text, at);
        let first = text[start..end].trim_start_matches(is_blank);
        if first.is_empty() || first.starts_with('#') {
            at = end + 1;
            return Some(Item::Remark(Span::new(start, end)));
        }
        while is_continued(&text[start..end]) && end < text.len() {
            end = line_end(text, end + 1);
        }
        at = end + 1;
        Some(Item::Entry(Span::new(start, end)))
    })
}

fn line_end(text: &str, from: usize) -> usize {
    text[from..].find('\n').map_or(text.len(), |length| from + length)
}

/// An odd number of backslashes at the end: the last one is not escaped.
fn is_continued(line: &str) -> bool {
    line.bytes().rev().take_while(|&b| b == b'\\').count() % 2 == 1
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

/// An entry as written: its schedule, and its fields without their quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Raw<'t> {
    /// Where the schedule is; empty if there is none.
    pub schedule: Span,
    pub fields: Vec<Field<'t>>,
    /// Where the entry ends, for what is missing.
    pub end: usize,
    /// Whether this is a line of another format; that has been reported, and
    /// nothing else about it is worth saying but what is wrong with the schedule, if it
    /// has one.
    pub foreign: bool,
}

/// A field as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field<'t> {
    pub key: Key,
    /// Without quotes and escapes.
    pub value: Cow<'t, str>,
    /// Whether the value stood in quotes.
    pub quoted: bool,
    /// The key.
    pub key_span: Span,
    /// The value, quotes included.
    pub value_span: Span,
}

impl Raw<'_> {
    /// The schedule's text. Where lines were joined, blanks stand for the
    /// joint, so that places stay the same.
    pub fn schedule<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let written = self.schedule.slice(text);
        if written.contains('\n') {
            Cow::Owned(written.replace("\\\n", "  "))
        } else {
            Cow::Borrowed(written)
        }
    }

    pub fn field(&self, key: Key) -> Option<&Field<'_>> {
        self.fields.iter().find(|field| field.key == key)
    }
}

/// Reads one entry. What is wrong goes to `problems`; the rest is returned.
pub(crate) fn entry<'t>(text: &'t str, span: Span, problems: &mut Vec<Problem>) -> Raw<'t> {
    let mut scan = Scan { text, at: span.start, end: span.end };
    let mut schedule: Option<Span> = None;
    let mut fields: Vec<Field<'t>> = Vec::new();
    let mut begun = false;
    let mut stray: Option<Span> = None;
    // Whether the last field could be read, so that words after it are its own.
    let mut readable = true;
    let mut foreign = foreign::Watch::default();
    let before = problems.len();
    while scan.skip_blanks() {
        if problems.len() - before >= ENTRY_PROBLEMS {
            break;
        }
        let word = scan.peek_word();
        if fields.len() == FIELDS {
            let message = format!("more than {FIELDS} fields");
            problems.push(
                Problem::new("too-many-fields", word, message)
                    .senseless()
                    .expect(format!("at most {FIELDS} fields")),
            );
            break;
        }
        if let Some(key) = key_of(word.slice(text)) {
            if !begun && schedule.is_none() {
                foreign.variable(key, word);
            }
            begun = true;
            report_stray(text, stray.take().filter(|_| readable), fields.last(), problems);
            scan.at += key.len() + 1;
            let key_span = Span::new(word.start, word.start + key.len());
            let known = problems.len();
            let field = scan.field(key_span, problems);
            readable = field.is_some();
            for problem in &mut problems[known..] {
                problem.field = Key::find(key).or_else(|| Key::guess(key));
            }
            if let Some(field) = field {
                add(field, &mut fields, problems);
            }
        } else if !begun {
            let word = if word.slice(text).starts_with('@') { scan.modifier() } else { word };
            scan.at = word.end;
            let start = schedule.map_or(word.start, |span| span.start);
            schedule = Some(Span::new(start, word.end));
            foreign.word(text, word);
        } else {
            scan.at = word.end;
            let start = stray.map_or(word.start, |span| span.start);
            stray = Some(Span::new(start, word.end));
        }
    }
    report_stray(text, stray.filter(|_| readable), fields.last(), problems);
    if let Some(problem) = foreign.problem(text) {
        problems.clear();
        problems.push(problem);
        let start = schedule.map_or(span.start, |schedule| schedule.start);
        let end = foreign.schedule_end(text).unwrap_or(start);
        let schedule = Span::new(start, end);
        return Raw { schedule, fields, end: span.end, foreign: true };
    }
    if text[span.start..span.end].ends_with('\\') {
        problems.push(
            Problem::new(
                "unfinished-line",
                Span::new(span.end - 1, span.end),
                "nothing follows this `\\`",
            )
            .found("\\")
            .expect("a line that goes on in the next")
            .hint("remove the backslash"),
        );
    }
    let schedule = schedule.unwrap_or(Span::new(span.start, span.start));
    Raw { schedule, fields, end: span.end, foreign: false }
}

/// The key of a word like `key=…`.
fn key_of(word: &str) -> Option<&str> {
    let (key, _) = word.split_once('=')?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    (key.starts_with(|c: char| c.is_ascii_alphabetic()) && key.bytes().all(plain)).then_some(key)
}

fn add<'t>(field: Field<'t>, fields: &mut Vec<Field<'t>>, problems: &mut Vec<Problem>) {
    let key = field.key;
    match fields.iter().find(|other| other.key == key && key != Key::Env) {
        None => fields.push(field),
        Some(first) => problems.push(
            Problem::new(
                "duplicate-field",
                field.key_span,
                format!("field `{}` is given twice", key.as_str()),
            )
            .found(key.as_str())
            .expect(format!("`{}` at most once", key.as_str()))
            .with_note(first.key_span, "given here first"),
        ),
    }
}

/// Words that belong to nothing: usually a value that lacks its quotes.
fn report_stray(
    text: &str,
    stray: Option<Span>,
    field: Option<&Field<'_>>,
    problems: &mut Vec<Problem>,
) {
    let Some(span) = stray else { return };
    let words = span.slice(text);
    let problem = Problem::new("unexpected-word", span, format!("unexpected {}", quoted(words)))
        .found(words)
        .expect("a field such as `user=www-data`");
    let hint = if words.starts_with('@') {
        Some("modifiers belong to the schedule; put them before the fields".into())
    } else if words.starts_with('#') {
        Some("a comment has a line of its own; or use `description=\"…\"`".into())
    } else {
        field.filter(|field| !field.quoted && !words.contains(['"', '\\'])).and_then(|field| {
            let (key, whole) = (field.key, format!("{} {words}", field.value));
            if matches!(key, Key::Name | Key::User | Key::Group | Key::Umask | Key::Timeout) {
                return None;
            }
            // Single quotes mean nothing here; what they were for are double ones.
            let inner = whole.strip_prefix('\'').and_then(|whole| whole.strip_suffix('\''));
            let whole = inner.unwrap_or(&whole);
            Some(format!("a value with spaces needs double quotes: `{}=\"{whole}\"`", key.as_str()))
        })
    };
    problems.push(problem.hint_if(hint));
}

struct Scan<'t> {
    text: &'t str,
    at: usize,
    end: usize,
}

impl<'t> Scan<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..self.end]
    }

    /// Moves to the next word, if there is one.
    fn skip_blanks(&mut self) -> bool {
        loop {
            let rest = self.rest();
            let blanks = rest.len() - rest.trim_start_matches(is_blank).len();
            self.at += blanks;
            match self.rest().as_bytes() {
                [] => return false,
                [b'\\', b'\n', ..] => self.at += 2,
                // The last line ends in a backslash; reported by the caller.
                [b'\\'] => self.at += 1,
                _ => return true,
            }
        }
    }

    /// The word here, up to a blank or the end of the line.
    fn peek_word(&self) -> Span {
        let rest = self.rest();
        let mut length = rest.find([' ', '\t', '\n']).unwrap_or(rest.len());
        let ends_line = !rest[length..].starts_with(is_blank);
        if ends_line && is_continued(&rest[..length]) {
            length -= 1;
        }
        Span::new(self.at, self.at + length)
    }

    /// The modifier here: up to its closing parenthesis, blanks included, so
    /// that the engine can say what is wrong with them; or, where it is never
    /// closed, up to a blank.
    fn modifier(&self) -> Span {
        let word = self.peek_word();
        if !word.slice(self.text).contains('(') {
            return word;
        }
        let mut inside = false;
        let mut escaped = false;
        let close = self.rest().bytes().position(|b| {
            let closes = !inside && b == b')';
            inside ^= b == b'"' && !escaped;
            escaped = b == b'\\' && !escaped;
            closes
        });
        // A field that begins before the parenthesis closes does not belong to it.
        let swallows = |span: Span| {
            span.slice(self.text)
                .split([' ', '\t', '\n'])
                .skip(1)
                .any(|word| key_of(word).and_then(Key::find).is_some())
        };
        match close {
            Some(length) => {
                let rest = &self.rest()[length..];
                let tail = rest.find([' ', '\t', '\n', '\\']).unwrap_or(rest.len());
                let span = Span::new(self.at, self.at + length + tail);
                if swallows(span) { word } else { span }
            }
            None => word,
        }
    }

    /// The value here, behind `key=`.
    fn field(&mut self, key_span: Span, problems: &mut Vec<Problem>) -> Option<Field<'t>> {
        let name = key_span.slice(self.text);
        let start = self.at;
        let value = self.value(name, problems);
        let Some(key) = Key::find(name) else {
            problems.push(
                Problem::new("unknown-field", key_span, format!("unknown field {}", quoted(name)))
                    .found(name)
                    .expect(Key::ALL.iter().map(|key| key.as_str()).collect::<Vec<_>>().join(" "))
                    .hint_if(Key::suggest(name)),
            );
            return None;
        };
        let (value, quoted) = value?;
        let value_span = Span::new(start, self.at);
        if let Some(c) = value.chars().find(|c| c.is_control() && *c != '\t') {
            problems.push(
                Problem::new(
                    "control-character",
                    value_span,
                    format!("`{name}` has the control character `{}`", c.escape_default()),
                )
                .expect("printable text"),
            );
            return None;
        }
        if value.is_empty() {
            problems.push(
                Problem::new(
                    "missing-value",
                    Span::new(key_span.start, self.at),
                    format!("field `{name}` has no value"),
                )
                .expect(format!("`{name}=` and a value"))
                .hint("leave the field out if nothing is meant"),
            );
            return None;
        }
        Some(Field { key, value, quoted, key_span, value_span })
    }

    fn value(&mut self, key: &str, problems: &mut Vec<Problem>) -> Option<(Cow<'t, str>, bool)> {
        if self.rest().starts_with('"') {
            let value = self.quoted(problems)?;
            let tail = self.peek_word();
            if !tail.slice(self.text).is_empty() {
                self.at = tail.end;
                problems.push(
                    Problem::new("text-after-quote", tail, "text right after a closing quote")
                        .found(tail.slice(self.text))
                        .expect("a blank, or the end of the line")
                        .hint("write a quote inside a quoted value as `\\\"`"),
                );
                return None;
            }
            return Some((value, true));
        }
        let word = self.peek_word();
        let bare = word.slice(self.text);
        let Some(special) = bare.find(['"', '\\']) else {
            self.at = word.end;
            return Some((Cow::Borrowed(bare), false));
        };
        if bare.as_bytes()[special] == b'\\' {
            self.at = word.end;
            problems.push(
                Problem::new(
                    "unquoted-backslash",
                    Span::new(word.start + special, word.start + special + 1),
                    "a backslash outside quotes",
                )
                .found(bare)
                .expect("a value in quotes, with `\\\\` for a backslash")
                .hint(format!("write `{key}=\"{}\"`", bare.replace('\\', "\\\\"))),
            );
            return None;
        }
        // A quote inside: read on to its end, so that what is in it is not
        // taken for something else.
        self.at = word.start + special;
        let head = &bare[..special];
        let inner = self.quoted(problems)?;
        if key == Key::Env.as_str()
            && head.ends_with('=')
            && self.peek_word().slice(self.text).is_empty()
        {
            return Some((Cow::Owned(format!("{head}{inner}")), true));
        }
        let tail = self.peek_word();
        self.at = tail.end;
        let span = Span::new(word.start, tail.end);
        problems.push(
            Problem::new("quote-inside-value", span, "quotes must enclose the whole value")
                .found(span.slice(self.text))
                .expect("a value in quotes from beginning to end")
                .hint(format!("write `{key}=\"{head}{inner}{}\"`", tail.slice(self.text))),
        );
        None
    }

    /// The quoted string here, without its quotes.
    fn quoted(&mut self, problems: &mut Vec<Problem>) -> Option<Cow<'t, str>> {
        let open = self.at;
        let body = &self.text[open + 1..self.end];
        let mut owned: Option<String> = None;
        let mut wrong = false;
        // Start of the piece not yet copied.
        let mut from = 0;
        let mut i = 0;
        let bytes = body.as_bytes();
        while let Some(&byte) = bytes.get(i) {
            match byte {
                b'"' => {
                    self.at = open + 1 + i + 1;
                    let value = match owned {
                        None => Cow::Borrowed(&body[..i]),
                        Some(copied) => Cow::Owned(copied + &body[from..i]),
                    };
                    return (!wrong).then_some(value);
                }
                b'\\' => {
                    let copied = owned.get_or_insert_default();
                    copied.push_str(&body[from..i]);
                    match bytes.get(i + 1) {
                        Some(b'"' | b'\\') => {
                            copied.push(char::from(bytes[i + 1]));
                            i += 2;
                        }
                        Some(b'\n') => {
                            // One space for the joint, unless one is there.
                            if !copied.ends_with(' ') {
                                copied.push(' ');
                            }
                            let next = body[i + 2..].trim_start_matches(is_blank);
                            i = body.len() - next.len();
                        }
                        // One such mistake is enough to know of.
                        _ if wrong => i += 1,
                        _ => {
                            wrong = true;
                            let length = body[i + 1..].chars().next().map_or(0, char::len_utf8);
                            let span = Span::new(open + 1 + i, open + 2 + i + length);
                            problems.push(
                                Problem::new(
                                    "invalid-escape",
                                    span,
                                    format!("unknown escape {}", quoted(span.slice(self.text))),
                                )
                                .found(span.slice(self.text))
                                .expect("`\\\"` or `\\\\`")
                                .hint("write a backslash as `\\\\`"),
                            );
                            i += 1 + length;
                        }
                    }
                    from = i;
                }
                _ => i += 1,
            }
        }
        let end = open + self.rest().find('\n').unwrap_or(self.rest().len());
        problems.push(
            Problem::new("unclosed", Span::new(open, end), "this quote is never closed")
                .expect("a closing `\"` on the same entry"),
        );
        self.at = self.end;
        None
    }
}
