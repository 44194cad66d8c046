//! The pure part of the daemon: events in, effects out.
//!
//! It owns the queue, the ledgers and every decision about starting, ending and
//! recording. It has no clock, no files and no processes; it is `no_std`, so it
//! could not reach them. The daemon drives it with the real ones, a simulator
//! with false ones.

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

extern crate alloc;

pub mod commit;
mod engine;
pub mod event;
mod job;
mod json;
pub mod kept;
mod queue;
mod report;
pub mod roster;
mod run;
pub mod settings;
pub mod state;
pub mod tally;
pub mod view;

pub use engine::Engine;
