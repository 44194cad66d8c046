//! Scenarios of the engine: when jobs start, and what becomes of their periods.

use crate::harness;
use crate::harness::script::check;
use core::time::Duration;

/// SCH-01, SCH-02, SCH-04: at the chosen time, once, and then the next.
#[test]
fn on_time() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s)
        show commits
        start
        10:01:30 state a
        10:01:30 stop wait",
        "09:59:30 commit seen:a
        10:00:00 prepare a 10:00
        10:00:00 commit a[10:00 executed, active 1, history +0]
        10:00:00 release a 10:00
        10:00:01 commit a[10:00 executed=0, active 0, history +1]
        10:00:01 exited a 10:00 0
        10:01:00 prepare a 10:01
        10:01:00 commit a[10:01 executed, active 1, history +0]
        10:01:00 release a 10:01
        10:01:01 commit a[10:01 executed=0, active 0, history +1]
        10:01:01 exited a 10:01 0
        10:01:30 state a: last 10:01 executed=0, active 0, history executed 0; executed 0
        10:01:30 stopping wait 0
        10:01:30 stop",
    );
}

/// SCH-01: by chosen time, whatever the order of the file or of the periods.
#[test]
fn order_is_that_of_chosen_times() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s)
        job b 1 10 * * * @win(after,0s)
        job c 0 10 * * * @win(after,0s)
        job d 59 9 * * * @tz(UTC) @win(after,0s)
        start
        10:01:30 end",
        "10:00:00 prepare a 10:00
        10:00:00 prepare c 10:00
        10:00:00 release a 10:00
        10:00:00 release c 10:00
        10:00:01 exited a 10:00 0
        10:00:01 exited c 10:00 0
        10:01:00 prepare b 10:01
        10:01:00 release b 10:01
        10:01:01 exited b 10:01 0",
    );
}

/// SCH-11 (DECISIONS 5): without a deadline a second is late, less is not.
#[test]
fn lateness_is_judged_in_whole_seconds() {
    for (late, fate) in [
        ("0s", "prepare a 10:00"),
        ("999ms", "prepare a 10:00"),
        ("1s", "outcome a 10:00 missed"),
        ("59s", "outcome a 10:00 missed"),
    ] {
        let mut world = harness::script::play(
            "09:59:30
            job a 0 10 * * * @win(after,0s)
            start
            09:59:59 end",
        );
        world.stall(harness::duration(late) + harness::duration("1s"));
        world.run_for(Duration::ZERO);
        let first = world.log.iter().find(|line| !line.contains(" stalled "));
        assert!(first.is_some_and(|line| line.ends_with(fate)), "{late}: {:?}", world.log);
    }
}

/// SCH-10, SCH-11: with a deadline it is exact, to the nanosecond.
#[test]
fn a_deadline_is_exact() {
    for (late, fate) in [
        ("5m", "prepare a 10:00"),
        ("5m0.000000001s", "outcome a 10:00 missed"),
        ("23h", "outcome a 10:00 missed"),
    ] {
        let mut world = harness::script::play(
            "09:59:00
            job a 0 10 * * * @win(after,0s) @policy(deadline=5m)
            start
            09:59:30 crash",
        );
        world.until(harness::instant("10:00:00").saturating_add(harness::duration(late)));
        world.start();
        world.run_for(Duration::ZERO);
        assert!(world.log[0].ends_with(fate), "{late}: {:?}", world.log);
        let lines = world.lines.iter();
        let errors = lines.filter(|(_, line)| line.get("error_type").is_some()).count();
        assert_eq!(errors, 0, "ERR-25: to be late is no error");
    }
}

/// SCH-08, SCH-10, SCH-12, SCH-14: one run after an hour away, the rest counted.
#[test]
fn catch_up_of_one() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(deadline=24h)
        show commits
        start
        09:59:40 crash
        11:00:30 start
        11:00:40 state a",
        "09:59:30 commit seen:a
        11:00:30 prepare a 11:00
        11:00:30 commit a[-, active 0, history +0]
        11:00:30 superseded a 60
        11:00:30 commit a[11:00 executed, active 1, history +0]
        11:00:30 release a 11:00
        11:00:31 commit a[11:00 executed=0, active 0, history +1]
        11:00:31 exited a 11:00 0
        11:00:40 state a: last 11:00 executed=0, active 0, history executed 0",
    );
}

/// SCH-09, SCH-11, STA-21: without a deadline nothing runs, and the last is missed.
#[test]
fn catch_up_without_deadline() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s)
        start
        09:59:40 crash
        10:10:30 start
        10:10:31 crash
        10:10:32 start
        10:11:10 state a",
        "10:10:30 superseded a 10
        10:10:30 outcome a 10:10 missed
        10:11:00 prepare a 10:11
        10:11:00 release a 10:11
        10:11:01 exited a 10:11 0
        10:11:10 state a: last 10:11 executed=0, active 0, history missed ?; executed 0",
    );
}

/// SCH-13, SCH-16, STA-18: what ran does not run again, however often one starts.
#[test]
fn restarts_repeat_nothing() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s) @policy(deadline=24h)
        start
        10:00:10 crash
        10:00:11 start
        10:00:12 crash
        12:00:00 start
        12:00:01 stop wait
        13:00:00 start
        13:00:01 end",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:00:01 exited a 10:00 0
        12:00:01 stopping wait 0
        12:00:01 stop",
    );
}

/// SCH-19: suspension records nothing; resuming catches up with one.
#[test]
fn suspended_and_resumed() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(deadline=1h)
        start
        10:00:30 job a * * * * * @win(after,0s) @policy(deadline=1h,suspend=true)
        10:00:30 reload
        10:05:30 state a
        10:05:30 job a * * * * * @win(after,0s) @policy(deadline=1h)
        10:05:30 reload
        10:06:10 end",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:00:01 exited a 10:00 0
        10:00:30 reloaded +0 ~1 -0
        10:05:30 state a: last 10:00 executed=0, active 0, history executed 0
        10:05:30 prepare a 10:05
        10:05:30 superseded a 4
        10:05:30 reloaded +0 ~1 -0
        10:05:30 release a 10:05
        10:05:31 exited a 10:05 0
        10:06:00 prepare a 10:06
        10:06:00 release a 10:06
        10:06:01 exited a 10:06 0",
    );
}

/// SCH-19 over a restart: suspended while the daemon was off, or resumed then.
#[test]
fn resumed_by_a_restart() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(deadline=1h,suspend=true)
        start
        10:02:30 crash
        10:03:30 job a * * * * * @win(after,0s) @policy(deadline=1h)
        10:03:30 start
        10:03:40 end",
        "10:03:30 prepare a 10:03
        10:03:30 superseded a 3
        10:03:30 release a 10:03
        10:03:31 exited a 10:03 0",
    );
}

/// EXE-15, EXE-16, STA-20, STA-23, ERR-26: `forbid` skips at once.
#[test]
fn forbid_skips() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(concurrency=forbid,deadline=1h)
        proc a run=90s
        show commits
        start
        10:01:40 state a
        10:02:10 end",
        "09:59:30 commit seen:a
        10:00:00 prepare a 10:00
        10:00:00 commit a[10:00 executed, active 1, history +0]
        10:00:00 release a 10:00
        10:01:00 commit a[10:01 skipped, active 1, history +1]
        10:01:00 outcome a 10:01 skipped
        10:01:30 commit a[10:01 skipped, active 0, history +1]
        10:01:30 exited a 10:00 0
        10:01:40 state a: last 10:01 skipped, active 0, history skipped ?; executed 0
        10:02:00 prepare a 10:02
        10:02:00 commit a[10:02 executed, active 1, history +0]
        10:02:00 release a 10:02",
    );
}

/// EXE-14, STA-10: `allow` tracks each, and each has its own result.
#[test]
fn allow_runs_side_by_side() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(concurrency=allow)
        proc a run=150s code=3
        start
        10:02:20 state a
        10:02:25 crash
        10:02:26 start
        10:02:40 state a
        10:02:50 stop detach",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:01:00 prepare a 10:01
        10:01:00 release a 10:01
        10:02:00 prepare a 10:02
        10:02:00 release a 10:02
        10:02:20 state a: last 10:02 executed, active 3, history
        10:02:26 adopt a 10:00
        10:02:26 adopt a 10:01
        10:02:26 adopt a 10:02
        10:02:30 exited a 10:00 ?
        10:02:40 state a: last 10:02 executed, active 2, history executed ?
        10:02:50 stopping detach 2
        10:02:50 stop",
    );
}

/// EXE-31, ERR-16: a failed command is not tried again.
#[test]
fn failed_commands_are_not_retried() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s) @policy(deadline=24h)
        proc a code=3
        start
        10:00:10 state a
        10:00:10 crash
        10:00:20 start
        13:00:00 end",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:00:01 exited a 10:00 3
        10:00:10 state a: last 10:00 executed=3, active 0, history executed 3",
    );
}

/// ERR-12, STA-22, OBS-02: known from the window's start, once, at WARN.
#[test]
fn unschedulable() {
    check(
        "09:00:00
        job a 0 10 * * * @win(around,1h) @only(hours=3)
        start
        09:29:59 state a
        09:30:01 crash
        09:40:00 start
        12:00:00 state a",
        "09:29:59 state a: none
        09:30:00 WARN outcome a 10:00 unschedulable
        12:00:00 state a: last 10:00 unschedulable, active 0, history unschedulable ?",
    );
}

/// A new job has no past, but a window that is open has a future; so it is after
/// a crash before its first run.
#[test]
fn first_sight() {
    check(
        "10:30:00
        job past 0 10 * * * @win(after,0s) @policy(deadline=24h)
        job open 0 10 * * * @win(after,1h) @only(between=10:40-10:40)
        job over 0 10 * * * @win(after,1h) @only(between=10:20-10:20) @policy(deadline=24h)
        start
        10:30:01 crash
        10:30:02 start
        11:00:00 end",
        "10:40:18 prepare open 10:00
        10:40:18 release open 10:00
        10:40:19 exited open 10:00 0",
    );
}

/// ERR-31: whatever becomes of the others, a job runs.
#[test]
fn others_are_not_disturbed() {
    check(
        "09:59:30
        job failing 0 10 * * * @win(after,0s)
        job good 0 10 * * * @win(after,0s)
        job never 0 10 * * * @win(after,0s) @only(hours=3)
        job nonzero 0 10 * * * @win(after,0s)
        proc failing fail=permanent
        proc nonzero code=9
        start
        10:00:10 end",
        "10:00:00 prepare failing 10:00
        10:00:00 prepare good 10:00
        10:00:00 prepare nonzero 10:00
        10:00:00 ERROR error failing 10:00 exec: no such command
        10:00:00 WARN outcome never 10:00 unschedulable
        10:00:00 release good 10:00
        10:00:00 release nonzero 10:00
        10:00:01 exited good 10:00 0
        10:00:01 exited nonzero 10:00 9
        10:00:01 outcome failing 10:00 missed: no such command",
    );
}

/// LIF-06, STA-25, OBS-01, OBS-03: what comes and what was, with its seed.
#[test]
fn what_is_shown() {
    let mut world = harness::script::play(
        "09:59:30
        job a 0 10 * * * @win(after,0s)
        job b 0 10 * * * @win(after,1h)
        job c 0 10 * * * @win(after,0s) @only(hours=3)
        proc a code=3
        start",
    );
    for name in ["a", "b", "c"] {
        let (key, now) = (world.key(name), world.wall);
        let view = world.engine().view(key, now).expect("a view");
        let next = view.next.expect("planned from the start");
        assert_eq!(next.period_id, "2026-03-02T10:00:00Z");
        assert_eq!(next.chosen_time.is_none(), name == "c", "unschedulable is known ahead");
        assert!(view.last.is_none(), "STA-07: nothing was handled yet");
    }
    world.until(harness::instant("10:00:30"));
    let (key, now) = (world.key("a"), world.wall);
    let last = world.engine().view(key, now).and_then(|view| view.last).expect("a last one");
    assert_eq!(last.outcome, "executed");
    assert_eq!(last.exit_code, Some(3));
    assert_eq!(last.started_at.as_deref(), Some("2026-03-02T10:00:00Z"));
    assert_eq!(last.distribution.as_deref(), Some("uniform"));
    let mut lines = world.lines.iter().map(|(_, line)| line);
    let line = lines.find(|line| line.event == "outcome" && line.get("job") == Some("a"));
    assert_eq!(last.seed_hash.as_deref(), line.expect("an outcome").get("seed_hash"));
    let kept = world.store.files.iter().find(|(known, _)| known.as_str().ends_with(":a"));
    let kept = kept.and_then(|(_, kept)| kept.last.clone()).expect("STA-08: it is durable");
    assert_eq!(kept.outcome.as_str(), "executed");
    assert_eq!(kept.exit_code, Some(3));
    assert_eq!(kept.seed_hash.map(|hash| hash.to_string()), last.seed_hash);
}
