//! Fault 16: every operation on state files and every step of a start fails, at
//! each of its passings, with each error. Nothing is released that is not recorded;
//! once the fault is gone, the next daemon neither repeats nor forgets the period.

use crate::support::{
    Daemon, Output, Place, Start, children, descriptors, minute, wait_for, with_own_mounts,
};
use nix::sys::signal::{Signal, kill};
use serde_json::Value;
use std::fs;
use std::path::Path;

const JOB: &str = "0 12 * * * @policy(deadline=1h) name=a shell=true command=\"echo a $KRON_PERIOD_ID >> HERE/record\"\n";

/// What a state file says of noon, if it says anything.
fn noon(place: &Place) -> Option<Value> {
    let text = fs::read(place.state_file("a")).ok()?;
    let state: Value = serde_json::from_slice(&text).unwrap();
    (state["LastHandledPeriodID"] == minute(0)).then_some(state)
}

/// Runs a daemon past noon; what it said when it ended, and whether it was ready
/// before.
fn one_day(mut daemon: Daemon<'_>) -> (Output, bool) {
    wait_for("ready or an end", || {
        (!daemon.is_running() || daemon.count("ready") > 0).then_some(())
    });
    let is_ready = daemon.count("ready") > 0;
    if is_ready {
        daemon.clock_now(-0.02);
        wait_for("a run or an end", || {
            (!daemon.is_running() || daemon.count("exited") > 0).then_some(())
        });
        let _ = kill(daemon.pid(), Signal::SIGTERM);
    }
    (daemon.end(), is_ready)
}

/// A fault of the store at the n-th passing of a step. Whether it was reached.
fn fails(step: &str, n: usize, error: &str) -> bool {
    let fault = format!("{step}:{n}={error}");
    let place = Place::with(JOB);
    let daemon = Start::new(&place, &["--fail-at", &fault]).clock(-20.0).start();
    let (output, is_ready) = one_day(daemon);
    if output.status == 0 {
        return false;
    }
    // State that cannot be opened is 3, what cannot be recorded 4.
    let codes = if is_ready { &[4][..] } else { &[3, 4] };
    assert!(codes.contains(&output.status), "{fault}: {}\n{}", output.status, output.stderr);
    let events = output.events();
    let lines: Vec<_> = events.iter().filter(|event| event.is("error")).collect();
    let [line] = lines[..] else { panic!("{fault}: one error\n{}", output.stderr) };
    assert_eq!(&line["error_type"], "PersistenceError", "{}", line.line);
    assert_eq!([&line["level"], &line["component"], &line["fatal"]], ["error", "krond", "true"]);
    assert!(!line["operation"].is_empty() && !line["message"].is_empty(), "{}", line.line);
    let of_job =
        line["path"].contains(place.state_file("a").file_name().unwrap().to_str().unwrap());
    let expected = if of_job { place.identity("a") } else { String::new() };
    assert_eq!(line["identity"], expected, "{}", line.line);

    let at_fault = noon(&place);
    let before = place.runs("a").len();
    assert!(at_fault.is_some() || before == 0, "{fault}: released without a record");
    // A job that no daemon got to know is new, and never fires for the past.
    let daemon = place.start(if is_ready { 5.0 } else { -10.0 }, &[]);
    if !is_ready {
        daemon.clock(-0.02);
    }
    let state = wait_for("the period in state", || {
        noon(&place).filter(|state| state["ActiveExecution"].is_null())
    });
    daemon.stop();
    // Another one finds nothing left to do.
    let daemon = place.start(10.0, &[]);
    daemon.ready();
    daemon.stop();
    assert_eq!(noon(&place), Some(state.clone()), "{fault}");
    assert_eq!(state["LastOutcome"], "executed", "{fault}: {state}");
    assert_eq!(state["History"].as_array().unwrap().len(), 1, "{fault}: {state}");
    let runs = place.runs("a").len();
    match at_fault {
        // Not recorded: open, and run by the next.
        None => assert_eq!((runs, &state["LastExitCode"]), (1, &0.into()), "{fault}"),
        // Recorded, whether or not it was released: never again.
        Some(then) => {
            assert_eq!(runs, before, "{fault}: the next daemon ran it again");
            assert_eq!(state["LastExitCode"], then["LastExitCode"], "{fault}");
        }
    }
    true
}

/// The step fails at each passing until there is none left. How often it is passed
/// by a start, a run and its end is known, so that none is left out.
fn at_each(step: &str, passings: usize, error: &str) {
    let reached = (1..=passings + 1).take_while(|n| fails(step, *n, error)).count();
    assert_eq!(reached, passings, "{step}");
}

macro_rules! at_each {
    ($($name:ident: $step:literal, $passings:literal, $error:literal;)+) => {
        $(
            #[test]
            fn $name() {
                at_each($step, $passings, $error);
            }
        )+
    };
}

// Create: the lock, the roster, and the state file when the run starts and ends.
// Write and sync: the roster when it is made, when it sees the job and when the job
// has a file, and the state file twice. The others: the roster, the state file twice; and
// the directory when it is opened.
at_each! {
    fault_16_create_enospc: "create", 4, "ENOSPC";
    fault_16_create_edquot: "create", 4, "EDQUOT";
    fault_16_create_erofs: "create", 4, "EROFS";
    fault_16_create_eio: "create", 4, "EIO";
    fault_16_create_emfile: "create", 4, "EMFILE";
    fault_16_write_enospc: "write", 5, "ENOSPC";
    fault_16_write_edquot: "write", 5, "EDQUOT";
    fault_16_write_erofs: "write", 5, "EROFS";
    fault_16_write_eio: "write", 5, "EIO";
    fault_16_write_emfile: "write", 5, "EMFILE";
    fault_16_sync_enospc: "sync", 5, "ENOSPC";
    fault_16_sync_edquot: "sync", 5, "EDQUOT";
    fault_16_sync_erofs: "sync", 5, "EROFS";
    fault_16_sync_eio: "sync", 5, "EIO";
    fault_16_sync_emfile: "sync", 5, "EMFILE";
    fault_16_close_enospc: "close", 3, "ENOSPC";
    fault_16_close_edquot: "close", 3, "EDQUOT";
    fault_16_close_erofs: "close", 3, "EROFS";
    fault_16_close_eio: "close", 3, "EIO";
    fault_16_close_emfile: "close", 3, "EMFILE";
    fault_16_rename_enospc: "rename", 3, "ENOSPC";
    fault_16_rename_edquot: "rename", 3, "EDQUOT";
    fault_16_rename_erofs: "rename", 3, "EROFS";
    fault_16_rename_eio: "rename", 3, "EIO";
    fault_16_rename_emfile: "rename", 3, "EMFILE";
    fault_16_sync_directory_enospc: "sync-directory", 4, "ENOSPC";
    fault_16_sync_directory_edquot: "sync-directory", 4, "EDQUOT";
    fault_16_sync_directory_erofs: "sync-directory", 4, "EROFS";
    fault_16_sync_directory_eio: "sync-directory", 4, "EIO";
    fault_16_sync_directory_emfile: "sync-directory", 4, "EMFILE";
}

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

const START: [&str; 6] = ["gate", "fork", "pidfd", "observe", "plan", "watch"];

/// What may pass is tried again until it has passed, within the deadline.
#[test]
fn fault_16_25_a_step_of_a_start_that_fails_for_a_while_is_tried_again() {
    for step in START {
        for error in ["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"] {
            let fault = format!("{step}={error}");
            let place = Place::with(JOB);
            let daemon = place.start(-20.0, &["--fail-at", &fault]);
            daemon.clock_now(-0.02);
            start_failed(&daemon, &place, &fault);
            let exited = daemon.ran("a", &minute(0));
            assert_eq!(&exited["chosen_time"], minute(0), "{fault}: another time");
            assert_eq!(daemon.all("error", "a").len(), 1, "{fault}");
            daemon.stop();
            assert_eq!(place.runs("a"), [minute(0)], "{fault}");
        }
    }
}

/// What does not pass leaves the period open, for the next daemon to run it.
#[test]
fn fault_16_a_step_of_a_start_that_fails_for_good_leaves_the_period_open() {
    for step in START {
        let fault = format!("{step}=EPERM");
        let place = Place::with(JOB);
        let daemon = place.start(-20.0, &["--fail-at", &fault]);
        daemon.clock_now(-0.02);
        start_failed(&daemon, &place, &fault);
        // Errors of watching are always taken to pass.
        if step == "watch" {
            daemon.ran("a", &minute(0));
            daemon.stop();
            continue;
        }
        assert!(place.ask_jobs()["a"].to_string().contains("blocked"), "{fault}");
        daemon.stop();
        assert!(noon(&place).is_none() && place.record().is_empty(), "{fault}");
        let daemon = place.start(5.0, &[]);
        daemon.ran("a", &minute(0));
        daemon.stop();
        assert_eq!(place.runs("a"), [minute(0)], "{fault}");
    }
}

/// Output to the system log takes a pipe and a companion more. Whichever of them cannot
/// be had, nothing is left of the attempt: no process, no descriptor.
#[test]
fn fault_16_25_a_start_that_fails_beside_its_companion_leaves_nothing() {
    let place = Place::with(&JOB.replace("name=a", "name=a stdout=syslog"));
    fs::create_dir(place.at("dev")).unwrap();
    with_own_mounts(|| {
        use nix::mount::{MsFlags, mount};
        use nix::sys::stat::{Mode, SFlag, makedev, mknod};
        // A machine that has a system log, and no journal.
        let none = None::<&str>;
        let tmpfs = |path: &Path| mount(none, path, Some("tmpfs"), MsFlags::empty(), none).unwrap();
        tmpfs(&place.at("dev"));
        for (name, minor) in [("null", 3), ("zero", 5), ("urandom", 9)] {
            let mode = Mode::from_bits_truncate(0o666);
            mknod(&place.at("dev").join(name), SFlag::S_IFCHR, mode, makedev(1, minor)).unwrap();
        }
        let _log = std::os::unix::net::UnixDatagram::bind(place.at("dev/log")).unwrap();
        if Path::new("/run/systemd").exists() {
            tmpfs(Path::new("/run/systemd"));
        }
        mount(Some(&place.at("dev")), "/dev", none, MsFlags::MS_BIND, none).unwrap();
        for step in ["pipe", "fork", "pidfd", "observe", "companion", "plan", "watch"] {
            let fault = format!("{step}=EMFILE");
            let _ = fs::remove_dir_all(place.at("state"));
            let _ = fs::remove_file(place.at("record"));
            let daemon = place.start(-20.0, &["--fail-at", &fault]);
            let before = descriptors(daemon.pid());
            daemon.clock_now(-0.02);
            start_failed(&daemon, &place, &fault);
            daemon.ran("a", &minute(0));
            wait_for("no child, alive or dead", || children(daemon.pid()).is_empty().then_some(()));
            wait_for("no descriptor", || (descriptors(daemon.pid()) <= before).then_some(()));
            daemon.stop();
            assert_eq!(place.runs("a"), [minute(0)], "{fault}");
        }
    });
}
