//! The keys that a process has from its parent.
//!
//! The kernel keeps keys (of a network file system, an encrypted directory, a
//! ticket) in keyrings, and a process that was started with the session keyring
//! of another may read every key in it, whatever its user id has become since.
//!
//! One unsafe call, which takes no pointer to anything.

#![allow(unsafe_code)]

use nix::errno::Errno;
use nix::libc;

/// Puts a new session keyring in the place of the one that was handed down to
/// this thread. Returns its number; none where there are no keyrings.
///
/// # Errors
/// When there is no room for another.
pub fn leave() -> Result<Option<u32>, Errno> {
    const JOIN_SESSION_KEYRING: libc::c_long = 1;
    let unnamed = std::ptr::null::<libc::c_char>();
    // SAFETY: without a name the kernel reads no memory of ours; it never writes any.
    let result = unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, unnamed) };
    match Errno::result(result) {
        Ok(number) => Ok(u32::try_from(number).ok()),
        // A kernel without keys, or a sandbox without this call; those who are started
        // from here are in it, too, and cannot ask for keys either.
        Err(Errno::ENOSYS | Errno::EPERM) => Ok(None),
        Err(errno) => Err(errno),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each time another one.
    #[test]
    fn another() {
        let (first, second) = (leave().unwrap(), leave().unwrap());
        assert!(first.is_none() || first != second);
    }
}
