//! `krontab`: writes, checks, explains and previews Kron's configuration.
//!
//! One file a command. The commands observe (files, the clock, the terminal)
//! and print; what is true about a schedule is asked of `kron-core`, what is
//! true about a file of `kron-tab`, and about this host of `kron-host`.
//!
//! Nothing here runs a job except the command `run`.
//!
//! What `kronctl` shows in the same way is public: [`explain::show`],
//! [`next::show`], and [`lint::Report`].

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod change;
pub mod cli;
pub mod clock;
mod decide;
mod edit;
pub mod explain;
mod ics;
pub mod import;
mod jobs;
pub mod lint;
mod list;
pub mod next;
mod picture;
mod run;
mod show;
pub mod verify;

pub use jobs::Named;

use clap::Parser;
use cli::{Cli, Command};
use kron_term::failure::{self, Failure};
use kron_term::terminal;
use std::ffi::OsString;

/// Runs `krontab` with these arguments; the exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.get(1).is_some_and(|word| word == run::LAUNCH) {
        return finish(run::launch());
    }
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are not errors, and have exit code 0.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(failure::INVALID);
        }
    };
    terminal::choose_colour(cli.color);
    finish(dispatch(&cli.command))
}

/// The exit code of an outcome, which is told if it is a failure; also that of
/// output which could not be written.
pub fn finish(outcome: Result<u8, Failure>) -> u8 {
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

fn dispatch(command: &Command) -> Result<u8, Failure> {
    match command {
        Command::Lint(arguments) => lint::lint(arguments),
        Command::Explain(arguments) => explain::explain(arguments),
        Command::Next(arguments) => next::next(arguments),
        Command::Decide => decide::decide(),
        Command::List(arguments) => list::list(arguments),
        Command::Show(arguments) => show::show(arguments),
        Command::Add(arguments) => change::add(arguments),
        Command::Set(arguments) => change::set(arguments),
        Command::Remove(arguments) => change::remove(arguments),
        Command::Edit(arguments) => edit::edit(arguments),
        Command::Import(arguments) => import::import(arguments),
        Command::Run(arguments) => run::run(arguments),
        Command::Verify(arguments) => verify::verify(arguments),
    }
}
