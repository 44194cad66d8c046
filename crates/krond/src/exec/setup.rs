//! The process that becomes a command: prepares, reports, waits at the gate,
//! executes.
//!
//! It says nothing anywhere but to the daemon; what a job is given never appears
//! in an argument or a message.

use super::wire::{self, GO};
use kron_host::launch::{self, LaunchError, Step};
use nix::errno::Errno;
use rustix::net::{SendFlags, send};
use std::fs::File;
use std::io::{self, Read};

/// Exit code of a process that was never released.
const NOT_RELEASED: u8 = 125;

/// Becomes the command; the exit code if it cannot.
pub(super) fn run() -> u8 {
    // Without a gate there is nobody to tell.
    let Ok(gate) = launch::begin() else { return NOT_RELEASED };
    let mut gate = File::from(gate);
    let plan = match wire::receive(&mut gate) {
        Ok(Some(plan)) => plan,
        Ok(None) => return NOT_RELEASED,
        Err(error) => {
            let errno = error.raw_os_error().map_or(Errno::EBADMSG, Errno::from_raw);
            return fail(&gate, LaunchError { step: Step::Plan, errno });
        }
    };
    let prepared = match plan.prepare() {
        Ok(prepared) => prepared,
        Err(error) => return fail(&gate, error),
    };
    if tell(&gate, Ok(())).is_err() || !wait(&mut gate) {
        return NOT_RELEASED;
    }
    let error = prepared.execute();
    fail(&gate, error)
}

fn fail(gate: &File, error: LaunchError) -> u8 {
    // A daemon that has gone, or does not listen any more, need not know.
    let _ = tell(gate, Err(error));
    error.exit_code()
}

/// Reports. Signals are default by now, so nobody at the other end would end
/// this process, and hide its exit code.
fn tell(gate: &File, result: Result<(), LaunchError>) -> Result<usize, rustix::io::Errno> {
    send(gate, &wire::report(result), SendFlags::NOSIGNAL)
}

/// Waits for the one byte; whether it came.
fn wait(gate: &mut File) -> bool {
    let mut byte = [0];
    loop {
        match gate.read(&mut byte) {
            Ok(1) => return byte[0] == GO,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return false,
        }
    }
}
