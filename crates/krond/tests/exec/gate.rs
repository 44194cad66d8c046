//! Between being prepared and being released.

use crate::support::{Host, end, hear, order, plan, shell, wait_for};
use krond::exec::process::{self, Exit};
use krond::exec::{Prepared, Report, Target};
use rustix::process::{Signal, pidfd_send_signal};
use std::fs;
use std::os::unix::net::{UnixListener, UnixStream};
use std::task::Poll;

/// Nothing runs before the release, and the process stays the same.
#[test]
fn the_same_process() {
    let host = Host::new();
    let ran = host.path("ran");
    let command = shell(&format!("echo $$ > {ran}"));
    let Prepared { process, pidfd, mut gate } = host.prepare(order(command));
    assert_eq!(hear(&mut gate), Report::Ready);
    assert_eq!(gate.report(), Poll::Pending);
    assert!(!host.at("ran").exists());
    assert_eq!(process::observe(process.pid).unwrap(), process);
    assert!(process::find(&process).unwrap().is_some());
    let mut released = gate.release().unwrap();
    assert_eq!(end(&pidfd), Exit { code: 0, signal: None });
    assert_eq!(released.failure(), None);
    assert_eq!(host.read("ran").trim(), process.pid.to_string());
    assert!(process::find(&process).unwrap().is_none());
}

/// DECISIONS 6: end-of-file at the gate, and nothing has run: whether the daemon
/// changes its mind, or never heard the report.
#[test]
fn a_gate_that_is_dropped() {
    let host = Host::new();
    for listen in [true, false] {
        let ran = host.path("ran");
        let Prepared { pidfd, mut gate, .. } = host.prepare(order(plan(&["/usr/bin/touch", &ran])));
        if listen {
            assert_eq!(hear(&mut gate), Report::Ready);
        }
        drop(gate);
        assert_eq!(end(&pidfd).code, 125);
        assert!(!host.at("ran").exists());
    }
}

/// A process that is killed at the gate is gone, and cannot be released.
#[test]
fn killed_at_the_gate() {
    let host = Host::new();
    let Prepared { pidfd, mut gate, .. } = host.prepare(order(plan(&["/bin/true"])));
    assert_eq!(hear(&mut gate), Report::Ready);
    pidfd_send_signal(&pidfd, Signal::KILL).unwrap();
    assert_eq!(end(&pidfd), Exit { code: 137, signal: Some(9) });
    assert_eq!(hear(&mut gate), Report::Gone);
    assert!(gate.release().is_err());
}

/// FAULTS 29: one that never reports, as on a hung mount, holds up nobody, and
/// can be ended.
#[test]
fn no_report() {
    let host = Host::new();
    // A journal that takes no more callers: whoever connects waits for ever.
    let journal = UnixListener::bind(host.at("journal")).unwrap();
    rustix::net::listen(&journal, 0).unwrap();
    let _caller = UnixStream::connect(host.at("journal")).unwrap();
    let order = order(plan(&["/bin/true"])).output(Target::Syslog, Target::Syslog);
    let Prepared { pidfd, mut gate, .. } = host.prepare(order);
    assert_eq!(gate.report(), Poll::Pending);
    drop(gate);
    assert_eq!(process::peek(&pidfd).unwrap(), None);
    pidfd_send_signal(&pidfd, Signal::KILL).unwrap();
    assert_eq!(end(&pidfd).signal, Some(9));
}

/// FAULTS 35: what a job is given is nowhere to be read while it waits.
#[test]
fn secrets() {
    let host = Host::new();
    let mut plan = plan(&["/bin/echo", "hunter2"]);
    plan.set_env("TOKEN", "hunter2");
    let Prepared { process, pidfd, mut gate } = host.prepare(order(plan));
    assert_eq!(hear(&mut gate), Report::Ready);
    for file in ["cmdline", "environ", "comm"] {
        let text = fs::read(format!("/proc/{}/{file}", process.pid)).unwrap();
        assert!(!String::from_utf8_lossy(&text).contains("hunter2"), "{file}");
    }
    drop(gate);
    end(&pidfd);
}

/// A plan that does not fit a socket's buffer.
#[test]
fn a_long_plan() {
    let host = Host::new();
    let mut plan = shell("echo ${#A}");
    plan.set_env("A", "\u{1}".repeat(100_000));
    assert_eq!(host.output(plan), "100000\n");
}

/// Dropping the launcher leaves nothing behind that runs.
#[test]
fn a_launcher_that_is_dropped() {
    let host = Host::new();
    let Prepared { pidfd, mut gate, .. } = host.prepare(order(plan(&["/bin/true"])));
    assert_eq!(hear(&mut gate), Report::Ready);
    drop(host);
    // A start that is under way is the daemon's, not the launcher's.
    assert_eq!(process::peek(&pidfd).unwrap(), None);
    drop(gate);
    wait_for("end", || process::reap(&pidfd).unwrap());
}
