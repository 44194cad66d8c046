//! The `.kron` file format: text to entries, with a place for every mistake.
//!
//! One entry a line: a schedule, then `key=value` fields.
//!
//! ```
//! use kron_core::Zones;
//! let text = "# nightly\n0 0 * * * @win(after,3h) name=backup command=/usr/local/bin/backup\n";
//! let tab = kron_tab::read("/etc/krond.d/shop.kron", text.as_bytes(), &mut Zones::bundled());
//! assert!(tab.problems.is_empty());
//! let entry = &tab.entries[0];
//! assert_eq!(entry.job.identity().as_str(), "/etc/krond.d/shop.kron:backup");
//! ```
//!
//! | file | decides |
//! |---|---|
//! | `text` | which bytes may be in a file at all |
//! | `line` | where an entry, its schedule and its fields begin and end; quoting |
//! | `foreign` | what is said about lines of other formats |
//! | `key` | which fields exist |
//! | `words` | how a command without a shell becomes words |
//! | `output` | where output goes, and which time tokens its path may have |
//! | `entry` | what a field's value means |
//! | `tab` | a whole file: entries, unique names, all problems at once |
//! | `print` | the canonical line |
//! | `edit` | changes to a file that leave the rest of it alone |
//!
//! What it does not do: read or write files, look up users, or decide when
//! something runs (that is `kron-core`).

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

extern crate alloc;

pub mod bounds;
pub mod edit;
mod entry;
mod foreign;
mod key;
mod line;
mod output;
mod print;
mod problem;
mod tab;
mod text;
pub mod words;

pub use entry::{Command, Entry, EnvVar, GivenLimits, Limits};
pub use key::Key;
pub use output::{Output, PathTemplate};
pub use print::{Line, Value};
pub use problem::{Note, Problem};
pub use tab::{Tab, read};
pub use text::{Lines, Position};
