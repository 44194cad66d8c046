//! What a job's user can do to the process that is about to become his.

use crate::rights::nobody;
use crate::support::{Host, end, hear, is_root, order, plan};
use kron_host::launch::Plan;
use krond::exec::{Prepared, Report};
use std::process::Command;

/// Runs something as nobody; whether it could do it.
fn as_nobody(words: &[&str]) -> bool {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).args(words);
    command.output().unwrap().status.success()
}

/// FAULTS 32: until it executes the command, the process has the memory, the
/// environment and the gate of the daemon, and its user cannot look at any of
/// them: it lets nobody but root trace it, whatever `fs.suid_dumpable` says.
#[test]
fn its_user_cannot_look_into_it() {
    if !is_root() {
        return;
    }
    let host = Host::new();
    let sleep = Plan { ids: Some(nobody()), ..plan(&["/bin/sleep", "60"]) };
    let Prepared { process, pidfd, mut gate } = host.prepare(order(sleep));
    assert_eq!(hear(&mut gate), Report::Ready);
    let about = |name: &str| format!("/proc/{}/{name}", process.pid);
    assert!(as_nobody(&["/bin/cat", &about("status")]));
    let owner = std::fs::metadata(about("environ")).unwrap();
    assert_eq!(std::os::unix::fs::MetadataExt::uid(&owner), 0);
    for name in ["environ", "maps", "auxv", "fd/0", "fd/3", "cwd/.", "root/."] {
        assert!(!as_nobody(&["/bin/ls", &about("fd")]));
        assert!(!as_nobody(&["/usr/bin/head", "-c1", &about(name)]), "{name}");
    }
    assert!(!as_nobody(&["/usr/bin/dd", "if=/dev/null", &format!("of={}", about("mem"))]));
    drop(gate);
    assert_eq!(end(&pidfd).code, 125);
}

/// FAULTS 24, FAULTS 33: its user can stop or end it, and that costs him his own
/// run: nothing else happens.
#[test]
fn its_user_can_only_end_it() {
    if !is_root() {
        return;
    }
    let host = Host::new();
    let touch = plan(&["/usr/bin/touch", &host.path("ran")]);
    let Prepared { process, pidfd, mut gate } =
        host.prepare(order(Plan { ids: Some(nobody()), ..touch }));
    assert_eq!(hear(&mut gate), Report::Ready);
    let pid = process.pid.to_string();
    assert!(as_nobody(&["/bin/sh", "-c", &format!("kill -STOP {pid} && kill -KILL {pid}")]));
    assert_eq!(end(&pidfd).signal, Some(9));
    assert_eq!(hear(&mut gate), Report::Gone);
    assert!(gate.release().is_err());
    assert!(!host.at("ran").exists());
}
