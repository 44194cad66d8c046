//! What can be wrong with the text of a state file.

use super::{FILE_BYTES, VERSION};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use core::fmt;
use kron_core::quoted;

/// Why a text is not the state of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateError {
    /// Not JSON, or cut short.
    NotJson {
        /// Where reading stopped, and why.
        detail: Box<str>,
    },
    /// More bytes than are read.
    TooLarge {
        /// How many.
        bytes: u64,
    },
    /// A version that this program knows no way from.
    UnknownVersion(Box<str>),
    /// The state of another job.
    WrongIdentity(Box<str>),
    /// A required key is absent.
    Missing(&'static str),
    /// A key has a value it cannot have.
    Invalid {
        /// The key.
        field: &'static str,
        /// What is wrong with its value.
        detail: Box<str>,
    },
}

impl StateError {
    /// Whether the bytes are damaged, so that nothing they say can be used. Any
    /// other error is a file that means something else than we understand.
    #[must_use]
    pub const fn is_damage(&self) -> bool {
        matches!(self, Self::NotJson { .. })
    }

    pub(super) fn not_json(error: &serde_json::Error) -> Self {
        Self::NotJson { detail: error.to_string().into() }
    }

    pub(super) fn invalid(field: &'static str, detail: impl Into<String>) -> Self {
        Self::Invalid { field, detail: detail.into().into() }
    }
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson { detail } => write!(f, "not JSON: {detail}"),
            Self::TooLarge { bytes } => {
                write!(f, "{bytes} bytes; at most {FILE_BYTES} are read")
            }
            Self::UnknownVersion(version) => {
                write!(f, "`Version` is {}; this program knows {VERSION:?} only", quoted(version))
            }
            Self::WrongIdentity(identity) => {
                write!(f, "`Identity` is {}, another job", quoted(identity))
            }
            Self::Missing(field) => write!(f, "`{field}` is missing"),
            Self::Invalid { field, detail } => write!(f, "`{field}`: {detail}"),
        }
    }
}

impl core::error::Error for StateError {}
