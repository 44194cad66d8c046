//! How a command fails: an exit code and words for a person.

use crate::terminal;
use anstyle::{AnsiColor, Style};
use std::fmt::Display;
use std::path::Path;

/// A mistake of the user, or something that is not there.
pub const USER: u8 = 1;
/// Input or configuration that is not valid, or cannot be read.
pub const INVALID: u8 = 2;
/// The lock is held by another, or state cannot be used.
pub const STATE: u8 = 3;
/// Something that should have been written was not.
pub const FATAL: u8 = 4;

/// Why a command ends without having done what was asked.
#[derive(Debug)]
pub struct Failure {
    /// Exit code.
    pub code: u8,
    /// What went wrong; empty if it has been said already.
    message: String,
    hint: Option<String>,
}

impl Failure {
    /// A failure and its message.
    pub fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    /// What went wrong.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// A failure whose reason has been printed.
    #[must_use]
    pub const fn reported(code: u8) -> Self {
        Self { code, message: String::new(), hint: None }
    }

    /// The same, with what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same, with what to do about it if that is known.
    #[must_use]
    pub fn hint_if(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }

    /// Something could not be done with a file.
    #[must_use]
    pub fn file(code: u8, path: &Path, error: &std::io::Error) -> Self {
        Self::new(code, format!("{}: {}", path.display(), plain(error)))
    }

    /// Says it on standard error.
    pub fn report(&self) {
        if self.message.is_empty() {
            return;
        }
        say("error", AnsiColor::Red, &self.message);
        if let Some(hint) = &self.hint {
            say("help", AnsiColor::Cyan, hint);
        }
    }
}

/// An error of the system without its number.
#[must_use]
pub fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).into()
}

/// A remark for the person at the terminal; not part of the output.
pub fn note(message: impl Display) {
    say("note", AnsiColor::Green, message);
}

/// Something that may not be what was meant.
pub fn warn(message: impl Display) {
    say("warning", AnsiColor::Yellow, message);
}

fn say(word: &str, colour: AnsiColor, message: impl Display) {
    let style = Style::new().bold().fg_color(Some(colour.into()));
    terminal::print_error(&format!("{style}{word}{style:#}: {message}\n"));
}
