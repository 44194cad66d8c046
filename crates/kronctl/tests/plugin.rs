//! Called as `kubectl-kron`, the program speaks of itself as `kubectl kron`.

use std::os::unix::fs::symlink;
use std::process::Command;

#[test]
fn usage() {
    let directory = tempfile::tempdir().unwrap();
    let plugin = directory.path().join("kubectl-kron");
    symlink(env!("CARGO_BIN_EXE_kronctl"), &plugin).unwrap();
    for (arguments, expected) in [
        (&["--help"][..], "Usage: kubectl kron [OPTIONS] <COMMAND>"),
        (&["--help"], "  kubectl kron next backup\n"),
        (&["next", "--help"], "Usage: kubectl kron next [OPTIONS] [NAME]"),
        (&["next", "--help"], "  kubectl kron next backup --count 30\n"),
        (&["--version"], "kronctl 0."),
    ] {
        let output = Command::new(&plugin).args(arguments).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains(expected), "{arguments:?}: {text}");
        assert!(!text.contains("\n  kronctl "), "{arguments:?}: {text}");
    }
    // What is wrong is told in the same words.
    let output = Command::new(&plugin).args(["explain"]).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("Usage: kubectl kron explain <NAME>"), "{text}");
    assert_eq!(output.status.code(), Some(2));
}
