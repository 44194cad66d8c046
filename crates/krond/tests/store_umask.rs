//! Modes of state files. Alone in its file, because the umask is the process's.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use support::{batch, now};

#[test]
fn files_are_for_us_alone_under_any_umask() {
    // STA-35.
    use nix::sys::stat::{Mode, umask};
    for mask in [0o000, 0o022, 0o077, 0o777] {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/b/krond");
        let before = umask(Mode::from_bits_truncate(mask));
        let store = krond::store::Store::open(&path, krond::store::Options::at(now()));
        let committed = store.map(|(store, _)| store.commit(&batch(1, 0)));
        umask(before);
        committed.unwrap().unwrap();
        let mode =
            |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(&path), 0o700, "umask {mask:o}");
        assert_eq!(mode(path.parent().unwrap()), 0o755, "umask {mask:o}");
        for item in fs::read_dir(&path).unwrap() {
            let item = item.unwrap().path();
            assert_eq!(mode(&item), 0o600, "{} umask {mask:o}", item.display());
        }
    }
}
