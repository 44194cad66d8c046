//! `kron-sim`: many worlds, or one of them with a trace.

use std::process::ExitCode;

fn main() -> ExitCode {
    kron_sim::cli::run()
}
