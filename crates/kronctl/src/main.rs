//! The program `kronctl`; everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(kronctl::main(std::env::args_os()))
}
