//! `krond`: the host daemon. Starts each period's command at most once,
//! whatever crashes.

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod greeting;
pub mod log;
