//! Between the verdict and the command: preparations that fail, limits, commits.

use crate::harness::script::{act, check, play};

/// ERR-04 (the second chosen stays the same), ERR-14, ERR-15, ERR-22, ERR-23, ERR-29: transient failures are tried again, each
/// pause twice the one before, and the period runs as soon as it can.
#[test]
fn transient_failures_are_retried() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s) @policy(deadline=1m)
        proc a fail=transient
        start
        10:00:01 proc a
        10:00:05 state a",
        "10:00:00 prepare a 10:00
        10:00:00 ERROR error a 10:00 exec: try again
        10:00:00.1 prepare a 10:00
        10:00:00.1 ERROR error a 10:00 exec: try again
        10:00:00.3 prepare a 10:00
        10:00:00.3 ERROR error a 10:00 exec: try again
        10:00:00.7 prepare a 10:00
        10:00:00.7 ERROR error a 10:00 exec: try again
        10:00:01.5 prepare a 10:00
        10:00:01.5 release a 10:00
        10:00:02.5 exited a 10:00 0
        10:00:05 state a: last 10:00 executed=0, active 0, history executed 0",
    );
}

/// ERR-15, ERR-22: … until the deadline; then it is missed, and the reason says why.
#[test]
fn transient_failures_until_the_deadline() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s) @policy(deadline=1s)
        proc a fail=transient
        start
        10:00:00.9 state a
        10:00:05 state a",
        "10:00:00 prepare a 10:00
        10:00:00 ERROR error a 10:00 exec: try again
        10:00:00.1 prepare a 10:00
        10:00:00.1 ERROR error a 10:00 exec: try again
        10:00:00.3 prepare a 10:00
        10:00:00.3 ERROR error a 10:00 exec: try again
        10:00:00.7 prepare a 10:00
        10:00:00.7 ERROR error a 10:00 exec: try again
        10:00:00.9 state a: none
        10:00:01.000000001 outcome a 10:00 missed: try again
        10:00:05 state a: last 10:00 missed, active 0, history missed ?",
    );
}

/// ERR-15: permanent failures wait for the deadline, without trying again.
#[test]
fn permanent_failures_wait() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s) @policy(deadline=1m)
        job b 0 10 * * * @win(after,0s)
        proc a fail=permanent
        proc b fail=permanent
        start
        10:02:00 end",
        "10:00:00 prepare a 10:00
        10:00:00 prepare b 10:00
        10:00:00 ERROR error a 10:00 exec: no such command
        10:00:00 ERROR error b 10:00 exec: no such command
        10:00:01 outcome b 10:00 missed: no such command
        10:01:00.000000001 outcome a 10:00 missed: no such command",
    );
}

/// While one period is blocked the next ones are judged on their own.
#[test]
fn several_periods_blocked() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(deadline=90s,concurrency=allow)
        proc a fail=permanent
        start
        10:02:10 stop wait",
        "10:00:00 prepare a 10:00
        10:00:00 ERROR error a 10:00 exec: no such command
        10:01:00 prepare a 10:01
        10:01:00 ERROR error a 10:01 exec: no such command
        10:01:30.000000001 outcome a 10:00 missed: no such command
        10:02:00 prepare a 10:02
        10:02:00 ERROR error a 10:02 exec: no such command
        10:02:10 stopping wait 0
        10:02:10 stop",
    );
}

/// No period is skipped for another that is being prepared: that one may never begin.
/// Once it has begun the others are, as of when they came due.
#[test]
fn nothing_is_skipped_for_what_does_not_begin() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(deadline=10m)
        proc a fail=permanent
        start
        10:01:10 reload
        10:01:30 proc a run=5s
        10:01:30 reload
        10:01:50 end",
        "10:00:00 prepare a 10:00
        10:00:00 ERROR error a 10:00 exec: no such command
        10:01:00 prepare a 10:01
        10:01:00 ERROR error a 10:01 exec: no such command
        10:01:10 prepare a 10:00
        10:01:10 reloaded +0 ~0 -0
        10:01:10 ERROR error a 10:00 exec: no such command
        10:01:10 prepare a 10:01
        10:01:10 ERROR error a 10:01 exec: no such command
        10:01:30 prepare a 10:00
        10:01:30 reloaded +0 ~0 -0
        10:01:30 release a 10:00
        10:01:30 outcome a 10:01 skipped
        10:01:35 exited a 10:00 0",
    );
    // That the other takes long to prepare does not make it late.
    check(
        "09:57:05
        job a * * * * * @win(after,5m)
        proc a ready=8s
        start
        09:57:30 end",
        "09:57:07 prepare a 09:57
        09:57:15 release a 09:57
        09:57:15 outcome a 09:55 skipped
        09:57:16 exited a 09:57 0",
    );
    // Nor if a third comes due meanwhile.
    check(
        "10:17:43
        job a * * * * * @win(after,40m) @policy(deadline=25s)
        proc a ready=25s
        start
        10:18:11 end",
        "10:17:44 prepare a 10:09
        10:18:09 release a 10:09
        10:18:09 outcome a 09:38 skipped
        10:18:09 outcome a 09:46 skipped
        10:18:09 outcome a 10:03 skipped
        10:18:10 exited a 10:09 0",
    );
    // Unless that one does not begin.
    check(
        "09:57:05
        job a * * * * * @win(after,5m)
        proc a fail=permanent ready=20s
        start
        09:57:30 end",
        "09:57:07 prepare a 09:57
        09:57:27 ERROR error a 09:57 exec: no such command
        09:57:27 outcome a 09:57 missed: no such command
        09:57:27 outcome a 09:55 missed: another period was being prepared",
    );
    // A reload that changes nothing leaves it so; after an edit both are judged anew.
    check(
        "09:57:05
        job a * * * * * @win(after,5m) @policy(deadline=1m)
        proc a ready=20s
        start
        09:57:24 reload
        09:57:26 job a * * * * * @win(after,5m) @policy(deadline=1m) command=/bin/echo
        09:57:26 reload
        09:58:00 end",
        "09:57:07 prepare a 09:57
        09:57:24 reloaded +0 ~0 -0
        09:57:26 abandon a 09:57
        09:57:26 prepare a 09:57
        09:57:26 reloaded +0 ~1 -0
        09:57:46 release a 09:57
        09:57:46 outcome a 09:55 skipped
        09:57:47 exited a 09:57 0",
    );
}

/// A stall does not pass over a blocked period, which has its outcome like any other and
/// leaves nothing behind.
#[test]
fn blocked_and_stalled() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(deadline=5m,concurrency=allow)
        proc a fail=permanent
        start
        10:00:10 stall 3m
        10:03:10 proc a
        10:03:30 stall 100s
        10:05:30 end",
        "10:00:00 prepare a 10:00
        10:00:00 ERROR error a 10:00 exec: no such command
        10:03:10 WARN stalled 2m10s
        10:03:10 prepare a 10:03
        10:03:10 ERROR error a 10:03 exec: no such command
        10:03:10 superseded a 2
        10:05:10 WARN stalled 1m10s
        10:05:10 prepare a 10:05
        10:05:10 superseded a 1
        10:05:10 outcome a 10:00 missed: no such command
        10:05:10 release a 10:05
        10:05:11 exited a 10:05 0",
    );
}

/// A process that never gets ready is given up, and tried again.
#[test]
fn preparation_that_never_ends() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s) @policy(deadline=1m)
        proc a ready=never
        start
        10:00:10 proc a
        10:02:00 end",
        "10:00:00 prepare a 10:00
        10:00:30 abandon a 10:00
        10:00:30 ERROR error a 10:00 prepare: the process was not ready after 30 s
        10:00:30.1 prepare a 10:00
        10:00:30.1 release a 10:00
        10:00:31.1 exited a 10:00 0",
    );
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s)
        proc a ready=never
        start
        10:02:00 end",
        "10:00:00 prepare a 10:00
        10:00:30 abandon a 10:00
        10:00:30 ERROR error a 10:00 prepare: the process was not ready after 30 s
        10:00:30 outcome a 10:00 missed: the process was not ready after 30 s",
    );
}

/// A READY that comes after all changes nothing.
#[test]
fn ready_after_it_was_given_up() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s)
        proc a ready=40s
        start
        10:02:00 end",
        "10:00:00 prepare a 10:00
        10:00:30 abandon a 10:00
        10:00:30 ERROR error a 10:00 prepare: the process was not ready after 30 s
        10:00:30 outcome a 10:00 missed: the process was not ready after 30 s",
    );
}

/// Slow preparation is not lateness, because the verdict was in time; unless it takes more
/// than ten seconds and ends after the deadline (CORE-42, ERR-32).
#[test]
fn slow_preparation() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s)
        proc a ready=10s
        start
        10:02:00 end",
        "10:00:00 prepare a 10:00
        10:00:10 release a 10:00
        10:00:11 exited a 10:00 0",
    );
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s)
        proc a ready=10001ms
        start
        10:02:00 end",
        "10:00:00 prepare a 10:00
        10:00:10.001 abandon a 10:00
        10:00:10.001 ERROR error a 10:00 prepare: the process was ready only after 10 s
        10:00:10.001 outcome a 10:00 missed: the process was ready only after 10 s",
    );
    // What it waited until somebody began with it is not its own.
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s)
        proc a ready=19s queued=9s
        start
        10:02:00 end",
        "10:00:00 prepare a 10:00
        10:00:19 release a 10:00
        10:00:20 exited a 10:00 0",
    );
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s)
        proc a ready=19s queued=8s
        start
        10:02:00 end",
        "10:00:00 prepare a 10:00
        10:00:19 abandon a 10:00
        10:00:19 ERROR error a 10:00 prepare: the process was ready only after 11 s
        10:00:19 outcome a 10:00 missed: the process was ready only after 11 s",
    );
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s) @policy(deadline=20s)
        proc a ready=20s
        start
        10:02:00 end",
        "10:00:00 prepare a 10:00
        10:00:20 release a 10:00
        10:00:21 exited a 10:00 0",
    );
}

/// Row 38: stopped between verdict and gate, whatever the daemon would have woken up for:
/// a job with no other period near is judged again, too; and so is what has not begun to
/// be prepared.
#[test]
fn stopped_before_the_gate() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s)
        proc a ready=20s
        start
        10:00:01 quiet-stall 15s
        10:01:00 end",
        "10:00:00 prepare a 10:00
        10:00:20 abandon a 10:00
        10:00:20 ERROR error a 10:00 prepare: the process was ready only after 20 s
        10:00:20 outcome a 10:00 missed: the process was ready only after 20 s",
    );
    for stall in ["stall", "quiet-stall"] {
        check(
            &format!(
                "09:59:30
                job a 0 10 * * * @win(after,0s)
                proc a ready=5s
                start
                10:00:01 {stall} 1h
                11:00:10 end"
            ),
            "10:00:00 prepare a 10:00
            11:00:01 WARN stalled 59m31s
            11:00:01 abandon a 10:00
            11:00:01 outcome a 10:00 missed",
        );
    }
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s)
        job b 0 10 * * * @win(after,0s)
        proc a ready=30s
        proc b ready=30s
        set preparing=1
        start
        10:00:00.5 stall 20s
        10:01:10 end",
        "10:00:00 prepare a 10:00
        10:00:20.5 WARN stalled 19s500ms
        10:00:20.5 abandon a 10:00
        10:00:20.5 outcome a 10:00 missed
        10:00:20.5 outcome b 10:00 missed",
    );
}

/// With a limit of running jobs the others wait, each until its deadline.
#[test]
fn most_running_at_once() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s) @policy(deadline=1m)
        job b 0 10 * * * @win(after,0s) @policy(deadline=1m)
        job c 0 10 * * * @win(after,0s) @policy(deadline=5s)
        proc a run=10s
        set max-running=1
        start
        10:02:00 end",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:00:05.000000001 outcome c 10:00 missed: as many jobs were running as may at once (1)
        10:00:10 prepare b 10:00
        10:00:10 exited a 10:00 0
        10:00:10 release b 10:00
        10:00:11 exited b 10:00 0",
    );
}

/// A place that comes free because nothing could be started is a place, too.
#[test]
fn a_failed_start_makes_room() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s) @policy(deadline=1m)
        job b 0 10 * * * @win(after,0s) @policy(deadline=1m)
        proc a fail=permanent ready=2s
        set max-running=1
        start
        10:02:00 end",
        "10:00:00 prepare a 10:00
        10:00:02 ERROR error a 10:00 exec: no such command
        10:00:02 prepare b 10:00
        10:00:02 release b 10:00
        10:00:03 exited b 10:00 0
        10:01:00.000000001 outcome a 10:00 missed: no such command",
    );
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s) @policy(deadline=1m)
        job b 0 10 * * * @win(after,0s) @policy(deadline=1m)
        proc a ready=never
        set max-running=1
        start
        10:00:05 drop a
        10:00:05 reload
        10:02:00 end",
        "10:00:00 prepare a 10:00
        10:00:05 abandon a 10:00
        10:00:05 prepare b 10:00
        10:00:05 superseded a 1
        10:00:05 reloaded +0 ~0 -1
        10:00:05 release b 10:00
        10:00:06 exited b 10:00 0",
    );
}

/// A free place is no reason to try again what has failed for good.
#[test]
fn room_is_not_for_what_failed() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(deadline=3m,concurrency=allow)
        job b 1 10 * * * @win(after,0s)
        proc a fail=permanent
        proc b run=10s
        set max-running=1
        start
        10:01:50 stop wait",
        "10:00:00 prepare a 10:00
        10:00:00 ERROR error a 10:00 exec: no such command
        10:01:00 prepare a 10:01
        10:01:00 ERROR error a 10:01 exec: no such command
        10:01:00 prepare b 10:01
        10:01:00 release b 10:01
        10:01:10 exited b 10:01 0
        10:01:50 stopping wait 0
        10:01:50 stop",
    );
}

/// A process that dies at the gate: its start was on its way to be recorded, so the
/// period is executed, once, and the gate is never opened.
#[test]
fn death_at_the_gate() {
    for commit in ["0s", "2s"] {
        check(
            &format!(
                "09:59:30
                job a 0 10 * * * @win(after,0s) @policy(deadline=1h)
                proc a dies=gate code=1
                set commit={commit}
                start
                10:00:10 state a
                10:00:20 crash
                10:00:30 start
                10:01:00 end"
            ),
            &format!(
                "10:00:00 prepare a 10:00
                10:00:0{} exited a 10:00 1
                10:00:10 state a: last 10:00 executed=1, active 0, history executed 1",
                if commit == "0s" { 0 } else { 4 }
            ),
        );
    }
}

/// What found no room is not active: it is in nobody's way, and waits for a place of its
/// own.
#[test]
fn no_room_is_not_active() {
    check(
        "09:58:30
        job a * 10 * * * @win(after,0s) @policy(deadline=5m)
        job b 59 9 * * * @win(after,0s)
        proc b run=150s
        set max-running=1
        start
        09:59:50 stall 70s
        10:01:40 stop wait",
        "09:59:00 prepare b 09:59
        09:59:00 release b 09:59
        10:01:00 WARN stalled 1m
        10:01:30 prepare a 10:00
        10:01:30 exited b 09:59 0
        10:01:30 release a 10:00
        10:01:31 prepare a 10:01
        10:01:31 exited a 10:00 0
        10:01:31 release a 10:01
        10:01:32 exited a 10:01 0
        10:01:40 stopping wait 0
        10:01:40 stop",
    );
}

/// One batch at a time; what comes up meanwhile goes into the next one together;
/// nothing is released before its batch is durable.
#[test]
fn commits_are_batched() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s)
        job b 0 10 * * * @win(after,0s)
        job c 0 10 * * * @win(after,0s)
        set commit=2s
        show commits
        start
        10:00:10 end",
        "09:59:30 commit seen:a seen:b seen:c
        10:00:00 prepare a 10:00
        10:00:00 prepare b 10:00
        10:00:00 prepare c 10:00
        10:00:00 commit a[10:00 executed, active 1, history +0]
        10:00:02 release a 10:00
        10:00:02 commit b[10:00 executed, active 1, history +0] c[10:00 executed, active 1, history +0]
        10:00:04 release b 10:00
        10:00:04 release c 10:00
        10:00:04 commit a[10:00 executed=0, active 0, history +1]
        10:00:06 exited a 10:00 0
        10:00:06 commit b[10:00 executed=0, active 0, history +1] c[10:00 executed=0, active 0, history +1]
        10:00:08 exited b 10:00 0
        10:00:08 exited c 10:00 0",
    );
}

/// A herd costs a few commits, is late by nothing, and the queue stays small.
#[test]
fn a_herd() {
    let mut world = play("09:59:30");
    for n in 0..2000 {
        act(&mut world, &format!("job j{n} 0 10 * * * @win(after,0s)"));
    }
    act(&mut world, "set commit=500ms");
    act(&mut world, "start");
    act(&mut world, "09:59:59 end");
    assert_eq!(world.commits, 1, "all new jobs are one commit");
    act(&mut world, "10:01:00 end");
    assert_eq!(world.laws.released().len(), 2000);
    assert!(world.commits < 30, "{} commits", world.commits);
    assert!(world.engine().gauges().queued <= 2000 * 3 + 64);
    assert_eq!(world.idle_ticks, 0);
}

/// However often a configuration is edited, the queue grows with the jobs only.
#[test]
fn the_queue_is_bounded() {
    let mut world = play("09:59:30");
    for round in 0..300 {
        for n in 0..20 {
            act(&mut world, &format!("job j{n} {} 12 * * * @win(after,0s)", (round + n) % 60));
        }
        act(&mut world, if round == 0 { "start" } else { "reload" });
        act(&mut world, "+1s end");
        assert!(world.engine().gauges().queued <= 20 * 3 + 64);
    }
}

/// Those that wait for a place to be prepared in are judged already, not late.
#[test]
fn processes_under_preparation_are_limited() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s)
        job b 0 10 * * * @win(after,0s)
        job c 0 10 * * * @win(after,0s)
        proc a ready=800ms
        proc b fail=transient ready=500ms
        set preparing=1
        start
        10:00:20 end",
        "10:00:00 prepare a 10:00
        10:00:00.8 prepare b 10:00
        10:00:00.8 release a 10:00
        10:00:01.3 ERROR error b 10:00 exec: try again
        10:00:01.3 prepare c 10:00
        10:00:01.3 outcome b 10:00 missed: try again
        10:00:01.3 release c 10:00
        10:00:01.8 exited a 10:00 0
        10:00:02.3 exited c 10:00 0",
    );
}

/// Fault 29: many jobs on a mount that does not answer hold nobody else up.
#[test]
fn a_preparation_that_hangs_makes_way() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s)
        job b 0 10 * * * @win(after,0s)
        job c 0 10 * * * @win(after,0s)
        proc a ready=never
        proc b ready=never
        set preparing=1
        start
        10:01:00 end",
        "10:00:00 prepare a 10:00
        10:00:01 prepare b 10:00
        10:00:02 prepare c 10:00
        10:00:02 release c 10:00
        10:00:03 exited c 10:00 0
        10:00:30 abandon a 10:00
        10:00:30 ERROR error a 10:00 prepare: the process was not ready after 30 s
        10:00:30 outcome a 10:00 missed: the process was not ready after 30 s
        10:00:31 abandon b 10:00
        10:00:31 ERROR error b 10:00 prepare: the process was not ready after 30 s
        10:00:31 outcome b 10:00 missed: the process was not ready after 30 s",
    );
}
