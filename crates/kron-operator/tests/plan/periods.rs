//! Kron's own: windows, catching up, edits, suspension.

use crate::script::{check, play, tidy};

/// Windows overlap, chosen times cross: each period has its own fate.
#[test]
fn windows_overlap() {
    check(
        "09:58:00
        job */2 * * * * @win(after,6m) @policy(concurrency=allow)
        start
        10:06:00 end",
        "09:59:44 create 09:56
        09:59:44 executed 09:56
        10:03:19 create 09:58
        10:03:19 executed 09:58
        10:03:31 create 10:00
        10:03:31 executed 10:00
        10:04:00 create 10:04
        10:04:00 executed 10:04
        10:04:01 delete 09:56
        10:04:37 create 10:02
        10:04:37 executed 10:02
        10:04:38 delete 09:58",
    );
}

/// Around its time, a period may come before it.
#[test]
fn around() {
    check(
        "09:30:00
        job 0 10 * * * @win(around,40m)
        start
        09:30:00 status
        10:30:00 status",
        "09:30:00 status: last -; next 10:00 at 10:03:26; active [];
        10:03:26 create 10:00
        10:03:26 executed 10:00
        10:30:00 status: last 10:00 executed; next 2026-03-03T10:00 at 2026-03-03T10:12:39; \
         active []; 10:00 Succeeded",
    );
}

/// It is recorded when its window begins, and not before.
#[test]
fn unschedulable() {
    check(
        "09:30:00
        job 0 * * * * @win(after,10m) @avoid(hours=10)
        start
        09:59:59 status
        10:00:00 status
        11:30:00 end",
        "09:59:59 status: last -; next 10:00 at never; active [];
        10:00:00 unschedulable 10:00: the constraints allow no second of the window
        10:00:00 status: last 10:00 unschedulable; next 11:00 at 11:05:28; active []; 10:00 \
         unschedulable
        11:05:28 create 11:00
        11:05:28 executed 11:00",
    );
}

/// OPR-09: what was skipped stays so, whatever ends afterwards.
#[test]
fn skipped_is_final() {
    check(
        "09:59:30
        job * * * * * @policy(deadline=1h)
        runs 70s
        start
        10:01:05 status
        10:01:20 reconcile
        10:01:30 crash
        10:01:31 start
        10:01:59 status",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        10:01:00 skipped 10:01: an execution is still active and concurrency is forbid
        10:01:05 status: last 10:01 skipped; next 10:02 at 10:02:00; active [10:00]; 10:01 \
         skipped, 10:00 executed
        10:01:59 status: last 10:01 skipped; next 10:02 at 10:02:00; active []; 10:01 skipped, \
         10:00 Succeeded",
    );
}

/// OPR-09: of what came due while nobody watched only the latest is judged.
#[test]
fn catching_up() {
    check(
        "09:59:30
        job * * * * * @policy(deadline=1h)
        start
        10:00:30 crash
        10:05:30 start
        10:05:30 status",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        10:05:30 superseded 4
        10:05:30 create 10:05
        10:05:30 executed 10:05
        10:05:30 status: last 10:05 executed; next 10:06 at 10:06:00; active [10:05]; 10:05 \
         executed, 10:00 Succeeded",
    );
    check(
        "09:59:30
        job * * * * *
        start
        10:00:30 crash
        10:05:30 start
        10:05:59 end",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        10:05:30 missed 10:05: 30s after the chosen time, deadline 0s
        10:05:30 superseded 4",
    );
    // As many as there are: one mark closes them.
    check(
        "09:59:30
        job * * * * * @policy(deadline=1h)
        start
        10:00:30 crash
        2026-03-12T10:00:30Z start
        2026-03-12T10:00:40Z crash
        2026-03-12T10:00:50Z start
        2026-03-12T10:00:59Z end",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        2026-03-12T10:00:30 superseded 4095 or more
        2026-03-12T10:00:30 create 2026-03-12T10:00
        2026-03-12T10:00:30 executed 2026-03-12T10:00",
    );
}

/// OPR-09: whoever watches judges each, even if late.
#[test]
fn all_that_came_due_in_between() {
    let world = play(
        "09:58:00
        job */2 * * * * @win(after,6m) @policy(concurrency=allow,deadline=10m)
        start
        refuse over quota
        10:06:00 accept
        10:08:00 end",
    );
    let done: Vec<&String> = world.log.iter().filter(|line| !line.contains("refused")).collect();
    let expected = "\
        10:06:07 create 09:56
        10:06:07 executed 09:56
        10:06:07 create 09:58
        10:06:07 executed 09:58
        10:06:07 create 10:00
        10:06:07 executed 10:00
        10:06:07 create 10:04
        10:06:07 executed 10:04
        10:06:07 create 10:02
        10:06:07 executed 10:02
        10:06:08 delete 09:56 09:58";
    assert_eq!(done, tidy(expected).iter().collect::<Vec<_>>());
}

/// A new one does not run for the past; a window that is open counts.
#[test]
fn first_sight() {
    check(
        "10:00:30
        job * * * * * @policy(deadline=1h)
        start
        10:00:59 status",
        "10:00:59 status: last -; next 10:01 at 10:01:00; active [];",
    );
    // Created a moment before an operator is there.
    check(
        "09:59:30
        job 0 10 * * * @policy(deadline=1h)
        10:02:00 start",
        "10:02:00 create 10:00
        10:02:00 executed 10:00",
    );
    // Created long before.
    check(
        "10:00:30
        age 1h
        job 0 10 * * * @policy(deadline=1h)
        start",
        "",
    );
    // The second of its creation counts as before it.
    check(
        "10:00:00
        job 0 10 * * * @policy(deadline=1h)
        10:00:05 start",
        "",
    );
}

/// An edit does not fire what the new definition has for the past.
#[test]
fn edits_fire_nothing() {
    check(
        "09:50:00
        job 0 12 * * * @policy(deadline=1h)
        start
        10:00:30 job 0 10 * * * @policy(deadline=1h)
        10:00:40 job 0,1 10 * * * @policy(deadline=1h)
        10:01:30 end",
        "10:01:00 create 10:01
        10:01:00 executed 10:01",
    );
    // Not even if it is found after a restart.
    check(
        "09:50:00
        job 0 12 * * * @policy(deadline=1h)
        start
        09:51:00 crash
        09:52:00 job 0 10 * * * @policy(deadline=1h)
        10:00:30 start
        10:01:30 end",
        "",
    );
    // A closed period stays closed under any definition.
    check(
        "09:59:00
        job 0 10 * * *
        start
        10:00:30 job 0 10 * * * @win(after,10m) @seed(stable,salt=x) @policy(deadline=1h)
        10:20:00 end",
        "10:00:00 create 10:00
        10:00:00 executed 10:00",
    );
    // The policy is no part of what decides the time.
    check(
        "09:59:00
        job 0 10 * * *
        refuse over quota
        start
        10:00:00.5 job 0 10 * * * @policy(deadline=1m)
        10:00:05 accept
        10:00:30 end",
        "10:00:00 refused 10:00: over quota
        10:00:10 create 10:00
        10:00:10 executed 10:00",
    );
}

/// OPR-09: suspended, nothing is recorded; resumed, the latest is judged.
#[test]
fn suspended_and_resumed() {
    check(
        "09:59:30
        job * * * * * @policy(deadline=1h)
        start
        10:00:30 job * * * * * @policy(deadline=1h,suspend=true)
        10:00:30 status
        10:04:30 status
        10:04:30 job * * * * * @policy(deadline=1h)
        10:04:50 end",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        10:00:30 status: last 10:00 executed; next -; active []; 10:00 Succeeded
        10:04:30 status: last 10:00 executed; next -; active []; 10:00 Succeeded
        10:04:30 superseded 3
        10:04:30 create 10:04
        10:04:30 executed 10:04",
    );
    check(
        "09:59:30
        job * * * * *
        start
        10:00:30 job * * * * * @policy(suspend=true)
        10:04:30 job * * * * *
        10:04:50 end",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        10:04:30 missed 10:04: 30s after the chosen time, deadline 0s
        10:04:30 superseded 3",
    );
    // New and suspended: what was first seen is kept.
    check(
        "09:59:30
        job * * * * * @policy(deadline=1h,suspend=true)
        start
        10:30:30 job * * * * * @policy(deadline=1h)
        10:30:50 end",
        "10:30:30 superseded 30
        10:30:30 create 10:30
        10:30:30 executed 10:30",
    );
}

/// OPR-09: a lapse is a lapse, also if nobody died.
#[test]
fn clock_jumps_forward() {
    check(
        "09:59:30
        job * * * * * @policy(deadline=1h)
        start
        10:00:30 clock 10:10:30
        10:10:59 end",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        10:10:30 superseded 9
        10:10:30 create 10:10
        10:10:30 executed 10:10",
    );
}

/// Exactly at the deadline, and just after it.
#[test]
fn deadlines() {
    for (deadline, at, expected) in [
        ("0s", "10:00:00.999999999", "create"),
        ("0s", "10:00:01", "missed"),
        ("1m", "10:01:00", "create"),
        ("1m", "10:01:00.000000001", "missed"),
    ] {
        let world = play(&format!(
            "09:59:30
            job 0 10 * * * @policy(deadline={deadline})
            start
            09:59:59 crash
            {at} start
            +20s end"
        ));
        let word = world.log[0].split(' ').nth(1);
        assert_eq!(word, Some(expected), "{deadline} {at}: {:?}", world.log);
    }
}

/// OPR-03, SCH-05: what came due while somebody watched and could not be created is not passed
/// over by whoever takes over.
#[test]
fn what_waits_outlasts_its_operator() {
    let world = play(
        "09:59:30
        job 0,1,2 10 * * * @policy(deadline=1h,concurrency=allow)
        runs 5s
        start
        refuse over quota
        10:02:30 crash
        10:02:40 start
        10:03:00 accept
        10:20:00 reconcile",
    );
    let done: Vec<&String> = world.log.iter().filter(|line| !line.contains("refused")).collect();
    let minutes = ["10:00", "10:01", "10:02"];
    let created =
        minutes.map(|m| [format!("10:03:10 create {m}"), format!("10:03:10 executed {m}")]);
    assert_eq!(done, created.iter().flatten().collect::<Vec<_>>(), "{:?}", world.log);
}

/// SPEC, Concurrency: those that are replaced are gone first, which does not count
/// against the deadline.
#[test]
fn replaced_jobs_take_their_time() {
    check(
        "09:59:30
        job * * * * * @policy(concurrency=replace)
        runs forever
        lingers 30s
        start
        10:01:40 end",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        10:01:00 end 10:00
        10:01:30 create 10:01
        10:01:30 executed 10:01",
    );
    // Once it is told that they do not end, it does.
    for lingers in ["5m", "70s"] {
        check(
            &format!(
                "09:59:30
                job */10 * * * * @policy(concurrency=replace)
                runs forever
                lingers {lingers}
                start
                10:16:00 end"
            ),
            "10:00:00 create 10:00
            10:00:00 executed 10:00
            10:10:00 end 10:00
            10:11:00 error: Job `a-29540760` of period 2026-03-02T10:00:00Z does not end
            10:11:00 missed 10:10: 1m after the chosen time, deadline 0s; last attempt: Job \
             `a-29540760` of period 2026-03-02T10:00:00Z does not end",
        );
    }
    check(
        "09:59:30
        job */10 * * * * @policy(concurrency=replace,deadline=90s)
        runs forever
        lingers 100s
        start
        10:16:00 end",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        10:10:00 end 10:00
        10:11:00 error: Job `a-29540760` of period 2026-03-02T10:00:00Z does not end
        10:11:30.000000001 missed 10:10: 1m30s1ms after the chosen time, deadline 1m30s; \
         last attempt: Job `a-29540760` of period 2026-03-02T10:00:00Z does not end",
    );
    // What has ended without anybody hearing of it is not told of.
    check(
        "09:59:30
        job */10 * * * * @policy(concurrency=replace)
        runs forever
        lingers 60s
        start
        10:10:10 deaf
        10:16:00 end",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        10:10:00 end 10:00
        10:11:00 create 10:10
        10:11:00 executed 10:10",
    );
    // The deadline may be later than that.
    check(
        "09:59:30
        job */10 * * * * @policy(concurrency=replace,deadline=7m)
        runs forever
        lingers 5m
        start
        10:16:00 end",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        10:10:00 end 10:00
        10:11:00 error: Job `a-29540760` of period 2026-03-02T10:00:00Z does not end
        10:15:00 create 10:10
        10:15:00 executed 10:10",
    );
    // Each waits for the one before it.
    check(
        "09:59:30
        job * * * * * @policy(concurrency=replace)
        runs forever
        lingers 70s
        start
        10:04:19 end",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        10:01:00 end 10:00
        10:02:00 error: Job `a-29540760` of period 2026-03-02T10:00:00Z does not end
        10:02:00 missed 10:01: 1m after the chosen time, deadline 0s; last attempt: Job \
         `a-29540760` of period 2026-03-02T10:00:00Z does not end
        10:02:10 create 10:02
        10:02:10 executed 10:02
        10:03:00 end 10:02
        10:04:00 error: Job `a-29540762` of period 2026-03-02T10:02:00Z does not end
        10:04:00 missed 10:03: 1m after the chosen time, deadline 0s; last attempt: Job \
         `a-29540762` of period 2026-03-02T10:02:00Z does not end
        10:04:10 create 10:04
        10:04:10 executed 10:04",
    );
}

/// ERR-27: a Job that cannot be ended is told of; nothing starts in its place, and it is tried
/// again.
#[test]
fn jobs_that_cannot_be_ended() {
    check(
        "09:59:30
        job */10 * * * * @policy(concurrency=replace)
        runs forever
        start
        10:09:00 bind forbidden
        10:16:00 end",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        10:10:01 error: Job `a-29540760` cannot be ended: forbidden
        10:10:01 missed 10:10: 1s after the chosen time, deadline 0s; last attempt: Job \
         `a-29540760` cannot be ended: forbidden",
    );
    check(
        "09:59:30
        job */10 * * * * @policy(concurrency=replace,deadline=2m)
        runs forever
        start
        10:09:00 bind forbidden
        10:11:05 unbind
        10:16:00 end",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        10:10:10 error: Job `a-29540760` cannot be ended: forbidden
        10:11:10 end 10:00
        10:11:10 create 10:10
        10:11:10 executed 10:10",
    );
}

/// Whatever is in the way of one is in the way of all: they take turns, and when one succeeds
/// the others follow.
#[test]
fn one_attempt_at_a_time() {
    let world = play(
        "09:59:30
        job * * * * * @policy(concurrency=allow,deadline=1h)
        refuse over quota
        start
        10:10:05 accept
        10:10:30 end",
    );
    let refused = |at: &str| world.log.iter().filter(|line| line.starts_with(at)).count();
    // Each when it is due, and beside that the first of them every ten seconds.
    assert_eq!(refused("10:09:0"), 2, "{:?}", world.log);
    assert_eq!(refused("10:09:"), 7, "{:?}", world.log);
    let created = world.log.iter().filter(|line| line.contains(" create "));
    let created: Vec<&str> = created.map(|line| line.split_once(' ').unwrap().0).collect();
    assert_eq!(created, ["10:10:10"; 11], "{:?}", world.log);
}

/// However many wait, the status does not grow without end; and none is lost for that.
#[test]
fn claims_are_limited() {
    let begin = "09:59:30
        job * * * * * @policy(concurrency=allow,deadline=5h)
        refuse over quota
        start";
    let world = play(&format!("{begin}\n12:00:30 end"));
    assert_eq!(world.cluster.read().unwrap().pending.len(), 100);
    let world = play(&format!("{begin}\n12:00:05 accept\n12:00:30 end"));
    let created = world.log.iter().filter(|line| line.starts_with("12:00:10 create ")).count();
    assert_eq!(created, 121, "{:?}", world.log);
    assert!(world.cluster.read().unwrap().pending.is_empty());
}

/// One that waits for another attempt holds up no other.
#[test]
fn a_refusal_holds_up_nobody_else() {
    check(
        "09:59:30
        job * * * * * @policy(concurrency=allow,deadline=10m)
        theirs 10:00
        start
        10:01:30 end",
        "10:00:00 refused 10:00: a-29540760 already exists
        10:00:10 refused 10:00: a-29540760 already exists
        10:00:20 refused 10:00: a-29540760 already exists
        10:00:30 refused 10:00: a-29540760 already exists
        10:00:40 refused 10:00: a-29540760 already exists
        10:00:50 refused 10:00: a-29540760 already exists
        10:01:00 refused 10:00: a-29540760 already exists
        10:01:00 create 10:01
        10:01:00 executed 10:01
        10:01:10 refused 10:00: a-29540760 already exists
        10:01:20 refused 10:00: a-29540760 already exists
        10:01:30 refused 10:00: a-29540760 already exists",
    );
}
