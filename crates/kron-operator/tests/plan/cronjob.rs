//! The cases that Kubernetes tests its own `CronJob` controller with, as far as they apply.

use crate::script::{check, play, tidy};

/// OPR-02, OPR-09: what comes of 10:00, for every policy, history and time.
#[test]
fn every_policy_in_every_state() {
    // `late` is later than the deadline, `within` is late but not that late.
    let table = "
                        forbid    allow     replace
        never  before   -         -         -
        never  time     create    create    create
        never  late     missed    missed    missed
        never  within   create    create    create
        ran    before   -         -         -
        ran    time     create    create    create
        ran    late     missed    missed    missed
        ran    within   create    create    create
        active before   -         -         -
        active time     skipped   create    end,create
        active late     missed    missed    missed
        active within   skipped   create    end,create";
    for line in tidy(table).iter().skip(1) {
        let words: Vec<&str> = line.split(' ').collect();
        for (concurrency, expected) in ["forbid", "allow", "replace"].into_iter().zip(&words[2..]) {
            let found = outcome(words[0], words[1], concurrency, false);
            assert_eq!(found, *expected, "{line} {concurrency}");
            let found = outcome(words[0], words[1], concurrency, true);
            assert_eq!(found, "-", "{line} {concurrency}, suspended");
        }
    }
}

fn outcome(history: &str, time: &str, concurrency: &str, suspend: bool) -> String {
    let deadline = if time == "within" { "1h" } else { "0s" };
    let job = |suspend: bool| {
        format!(
            "job 0 * * * * @policy(concurrency={concurrency},deadline={deadline},suspend={suspend})"
        )
    };
    let mut script = String::new();
    script += if history == "never" { "09:30:00\n" } else { "08:30:00\n" };
    script += &format!("{}\nstart\n", job(false));
    script += if history == "active" { "runs forever\n" } else { "" };
    script += &format!("09:40:00 {}\n", job(suspend));
    script += match time {
        "before" => "09:59:59 end",
        "time" => "10:00:30 end",
        // What somebody else may have asked for is not given up at once.
        _ => "09:50:00 crash\n10:05:00 start\n10:05:20 end",
    };
    let world = play(&script);
    let words = world.log.iter().filter(|line| line.starts_with("10:"));
    let words = words.map(|line| line.split(' ').nth(1).unwrap_or_default());
    let words = words.filter(|word| *word != "executed" && !word.is_empty());
    let mut words: Vec<&str> = words.collect();
    words.dedup();
    if words.is_empty() { "-".into() } else { words.join(",") }
}

/// OPR-04: a clock that goes back finds everything as it was.
#[test]
fn clock_drifted_back() {
    check(
        "09:59:30
        job * * * * * @policy(deadline=1h)
        start
        10:01:30 clock 09:59:30
        10:02:30 end",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        10:01:00 create 10:01
        10:01:00 executed 10:01
        09:59:30 idle until 10:01:00
        10:02:00 create 10:02
        10:02:00 executed 10:02",
    );
}

/// A clock that was far ahead once leaves marks by which nothing runs: this is told. Without
/// them it goes on, and not with the past.
#[test]
fn a_clock_that_was_ahead() {
    check(
        "09:59:30
        job * * * * * @policy(deadline=1h)
        start
        10:00:30 clock 2026-03-05T10:00:30Z
        +10s clock 10:01:30
        10:02:30 reconcile
        10:03:30 lose marks
        10:04:30 end",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        2026-03-05T10:00:30 superseded 4095 or more
        2026-03-05T10:00:30 create 2026-03-05T10:00
        2026-03-05T10:00:30 executed 2026-03-05T10:00
        10:01:30 idle until 2026-03-05T10:00:00
        10:03:30 lost: the status has no marks of what was handled
        10:04:00 create 10:04
        10:04:00 executed 10:04",
    );
    // A second is what a small correction leaves.
    check(
        "09:59:30
        job * * * * *
        start
        10:00:00.5 clock 09:59:59.5
        10:01:30 end",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        10:01:00 create 10:01
        10:01:00 executed 10:01",
    );
}

/// OPR-03, OPR-04: a Job that nobody recorded is recorded, and not created.
#[test]
fn a_job_unknown_to_the_status() {
    check(
        "09:59:30
        job 0 10 * * *
        start
        09:59:50 crash
        10:00:00 orphan 10:00
        10:00:00.5 start
        10:00:10 status",
        "10:00:00.5 executed 10:00
        10:00:10 status: last 10:00 executed; next 2026-03-03T10:00 at 2026-03-03T10:00:00; \
         active []; 10:00 Succeeded",
    );
}

/// OPR-03: …also if it has long been past its deadline, or its period has no place in the
/// schedule any more.
#[test]
fn a_job_found_late() {
    check(
        "09:59:30
        job 0 10 * * *
        start
        09:59:50 crash
        10:00:00 orphan 10:00
        11:00:00 job 30 * * * *
        start",
        "11:00:00 executed 10:00",
    );
}

/// ERR-22: the name is taken by somebody else's Job. It is left alone.
#[test]
fn a_job_of_somebody_else() {
    check(
        "09:59:30
        job 0 10 * * * @policy(deadline=15s)
        theirs 10:00
        start
        10:01:00 end",
        "10:00:00 refused 10:00: a-29540760 already exists
        10:00:10 refused 10:00: a-29540760 already exists
        10:00:15.000000001 missed 10:00: 15s1ms after the chosen time, deadline 15s; \
         last attempt: a-29540760 already exists",
    );
}

/// ERR-15, ERR-22: a namespace that is being terminated accepts nothing.
#[test]
fn creation_refused() {
    check(
        "09:59:30
        job * * * * *
        start
        refuse namespace shop is being terminated
        10:01:30 end",
        "10:00:00 refused 10:00: namespace shop is being terminated
        10:00:01 missed 10:00: 1s after the chosen time, deadline 0s; \
         last attempt: namespace shop is being terminated
        10:01:00 refused 10:01: namespace shop is being terminated
        10:01:01 missed 10:01: 1s after the chosen time, deadline 0s; \
         last attempt: namespace shop is being terminated",
    );
    check(
        "09:59:30
        job 0 10 * * * @policy(deadline=1m)
        start
        refuse over quota
        10:00:15 accept
        10:01:30 end",
        "10:00:00 refused 10:00: over quota
        10:00:10 refused 10:00: over quota
        10:00:20 create 10:00
        10:00:20 executed 10:00",
    );
}

/// Those that succeeded and those that failed are counted apart; the oldest go first.
#[test]
fn history_limits() {
    check(
        "09:59:30
        job * * * * *
        keep 2 1
        start
        10:02:30 fails 1s
        10:04:30 end",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        10:01:00 create 10:01
        10:01:00 executed 10:01
        10:02:00 create 10:02
        10:02:00 executed 10:02
        10:02:01 delete 10:00
        10:03:00 create 10:03
        10:03:00 executed 10:03
        10:04:00 create 10:04
        10:04:00 executed 10:04
        10:04:01 delete 10:03",
    );
    let world = play(
        "09:59:30
        job * * * * *
        keep 0 0
        start
        10:00:19 end",
    );
    assert_eq!(world.jobs().len(), 1, "it is held until a late request cannot follow");
    let world = play(
        "09:59:30
        job * * * * *
        keep 0 0
        start
        10:00:20 end",
    );
    assert!(world.jobs().is_empty(), "{:?}", world.jobs());
}

/// What is beyond the limits goes when it has finished, so that under a tight quota there is
/// room for the next. If both fall into one moment, a period that is due does not wait for
/// that; but if it finds no room, it does before it is tried again.
#[test]
fn history_limits_make_room() {
    check(
        "09:59:30
        job * * * * *
        keep 0 0
        quota 1
        runs 30s
        start
        10:01:30 end",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        10:00:30 delete 10:00
        10:01:00 create 10:01
        10:01:00 executed 10:01
        10:01:30 delete 10:01",
    );
    check(
        "09:59:30
        job * * * * * @policy(deadline=30s)
        keep 0 0
        quota 1
        runs 60s
        start
        10:01:30 end",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        10:01:00 refused 10:01: over quota
        10:01:00 delete 10:00
        10:01:10 create 10:01
        10:01:10 executed 10:01",
    );
}

/// Active ones are never deleted for the sake of a limit.
#[test]
fn history_limits_spare_active_jobs() {
    check(
        "09:59:30
        job * * * * * @policy(concurrency=allow)
        keep 0 0
        runs forever
        start
        10:02:30 status",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        10:01:00 create 10:01
        10:01:00 executed 10:01
        10:02:00 create 10:02
        10:02:00 executed 10:02
        10:02:30 status: last 10:02 executed; next 10:03 at 10:03:00; \
         active [10:00 10:01 10:02]; 10:02 executed, 10:01 executed, 10:00 executed",
    );
}

/// Another zone is another schedule: nothing of it from before the edit runs.
#[test]
fn zone_changes() {
    check(
        "09:59:30
        job 30 10 * * * @tz(UTC) @policy(deadline=3h)
        start
        10:10:00 job 0 11 * * * @tz(Europe/Paris) @policy(deadline=3h)
        10:10:00 status
        10:20:00 job 30 11 * * * @tz(Europe/Paris) @policy(deadline=3h)
        10:31:00 job 30 8 * * * @tz(Atlantic/Azores) @policy(deadline=3h)
        10:31:00 status",
        "10:10:00 status: last -; next 2026-03-03T10:00 at 2026-03-03T10:00:00; active [];
        10:30:00 create 10:30
        10:30:00 executed 10:30
        10:31:00 status: last 10:30 executed; next 2026-03-03T09:30 at 2026-03-03T09:30:00; \
         active []; 10:30 Succeeded",
    );
}

/// OPR-04: what was deleted by hand is not created again.
#[test]
fn deleted_by_hand() {
    check(
        "09:59:30
        job * * * * * @policy(deadline=1h)
        runs forever
        start
        10:00:20 delete 10:00
        10:00:30 status
        10:00:40 crash
        10:00:41 start
        10:00:50 end",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        10:00:30 status: last 10:00 executed; next 10:01 at 10:01:00; active []; 10:00 Deleted",
    );
}

/// OBS-01: what becomes of a Job is told, also if many others were created meanwhile, and is
/// in the status as long as that has room.
#[test]
fn a_job_that_outlives_others() {
    for (run, others, end, finished, is_shown) in [
        ("12m30s", "1s", "10:12:40", "10:12:30 finished 10:00 Succeeded", true),
        ("12m30s", "1s", "10:13:10", "10:12:30 finished 10:00 Succeeded", false),
        ("58m30s", "forever", "10:58:40", "10:58:30 finished 10:00 Succeeded", false),
    ] {
        let world = play(&format!(
            "09:59:30
            job * * * * * @policy(concurrency=allow)
            runs {run}
            show steps
            start
            10:00:10 runs {others}
            {end} end"
        ));
        let lines: Vec<&String> =
            world.log.iter().filter(|line| line.contains("finished 10:00 ")).collect();
        assert_eq!(lines, [finished], "{run} {others}");
        let (book, _) = world.cluster.book();
        let entry = book.history.iter().find(|entry| entry.job.as_deref() == Some("a-29540760"));
        let result = entry.and_then(|entry| entry.result);
        assert_eq!(result.is_some(), is_shown, "{run} {others} {end}");
        assert!(book.history.len() <= 50, "{run} {others}");
    }
}
