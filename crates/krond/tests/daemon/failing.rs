//! Fault 16: every operation on state files fails, at each of its passings, with each
//! error. Nothing is released that is not recorded; once the fault is gone, the next
//! daemon neither repeats nor forgets the period.

use crate::support::{Daemon, Output, Place, Start, minute, names, set_mode, wait_for};
use nix::sys::signal::{Signal, kill};
use serde_json::Value;
use std::fs;
use std::io::Write;

pub const JOB: &str = "0 12 * * * @policy(deadline=1h) name=a shell=true command=\"echo a $KRON_PERIOD_ID >> HERE/record\"\n";

/// What a state file says of noon, if it says anything.
pub fn noon(place: &Place) -> Option<Value> {
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

/// It ended by the fault, and said so once, with everything an error has.
#[track_caller]
fn is_told(place: &Place, output: &Output, is_ready: bool, fault: &str) {
    // State that cannot be opened is 3, what cannot be recorded 4.
    let codes = if is_ready { &[4][..] } else { &[3, 4] };
    assert!(codes.contains(&output.status), "{fault}: {}\n{}", output.status, output.stderr);
    let events = output.events();
    let lines: Vec<_> = events.iter().filter(|event| event.is("error")).collect();
    let [line] = lines[..] else { panic!("{fault}: one error\n{}", output.stderr) };
    assert_eq!(&line["error_type"], "PersistenceError", "{}", line.line);
    assert_eq!([&line["level"], &line["component"], &line["fatal"]], ["error", "krond", "true"]);
    assert!(!line["operation"].is_empty() && !line["message"].is_empty(), "{}", line.line);
    let of = |job: &&str| {
        line["path"].ends_with(place.state_file(job).file_name().unwrap().to_str().unwrap())
    };
    let expected = ["a", "c"].iter().find(|job| of(job)).map(|job| place.identity(job));
    assert_eq!(line["identity"], expected.unwrap_or_default(), "{}", line.line);
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
    is_told(&place, &output, is_ready, &fault);

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
    let started = daemon.count("started");
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
        // Recorded, whether or not it was released: never again. What was released may
        // have outlived its daemon and run after `before` was counted.
        Some(then) => {
            assert_eq!(started, 0, "{fault}: the next daemon ran it again");
            assert!(runs <= 1, "{fault}: it ran {runs} times");
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
// has a file, and the state file twice. Keep: the state file twice. Directory: when it is
// opened, searched for leftovers and for state, and at each commit. Open: the
// roster twice; what it is opened for later is history, which is not worth an end. The
// others: the roster, the state file twice; and the directory when it is opened.
at_each! {
    fault_16_directory_enospc: "directory", 7, "ENOSPC";
    fault_16_directory_edquot: "directory", 7, "EDQUOT";
    fault_16_directory_erofs: "directory", 7, "EROFS";
    fault_16_directory_eio: "directory", 7, "EIO";
    fault_16_directory_emfile: "directory", 7, "EMFILE";
    fault_16_open_enospc: "open", 2, "ENOSPC";
    fault_16_open_edquot: "open", 2, "EDQUOT";
    fault_16_open_erofs: "open", 2, "EROFS";
    fault_16_open_eio: "open", 2, "EIO";
    fault_16_open_emfile: "open", 2, "EMFILE";
    fault_16_keep_enospc: "keep", 2, "ENOSPC";
    fault_16_keep_edquot: "keep", 2, "EDQUOT";
    fault_16_keep_erofs: "keep", 2, "EROFS";
    fault_16_keep_eio: "keep", 2, "EIO";
    fault_16_keep_emfile: "keep", 2, "EMFILE";
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

const ERRORS: [&str; 5] = ["ENOSPC", "EDQUOT", "EROFS", "EIO", "EMFILE"];

/// Fault 16: a history that cannot be read while its file is replaced is lost, with a
/// warning. The run is not.
#[test]
fn fault_16_a_history_that_cannot_be_read_costs_no_run() {
    for step in ["open:3", "open:4", "read:1"] {
        for error in ERRORS {
            let fault = format!("{step}={error}");
            let place = Place::with(JOB);
            let daemon = Start::new(&place, &["--fail-at", &fault]).clock(-20.0).start();
            let (output, _) = one_day(daemon);
            let output = output.exits(0);
            let events = output.events();
            let told: Vec<_> = events.iter().filter(|e| &e["level"] == "warn").collect();
            assert!(matches!(told[..], [_]), "{fault}: {}", output.stderr);
            let state = noon(&place).unwrap();
            assert_eq!(state["LastExitCode"], 0, "{fault}: {state}");
            let daemon = place.start(5.0, &[]);
            daemon.stop();
            assert_eq!(place.runs("a"), [minute(0)], "{fault}");
        }
    }
}

/// A replaced file is taken for a new one, which fails: at the start of the second minute,
/// and at its end.
fn fails_reusing(n: usize, error: &str) -> bool {
    let fault = format!("reuse:{n}={error}");
    let place = Place::with(&JOB.replacen("0 12", "0,1 12", 1));
    let mut daemon = place.start(-20.0, &["--spare-age", "0s", "--fail-at", &fault]);
    let (first, second) = (minute(0), minute(1));
    daemon.clock_now(-0.02);
    wait_for("the first", || noon(&place).filter(|state| state["LastExitCode"] == 0));
    daemon.clock_now(59.98);
    wait_for("a run or an end", || {
        let is_over = |event: &crate::support::Event| event.of("exited", "a");
        let ran = daemon.events().iter().filter(|event| is_over(event)).count();
        (!daemon.is_running() || ran > 1).then_some(())
    });
    let _ = kill(daemon.pid(), Signal::SIGTERM);
    let output = daemon.end();
    if output.status == 0 {
        return false;
    }
    is_told(&place, &output, true, &fault);
    let is_recorded = place.state("a")["LastHandledPeriodID"] == *second;
    assert!(is_recorded || place.runs("a") == [first.clone()], "{fault}: not recorded");
    let daemon = place.start(65.0, &[]);
    let state = wait_for("the second in state", || {
        let state = place.state("a");
        let is_over = state["ActiveExecution"].is_null();
        (state["LastHandledPeriodID"] == *second && is_over).then_some(state)
    });
    assert_eq!(daemon.count("started"), usize::from(!is_recorded), "{fault}");
    daemon.stop();
    assert_eq!(state["LastExitCode"].is_null(), is_recorded, "{fault}: {state}");
    let runs = place.runs("a");
    assert!(runs == [first.clone(), second] || (is_recorded && runs == [first]), "{runs:?}");
    true
}

#[test]
fn fault_16_reuse() {
    for error in ERRORS {
        let reached = (1..=3).take_while(|n| fails_reusing(*n, error)).count();
        assert_eq!(reached, 2, "{error}");
    }
}

const STEPS: [&str; 10] = [
    "directory",
    "open",
    "read",
    "remove",
    "create",
    "write",
    "sync",
    "close",
    "rename",
    "sync-directory",
];

/// What a crash or somebody else left is put right at a start, and any step of that fails:
/// the daemon ends and says so. Without the fault the next one puts it right, and runs
/// what is due once. `expected` are steps that putting it right takes.
fn fails_putting_right(expected: &[&str], leave: fn(&Place)) {
    let mut failed: Vec<&str> = Vec::new();
    for step in STEPS {
        for n in 1.. {
            let fault = format!("{step}:{n}={}", ERRORS[failed.len() % ERRORS.len()]);
            let before = JOB.replacen("0 12", "59 11", 1).replace(" a ", " c ");
            let place = Place::with(&(JOB.to_string() + &before.replace("name=a", "name=c")));
            let daemon = place.start(-80.0, &[]);
            daemon.clock_now(-60.02);
            daemon.ran("c", &minute(-1));
            daemon.stop();
            leave(&place);
            let mut daemon = Start::new(&place, &["--fail-at", &fault]).clock(-20.0).start();
            wait_for("ready or an end", || {
                (!daemon.is_running() || daemon.count("ready") > 0).then_some(())
            });
            let _ = kill(daemon.pid(), Signal::SIGTERM);
            let output = daemon.end();
            if output.status == 0 {
                break;
            }
            is_told(&place, &output, false, &fault);
            failed.push(step);
            let daemon = place.start(-10.0, &[]);
            daemon.clock_now(-0.02);
            daemon.ran("a", &minute(0));
            daemon.stop();
            assert_eq!(place.runs("a"), [minute(0)], "{fault}");
            assert_eq!(place.runs("c"), [minute(-1)], "{fault}");
            let left = names(&place.at("state"));
            assert!(!left.iter().any(|name| name.contains(".tmp")), "{fault}: {left:?}");
        }
    }
    let missing: Vec<_> = expected.iter().filter(|step| !failed.contains(step)).collect();
    assert!(missing.is_empty(), "{missing:?} was never reached: {failed:?}");
}

/// Changes the roster.
fn change_roster(place: &Place, change: impl FnOnce(String) -> String) {
    let path = place.at("state/roster");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, change(text)).unwrap();
}

#[test]
fn fault_16_20_leftovers_that_cannot_be_removed() {
    fails_putting_right(&["directory", "open", "read", "remove", "create", "sync"], |place| {
        let leftover = place.state_file("a").with_extension("json.tmp");
        fs::write(&leftover, "{").unwrap();
        set_mode(&leftover, 0o600);
    });
}

#[test]
fn fault_16_a_torn_roster_that_cannot_be_cut() {
    fails_putting_right(&["open", "read", "write", "sync"], |place| {
        let roster = fs::File::options().append(true).open(place.at("state/roster"));
        roster.unwrap().write_all(b"{\"Se").unwrap();
    });
}

#[test]
fn fault_16_a_damaged_roster_that_cannot_be_moved_aside() {
    let steps = ["read", "rename", "sync-directory", "create", "write", "sync", "close"];
    fails_putting_right(&steps, |place| change_roster(place, |text| text.replace("Seen", "S\0n")));
}

#[test]
fn fault_16_a_long_roster_that_cannot_be_rewritten() {
    let steps = ["read", "create", "write", "sync", "close", "rename", "sync-directory"];
    fails_putting_right(&steps, |place| {
        change_roster(place, |text| {
            let last = text.lines().last().unwrap().to_string() + "\n";
            text + &last.repeat(1100)
        });
    });
}

#[test]
fn fault_16_13_a_damaged_state_file_that_cannot_be_moved_aside() {
    fails_putting_right(&["open", "read", "rename", "sync-directory"], |place| {
        fs::write(place.state_file("c"), "{").unwrap();
    });
}
