//! How runs end: replaced, timed out, with the daemon.

use crate::harness::script::{check, play};

/// EXE-17, EXE-18, EXE-20, EXE-21, STA-24: TERM, and the new one when the old is gone.
#[test]
fn replace_ends_the_old_one_first() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(concurrency=replace)
        proc a run=forever
        start
        10:01:30 state a",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:01:00 replacing a 10:00
        10:01:00 term a 10:00
        10:01:00 prepare a 10:01
        10:01:00 exited a 10:00 143 replaced
        10:01:00 release a 10:01
        10:01:30 state a: last 10:01 executed, active 1, history executed 143:replaced",
    );
}

/// EXE-18, EXE-19: KILL after the grace, not earlier; others do not wait for it.
#[test]
fn replace_kills_after_the_grace() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(concurrency=replace)
        job b 1 10 * * * @win(after,0s)
        proc a run=forever ignores=term
        set grace=7s
        start
        10:01:30 end",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:01:00 replacing a 10:00
        10:01:00 term a 10:00
        10:01:00 prepare b 10:01
        10:01:00 release b 10:01
        10:01:01 exited b 10:01 0
        10:01:07 WARN killing a 10:00
        10:01:07 kill a 10:00
        10:01:07 prepare a 10:01
        10:01:07 exited a 10:00 137 replaced
        10:01:07 release a 10:01",
    );
}

/// EXE-20: the group counts, not its leader alone.
#[test]
fn replace_waits_for_the_group() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(concurrency=replace)
        proc a run=forever rest=4s
        start
        10:01:30 stop detach",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:01:00 replacing a 10:00
        10:01:00 term a 10:00
        10:01:04 prepare a 10:01
        10:01:04 exited a 10:00 143 replaced
        10:01:04 release a 10:01
        10:01:30 stopping detach 1
        10:01:30 stop",
    );
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(concurrency=replace)
        proc a run=forever rest=forever
        start
        10:01:30 stop detach",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:01:00 replacing a 10:00
        10:01:00 term a 10:00
        10:01:10 WARN killing a 10:00
        10:01:10 kill a 10:00
        10:01:10 prepare a 10:01
        10:01:10 exited a 10:00 143 replaced
        10:01:10 release a 10:01
        10:01:30 stopping detach 1
        10:01:30 stop",
    );
}

/// ERR-27: what cannot be ended is not replaced; ERROR, retries, then missed.
#[test]
fn replace_of_the_unkillable() {
    check(
        "09:59:30
        job a 0,1 10 * * * @win(after,0s) @policy(concurrency=replace,deadline=30s)
        proc a run=forever ignores=kill
        start
        10:02:00 state a",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:01:00 replacing a 10:00
        10:01:00 term a 10:00
        10:01:10 WARN killing a 10:00
        10:01:10 kill a 10:00
        10:01:15 ERROR error a 10:00 end the process group: the process group does not end, not even by SIGKILL
        10:01:20 WARN killing a 10:00
        10:01:20 kill a 10:00
        10:01:25 ERROR error a 10:00 end the process group: the process group does not end, not even by SIGKILL
        10:01:30 WARN killing a 10:00
        10:01:30 kill a 10:00
        10:01:35 ERROR error a 10:00 end the process group: the process group does not end, not even by SIGKILL
        10:01:35 outcome a 10:01 missed: process 100 of period 2026-03-02T10:00:00Z does not end
        10:02:00 state a: last 10:01 missed, active 1, history missed ?",
    );
}

/// EXE-20: what a leader leaves behind is waited for only while there is somebody who would
/// end it. An edit or a removal may take him away, and the run would be active for ever.
#[test]
fn an_edit_may_take_away_who_ends_the_group() {
    for (edit, changes) in [
        ("job a 0 10 * * * @win(after,0s) @policy(concurrency=forbid)", "reloaded +0 ~1 -0"),
        ("drop a", "reloaded +0 ~0 -1"),
    ] {
        check(
            &format!(
                "09:59:30
                job a 0 10 * * * @win(after,0s) @policy(concurrency=replace)
                job b 0 12 * * * @win(after,0s)
                proc a run=1s rest=1h
                start
                10:00:10 {edit}
                10:00:10 reload
                10:00:20 end"
            ),
            &format!(
                "10:00:00 prepare a 10:00
                10:00:00 release a 10:00
                10:00:10 exited a 10:00 0
                10:00:10 {changes}"
            ),
        );
    }
}

/// EXE-22: a run has the timeout that it began with, whatever becomes of its entry.
#[test]
fn an_edit_leaves_the_timeout_of_what_runs() {
    for edit in ["job a 0 10 * * * @win(after,0s)", "drop a"] {
        let world = play(&format!(
            "09:59:30
            job a 0 10 * * * @win(after,0s) timeout=1m
            job b 0 12 * * * @win(after,0s)
            proc a run=30s rest=1h
            start
            10:00:10 {edit}
            10:00:10 reload
            10:02:00 end"
        ));
        let told: Vec<&String> =
            world.log.iter().filter(|line| line.contains(" a 10:00")).collect();
        assert!(told.iter().any(|line| line.starts_with("10:01:00 WARN timeout")), "{told:#?}");
        assert!(told.last().unwrap().contains("exited a 10:00 0"), "{told:#?}");
    }
}

/// ERR-27 as above, but only the rest of the group does not end.
#[test]
fn replace_of_an_unkillable_rest() {
    check(
        "09:59:30
        job a 0,1 10 * * * @win(after,0s) @policy(concurrency=replace,deadline=30s)
        proc a run=75s ignores=kill rest=forever
        start
        10:02:00 state a",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:01:00 replacing a 10:00
        10:01:00 term a 10:00
        10:01:10 WARN killing a 10:00
        10:01:10 kill a 10:00
        10:01:15 ERROR error a 10:00 end the process group: the process group does not end, not even by SIGKILL
        10:01:20 WARN killing a 10:00
        10:01:20 kill a 10:00
        10:01:25 ERROR error a 10:00 end the process group: the process group does not end, not even by SIGKILL
        10:01:30 WARN killing a 10:00
        10:01:30 kill a 10:00
        10:01:35 ERROR error a 10:00 end the process group: the process group does not end, not even by SIGKILL
        10:01:35 outcome a 10:01 missed: process 100 of period 2026-03-02T10:00:00Z does not end
        10:02:00 state a: last 10:01 missed, active 1, history missed ?",
    );
}

/// A job that is replaced while it is still being prepared runs first; then it is
/// ended: what is recorded as executed was.
#[test]
fn replace_of_what_is_being_prepared() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(concurrency=replace)
        proc a run=forever ready=5s
        set commit=50s
        start
        10:02:05 stop detach
        10:03:00 end",
        "10:00:00 prepare a 10:00
        10:01:10 release a 10:00
        10:01:10 replacing a 10:00
        10:01:10 term a 10:00
        10:01:10 prepare a 10:01
        10:02:00 exited a 10:00 143 replaced
        10:02:05 stopping detach 1
        10:02:50 release a 10:01
        10:02:50 stop",
    );
}

/// EXE-22, EXE-23, EXE-24: each execution has its own timeout.
#[test]
fn timeouts() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(concurrency=allow) timeout=90s
        proc a run=forever ignores=term
        start
        10:00:30 proc a run=forever
        10:01:30 proc a run=20s
        10:02:35 state a
        10:02:40 stop wait",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:01:00 prepare a 10:01
        10:01:00 release a 10:01
        10:01:30 WARN timeout a 10:00
        10:01:30 term a 10:00
        10:01:40 WARN killing a 10:00
        10:01:40 kill a 10:00
        10:01:40 exited a 10:00 137 timeout
        10:02:00 prepare a 10:02
        10:02:00 release a 10:02
        10:02:20 exited a 10:02 0
        10:02:30 WARN timeout a 10:01
        10:02:30 term a 10:01
        10:02:30 exited a 10:01 143 timeout
        10:02:35 state a: last 10:02 executed=0, active 0, history executed 137:timeout; executed 0; executed 143:timeout
        10:02:40 stopping wait 0
        10:02:40 stop",
    );
}

/// EXE-22: over a restart the timeout goes on, not anew.
#[test]
fn a_timeout_survives_a_restart() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s) timeout=90s
        proc a run=forever
        start
        10:00:30 crash
        10:00:40 start
        10:02:00 crash
        10:02:00 state a",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:00:40 adopt a 10:00
        10:01:30 WARN timeout a 10:00
        10:01:30 term a 10:00
        10:01:30 exited a 10:00 ? timeout
        10:02:00 state a: last 10:00 executed, active 0, history executed ?:timeout",
    );
}

/// EXE-22: and whatever was done to the clock meanwhile.
#[test]
fn a_timeout_survives_a_restart_and_another_time() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s) timeout=90s
        proc a run=forever
        start
        10:00:30 crash
        10:00:30 clock +1h
        11:00:40 start
        11:02:00 crash
        11:02:00 state a",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        11:00:40 adopt a 10:00
        11:01:30 WARN timeout a 10:00
        11:01:30 term a 10:00
        11:01:30 exited a 10:00 ? timeout
        11:02:00 state a: last 10:00 executed, active 0, history executed ?:timeout",
    );
}

/// FAULTS 24: what went to the background is part of a run that has a timeout, or is replaced;
/// of others it is not.
#[test]
fn what_is_left_behind() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s) timeout=20s
        job b * * * * * @win(after,0s) @policy(concurrency=replace)
        job c * * * * * @win(after,0s)
        job d 0 10 * * * @win(after,0s) timeout=20s
        proc a run=1s rest=forever code=3
        proc b run=1s rest=forever
        proc c run=1s rest=forever
        proc d run=1s
        start
        10:01:30 stop wait
        10:02:00 state a
        10:02:00 state b",
        "10:00:00 prepare a 10:00
        10:00:00 prepare b 10:00
        10:00:00 prepare c 10:00
        10:00:00 prepare d 10:00
        10:00:00 release a 10:00
        10:00:00 release b 10:00
        10:00:00 release c 10:00
        10:00:00 release d 10:00
        10:00:01 exited c 10:00 0
        10:00:01 exited d 10:00 0
        10:00:20 WARN timeout a 10:00
        10:00:20 term a 10:00
        10:00:30 WARN killing a 10:00
        10:00:30 kill a 10:00
        10:00:30 exited a 10:00 3 timeout
        10:01:00 replacing b 10:00
        10:01:00 term b 10:00
        10:01:00 prepare c 10:01
        10:01:00 release c 10:01
        10:01:01 exited c 10:01 0
        10:01:10 WARN killing b 10:00
        10:01:10 kill b 10:00
        10:01:10 prepare b 10:01
        10:01:10 exited b 10:00 0 replaced
        10:01:10 release b 10:01
        10:01:30 stopping wait 0
        10:01:30 exited b 10:01 0
        10:01:30 stop
        10:02:00 state a: last 10:00 executed=3, active 0, history executed 3:timeout
        10:02:00 state b: last 10:01 executed=0, active 0, history executed 0:replaced; executed 0",
    );
}

/// LIF-11, LIF-12, LIF-13: waits for what runs, triggers nothing, records, ends.
#[test]
fn shutdown_waits() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s)
        job b 1 10 * * * @win(after,0s) @policy(deadline=1h)
        proc a run=100s code=4
        show commits
        start
        10:00:30 stop wait
        10:02:00 state a
        10:05:00 start
        10:05:10 end",
        "09:59:30 commit seen:a seen:b
        10:00:00 prepare a 10:00
        10:00:00 commit a[10:00 executed, active 1, history +0]
        10:00:00 release a 10:00
        10:00:30 stopping wait 1
        10:01:40 commit a[10:00 executed=4, active 0, history +1]
        10:01:40 exited a 10:00 4
        10:01:40 stop
        10:02:00 state a: last 10:00 executed=4, active 0, history executed 4
        10:05:00 prepare b 10:01
        10:05:00 commit b[10:01 executed, active 1, history +0]
        10:05:00 release b 10:01
        10:05:01 commit b[10:01 executed=0, active 0, history +1]
        10:05:01 exited b 10:01 0",
    );
}

/// LIF-12: if told to, it ends them, by force if need be.
#[test]
fn shutdown_terminates() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s)
        job b 0 10 * * * @win(after,0s)
        proc a run=100s
        proc b run=100s ignores=term
        start
        10:00:30 stop terminate
        10:02:00 state b",
        "10:00:00 prepare a 10:00
        10:00:00 prepare b 10:00
        10:00:00 release a 10:00
        10:00:00 release b 10:00
        10:00:30 stopping terminate 2
        10:00:30 terminating a 10:00
        10:00:30 term a 10:00
        10:00:30 terminating b 10:00
        10:00:30 term b 10:00
        10:00:30 exited a 10:00 143 shutdown
        10:00:40 WARN killing b 10:00
        10:00:40 kill b 10:00
        10:00:40 exited b 10:00 137 shutdown
        10:00:40 stop
        10:02:00 state b: last 10:00 executed=137, active 0, history executed 137:shutdown",
    );
}

/// LIF-12: or leaves them, and finds them again.
#[test]
fn shutdown_detaches() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s)
        proc a run=100s
        start
        10:00:30 stop detach
        10:00:40 start
        10:02:00 state a",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:00:30 stopping detach 1
        10:00:30 stop
        10:00:40 adopt a 10:00
        10:01:40 exited a 10:00 ?
        10:02:00 state a: last 10:00 executed, active 0, history executed ?",
    );
}

/// LIF-12, LIF-13: not longer than the limit; a second stop may be firmer, not softer.
#[test]
fn shutdown_limit_and_second_stop() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s)
        proc a run=forever
        set shutdown-limit=20s
        start
        10:00:30 stop wait
        10:02:00 end",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:00:30 stopping wait 1
        10:00:50 WARN stopping detach 1
        10:00:50 stop",
    );
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s)
        proc a run=forever ignores=term
        start
        10:00:30 stop wait
        10:00:35 stop wait
        10:00:40 stop terminate
        10:00:45 stop wait
        10:02:00 end",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:00:30 stopping wait 1
        10:00:40 stopping terminate 1
        10:00:40 terminating a 10:00
        10:00:40 term a 10:00
        10:00:50 WARN killing a 10:00
        10:00:50 kill a 10:00
        10:00:50 exited a 10:00 137 shutdown
        10:00:50 stop",
    );
}

/// LIF-11, LIF-13: what is being prepared is not started; what is being recorded is.
#[test]
fn shutdown_in_the_middle_of_a_start() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s) @policy(deadline=1h)
        job b 0 10 * * * @win(after,0s)
        proc a ready=10s
        proc b run=5s
        set commit=10s
        start
        10:00:05 stop wait
        10:01:00 start
        10:01:30 stop wait
        10:02:00 end",
        "10:00:00 prepare a 10:00
        10:00:00 prepare b 10:00
        10:00:05 abandon a 10:00
        10:00:05 stopping wait 1
        10:00:10 release b 10:00
        10:00:25 exited b 10:00 0
        10:00:25 stop
        10:01:00 prepare a 10:00
        10:01:20 release a 10:00
        10:01:30 stopping wait 0
        10:01:31 exited a 10:00 0
        10:01:31 stop",
    );
    check(
        "09:59:30
        job b 0 10 * * * @win(after,0s)
        proc b run=forever
        set commit=10s
        start
        10:00:05 stop terminate
        10:02:00 end",
        "10:00:00 prepare b 10:00
        10:00:05 stopping terminate 1
        10:00:10 release b 10:00
        10:00:10 terminating b 10:00
        10:00:10 term b 10:00
        10:00:20 exited b 10:00 143 shutdown
        10:00:20 stop",
    );
    check(
        "09:59:30
        job b 0 10 * * * @win(after,0s)
        proc b run=forever
        set commit=10s
        start
        10:00:05 stop detach
        10:02:00 end",
        "10:00:00 prepare b 10:00
        10:00:05 stopping detach 1
        10:00:10 release b 10:00
        10:00:10 stop",
    );
}

/// LIF-11: a period that waits to replace another is not started by a daemon that ends.
#[test]
fn shutdown_while_replacing() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(concurrency=replace,deadline=1h)
        proc a run=forever ignores=term
        start
        10:01:05 stop wait
        10:01:20 end",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:01:00 replacing a 10:00
        10:01:00 term a 10:00
        10:01:05 stopping wait 1
        10:01:10 WARN killing a 10:00
        10:01:10 kill a 10:00
        10:01:10 exited a 10:00 137 replaced
        10:01:10 stop",
    );
}

/// Several periods wait for the same execution to end. All but the last are in the way of
/// those behind them, and start only if they are in time still; one after the other has
/// its outcome.
#[test]
fn several_wait_to_replace() {
    check(
        "09:59:30
        job a 0-2 10 * * * @win(after,0s) @policy(concurrency=replace)
        proc a run=forever ignores=term
        set grace=150s
        start
        10:02:30 proc a fail=permanent
        10:05:00 state a",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:01:00 replacing a 10:00
        10:01:00 term a 10:00
        10:03:30 WARN killing a 10:00
        10:03:30 kill a 10:00
        10:03:30 prepare a 10:02
        10:03:30 ERROR error a 10:02 exec: no such command
        10:03:30 exited a 10:00 137 replaced
        10:03:30 outcome a 10:01 missed: what it was to replace had not ended
        10:03:30 outcome a 10:02 missed: no such command
        10:05:00 state a: last 10:02 missed, active 0, history executed 137:replaced; missed ?; missed ?",
    );
    check(
        "09:59:30
        job a 0-2 10 * * * @win(after,0s) @policy(concurrency=replace,deadline=1h)
        proc a run=forever ignores=term
        set grace=150s
        start
        10:02:30 proc a ready=10s run=5s
        10:05:00 state a",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:01:00 replacing a 10:00
        10:01:00 term a 10:00
        10:03:30 WARN killing a 10:00
        10:03:30 kill a 10:00
        10:03:30 prepare a 10:01
        10:03:30 exited a 10:00 137 replaced
        10:03:40 release a 10:01
        10:03:40 replacing a 10:01
        10:03:40 term a 10:01
        10:03:40 prepare a 10:02
        10:03:40 exited a 10:01 143 replaced
        10:03:50 release a 10:02
        10:03:55 exited a 10:02 0
        10:05:00 state a: last 10:02 executed=0, active 0, history executed 137:replaced; executed 143:replaced; executed 0",
    );
}

/// An edit while one is prepared and another waits to replace it.
#[test]
fn an_edit_while_several_wait_to_replace() {
    check(
        "09:59:30
        job a 0-2 10 * * * @win(after,0s) @policy(concurrency=replace,deadline=10m)
        proc a ready=20s run=forever
        start
        10:00:10 proc a ready=5m
        10:01:20 job a 0-2 10 * * * @win(after,0s) @policy(concurrency=replace,deadline=9m)
        10:02:00.2 proc a
        10:02:00.2 reload
        10:05:00 state a",
        "10:00:00 prepare a 10:00
        10:00:20 release a 10:00
        10:01:00 replacing a 10:00
        10:01:00 term a 10:00
        10:01:00 prepare a 10:01
        10:01:00 exited a 10:00 143 replaced
        10:01:30 abandon a 10:01
        10:01:30 ERROR error a 10:01 prepare: the process was not ready after 30 s
        10:01:30.1 prepare a 10:01
        10:02:00.1 abandon a 10:01
        10:02:00.1 ERROR error a 10:01 prepare: the process was not ready after 30 s
        10:02:00.1 prepare a 10:02
        10:02:00.2 abandon a 10:02
        10:02:00.2 prepare a 10:01
        10:02:00.2 reloaded +0 ~1 -0
        10:02:00.2 release a 10:01
        10:02:00.2 replacing a 10:01
        10:02:00.2 term a 10:01
        10:02:00.2 prepare a 10:02
        10:02:00.2 exited a 10:01 143 replaced
        10:02:00.2 release a 10:02
        10:02:01.2 exited a 10:02 0
        10:05:00 state a: last 10:02 executed=0, active 0, history executed 143:replaced; executed 143:replaced; executed 0",
    );
}

/// ERR-13: what `replace` ends did not fail; what had failed by itself did, also if it
/// left something behind that is ended then.
#[test]
fn what_was_replaced_did_not_fail() {
    for (behaviour, failed, replaced) in
        [("run=forever", 0, 1), ("run=1s code=3 rest=forever", 1, 0)]
    {
        let mut world = play(&format!(
            "09:59:30
            job a 0,1 10 * * * @win(after,0s) @policy(concurrency=replace)
            proc a {behaviour}
            start
            10:00:30 proc a
            10:02:00 end"
        ));
        let tally = world.engine().tally();
        assert_eq!((tally.failed, tally.replaced), (failed, replaced), "{:?}", world.log);
    }
}
