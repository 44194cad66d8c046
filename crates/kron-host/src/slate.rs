//! A process as if nobody had used it before: no blocked or ignored signals, no
//! descriptors but the first three, nothing on standard input.
//!
//! Two unsafe calls, of which `std`, nix and rustix have no safe form.

#![allow(unsafe_code)]

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// The first descriptor that is not a standard one.
const FIRST: libc::c_int = 3;

/// Default dispositions for all signals, and none blocked.
///
/// # Errors
/// When the mask cannot be set.
pub(crate) fn default_signals() -> Result<(), Errno> {
    // Not `signal`, which refuses the two that the C library keeps for itself;
    // and `posix_spawn` leaves just those ignored.
    const LAST: libc::c_int = 64;
    const MASK_BYTES: libc::size_t = 8;
    // At least as large as what the kernel reads; all zero is `SIG_DFL`.
    let default = [0_u64; 8];
    for number in 1..=LAST {
        // SAFETY: the kernel reads from memory that is there and writes nothing. No
        // handler is installed; what can be unsafe is running one. The two that
        // cannot be changed are refused, which changes nothing.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                number,
                default.as_ptr(),
                std::ptr::null::<u64>(),
                MASK_BYTES,
            )
        };
    }
    // Not `thread_set_mask`, which takes the error number that it is given for success.
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)
}

/// Closes every descriptor but 0, 1 and 2. For a process that has just begun,
/// and owns no others.
///
/// # Errors
/// When the kernel cannot.
pub(crate) fn close_others() -> Result<(), Errno> {
    // SAFETY: touches no memory. Whoever called us opened nothing, so what is
    // closed was handed down by mistake and is nobody's.
    let result = unsafe {
        libc::syscall(libc::SYS_close_range, FIRST as libc::c_uint, libc::c_uint::MAX, 0)
    };
    Errno::result(result).map(drop)
}

/// Standard input at its end, and what it was until now, which is closed when
/// the command is executed.
///
/// # Errors
/// When there is no `/dev/null`.
pub(crate) fn set_input_aside() -> Result<OwnedFd, Errno> {
    let errno = |error: io::Error| error.raw_os_error().map_or(Errno::EIO, Errno::from_raw);
    // Never one of the first three.
    let aside = io::stdin().as_fd().try_clone_to_owned().map_err(errno)?;
    nix::unistd::dup2_stdin(File::open("/dev/null").map_err(errno)?)?;
    Ok(aside)
}
