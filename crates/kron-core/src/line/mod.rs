//! A log line before it is written: data, so that text, JSON and what a person
//! reads on a terminal say the same. No value can forge a line in either form.

mod json;
mod text;

use crate::time::UtcInstant;
use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Display;

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Of interest when something is looked into.
    Debug,
    /// What happens.
    Info,
    /// What somebody should look at.
    Warn,
    /// What went wrong.
    Error,
}

impl Level {
    /// The word in a log line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// How much it matters.
    pub level: Level,
    /// What happened; one of a fixed set of words.
    pub event: &'static str,
    /// The particulars, in order.
    pub fields: Vec<(&'static str, Cow<'static, str>)>,
}

impl Line {
    /// A line without particulars.
    #[must_use]
    pub const fn new(level: Level, event: &'static str) -> Self {
        Self { level, event, fields: Vec::new() }
    }

    /// Adds a particular.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Display) -> Self {
        self.fields.push((key, Cow::Owned(value.to_string())));
        self
    }

    /// Adds a particular if there is one.
    #[must_use]
    pub fn with_some(self, key: &'static str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// Writes it as pairs, which `krontab verify` reads.
    pub fn push_text(&self, out: &mut String, at: UtcInstant, component: &str) {
        text::push(out, at, component, self);
    }

    /// Writes it as one object, with the same keys.
    pub fn push_json(&self, out: &mut String, at: UtcInstant, component: &str) {
        json::push(out, at, component, self);
    }

    /// The value of a particular.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| *known == key).map(|(_, value)| &**value)
    }
}
