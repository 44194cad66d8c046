//! A process as if nobody had used it before: no blocked or ignored signals, no
//! descriptors but the first three, nothing on standard input.
//!
//! Three unsafe calls, of which `std`, nix and rustix have no safe form.

#![allow(unsafe_code)]

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// The first descriptor that is not a standard one.
const FIRST: libc::c_int = 3;

/// Default dispositions for all signals, and none blocked.
///
/// # Errors
/// When one of them, or the mask, cannot be set.
pub(crate) fn default_signals() -> Result<(), Errno> {
    // Not `signal`, which refuses the two that the C library keeps for itself;
    // and `posix_spawn` leaves just those ignored.
    const LAST: libc::c_int = 64;
    /// The first that some kernels may not know.
    const FIRST_REALTIME: libc::c_int = 32;
    const MASK_BYTES: libc::size_t = 8;
    // At least as large as what the kernel reads; all zero is `SIG_DFL`.
    let default = [0_u64; 8];
    for number in 1..=LAST {
        // SAFETY: the kernel reads from memory that is there and writes nothing. No
        // handler is installed; what can be unsafe is running one.
        let result = unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                number,
                default.as_ptr(),
                std::ptr::null::<u64>(),
                MASK_BYTES,
            )
        };
        match Errno::result(result) {
            Ok(_) => {}
            // Always at their default, and refused for that.
            Err(Errno::EINVAL) if [libc::SIGKILL, libc::SIGSTOP].contains(&number) => {}
            Err(Errno::EINVAL) if number >= FIRST_REALTIME => {}
            Err(errno) => return Err(errno),
        }
    }
    // Not `thread_set_mask`, which takes the error number that it is given for success.
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)
}

/// Closes every descriptor but 0, 1 and 2, all of which this process was handed down.
///
/// # Errors
/// `EBUSY` if it has opened any itself, which somebody may own; or when the kernel cannot.
pub(crate) fn close_others() -> Result<(), Errno> {
    if has_its_own().map_err(|error| errno(&error))? {
        return Err(Errno::EBUSY);
    }
    // SAFETY: touches no memory. Whatever is open came through an exec, as was just
    // seen, so it was handed down by mistake and is nobody's.
    let result = unsafe {
        libc::syscall(libc::SYS_close_range, FIRST as libc::c_uint, libc::c_uint::MAX, 0)
    };
    Errno::result(result).map(drop)
}

/// Whether this process has a descriptor that did not come through an exec. What is opened
/// by `std`, nix or rustix would not go through one, and nothing that would is opened here.
fn has_its_own() -> io::Result<bool> {
    let mut open: Vec<libc::c_int> = Vec::new();
    for item in fs::read_dir("/proc/self/fd")? {
        open.extend(item?.file_name().to_str().and_then(|name| name.parse::<libc::c_int>().ok()));
    }
    // The one by which the directory was read is closed by now.
    Ok(open.into_iter().filter(|number| *number >= FIRST).any(|number| {
        // SAFETY: reads a flag of a descriptor, if there is one of this number.
        let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
        flags >= 0 && flags & libc::FD_CLOEXEC != 0
    }))
}

fn errno(error: &io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}

/// Standard input at its end, and what it was until now, which is closed when
/// the command is executed.
///
/// # Errors
/// When there is no `/dev/null`.
pub(crate) fn set_input_aside() -> Result<OwnedFd, Errno> {
    let errno = |error: io::Error| errno(&error);
    // Never one of the first three.
    let aside = io::stdin().as_fd().try_clone_to_owned().map_err(errno)?;
    nix::unistd::dup2_stdin(File::open("/dev/null").map_err(errno)?)?;
    Ok(aside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// What somebody owns is not closed.
    #[test]
    fn a_descriptor_that_is_owned() {
        let mut owned = File::open("/dev/null").unwrap();
        assert_eq!(close_others(), Err(Errno::EBUSY));
        assert_eq!(owned.read(&mut [0]).unwrap(), 0);
    }
}
