//! The log: levels, keys, proofs, and what is never in it.

use crate::support::{Place, Start, minute};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

const MIXED: &str = "* * * * * @policy(deadline=1h) name=fine command=/bin/true\n\
    * * * * * @policy(deadline=1h) name=fails command=/bin/false\n\
    * * * * * @only(hours=3) @win(after,5s) name=never command=/bin/true\n\
    * * * * * @policy(deadline=1s) name=gone command=/nonexistent/x\n\
    * * * * * @policy(deadline=1h) name=long command=\"/bin/sleep 60\"\n\
    * * * * * @tz(Asia/Tokyo) @win(around,20s) @dist(normal) @seed(stable,salt=pepper) @policy(deadline=1h) name=fancy command=/bin/true\n";

fn verify(path: &Path) -> u8 {
    krontab::main(["krontab", "verify"].map(OsString::from).into_iter().chain([path.into()]))
}

fn mixed(place: &Place, args: &[&str]) -> String {
    let daemon = Start::new(place, args).clock(-50.0).start();
    let wait = |text: &str, job: &str, n: i64| {
        daemon.wait_text(&format!("{text} of {job} {n}"), |log| {
            let period = minute(n);
            log.lines().any(|line| [text, job, &period].iter().all(|part| line.contains(part)))
        });
    };
    crate::support::wait_for("ready", || daemon.text().contains("ready").then_some(()));
    daemon.clock(-0.2);
    wait("executed", "long", 0);
    wait("missed", "gone", 0);
    // Its window lies around the minute: one period at a time.
    daemon.clock(15.0);
    wait("exited", "fancy", 0);
    daemon.clock(59.8);
    wait("skipped", "long", 1);
    wait("missed", "gone", 1);
    wait("unschedulable", "never", 1);
    daemon.clock(90.0);
    wait("outcome", "fancy", 1);
    wait("exited", "fancy", 1);
    let path = daemon.log_path().to_path_buf();
    place.ask(&["stop", "--now"]).exits(0);
    daemon.end().exits(0);
    assert_eq!(verify(&path), 0, "{}", std::fs::read_to_string(&path).unwrap());
    std::fs::read_to_string(&path).unwrap()
}

/// OBS-01, OBS-05, OBS-07, ERR-01, ERR-13, ERR-26.
#[test]
fn obs_01_to_07_err_01_13_26_each_period_has_one_outcome_and_each_decision_verifies() {
    let place = Place::with(MIXED);
    let text = mixed(&place, &[]);
    let output = crate::support::Output { status: 0, stdout: String::new(), stderr: text };
    let events = output.events();
    assert_eq!(
        events.len(),
        output.stderr.lines().count(),
        "a line that is none:\n{}",
        output.stderr
    );
    let mut outcomes: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut decided: BTreeMap<(String, String), String> = BTreeMap::new();
    let categories = [
        "ConfigurationError",
        "ValidationError",
        "SchedulingError",
        "ConstraintError",
        "ExecutionError",
        "PersistenceError",
        "SystemError",
        "IncompatibleStateError",
    ];
    for event in &events {
        assert!(event.has("component"), "{}", event.line);
        let key = (event["identity"].to_string(), event["period_id"].to_string());
        // 9 digits, UTC.
        assert_eq!(event.time().len(), 30, "{}", event.line);
        assert!(["debug", "info", "warn", "error"].contains(&&event["level"]), "{}", event.line);
        if event.is("decision") {
            decided.insert(key.clone(), event["chosen_time"].to_string());
            for key in [
                "schedule",
                "timezone",
                "mode",
                "distribution",
                "seed_hash",
                "period_key",
                "window_start",
                "window_end",
                "salt",
            ] {
                assert!(event.has(key), "no {key}: {}", event.line);
            }
        }
        if event.is("outcome") {
            *outcomes.entry(key.clone()).or_default() += 1;
            for key in ["identity", "job", "period_id", "nominal_time", "seed_hash"] {
                assert!(event.has(key), "no {key}: {}", event.line);
            }
            assert_eq!(event.has("reason"), &event["outcome"] != "executed", "{}", event.line);
            assert_eq!(
                &event["level"] == "warn",
                &event["outcome"] == "unschedulable",
                "{}",
                event.line
            );
            assert!(!event.has("error_type"), "{}", event.line);
        }
        if event.is("started") {
            // ERR-32: nothing without a decision.
            assert_eq!(
                decided.get(&key).map(String::as_str),
                Some(&event["chosen_time"]),
                "{}",
                event.line
            );
        }
        if event.is("exited") {
            assert!(event.has("exit_code") && event.has("pid"), "{}", event.line);
        }
        if event.has("error_type") || &event["level"] == "error" {
            assert!(categories.contains(&&event["error_type"]), "{}", event.line);
            for key in ["identity", "period_id", "component", "operation", "message"] {
                assert!(event.has(key), "no {key}: {}", event.line);
            }
        }
    }
    for job in ["fine", "fails", "never", "gone", "long", "fancy"] {
        for n in 0..2 {
            let key = (place.identity(job), minute(n));
            assert_eq!(outcomes.get(&key), Some(&1), "{job} {n}");
        }
    }
    assert!(outcomes.values().all(|count| *count == 1), "{outcomes:?}");
}

/// OBS-04.
#[test]
fn obs_04_the_json_log_has_the_same_keys_and_verifies() {
    let place = Place::with(MIXED);
    let text = mixed(&place, &["--log-format", "json"]);
    let mut seen = vec![];
    for line in text.lines() {
        let event: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        for key in ["level", "component", "event"] {
            assert!(event[key].is_string(), "no {key}: {line}");
        }
        seen.push(event["event"].as_str().unwrap().to_string());
        if event["event"] == "outcome" {
            assert!(event["period_id"].is_string() && event["identity"].is_string(), "{line}");
        }
    }
    for event in ["decision", "ready", "started", "outcome", "exited", "error", "stopping"] {
        assert!(seen.iter().any(|name| name == event), "no {event}");
    }
}

#[test]
fn fault_35_secrets_are_in_neither_log_nor_state() {
    let place = Place::with(
        "0 12 * * * @policy(deadline=1h) name=a env=PASSWORD=hunter2 command=\"/bin/true --token=hunter2\"\n\
         0 12 * * * @policy(deadline=1s) name=b env=PASSWORD=hunter2 command=\"/nonexistent/x hunter2\"\n\
         0 12 * * * @policy(deadline=1h) name=c shell=true env=PASSWORD=hunter2 command=\": hunter2; exit 4\"\n",
    );
    let daemon = place.start(-30.0, &["--log-level", "debug"]);
    daemon.clock(-0.2);
    daemon.ran("a", &minute(0));
    daemon.ran("c", &minute(0));
    daemon.outcome("b", &minute(0), "missed");
    place.jobs("0 13 * * * name=a env=PASSWORD=hunter2 command=\"/bin/true hunter2\"\n");
    place.ask(&["reload"]).exits(0);
    for args in [
        &["status"][..],
        &["jobs", "--format", "json"],
        &["why", "a", "--format", "json"],
        &["history", "a"],
    ] {
        assert!(!place.ask(args).stdout.contains("hunter2"), "{args:?}");
    }
    let output = daemon.stop();
    assert!(!output.stderr.contains("hunter2"), "{}", output.stderr);
    for name in crate::support::names(&place.at("state")) {
        let text = std::fs::read(place.at("state").join(&name)).unwrap();
        assert!(!String::from_utf8_lossy(&text).contains("hunter2"), "{name}");
    }
}

#[test]
fn no_name_can_forge_a_line() {
    let place = Place::with(
        "0 12 * * * @policy(deadline=1s) name=a cwd=\"/nonexistent/x level=info event=outcome\" command=/bin/true\n",
    );
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    daemon.outcome("a", &minute(0), "missed");
    daemon.stop();
}

#[test]
fn log_level_leaves_out_what_is_below() {
    let place = Place::with(
        "0 12 * * * @policy(deadline=1h) name=a command=/bin/true\n0 12 * * * @policy(deadline=1h) name=b command=/bin/false\n",
    );
    let daemon = Start::new(&place, &["--log-level", "error"]).clock(-30.0).start();
    crate::support::wait_for("its socket", || (place.ask(&["status"]).status == 0).then_some(()));
    daemon.clock(-0.2);
    daemon.ran("b", &minute(0));
    let output = daemon.stop();
    assert!(output.events().iter().all(|event| &event["level"] == "error"), "{}", output.stderr);
}

/// Failures are in the log and nowhere else: no mail, no second run, no other
/// process.
/// OBS-08.
#[test]
fn obs_08_a_failure_is_a_line_and_nothing_else() {
    let place = Place::with(
        "0 12 * * * name=a shell=true command=\"echo a x >> HERE/record; echo out; exit 1\"\n",
    );
    let programs = place.at("bin");
    std::fs::create_dir(&programs).unwrap();
    for name in ["sendmail", "mail", "mailx", "wall"] {
        let program = place.write(&format!("bin/{name}"), "#!/bin/sh\ntouch \"$0.called\"\n");
        crate::support::set_mode(&program, 0o755);
    }
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let start = Start::new(&place, &[]).clock(-30.0).env("PATH", &path);
    let daemon = start.env("MAILTO", "root").start();
    daemon.ready();
    daemon.clock(-0.2);
    let exited = daemon.wait_of("exited", "a");
    assert_eq!(&exited["exit_code"], "1");
    crate::support::wait_for("no child", || {
        crate::support::children(daemon.pid()).is_empty().then_some(())
    });
    daemon.stop();
    assert_eq!(place.runs("a").len(), 1);
    let called =
        crate::support::names(&programs).into_iter().filter(|name| name.ends_with("called"));
    assert_eq!(called.count(), 0);
}
