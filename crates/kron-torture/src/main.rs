//! Kills the real daemon thousands of times, and checks what ran.
//!
//! `kron-torture kill` starts `krond`, does something bad to it, starts it again,
//! and compares a record that the jobs write with what was due, with state and with
//! the log. `kron-torture soak` runs thousands of jobs a minute for an hour, and
//! looks whether anything grows or is lost. What is checked is in `check.rs`.

#![forbid(unsafe_code)]

mod check;
mod daemon;
mod ending;
mod evidence;
mod jobs;
mod kill;
mod mark;
mod place;
mod plan;
mod random;
mod round;
mod soak;
mod story;
mod tally;
mod time;
mod verify;

use clap::Parser;
use std::process::ExitCode;

#[derive(Debug, Parser)]
#[command(about = "Kills the real daemon thousands of times, and checks what ran")]
enum Cli {
    /// Kill the daemon again and again, and check that nothing runs twice
    Kill(kill::Kill),
    /// Run thousands of jobs a minute, and look whether anything grows or is lost
    Soak(soak::Soak),
    #[command(hide = true)]
    Lane(kill::Lane),
}

fn main() -> ExitCode {
    // A job: thousands of these are started, so nothing else is set up.
    let words: Vec<String> = std::env::args().collect();
    let result = if words.get(1).is_some_and(|word| word == "mark") {
        mark::run(&words[2..]).map(|()| true)
    } else {
        match Cli::parse() {
            Cli::Kill(kill) => kill.run(),
            Cli::Soak(soak) => soak.run(),
            Cli::Lane(lane) => lane.run().map(|()| true),
        }
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("kron-torture: {error}");
            ExitCode::from(2)
        }
    }
}
