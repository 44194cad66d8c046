//! Where a daemon keeps its state, and where it listens.

use crate::cli::{Place, Start};
use crate::control::SOCKET;
use crate::greeting::Way;
use kron_host::places;
use kron_tab::words::quote;
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

/// What somebody types to reach the daemon that is started so.
#[must_use]
pub fn way(arguments: &Start) -> Way {
    let program = std::env::args().next().unwrap_or_default();
    let programs = program.rfind('/').map(|slash| quote(&program[..=slash]));
    let first = arguments.paths.iter().chain(&arguments.config).next();
    let file = first.map(|path| {
        let file = if path.is_dir() { path.join("jobs.kron") } else { path.clone() };
        format!(" --file {}", quote(&file.to_string_lossy()))
    });
    Way {
        programs: programs.unwrap_or_default(),
        flags: flags(&arguments.place),
        file: file.unwrap_or_default(),
    }
}

/// What finds the same daemon, for whoever asks it; nothing if that is the default.
fn flags(place: &Place) -> String {
    let quoted = |path: &PathBuf| quote(&path.to_string_lossy());
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
