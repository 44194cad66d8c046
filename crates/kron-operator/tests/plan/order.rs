//! In which order the cluster hears of things, and what is left when somebody crashes in
//! between (OPR-03, OPR-04, OPR-05).

use crate::cluster::{IDENTITY, parse};
use crate::krond::{duration, instant};
use crate::operator::{Did, Operator};
use crate::script::{World, check, period, play, tidy};
use kron_operator::plan::Surety;

/// OPR-04: claimed, created, recorded, and only then let go.
#[test]
fn steps_of_a_period() {
    check(
        "09:59:30
        job 0 10 * * *
        show steps
        start
        10:00:20 status",
        "09:59:30 begin
        09:59:30 planned 10:00
        10:00:00 create 10:00
        10:00:00 executed 10:00
        10:00:00 planned 2026-03-03T10:00
        10:00:01 finished 10:00 Succeeded
        10:00:20 release 10:00
        10:00:20 status: last 10:00 executed; next 2026-03-03T10:00 at 2026-03-03T10:00:00; \
         active []; 10:00 Succeeded",
    );
}

/// OPR-04: nothing is created that was not claimed before, also when catching up.
#[test]
fn claimed_first() {
    check(
        "09:59:30
        job * * * * * @policy(deadline=1h)
        start
        09:59:40 crash
        10:03:30 show steps
        start
        10:03:40 end",
        "10:03:30 look
        10:03:30 superseded 3
        10:03:30 planned 10:03
        10:03:30 planned 10:04
        10:03:30 look
        10:03:30 create 10:03
        10:03:30 executed 10:03
        10:03:31 finished 10:03 Succeeded",
    );
}

/// OPR-05: asked again, it has nothing to do, whatever state it is in.
#[test]
fn reconciling_again() {
    let busy = "09:59:30
        job * * * * * @win(around,4m) @policy(concurrency=allow,deadline=1m)
        runs 90s
        start
        10:05:00.5 end";
    let mut world = play(busy);
    for _ in 0..600 {
        let until = world.cluster.now.saturating_add(duration("1s"));
        world.until(until);
        let before = (world.cluster.status.clone(), world.cluster.version, world.steps);
        world.reconcile();
        let after = (world.cluster.status.clone(), world.cluster.version, world.steps);
        assert_eq!(before, after, "{}", world.cluster.now);
    }
}

/// OPR-03, OPR-04: the operator dies after any step and is started again at once: in the
/// end everything is as if it had not.
#[test]
fn dying_after_any_step() {
    let scripts = [
        "job * * * * * @policy(concurrency=allow,deadline=30s)",
        "job * * * * * @policy(deadline=30s)
        runs 70s",
        "job * * * * * @policy(concurrency=replace,deadline=30s)
        runs forever",
        "job */2 * * * * @win(after,6m) @policy(concurrency=allow,deadline=30s)
        ttl 0s",
        "job */2 * * * * @win(around,6m) @avoid(dom=3) @policy(deadline=30s)
        keep 0 0",
        "job * * * * * @policy(deadline=20s)
        refuse over quota
        10:01:02 accept",
    ];
    for script in scripts {
        let whole = format!("09:58:30\nstart\n{script}\n10:05:30 end");
        let expected = live_through(&whole, None);
        let mut step = 1;
        while let Some(found) = live_through(&whole, Some(step)) {
            assert_eq!(Some(&found), expected.as_ref(), "dies after step {step}: {script}");
            step += 1;
        }
        assert!(step > 20, "{script}");
    }
}

/// Outcomes of a script in which the operator dies once; `None` if it did not come to it.
fn live_through(script: &str, dies_after: Option<usize>) -> Option<Vec<String>> {
    let mut world = World::new(script);
    world.dies_after = dies_after;
    for line in tidy(script).iter().skip(1) {
        world.act(line);
    }
    dies_after.is_none_or(|step| world.steps >= step).then(|| {
        let recorded = world.cluster.recorded.iter();
        recorded.map(|(period, outcome)| format!("{period} {outcome}")).collect()
    })
}

/// OPR-03: dead between creation and record, past every deadline: the Job is found.
#[test]
fn created_and_not_recorded() {
    check(
        "09:59:30
        job 0 10 * * *
        ttl 0s
        start
        crash-after create
        11:00:00 start
        11:00:00 status",
        "10:00:00 create 10:00
        10:00:00 crash
        11:00:00 executed 10:00
        11:00:00 status: last 10:00 executed; next 2026-03-03T10:00 at 2026-03-03T10:00:00; \
         active []; 10:00 Succeeded",
    );
}

/// OPR-10: a Job that is found after an edit was decided by the definition before it.
#[test]
fn found_after_an_edit() {
    let world = play(
        "09:59:30
        job 0 10 * * * @seed(stable,salt=first)
        start
        crash-after create
        10:00:30 job 0 10 * * * @seed(stable,salt=second)
        start
        10:00:40 end",
    );
    let first = parse(IDENTITY, "0 10 * * * @seed(stable,salt=first)");
    let seed_hash = first.decide(period("10:00")).seed_hash().to_string();
    let last = world.cluster.book().0.last.expect("an outcome");
    assert_eq!(last.seed_hash, Some(seed_hash));
}

/// An edit that bars what waits says so; but what had its Job by then did not wait any more.
#[test]
fn barred_or_found_after_an_edit() {
    for (crash, expected) in [
        ("", "10:00:30 superseded 1"),
        ("crash-after create\n10:00:10 accept", "10:00:30 executed 10:00"),
    ] {
        let world = play(&format!(
            "09:59:30
            job 0 10 * * * @seed(stable,salt=first) @policy(deadline=30m)
            start
            09:59:40 refuse over quota
            10:00:10 end
            {crash}
            10:00:30 job 0 10 * * * @seed(stable,salt=second) @policy(deadline=30m)
            start
            10:00:40 end"
        ));
        let is_told = |line: &&String| line.starts_with("10:00:30") && !line.contains("refused");
        let told: Vec<&String> = world.log.iter().filter(is_told).collect();
        assert_eq!(told, [expected], "{:#?}", world.log);
    }
}

/// OPR-04: …also while the spec cannot be used, so that it need not be held for ever.
#[test]
fn created_and_not_recorded_while_invalid() {
    for flaw in ["schedule", "template"] {
        check(
            &format!(
                "09:59:30
                job 0 10 * * *
                runs 5m
                start
                crash-after create
                10:00:10 flaw {flaw}
                show steps
                start
                10:06:00 status"
            ),
            "10:00:00 create 10:00
            10:00:00 crash
            10:00:10 executed 10:00
            10:00:20 release 10:00
            10:05:00 finished 10:00 Succeeded
            10:06:00 status: last 10:00 executed; next -; active []; 10:00 Succeeded",
        );
    }
}

/// OPR-06: what has begun is looked after while the spec cannot be used: ends are told, and
/// what is too much is deleted.
#[test]
fn while_invalid() {
    check(
        "09:59:30
        job * * * * * @policy(concurrency=allow)
        runs 150s
        keep 1 1
        start
        10:02:10 flaw schedule
        show steps
        status
        10:10:00 status",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        10:01:00 create 10:01
        10:01:00 executed 10:01
        10:02:00 create 10:02
        10:02:00 executed 10:02
        10:02:10 status: last 10:02 executed; next -; active [10:00 10:01 10:02]; 10:02 executed, \
         10:01 executed, 10:00 executed
        10:02:20 release 10:02
        10:02:30 finished 10:00 Succeeded
        10:03:30 finished 10:01 Succeeded
        10:03:30 delete 10:00
        10:04:30 finished 10:02 Succeeded
        10:04:30 delete 10:01
        10:10:00 status: last 10:02 executed; next -; active []; 10:02 Succeeded, 10:01 Succeeded, \
         10:00 Succeeded",
    );
}

/// A claim without a Job is created if it is still in time, or else missed.
#[test]
fn claimed_and_not_created() {
    check(
        "09:59:30
        job 0 10 * * * @policy(deadline=1m)
        start
        09:59:59 crash
        10:00:30 start",
        "10:00:30 create 10:00
        10:00:30 executed 10:00",
    );
}

/// A claim that came due while somebody led, as far as the cluster knows, is judged on its own
/// however many have come due since; what came due when nobody did is caught up with.
#[test]
fn claimed_and_seen() {
    let caught_up = "10:03:30 superseded 2
        10:03:30 create 10:03
        10:03:30 executed 10:03";
    for (lease, deadline, edit, expected) in [
        // The lease was good until five seconds after the minute.
        (
            "lease 15s",
            "10m",
            "end",
            "10:03:30 create 10:01
            10:03:30 executed 10:01
            10:03:30 superseded 1
            10:03:30 create 10:03
            10:03:30 executed 10:03",
        ),
        (
            "lease 15s",
            "1m",
            "end",
            "10:03:30 superseded 1
            10:03:30 create 10:03
            10:03:30 executed 10:03
            10:03:50 missed 10:01: 2m50s after the chosen time, deadline 1m",
        ),
        ("lease 5s", "10m", "end", caught_up),
        ("end", "10m", "end", caught_up),
        // Nobody waited for what another spec says.
        ("lease 15s", "10m", "job * * * * * @policy(deadline=9m,concurrency=allow)", caught_up),
    ] {
        let script = format!(
            "09:59:30
            {lease}
            job * * * * * @policy(deadline={deadline},concurrency=allow)
            start
            10:00:50 crash
            10:02:00 {edit}
            10:03:30 start
            10:03:59 end"
        );
        let expected = format!("10:00:00 create 10:00\n10:00:00 executed 10:00\n{expected}");
        check(&script, &expected);
    }
}

/// OBS-03: the status alone says how a decision can be made again: with the identity, what each
/// period was decided by, also after an edit.
#[test]
fn obs_03_a_status_says_what_was_decided_by() {
    let world = play(
        "09:30:00
        job 0 10 * * * @tz(Europe/Paris) @win(after,40m) @dist(normal,mu=mid,sigma=5m) \
         @seed(weekly,salt=\"a b\") @only(dow=MON-FRI) @policy(deadline=1h)
        job 0 10 * * * @win(around,40m) @dist(skewLate,shape=3) @avoid(between=10:00-10:05)
        start
        10:30:00 job 0 11 * * * @win(after,1h)
        10:31:00 end",
    );
    let status = world.cluster.read().expect("a status");
    let last = status.last_period.expect("a period that has its outcome");
    let next = status.next_period.expect("one that is to come");
    assert!(last.schedule != next.schedule && last.generation < next.generation);
    for (period, schedule, chosen, seed_hash) in [
        (last.period_id, last.schedule, last.chosen_time, last.seed_hash),
        (next.period_id, next.schedule, next.chosen_time, Some(next.seed_hash)),
    ] {
        let job = parse(IDENTITY, &schedule.expect("a schedule"));
        let decision = job.decide(self::period(&period));
        assert_eq!(decision.chosen().map(|at| at.to_string()), chosen, "{period}");
        assert_eq!(Some(decision.seed_hash().to_string()), seed_hash, "{period}");
    }
}

/// What is remembered as active may have finished: the cluster is asked before a period
/// is skipped.
#[test]
fn looks_before_it_skips() {
    check(
        "09:59:30
        job * * * * *
        runs 30s
        start
        09:59:59 deaf
        10:00:10 show steps
        10:01:01 end",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        10:00:20 release 10:00
        10:01:00 look
        10:01:00 create 10:01
        10:01:00 executed 10:01
        10:01:00 finished 10:00 Succeeded
        10:01:00 planned 10:02",
    );
    check(
        "09:59:30
        job * * * * *
        runs forever
        start
        10:00:10 show steps
        10:01:01 end",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        10:00:20 release 10:00
        10:01:00 look
        10:01:00 skipped 10:01: an execution is still active and concurrency is forbid
        10:01:00 planned 10:02",
    );
}

/// …and before others are ended.
#[test]
fn looks_before_it_replaces() {
    check(
        "09:59:30
        job * * * * * @policy(concurrency=replace)
        runs 30s
        start
        09:59:59 deaf
        10:00:10 show steps
        10:01:01 end",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        10:00:20 release 10:00
        10:01:00 look
        10:01:00 create 10:01
        10:01:00 executed 10:01
        10:01:00 finished 10:00 Succeeded
        10:01:00 planned 10:02",
    );
}

/// A Job that is done for stays until its period is recorded and no request can be on
/// its way any more.
#[test]
fn held() {
    check(
        "09:59:30
        job 0 10 * * *
        ttl 0s
        show steps
        start
        10:00:30 end",
        "09:59:30 begin
        09:59:30 planned 10:00
        10:00:00 create 10:00
        10:00:00 executed 10:00
        10:00:00 planned 2026-03-03T10:00
        10:00:01 finished 10:00 Succeeded
        10:00:20 release 10:00",
    );
}

/// OPR-04: a request to create it again may still be on its way, so it stays that long
/// even if somebody wants it gone.
#[test]
fn held_although_deleted() {
    check(
        "09:59:30
        job 0 10 * * *
        runs forever
        show steps
        start
        10:00:05 delete 10:00
        10:00:30 end",
        "09:59:30 begin
        09:59:30 planned 10:00
        10:00:00 create 10:00
        10:00:00 executed 10:00
        10:00:00 planned 2026-03-03T10:00
        10:00:20 release 10:00
        10:00:20 finished 10:00 Deleted",
    );
    check(
        "09:59:30
        job * * * * * @policy(concurrency=replace,deadline=1m)
        runs forever
        refuse over quota
        start
        10:00:45 accept
        10:00:55 show steps
        10:01:10 end",
        "10:00:00 refused 10:00: over quota
        10:00:10 refused 10:00: over quota
        10:00:20 refused 10:00: over quota
        10:00:30 refused 10:00: over quota
        10:00:40 refused 10:00: over quota
        10:00:50 create 10:00
        10:00:50 executed 10:00
        10:01:00 look
        10:01:00 end 10:00
        10:01:00 planned 10:02
        10:01:10 look
        10:01:10 end 10:00
        10:01:10 create 10:01
        10:01:10 executed 10:01
        10:01:10 finished 10:00 Deleted",
    );
}

/// OPR-03: no answer, and the watch is behind: the cluster is asked before the period is
/// given up.
#[test]
fn looks_before_it_gives_up() {
    check(
        "09:59:30
        job 0 10 * * *
        start
        09:59:59 cut-off
        10:00:30 status",
        "10:00:00 refused 10:00: no answer
        10:00:01 executed 10:00
        10:00:30 status: last 10:00 executed; next 2026-03-03T10:00 at 2026-03-03T10:00:00; \
         active []; 10:00 Succeeded",
    );
}

/// OPR-02, OPR-10: while the Job still runs, everything is told: period, decision, seed
/// and outcome.
#[test]
fn told() {
    let world = play(
        "09:59:30
        job 0 10 * * *
        runs forever
        start
        10:00:00 end",
    );
    let status = world.cluster.status.as_ref().expect("a status");
    let seed_hash = world.cluster.job.decide(period("10:00")).seed_hash().to_string();
    let expected = serde_json::json!({
        "periodId": "2026-03-02T10:00:00Z",
        "nominalTime": "2026-03-02T10:00:00Z",
        "chosenTime": "2026-03-02T10:00:00Z",
        "outcome": "executed",
        "reason": null,
        "seedHash": seed_hash,
        "job": "a-29540760",
        "schedule": world.cluster.job.schedule().to_string(),
        "generation": world.cluster.generation,
    });
    assert_eq!(status["lastPeriod"], expected);
    assert_eq!(status["nextPeriod"]["chosenTime"], "2026-03-03T10:00:00Z");
    assert_eq!(status["nextPeriod"]["seedHash"].as_str().map(str::len), Some(64));
    assert_eq!(status["activeCount"], 1);
    assert_eq!(status["marks"]["handledThrough"], "2026-03-02T10:00:00Z");
}

/// OPR-08: the second chosen is the same for whoever asks, and however often.
#[test]
fn chosen_once() {
    let mut world = play(
        "09:30:00
        job 0 10 * * * @win(after,40m)
        start",
    );
    let next = world.cluster.book().0.next;
    for _ in 0..100 {
        world.act("+7s reconcile");
        assert_eq!(world.cluster.book().0.next, next);
        world.act("start");
        assert_eq!(world.cluster.book().0.next, next);
    }
}

/// Marks that are gone or unreadable: nothing from before now runs, and what is found
/// is not told twice.
#[test]
fn lost_marks() {
    check(
        "09:59:30
        job * * * * * @policy(deadline=1h)
        start
        10:00:30 lose marks
        10:00:40 status
        10:01:30 end",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        10:00:30 lost: the status has no marks of what was handled
        10:00:40 status: last 10:00 executed; next 10:01 at 10:01:00; active []; 10:00 Succeeded
        10:01:00 create 10:01
        10:01:00 executed 10:01",
    );
    check(
        "09:59:30
        job * * * * * @policy(deadline=1h)
        start
        10:00:30 garble notBefore
        10:00:40 garble definitionHash
        10:00:50 garble handledThrough
        10:00:55 status",
        "10:00:00 create 10:00
        10:00:00 executed 10:00
        10:00:30 lost: status.marks.notBefore: `yesterday`: not an RFC3339 time, such as \
         `2026-01-05T09:00:00Z` or `2026-01-05T10:00:00+01:00`
        10:00:40 lost: status.marks.definitionHash: `yesterday` is not a hash
        10:00:50 lost: status.marks: `yesterday`: not an RFC3339 time, such as \
         `2026-01-05T09:00:00Z` or `2026-01-05T10:00:00+01:00`
        10:00:55 status: last 10:00 executed; next 10:01 at 10:01:00; active []; 10:00 Succeeded",
    );
    // The whole status, long after its creation: what is found is recorded, what might
    // have run does not.
    check(
        "09:30:30
        job */10 * * * * @policy(deadline=1h)
        start
        09:50:30 crash
        10:00:30 lose all
        start
        10:00:40 status",
        "09:40:00 create 09:40
        09:40:00 executed 09:40
        09:50:00 create 09:50
        09:50:00 executed 09:50
        10:00:30 executed 09:40
        10:00:30 executed 09:50
        10:00:40 status: last 09:50 executed; next 10:10 at 10:10:00; active []; 09:50 \
         Succeeded, 09:40 Succeeded",
    );
}

/// OPR-06: mended, a spec that was invalid from the beginning does not fire for the time
/// before; nor does one whose schedule was, for what passed meanwhile. What was not created
/// because of its template is, if it is still in time.
#[test]
fn mended() {
    let mut world = World::new("09:59:30");
    let status = serde_json::json!({ "observedGeneration": 1, "conditions": [{
        "type": "InvalidSpec", "status": "True", "reason": "InvalidSpec", "message": "",
        "lastTransitionTime": "2026-03-02T09:59:31Z",
    }]});
    world.cluster.status = Some(status);
    let script = "flaw schedule
        start
        10:00:30 job 0 10 * * * @policy(deadline=1h)
        10:00:40 end";
    for line in tidy(script) {
        world.act(&line);
    }
    assert_eq!(world.log, Vec::<String>::new());
    let created = "10:00:30 create 10:00
        10:00:30 executed 10:00";
    for (flaw, deadline, before, after, expected) in [
        ("schedule", "1h", "reconcile", "reconcile", ""),
        ("schedule", "1h", "crash", "start", ""),
        ("template", "1h", "reconcile", "reconcile", created),
        ("template", "1h", "crash", "start", created),
        (
            "template",
            "20s",
            "reconcile",
            "reconcile",
            "10:00:30 missed 10:00: 30s after the chosen time, deadline 20s",
        ),
    ] {
        check(
            &format!(
                "09:59:30
                job 0 10 * * * @policy(deadline={deadline})
                start
                09:59:40 flaw {flaw}
                10:00:30 {before}
                job 0 10 * * * @policy(deadline={deadline})
                {after}
                10:00:40 end"
            ),
            expected,
        );
    }
}

/// Two operators that do not know of each other: one of them gets a conflict, and none
/// creates what the other has.
#[test]
fn two_at_once() {
    let script = "09:59:30
        job * * * * * @policy(concurrency=allow)
        start
        09:59:59 end";
    let mut world = play(script);
    let mut other = Operator::start(&world.cluster);
    world.until(instant("10:00:00"));
    // It has slept since, and acts on what it knew.
    let did = other.step(&mut world.cluster);
    assert_eq!(did, Did::Created(period("10:00")));
    let did = other.step(&mut world.cluster);
    assert_eq!(did, Did::Conflict);
    other.hear(&world.cluster);
    assert_eq!(world.cluster.ever.len(), 1);
    world.reconcile();
    assert_eq!(world.cluster.recorded.len(), 1);
}

/// OPR-03, OPR-04: what another created, recorded and let go is not created again by who has
/// heard that it is gone, but not yet that it was there.
#[test]
fn gone_before_it_was_heard_of() {
    let script = "09:59:30
        job * * * * * @policy(concurrency=allow,deadline=30m)
        ttl 0s
        start
        09:59:59 end";
    let mut world = play(script);
    let mut other = Operator::start(&world.cluster);
    other.is_sole = false;
    world.until(instant("10:00:30"));
    assert!(world.jobs().is_empty(), "{:?}", world.jobs());
    other.hear_of_jobs(&world.cluster);
    assert_eq!(other.step(&mut world.cluster), Did::Look);
    while other.step(&mut world.cluster) != Did::Rest {}
    assert_eq!(world.cluster.ever.len(), 1);
}

/// What allows a request to create a Job: being prompt, unless something could run beside it
/// that must not; having been alone; or having looked.
#[test]
fn surety() {
    for (concurrency, sole_since, confirmed, clock, expected) in [
        ("allow", None, None, "10:00:00", true),
        ("allow", None, None, "10:00:05", true),
        ("allow", None, None, "10:00:05.001", false),
        // The clock was set back since it was due.
        ("allow", None, None, "09:59:59", false),
        ("allow", Some("10:00:00"), None, "10:09:00", true),
        ("allow", Some("10:00:01"), None, "10:09:00", false),
        ("allow", None, Some("10:08:55"), "10:09:00", true),
        ("allow", None, Some("10:08:54"), "10:09:00", false),
        ("allow", None, Some("10:09:01"), "10:09:00", false),
        ("forbid", None, None, "10:00:00", false),
        ("replace", None, None, "10:00:00", false),
        ("forbid", Some("10:00:00"), None, "10:00:00", true),
        ("forbid", None, Some("10:00:00"), "10:00:00", true),
    ] {
        let row = (concurrency, sole_since, confirmed, clock);
        let job = parse(IDENTITY, &format!("* * * * * @policy(concurrency={concurrency})"));
        let (sole_since, confirmed) = (sole_since.map(instant), confirmed.map(instant));
        let surety = Surety { sole_since, confirmed };
        let decision = job.decide(period("10:00"));
        assert_eq!(surety.covers(&decision, instant(clock)), expected, "{row:?}");
    }
}
