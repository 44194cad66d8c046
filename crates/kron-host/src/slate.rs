//! A process as if nobody had used it before: no blocked or ignored signals, no
//! descriptors but the first three, nothing on standard input.
//!
//! The only unsafe code of the crate, two calls that `std` and nix have no safe
//! form of. Neither touches memory.

#![allow(unsafe_code)]

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::SigSet;

/// Default dispositions for all signals, and none blocked.
///
/// # Errors
/// When the mask cannot be set.
pub(crate) fn default_signals() -> Result<(), Errno> {
    for number in 1..=libc::SIGRTMAX() {
        // SAFETY: no handler is installed; what can be unsafe about `signal` is
        // running one. The numbers that the C library keeps for itself, and the two
        // that cannot be changed, are refused, which changes nothing.
        unsafe { libc::signal(number, libc::SIG_DFL) };
    }
    SigSet::empty().thread_set_mask()
}

/// Every descriptor but 0, 1 and 2 is closed when the command is executed.
///
/// # Errors
/// When descriptors cannot be marked.
pub(crate) fn close_others_on_exec() -> Result<(), Errno> {
    const FIRST: libc::c_uint = 3;
    // SAFETY: marks descriptors, closes none; whoever owns one still does.
    let result = unsafe {
        libc::close_range(FIRST, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC as libc::c_int)
    };
    Errno::result(result).map(drop)
}

/// Standard input at its end.
///
/// # Errors
/// When there is no `/dev/null`.
pub(crate) fn empty_input() -> Result<(), Errno> {
    let null = std::fs::File::open("/dev/null")
        .map_err(|error| error.raw_os_error().map_or(Errno::EIO, Errno::from_raw))?;
    nix::unistd::dup2_stdin(null)
}
