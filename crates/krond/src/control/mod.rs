//! How one talks to a running daemon: a line of JSON to its socket, lines of
//! JSON back.
//!
//! The last line is an object with `done` or `failed`; what comes before are the
//! rows of an answer that may be long. Only root and the daemon's own user are
//! heard.

pub mod client;
pub mod inbox;
pub(crate) mod server;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The socket in the state directory, unless told otherwise.
pub const SOCKET: &str = "control.sock";

/// Longest request.
pub const REQUEST_BYTES: usize = 64 * 1024;

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "command", deny_unknown_fields)]
pub enum Request {
    /// How the daemon is.
    Status,
    /// All jobs.
    Jobs,
    /// How a job's latest periods ended.
    History {
        /// Name or identity.
        job: String,
    },
    /// What happened or will happen to a period, and why.
    Why {
        /// Name or identity.
        job: String,
        /// A time in the period's window, or near it.
        at: Option<String>,
    },
    /// Read the configuration again.
    Reload,
    /// End.
    Stop {
        /// What becomes of running jobs: `wait`, `terminate`, `detach`, or as the
        /// daemon was told.
        how: Option<String>,
    },
    /// The state file of a job.
    StateShow {
        /// Name or identity.
        job: String,
    },
    /// Forget a job's marks.
    StateReset {
        /// Name or identity.
        job: String,
    },
}

impl Request {
    /// Whether the answer waits for nothing but the daemon's turn.
    pub(crate) const fn is_answered_at_once(&self) -> bool {
        match self {
            Self::Status
            | Self::Jobs
            | Self::History { .. }
            | Self::Why { .. }
            | Self::StateShow { .. } => true,
            Self::Reload | Self::Stop { .. } | Self::StateReset { .. } => false,
        }
    }
}

/// A line of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reply {
    /// A part of it.
    Row(Value),
    /// The end of it, or all of it.
    Done(Value),
    /// There is none.
    Failed(Refusal),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Exit code for the client.
    pub code: u8,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Refusal {
    /// A mistake of whoever asked.
    #[must_use]
    pub fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    /// With something to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
