//! Fault 38: whatever happens to the clock, no period runs twice, what was missed is
//! not made up for in a storm, and nothing spins.

use crate::skip::skip;
use crate::support::{Daemon, Place, Start, a_moment, is_calm, minute, need, wait_for};
use std::collections::BTreeSet;
use std::time::Duration;

const MINUTELY: &str = "* * * * * @policy(deadline=1h) name=a NOTE\n";
const HOUR: f64 = 3600.0;
const YEAR: f64 = 365.25 * 24.0 * HOUR;

/// Every period that ran, ran once.
#[track_caller]
fn none_twice(place: &Place, job: &str) {
    let runs = place.runs(job);
    let distinct: BTreeSet<_> = runs.iter().collect();
    assert_eq!(distinct.len(), runs.len(), "{runs:?}");
}

/// Everything is quiet, and the next minute is run as if nothing had been.
#[track_caller]
fn goes_on(place: &Place, daemon: &Daemon<'_>, minutes: i64, period: &str) {
    is_calm(daemon.pid());
    daemon.clock(60.0 * minutes as f64 - 0.05);
    daemon.ran("a", period);
    none_twice(place, "a");
}

#[test]
fn fault_38_an_hour_forward_and_back() {
    let place = Place::with(MINUTELY);
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.05);
    daemon.ran("a", &minute(0));
    // Of sixty minutes the last is run, the others are counted.
    daemon.clock(HOUR + 5.0);
    daemon.ran("a", &minute(60));
    assert_eq!(&daemon.wait_of("superseded", "a")["count"], "59");
    goes_on(&place, &daemon, 61, &minute(61));
    assert_eq!(place.runs("a"), [minute(0), minute(60), minute(61)]);
    // What has been stays handled, until the clock has come there again.
    daemon.clock(5.0);
    let jump =
        daemon.wait_nth("backward", 1, |event| event.is("clock_jump") && &event["level"] == "warn");
    assert!(jump.has("direction"), "{}", jump.line);
    daemon.clock(60.0);
    daemon.clock(HOUR);
    a_moment();
    assert_eq!(place.record().len(), 3);
    goes_on(&place, &daemon, 62, &minute(62));
    daemon.stop();
}

#[test]
fn fault_38_twenty_years_forward_and_back() {
    let place = Place::with(MINUTELY);
    let daemon = place.start(-30.0, &[]);
    daemon.clock(20.0 * YEAR);
    daemon.wait_of("exited", "a");
    is_calm(daemon.pid());
    // One for ten million minutes.
    assert_eq!(place.record().len(), 1);
    daemon.clock(-20.0 * YEAR);
    daemon.wait_nth("backward", 1, |event| event.is("clock_jump") && &event["level"] == "warn");
    is_calm(daemon.pid());
    daemon.clock(-0.05);
    a_moment();
    assert_eq!(place.record().len(), 1);
    assert!(place.ask_jobs()["a"]["idleUntil"].is_string());
    place.ask(&["state", "reset", "a"]).exits(0);
    goes_on(&place, &daemon, 1, &minute(1));
    daemon.stop();
    assert_eq!(place.record().len(), 2);
}

/// A clock that begins in the past, as on a machine without a battery.
#[test]
fn fault_38_twenty_years_back_and_forward() {
    let place = Place::with(MINUTELY);
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.05);
    daemon.ran("a", &minute(0));
    daemon.clock(-20.0 * YEAR);
    daemon.wait_nth("backward", 1, |event| event.is("clock_jump") && &event["level"] == "warn");
    is_calm(daemon.pid());
    assert_eq!(place.runs("a"), [minute(0)]);
    daemon.clock(HOUR / 2.0 + 5.0);
    daemon.ran("a", &minute(30));
    goes_on(&place, &daemon, 31, &minute(31));
    daemon.stop();
    assert_eq!(place.runs("a"), [minute(0), minute(30), minute(31)]);
}

/// The kernel shows a leap second by counting the last second of the day twice.
#[test]
fn fault_38_a_leap_second_is_a_second_twice() {
    let place = Place::with(MINUTELY);
    let midnight = 12.0 * HOUR;
    let daemon = place.start(midnight - 30.0, &[]);
    // 23:59:59 and most of that second, and once more.
    daemon.clock(midnight - 0.9);
    std::thread::sleep(Duration::from_millis(600));
    daemon.clock(midnight - 0.9);
    daemon.ran("a", "2030-06-04T00:00:00Z");
    // And once more after midnight.
    daemon.clock(midnight - 0.9);
    std::thread::sleep(Duration::from_millis(1100));
    is_calm(daemon.pid());
    daemon.stop();
    assert_eq!(place.runs("a"), ["2030-06-04T00:00:00Z"]);
}

/// Spring 2030 in Berlin: on March 31 02:00 becomes 03:00, at 01:00 UTC. Autumn: on
/// October 27 03:00 becomes 02:00, at 01:00 UTC.
#[test]
fn fault_38_dst_both_ways() {
    let jobs = "30 2 * * * @tz(Europe/Berlin) @policy(deadline=1h) name=fixed NOTE\n\
        30 * * * * @tz(Europe/Berlin) @policy(deadline=1h) name=wild NOTE\n";
    let noon = unix("2030-06-03T12:00:00Z");
    for (change, fixed, wild) in [
        // 02:30 is not on any clock: its period is the first instant after the gap.
        ("2030-03-31", ["2030-03-31T01:00:00Z"].to_vec(), ["00", "01", "02"].to_vec()),
        // 02:30 is there twice, and runs at the first.
        ("2030-10-27", ["2030-10-27T00:30:00Z"].to_vec(), ["00", "01", "02"].to_vec()),
    ] {
        let place = Place::with(jobs);
        let at = |time: &str| (unix(&format!("{change}T{time}Z")) - noon) as f64;
        let daemon = place.start(at("00:05:00"), &[]);
        for hour in 0..3 {
            daemon.clock(at(&format!("{hour:02}:29:59")) + 0.9);
            daemon.wait_nth("wild", hour + 1, |event| event.of("exited", "wild"));
            if hour < 2 {
                daemon.clock(at(&format!("{:02}:00:00", hour + 1)) - 0.1);
                std::thread::sleep(Duration::from_millis(300));
            }
        }
        is_calm(daemon.pid());
        daemon.stop();
        let times: Vec<String> =
            wild.iter().map(|hour| format!("{change}T{hour}:30:00Z")).collect();
        assert_eq!(place.runs("wild"), times);
        assert_eq!(place.runs("fixed"), fixed, "{change}");
    }
}

/// Seconds since 1970 of a time in UTC.
fn unix(time: &str) -> i64 {
    time.parse::<kron_core::UtcSecond>().unwrap().unix_seconds()
}

/// Suspended for eight hours: the clock has gone on, the time since the boot has not.
#[test]
fn fault_38_a_machine_that_slept_for_eight_hours() {
    let place = Place::with(
        "* * * * * @policy(deadline=1h) name=a NOTE\n\
         0 12 * * * @policy(deadline=1h) name=strict NOTE\n",
    );
    let daemon = place.start(-30.0, &[]);
    daemon.clock(8.0 * HOUR + 5.0);
    daemon.ran("a", &minute(480));
    // Noon was eight hours ago, and an hour is what it had.
    let missed = daemon.outcome("strict", &minute(0), "missed");
    assert!(missed["reason"].contains("deadline"), "{}", missed.line);
    goes_on(&place, &daemon, 481, &minute(481));
    daemon.stop();
    assert_eq!(place.runs("a"), [minute(480), minute(481)]);
    assert!(place.runs("strict").is_empty());
}

/// Stopped past a deadline: missed, and what came due since the last minute runs on.
#[test]
fn fault_38_stopped_and_continued() {
    use nix::sys::signal::Signal;
    let place = Place::with(
        "0 12 * * * @policy(deadline=1s) name=strict NOTE\n\
         0 12 * * * @policy(deadline=1h) name=a NOTE\n",
    );
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.3);
    daemon.signal(Signal::SIGSTOP);
    std::thread::sleep(Duration::from_millis(1800));
    daemon.signal(Signal::SIGCONT);
    daemon.outcome("strict", &minute(0), "missed");
    daemon.ran("a", &minute(0));
    is_calm(daemon.pid());
    daemon.stop();
    assert_eq!(place.runs("a"), [minute(0)]);
    assert!(place.runs("strict").is_empty());
}

/// A run that ended before anybody looked is not in the way of what came due meanwhile,
/// even if the alarm rang first.
#[test]
fn an_end_is_heard_before_what_is_due_is_judged() {
    use nix::sys::signal::{Signal, kill};
    let place = Place::with(
        "* * * * * @policy(deadline=1h,concurrency=forbid) name=a command=\"sleep 1000\"\n",
    );
    let daemon = place.start(-30.0, &[]);
    let end = |nth| {
        let started = daemon.wait_nth("start", nth, |event| event.of("started", "a"));
        kill(nix::unistd::Pid::from_raw(started.pid()), Signal::SIGKILL).unwrap();
        let status = format!("/proc/{}/status", started.pid());
        wait_for("its end", || {
            let status = std::fs::read_to_string(&status).unwrap_or_default();
            (status.is_empty() || status.contains("State:\tZ")).then_some(())
        });
    };
    daemon.clock(-0.05);
    daemon.outcome("a", &minute(0), "executed");
    daemon.clock(58.0);
    daemon.signal(Signal::SIGSTOP);
    assert_eq!(daemon.all("outcome", "a").len(), 1);
    std::thread::sleep(Duration::from_millis(2500));
    end(1);
    daemon.signal(Signal::SIGCONT);
    daemon.outcome("a", &minute(1), "executed");
    end(2);
    daemon.stop();
}

/// That the clock was set just before an alarm is set, the kernel tells once, by an
/// error: the time must be looked at, for the alarm may be behind.
#[test]
fn fault_38_a_clock_set_between_two_looks_is_noticed() {
    if !need("strace") {
        return;
    }
    let place = Place::with("0 12 * * * @policy(deadline=1h) name=a NOTE\n");
    // The second alarm is not set: the time goes on by more than it was to wait, and
    // then the kernel says that the clock was set.
    let trace = "inject=timerfd_settime:error=ECANCELED:delay_enter=1500000:when=2";
    let start = Start::new(&place, &[]).clock(-HOUR);
    let strace =
        ["strace", "-D", "-qq", "-o", "/dev/null", "-e", "trace=timerfd_settime", "-e", trace];
    let mut daemon = start.through(&strace).start();
    let is_up = wait_for("ready or an end", || {
        let is_running = daemon.is_running();
        (!is_running || daemon.count("ready") > 0).then_some(is_running)
    });
    if !is_up {
        skip(format_args!("strace may not trace here:\n{}", daemon.text()));
        return;
    }
    daemon.clock_once(-1.0);
    daemon.ran("a", &minute(0));
    is_calm(daemon.pid());
    daemon.stop();
    assert_eq!(place.runs("a"), [minute(0)]);
}
