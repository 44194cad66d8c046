//! The text of a state file (STATE, State File Schema; DECISIONS, State files).
//!
//! One JSON object: STATE.md's eight keys, always all of them, and ours beside
//! them. A key a line and an entry of the history a line, the history last, so
//! that `less`, `diff` and `tail` are good enough tools.
//!
//! This is text and nothing else. Where a file stands, whether it can be
//! trusted and how it is replaced is the daemon's `store`.

mod error;
mod history;
mod read;
mod write;

pub use error::StateError;
pub use history::{history, raw_history};
pub use read::decode;
pub use write::{encode, entry};

/// The version that is written.
pub const VERSION: &str = "1";
/// The largest file that is read.
pub const FILE_BYTES: usize = 16 << 20;
/// The most that the history takes of a file, whatever its cap: what is written
/// must be readable again.
pub const HISTORY_BYTES: usize = 4 << 20;
/// The longest free text that is kept; the rest of it is cut off.
pub const TEXT_BYTES: usize = 4096;
