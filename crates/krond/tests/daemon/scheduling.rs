//! When a period runs, and when it does not: clocks, downtime, changes.

use crate::support::{Daemon, Place, a_moment, minute};
use nix::sys::signal::Signal;
use serde_json::json;

const MINUTELY: &str = "* * * * * @policy(deadline=1h) name=a NOTE\n";
const NOON: &str = "0 12 * * * @policy(deadline=1h) name=a NOTE\n";

fn reload(daemon: &Daemon<'_>, nth: usize) {
    daemon.signal(Signal::SIGHUP);
    daemon.wait_nth("reload", nth, |event| event.is("reloaded"));
}

/// SCH-01, SCH-02.
#[test]
fn sch_01_02_jobs_start_in_the_order_of_their_chosen_times_and_never_before() {
    let line =
        |name: &str| format!("0 12 * * * @win(after,4s) @policy(deadline=1h) name={name} NOTE\n");
    let names = ["a", "b", "c", "d", "e", "f"];
    let place = Place::with(&names.map(line).concat());
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    for name in names {
        daemon.ran(name, &minute(0));
    }
    let events = daemon.events();
    let started: Vec<_> = events.iter().filter(|event| event.is("started")).collect();
    assert!(started.is_sorted_by_key(|event| event["chosen_time"].to_string()));
    for event in started {
        assert!(event.time() > event["chosen_time"].trim_end_matches('Z'), "{}", event.line);
    }
    daemon.stop();
}

/// SCH-04, EXE-01.
#[test]
fn sch_04_exe_01_after_each_period_comes_the_next() {
    let place = Place::with(
        "* * * * * @policy(deadline=1h) name=a NOTE\n\
         0 12 * * * @win(around,50s) @policy(deadline=1h) name=around NOTE\n\
         * * * * * @policy(deadline=1h) name=fails command=/bin/false\n\
         * * * * * @only(hours=3) name=never NOTE\n",
    );
    let daemon = place.start(-40.0, &[]);
    for n in 0..3 {
        daemon.clock(60.0 * f64::from(n) - 0.2);
        daemon.ran("a", &minute(n.into()));
        daemon.ran("fails", &minute(n.into()));
        daemon.outcome("never", &minute(n.into()), "unschedulable");
    }
    daemon.ran("around", &minute(0));
    assert_eq!(place.ask_jobs()["around"]["next"]["periodId"], "2030-06-04T12:00:00Z");
    daemon.stop();
    assert_eq!(place.runs("a"), [minute(0), minute(1), minute(2)]);
    assert_eq!(place.runs("around"), [minute(0)]);
    assert!(place.runs("never").is_empty());
}

/// SCH-05, SCH-12, SCH-14, ERR-28.
#[test]
fn sch_05_12_14_err_28_a_forward_jump_catches_up_with_one_period() {
    let place = Place::with(
        "* * * * * @policy(deadline=1h) name=a NOTE\n* * * * * @policy(deadline=0s) name=strict NOTE\n",
    );
    let daemon = place.start(-30.0, &[]);
    daemon.clock(605.0);
    daemon.ran("a", &minute(10));
    let missed = daemon.outcome("strict", &minute(10), "missed");
    assert!(!missed["reason"].is_empty(), "{}", missed.line);
    let superseded = daemon.wait_of("superseded", "a");
    assert_eq!(&superseded["count"], "10", "{}", superseded.line);
    assert_eq!(&daemon.wait("clock_jump")["level"], "info");
    daemon.clock(659.8);
    daemon.ran("a", &minute(11));
    let output = daemon.stop();
    assert_eq!(place.runs("a"), [minute(10), minute(11)]);
    assert_eq!(place.runs("strict"), [minute(11)]);
    assert_eq!(place.state("a")["History"].as_array().unwrap().len(), 2);
    assert!(!output.events().iter().any(|event| &event["level"] == "error"), "{}", output.stderr);
}

/// Two chosen times less than a minute apart, as windows make them.
/// SCH-05, SCH-12.
#[test]
fn sch_05_12_a_short_jump_catches_up_with_one_period_too() {
    let names: Vec<String> = (0..40).map(|n| format!("j{n}")).collect();
    let line = |name: &String| {
        format!(
            "* * * * * @win(after,59s) @policy(deadline=1h,concurrency=allow) name={name} NOTE\n"
        )
    };
    let seconds = |event: &crate::support::Event| {
        let part = |at: std::ops::Range<usize>| event["chosen_time"][at].parse::<f64>().unwrap();
        part(14..16) * 60.0 + part(17..19)
    };
    let place = Place::with(&names.iter().map(line).collect::<String>());
    // Which chosen times are near each other depends on the directory's name.
    let daemon = place.start(-30.0, &[]);
    daemon.clock(70.0);
    let near = crate::support::wait_for("two that are near", || {
        names.iter().find_map(|name| {
            let decisions = daemon.all("decision", name);
            let of =
                |n: i64| Some(seconds(decisions.iter().find(|e| e["period_id"] == minute(n))?));
            let (first, second) = (of(0)?, of(1)?);
            (4.0..40.0).contains(&(second - first)).then_some((name.clone(), first, second))
        })
    });
    daemon.kill();
    let (name, first, second) = near;
    std::fs::remove_dir_all(place.at("state")).unwrap();
    let _ = std::fs::remove_file(place.at("record"));
    place.jobs(&line(&name));
    let daemon = place.start(first - 2.0, &[]);
    daemon.clock(second + 0.5);
    daemon.ran(&name, &minute(1));
    a_moment();
    daemon.stop();
    assert_eq!(place.runs(&name), [minute(1)]);
}

/// SCH-06, SCH-07, ERR-28.
#[test]
fn sch_06_07_err_28_fault_38_a_clock_set_back_repeats_nothing() {
    let place = Place::with(MINUTELY);
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    daemon.ran("a", &minute(0));
    daemon.clock(-3600.0);
    let jump = daemon.wait_nth("backward jump", 1, |event| {
        event.is("clock_jump") && &event["direction"] != "forward"
    });
    assert_eq!(&jump["level"], "warn", "{}", jump.line);
    daemon.clock(-0.2);
    a_moment();
    a_moment();
    assert_eq!(place.runs("a"), [minute(0)]);
    daemon.clock(-3600.0);
    daemon.stop();
    let daemon = place.start(-3600.0, &[]);
    let idle = daemon.wait_nth("idle until", 1, |event| event.line.contains("idle"));
    assert_eq!(&idle["level"], "warn", "{}", idle.line);
    assert!(place.ask_jobs()["a"]["idleUntil"].is_string());
    daemon.clock(-0.2);
    a_moment();
    a_moment();
    daemon.clock(59.8);
    daemon.ran("a", &minute(1));
    daemon.stop();
    assert_eq!(place.runs("a"), [minute(0), minute(1)]);
}

/// SCH-06.
#[test]
fn sch_06_one_usr2_is_noticed_at_once() {
    let place = Place::with(NOON);
    let daemon = place.start(-30.0, &[]);
    daemon.clock_once(-3600.0);
    daemon.wait("clock_jump");
    daemon.stop();
}

/// SCH-06.
#[test]
fn sch_06_the_queue_is_recomputed_after_a_backward_jump() {
    let place = Place::with("0 12 * * * @policy(deadline=1h) name=a NOTE\n0 11 * * * name=b @policy(deadline=1h) NOTE\n"
        .replace("name=b @policy(deadline=1h)", "@policy(deadline=1h) name=b").as_str());
    let daemon = place.start(-30.0, &[]);
    // Before b's period, which the daemon has never seen: it is due again.
    daemon.clock(-3601.0);
    daemon.wait("clock_jump");
    daemon.clock(-0.2);
    daemon.ran("a", &minute(0));
    daemon.stop();
    assert_eq!(place.runs("a"), [minute(0)]);
}

#[test]
fn fault_21_38_twenty_years_and_back_and_the_way_out() {
    let place = Place::with(MINUTELY);
    let daemon = place.start(-30.0, &[]);
    daemon.clock(20.0 * 365.0 * 86400.0 + 5.0);
    daemon.wait_of("exited", "a");
    daemon.clock(-5.0);
    daemon.wait_nth("backward", 1, |event| event.is("clock_jump") && &event["level"] == "warn");
    daemon.clock(-0.2);
    a_moment();
    assert_eq!(place.record().len(), 1);
    place.ask(&["state", "reset", "a"]).exits(0);
    daemon.clock(59.8);
    daemon.ran("a", &minute(1));
    daemon.stop();
    assert_eq!(place.record().len(), 2);
}

/// SCH-08.
#[test]
fn sch_08_a_restart_in_an_open_window_keeps_what_lies_ahead() {
    let place = Place::with(
        "0 12 * * * @win(after,20m) @only(between=12:05-12:19) @policy(deadline=1h) name=a NOTE\n",
    );
    let first = place.start(-30.0, &[]);
    let chosen = first.wait_of("decision", "a")["chosen_time"].to_string();
    first.kill();
    let seconds = |part: &str| part.parse::<f64>().unwrap();
    let after = seconds(&chosen[14..16]) * 60.0 + seconds(&chosen[17..19]);
    let second = place.start(1.0, &[]);
    // SCH-20: the same second.
    assert_eq!(&second.wait_of("decision", "a")["chosen_time"], chosen);
    second.clock(after - 0.3);
    let started = second.wait_of("started", "a");
    assert!(started.time() > chosen.trim_end_matches('Z'), "{}", started.line);
    second.ran("a", &minute(0));
    second.stop();
    assert_eq!(place.runs("a"), [minute(0)]);
}

/// SCH-09, SCH-11, STA-21, ERR-25, OBS-02.
#[test]
fn sch_09_11_sta_21_err_25_obs_02_beyond_the_deadline_a_period_is_missed_for_good() {
    let place = Place::with(
        "0 12 * * * name=zero NOTE\n0 12 * * * @policy(deadline=30s) name=short NOTE\n",
    );
    place.start(-30.0, &[]).stop();
    let daemon = place.start(60.0, &[]);
    for job in ["zero", "short"] {
        let missed = daemon.outcome(job, &minute(0), "missed");
        assert_eq!(&missed["level"], "info", "{}", missed.line);
        assert!(!missed["reason"].is_empty() && !missed.has("error_type"), "{}", missed.line);
    }
    // At once, so that a crash does not lose it.
    daemon.kill();
    for job in ["zero", "short"] {
        let state = place.state(job);
        assert_eq!(state["LastOutcome"], "missed");
        assert_eq!(state["LastHandledPeriodID"], minute(0));
        assert_eq!(state["LastChosenTime"], minute(0));
        assert_eq!(state["LastNominalTime"], minute(0));
        assert!(state["History"][0]["ExitCode"].is_null());
        assert!(state["LastReason"].is_string());
    }
    let daemon = place.start(10.0, &[]);
    a_moment();
    daemon.stop();
    assert!(place.record().is_empty());
}

/// SCH-10, SCH-13.
#[test]
fn sch_10_13_within_the_deadline_it_runs_at_once_and_once() {
    let place = Place::with(NOON);
    place.start(-30.0, &[]).kill();
    let daemon = place.start(1800.0, &[]);
    daemon.ran("a", &minute(0));
    daemon.stop();
    let daemon = place.start(1801.0, &[]);
    a_moment();
    daemon.kill();
    let daemon = place.start(-10.0, &[]);
    daemon.clock(-0.2);
    a_moment();
    daemon.stop();
    assert_eq!(place.runs("a"), [minute(0)]);
}

/// SCH-12.
#[test]
fn sch_12_after_an_hour_of_downtime_one_period_runs() {
    let place = Place::with("* * * * * @policy(deadline=24h) name=a NOTE\n");
    place.start(-30.0, &[]).stop();
    let daemon = place.start(3630.0, &[]);
    daemon.ran("a", &minute(60));
    daemon.clock(3659.8);
    daemon.ran("a", &minute(61));
    assert_eq!(&daemon.wait_of("superseded", "a")["count"], "60");
    daemon.stop();
    assert_eq!(place.runs("a"), [minute(60), minute(61)]);
}

/// SCH-15, SCH-16, STA-18, LIF-05.
#[test]
fn sch_15_16_sta_18_lif_05_what_state_calls_handled_or_active_does_not_start() {
    let place = Place::with(
        &["handled", "active", "through", "ahead", "before", "earlier"]
            .map(|name| format!("0 12 * * * @policy(deadline=1h) name={name} NOTE\n"))
            .concat(),
    );
    let last = |period: String| {
        json!({"LastHandledPeriodID": period, "LastOutcome": "executed",
               "LastChosenTime": period, "LastNominalTime": period})
    };
    place.plant("handled", last(minute(0)));
    place.plant(
        "active",
        json!({"ActiveExecution": {"PeriodID": minute(0), "PID": 999_999_999,
               "StartedAt": minute(0), "ChosenTime": minute(0)}}),
    );
    place.plant("through", json!({"HandledThrough": minute(1)}));
    place.plant("ahead", json!({"HandledAhead": [minute(0)]}));
    place.plant("before", json!({"NotBefore": minute(1)}));
    place.plant("earlier", last("2030-06-02T12:00:00Z".into()));
    let daemon = place.start(5.0, &[]);
    daemon.ran("earlier", &minute(0));
    a_moment();
    daemon.stop();
    assert_eq!(place.record().len(), 1, "{:?}", place.record());
    // STA-27, STA-28: its end was not seen.
    let state = place.state("active");
    assert!(state["ActiveExecution"].is_null());
    assert!(state["History"][0]["ExitCode"].is_null());
    assert_eq!(state["History"][0]["Outcome"], "executed");
}

/// SCH-17.
#[test]
fn sch_17_an_edit_fires_nothing_and_reopens_nothing() {
    let place = Place::with(NOON);
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    daemon.ran("a", &minute(0));
    for (nth, schedule) in [
        "0 12 * * * @tz(Europe/London) @policy(deadline=1h)",
        "0 12 * * * @win(after,1s) @policy(deadline=1h)",
        "0 12 * * * @seed(stable,salt=x) @policy(deadline=1h)",
        "0 12 * * * @policy(deadline=2h)",
        "* * * * * @policy(deadline=2h)",
    ]
    .iter()
    .enumerate()
    {
        place.jobs(&format!("{schedule} name=a NOTE\n"));
        reload(&daemon, nth + 1);
    }
    a_moment();
    assert_eq!(place.runs("a"), [minute(0)]);
    // Ten minutes later, still down for an edit: the past stays past.
    daemon.stop();
    place.jobs("5 12 * * * @policy(deadline=1h) name=a NOTE\n");
    let daemon = place.start(600.0, &[]);
    a_moment();
    daemon.stop();
    assert_eq!(place.runs("a"), [minute(0)]);
}

/// SCH-19.
#[test]
fn sch_19_suspension_handles_nothing_and_resuming_catches_up_with_one() {
    let suspended = "* * * * * @policy(deadline=1h,suspend=true) name=a NOTE\n";
    let place = Place::with(MINUTELY);
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    daemon.ran("a", &minute(0));
    place.jobs(suspended);
    reload(&daemon, 1);
    let before = place.state("a");
    daemon.clock(302.0);
    daemon.wait_nth("jump", 2, |event| event.is("clock_jump"));
    a_moment();
    let after = place.state("a");
    for key in ["LastHandledPeriodID", "HandledThrough", "HandledAhead", "History"] {
        assert_eq!(before[key], after[key], "{key}");
    }
    assert_eq!(place.ask_jobs()["a"]["suspended"], true);
    place.jobs(MINUTELY);
    reload(&daemon, 2);
    daemon.ran("a", &minute(5));
    a_moment();
    daemon.stop();
    assert_eq!(place.runs("a"), [minute(0), minute(5)]);
}

/// STA-29.
#[test]
fn sta_29_a_new_job_never_fires_for_the_past_but_is_not_forgotten_by_a_crash() {
    let place = Place::with(NOON);
    let daemon = place.start(10.0, &[]);
    a_moment();
    daemon.stop();
    assert!(place.record().is_empty());
    let place = Place::with(NOON);
    place.start(-30.0, &[]).kill();
    let daemon = place.start(10.0, &[]);
    daemon.ran("a", &minute(0));
    daemon.stop();
}

/// STA-22, ERR-12.
#[test]
fn sta_22_err_12_an_unschedulable_period_is_recorded_with_its_reason() {
    let place =
        Place::with("0 12 * * * @win(after,10s) @only(hours=3) @policy(deadline=1h) name=a NOTE\n");
    let daemon = place.start(-30.0, &[]);
    a_moment();
    assert!(daemon.all("outcome", "a").is_empty(), "recorded before its window");
    daemon.clock(-0.2);
    let outcome = daemon.outcome("a", &minute(0), "unschedulable");
    assert_eq!(&outcome["level"], "warn", "{}", outcome.line);
    assert!(!outcome.has("error_type") && !outcome["reason"].is_empty(), "{}", outcome.line);
    daemon.kill();
    let state = place.state("a");
    assert_eq!(state["LastOutcome"], "unschedulable");
    assert_eq!(state["LastChosenTime"], "");
    assert_eq!(state["LastNominalTime"], minute(0));
    assert_eq!(state["History"][0]["ChosenTime"], "");
    let daemon = place.start(1.0, &[]);
    a_moment();
    assert!(daemon.all("outcome", "a").is_empty());
    daemon.stop();
}

#[test]
fn fault_38_a_daemon_stopped_past_a_deadline_does_not_start_late() {
    let place = Place::with("0 12 * * * @policy(deadline=1s) name=a NOTE\n");
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.5);
    daemon.signal(Signal::SIGSTOP);
    std::thread::sleep(std::time::Duration::from_millis(1800));
    daemon.signal(Signal::SIGCONT);
    daemon.outcome("a", &minute(0), "missed");
    daemon.stop();
    assert!(place.record().is_empty());
}

/// On the clock of the machine, with nothing set: the next minute but for seconds.
#[test]
fn end_to_end_on_real_time() {
    // A zone per minute does not exist, so the wait is what is left of the minute.
    let place = Place::with("* * * * * @win(after,2s) @policy(deadline=5s) name=a NOTE\n");
    let daemon = crate::support::Start::new(&place, &[]).start();
    daemon.ready();
    let decision = daemon.wait_of("decision", "a");
    let exited = daemon.wait_real("exited", "a");
    assert_eq!(&exited["chosen_time"], &decision["chosen_time"]);
    let started = daemon.wait_of("started", "a");
    assert!(started.time() > decision["chosen_time"].trim_end_matches('Z'), "{}", started.line);
    daemon.stop();
    assert_eq!(place.record().len(), 1);
}
