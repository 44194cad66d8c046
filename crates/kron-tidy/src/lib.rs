//! Checks of the repository itself, run as tests, and what the tests of several
//! programs share: pages that are run, man pages and completions.
//!
//! | test file | checks |
//! |---|---|
//! | `requirements` | every requirement of a finished part is named by a test |
//! | `faults` | every fault of `docs/FAULTS.md` is a test |
//! | `licences` | every dependency may be used under a licence we accept |
//! | `threats` | tests, files and unsafe code are as the threat model says |
//! | `purity` | the engine cannot reach clock, files, environment or platform mathematics |

pub mod generated;
pub mod transcript;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The root of the repository.
#[must_use]
pub fn root() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    crates.and_then(Path::parent).map(Path::to_path_buf).unwrap_or_default()
}

/// All files below a directory, in order.
///
/// # Errors
/// When a directory cannot be read.
pub fn files(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    found.sort();
    Ok(found)
}

/// Runs the cargo that runs us.
///
/// # Errors
/// When it cannot be started.
pub fn cargo(directory: &Path, arguments: &[&str]) -> std::io::Result<Output> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    Command::new(cargo).args(arguments).current_dir(directory).env_remove("RUSTFLAGS").output()
}
