//! What went wrong, and whether it only means that this machine has no control plane.

use std::{fmt, io};

/// Why there is no cluster, or why it did not do as asked.
pub struct Error {
    message: String,
    is_missing: bool,
}

impl Error {
    /// The programs are absent and cannot be built here.
    pub(crate) fn missing(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_missing: true }
    }

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_missing: false }
    }

    /// For `map_err`: says what was tried.
    pub(crate) fn io(what: impl fmt::Display) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::failed(format!("{what}: {error}"))
    }

    /// Whether the programs are absent and cannot be built: a test that needs them can
    /// only be skipped.
    #[must_use]
    pub const fn is_missing(&self) -> bool {
        self.is_missing
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The same text: `unwrap` in a test is to show the lines of a log as lines.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
