//! Killed at every point, started again: nothing runs twice, nothing is forgotten.

use crate::support::{Place, Start, a_moment, alive, minute, names, wait_for, wait_gone};
use serde_json::Value;
use std::fs;

const WAITS: &str = "shell=true command=\"echo $KRON_JOB $KRON_PERIOD_ID $$ >> HERE/record; \
    while ! test -e HERE/go; do sleep 0.02; done; exit 9\"\n";

/// All state files can be read.
fn intact(place: &Place) {
    for name in names(&place.at("state")).iter().filter(|name| name.len() == 64 + 5) {
        let text = fs::read(place.at("state").join(name)).unwrap();
        let state: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(state["Version"], "1");
    }
}

fn state_of(place: &Place) -> Option<Value> {
    let text = fs::read_to_string(place.state_file("a")).ok()?;
    Some(serde_json::from_str(&text).unwrap())
}

/// How often a job ran in the end, and what became of its period, after a crash at a
/// point between start and end of a daemon that runs it once. Nothing if that point
/// is not passed.
fn crash(point: &str) -> Option<(usize, Value)> {
    let place = Place::with(
        "0 12 * * * @policy(deadline=1h) name=a shell=true command=\"echo a $KRON_PERIOD_ID >> HERE/record\"\n",
    );
    // The job is known, but not yet by a file of its own.
    place.start(-30.0, &[]).stop();
    let mut daemon = Start::new(&place, &["--crash-at", point]).clock(-20.0).start();
    wait_for("ready or a crash", || {
        (!daemon.is_running() || daemon.count("ready") > 0).then_some(())
    });
    if daemon.is_running() {
        daemon.clock_now(-0.1);
        wait_for("an exit or a crash", || {
            (!daemon.is_running() || daemon.count("exited") > 0).then_some(())
        });
        a_moment();
        if daemon.is_running() {
            return None;
        }
    }
    daemon.end().exits(137);
    intact(&place);
    // A child that was let go may just be running.
    a_moment();
    let (before, at_crash) = (place.runs("a").len(), state_of(&place));
    let daemon = place.start(5.0, &[]);
    wait_for("the period in state", || {
        let state = state_of(&place)?;
        let done = state["LastHandledPeriodID"] == minute(0) && state["ActiveExecution"].is_null();
        done.then_some(())
    });
    daemon.stop();
    let runs = place.runs("a").len();
    // A third daemon finds nothing left to do.
    let daemon = place.start(10.0, &[]);
    a_moment();
    daemon.stop();
    assert_eq!(place.runs("a").len(), runs, "{point}: the third daemon ran it");
    intact(&place);
    let state = state_of(&place).unwrap();
    assert_eq!(state["LastOutcome"], "executed", "{point}");
    assert_eq!(state["History"].as_array().unwrap().len(), 1, "{point}");
    match at_crash.filter(|state| state["LastHandledPeriodID"] == minute(0)) {
        // Not committed: still open, so the next daemon runs it, for the first time.
        None => {
            assert_eq!((before, runs), (0, 1), "{point}");
            assert_eq!(state["LastExitCode"], 0, "{point}");
        }
        // Committed: closed for good, and success is known only if it was written.
        Some(then) => {
            assert_eq!(before, runs, "{point}: the second daemon ran it");
            assert_eq!(state["LastExitCode"], then["LastExitCode"], "{point}: {state}");
        }
    }
    Some((runs, state))
}

/// A crash at each passing of a step of the store.
fn crash_at_each(step: &str) {
    let passed = (1..12).take_while(|n| crash(&format!("{step}:{n}")).is_some()).count();
    // At least the commits of the start and of the end.
    assert!((2..11).contains(&passed), "{step}: {passed}");
}

/// STA-17, STA-37.
#[test]
fn sta_17_37_fault_39_crash_at_create() {
    crash_at_each("create");
}

/// STA-17, STA-37.
#[test]
fn sta_17_37_fault_39_crash_at_write() {
    crash_at_each("write");
}

/// STA-17, STA-37.
#[test]
fn sta_17_37_fault_39_crash_at_sync() {
    crash_at_each("sync");
}

/// STA-17, STA-37.
#[test]
fn sta_17_37_fault_39_crash_at_close() {
    crash_at_each("close");
}

/// STA-17, STA-37.
#[test]
fn sta_17_37_fault_39_crash_at_keep() {
    crash_at_each("keep");
}

/// A replaced file is used again by the commits of a second run.
/// STA-17, STA-37.
#[test]
fn sta_17_37_fault_39_crash_at_reuse() {
    let (first, second) = (minute(0), minute(1));
    // The start of the second run, and its end.
    for (n, is_recorded) in [(1, false), (2, true)] {
        let place = Place::with(
            "0,1 12 * * * @policy(deadline=1h) name=a shell=true command=\"echo a $KRON_PERIOD_ID >> HERE/record\"\n",
        );
        let point = format!("reuse:{n}");
        let daemon = place.start(-20.0, &["--spare-age", "0s", "--crash-at", &point]);
        daemon.clock_now(-0.05);
        wait_for("the first", || state_of(&place).filter(|state| state["LastExitCode"] == 0));
        daemon.clock_now(59.95);
        daemon.end().exits(137);
        intact(&place);
        let at_crash = state_of(&place).unwrap();
        assert_eq!(at_crash["LastHandledPeriodID"] == *second, is_recorded, "{point}");
        let daemon = place.start(65.0, &[]);
        let state = wait_for("the second in state", || {
            let state = state_of(&place)?;
            let is_over = state["ActiveExecution"].is_null();
            (state["LastHandledPeriodID"] == *second && is_over).then_some(state)
        });
        daemon.stop();
        assert_eq!(state["LastExitCode"].is_null(), is_recorded, "{point}: {state}");
        assert_eq!(state["History"].as_array().unwrap().len(), 2, "{point}: {state}");
        assert_eq!(place.runs("a"), [first.clone(), second.clone()], "{point}");
    }
}

/// STA-17, STA-37.
#[test]
fn sta_17_37_fault_39_crash_at_rename() {
    crash_at_each("rename");
}

/// STA-17, STA-37.
#[test]
fn sta_17_37_fault_39_crash_at_sync_directory() {
    crash_at_each("sync-directory");
}

/// STA-37.
#[test]
fn sta_37_fault_39_a_crash_before_the_commit_leaves_the_period_open() {
    for point in ["spawned", "ready"] {
        let (runs, state) = crash(point).unwrap();
        assert_eq!(runs, 1, "{point}");
        assert_eq!(state["LastExitCode"], 0, "{point}");
    }
}

/// STA-19, STA-27, STA-28, STA-37.
#[test]
fn sta_19_27_28_37_fault_39_a_crash_after_the_commit_closes_the_period() {
    // The gate was never opened.
    let (runs, state) = crash("committed").unwrap();
    assert_eq!(runs, 0);
    assert!(state["LastExitCode"].is_null());
    for point in ["released", "started", "exited"] {
        let (_, state) = crash(point).unwrap();
        assert!(state["LastExitCode"].is_null(), "{point}");
    }
    // The end is committed too.
    let (runs, state) = crash("committed:2").unwrap();
    assert_eq!(runs, 1);
    assert_eq!(state["LastExitCode"], 0);
}

/// What a daemon left behind at one point is recovered by another, which crashes at each
/// passing of each step of that; the third brings it to an end.
fn crash_in_recovery(first: &str, committed: bool) {
    let steps =
        ["create", "write", "sync", "close", "keep", "rename", "sync-directory", "committed"];
    let mut crashes = 0;
    for step in steps {
        for n in 1.. {
            let point = format!("{first}, {step}:{n}");
            let place = Place::with(
                "0 12 * * * @policy(deadline=1h) name=a shell=true command=\"echo a $KRON_PERIOD_ID >> HERE/record\"\n",
            );
            place.start(-30.0, &[]).stop();
            let daemon = place.start(-20.0, &["--crash-at", first]);
            daemon.clock_now(-0.05);
            daemon.end().exits(137);
            let second = format!("{step}:{n}");
            let mut daemon = Start::new(&place, &["--crash-at", &second]).clock(5.0).start();
            let is_settled = || {
                state_of(&place).is_some_and(|state| {
                    state["LastHandledPeriodID"] == minute(0) && state["ActiveExecution"].is_null()
                })
            };
            wait_for("an end", || (!daemon.is_running() || is_settled()).then_some(()));
            let _ = nix::sys::signal::kill(daemon.pid(), nix::sys::signal::Signal::SIGTERM);
            let status = daemon.end().status;
            assert!([0, 137].contains(&status), "{point}: {status}");
            let daemon = place.start(10.0, &[]);
            wait_for("the period in state", || is_settled().then_some(()));
            daemon.stop();
            intact(&place);
            let state = state_of(&place).unwrap();
            assert_eq!(state["LastOutcome"], "executed", "{point}");
            assert_eq!(state["History"].as_array().unwrap().len(), 1, "{point}: {state}");
            let runs = place.runs("a").len();
            assert!(runs <= 1, "{point}: {runs} runs");
            // Recorded, and not released: it is closed, and its end is unknown.
            assert!(runs == 1 || state["LastExitCode"].is_null(), "{point}: {state}");
            if status == 0 {
                break;
            }
            crashes += 1;
            if committed {
                assert_eq!(runs, 0, "{point}");
            }
        }
    }
    assert!(crashes >= steps.len(), "{crashes} crashes");
}

/// STA-37.
#[test]
fn sta_37_fault_39_crashes_in_the_recovery_of_an_open_period() {
    crash_in_recovery("ready", false);
}

/// STA-37.
#[test]
fn sta_37_fault_39_crashes_in_the_recovery_of_a_closed_period() {
    crash_in_recovery("committed", true);
}

/// STA-37, LIF-14.
#[test]
fn sta_37_lif_14_fault_39_crashes_in_a_reload() {
    let (old, new) = (
        "0 12 * * * @policy(deadline=1h) name=a NOTE\n0 12 * * * @policy(deadline=1h) name=b NOTE\n",
        "0 12 * * * @policy(deadline=1h) name=b NOTE\n0 12 * * * @policy(deadline=1h) name=c NOTE\n",
    );
    let mut crashes = 0;
    for step in ["write", "sync", "committed"] {
        for n in 1.. {
            let point = format!("{step}:{n}");
            let place = Place::with(old);
            place.start(-30.0, &[]).stop();
            let mut daemon = Start::new(&place, &["--crash-at", &point]).clock(-25.0).start();
            wait_for("ready or an end", || {
                (!daemon.is_running() || daemon.count("ready") > 0).then_some(())
            });
            place.jobs(new);
            let _ = nix::sys::signal::kill(daemon.pid(), nix::sys::signal::Signal::SIGHUP);
            wait_for("a reload or an end", || {
                (!daemon.is_running() || daemon.count("reloaded") > 0).then_some(())
            });
            let _ = nix::sys::signal::kill(daemon.pid(), nix::sys::signal::Signal::SIGTERM);
            let status = daemon.end().status;
            let daemon = place.start(-10.0, &[]);
            daemon.clock(-0.05);
            daemon.ran("b", &minute(0));
            daemon.ran("c", &minute(0));
            daemon.stop();
            assert!(place.runs("a").is_empty(), "{point}");
            for job in ["b", "c"] {
                assert_eq!(place.runs(job), [minute(0)], "{point}: {job}");
            }
            if status == 0 {
                break;
            }
            assert_eq!(status, 137, "{point}");
            crashes += 1;
        }
    }
    assert!(crashes >= 3, "{crashes} crashes");
}

/// STA-26, EXE-15.
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

/// STA-26, EXE-17.
#[test]
fn sta_26_exe_17_a_survivor_is_replaced() {
    let place =
        Place::with(&format!("* * * * * @policy(deadline=1h,concurrency=replace) name=a {WAITS}"));
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

/// EXE-22, EXE-23.
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

/// STA-26.
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

/// Fault 30: the number, in this very boot, of a process that began at another time, or
/// whose beginning nobody wrote down.
/// STA-26.
#[test]
fn fault_30_sta_26_a_pid_used_again_is_neither_active_nor_signalled() {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    for ticks in [serde_json::json!(1), Value::Null] {
        let place = Place::with(
            "* * * * * @policy(deadline=1h,concurrency=replace) name=a timeout=1s NOTE\n",
        );
        let mut other = std::process::Command::new("/bin/sleep").arg("60").spawn().unwrap();
        let mut active = serde_json::json!({"PeriodID": minute(0), "PID": other.id(),
            "StartedAt": minute(0), "ChosenTime": minute(0), "BootID": boot.trim()});
        if !ticks.is_null() {
            active["StartTicks"] = ticks;
        }
        let fields = serde_json::json!({"HandledThrough": minute(0), "ActiveExecution": active});
        place.plant("a", fields);
        let daemon = place.start(30.0, &["--grace", "100ms"]);
        assert_eq!(&daemon.ready()["adopted"], "0");
        let state = place.state("a");
        assert!(state["ActiveExecution"].is_null(), "{state}");
        assert!(state["History"][0]["ExitCode"].is_null(), "{state}");
        daemon.clock(59.8);
        daemon.ran("a", &minute(1));
        daemon.stop();
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }
}

/// Fault 30: a survivor is known again whatever it calls itself.
#[test]
fn fault_30_a_survivor_with_a_misleading_name_is_known_again() {
    let place = Place::new();
    let program = place.at(") R 1");
    let copied = std::process::Command::new("cp").arg("/bin/sleep").arg(&program).status();
    assert!(copied.unwrap().success());
    place.jobs(
        "* * * * * @policy(deadline=1h,concurrency=replace) name=a command=\"'HERE/) R 1' 600\"\n",
    );
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    let pid = daemon.wait_of("started", "a").pid();
    let comm = format!("/proc/{pid}/comm");
    wait_for("its name", || (fs::read_to_string(&comm).unwrap() == ") R 1\n").then_some(()));
    daemon.kill();
    let daemon = place.start(30.0, &["--grace", "1s"]);
    assert_eq!(&daemon.ready()["adopted"], "1");
    daemon.clock(59.8);
    daemon.outcome("a", &minute(1), "executed");
    assert!(!alive(pid));
    daemon.kill();
}

/// LIF-19.
#[test]
fn lif_19_fault_36_39_killed_again_and_again_no_minute_runs_twice() {
    let place = Place::with(
        "* * * * * @policy(deadline=1h,concurrency=allow) name=a NOTE\n* * * * * @policy(deadline=1h,concurrency=allow) name=b NOTE\n",
    );
    place.start(-30.0, &[]).stop();
    for n in 0..12 {
        let daemon = place.start(60.0 * f64::from(n) - 5.0, &[]);
        daemon.clock(60.0 * f64::from(n) - 0.05);
        std::thread::sleep(std::time::Duration::from_millis(40 + 7 * n as u64));
        daemon.kill();
        intact(&place);
    }
    let daemon = place.start(800.0, &[]);
    daemon.ran("a", &minute(13));
    daemon.ran("b", &minute(13));
    daemon.stop();
    for job in ["a", "b"] {
        let mut runs = place.runs(job);
        let count = runs.len();
        assert!(runs.contains(&minute(13)) && count > 1, "{:?}", place.record());
        runs.sort();
        runs.dedup();
        assert_eq!(runs.len(), count, "{:?}", place.record());
    }
}

/// A daemon that contradicts itself says so and ends; nothing has run, nothing is
/// marked, and the next daemon runs it.
/// ERR-09, ERR-10, STA-37.
#[test]
fn err_09_10_sta_37_a_contradiction_ends_the_daemon_and_costs_no_run() {
    let place = Place::with(
        "0 12 * * * @policy(deadline=1h) name=a shell=true command=\"echo a $KRON_PERIOD_ID >> HERE/record\"\n",
    );
    place.start(-30.0, &[]).stop();
    // The first event is the configuration, the second that noon has come.
    let daemon = Start::new(&place, &["--crash-at", "panic:2"]).clock(-1.0).start();
    let output = daemon.end().exits(4);
    let error = output.events().into_iter().find(|e| e.is("error")).expect("an error");
    assert_eq!(&error["error_type"], "SchedulingError");
    assert_eq!(&error["level"], "error");
    assert!(place.runs("a").is_empty() && state_of(&place).is_none());
    let daemon = place.start(5.0, &[]);
    daemon.ran("a", &minute(0));
    daemon.stop();
    assert_eq!(place.runs("a"), [minute(0)]);
}
