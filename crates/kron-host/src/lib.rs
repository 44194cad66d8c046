//! What Kron needs to know about a host, shared by its command line and its
//! daemon, so that both follow the same rules.
//!
//! | module | touches |
//! |---|---|
//! | [`places`] | the environment: where configuration is |
//! | [`config`] | the file system, reading: which files are configuration, and whether they can be trusted |
//! | [`replace`] | the file system, writing: a file is replaced whole or not at all |
//! | [`account`] | the user database |
//! | [`keyring`] | the keys that its process was handed |
//! | [`launch`] | the process itself: what a job's process looks like, and becoming it |
//!
//! What it does not do: decide when anything runs (`kron-core`), or read the
//! format of a file (`kron-tab`).

// Allowed in `keyring`, `memory`, `slate` and `sibling` alone.
#![deny(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod account;
pub mod config;
pub mod keyring;
pub mod launch;
pub mod memory;
pub mod places;
pub mod replace;
pub mod sibling;
mod slate;
