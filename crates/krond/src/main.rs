//! The program `krond`; everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else: a job is waiting for it.
    if let Some(code) = krond::exec::hidden() {
        return code;
    }
    ExitCode::from(krond::main(std::env::args_os()))
}
