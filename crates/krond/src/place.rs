//! Where a daemon keeps its state, and where it listens.

use crate::cli::Place;
use crate::control::SOCKET;
use kron_host::places;
use std::path::{Path, PathBuf};

/// The state directory, absolute: the one named, or the default one; nothing if
/// a user has no home.
#[must_use]
pub fn state_dir(place: &Place) -> Option<PathBuf> {
    match &place.state_dir {
        Some(path) => places::clean(path).ok(),
        None => places::state_dir(),
    }
}

/// What finds the same daemon, for whoever asks it; nothing if that is the default.
#[must_use]
pub fn flags(place: &Place) -> String {
    let quoted = |path: &PathBuf| kron_tab::words::quote(&path.to_string_lossy());
    match (&place.socket, &place.state_dir) {
        (Some(path), _) => format!(" --socket {}", quoted(path)),
        (None, Some(path)) => format!(" --state-dir {}", quoted(path)),
        (None, None) => String::new(),
    }
}

/// The socket: the one named, or the one in the state directory.
#[must_use]
pub fn socket(place: &Place, state_dir: &Path) -> PathBuf {
    match &place.socket {
        Some(path) => places::clean(path).unwrap_or_else(|_| path.clone()),
        None => state_dir.join(SOCKET),
    }
}
