//! `kronctl`: explains, previews and checks `KronJob`s, in a cluster or in files.
//!
//! What a `KronJob` means is asked of `kron-operator`, when it runs of `kron-core`;
//! `explain` and `next` are shown by `krontab`'s own code, so that both print the
//! same for the same definition.
//!
//! | module | is |
//! |---|---|
//! | [`cli`] | the words of the command line |
//! | [`cluster`] | every request |
//! | [`convert`] | a `CronJob` as a `KronJob` |
//! | [`manifest`] | a `KronJob` in a file, with everything wrong with it |
//! | [`schema`] | what the resource's definition says of a manifest |
//! | [`subject`] | the `KronJob`s that a command is about |
//! | [`validate`] | manifests, checked |
//! | [`why`] | what becomes of a period |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod cli;
pub mod cluster;
pub mod convert;
pub mod manifest;
pub mod schema;
pub mod subject;
pub mod validate;
pub mod why;

use clap::FromArgMatches;
use cli::{Cli, Command};
use kron_core::Zones;
use kron_term::failure::{Failure, INVALID};
use kron_term::terminal;
use std::ffi::OsString;

/// Runs `kronctl` with these arguments; the exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let command = cli::command(arguments.first());
    let cli = match command.try_get_matches_from(arguments).and_then(|m| Cli::from_arg_matches(&m))
    {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are not errors, and have exit code 0.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(INVALID);
        }
    };
    terminal::choose_colour(cli.color);
    krontab::finish(dispatch(&cli.command))
}

fn dispatch(command: &Command) -> Result<u8, Failure> {
    let mut zones = Zones::bundled();
    match command {
        Command::Explain(arguments) => {
            let subject = subject::one(arguments.name.as_deref(), &arguments.place, &mut zones)?;
            krontab::explain::show(&subject.named, &arguments.question, &zones)
        }
        Command::Next(arguments) => {
            let name = arguments.name.as_deref();
            let (subjects, code) = subject::usable(name, &arguments.place, &mut zones)?;
            let jobs: Vec<_> = subjects.into_iter().map(|subject| subject.named).collect();
            let shown = krontab::next::show(&jobs, arguments.count, &arguments.stretch, &zones)?;
            Ok(shown.max(code))
        }
        Command::Why(arguments) => why::why(arguments, &mut zones),
        Command::Validate(arguments) => validate::validate(arguments, &mut zones),
        Command::Convert(arguments) => convert::convert(arguments, &mut zones),
        Command::Completions { shell } => {
            let mut out = Vec::new();
            clap_complete::generate(*shell, &mut cli::command(None), cli::NAME, &mut out);
            terminal::print(&String::from_utf8_lossy(&out));
            Ok(0)
        }
    }
}
