//! A mistake in a file, with its place.

use crate::key::Key;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use kron_core::{Category, DefinitionError, Span};

/// One mistake. The words are those of a [`DefinitionError`], and the place is
/// in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Configuration or validation.
    pub category: Category,
    /// A stable name, as in JSON.
    pub code: &'static str,
    /// The bytes of the file that are at fault; empty where something is missing.
    pub span: Span,
    /// What is wrong, in one line.
    pub message: Box<str>,
    /// The text at fault, possibly shortened.
    pub found: Box<str>,
    /// What would be accepted.
    pub expected: Box<str>,
    /// What was probably meant.
    pub hint: Option<Box<str>>,
    /// Another place that has to do with it.
    pub note: Option<Box<Note>>,
    /// The field it is about, as far as that is known.
    pub field: Option<Key>,
}

/// A second place, such as the first of two equal names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The bytes of the file.
    pub span: Span,
    /// What is there.
    pub message: Box<str>,
}

impl Problem {
    /// A configuration error.
    #[must_use]
    pub fn new(code: &'static str, span: Span, message: impl Into<Box<str>>) -> Self {
        Self {
            category: Category::Configuration,
            code,
            span,
            message: message.into(),
            found: Box::default(),
            expected: Box::default(),
            hint: None,
            note: None,
            field: None,
        }
    }

    /// The same, as a validation error: understood, but senseless.
    #[must_use]
    pub fn senseless(mut self) -> Self {
        self.category = Category::Validation;
        self
    }

    /// The text at fault.
    #[must_use]
    pub fn found(mut self, found: &str) -> Self {
        self.found = found.chars().take(80).collect::<String>().into();
        self
    }

    /// What would be accepted.
    #[must_use]
    pub fn expect(mut self, expected: impl Into<Box<str>>) -> Self {
        self.expected = expected.into();
        self
    }

    /// What to write instead.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Box<str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What to write instead, if that is known.
    #[must_use]
    pub fn hint_if(mut self, hint: Option<String>) -> Self {
        self.hint = hint.map(String::into_boxed_str).or(self.hint);
        self
    }

    /// Another place that has to do with it.
    #[must_use]
    pub fn with_note(mut self, span: Span, message: impl Into<Box<str>>) -> Self {
        self.note = Some(Box::new(Note { span, message: message.into() }));
        self
    }

    /// A mistake in a schedule that stands at byte `at` of the file.
    #[must_use]
    pub fn in_schedule(error: &DefinitionError, at: usize) -> Self {
        let Span { start, end } = error.span();
        Self {
            category: error.category(),
            code: error.code().as_str(),
            span: Span::new(at + start, at + end),
            message: error.to_string().into(),
            found: error.found_text().into(),
            expected: error.expected().into(),
            hint: error.suggestion().map(Box::from),
            note: None,
            field: None,
        }
    }
}
