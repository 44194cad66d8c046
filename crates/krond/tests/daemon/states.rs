//! State files: what is in them, and what is refused.

use crate::support::{Place, Start, a_moment, is_root, minute, mode, names, need_root, set_mode};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

const NOON: &str = "0 12 * * * @policy(deadline=1h) name=a NOTE\n";
const MINUTELY: &str = "* * * * * @policy(deadline=1h) name=a NOTE\n";

/// All strings under keys that name a time.
fn times(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let is_time = ["Time", "At", "PeriodID", "Through", "NotBefore"]
                    .iter()
                    .any(|end| key.ends_with(end));
                if let (true, Some(text)) = (is_time, value.as_str()) {
                    found.push(text.into());
                }
                times(value, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| times(value, found)),
        _ => {}
    }
}

/// STA-02, STA-03, STA-04, STA-05, STA-07.
#[test]
fn sta_02_03_04_05_07_to_11_25_35_38_the_state_file_is_as_documented() {
    let place = Place::with(
        "0 12 * * * @policy(deadline=1h) name=a shell=true env=PASS=hunter2 \
         command=\"while ! test -e HERE/go; do sleep 0.02; done; exit 4\"\n",
    );
    let start = Start::new(&place, &[]).clock(-30.0).through(&[
        "/bin/sh",
        "-c",
        "umask 0; exec \"$0\" \"$@\"",
    ]);
    let daemon = start.start();
    daemon.ready();
    daemon.clock(-0.2);
    let pid = daemon.wait_of("started", "a").pid();
    let state = place.state("a");
    let active = &state["ActiveExecution"];
    assert_eq!(active["PID"], pid);
    assert_eq!(active["PeriodID"], minute(0));
    assert_eq!(active["ChosenTime"], minute(0));
    assert!(active["StartedAt"].is_string());
    place.write("go", "");
    daemon.ran("a", &minute(0));
    daemon.stop();
    let state = place.state("a");
    let object = state.as_object().unwrap();
    assert_eq!(state["Version"], "1");
    assert_eq!(state["Identity"], place.identity("a"));
    assert_eq!(state["LastHandledPeriodID"], minute(0));
    assert_eq!(state["LastOutcome"], "executed");
    assert_eq!(state["LastChosenTime"], minute(0));
    assert_eq!(state["LastNominalTime"], minute(0));
    assert!(object.contains_key("ActiveExecution") && state["ActiveExecution"].is_null());
    assert!(state["LastStartedAt"].is_string());
    assert_eq!(state["LastExitCode"], 4);
    assert_eq!(state["LastSeedHash"].as_str().unwrap().len(), 64);
    let entry = &state["History"][0];
    for (key, value) in [
        ("PeriodID", minute(0)),
        ("NominalTime", minute(0)),
        ("ChosenTime", minute(0)),
        ("Outcome", "executed".into()),
    ] {
        assert_eq!(entry[key], value, "{key}");
    }
    assert_eq!(entry["ExitCode"], 4);
    assert!(entry["CompletedAt"].is_string());
    let mut found = vec![];
    times(&state, &mut found);
    assert!(found.len() > 6, "{found:?}");
    for time in found {
        let right = time.len() >= 20 && time.ends_with('Z') && &time[10..11] == "T";
        assert!(right, "{time}");
    }
    assert_eq!(mode(&place.at("state")), 0o700);
    for name in names(&place.at("state")) {
        assert_eq!(mode(&place.at("state").join(&name)), 0o600, "{name}");
    }
    // Fault 35.
    for name in names(&place.at("state")) {
        let text = fs::read(place.at("state").join(&name)).unwrap();
        assert!(!String::from_utf8_lossy(&text).contains("hunter2"), "{name}");
    }
}

/// STA-12, STA-13.
#[test]
fn sta_12_13_the_history_is_capped_and_nothing_depends_on_it() {
    let place = Place::with(MINUTELY);
    let daemon = place.start(-30.0, &["--history", "2"]);
    for n in 0..4 {
        daemon.clock(60.0 * f64::from(n) - 0.2);
        daemon.ran("a", &minute(n.into()));
    }
    daemon.stop();
    let periods = |state: &Value| -> Vec<String> {
        let entries = state["History"].as_array().unwrap();
        entries.iter().map(|entry| entry["PeriodID"].as_str().unwrap().into()).collect()
    };
    assert_eq!(periods(&place.state("a")), [minute(2), minute(3)]);
    let daemon = place.start(190.0, &["--history", "0"]);
    daemon.clock(239.8);
    daemon.ran("a", &minute(4));
    daemon.stop();
    assert!(periods(&place.state("a")).is_empty());
    let daemon = place.start(245.0, &[]);
    a_moment();
    daemon.stop();
    assert_eq!(place.runs("a"), (0..5).map(minute).collect::<Vec<_>>());
}

/// STA-14.
#[test]
fn sta_14_state_does_not_change_on_plans_reloads_and_questions() {
    let place = Place::with(MINUTELY);
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    daemon.ran("a", &minute(0));
    let read = || fs::read(place.state_file("a")).unwrap();
    crate::support::wait_for("the exit in state", || {
        place.state("a")["ActiveExecution"].is_null().then_some(())
    });
    let before = read();
    for args in [
        &["status"][..],
        &["jobs"],
        &["history", "a"],
        &["why", "a"],
        &["reload"],
        &["state", "show", "a"],
    ] {
        place.ask(args).exits(0);
    }
    daemon.clock(30.0);
    a_moment();
    assert_eq!(read(), before);
    daemon.stop();
    assert_eq!(read(), before);
}

/// STA-30, STA-31.
#[test]
fn sta_30_31_fault_13_damaged_state_is_put_aside_and_nothing_runs_again() {
    for damage in
        ["", "{\"Version\": \"1\", \"Ident", "\0\0\0\0", "not json", "[1, 2", "\u{feff}{}x"]
    {
        let place = Place::with(NOON);
        let daemon = place.start(-30.0, &[]);
        daemon.clock(-0.2);
        daemon.ran("a", &minute(0));
        daemon.stop();
        place.plant_text("a", damage);
        let daemon = place.start(5.0, &[]);
        let quarantined = daemon.wait("quarantined");
        assert_eq!(&quarantined["level"], "error", "{}", quarantined.line);
        a_moment();
        daemon.stop();
        assert_eq!(place.runs("a"), [minute(0)], "{damage:?}");
        let file = place.state_file("a").file_name().unwrap().to_str().unwrap().to_string();
        let aside: Vec<_> = names(&place.at("state"))
            .into_iter()
            .filter(|name| name.starts_with(&format!("{file}.corrupt.")))
            .collect();
        assert_eq!(aside.len(), 1, "{damage:?}");
        assert_eq!(fs::read(place.at("state").join(&aside[0])).unwrap(), damage.as_bytes());
        // And it goes on.
        let daemon = place.start(86390.0, &[]);
        daemon.clock(86400.0);
        daemon.wait_of("exited", "a");
        daemon.stop();
    }
}

/// STA-06, STA-32, ERR-24, ERR-30.
#[test]
fn sta_06_32_err_24_30_fault_14_incompatible_state_is_refused() {
    type Fields = Box<dyn Fn(&Place) -> Value>;
    let cases: [(&str, Fields); 6] = [
        ("version 2", Box::new(|_| json!({"Version": "2"}))),
        ("version 1 as a number", Box::new(|_| json!({"Version": 1}))),
        ("empty version", Box::new(|_| json!({"Version": ""}))),
        ("other identity", Box::new(|place| json!({"Identity": place.identity("b")}))),
        (
            "period that is none",
            Box::new(|_| json!({"LastHandledPeriodID": "yesterday", "LastOutcome": "executed"})),
        ),
        (
            "outcome that is none",
            Box::new(
                |_| json!({"LastHandledPeriodID": minute(0), "LastOutcome": "done", "LastChosenTime": minute(0), "LastNominalTime": minute(0)}),
            ),
        ),
    ];
    for (what, fields) in cases {
        let place = Place::with(NOON);
        place.plant("a", fields(&place));
        let before = fs::read(place.state_file("a")).unwrap();
        let output = place.start_fails(&[]);
        assert_eq!(output.status, 3, "{what}: {}", output.stderr);
        let events = output.events();
        let error = events.iter().find(|event| &event["level"] == "error").unwrap();
        let known = ["IncompatibleStateError", "PersistenceError"].contains(&&error["error_type"]);
        assert!(known, "{what}: {}", error.line);
        assert!(!events.iter().any(|event| event.is("ready")));
        assert_eq!(fs::read(place.state_file("a")).unwrap(), before, "{what}");
    }
    for missing in [
        "Version",
        "Identity",
        "LastHandledPeriodID",
        "LastOutcome",
        "LastChosenTime",
        "LastNominalTime",
    ] {
        let place = Place::with(NOON);
        place.plant("a", json!({}));
        let mut state = place.state("a");
        state.as_object_mut().unwrap().remove(missing);
        place.plant_text("a", &state.to_string());
        let output = place.start_fails(&[]);
        assert_eq!(output.status, 3, "{missing}: {}", output.stderr);
        assert!(output.stderr.contains("IncompatibleStateError"), "{missing}: {}", output.stderr);
    }
}

/// ERR-17, STA-35.
#[test]
fn err_17_fault_15_sta_35_state_that_cannot_be_trusted_or_read_is_refused() {
    let refused = |what: &str, prepare: &dyn Fn(&Place)| {
        let place = Place::with(NOON);
        place.plant("a", json!({}));
        prepare(&place);
        let output = place.start_fails(&[]);
        assert_eq!(output.status, 3, "{what}: {}", output.stderr);
        let error = output.events().into_iter().find(|event| &event["level"] == "error");
        let error = error.unwrap_or_else(|| panic!("{what}: no error"));
        for key in ["error_type", "operation", "message"] {
            assert!(error.has(key), "{what}: no {key} in {}", error.line);
        }
    };
    refused("file writable by others", &|place| set_mode(&place.state_file("a"), 0o666));
    refused("directory writable by others", &|place| set_mode(&place.at("state"), 0o777));
    refused("file that is a link", &|place| {
        fs::rename(place.state_file("a"), place.at("x")).unwrap();
        symlink(place.at("x"), place.state_file("a")).unwrap();
    });
    refused("directory that is a link", &|place| {
        fs::rename(place.at("state"), place.at("elsewhere")).unwrap();
        symlink(place.at("elsewhere"), place.at("state")).unwrap();
    });
    refused("file that is a directory", &|place| {
        fs::remove_file(place.state_file("a")).unwrap();
        fs::create_dir(place.state_file("a")).unwrap();
    });
    if !is_root() {
        refused("unreadable", &|place| set_mode(&place.state_file("a"), 0o000));
    }
    if need_root() {
        refused("file of somebody else", &|place| {
            std::os::unix::fs::chown(place.state_file("a"), Some(1234), None).unwrap();
        });
        refused("directory of somebody else", &|place| {
            std::os::unix::fs::chown(place.at("state"), Some(1234), None).unwrap();
        });
    }
}

#[test]
fn fault_20_leftovers_of_a_crash_are_removed() {
    let place = Place::with(NOON);
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    daemon.ran("a", &minute(0));
    daemon.stop();
    let daemon = place.start(10.0, &["--crash-at", "rename"]);
    daemon.clock(86400.0);
    daemon.end().exits(137);
    let clutter = |place: &Place| {
        names(&place.at("state"))
            .into_iter()
            .filter(|name| name.contains("tmp") || name.starts_with('.'))
            .count()
    };
    assert_eq!(clutter(&place), 1, "{:?}", names(&place.at("state")));
    // And one of a job that is no more, which no later write would replace.
    fs::write(place.at("state").join("0".repeat(64) + ".json.tmp"), "{").unwrap();
    let daemon = place.start(86405.0, &[]);
    daemon.ran("a", "2030-06-04T12:00:00Z");
    daemon.stop();
    assert_eq!(clutter(&place), 0, "{:?}", names(&place.at("state")));
}

/// STA-33, STA-34.
#[test]
fn sta_33_34_old_state_files_are_read() {
    for file in names(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/states").as_ref()) {
        let path = format!("{}/tests/states/{file}", env!("CARGO_MANIFEST_DIR"));
        let mut state: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        // Suspended, so that nothing is handled meanwhile.
        let place = Place::with("0 0 1 1 * @policy(suspend=true) name=a command=/bin/true\n");
        let last = state["LastHandledPeriodID"].clone();
        state["Identity"] = place.identity("a").into();
        place.plant_text("a", &state.to_string());
        place.start(-30.0, &[]).stop();
        // What was active is closed, and may be the latest now.
        let kept = place.state("a")["LastHandledPeriodID"].as_str().unwrap().to_string();
        assert!(kept.as_str() >= last.as_str().unwrap(), "{file}: {kept} after {last}");
    }
}

/// STA-13.
#[test]
fn sta_13_a_history_that_is_none_harms_nothing() {
    for history in [json!("x"), json!(null), json!({"a": 1}), json!([1, 2])] {
        let place = Place::with(NOON);
        place.plant("a", json!({"History": history, "NotBefore": minute(-1)}));
        let daemon = place.start(-30.0, &[]);
        daemon.clock(-0.2);
        daemon.ran("a", &minute(0));
        daemon.stop();
        let entries = place.state("a")["History"].clone();
        let last = entries.as_array().unwrap().last().unwrap().clone();
        assert_eq!(last["PeriodID"], minute(0), "{history}: {entries}");
        place.start(5.0, &[]).stop();
        assert_eq!(place.runs("a"), [minute(0)]);
    }
}

#[test]
fn fault_17_a_state_file_deleted_while_running_or_down_leads_to_no_second_run() {
    let place = Place::with(NOON);
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    daemon.ran("a", &minute(0));
    fs::remove_file(place.state_file("a")).unwrap();
    a_moment();
    daemon.stop();
    let _ = fs::remove_file(place.state_file("a"));
    // Whether it is refused or read as lost, the period does not run again.
    let mut daemon = Start::new(&place, &[]).clock(5.0).start();
    crate::support::wait_for("ready or an end", || {
        (!daemon.is_running() || daemon.count("ready") > 0).then_some(())
    });
    a_moment();
    assert_eq!(place.runs("a"), [minute(0)], "{}", daemon.text());
    assert!(
        daemon.events().iter().any(|event| ["error", "warn"].contains(&&event["level"])),
        "{}",
        daemon.text()
    );
}

#[test]
fn fault_19_deep_and_long_state_files_are_bounded() {
    let place = Place::with(NOON);
    place.plant_text("a", &"[".repeat(1_000_000));
    let daemon = place.start(-30.0, &[]);
    daemon.wait("quarantined");
    daemon.stop();
    let place = Place::with(NOON);
    let entry = json!({"PeriodID": minute(-1), "Outcome": "missed", "NominalTime": minute(-1), "ChosenTime": minute(-1), "CompletedAt": minute(-1), "ExitCode": null});
    place.plant("a", json!({"History": vec![entry; 20_000]}));
    let mut daemon = Start::new(&place, &[]).clock(-30.0).start();
    crate::support::wait_for("ready or an end", || {
        (!daemon.is_running() || daemon.count("ready") > 0).then_some(())
    });
    if daemon.is_running() {
        daemon.clock(-0.2);
        daemon.ran("a", &minute(0));
        daemon.stop();
        assert!(place.state("a")["History"].as_array().unwrap().len() <= 100);
    }
}

/// Fault 17: deleted while its job runs, it is written again when that ends.
#[test]
fn fault_17_a_state_file_deleted_while_its_job_runs_is_written_again() {
    let place = Place::with(
        "0 12 * * * @policy(deadline=1h) name=a shell=true command=\"echo a $KRON_PERIOD_ID >> HERE/record; while ! test -e HERE/go; do sleep 0.02; done\"\n",
    );
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    daemon.wait_of("started", "a");
    fs::remove_file(place.state_file("a")).unwrap();
    place.write("go", "");
    daemon.ran("a", &minute(0));
    daemon.stop();
    let state = place.state("a");
    assert_eq!([&state["LastHandledPeriodID"], &state["LastOutcome"]], [&minute(0), "executed"]);
    let daemon = place.start(5.0, &[]);
    a_moment();
    daemon.stop();
    assert_eq!(place.runs("a"), [minute(0)]);
}

/// Fault 17: another directory in its place is not taken for it.
#[test]
fn fault_17_a_state_directory_that_is_replaced_ends_the_daemon() {
    let place = Place::with(NOON);
    let daemon = place.start(-30.0, &[]);
    fs::rename(place.at("state"), place.at("away")).unwrap();
    place.make_state();
    daemon.clock_now(1.0);
    let output = daemon.end().exits(4);
    let error = output.events().into_iter().find(|event| event.is("error")).unwrap();
    assert_eq!([&error["error_type"], &error["fatal"]], ["PersistenceError", "true"]);
    a_moment();
    assert!(place.record().is_empty() && names(&place.at("state")).is_empty());
    fs::remove_dir(place.at("state")).unwrap();
    fs::rename(place.at("away"), place.at("state")).unwrap();
    let daemon = place.start(5.0, &[]);
    daemon.ran("a", &minute(0));
    daemon.stop();
    assert_eq!(place.runs("a"), [minute(0)]);
}

/// Fault 19: a million entries, and a million parentheses inside one another.
#[test]
fn fault_19_a_million_entries_and_a_million_deep() {
    let nested = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
    for history in [format!("[{}{{}}]", "{},".repeat(999_999)), nested] {
        let place = Place::with(NOON);
        place.plant("a", json!({"NotBefore": minute(-1)}));
        let text = fs::read_to_string(place.state_file("a")).unwrap();
        let text = text.replace("\"History\":[]", &format!("\"History\":{history}"));
        assert!(text.len() > 1_000_000);
        place.plant_text("a", &text);
        let daemon = place.start(-30.0, &[]);
        daemon.clock(-0.2);
        // Whether it was read without its history or put aside, the job goes on.
        daemon.ran("a", &minute(0));
        let most = crate::support::memory(daemon.pid(), "VmHWM");
        assert!(most < 100_000, "{most} KiB");
        // A history that is none is an answer or an error, and never the end of anything.
        for command in ["history", "why"] {
            assert!(place.ask(&[command, "a"]).status < 5, "{command}");
        }
        daemon.stop();
        place.start(5.0, &[]).stop();
        assert_eq!(place.runs("a"), [minute(0)]);
    }
    // More bytes than are read at all.
    let place = Place::with(NOON);
    let entry = format!("{{\"PeriodID\":\"{}\",\"Outcome\":\"missed\"}},", minute(-1));
    place.plant("a", json!({}));
    let text = fs::read_to_string(place.state_file("a")).unwrap();
    let long = format!("\"History\":[{}{}]", entry.repeat(999_999), entry.trim_end_matches(','));
    place.plant_text("a", &text.replace("\"History\":[]", &long));
    let output = place.start_fails(&[]).exits(3);
    let error = output.events().into_iter().find(|event| event.is("error")).unwrap();
    assert_eq!(error["identity"], place.identity("a"), "{}", error.line);
    assert!(
        error["message"].contains("bytes") || error["message"].contains("MiB"),
        "{}",
        error.line
    );
}

/// Fault 21: marks in the future are forgotten without a daemon, too; and not behind the
/// back of one.
#[test]
fn fault_21_state_is_reset_without_a_daemon() {
    for planted in [false, true] {
        let place = Place::with(NOON);
        let daemon = place.start(-30.0, &[]);
        if planted {
            // A file that does not say which schedule its marks belong to.
            daemon.stop();
            let entry = json!({"PeriodID": minute(0), "Outcome": "missed", "NominalTime": minute(0),
                "ChosenTime": minute(0), "CompletedAt": minute(0), "ExitCode": null});
            let far = "2075-01-01T12:00:00Z";
            place.plant("a", json!({"HandledThrough": far, "NotBefore": far, "History": [entry]}));
        } else {
            daemon.clock(45.0 * 365.25 * 86400.0);
            daemon.wait_of("outcome", "a");
            daemon.stop();
            let _ = fs::remove_file(place.at("record"));
        }
        // It is of no use as it is.
        let daemon = place.start(-30.0, &[]);
        let idle = daemon.wait_nth("idle until", 1, |event| event.line.contains("idle"));
        assert_eq!(&idle["level"], "warn", "{}", idle.line);
        daemon.stop();
        // A daemon that listens elsewhere holds the directory all the same.
        let other = place.at("other.sock");
        let daemon = place.start(-30.0, &["--socket", other.to_str().unwrap()]);
        let before = fs::read(place.state_file("a")).unwrap();
        place.ask(&["state", "reset", &place.identity("a")]).exits(3).says("locked");
        assert_eq!(fs::read(place.state_file("a")).unwrap(), before);
        daemon.stop();
        // The way out.
        place.ask(&["state", "reset", "somebody"]).exits(1).says("identity");
        place.ask(&["state", "reset", &place.identity("nobody-knows")]).exits(1);
        place.ask(&["state", "reset", &place.identity("a")]).exits(0).prints("forgotten");
        let state = place.state("a");
        for key in ["HandledThrough", "NotBefore"] {
            assert!(state[key].as_str().unwrap() < "2075", "{key}: {state}");
        }
        assert_eq!(state["History"].as_array().unwrap().len(), 1, "{state}");
        let daemon = place.start(-30.0, &[]);
        daemon.clock(-0.1);
        daemon.ran("a", &minute(0));
        daemon.stop();
        assert_eq!(place.runs("a"), [minute(0)]);
    }
}

/// Fault 21: so are those of a job that has never run, which only the roster knows of.
#[test]
fn fault_21_a_job_without_a_file_is_reset_without_a_daemon() {
    let place = Place::with(NOON);
    // First seen by a clock that was far ahead.
    place.start(45.0 * 365.25 * 86400.0, &[]).stop();
    assert!(!place.state_file("a").exists());
    let daemon = place.start(-30.0, &[]);
    daemon.wait_nth("idle until", 1, |event| event.line.contains("idle"));
    daemon.stop();
    // (The clock of whoever resets is the machine's.)
    place.ask(&["state", "reset", &place.identity("a")]).exits(0).prints("forgotten");
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.1);
    daemon.ran("a", &minute(0));
    daemon.stop();
    assert_eq!(place.runs("a"), [minute(0)]);
}
