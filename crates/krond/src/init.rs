//! The first process of a container inherits every process whose parent has ended, and
//! has to collect it when it ends, too. The daemon knows its own children only; so where it
//! is that process, it is run by another that does nothing else.

use crate::signals;
use kron_term::failure::FATAL;
use nix::sys::signal::{Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{Pid, getpid};
use rustix::io::Errno;
use rustix::process::{WaitOptions, wait};
use std::io;
use std::process::Command;

/// Whence a signal came: the kernel, for a key that was pressed. A terminal tells the child
/// as well.
const SI_KERNEL: i32 = 0x80;

/// Runs this program again, as a child, if this is the first process; its exit code.
///
/// # Errors
/// When there is no child.
pub fn stand_in() -> io::Result<Option<u8>> {
    if getpid() != Pid::from_raw(1) {
        return Ok(None);
    }
    // Blocked in the child as well, which takes those it wants out of a descriptor, too.
    let mut heard = signals::wanted();
    heard.add(Signal::SIGCHLD);
    heard.thread_block()?;
    let signals = SignalFd::with_flags(&heard, SfdFlags::SFD_CLOEXEC)?;
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    // By its path, for those who look for its name.
    let program = std::env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into());
    let mut command = Command::new(program);
    std::os::unix::process::CommandExt::arg0(&mut command, name);
    let child = command.args(arguments).spawn()?.id();
    let child = Pid::from_raw(i32::try_from(child).map_err(io::Error::other)?);
    loop {
        if let Some(code) = collect(child) {
            return Ok(Some(code));
        }
        let Some(signal) = signals.read_signal()? else { continue };
        let is_told = signal.ssi_code == SI_KERNEL;
        let number = i32::try_from(signal.ssi_signo).map_err(io::Error::other)?;
        match Signal::try_from(number) {
            Ok(Signal::SIGCHLD) | Err(_) => {}
            Ok(signal) if is_told && signal == Signal::SIGINT => {}
            Ok(signal) => kill(child, signal)?,
        }
    }
}

/// Collects whoever has ended; the exit code of the child, if it is among them. Not by nix,
/// which fails for whoever was ended by a signal that has no name.
fn collect(child: Pid) -> Option<u8> {
    let mut code = None;
    loop {
        let (pid, status) = match wait(WaitOptions::NOHANG) {
            Ok(Some(ended)) => ended,
            // There is nobody left, so there is nothing to wait for.
            Err(Errno::CHILD) => return code.or(Some(FATAL)),
            Ok(None) | Err(_) => return code,
        };
        if pid.as_raw_nonzero().get() == child.as_raw() {
            let signalled = || status.terminating_signal().map(|signal| 128 + signal);
            code = status.exit_status().or_else(signalled).and_then(|code| code.try_into().ok());
        }
    }
}
