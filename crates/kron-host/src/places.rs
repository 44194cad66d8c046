//! Where configuration and state are, for the system and for a user.

use std::env;
use std::path::{Component, Path, PathBuf};

/// The system's configuration directory.
pub const SYSTEM_CONFIG: &str = "/etc/krond.d";

/// The system's state directory.
pub const SYSTEM_STATE: &str = "/var/lib/krond";

/// Whether this process configures the system: it runs as root.
#[must_use]
pub fn is_system() -> bool {
    nix::unistd::geteuid().is_root()
}

/// The configuration directory: `/etc/krond.d` for root, otherwise
/// `$XDG_CONFIG_HOME/krond`, by default `~/.config/krond`. Nothing if a user has
/// no home.
#[must_use]
pub fn config_dir() -> Option<PathBuf> {
    if is_system() {
        return Some(SYSTEM_CONFIG.into());
    }
    xdg("XDG_CONFIG_HOME", ".config").map(|dir| dir.join("krond"))
}

/// The state directory: `/var/lib/krond` for root, otherwise
/// `$XDG_STATE_HOME/krond`, by default `~/.local/state/krond`. Nothing if a user
/// has no home.
#[must_use]
pub fn state_dir() -> Option<PathBuf> {
    if is_system() {
        return Some(SYSTEM_STATE.into());
    }
    xdg("XDG_STATE_HOME", ".local/state").map(|dir| dir.join("krond"))
}

/// An XDG base directory; relative values are to be ignored, says its standard.
fn xdg(variable: &str, default: &str) -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(default)))
}

/// A path made absolute and free of `.` and `..`, by its text alone: symbolic
/// links are not resolved, because an identity must not change when they do.
///
/// # Errors
/// When the path is relative and the current directory is unknown.
pub fn clean(path: &Path) -> std::io::Result<PathBuf> {
    let mut cleaned = PathBuf::new();
    for part in std::path::absolute(path)?.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                cleaned.pop();
            }
            part => cleaned.push(part),
        }
    }
    Ok(cleaned)
}
