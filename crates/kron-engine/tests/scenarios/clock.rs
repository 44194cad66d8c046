//! The clock is set, the machine sleeps, the daemon is stopped; windows that cross.

use crate::harness::script::{act, check, play};

/// SCH-06, ERR-28: set back by an hour, nothing runs twice, and a WARN says so.
#[test]
fn set_back_an_hour() {
    check(
        "09:59:30
        job a 0 * * * * @win(after,0s) @policy(deadline=24h)
        start
        10:00:10 clock -1h
        10:00:30 state a
        11:00:10 end",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:00:01 exited a 10:00 0
        09:00:10 WARN clock backward 1h
        09:00:10 WARN idle a until 10:00:00
        10:00:30 state a: last 10:00 executed=0, active 0, history executed 0
        11:00:00 prepare a 11:00
        11:00:00 release a 11:00
        11:00:01 exited a 11:00 0",
    );
}

/// SCH-06: the loop does not keep sleeping to the old target.
#[test]
fn set_back_before_it_was_due() {
    check(
        "09:00:00
        job a 0 12 * * * @win(after,0s)
        job b 30 10 * * * @win(after,0s)
        start
        11:59:40 clock -1h
        12:00:10 end",
        "10:30:00 prepare b 10:30
        10:30:00 release b 10:30
        10:30:01 exited b 10:30 0
        10:59:40 WARN clock backward 1h
        12:00:00 prepare a 12:00
        12:00:00 release a 12:00
        12:00:01 exited a 12:00 0",
    );
}

/// SCH-07: nor over a restart.
#[test]
fn set_back_and_restarted() {
    check(
        "09:59:30
        job a 0 * * * * @win(after,0s) @policy(deadline=24h)
        start
        10:00:10 crash
        10:00:10 clock -1h
        09:00:10 start
        10:00:30 end",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:00:01 exited a 10:00 0
        09:00:10 WARN idle a until 10:00:00",
    );
}

/// SCH-05: set forward over ten periods, at most one runs; no error.
#[test]
fn set_forward() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(deadline=1h)
        job b * * * * * @win(after,0s)
        start
        09:59:40 clock +10m30s
        10:10:20 end",
        "10:10:10 clock forward 10m30s
        10:10:10 prepare a 10:10
        10:10:10 superseded a 10
        10:10:10 superseded b 10
        10:10:10 outcome b 10:10 missed
        10:10:10 release a 10:10
        10:10:11 exited a 10:10 0",
    );
}

/// Twenty years forward and back: idle, said so, and a reset is the way out.
#[test]
fn twenty_years() {
    check(
        "09:59:30
        job a 0 * * * * @win(after,0s)
        start
        10:00:10 clock 2046-03-02T10:30:00Z
        2046-03-02T11:00:10Z clock 10:01:00
        11:01:00 state a
        11:01:00 crash
        11:01:10 start
        11:30:00 reset a
        12:00:10 crash
        12:00:20 start
        13:00:10 state a",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:00:01 exited a 10:00 0
        2046-03-02T10:30:00 clock forward 175320h29m50s
        2046-03-02T10:30:00 superseded a 4095 or more
        2046-03-02T10:30:00 outcome a 2046-03-02T10:00 missed
        2046-03-02T11:00:00 prepare a 2046-03-02T11:00
        2046-03-02T11:00:00 release a 2046-03-02T11:00
        2046-03-02T11:00:01 exited a 2046-03-02T11:00 0
        10:01:00 WARN clock backward 175320h59m10s
        10:01:00 WARN idle a until 2046-03-02T11:00:00
        11:01:00 state a: last 2046-03-02T11:00 executed=0, active 0, history executed 0; missed ?; executed 0
        11:01:10 WARN idle a until 2046-03-02T11:00:00
        11:30:00 reset done
        11:30:00 WARN reset a
        12:00:00 prepare a 12:00
        12:00:00 release a 12:00
        12:00:01 exited a 12:00 0
        13:00:00 prepare a 13:00
        13:00:00 release a 13:00
        13:00:01 exited a 13:00 0
        13:00:10 state a: last 13:00 executed=0, active 0, history executed 0; missed ?; executed 0; executed 0; executed 0",
    );
}

/// SCH-12: stopped for ten minutes, one run; so whichever event is heard first.
#[test]
fn stalled() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(deadline=1h,concurrency=allow)
        start
        09:59:40 stall 10m
        10:09:50 end",
        "10:09:40 WARN stalled 9m40s
        10:09:40 prepare a 10:09
        10:09:40 superseded a 9
        10:09:40 release a 10:09
        10:09:41 exited a 10:09 0",
    );
    // A reload is what is heard first.
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(deadline=1h,concurrency=allow)
        start
        09:59:40 quiet-stall 10m
        job a * * * * * @win(after,0s) @policy(deadline=2h,concurrency=allow)
        reload
        10:09:50 end",
        "10:09:40 WARN stalled 9m40s
        10:09:40 prepare a 10:09
        10:09:40 superseded a 9
        10:09:40 reloaded +0 ~1 -0
        10:09:40 release a 10:09
        10:09:41 exited a 10:09 0",
    );
    // A failed preparation is what is heard first.
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(deadline=1h,concurrency=allow)
        proc a fail=transient ready=5s
        start
        10:00:02 quiet-stall 10m
        proc a
        10:10:10 end",
        "10:00:00 prepare a 10:00
        10:10:02 WARN stalled 9m2s
        10:10:02 abandon a 10:00
        10:10:02 prepare a 10:00
        10:10:02 prepare a 10:10
        10:10:02 superseded a 9
        10:10:02 release a 10:00
        10:10:02 release a 10:10
        10:10:03 exited a 10:00 0
        10:10:03 exited a 10:10 0",
    );
}

/// SCH-05: what came due while the clock was watched, and waits for whatever it is, is
/// not passed over when the clock is set forward or the daemon stalls.
#[test]
fn nothing_that_waits_is_passed_over() {
    // For a place.
    check(
        "09:58:30
        job a * * * * * @win(after,0s) @policy(deadline=1h,concurrency=allow)
        job b 59 9 * * * @win(after,0s) @policy(deadline=1h)
        proc b run=150s
        set max-running=1
        start
        10:01:10 clock +2s
        10:01:50 end",
        "09:59:00 prepare a 09:59
        09:59:00 release a 09:59
        09:59:01 prepare b 09:59
        09:59:01 exited a 09:59 0
        09:59:01 release b 09:59
        10:01:12 clock forward 2s
        10:01:33 prepare a 10:00
        10:01:33 exited b 09:59 0
        10:01:33 release a 10:00
        10:01:34 prepare a 10:01
        10:01:34 exited a 10:00 0
        10:01:34 release a 10:01
        10:01:35 exited a 10:01 0",
    );
    // To be tried again; also if a reload comes between.
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(deadline=1h,concurrency=allow)
        proc a fail=permanent
        start
        10:01:10 clock +2s
        10:01:20 proc a
        10:01:30 reload
        10:01:40 end",
        "10:00:00 prepare a 10:00
        10:00:00 ERROR error a 10:00 exec: no such command
        10:01:00 prepare a 10:01
        10:01:00 ERROR error a 10:01 exec: no such command
        10:01:12 clock forward 2s
        10:01:30 prepare a 10:00
        10:01:30 prepare a 10:01
        10:01:30 reloaded +0 ~0 -0
        10:01:30 release a 10:00
        10:01:30 release a 10:01
        10:01:31 exited a 10:00 0
        10:01:31 exited a 10:01 0",
    );
    // For what it replaces to end.
    check(
        "09:59:30
        job a 0-2 10 * * * @win(after,0s) @policy(deadline=1h,concurrency=replace)
        proc a run=forever ignores=term
        set grace=90s
        start
        10:02:10 clock +2s
        10:02:15 proc a
        10:02:40 end",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:01:00 replacing a 10:00
        10:01:00 term a 10:00
        10:02:12 clock forward 2s
        10:02:32 WARN killing a 10:00
        10:02:32 kill a 10:00
        10:02:32 prepare a 10:01
        10:02:32 exited a 10:00 137 replaced
        10:02:32 release a 10:01
        10:02:32 replacing a 10:01
        10:02:32 term a 10:01
        10:02:32 prepare a 10:02
        10:02:32 exited a 10:01 143 replaced
        10:02:32 release a 10:02
        10:02:33 exited a 10:02 0",
    );
}

/// What waits while thousands after it end is closed by their marks, and counted.
#[test]
fn what_waits_too_long_is_counted() {
    let world = play(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(deadline=720h,concurrency=allow)
        proc a fail=permanent
        start
        10:00:10 proc a
        10:00:20 clock +96h
        2026-03-06T10:02:10Z end",
    );
    let superseded: Vec<_> = world.log.iter().filter(|line| line.contains("superseded")).collect();
    assert_eq!(superseded.len(), 2, "{:?}", world.log);
    assert!(superseded[1].ends_with("superseded a 1"), "{:?}", world.log);
}

/// SCH-03, ERR-32: what was judged before a stall is judged again after it.
#[test]
fn stalled_in_the_middle_of_a_start() {
    check(
        "09:59:30
        job a 0,1 10 * * * @win(after,0s)
        proc a ready=5s
        start
        10:00:02 stall 1h
        11:00:30 state a",
        "10:00:00 prepare a 10:00
        11:00:02 WARN stalled 59m2s
        11:00:02 abandon a 10:00
        11:00:02 outcome a 10:00 missed
        11:00:02 outcome a 10:01 missed
        11:00:30 state a: last 10:01 missed, active 0, history missed ?; missed ?",
    );
}

/// SCH-03: the clock goes back between preparation and start: it is not yet time.
#[test]
fn set_back_in_the_middle_of_a_start() {
    check(
        "09:00:00
        job a 0 10 * * * @win(after,0s)
        proc a ready=5s
        start
        10:00:02 clock -10m
        10:00:10 end",
        "10:00:00 prepare a 10:00
        09:50:02 WARN clock backward 10m
        09:50:02 abandon a 10:00
        10:00:00 prepare a 10:00
        10:00:05 release a 10:00
        10:00:06 exited a 10:00 0",
    );
}

/// A replacement that waits while the machine sleeps is judged again.
#[test]
fn stalled_while_replacing() {
    check(
        "09:59:30
        job a 0,1 10 * * * @win(after,0s) @policy(concurrency=replace)
        proc a run=forever ignores=term
        set grace=2m
        start
        10:01:05 stall 90s
        10:02:40 clock +1h
        11:04:00 state a",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:01:00 replacing a 10:00
        10:01:00 term a 10:00
        11:02:40 clock forward 1h
        11:02:40 outcome a 10:01 missed
        11:03:00 WARN killing a 10:00
        11:03:00 kill a 10:00
        11:03:00 exited a 10:00 137 replaced
        11:04:00 state a: last 10:01 missed, active 0, history missed ?; executed 137:replaced",
    );
}

/// Marks are forgotten on request, and whatever was being tried with them.
#[test]
fn reset_in_the_middle() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(deadline=90s,concurrency=allow)
        job b 0 10 * * * @win(after,0s)
        proc a fail=permanent
        proc b ready=8s
        start
        10:00:03 reset a
        10:00:03 reset b
        10:00:20 proc a
        10:01:10 state b
        10:02:10 stop wait",
        "10:00:00 prepare a 10:00
        10:00:00 prepare b 10:00
        10:00:00 ERROR error a 10:00 exec: no such command
        10:00:03 reset done
        10:00:03 WARN reset a
        10:00:03 reset done
        10:00:03 WARN reset b
        10:00:08 release b 10:00
        10:00:09 exited b 10:00 0
        10:01:00 prepare a 10:01
        10:01:00 release a 10:01
        10:01:01 exited a 10:01 0
        10:01:10 state b: last 10:00 executed=0, active 0, history executed 0
        10:02:00 prepare a 10:02
        10:02:00 release a 10:02
        10:02:01 exited a 10:02 0
        10:02:10 stopping wait 0
        10:02:10 stop",
    );
}

/// A reset forgets marks in the future only: what has run stays closed, also under
/// a definition that would choose a later time for it.
#[test]
fn reset_and_edit() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s)
        start
        10:00:10 reset a
        10:00:20 job a 0 10 * * * @win(after,1h) @only(between=10:30-10:30)
        10:00:20 reload
        11:00:00 end",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:00:01 exited a 10:00 0
        10:00:10 reset done
        10:00:10 WARN reset a
        10:00:20 reloaded +0 ~1 -0",
    );
}

/// What ran while the clock was ahead is not run again after a reset once its window has
/// begun, though its chosen time lies ahead again. What has not begun is run.
#[test]
fn reset_within_a_window() {
    check(
        "09:30:00
        job a 0 * * * * @win(around,2h) @only(between=09:50-09:50;between=11:50-11:50) @policy(deadline=3h)
        start
        09:30:10 clock 11:30:00
        11:30:10 clock 09:31:00
        09:32:00 reset a
        11:55:00 end",
        "11:30:00 clock forward 1h59m50s
        11:30:00 prepare a 10:00
        11:30:00 superseded a 1
        11:30:00 release a 10:00
        11:30:01 exited a 10:00 0
        09:31:00 WARN clock backward 1h59m10s
        09:31:00 WARN idle a until 10:00:00
        09:32:00 reset done
        09:32:00 WARN reset a
        11:50:16 prepare a 12:00
        11:50:16 release a 12:00
        11:50:17 exited a 12:00 0
        11:50:50 prepare a 11:00
        11:50:50 release a 11:00
        11:50:51 exited a 11:00 0",
    );
}

/// A step back of less than a second is no reason to warn about idle jobs, and of
/// course repeats nothing.
#[test]
fn small_corrections() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s)
        start
        10:00:00.2 clock -300ms
        10:01:10 end",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        09:59:59.9 WARN clock backward 300ms
        10:00:00.7 exited a 10:00 0
        10:01:00 prepare a 10:01
        10:01:00 release a 10:01
        10:01:01 exited a 10:01 0",
    );
}

/// SCH-04: chosen before its nominal time, it is not run again at that.
#[test]
fn around_before_nominal() {
    check(
        "09:00:00
        job a 0 10 * * * @win(around,1h) @only(between=09:40-09:40)
        start
        09:45:00 crash
        09:50:00 start
        11:00:00 state a",
        "09:40:39 prepare a 10:00
        09:40:39 release a 10:00
        09:40:40 exited a 10:00 0
        11:00:00 state a: last 10:00 executed=0, active 0, history executed 0",
    );
}

/// Windows that overlap: chosen times cross, each period has its one outcome, also
/// over restarts. (SCH-01, SCH-04, SCH-20, OBS-01)
#[test]
fn crossing_windows() {
    let play_day = |restart_minutes: Option<u64>| {
        let mut world = play(
            "09:00:00
            job a */10 * * * * @win(around,2h) @policy(concurrency=allow)
            job b */7 * * * * @win(after,45m) @policy(concurrency=allow)
            start",
        );
        for _ in 0..(8 * 60 / restart_minutes.unwrap_or(480)) {
            act(&mut world, &format!("+{}m end", restart_minutes.unwrap_or(480)));
            if restart_minutes.is_some() {
                world.crash();
                world.start();
            }
        }
        let executed = world.laws.outcomes().values().filter(|o| *o == "executed").count();
        assert_eq!(executed, world.laws.outcomes().len());
        assert_eq!(world.idle_ticks, 0);
        world.laws.released().clone()
    };
    let whole = play_day(None);
    assert!(whole.len() > 100);
    assert_eq!(whole, play_day(Some(16)), "C is stable over restarts");
    let crossed = whole.iter().filter(|(identity, _)| identity.ends_with(":a")).count();
    assert!((40..60).contains(&crossed), "{crossed}");
}
