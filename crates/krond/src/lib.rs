//! `krond`: the host daemon. Starts each period's command at most once,
//! whatever crashes.
//!
//! The engine (`kron-engine`) decides; the modules here observe and act, each
//! the only one to touch its thing:
//!
//! | module | touches |
//! |---|---|
//! | `clock` | the clock and its alarms |
//! | [`store`] | state files |
//! | [`exec`] | processes, from set-up to signals |
//! | `signals` | signals to the daemon |
//! | [`control`] | the control socket |
//! | [`log`] | standard error |
//! | `init` | orphans, where this is the first process |
//! | `daemon` | the loop that ties them together |
//! | `start`, `ask` | the commands |

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![forbid(unsafe_code)]

mod ask;
pub mod cli;
mod clock;
pub mod control;
mod crash;
mod daemon;
pub mod exec;
mod failure_line;
pub mod greeting;
mod init;
pub mod log;
mod mailbox;
mod metrics;
mod notify;
mod place;
mod poll;
mod signals;
mod start;
pub mod store;

use clap::Parser;
use cli::{Cli, Command};
use kron_term::failure::{self, Failure};
use kron_term::terminal;
use std::ffi::OsString;

/// Runs `krond` with these arguments; the exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are not errors, and have exit code 0.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(failure::INVALID);
        }
    };
    terminal::choose_colour(cli.color);
    let outcome = match &cli.command {
        Command::Start(arguments) => Ok(start::start(arguments)),
        Command::Status(arguments) => ask::status(arguments),
        Command::Jobs(arguments) => ask::jobs(arguments),
        Command::History(arguments) => ask::history(arguments),
        Command::Why(arguments) => ask::why(arguments),
        Command::Reload(arguments) => ask::reload(arguments),
        Command::Stop(arguments) => ask::stop(arguments),
        Command::State(arguments) => ask::state(arguments),
    };
    finish(outcome)
}

fn finish(outcome: Result<u8, Failure>) -> u8 {
    let unwritten = terminal::failure().map(|error| {
        Failure::new(failure::FATAL, format!("standard output: {}", failure::plain(&error)))
    });
    match unwritten.map_or(outcome, Err) {
        Ok(code) => code,
        Err(failure) => {
            failure.report();
            failure.code
        }
    }
}
