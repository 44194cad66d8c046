//! Lines of other formats that people bring along: crontab lines and
//! variables. Each gets one message that says what to write instead.

use crate::problem::Problem;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use kron_core::{Span, quoted};

/// Looks at the words of an entry as they come.
#[derive(Default)]
pub(crate) struct Watch {
    /// Words that are no modifiers.
    words: Vec<Span>,
    /// A first word such as `@daily`.
    macro_word: Option<Span>,
    /// A first word such as `MAILTO=root`.
    variable: Option<Span>,
    /// A modifier was not closed; what follows may belong to it.
    open: bool,
}

impl Watch {
    /// A first word that looks like a field.
    pub fn variable(&mut self, key: &str, word: Span) {
        if key.bytes().all(|b| b.is_ascii_uppercase() || b == b'_') {
            self.variable = Some(word);
        }
    }

    /// A word before the fields.
    pub fn word(&mut self, text: &str, word: Span) {
        let written = word.slice(text);
        if !written.starts_with('@') {
            self.words.push(word);
        } else if written.contains('(') {
            self.open |= !written.ends_with(')');
        } else if self.words.is_empty() {
            self.macro_word = Some(word);
        }
    }

    /// Where the schedule of a crontab line ends, which is before its command.
    pub fn schedule_end(&self, text: &str) -> Option<usize> {
        let command = self.words.get(self.fields()).filter(|_| self.variable.is_none())?;
        Some(text[..command.start].trim_end_matches([' ', '\t', '\\', '\n']).len())
    }

    /// Words before a command: five cron fields, or a macro in their place, which is none
    /// of the words.
    fn fields(&self) -> usize {
        if self.macro_word.is_some() { 0 } else { 5 }
    }

    /// What is to be said, if this is no entry.
    pub fn problem(&self, text: &str) -> Option<Problem> {
        if let Some(span) = self.variable {
            return Some(variable(span, text));
        }
        if self.open {
            return None;
        }
        let fields = self.fields();
        let (first, last) = (self.words.get(fields)?, self.words.last()?);
        let span = Span::new(first.start, last.end);
        let command = span.slice(text);
        if let Some(next) = self.words.get(fields + 1)
            && next.slice(text).starts_with('=')
        {
            let key = first.slice(text);
            return Some(
                Problem::new("blank-around-equals", span, "a blank before `=`")
                    .found(command)
                    .expect("a field such as `user=www-data`, without blanks")
                    .hint(format!("write `{key}=` and the value right behind it")),
            );
        }
        if is_cron_field(first.slice(text)) {
            return None;
        }
        let (user, command) = match user_of(command) {
            Some((user, command)) => (format!("user={user} "), command),
            None => (String::new(), command),
        };
        let name = name_of(command);
        let quoted_command = command.replace('\\', "\\\\").replace('"', "\\\"");
        Some(
            Problem::new(
                "crontab-line",
                span,
                format!("{} is no part of a schedule", quoted(span.slice(text))),
            )
            .found(span.slice(text))
            .expect("fields: a name and a command")
            .hint(format!(
                "write `{user}name={name} command=\"{quoted_command}\"`, with `shell=true` if a \
                     shell is needed; `krontab import` converts whole crontabs"
            )),
        )
    }
}

fn variable(span: Span, text: &str) -> Problem {
    let assignment = span.slice(text);
    let hint = if assignment.starts_with("MAILTO=") || assignment.starts_with("MAILFROM=") {
        "Kron sends no mail; `stdout` and `stderr` say where output goes".to_string()
    } else if assignment.starts_with("CRON_TZ=") || assignment.starts_with("TZ=") {
        "each schedule names its zone: `@tz(Europe/Paris)`".to_string()
    } else {
        format!("write `env={assignment}` into each entry that needs it")
    };
    Problem::new("variable-line", span, "a variable cannot be set for a whole file")
        .found(assignment)
        .expect("an entry: a schedule, then fields")
        .hint(hint)
}

/// Whether a word could be meant as a cron field: a sixth one, for seconds or
/// years.
fn is_cron_field(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_digit() || b"*/,-?#LW".contains(&b))
        || (word.len() == 3 && word.bytes().all(|b| b.is_ascii_uppercase()))
        || word.contains('(')
}

/// The user of a line of a system crontab, and the rest of it. A word before a path may as well
/// be a program that starts another.
fn user_of(command: &str) -> Option<(&str, &str)> {
    let (user, rest) = command.split_once([' ', '\t'])?;
    (user == "root").then_some((user, rest.trim_start()))
}

/// A name made from the program of a command.
fn name_of(command: &str) -> String {
    let program = command.split([' ', '\t']).next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default();
    let program = program.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let plain = |c: &char| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-';
    let name: String = program.chars().filter(plain).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "job".into() } else { name.into() }
}
