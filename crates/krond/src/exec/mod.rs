//! Starting processes, and knowing them again.
//!
//! A start has two halves, so that what is durable can come between them
//! (DECISIONS 6). [`Launcher::prepare`] makes a process that does everything
//! that can fail and then waits at a [`Gate`]; [`Gate::release`] lets it execute
//! the command, under the same number. A gate that is dropped, because the
//! daemon changed its mind or died, ends the process: nothing has run.
//!
//! ```text
//! daemon                 spawner thread, nursery     set-up process
//!   prepare ───order──▶  a process ────────────────▶ closes what is not its own
//!   results ◀─Prepared─  sends the plan ───────────▶ session, limits, ids, cwd,
//!   report  ◀──────────────────ready or step, errno─ output, program
//!   (commits the start)                              waits
//!   release ──────────────────────────────one byte─▶ execve
//! ```
//!
//! | module | is |
//! |---|---|
//! | [`launcher`] | the daemon's side: threads that start processes |
//! | [`gate`] | the daemon's side of one start |
//! | `nursery` | a small process that makes set-up processes |
//! | `setup` | the other side: becoming the command |
//! | `stray` | a process that a nursery made and could not tell of |
//! | `syslog` | the companion that takes lines to the system log where there is no journal |
//! | [`process`] | one process: whether it is the one we know, and how it ended |
//! | [`group`] | all that a job has started: finding and signalling it |
//!
//! Nothing here waits for a process that somebody else controls, decides when
//! anything is to run, or writes anything down.

pub mod gate;
pub mod group;
pub mod launcher;
mod nursery;
pub mod process;
mod setup;
mod spawn;
mod stray;
mod syslog;
mod wire;

pub use gate::{Gate, Released, Report};
pub use launcher::{Launcher, Options, Order, Refusal, Spawned, Target};
pub use spawn::Prepared;

use nix::errno::Errno;
use std::process::ExitCode;

/// The word by which this program calls itself to make processes that become
/// commands.
const LAUNCH: &str = "__launch";
/// The word by which it calls itself to take lines to the system log.
const SYSLOG: &str = "__syslog";

/// Does what this process was made for, if the daemon made it. To be called
/// before anything else.
#[must_use]
pub fn hidden() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    let word = words.next()?;
    if word == LAUNCH {
        Some(nursery::run().into())
    } else if word == SYSLOG {
        Some(syslog::run(words).into())
    } else {
        None
    }
}

/// Whether something that failed with this may succeed a little later.
#[must_use]
pub const fn is_transient(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::EAGAIN
            | Errno::EBUSY
            | Errno::ECONNREFUSED
            | Errno::EDQUOT
            | Errno::EINTR
            | Errno::EMFILE
            | Errno::ENFILE
            | Errno::ENOBUFS
            | Errno::ENOMEM
            | Errno::ENOSPC
            | Errno::ETIMEDOUT
            | Errno::ETXTBSY
    )
}
