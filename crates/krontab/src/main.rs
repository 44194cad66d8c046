//! The program `krontab`; everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(krontab::main(std::env::args_os()))
}
