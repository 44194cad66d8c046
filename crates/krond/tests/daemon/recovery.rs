//! Killed at every point, started again: nothing runs twice, nothing is forgotten.

use crate::support::{Place, alive, minute, names, wait_for, wait_gone};
use serde_json::Value;
use std::fs;

const WAITS: &str = "shell=true command=\"echo $KRON_JOB $KRON_PERIOD_ID $$ >> HERE/record; \
    while ! test -e HERE/go; do sleep 0.02; done; exit 9\"\n";

/// All state files can be read.
fn intact(place: &Place) {
    for name in names(&place.at("state")).iter().filter(|name| name.ends_with(".json")) {
        let text = fs::read(place.at("state").join(name)).unwrap();
        let state: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(state["Version"], "1");
    }
}

/// A crash at a point of the start. Gives how often the period ran in the end, and
/// how it is recorded.
fn crash_in_start(point: &str) -> (usize, Value) {
    let place = Place::with(&format!(
        "0 12 * * * @policy(deadline=1h) name=a shell=true command=\"echo a $KRON_PERIOD_ID >> HERE/record\"\n"
    ));
    place.start(-30.0, &[]).stop();
    let daemon = place.start(-10.0, &["--crash-at", point]);
    daemon.clock(-0.2);
    daemon.end().exits(137);
    intact(&place);
    let before = place.record().len();
    let daemon = place.start(5.0, &[]);
    wait_for("the period in state", || {
        let text = fs::read_to_string(place.state_file("a")).ok()?;
        let state: Value = serde_json::from_str(&text).ok()?;
        let done = state["LastHandledPeriodID"] == minute(0) && state["ActiveExecution"].is_null();
        done.then_some(())
    });
    crate::support::a_moment();
    daemon.stop();
    // A third daemon finds nothing left to do.
    let daemon = place.start(10.0, &[]);
    crate::support::a_moment();
    daemon.stop();
    let runs = place.runs("a").len();
    assert!(runs <= 1 && before <= runs, "{point}: {:?}", place.record());
    intact(&place);
    (runs, place.state("a"))
}

#[test]
fn sta_37_fault_39_a_crash_before_the_commit_leaves_the_period_open() {
    for point in ["spawned", "ready", "create", "write", "sync", "close", "rename"] {
        let (runs, state) = crash_in_start(point);
        assert_eq!(runs, 1, "{point}");
        assert_eq!(state["LastOutcome"], "executed", "{point}");
        assert_eq!(state["LastExitCode"], 0, "{point}");
    }
}

#[test]
fn sta_19_27_28_37_fault_39_a_crash_after_the_commit_closes_the_period() {
    for point in ["sync-directory", "committed"] {
        let (runs, state) = crash_in_start(point);
        // Renamed, so committed: the gate was never opened.
        assert_eq!(runs, 0, "{point}");
        assert_eq!(state["LastOutcome"], "executed", "{point}");
        assert!(state["LastExitCode"].is_null(), "{point}");
    }
    for point in ["released", "started"] {
        let (_, state) = crash_in_start(point);
        assert_eq!(state["LastOutcome"], "executed", "{point}");
    }
}

#[test]
fn sta_27_28_37_a_crash_in_the_finish_repeats_nothing() {
    for point in ["exited", "create:2", "write:2", "sync:2", "close:2", "rename:2", "sync-directory:2"] {
        let (runs, state) = crash_in_start(point);
        assert_eq!(runs, 1, "{point}");
        assert_eq!(state["LastOutcome"], "executed", "{point}");
        // Success is known only if it was written.
        if point == "sync-directory:2" {
            assert_eq!(state["LastExitCode"], 0, "{point}");
        } else {
            assert!(state["LastExitCode"].is_null(), "{point}: {state}");
        }
        assert_eq!(state["History"].as_array().unwrap().len(), 1, "{point}");
    }
}

#[test]
fn sta_26_exe_15_a_survivor_is_adopted_and_forbid_sees_it() {
    let place = Place::with(&format!("* * * * * @policy(deadline=1h) name=a {WAITS}"));
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    let pid = daemon.wait_of("started", "a").pid();
    wait_for("its record", || (!place.record().is_empty()).then_some(()));
    daemon.kill();
    assert!(alive(pid));
    let daemon = place.start(30.0, &[]);
    assert_eq!(&daemon.ready()["adopted"], "1");
    assert_eq!(place.ask_jobs()["a"]["running"].as_array().unwrap().len(), 1);
    daemon.clock(59.8);
    daemon.outcome("a", &minute(1), "skipped");
    place.write("go", "");
    daemon.ran("a", &minute(0));
    let state = place.state("a");
    assert!(state["ActiveExecution"].is_null());
    let entries = state["History"].as_array().unwrap();
    let entry = entries.iter().find(|entry| entry["PeriodID"] == minute(0)).unwrap();
    assert!(entry["ExitCode"].is_null() || entry["ExitCode"] == 9, "{entry}");
    daemon.clock(119.8);
    daemon.ran("a", &minute(2));
    daemon.stop();
    assert_eq!(place.runs("a"), [minute(0), minute(2)]);
}

#[test]
fn sta_26_exe_17_a_survivor_is_replaced() {
    let place = Place::with(&format!("* * * * * @policy(deadline=1h,concurrency=replace) name=a {WAITS}"));
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    let old = daemon.wait_of("started", "a").pid();
    wait_for("its record", || (!place.record().is_empty()).then_some(()));
    daemon.kill();
    let daemon = place.start(30.0, &["--grace", "5s"]);
    daemon.clock(59.8);
    daemon.outcome("a", &minute(1), "executed");
    assert!(!alive(old));
    place.write("go", "");
    daemon.ran("a", &minute(1));
    daemon.stop();
    assert_eq!(place.runs("a"), [minute(0), minute(1)]);
}

#[test]
fn exe_22_23_the_timeout_of_a_survivor_is_enforced() {
    let place = Place::with(&format!("0 12 * * * @policy(deadline=1h) name=a timeout=20s {WAITS}"));
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    let pid = daemon.wait_of("started", "a").pid();
    wait_for("its record", || (!place.record().is_empty()).then_some(()));
    daemon.kill();
    // Started again when its time is over.
    let daemon = place.start(60.0, &["--grace", "1s"]);
    daemon.wait_of("timeout", "a");
    wait_gone(pid);
    daemon.ran("a", &minute(0));
    daemon.stop();
}

#[test]
fn fault_30_sta_26_a_pid_of_somebody_else_is_neither_active_nor_signalled() {
    let place = Place::with("* * * * * @policy(deadline=1h,concurrency=replace) name=a NOTE\n");
    let mut other = std::process::Command::new("/bin/sleep").arg("60").spawn().unwrap();
    place.plant(
        "a",
        serde_json::json!({"HandledThrough": minute(0), "ActiveExecution": {"PeriodID": minute(0), "PID": other.id(),
            "StartedAt": minute(0), "ChosenTime": minute(0), "BootID": "00000000-0000-0000-0000-000000000000", "StartTicks": 1}}),
    );
    let daemon = place.start(30.0, &[]);
    assert_eq!(&daemon.ready()["adopted"], "0");
    assert!(place.state("a")["ActiveExecution"].is_null());
    daemon.clock(59.8);
    daemon.ran("a", &minute(1));
    daemon.stop();
    assert!(other.try_wait().unwrap().is_none());
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn lif_19_fault_36_39_killed_again_and_again_no_minute_runs_twice() {
    let place = Place::with("* * * * * @policy(deadline=1h,concurrency=allow) name=a NOTE\n* * * * * @policy(deadline=1h,concurrency=allow) name=b NOTE\n");
    place.start(-30.0, &[]).stop();
    for n in 0..12 {
        let daemon = place.start(60.0 * f64::from(n) - 5.0, &[]);
        daemon.clock(60.0 * f64::from(n) - 0.05);
        std::thread::sleep(std::time::Duration::from_millis(40 + 7 * n as u64));
        daemon.kill();
        intact(&place);
    }
    let daemon = place.start(800.0, &[]);
    crate::support::a_moment();
    daemon.stop();
    for job in ["a", "b"] {
        let mut runs = place.runs(job);
        let count = runs.len();
        runs.sort();
        runs.dedup();
        assert_eq!(runs.len(), count, "{:?}", place.record());
    }
}
