//! OPR-09, OPR-10: what a status says of a period is told in the words of krond.

use kron_core::{Job, Zones};
use kron_operator::facts::{Fact, Phase};
use kronctl::why::{Seen, Told, answer, recorded};
use serde_json::{Value, json};

const NOW: &str = "2026-03-02T12:00:00Z";
const GENERATION: i64 = 3;

fn job(schedule: &str) -> Job {
    Job::parse("shop/backup", schedule, &mut Zones::bundled()).unwrap()
}

/// A status with these parts, and the marks of an operator that has worked since March.
fn status(job: &Job, parts: &Value) -> Value {
    let mut status = json!({
        "observedGeneration": GENERATION,
        "marks": {
            "handledThrough": "2026-03-02T10:00:00Z",
            "notBefore": "2026-03-01T00:00:00Z",
            "definitionHash": kron_core::DefinitionHash::of(job).to_string(),
        },
    });
    for (key, value) in parts.as_object().unwrap() {
        status[key] = value.clone();
    }
    status
}

fn fact(period: &str, phase: Phase) -> Fact {
    let period = period.parse().unwrap();
    let chosen = job(DAILY).decide(period).chosen().unwrap();
    Fact {
        name: kron_operator::convert::job_name("backup", period),
        uid: "u".into(),
        owner: "o".into(),
        period,
        chosen: None,
        seed_hash: None,
        phase,
        // A second late.
        created: chosen.instant().saturating_add(std::time::Duration::from_secs(1)),
        finished: None,
        is_held: false,
        is_going: false,
    }
}

/// The rows about what became of a period, or will; and in JSON the state of the first.
fn tell(schedule: &str, seen: Option<&Seen>, at: Option<&str>) -> String {
    let job = job(schedule);
    let now = NOW.parse().unwrap();
    let zones = Zones::bundled();
    let answer = match answer("backup", &job, seen, at, now, &zones) {
        Ok(answer) => answer,
        Err(failure) => return failure.message().into(),
    };
    let value = serde_json::to_value(&answer).unwrap();
    let page = kron_term::terminal::without_styles(&answer.page(job.zone(), now.floor()));
    let is_told = |line: &&str| {
        ["outcome", "job ", "ended", "if late", "event", "not ", "InvalidSpec", "SchedulingError"]
            .iter()
            .any(|start| line.starts_with(start))
            || line.contains("earlier spec")
    };
    let lines: Vec<&str> = page.lines().filter(is_told).collect();
    let state = value["periods"][0]["standing"]["state"].as_str().unwrap();
    format!("{state}\n{}", lines.join("\n"))
}

/// A period of a `KronJob` in a cluster, whose status has these parts.
#[track_caller]
fn check(schedule: &str, parts: &Value, jobs: Vec<Fact>, at: &str, expected: &str) {
    let status = serde_json::from_value(status(&job(schedule), parts)).unwrap();
    let jobs = Some(jobs);
    let seen = Seen { status: Some(status), jobs, generation: GENERATION, ..Seen::default() };
    let at = Some(at).filter(|at| !at.is_empty());
    assert_eq!(tell(schedule, Some(&seen), at), expected, "{schedule} {parts}");
}

/// A period that was closed by the marks alone.
fn closed(more: &str) -> String {
    format!(
        "closed\noutcome       closed without a record of its own: it passed while the operator was \
         not running or the clock jumped, and only the latest such period is judged; or its record \
         has left the history{more}"
    )
}

const DAILY: &str = "0 10 * * * @win(after,1h)";

fn entry(outcome: &str, more: &Value) -> Value {
    let mut entry = json!({
        "periodId": "2026-03-02T10:00:00Z",
        "chosenTime": "2026-03-02T10:45:22Z",
        "outcome": outcome,
    });
    for (key, value) in more.as_object().unwrap() {
        entry[key] = value.clone();
    }
    json!({ "history": [entry] })
}

#[test]
fn what_has_been() {
    let at = "2026-03-02";
    let name = "backup-29540760";
    let executed = |more: Value| entry("executed", &more);
    check(
        DAILY,
        &executed(
            json!({ "job": name, "result": "succeeded", "finishedAt": "2026-03-02T10:20:00Z" }),
        ),
        vec![fact("2026-03-02T10:00:00Z", Phase::Succeeded)],
        at,
        "closed\noutcome       executed\njob           backup-29540760  created 2026-03-02T10:45:23Z, 1 s after the chosen time\nended         2026-03-02T10:20:00Z  succeeded",
    );
    check(
        DAILY,
        &executed(json!({ "job": name, "result": "failed", "finishedAt": "2026-03-02T10:20:00Z" })),
        vec![],
        at,
        "closed\noutcome       executed\njob           backup-29540760\nended         2026-03-02T10:20:00Z  failed",
    );
    check(
        DAILY,
        &executed(json!({ "job": name, "result": "deleted" })),
        vec![],
        at,
        "closed\noutcome       executed\njob           backup-29540760\nended         deleted before anybody saw how it finished",
    );
    check(
        DAILY,
        &executed(json!({ "job": name })),
        vec![fact("2026-03-02T10:00:00Z", Phase::Active)],
        at,
        "running\noutcome       executed: running as Job backup-29540760 since 2026-03-02T10:45:23Z",
    );
    check(
        DAILY,
        &entry("skipped", &json!({ "reason": "period 2026-03-01T10:00:00Z is still active" })),
        vec![],
        at,
        "closed\noutcome       skipped: period 2026-03-01T10:00:00Z is still active",
    );
    check(
        DAILY,
        &entry("missed", &json!({ "reason": "2s after the chosen time, deadline 0s" })),
        vec![],
        at,
        "closed\noutcome       missed: 2s after the chosen time, deadline 0s",
    );
    check(
        DAILY,
        &entry(
            "unschedulable",
            &json!({ "reason": "the constraints allow no second of the window", "chosenTime": null }),
        ),
        vec![],
        at,
        "closed\nchosen        none  (decided by an earlier spec)\noutcome       unschedulable: the constraints allow no second of the window",
    );
    // Created, and not recorded yet.
    check(
        DAILY,
        &json!({}),
        vec![fact("2026-03-02T10:00:00Z", Phase::Active)],
        at,
        "running\noutcome       executed: running as Job backup-29540760 since 2026-03-02T10:45:23Z",
    );
    // Closed by the marks alone; before all; never.
    check(DAILY, &json!({}), vec![], at, &closed(""));
    check(
        DAILY,
        &json!({}),
        vec![],
        "2026-02-10",
        &closed("; or it was due before 2026-03-01T00:00:00Z, when nothing of it counted yet"),
    );
    check(DAILY, &json!({}), vec![], "2026-03-01", &closed(""));
}

/// A Job as it is says more than a status that nobody has brought up to date.
#[test]
fn jobs_that_the_status_is_behind_of() {
    let at = "2026-03-02";
    let mut status = entry("executed", &json!({ "job": "backup-29540760" }));
    status["active"] = json!([{ "name": "backup-29540760", "periodId": "2026-03-02T10:00:00Z" }]);
    let executed = |ended: &str, created: &str| {
        format!(
            "closed\noutcome       executed\njob           backup-29540760{created}\nended         {ended}"
        )
    };
    let created = "  created 2026-03-02T10:45:23Z, 1 s after the chosen time";
    for (phase, ended) in [(Phase::Succeeded, "succeeded"), (Phase::Failed, "failed")] {
        let mut fact = fact("2026-03-02T10:00:00Z", phase);
        fact.finished = Some("2026-03-02T10:50:00Z".parse().unwrap());
        let expected = executed(&format!("2026-03-02T10:50:00Z  {ended}"), created);
        check(DAILY, &status, vec![fact], at, &expected);
    }
    let gone = executed("deleted before anybody saw how it finished", "");
    check(DAILY, &status, vec![], at, &gone);
    // Only the status can be seen.
    let value = serde_json::from_value(self::status(&job(DAILY), &status)).unwrap();
    let seen = Seen { status: Some(value), generation: GENERATION, ..Seen::default() };
    assert_eq!(
        tell(DAILY, Some(&seen), Some(at)),
        "running\noutcome       executed: running as Job backup-29540760"
    );
}

/// OPR-10: what was decided by an earlier spec is told as it was recorded, and nothing is said
/// of what is not known of it.
#[test]
fn earlier_specs() {
    let chosen = "2026-03-02T10:14:54Z";
    let executed = json!({ "chosenTime": chosen, "job": "backup-29540760", "result": "succeeded" });
    let history = entry("executed", &executed);
    let mut early = fact("2026-03-02T10:00:00Z", Phase::Succeeded);
    early.created = "2026-03-02T10:14:57Z".parse().unwrap();
    let last = json!({ "lastPeriod": {
        "periodId": "2026-03-02T10:00:00Z", "nominalTime": "2026-03-02T10:00:00Z",
        "chosenTime": "2026-03-02T10:45:22Z", "outcome": "missed", "reason": "too late",
        "seedHash": "0".repeat(64),
    } });
    let line = |at: &str| {
        let minutes = if at.contains("10:14") { "1h 45m" } else { "1h 14m" };
        format!(
            "closed\nchosen        {at}  Mon {} +00:00  {minutes} ago  (decided by an earlier spec)\noutcome       ",
            at.replace(['T', 'Z'], " ").trim()
        )
    };
    let ended = "executed\njob           backup-29540760  created 2026-03-02T10:14:57Z, 3 s after the chosen time\nended         succeeded";
    check(DAILY, &history, vec![early], "2026-03-02", &format!("{}{ended}", line(chosen)));
    // The same second by another seed.
    check(
        DAILY,
        &last,
        vec![],
        "2026-03-02",
        &format!("{}missed: too late", line("2026-03-02T10:45:22Z")),
    );
    // By what the status has kept of the other spec.
    let earlier = job("0 10 * * * @win(after,30m)");
    let decision = earlier.decide("2026-03-02T10:00:00Z".parse().unwrap());
    let schedule = earlier.schedule().to_string();
    let kept = json!({ "lastPeriod": {
        "periodId": "2026-03-02T10:00:00Z", "nominalTime": "2026-03-02T10:00:00Z",
        "chosenTime": decision.chosen().unwrap().to_string(), "outcome": "missed",
        "reason": "too late", "seedHash": decision.seed_hash().to_string(),
        "schedule": schedule, "generation": 2,
    } });
    let told = format!(
        "closed\ndecided by    an earlier spec: {schedule}\noutcome       missed: too late"
    );
    check(DAILY, &kept, vec![], "2026-03-02", &told);
    // Of a schedule that has no such period.
    let other = "30 11 * * * @win(after,1h)";
    let exact = "2026-03-02T10:00:00Z";
    let missed = entry("missed", &json!({ "chosenTime": chosen, "reason": "too late" }));
    check(other, &missed, vec![], exact, &format!("{}missed: too late", line(chosen)));
}

#[test]
fn what_will_be() {
    check(
        DAILY,
        &json!({}),
        vec![],
        "2026-03-03",
        "waiting\noutcome       will run in 22h 16m\nif late       missed from 1s after the chosen time on",
    );
    check(
        "0 10 * * * @win(after,1h) @policy(deadline=5m)",
        &json!({}),
        vec![],
        "2026-03-03",
        "waiting\noutcome       will run in 22h 16m\nif late       missed from 5m after the chosen time on",
    );
    check(
        "0 10 * * * @win(after,1h) @policy(suspend=true)",
        &json!({}),
        vec![],
        "2026-03-03",
        "suspended\noutcome       the job is suspended: nothing happens, and nothing is recorded; once it is resumed, the latest period that passed runs if its deadline allows",
    );
    check(
        "0 10 * * * @win(after,1h) @only(hours=3)",
        &json!({}),
        vec![],
        "2026-03-03",
        "waiting\noutcome       will be unschedulable: the constraints allow no second of the window",
    );
    let condition = |kind: &str, message: &str| {
        json!({ "conditions": [{
            "type": kind, "status": "True", "reason": "Because", "message": message,
            "lastTransitionTime": NOW,
        }] })
    };
    check(
        DAILY,
        &condition("InvalidSpec", "spec.jobTemplate: no"),
        vec![],
        "2026-03-03",
        "invalid\nInvalidSpec: spec.jobTemplate: no\noutcome       does not run: the spec cannot be used: spec.jobTemplate: no",
    );
    // Due at the very second.
    let next = |parts: Value| {
        let mut all = json!({
            "nextPeriod": { "periodId": NOW, "nominalTime": NOW, "chosenTime": NOW, "seedHash": "" }
        });
        for (key, value) in parts.as_object().unwrap() {
            all[key] = value.clone();
        }
        all
    };
    let noon = "0 12 * * *";
    check(noon, &next(json!({})), vec![], NOW, "starting\noutcome       is being started");
    let pending = json!({ "pending": [{ "periodId": NOW, "nominalTime": NOW, "chosenTime": NOW, "seedHash": "" }] });
    check(noon, &pending, vec![], NOW, "starting\noutcome       is being started");
    check(
        noon,
        &next(condition("SchedulingError", "quota")),
        vec![],
        NOW,
        "blocked\nSchedulingError: quota\noutcome       could not be started yet: quota; missed at 2026-03-02T12:00:01Z",
    );
    check(
        noon,
        &json!({}),
        vec![],
        NOW,
        "overdue\noutcome       is due, and the operator has not judged it: it is busy, or not running",
    );
    let replace = "0 12 * * * @policy(concurrency=replace)";
    check(
        replace,
        &next(json!({})),
        vec![fact("2026-03-01T10:00:00Z", Phase::Active)],
        NOW,
        "replacing\noutcome       waits for the execution before it to end",
    );
}

/// Without a time: the last, those that run, and the next.
#[test]
fn around_now() {
    let last = json!({
        "lastPeriod": {
            "periodId": "2026-03-02T10:00:00Z", "nominalTime": "2026-03-02T10:00:00Z",
            "chosenTime": "2026-03-02T10:45:22Z", "outcome": "missed", "reason": "too late",
        },
    });
    check(
        DAILY,
        &last,
        vec![],
        "",
        "closed\noutcome       missed: too late\noutcome       will run in 22h 16m\nif late       missed from 1s after the chosen time on",
    );
    check(
        "0 10 * * * @win(after,1h) @policy(suspend=true)",
        &last,
        vec![],
        "",
        "closed\noutcome       missed: too late\noutcome       the job is suspended: nothing happens, and nothing is recorded; once it is resumed, the latest period that passed runs if its deadline allows",
    );
}

/// A file says nothing of what has been.
#[test]
fn without_a_cluster() {
    for (schedule, at, expected) in [
        (
            DAILY,
            None,
            "waiting\noutcome       will run in 22h 16m\nif late       missed from 1s after the chosen time on",
        ),
        (
            DAILY,
            Some("2026-03-02"),
            "unknown\noutcome       not known: a file does not say what has been; without `-f` the cluster is asked",
        ),
        (
            DAILY,
            Some("2026-03-03"),
            "waiting\noutcome       will run in 22h 16m\nif late       missed from 1s after the chosen time on",
        ),
        (DAILY, Some("soon"), "`soon` is not a time"),
        (
            "0 10 * * * @policy(suspend=true)",
            None,
            "suspended\noutcome       the job is suspended: nothing happens, and nothing is recorded; once it is resumed, the latest period that passed runs if its deadline allows",
        ),
        (
            "0 10 * * * @win(after,1h) @only(hours=3)",
            None,
            "waiting\noutcome       will be unschedulable: the constraints allow no second of the window",
        ),
    ] {
        assert_eq!(tell(schedule, None, at), expected, "{schedule} {at:?}");
    }
}

/// What the operator has not seen is said, and an edit does not fire.
#[test]
fn a_status_that_is_behind() {
    let seen = |schedule: &str, observed: Option<i64>| {
        let mut value = status(&job(schedule), &json!({}));
        value["observedGeneration"] = json!(observed);
        Seen {
            status: serde_json::from_value(value).unwrap(),
            generation: GENERATION,
            ..Seen::default()
        }
    };
    for (observed, expected) in [
        (Some(3), vec![]),
        (Some(2), vec!["the operator has seen generation 2 of the spec; this is generation 3"]),
        (None, vec!["the operator has not looked at it yet"]),
    ] {
        let seen = seen(DAILY, observed);
        let (now, zones) = (NOW.parse().unwrap(), Zones::bundled());
        let answer = answer("backup", &job(DAILY), Some(&seen), None, now, &zones).unwrap();
        let value = serde_json::to_value(answer).unwrap();
        assert_eq!(value["remarks"], json!(expected), "{observed:?}");
    }
    let edited = "0 11 * * * @win(after,1h)";
    assert_eq!(
        tell(edited, Some(&seen(DAILY, Some(2))), Some("2026-03-02")),
        "beforeFirst\noutcome       does not run: it was due before 2026-03-02T12:00:00Z, when the operator first saw the job, its present schedule, or it after an absence, or forgot its marks on request"
    );
}

/// Of many Events the newest that speak of the period.
#[test]
fn events() {
    let told = |minute: u32, period: &str| Told {
        at: format!("2026-03-02T10:{minute:02}:00Z"),
        reason: "NotCreated".into(),
        note: format!("the Job of period {period} cannot be created: {minute}"),
    };
    let today = "2026-03-02T10:00:00Z";
    let events = vec![
        told(5, today),
        told(1, today),
        told(3, today),
        told(2, today),
        told(9, "2026-03-01T10:00:00Z"),
    ];
    let status = serde_json::from_value(status(&job(DAILY), &json!({}))).unwrap();
    let seen = Seen { status: Some(status), events, generation: GENERATION, ..Seen::default() };
    let event = |minute: u32| {
        format!(
            "\nevent         2026-03-02T10:{minute:02}:00Z  NotCreated: the Job of period {today} cannot be created: {minute}"
        )
    };
    let expected = closed(&[2, 3, 5].map(event).concat());
    assert_eq!(tell(DAILY, Some(&seen), Some("2026-03-02")), expected);
}

/// A spec that cannot be used takes nothing away from what was recorded.
#[test]
fn what_was_recorded() {
    assert_eq!(recorded(&serde_json::from_value(json!({})).unwrap()), "");
    let status = json!({ "history": [
        { "periodId": "2026-03-02T10:01:00Z", "chosenTime": "2026-03-02T10:01:07Z",
          "outcome": "missed", "reason": "too late" },
        { "periodId": "2026-03-02T10:00:00Z", "chosenTime": "2026-03-02T10:00:05Z",
          "outcome": "executed", "job": "a-29541240", "result": "succeeded" },
    ] });
    let lines: Vec<String> = recorded(&serde_json::from_value(status).unwrap())
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    // Behind the heads of the columns.
    assert_eq!(
        lines[1..],
        [
            "2026-03-02T10:00:00Z 2026-03-02T10:00:05Z executed a-29541240 succeeded",
            "2026-03-02T10:01:00Z 2026-03-02T10:01:07Z missed - - too late",
            "",
        ]
    );
}
