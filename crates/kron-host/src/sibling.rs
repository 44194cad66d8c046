//! A process made by a small program on behalf of a large one: it is a child of
//! the caller's parent, as if that had made it itself.
//!
//! Copying a process costs in proportion to its memory, and in a program with
//! threads is hardly safe. A small helper with one thread has neither trouble.
//!
//! One unsafe call.

#![allow(unsafe_code)]

use nix::errno::Errno;
use nix::libc;
use std::fs;
use std::marker::PhantomData;

/// What a call to [`Siblings::make`] turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Born {
    /// This is the new process.
    Here,
    /// The new process has this number.
    Beside(u32),
}

/// The right to make siblings, for a process with one thread, which goes on having one.
#[derive(Debug)]
pub struct Siblings {
    /// It stays with that thread.
    _here: PhantomData<*const ()>,
}

impl Siblings {
    /// Makes sure that there is one thread.
    ///
    /// # Errors
    /// If there are more, or nobody can say.
    pub fn new() -> Result<Self, Errno> {
        let threads = fs::read_dir("/proc/self/task")
            .map_err(|error| error.raw_os_error().map_or(Errno::EIO, Errno::from_raw))?;
        if threads.count() == 1 { Ok(Self { _here: PhantomData }) } else { Err(Errno::EBUSY) }
    }

    /// Copies this process. The copy's parent is this process's parent, to whom
    /// alone its end will be told.
    ///
    /// # Errors
    /// When the system has no room for another.
    pub fn make(&mut self) -> Result<Born, Errno> {
        const NOTHING: libc::c_ulong = 0;
        let flags = (libc::CLONE_PARENT | libc::SIGCHLD) as libc::c_ulong;
        // SAFETY: without `CLONE_VM` the copy has memory of its own, as after `fork`;
        // no stack, no descriptor to write to is passed. There was one thread, this one, so
        // no lock is held by one that the copy does not have. Had it made another since, a
        // copy could wait for such a lock for ever, which is no worse than a process that
        // is never ready.
        let result =
            unsafe { libc::syscall(libc::SYS_clone, flags, NOTHING, NOTHING, NOTHING, NOTHING) };
        match Errno::result(result)? {
            0 => Ok(Born::Here),
            pid => Ok(Born::Beside(u32::try_from(pid).map_err(|_| Errno::ERANGE)?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A test has at least the thread that started it.
    #[test]
    fn none_beside_other_threads() {
        assert_eq!(Siblings::new().unwrap_err(), Errno::EBUSY);
    }
}
