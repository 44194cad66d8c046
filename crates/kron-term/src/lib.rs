//! What a person sees on a terminal, shared by `krontab`, `krond` and `kronctl`, so
//! that all speak with one voice.
//!
//! | module | is |
//! |---|---|
//! | [`terminal`] | standard output and standard error: colour, width, pipes that close |
//! | [`choice`] | what a person may choose about output |
//! | [`table`] | columns |
//! | [`moment`] | times, as people write and read them |
//! | [`period`] | what is told of a period: how its second was chosen, and what becomes of it |
//! | [`failure`] | how a command fails: exit codes and words |
//! | [`diagnostic`] | what is wrong in a file, with its line and a caret |
//! | [`sources`] | the files that paths stand for, and how they are called in messages |
//! | [`load`] | a daemon's whole configuration, or everything wrong with it |
//!
//! What it does not do: read the clock, or decide anything about a schedule
//! (`kron-core`), a file's format (`kron-tab`) or this host (`kron-host`).

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod choice;
pub mod diagnostic;
pub mod failure;
pub mod load;
pub mod moment;
pub mod period;
pub mod sources;
pub mod table;
pub mod terminal;
