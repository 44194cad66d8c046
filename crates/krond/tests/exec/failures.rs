//! What cannot be run is said, with its reason, and nothing runs.

use crate::support::{Host, end, hear, is_root, order, plan, set_mode, write};
use kron_host::launch::{LaunchError, Limit, Plan, PlanError, Step};
use krond::exec::process::Exit;
use krond::exec::{Order, Prepared, Refusal, Report, is_transient};
use nix::errno::Errno;
use std::fs;

#[track_caller]
fn check(host: &Host, plan: Plan, step: Step, errno: Errno) {
    let expected = Report::Failed(LaunchError { step, errno });
    assert_eq!(host.failure(order(plan)), expected);
}

/// FAULTS 22: a command that is missing, not executable or a directory is known
/// before anything is committed.
#[test]
fn no_program() {
    let host = Host::new();
    fs::write(host.at("text"), "echo no\n").unwrap();
    for (word, errno) in [
        ("/nonexistent/program", Errno::ENOENT),
        ("no-such-program", Errno::ENOENT),
        ("", Errno::ENOENT),
        ("/usr", Errno::EACCES),
        (&host.path("text"), Errno::EACCES),
    ] {
        check(&host, plan(&[word]), Step::Execute, errno);
    }
    check(&host, plan(&[]), Step::Execute, Errno::ENOENT);
}

/// FAULTS 22: what only the kernel can tell ends with 126 or 127, and the reason
/// is known all the same.
#[test]
fn refused_by_the_kernel() {
    let host = Host::new();
    for (name, text) in [("format", "echo no\n"), ("interpreter", "#!/nonexistent/sh\n")] {
        write(&host.at(name), 0o755, text);
    }
    let long = "x".repeat(200_000);
    for (words, code, errno) in [
        (vec![host.path("format")], 126, Errno::ENOEXEC),
        (vec![host.path("interpreter")], 127, Errno::ENOENT),
        (vec!["/bin/true".into(), long], 126, Errno::E2BIG),
    ] {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let Prepared { pidfd, mut gate, .. } = host.prepare(order(plan(&words)));
        assert_eq!(hear(&mut gate), Report::Ready);
        let mut released = gate.release().unwrap();
        assert_eq!(end(&pidfd), Exit { code, signal: None });
        let failure = released.failure().unwrap();
        assert_eq!((failure.step, failure.errno), (Step::Execute, errno));
    }
}

/// FAULTS 29: a directory that is not there, or not one.
#[test]
fn no_directory() {
    let host = Host::new();
    for (cwd, errno) in [("/nonexistent", Errno::ENOENT), ("/etc/passwd", Errno::ENOTDIR)] {
        let touch = plan(&["/usr/bin/touch", &host.path("ran")]);
        check(&host, Plan { cwd: Some(cwd.into()), ..touch }, Step::Directory, errno);
    }
    assert!(!host.at("ran").exists());
}

/// FAULTS 33: a limit that may not be set, and words the kernel cannot take.
#[test]
fn other_steps() {
    let host = Host::new();
    let touch = || plan(&["/usr/bin/touch", &host.path("ran")]);
    // More open files than the kernel allows anybody.
    let limits = vec![Limit::Nofile(u64::MAX - 1)];
    check(&host, Plan { limits, ..touch() }, Step::Limit, Errno::EPERM);
    let mut nul = touch();
    nul.words.push("a\0b".into());
    check(&host, nul, Step::Words, Errno::EINVAL);
    assert!(!host.at("ran").exists());
}

/// EXE-13: a directory, or a program, that only root may use, is not used for
/// somebody else.
#[test]
fn for_root_only() {
    if !is_root() {
        return;
    }
    let host = Host::new();
    fs::create_dir(host.at("private")).unwrap();
    set_mode(&host.at("private"), 0o700);
    write(&host.at("tool"), 0o700, "#!/bin/sh\n");
    let nobody = Some(crate::rights::nobody());
    let there =
        Plan { cwd: Some(host.path("private")), ids: nobody.clone(), ..plan(&["/bin/true"]) };
    check(&host, there, Step::Directory, Errno::EACCES);
    let tool = Plan { ids: nobody, ..plan(&[&host.path("tool")]) };
    check(&host, tool, Step::Execute, Errno::EACCES);
}

/// FAULTS 25: what the system refuses comes back as an error.
#[test]
fn no_process() {
    let host = Host::with(|options| options.program = "/nonexistent/krond".into());
    let refusal = host.try_prepare(order(plan(&["/bin/true"]))).unwrap_err();
    assert!(!refusal.is_transient());
    assert!(matches!(refusal, Refusal::Spawn(_)), "{refusal}");
    for errno in [Errno::EAGAIN, Errno::ENOMEM, Errno::EMFILE, Errno::ENFILE] {
        assert!(is_transient(errno));
        assert!(Refusal::Spawn(errno.into()).is_transient());
    }
    for errno in [Errno::ENOENT, Errno::EACCES, Errno::EPERM, Errno::ENOEXEC, Errno::E2BIG] {
        assert!(!is_transient(errno));
    }
}

/// FAULTS 11: an entry that names nobody is not run as somebody.
#[test]
fn no_plan() {
    let host = Host::new();
    let unknown = || PlanError::UnknownUser("ghost".into());
    let refusal = host.try_prepare(Order::new(1, "a", move || Err(unknown()))).unwrap_err();
    assert!(!refusal.is_transient());
    assert_eq!(refusal.to_string(), "there is no user `ghost`");
}
