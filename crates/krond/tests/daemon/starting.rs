//! Fault 16, 25, 33: every step of a start fails, with each error. Nothing runs by it; what
//! may pass is tried again, what does not leaves the period to the next daemon.

use crate::failing::{JOB, noon};
use crate::support::{
    Daemon, Place, Start, children, descriptors, family, minute, need_root, need_strace, set_mode,
    wait_for, with_system_log,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;

/// The error of a start that failed, with everything an error has.
#[track_caller]
fn start_failed(daemon: &Daemon<'_>, place: &Place, fault: &str) {
    let error = daemon.wait_of("error", "a");
    assert_eq!(error["identity"], place.identity("a"), "{fault}: {}", error.line);
    assert_eq!(&error["period_id"], minute(0), "{fault}: {}", error.line);
    assert_eq!(&error["error_type"], "ExecutionError", "{fault}: {}", error.line);
    assert_eq!([&error["level"], &error["component"]], ["error", "krond"], "{}", error.line);
    assert!(!error["operation"].is_empty() && !error["message"].is_empty(), "{}", error.line);
}

/// Errors that may pass, and those that do not.
const PASSING: [&str; 6] = ["ENOSPC", "EDQUOT", "EMFILE", "ENFILE", "EAGAIN", "ENOMEM"];
const LASTING: [&str; 3] = ["EROFS", "EIO", "EPERM"];

/// What may pass is tried again until it has passed, within the deadline. What does not
/// leaves the period open, for the next daemon to run it; after the other there is nothing
/// left to run. `is_alone`: when it is over, nothing but the daemon is there.
fn fails(place: &Place, step: &str, error: &str, is_alone: bool) {
    let fault = format!("{step}={error}");
    let daemon = place.start(-20.0, &["--fail-at", &fault]);
    let before = descriptors(daemon.pid());
    daemon.clock_now(-0.02);
    start_failed(&daemon, place, &fault);
    // Errors of watching are always taken to pass.
    let passes = PASSING.contains(&error) || step == "watch";
    if passes {
        let exited = daemon.ran("a", &minute(0));
        assert_eq!(&exited["chosen_time"], minute(0), "{fault}: another time");
    } else {
        assert!(place.ask_jobs()["a"].to_string().contains("blocked"), "{fault}");
    }
    assert_eq!(daemon.all("error", "a").len(), 1, "{fault}");
    if is_alone {
        wait_for("no child, alive or dead", || children(daemon.pid()).is_empty().then_some(()));
        wait_for("no descriptor", || {
            // One for each process that waits to make others.
            let waiting = family(daemon.pid()).0.len();
            (descriptors(daemon.pid()) <= before + waiting).then_some(())
        });
    }
    daemon.stop();
    assert_eq!(noon(place).is_some(), passes, "{fault}");
    assert_eq!(place.runs("a").len(), usize::from(passes), "{fault}");
    let daemon = place.start(5.0, &[]);
    if passes {
        // What was open would be started before it answers.
        place.ask(&["status"]).exits(0);
        assert_eq!(daemon.count("started"), 0, "{fault}");
    } else {
        daemon.ran("a", &minute(0));
    }
    daemon.stop();
    assert_eq!(place.runs("a"), [minute(0)], "{fault}");
}

macro_rules! each_error {
    ($($name:ident: $step:literal;)+) => {
        $(
            #[test]
            fn $name() {
                for error in PASSING.into_iter().chain(LASTING) {
                    fails(&Place::with(JOB), $step, error, false);
                }
            }
        )+
    };
}

each_error! {
    fault_16_25_start_gate: "gate";
    fault_16_25_start_fork: "fork";
    fault_16_25_start_pidfd: "pidfd";
    fault_16_25_start_observe: "observe";
    fault_16_25_start_plan: "plan";
    fault_16_25_start_watch: "watch";
}

/// What a tracer answers in the kernel's place when a process is to become another user, and
/// the step that fails by it. The last of those of ids do nothing and say that they did.
const DROPS: [(&str, &str); 18] = [
    ("keyctl:error=EDQUOT", "leave the keyring"),
    ("setgroups:error=EPERM", "set groups"),
    ("setgroups:error=ENOMEM", "set groups"),
    ("setresgid:error=EPERM", "set group id"),
    ("setresuid:error=EPERM:when=1", "set user id"),
    ("setresuid:error=EAGAIN:when=1", "set user id"),
    ("getresuid:error=EIO", "verify ids"),
    ("capset:error=EPERM", "drop capabilities"),
    ("setgroups:retval=0", "verify ids"),
    ("setresgid:retval=0", "verify ids"),
    ("setresuid:retval=0:when=1", "verify ids"),
    ("setresuid:retval=0:when=2", "verify ids"),
    ("prctl:error=EPERM", "forbid tracing"),
    ("prlimit64:error=EPERM", "set a limit"),
    ("chdir:error=EIO", "change directory"),
    ("openat:error=EROFS", "open standard output"),
    ("openat:error=ENOSPC", "open standard output"),
    ("access,faccessat,faccessat2:error=EIO", "execute it"),
];

/// EXE-11.
#[test]
fn exe_11_fault_33_whatever_fails_on_the_way_to_a_user_runs_nothing() {
    if !need_root() || !need_strace() {
        return;
    }
    for (rule, step) in DROPS {
        // What is not of ids concerns only who asks for it, at a path if it is of files.
        let (fields, path) = match step {
            "set a limit" => ("limit-fsize=1000000 NOTE", None),
            "change directory" => ("cwd=HERE NOTE", None),
            "open standard output" => ("stdout=file:HERE/out NOTE", Some("out")),
            "execute it" => ("command=HERE/note", Some("note")),
            _ => ("NOTE", None),
        };
        let place = Place::with(&format!(
            "0 12 * * * @policy(deadline=3h) name=a user=nobody {fields}\n\
             0 12 * * * @policy(deadline=1h) name=short user=nobody {fields}\n\
             0 12 * * * @policy(deadline=1h) name=b NOTE\n",
        ));
        set_mode(&place.write("record", ""), 0o666);
        set_mode(&place.write("out", ""), 0o666);
        let note = place.at("record");
        let note = format!("#!/bin/sh\necho $KRON_JOB $KRON_PERIOD_ID $$ >> {}\n", note.display());
        set_mode(&place.write("note", note), 0o755);
        let rule = format!("inject={rule}");
        // With `-D` the daemon stays our own child.
        let tracer = ["strace", "-D", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", &rule];
        let path = path.map(|name| format!("--trace-path={}", place.at(name).display()));
        let tracer: Vec<&str> = tracer.into_iter().chain(path.as_deref()).collect();
        let daemon = Start::new(&place, &[]).clock(-20.0).through(&tracer).start();
        daemon.ready();
        daemon.clock_now(-0.02);
        start_failed(&daemon, &place, &rule);
        let error = daemon.wait_of("error", "a");
        assert_eq!(&error["operation"], step, "{rule}: {}", error.line);
        daemon.wait_of("error", "short");
        // Others run, and it listens.
        daemon.ran("b", &minute(0));
        assert!(place.ask_jobs()["a"].to_string().contains("blocked"), "{rule}");
        daemon.clock(3700.0);
        let missed = daemon.outcome("short", &minute(0), "missed");
        assert!(missed["reason"].contains(&format!("cannot {step}")), "{rule}: {}", missed.line);
        daemon.stop();
        assert!(noon(&place).is_none(), "{rule}");
        assert_eq!([place.runs("a"), place.runs("short")], [[""; 0]; 2], "{rule}");
        let daemon = place.start(3800.0, &[]);
        daemon.ran("a", &minute(0));
        daemon.stop();
        assert_eq!([place.runs("a"), place.runs("b")], [[minute(0)], [minute(0)]], "{rule}");
        assert!(place.runs("short").is_empty(), "{rule}");
    }
}

/// What every process on its way to a command needs: its descriptors in their places, and
/// to say that it is ready. None gets through, and the next daemon runs what is open.
#[test]
fn fault_16_25_what_every_start_needs_fails() {
    if !need_strace() {
        return;
    }
    for rule in ["dup2,dup3:error=EMFILE", "sendto:error=EIO", "sendto:error=EPIPE"] {
        let place = Place::with(JOB);
        let inject = format!("inject={rule}");
        let tracer =
            ["strace", "-D", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", &inject];
        let daemon = Start::new(&place, &[]).clock(-20.0).through(&tracer).start();
        daemon.ready();
        daemon.clock_now(-0.02);
        start_failed(&daemon, &place, rule);
        daemon.stop();
        assert!(noon(&place).is_none(), "{rule}");
        assert!(place.runs("a").is_empty(), "{rule}");
        let daemon = place.start(5.0, &[]);
        daemon.ran("a", &minute(0));
        daemon.stop();
        assert_eq!(place.runs("a"), [minute(0)], "{rule}");
    }
}

/// A nursery that dies between making a process and saying which: the start is tried again,
/// and the process that nobody knows of is no zombie for ever.
#[test]
fn fault_23_25_a_process_that_nobody_knows_of_is_collected() {
    if !need_strace() {
        return;
    }
    let place = Place::with(JOB);
    // Whoever makes a process goes on a moment later.
    let rule = "inject=clone:delay_exit=1500000";
    let tracer = ["strace", "-D", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", rule];
    let daemon = Start::new(&place, &[]).clock(-20.0).through(&tracer).start();
    daemon.ready();
    daemon.clock(-2.0);
    let nurseries = || family(daemon.pid()).0;
    let nursery = wait_for("a nursery", || nurseries().first().copied());
    daemon.clock_now(-0.02);
    // For as long as it is what it was made as, it looks like a nursery.
    let stray = || nurseries().into_iter().find(|pid| *pid != nursery);
    let stray = wait_for("another process", stray);
    kill(Pid::from_raw(nursery), Signal::SIGKILL).unwrap();
    start_failed(&daemon, &place, "killed");
    daemon.ran("a", &minute(0));
    wait_for("the stray's end", || (!fs::exists(format!("/proc/{stray}")).unwrap()).then_some(()));
    wait_for("no child, alive or dead", || children(daemon.pid()).is_empty().then_some(()));
    daemon.stop();
    assert_eq!(place.runs("a"), [minute(0)]);
}

/// Output to the system log takes a pipe and a companion more. Whichever of them cannot
/// be had, nothing is left of the attempt: no process, no descriptor.
#[test]
fn fault_16_25_a_start_that_fails_beside_its_companion_leaves_nothing() {
    let place = Place::with(&JOB.replace("name=a", "name=a stdout=syslog"));
    with_system_log(&place, |_log| {
        let here = ["pipe", "companion"].into_iter();
        let here = here.flat_map(|step| PASSING.into_iter().chain(LASTING).map(move |e| (step, e)));
        let others = ["fork", "pidfd", "observe", "plan", "watch"].map(|step| (step, "EMFILE"));
        for (step, error) in here.chain(others) {
            let _ = fs::remove_dir_all(place.at("state"));
            let _ = fs::remove_file(place.at("record"));
            fails(&place, step, error, true);
        }
    });
}
