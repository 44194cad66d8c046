//! Knowing processes again, and ending all that a job has started.

use crate::support::{Host, copy, end, hear, is_root, order, plan, shell, wait_for};
use kron_engine::kept::Process;
use kron_host::launch::Plan;
use krond::exec::group::{Leader, signal_group, signal_members, survivors};
use krond::exec::process::{self, Exit, Stat, has_ended};
use krond::exec::{Prepared, Report};
use rustix::process::Signal;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Command, Stdio};

#[track_caller]
fn start(host: &Host, plan: Plan) -> (Process, OwnedFd) {
    let Prepared { process, pidfd, mut gate } = host.prepare(order(plan));
    assert_eq!(hear(&mut gate), Report::Ready);
    gate.release().unwrap();
    (process, pidfd)
}

/// One that is left of a group besides its leader.
fn survivor(process: &Process) -> Option<OwnedFd> {
    survivors([process].into_iter()).unwrap().remove(0)
}

/// Waits for a file, and reads it.
#[track_caller]
fn written(host: &Host, name: &str) -> String {
    wait_for(name, || fs::read_to_string(host.at(name)).ok().filter(|text| text.ends_with('\n')))
}

fn is_stopped(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

/// FAULTS 30: a process named `) R 1` is known for what it is.
#[test]
fn a_misleading_name() {
    let host = Host::new();
    copy(Path::new("/bin/sleep"), &host.at(") R 1"));
    let (process, pidfd) = start(&host, plan(&[&host.path(") R 1"), "1000"]));
    let comm = format!("/proc/{}/comm", process.pid);
    wait_for("its name", || (fs::read_to_string(&comm).unwrap() == ") R 1\n").then_some(()));
    let stat = Stat::of(process.pid).unwrap().unwrap();
    assert_eq!((stat.parent, stat.group), (std::process::id(), process.pid));
    assert_eq!(process::observe(process.pid).unwrap(), process);
    assert!(process::find(&process).unwrap().is_some());
    signal_group(&process, pidfd.as_fd(), Leader::Child, Signal::KILL).unwrap();
    assert_eq!(end(&pidfd).signal, Some(9));
}

/// FAULTS 30: a number that is used by something else is nobody's.
#[test]
fn another_of_the_same_number() {
    let host = Host::new();
    let (process, pidfd) = start(&host, shell("sleep 1000 & wait"));
    let other =
        Process { start_ticks: process.start_ticks.map(|ticks| ticks - 1), ..process.clone() };
    assert!(process::find(&other).unwrap().is_none());
    assert!(survivor(&other).is_none());
    assert!(!signal_members(&other, Signal::KILL).unwrap());
    let boot = Process { boot_id: Some("another".into()), ..process.clone() };
    assert!(process::find(&boot).unwrap().is_none());
    assert!(!signal_members(&boot, Signal::KILL).unwrap());
    // A zombie is gone.
    signal_group(&process, pidfd.as_fd(), Leader::Child, Signal::KILL).unwrap();
    wait_for("end", || process::peek(&pidfd).unwrap());
    assert!(process::find(&process).unwrap().is_none());
    assert_eq!(end(&pidfd), Exit { code: 137, signal: Some(9) });
    assert!(process::reap(&pidfd).is_err());
}

/// FAULTS 24: one that ignores SIGTERM ends by SIGKILL, with all it started.
#[test]
fn one_that_does_not_listen() {
    let host = Host::new();
    let text = format!("trap '' TERM; sleep 1000 & echo $! > {}; wait", host.path("began"));
    let (process, pidfd) = start(&host, shell(&text));
    let background: u32 = written(&host, "began").trim().parse().unwrap();
    let background = process::find(&process::observe(background).unwrap()).unwrap().unwrap();
    assert!(signal_group(&process, pidfd.as_fd(), Leader::Child, Signal::TERM).unwrap());
    assert_eq!(process::peek(&pidfd).unwrap(), None);
    assert!(signal_group(&process, pidfd.as_fd(), Leader::Child, Signal::KILL).unwrap());
    assert_eq!(end(&pidfd).signal, Some(9));
    wait_for("end of the background", || has_ended(&background).unwrap().then_some(()));
}

/// FAULTS 24: one that is stopped hears SIGTERM, and can act on it.
#[test]
fn one_that_is_stopped() {
    let host = Host::new();
    let (process, pidfd) =
        start(&host, shell("trap 'exit 7' TERM; kill -STOP $$; while :; do :; done"));
    wait_for("stop", || is_stopped(process.pid).then_some(()));
    signal_group(&process, pidfd.as_fd(), Leader::Child, Signal::TERM).unwrap();
    assert_eq!(end(&pidfd), Exit { code: 7, signal: None });
}

/// FAULTS 24: what was left in the background is found after the leader has gone.
#[test]
fn one_that_goes_to_the_background() {
    let host = Host::new();
    let (process, pidfd) = start(&host, shell("sleep 1000 & sleep 1000 & exit 3"));
    assert_eq!(end(&pidfd).code, 3);
    let left = survivor(&process).unwrap();
    assert!(signal_members(&process, Signal::TERM).unwrap());
    wait_for("end", || has_ended(&left).unwrap().then_some(()));
    wait_for("nobody", || survivor(&process).is_none().then_some(()));
    assert!(!signal_members(&process, Signal::TERM).unwrap());
}

/// Several groups are told apart in one look: that of a zombie, one that is gone, one that
/// has others.
#[test]
fn several_groups() {
    let host = Host::new();
    let jobs = ["sleep 1000 & exit 3", "exit 0", "exit 0", "sleep 1000 & sleep 1000 & wait"];
    let started: Vec<_> = jobs.iter().map(|text| start(&host, shell(text))).collect();
    for (_, pidfd) in &started[..3] {
        wait_for("its end", || process::peek(pidfd).unwrap());
    }
    end(&started[2].1);
    let look = || survivors(started.iter().map(|(process, _)| process)).unwrap();
    let found = wait_for("all that is to be found", || {
        let found: Vec<bool> = look().iter().map(Option::is_some).collect();
        (found == [true, false, false, true]).then_some(found)
    });
    assert_eq!(found.len(), jobs.len());
    for (process, pidfd) in &started {
        let _ = signal_group(process, pidfd.as_fd(), Leader::Child, Signal::KILL);
    }
    wait_for("nobody", || look().iter().all(Option::is_none).then_some(()));
    assert!(survivors(std::iter::empty()).unwrap().is_empty());
}

/// FAULTS 24, 30: a job of an earlier daemon is no child of ours, and is ended
/// with its group, stopped or not.
#[test]
fn one_that_is_adopted() {
    let host = Host::new();
    let began = host.path("began");
    let job = format!("sleep 1000 & kill -STOP $!; echo $$ $! > {began}; wait; exit 0");
    Command::new("/bin/sh")
        .args(["-c", "setsid sh -c \"$0\" & exit 0", &job])
        .stdin(Stdio::null())
        .status()
        .unwrap();
    let text = written(&host, "began");
    let pids: Vec<u32> = text.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    let process = process::observe(pids[0]).unwrap();
    assert_ne!(Stat::of(pids[0]).unwrap().unwrap().parent, std::process::id());
    let pidfd = process::find(&process).unwrap().unwrap();
    let member = survivor(&process).unwrap();
    // Not ours to collect.
    assert!(process::peek(&pidfd).is_err());
    assert!(signal_group(&process, pidfd.as_fd(), Leader::Other, Signal::TERM).unwrap());
    for pidfd in [&member, &pidfd] {
        wait_for("end", || has_ended(pidfd).unwrap().then_some(()));
    }
    assert!(!signal_group(&process, pidfd.as_fd(), Leader::Other, Signal::KILL).unwrap());
}

/// What is seen of a group by whoever runs this.
#[test]
#[ignore = "started by `one_that_may_not_be_signalled`"]
fn seen_by_somebody() {
    let Ok(text) = std::env::var("KROND_TEST_GROUP") else { return };
    let (pid, ticks) = text.split_once(' ').unwrap();
    let process = Process {
        pid: pid.parse().unwrap(),
        start_ticks: ticks.parse().ok(),
        boot_id: Some(process::boot_id().unwrap().into()),
    };
    println!("members: {}", survivor(&process).iter().count());
}

/// FAULTS 31: a group of which nobody may be signalled is not gone.
#[test]
fn one_that_may_not_be_signalled() {
    if !is_root() {
        return;
    }
    let host = Host::new();
    let (process, pidfd) = start(&host, shell("sleep 1000 & exit 3"));
    assert_eq!(end(&pidfd).code, 3);
    copy(&std::env::current_exe().unwrap(), &host.at("test"));
    let group = format!("{} {}", process.pid, process.start_ticks.unwrap());
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
        .arg(host.at("test"))
        .args(["--exact", "groups::seen_by_somebody", "--ignored", "--nocapture"])
        .env("KROND_TEST_GROUP", group)
        .output()
        .unwrap();
    signal_members(&process, Signal::KILL).unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("members: 1\n"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}
