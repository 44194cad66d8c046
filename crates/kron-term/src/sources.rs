//! The files that paths stand for, and how they are called in messages.

use kron_core::Zones;
use kron_host::config::{self, Refusal};
use kron_host::places;
use kron_tab::Tab;
use std::path::{Path, PathBuf};

/// A file that belongs to the configuration, and how it is called in messages.
#[derive(Clone, Debug)]
pub struct Found {
    /// In messages: as the person wrote it.
    pub shown: String,
    /// Its absolute path.
    pub path: PathBuf,
}

/// A file as it was read.
pub struct Sheet {
    /// How it is called in messages.
    pub shown: String,
    /// Its contents.
    pub bytes: Vec<u8>,
    /// What they mean.
    pub tab: Tab,
    /// Whether only a daemon of this user, who is not root, would accept it.
    pub own: bool,
}

/// The files that a path stands for.
///
/// # Errors
/// When the path cannot be read, or is neither a file nor a directory.
pub fn files(path: &Path) -> Result<Vec<Found>, Refusal> {
    let own = places::clean(path).ok();
    let files = config::files(path)?;
    Ok(files
        .into_iter()
        .map(|file| {
            let shown = match file.file_name() {
                Some(name) if Some(&file) != own.as_ref() => path.join(name),
                _ => path.to_path_buf(),
            };
            Found { shown: printable(&shown), path: file }
        })
        .collect())
}

/// A path that cannot forge a line of output.
#[must_use]
pub fn printable(path: &Path) -> String {
    let text = path.to_string_lossy();
    if !text.chars().any(char::is_control) {
        return text.into_owned();
    }
    let escape =
        |c: char| if c.is_control() { c.escape_default().collect() } else { c.to_string() };
    text.chars().map(escape).collect()
}

/// Reads and parses a file. `installed` is the directory it is taken to be in.
///
/// # Errors
/// When it cannot be read or must not be trusted.
pub fn read(found: &Found, installed: Option<&Path>, zones: &mut Zones) -> Result<Sheet, Refusal> {
    let source = config::read(&found.path)?;
    let path = match (installed, found.path.file_name()) {
        (Some(directory), Some(name)) => {
            let directory = places::clean(directory).unwrap_or_else(|_| directory.into());
            directory.join(name).to_string_lossy().into_owned()
        }
        _ => source.path,
    };
    let tab = kron_tab::read(&path, &source.bytes, zones);
    let own = installed.is_none() && !places::is_system() && source.owner != 0;
    Ok(Sheet { shown: found.shown.clone(), bytes: source.bytes, tab, own })
}
