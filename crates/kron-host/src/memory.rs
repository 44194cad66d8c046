//! Memory that is no longer needed.
//!
//! One unsafe call, which takes no pointer and touches nothing that is in use.

#![allow(unsafe_code)]

/// Gives memory that was freed back to the system. Reading a large configuration
/// takes several times the memory of what is kept of it.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: works on free memory alone, under the allocator's own locks.
    unsafe {
        nix::libc::malloc_trim(0);
    }
}
