//! A file is replaced whole or not at all.
//!
//! Written beside the old one, made durable, renamed over it, and the rename
//! made durable too. Whoever reads sees the old file or the new one.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

/// Puts `contents` in the place of a file, which keeps its owner and its mode; a
/// new file gets mode 644, less what the umask takes away. Directories above are created as needed.
///
/// # Errors
/// When any step fails; then the old file is still there.
pub fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    DirBuilder::new().recursive(true).mode(0o755).create(directory)?;
    let temporary = temporary_name(path);
    let written = write(&temporary, path, contents);
    let renamed = written.and_then(|()| fs::rename(&temporary, path));
    if renamed.is_err() {
        // The error that matters is the first one.
        let _ = fs::remove_file(&temporary);
    }
    renamed?;
    File::open(directory)?.sync_all()
}

/// A dot file, which is never taken for configuration.
fn temporary_name(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

fn write(temporary: &Path, path: &Path, contents: &[u8]) -> io::Result<()> {
    let old = match fs::symlink_metadata(path) {
        Ok(old) => Some(old),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let mode = if old.is_some() { 0o600 } else { 0o644 };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(temporary)?;
    file.write_all(contents)?;
    if let Some(old) = old {
        let new = file.metadata()?;
        if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
            fchown(&file, Some(old.uid()), Some(old.gid()))?;
        }
        file.set_permissions(Permissions::from_mode(old.mode() & 0o7777))?;
    }
    file.sync_all()
}
