//! FAULTS 33: on the way to a command every step fails, or does nothing and says that it
//! did, because a tracer answers in the kernel's place. Whatever it is, nothing runs.

use crate::rights::nobody;
use crate::support::{Host, end, hear, is_root, order, plan, skip, write};
use kron_host::launch::{LaunchError, Plan, Step};
use krond::exec::{Order, Prepared, Report, Target};
use nix::errno::Errno;
use std::path::PathBuf;
use std::process::Command;

/// Those of FAULTS 16, and the one that says who one is.
const ERRORS: [Errno; 6] =
    [Errno::ENOSPC, Errno::EDQUOT, Errno::EROFS, Errno::EIO, Errno::EMFILE, Errno::EPERM];

/// Whether there is a tracer that may trace; says so if not.
fn can_inject() -> bool {
    let traced = Command::new("strace").args(["-qq", "-o", "/dev/null", "/bin/true"]).status();
    let there = traced.is_ok_and(|status| status.success());
    if !there {
        skip("needs `strace` that may trace");
    }
    there
}

/// A daemon whose set-up processes are answered by these rules.
fn answering(rules: &str) -> Host {
    let mut file = PathBuf::new();
    let host = Host::with(|options| {
        file = options.journal.with_file_name("daemon");
        options.program.clone_from(&file);
    });
    // With `-D` they stay children of whoever starts them.
    let krond = env!("CARGO_BIN_EXE_krond");
    let script = format!("#!/bin/sh\nexec strace -D -f -qq -o /dev/null {rules} {krond} \"$@\"\n");
    write(&file, 0o755, &script);
    host
}

/// A command of another user, with its output in two files.
fn touch(host: &Host) -> Order {
    let touch = plan(&["/usr/bin/touch", &host.path("ran")]);
    let plan = Plan { ids: Some(nobody()), cwd: Some("/usr".into()), ..touch };
    let [out, err] = ["out", "err"].map(|name| Target::File(host.path(name)));
    order(plan).output(out, err)
}

/// What becomes of it.
fn told(host: &Host) -> Report {
    let report = host.failure(touch(host));
    assert!(!host.at("ran").exists(), "{report:?}");
    report
}

/// EXE-11: each step, with each error.
#[test]
fn exe_11_fault_33_each_step_that_fails() {
    if !is_root() || !can_inject() {
        return;
    }
    for (call, when, step) in [
        ("setsid", "", Step::Session),
        // The nursery itself sets a few when it begins.
        ("rt_sigaction", ":when=20", Step::Signals),
        ("rt_sigprocmask", "", Step::Signals),
        ("prctl", ":when=1", Step::Tracing),
        ("prctl", ":when=2", Step::Tracing),
        ("keyctl", "", Step::Keyring),
        ("setgroups", "", Step::Groups),
        ("setresgid", "", Step::Group),
        ("setresuid", ":when=1", Step::User),
        ("getresuid", "", Step::Verify),
        ("getresgid", "", Step::Verify),
        ("capset", "", Step::Capabilities),
        ("chdir", "", Step::Directory),
    ] {
        for errno in ERRORS {
            // A sandbox without keys: nobody there could ask for one.
            if (step, errno) == (Step::Keyring, Errno::EPERM) {
                continue;
            }
            let host = answering(&format!("-e inject={call}:error={errno:?}{when}"));
            let expected = Report::Failed(LaunchError { step, errno });
            assert_eq!(told(&host), expected, "{call}");
            // What does not come by that step is not disturbed.
            if !matches!(step, Step::Session | Step::Signals) {
                host.output(plan(&["/bin/true"]));
            }
        }
    }
    for (name, step) in [("out", Step::Stdout), ("err", Step::Stderr)] {
        for errno in ERRORS {
            let rule = format!("-P \"$(dirname \"$0\")\"/{name} -e inject=openat:error={errno:?}");
            let expected = Report::Failed(LaunchError { step, errno });
            assert_eq!(told(&answering(&rule)), expected, "{name}");
        }
    }
}

/// FAULTS 16: one that cannot say that it is ready does not go on, and what is more than
/// it may do is noticed before that.
#[test]
fn exe_11_fault_33_the_last_steps_that_fail() {
    if !is_root() || !can_inject() {
        return;
    }
    for errno in ERRORS {
        let host = answering(&format!("-e inject=sendto:error={errno:?}"));
        assert_eq!(told(&host), Report::Gone, "{errno:?}");
        let host = answering(&format!("-e inject=access,faccessat,faccessat2:error={errno:?}"));
        let expected = LaunchError { step: Step::Execute, errno: Errno::EACCES };
        assert_eq!(told(&host), Report::Failed(expected), "{errno:?}");
    }
}

/// EXE-11: without a gate of its own, a process ends without a word.
#[test]
fn exe_11_fault_33_the_first_steps_that_fail() {
    if !is_root() || !can_inject() {
        return;
    }
    for rule in ["-e inject=close_range", "-P /dev/null -e inject=openat"] {
        for errno in ERRORS {
            let host = answering(&format!("{rule}:error={errno:?}"));
            match host.try_prepare(touch(&host)) {
                Ok(Prepared { pidfd, mut gate, .. }) => {
                    assert_eq!(hear(&mut gate), Report::Gone, "{rule} {errno:?}");
                    assert_eq!(end(&pidfd).code, 125, "{rule} {errno:?}");
                }
                // Gone before it was told what to become.
                Err(refusal) => assert!(refusal.is_transient(), "{rule} {errno:?}: {refusal}"),
            }
            assert!(!host.at("ran").exists(), "{rule} {errno:?}");
        }
    }
}

/// EXE-11, and CVE-2006-2607: ids that are said to be taken on and are not, and a way back
/// to root that is open.
#[test]
fn exe_11_fault_33_a_step_that_only_says_it_did() {
    if !is_root() || !can_inject() {
        return;
    }
    for rule in [
        "setgroups:retval=0",
        "setresuid:retval=0:when=1",
        "setresgid:retval=0",
        "setresuid:retval=0:when=2",
    ] {
        let host = answering(&format!("-e inject={rule}"));
        let expected = LaunchError { step: Step::Verify, errno: Errno::EPERM };
        assert_eq!(told(&host), Report::Failed(expected), "{rule}");
    }
}

/// It is not the tracer that keeps a command from running.
#[test]
fn a_tracer_that_only_watches() {
    if !is_root() || !can_inject() {
        return;
    }
    for rule in ["trace=setresuid", "inject=keyctl:error=EPERM", "inject=keyctl:error=ENOSYS"] {
        let host = answering(&format!("-e {rule}"));
        let id = Plan { ids: Some(nobody()), ..plan(&["/usr/bin/id", "-u"]) };
        assert_eq!(host.output(id), "65534\n", "{rule}");
    }
}
