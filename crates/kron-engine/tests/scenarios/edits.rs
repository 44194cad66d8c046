//! Another configuration, another state: what an edit does and does not do.

use crate::harness::World;
use crate::harness::script::{act, check, play};
use kron_core::Identity;

/// LIF-14, SCH-17: an edit decides what comes, and fires nothing by itself.
#[test]
fn an_edit_never_fires() {
    check(
        "09:59:30
        job a 0 9 * * * @win(after,0s) @policy(deadline=24h)
        start
        10:00:30 job a 0 10 * * * @win(after,0s) @policy(deadline=24h)
        10:00:30 reload
        10:00:40 crash
        10:00:50 start
        10:01:30 job a 2 10 * * * @win(after,0s) @policy(deadline=24h)
        10:01:30 reload
        10:02:30 end",
        "10:00:30 reloaded +0 ~1 -0
        10:01:30 reloaded +0 ~1 -0
        10:02:00 prepare a 10:02
        10:02:00 release a 10:02
        10:02:01 exited a 10:02 0",
    );
}

/// SCH-17 while the daemon was off: the edit is seen at the start, and fires nothing.
#[test]
fn an_edit_while_off() {
    check(
        "09:59:30
        job a 0 9 * * * @win(after,0s) @policy(deadline=24h)
        start
        10:00:30 crash
        10:00:30 job a 0 10 * * * @win(after,0s) @policy(deadline=24h)
        10:00:40 start
        10:00:50 crash
        10:00:55 start
        10:01:00 end",
        "",
    );
}

/// SCH-17: a period that ran stays closed under every definition that has it.
#[test]
fn closed_under_every_definition() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s) @policy(deadline=24h)
        start
        10:00:30 job a 0 10 * * * @win(after,2h) @only(between=10:30-10:30) @policy(deadline=24h)
        10:00:30 reload
        11:00:00 end",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:00:01 exited a 10:00 0
        10:00:30 reloaded +0 ~1 -0",
    );
}

/// SCH-17: a policy decides at once, and what was open stays open.
#[test]
fn policy_only_edits() {
    // A longer deadline, while it is blocked: it is tried again at once.
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s) @policy(deadline=30s)
        proc a fail=permanent
        start
        10:00:10 job a 0 10 * * * @win(after,0s) @policy(deadline=2m)
        10:00:10 reload
        10:01:00 proc a
        10:01:10 job a 0 10 * * * @win(after,0s) @policy(deadline=3m)
        10:01:10 reload
        10:01:20 end",
        "10:00:00 prepare a 10:00
        10:00:00 ERROR error a 10:00 exec: no such command
        10:00:10 prepare a 10:00
        10:00:10 reloaded +0 ~1 -0
        10:00:10 ERROR error a 10:00 exec: no such command
        10:01:10 prepare a 10:00
        10:01:10 reloaded +0 ~1 -0
        10:01:10 release a 10:00
        10:01:11 exited a 10:00 0",
    );
    // From `forbid` to `replace` while it runs (SCH-18).
    check(
        "09:59:30
        job a * * * * * @win(after,0s)
        proc a run=forever
        start
        10:01:30 job a * * * * * @win(after,0s) @policy(concurrency=replace)
        10:01:30 reload
        10:02:30 end",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:01:00 outcome a 10:01 skipped
        10:01:30 reloaded +0 ~1 -0
        10:02:00 replacing a 10:00
        10:02:00 term a 10:00
        10:02:00 prepare a 10:02
        10:02:00 exited a 10:00 143 replaced
        10:02:00 release a 10:02",
    );
}

/// What is being prepared by the old entry is prepared by the new one instead.
#[test]
fn another_command_while_preparing() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s) @policy(deadline=30s)
        proc a ready=20s
        start
        10:00:10 job a 0 10 * * * @win(after,0s) @policy(deadline=30s) command=/bin/false
        10:00:10 reload
        10:00:40 end",
        "10:00:00 prepare a 10:00
        10:00:10 abandon a 10:00
        10:00:10 prepare a 10:00
        10:00:10 reloaded +0 ~1 -0
        10:00:30 release a 10:00
        10:00:31 exited a 10:00 0",
    );
}

/// A reload that changes nothing disturbs nothing.
#[test]
fn the_same_again() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s)
        proc a ready=5s
        show commits
        start
        10:00:02 reload
        10:00:10 reload
        10:00:12 end",
        "09:59:30 commit seen:a
        10:00:00 prepare a 10:00
        10:00:02 reloaded +0 ~0 -0
        10:00:05 commit a[10:00 executed, active 1, history +0]
        10:00:05 release a 10:00
        10:00:06 commit a[10:00 executed=0, active 0, history +1]
        10:00:06 exited a 10:00 0
        10:00:10 reloaded +0 ~0 -0",
    );
}

/// LIF-15, SCH-18: removed while it runs, its result is recorded all the same.
#[test]
fn removed_while_active() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s)
        proc a run=90s code=5
        start
        10:00:10 drop a
        10:00:10 reload
        10:05:00 state a
        10:05:00 stop wait",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:00:10 WARN reloaded +0 ~0 -1
        10:01:30 exited a 10:00 5
        10:05:00 state a: last 10:00 executed=5, active 0, history executed 5
        10:05:00 stopping wait 0
        10:05:00 stop",
    );
}

/// LIF-15: back before its execution ended, `forbid` still sees that.
#[test]
fn removed_and_back() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(deadline=1h)
        proc a run=200s
        start
        10:00:10 drop a
        10:00:10 reload
        10:02:10 job a * * * * * @win(after,0s) @policy(deadline=1h)
        10:02:10 reload
        10:04:10 state a",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:00:10 WARN reloaded +0 ~0 -1
        10:02:10 reloaded +0 ~1 -0
        10:03:00 outcome a 10:03 skipped
        10:03:20 exited a 10:00 0
        10:04:00 prepare a 10:04
        10:04:00 release a 10:04
        10:04:10 state a: last 10:04 executed, active 1, history skipped ?; executed 0",
    );
}

/// Back after a while: nothing that passed in between runs, nor what ran before.
#[test]
fn removed_and_back_later() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(deadline=1h)
        start
        10:00:10 drop a
        10:00:10 reload
        10:05:30 job a * * * * * @win(after,0s) @policy(deadline=1h)
        10:05:30 reload
        10:06:10 crash
        10:06:20 drop a
        10:06:20 start
        10:09:00 crash
        10:09:10 job a * * * * * @win(after,0s) @policy(deadline=1h)
        10:09:10 start
        10:10:10 end",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:00:01 exited a 10:00 0
        10:00:10 WARN reloaded +0 ~0 -1
        10:05:30 reloaded +1 ~0 -0
        10:06:00 prepare a 10:06
        10:06:00 release a 10:06
        10:06:01 exited a 10:06 0
        10:10:00 prepare a 10:10
        10:10:00 release a 10:10
        10:10:01 exited a 10:10 0",
    );
}

/// Back while the clock is set back, which changes nothing about what may run: the roster
/// hears of it all the same, and no restart takes it for one that returns.
#[test]
fn removed_and_back_before_its_time() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(deadline=1h)
        start
        10:00:10 clock -1h
        09:00:20 drop a
        09:00:20 reload
        09:00:30 job a * * * * * @win(after,0s) @policy(deadline=1h)
        09:00:30 reload
        09:00:40 crash
        10:05:30 start
        10:05:50 end",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:00:01 exited a 10:00 0
        09:00:10 WARN clock backward 1h
        09:00:10 WARN idle a until 10:00:00
        09:00:20 WARN reloaded +0 ~0 -1
        09:00:30 WARN idle a until 10:00:00
        09:00:30 reloaded +1 ~0 -0
        10:05:30 prepare a 10:05
        10:05:30 superseded a 4
        10:05:30 release a 10:05
        10:05:31 exited a 10:05 0",
    );
}

/// LIF-18: another name is another job, without a past.
#[test]
fn renamed() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s) @policy(deadline=1h)
        start
        10:00:10 drop a
        10:00:10 job b 0 10 * * * @win(after,0s) @policy(deadline=1h)
        10:00:10 reload
        10:00:20 crash
        10:00:30 start
        12:00:00 state b",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:00:01 exited a 10:00 0
        10:00:10 reloaded +1 ~0 -1
        12:00:00 state b: none",
    );
}

/// STATE, State Corruption Handling: nothing that may have run runs again, and it
/// is an ERROR once.
#[test]
fn quarantined_and_vanished() {
    for (word, line) in [
        ("quarantine", "ERROR quarantined a"),
        ("vanish", "ERROR error a read state: the state file is gone; nothing due before now runs"),
    ] {
        check(
            &format!(
                "09:58:30
                job a 0 10 * * * @win(after,0s) @policy(deadline=1h)
                job b 59 9 * * * @win(after,0s) @policy(deadline=1h)
                start
                10:00:10 crash
                10:00:10 {word} a
                10:00:20 start
                10:00:30 crash
                10:00:40 start
                10:02:00 end"
            ),
            &format!(
                "09:59:00 prepare b 09:59
                09:59:00 release b 09:59
                09:59:01 exited b 09:59 0
                10:00:00 prepare a 10:00
                10:00:00 release a 10:00
                10:00:01 exited a 10:00 0
                10:00:20 {line}"
            ),
        );
    }
}

/// A file is lost while the clock stands before what ran: what others tell of bounds what
/// the lost one may have told. Found by torture, seed 61611.
#[test]
fn lost_while_the_clock_was_set_back() {
    for (word, line) in [
        ("quarantine", "ERROR quarantined a"),
        ("vanish", "ERROR error a read state: the state file is gone; nothing due before now runs"),
    ] {
        check(
            &format!(
                "09:59:30
                job a 0 10 * * * @win(after,0s) @policy(deadline=1h)
                job b 5 10 * * * @win(after,0s) @policy(deadline=1h)
                start
                10:05:10 crash
                10:05:10 {word} a
                10:05:10 clock 09:50:00
                09:50:00 start
                10:10:00 end"
            ),
            &format!(
                "10:00:00 prepare a 10:00
                10:00:00 release a 10:00
                10:00:01 exited a 10:00 0
                10:05:00 prepare b 10:05
                10:05:00 release b 10:05
                10:05:01 exited b 10:05 0
                09:50:00 {line}
                09:50:00 WARN idle a until 10:05:00
                09:50:00 WARN idle b until 10:05:00"
            ),
        );
    }
}

/// SCH-10: what was quarantined has an ordinary life from then on.
#[test]
fn quarantined_and_down_again() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(deadline=1h)
        start
        10:00:10 crash
        10:00:10 quarantine a
        10:00:20 start
        10:00:30 crash
        10:01:30 start
        10:01:40 end",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:00:01 exited a 10:00 0
        10:00:20 ERROR quarantined a
        10:01:30 prepare a 10:01
        10:01:30 release a 10:01
        10:01:31 exited a 10:01 0",
    );
}

/// Removed and back while its last record is still on its way: what the store
/// finds is old by then, what the engine knows is not.
#[test]
fn back_before_the_record_is_durable() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s)
        set commit=5s
        start
        09:59:40 crash
        10:10:30 start
        10:10:31 drop a
        10:10:31 reload
        10:10:32 job a * * * * * @win(after,0s)
        10:10:32 reload
        10:10:50 state a",
        "10:10:35 superseded a 10
        10:10:35 outcome a 10:10 missed
        10:10:40 WARN reloaded +0 ~0 -1
        10:10:40 reloaded +0 ~1 -0
        10:10:50 state a: last 10:10 missed, active 0, history missed ?",
    );
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s)
        set commit=5s
        start
        10:00:07 drop a
        10:00:07 reload
        10:00:08 job a 0 10 * * * @win(after,0s)
        10:00:08 reload
        10:00:30 state a",
        "10:00:00 prepare a 10:00
        10:00:05 release a 10:00
        10:00:11 exited a 10:00 0
        10:00:16 WARN reloaded +0 ~0 -1
        10:00:16 reloaded +0 ~1 -0
        10:00:30 state a: last 10:00 executed=0, active 0, history executed 0",
    );
}

/// SCH-17: a period that waits for the end of others is judged anew if nothing is to be replaced
/// any more: it is not what ends the next.
#[test]
fn a_replacement_that_is_edited_away() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(concurrency=replace,deadline=30s)
        proc a run=forever ignores=term
        set grace=40s
        start
        10:01:05 job a * * * * * @win(after,0s) @policy(concurrency=allow,deadline=30s)
        10:01:05 proc a run=10s
        10:01:05 reload
        10:02:30 end",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:01:00 replacing a 10:00
        10:01:00 term a 10:00
        10:01:05 prepare a 10:01
        10:01:05 reloaded +0 ~1 -0
        10:01:05 release a 10:01
        10:01:15 exited a 10:01 0
        10:01:40 WARN killing a 10:00
        10:01:40 kill a 10:00
        10:01:40 exited a 10:00 137 replaced
        10:02:00 prepare a 10:02
        10:02:00 release a 10:02
        10:02:10 exited a 10:02 0",
    );
}

/// STA-31: a job that was reset while it was gone is one that returns when it is back.
#[test]
fn reset_while_it_is_gone() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s) @policy(deadline=1h)
        proc a run=5m
        start
        10:00:10 drop a
        10:00:10 reload
        10:00:20 reset a
        10:00:30 crash
        10:03:30 job a * * * * * @win(after,0s) @policy(deadline=1h)
        10:03:30 start
        10:03:50 end",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:00:10 WARN reloaded +0 ~0 -1
        10:00:20 reset done
        10:00:20 WARN reset a
        10:03:30 adopt a 10:00",
    );
}

/// STA-20: what may have run before its state was lost does not run again by another definition.
#[test]
fn lost_and_edited() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s)
        start
        10:00:30 crash
        10:00:30 quarantine a
        10:00:40 start
        10:00:50 job a 0 10 * * * @win(after,1h) @only(between=10:30-10:30)
        10:00:50 reload
        11:00:00 end",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:00:01 exited a 10:00 0
        10:00:40 ERROR quarantined a
        10:00:50 reloaded +0 ~1 -0",
    );
}

/// An edit never fires a job: not even for what waits to replace another, which the new
/// schedule may not have.
#[test]
fn an_edit_while_several_wait_to_replace_fires_nothing() {
    check(
        "09:59:30
        job a 0-2 10 * * * @win(after,0s) @policy(concurrency=replace,deadline=1h)
        proc a run=forever ignores=term
        set grace=90s
        start
        10:02:10 proc a
        10:02:10 job a 30 3 * * * @win(after,80s) @dist(skewLate,shape=1000) @policy(concurrency=replace,deadline=1h)
        10:02:10 reload
        10:10:00 end",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:01:00 replacing a 10:00
        10:01:00 term a 10:00
        10:02:10 superseded a 2
        10:02:10 reloaded +0 ~1 -0
        10:02:30 WARN killing a 10:00
        10:02:30 kill a 10:00
        10:02:30 exited a 10:00 137 replaced",
    );
}

/// What waits to be tried again and is barred by an edit, or whose job is removed, is told.
#[test]
fn what_waited_is_not_dropped_silently() {
    for (edit, count) in [
        ("job a * * * * * @win(after,0s) @policy(deadline=1h) @seed(stable,salt=x)", "~1 -0"),
        ("drop a", "~0 -1"),
    ] {
        check(
            &format!(
                "09:59:30
                job a 0 10 * * * @win(after,0s) @policy(deadline=1h)
                job b 0 12 * * * @win(after,0s)
                proc a fail=permanent
                start
                10:00:10 {edit}
                10:00:10 reload
                10:00:20 end"
            ),
            &format!(
                "10:00:00 prepare a 10:00
                10:00:00 ERROR error a 10:00 exec: no such command
                10:00:10 superseded a 1
                10:00:10 reloaded +0 {count}"
            ),
        );
    }
}

/// A job that comes back after it and its state file were removed: what may have run does
/// not run again by another definition either, and it has a file again.
#[test]
fn removed_with_its_file_and_edited() {
    check(
        "09:59:30
        job a 0,40 10 * * * @win(after,0s) @policy(deadline=1h)
        job b 0 12 * * * @win(after,0s)
        start
        10:00:10 drop a
        10:00:10 reload
        10:00:20 crash
        10:00:20 vanish a
        10:00:25 job a 0,40 10 * * * @win(after,0s) @policy(deadline=1h)
        10:00:30 start
        10:00:40 job a 0,40 10 * * * @win(after,1h) @policy(deadline=1h)
        10:00:40 reload
        10:00:50 crash
        10:00:55 start
        10:39:00 end",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:00:01 exited a 10:00 0
        10:00:10 reloaded +0 ~0 -1
        10:00:40 reloaded +0 ~1 -0",
    );
}

/// DECISIONS 4: what ran before a state file was lost does not run again, whatever the
/// definition was, is, or will be.
#[test]
fn lost_between_edits() {
    // What ran by an earlier definition is no period of the one in between.
    check(
        "09:59:30
        job a * * * * * @win(after,0s)
        start
        10:00:10 job a 8,33 * * * * @win(after,9s)
        10:00:10 reload
        10:00:20 crash
        10:00:20 quarantine a
        10:00:30 start
        10:00:40 job a 0 * * * * @win(after,50m) @policy(deadline=1h)
        10:00:40 reload
        10:07:00 end",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        10:00:01 exited a 10:00 0
        10:00:10 reloaded +0 ~1 -0
        10:00:30 ERROR quarantined a
        10:00:40 reloaded +0 ~1 -0",
    );
    let world = play(
        "09:59:30
        job a 0 10 * * * @win(after,0s)
        start
        10:00:10 job a 0 10 * * * @win(after,6h)
        10:00:10 reload
        10:00:20 crash
        10:00:20 quarantine a
        10:00:30 start
        16:10:00 end",
    );
    let starts = world.log.iter().filter(|line| line.contains("release a 10:00")).count();
    assert_eq!(starts, 1, "by a wider window that was in force already: {:?}", world.log);
}

/// DECISIONS 4: nor does what ran ahead of its nominal time, by a definition from before.
#[test]
fn lost_after_it_ran_ahead() {
    const EARLY: &str = "job a 0 10 * * * @win(around,1h) @only(between=09:40-09:40)";
    const LATE: &str = "job a 0 10 * * * @win(after,1h) @policy(deadline=1h)";
    for (name, script) in [
        (
            "edited before it was lost",
            format!("{LATE}\n09:45 reload\n09:46 crash\n09:46 quarantine a\n09:50 start"),
        ),
        (
            "edited while the daemon was away",
            format!("09:46 crash\n09:46 vanish a\n{LATE}\n09:50 start"),
        ),
        (
            "edited once more since",
            format!(
                "{LATE}\n09:45 reload\n09:46 crash\n09:46 quarantine a\n09:50 start\n\
                 job a 0 10 * * * @win(after,2h)\n09:51 reload\n09:52 crash\n\
                 09:52 quarantine a\n09:53 start\n{LATE}\n09:54 reload"
            ),
        ),
        (
            "edited, reset and lost",
            format!(
                "{LATE}\n09:45 reload\n09:46 reset a\n09:47 crash\n09:47 vanish a\n09:50 start"
            ),
        ),
    ] {
        let script = script.replace("09:45 reload", "09:45:00 reload");
        let times: Vec<String> = script
            .lines()
            .map(|line| match line.split_once(' ') {
                Some((time, rest)) if time.len() == 5 => format!("{time}:00 {rest}"),
                _ => line.to_string(),
            })
            .collect();
        let world = play(&format!(
            "09:29:00\n{EARLY}\nstart\n09:44:00 end\n{}\n12:10:00 end",
            times.join("\n")
        ));
        let starts = world.log.iter().filter(|line| line.contains("release a 10:00")).count();
        assert_eq!(starts, 1, "{name}: {:#?}", world.log);
        assert!(world.log.iter().any(|line| line.contains("09:40:")), "{name}: {:#?}", world.log);
    }
}

/// A job that was removed does not run ahead any more: when it comes back long after, without
/// its file, by another definition, it is barred only up to where it may have been then.
#[test]
fn removed_long_ago_with_its_file() {
    let early = "job a 0 10 * * * @win(around,4h) @only(between=08:10-08:10)";
    for (name, removal) in [
        ("while the daemon runs", "08:20:00 drop a\n08:20:00 reload\n08:30:00 crash"),
        ("while it is away", "08:20:00 crash\n08:21:00 drop a\n08:25:00 start\n08:30:00 crash"),
    ] {
        let world = play(&format!(
            "07:30:00
            {early}
            job b 0 12 * * * @win(after,0s)
            start
            {removal}
            08:30:00 vanish a
            10:35:00 job a */30 * * * * @win(after,0s)
            10:35:00 start
            11:40:00 end"
        ));
        let released: Vec<&str> = world
            .log
            .iter()
            .filter(|line| line.contains("release a"))
            .map(|line| &line[..5])
            .collect();
        assert_eq!(released, ["08:10", "11:00", "11:30"], "{name}: {:#?}", world.log);
    }
}

/// Whoever asks for all jobs while they change gets each that stays, once.
#[test]
fn jobs_are_listed_across_a_reload() {
    let mut world = play(
        "09:59:30
        job a 0 10 * * * @win(after,0s)
        job b 0 10 * * * @win(after,0s)
        job d 0 10 * * * @win(after,0s)
        job f 0 12 * * * @win(after,0s)
        proc b run=forever
        start
        10:00:10 end",
    );
    let next = |world: &mut World, sent: Option<&Identity>| {
        let key = world.engine().key_after(sent)?;
        Some(world.engine().entry(key)?.job.identity().clone())
    };
    let mut listed = Vec::new();
    let mut sent = None;
    while let Some(identity) = next(&mut world, sent.as_ref()) {
        listed.push(identity.as_str().rsplit(':').next().unwrap().to_string());
        sent = Some(identity);
        assert!(listed.len() < 9, "without an end: {listed:?}");
        if listed.len() == 2 {
            // What was sent goes, what comes is put before and behind it; `b` still runs.
            for line in ["drop a", "drop b", "job c 0 12 * * * @win(after,0s)", "+1s reload"] {
                act(&mut world, line);
            }
            act(&mut world, "+1s end");
        }
    }
    assert_eq!(listed, ["a", "b", "c", "d", "f"]);
    let all: Vec<_> =
        std::iter::successors(next(&mut world, None), |sent| next(&mut world, Some(sent)))
            .collect();
    assert_eq!(all.len(), 4, "with what runs and is not configured any more: {all:?}");
}
