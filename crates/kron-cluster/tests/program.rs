//! The program `kron-cluster`, as a person calls it.

use kron_cluster::{Options, start_or_skip};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

const PROGRAM: &str = env!("CARGO_BIN_EXE_kron-cluster");
const PATIENCE: Duration = Duration::from_secs(60);

/// Starts a cluster by hand; its directory.
fn up() -> (Child, PathBuf) {
    let mut child = Command::new(PROGRAM).arg("up").stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let path = line.trim().strip_prefix("export KUBECONFIG=").unwrap();
    (child, Path::new(path).parent().unwrap().to_path_buf())
}

/// Processes with a directory in their arguments.
fn processes(directory: &Path) -> Vec<String> {
    let directory = directory.display().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let arguments = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
        if arguments.contains(&directory) {
            found.push(arguments);
        }
    }
    found
}

fn check_gone(directory: &Path) {
    let until = Instant::now() + PATIENCE;
    while directory.exists() || !processes(directory).is_empty() {
        assert!(Instant::now() < until, "left: {:?}", processes(directory));
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn nothing_is_left_when_it_is_killed_or_told_to_end() {
    if start_or_skip("program", &Options::default()).unwrap().is_none() {
        return;
    }
    for signal in ["KILL", "INT"] {
        let (mut child, directory) = up();
        assert!(processes(&directory).len() >= 3, "{:?}", processes(&directory));
        let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
        assert!(sent.unwrap().success());
        let status = child.wait().unwrap();
        assert_eq!(status.success(), signal == "INT", "{signal}: {status}");
        check_gone(&directory);
    }
}

/// What is missing is said, and can be told from a failure.
#[test]
fn missing_programs_are_told_apart() {
    let empty = tempfile::tempdir().unwrap();
    let path = empty.path();
    let check = |command: &str, variables: &[(&str, &Path)], expected: &str| {
        let mut program = Command::new(PROGRAM);
        program.arg(command).env_clear().envs(variables.iter().copied());
        let output = program.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(text.contains(expected), "{text}");
    };
    check("path", &[("HOME", path)], "`kron-cluster build` makes one");
    check("path", &[("KRON_CLUSTER_BIN", path)], "there is no `etcd` in KRON_CLUSTER_BIN");
    check("path", &[], "neither XDG_CACHE_HOME nor HOME is set");
    check("build", &[("HOME", path), ("PATH", path)], "Go is not here");
    check("build", &[("KRON_CLUSTER_BIN", path)], "there is no `etcd` in KRON_CLUSTER_BIN");
}
