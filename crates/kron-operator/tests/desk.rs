//! What is known of a `KronJob`, and what is not carried over from another of its name or
//! from before an edit.

use k8s_openapi::api::batch::v1::Job;
use kron_core::{PeriodId, UtcInstant};
use kron_operator::api::KronJob;
use kron_operator::book::Book;
use kron_operator::convert;
use kron_operator::desk::{Desk, Key, Untold, key};
use kron_operator::obstacle::Obstacle;
use kron_operator::plan::Remark;
use kron_operator::trial::{Trial, Tried};
use kube::api::DynamicObject;
use serde_json::{Value, json};
use std::time::Duration;

const NOW: &str = "2026-03-02T10:00:30Z";

fn now() -> UtcInstant {
    NOW.parse().unwrap()
}

fn after(seconds: u64) -> UtcInstant {
    now().saturating_add(Duration::from_secs(seconds))
}

fn period() -> PeriodId {
    "2026-03-02T10:00:00Z".parse().unwrap()
}

fn kronjob(uid: &str, version: &str, generation: i64, status: &Value) -> KronJob {
    let object = json!({
        "apiVersion": "kron.io/v1alpha1",
        "kind": "KronJob",
        "metadata": {
            "name": "a", "namespace": "shop", "uid": uid, "resourceVersion": version,
            "generation": generation, "creationTimestamp": "2026-03-02T09:00:00Z",
        },
        "spec": { "schedule": "* * * * *", "jobTemplate": { "spec": {} } },
        "status": status,
    });
    serde_json::from_value(object).unwrap()
}

fn job(created: &str) -> Job {
    let object = json!({
        "metadata": {
            "name": "a-1", "namespace": "shop", "uid": "j", "creationTimestamp": created,
            "labels": { "kron.io/kronjob": "a" },
            "annotations": { "kron.io/period-id": "2026-03-02T10:00:00Z" },
            "ownerReferences": [{
                "apiVersion": "kron.io/v1alpha1", "kind": "KronJob", "name": "a", "uid": "u",
                "controller": true,
            }],
        },
    });
    serde_json::from_value(object).unwrap()
}

fn refused(generation: i64) -> Trial {
    let tried = Tried::Invalid("refused".into());
    Trial { generation, tried, attempts: 0, again_at: None }
}

fn known(desk: &mut Desk) -> Key {
    desk.learn(kronjob("u", "1", 1, &json!({})), now()).0
}

/// OPR-06: what the API server said of a template is about one object and one generation.
#[test]
fn another_object_has_a_template_of_its_own() {
    let mut desk = Desk::default();
    let key = known(&mut desk);
    let entry = desk.entry(&key).unwrap();
    entry.template = Some(refused(1));
    entry.checking = Some(1);
    desk.learn(kronjob("v", "2", 1, &json!({})), now());
    let entry = desk.entry(&key).unwrap();
    assert_eq!((&entry.template, entry.checking), (&None, None));
}

/// OPR-09: what was not judged because its template was refused is not attended.
#[test]
fn a_refused_template_rests() {
    let mut desk = Desk::default();
    let key = known(&mut desk);
    desk.entry(&key).unwrap().template = Some(refused(1));
    desk.learn(kronjob("u", "2", 2, &json!({})), after(60));
    assert_eq!(desk.entry(&key).unwrap().since, Some(after(60)));
    desk.learn(kronjob("u", "3", 3, &json!({})), after(90));
    assert_eq!(desk.entry(&key).unwrap().since, Some(after(60)));
}

/// Fault 44: a template that turns out to be in order after all is looked at again, and what
/// was not judged meanwhile was not attended.
#[test]
fn a_template_that_is_asked_about_again() {
    let mut desk = Desk::default();
    let key = known(&mut desk);
    let fine = Trial { tried: Tried::Fine, ..refused(1) };
    let denied =
        Trial { tried: Tried::Denied("no".into()), again_at: Some(after(9)), ..refused(1) };
    for (uid, trial, at, is_news, since) in [
        ("u", fine.clone(), 10, false, 0),
        ("u", denied.clone(), 20, true, 0),
        ("u", denied, 30, false, 0),
        ("u", refused(1), 40, true, 0),
        ("v", fine.clone(), 50, false, 0),
        ("u", refused(2), 60, false, 0),
        ("u", fine, 70, true, 70),
    ] {
        assert_eq!(desk.tried(&key, uid, trial, after(at)), is_news, "{at}");
        assert_eq!(desk.entry(&key).unwrap().since, Some(after(since)), "{at}");
    }
}

/// OPR-03: an edit does not stop a request that is under way; another object has nothing to
/// do with it.
#[test]
fn what_is_under_way_outlives_an_edit() {
    for (uid, lands_until, is_kept) in
        [("u", Some(after(9)), true), ("u", None, false), ("v", Some(after(9)), false)]
    {
        let mut desk = Desk::default();
        let key = known(&mut desk);
        let obstacle = Obstacle {
            period: period(),
            why: "no answer".into(),
            is_own: false,
            attempts: 5,
            retry_at: after(20),
            lands_until,
        };
        desk.entry(&key).unwrap().obstacles.push(obstacle);
        desk.learn(kronjob(uid, "2", 2, &json!({})), now());
        let obstacles = &desk.entry(&key).unwrap().obstacles;
        assert_eq!(!obstacles.is_empty(), is_kept, "{uid} {lands_until:?}");
        // But the new definition need not wait.
        assert!(obstacles.iter().all(|obstacle| obstacle.retry_at == now()));
    }
}

/// OPR-03: a list is as old as its beginning, and knows nothing of what it lacks.
#[test]
fn when_a_list_is_enough() {
    let mut desk = Desk::default();
    let key = known(&mut desk);
    assert!(!desk.is_live(&key, now()));
    desk.job_list_begins(now());
    desk.job_list_ends(after(1));
    assert!(desk.is_live(&key, after(2)));
    assert!(!desk.is_live(&key, after(3)));
    // It may have begun before this was created.
    desk.learn_job(&job("2026-03-02T10:00:29Z"));
    desk.job_list_begins(now());
    desk.job_list_ends(after(1));
    assert_eq!(desk.entry(&key).unwrap().jobs.len(), 1);
    assert!(!desk.is_live(&key, after(2)));
    desk.learn_jobs(&key, &[]);
    assert!(desk.is_live(&key, after(2)));
}

/// OPR-03: what was heard while the Jobs were asked for may be newer than the answer.
#[test]
fn an_answer_that_is_overtaken() {
    let finished = |mut job: Job| {
        let status = json!({ "conditions": [{ "type": "Complete", "status": "True" }] });
        job.status = Some(serde_json::from_value(status).unwrap());
        job
    };
    let created = "2026-03-02T10:00:01Z";
    // Whether it was known before, heard of, or heard to be gone; whether the list has it; how
    // many are known then, active ones, and whether nothing more is to be asked.
    for (before, heard, list, jobs, active, is_live) in [
        (true, "", true, 1, 1, true),
        (true, "", false, 0, 0, true),
        (true, "finished", true, 1, 0, true),
        (true, "gone", true, 0, 0, true),
        (false, "created", false, 1, 1, false),
        (false, "created", true, 1, 1, true),
    ] {
        let mut desk = Desk::default();
        let key = known(&mut desk);
        desk.job_list_begins(now());
        if before {
            desk.learn_job(&job(created));
        }
        desk.job_list_ends(now());
        desk.ask_jobs(&key, true);
        match heard {
            "finished" => drop(desk.learn_job(&finished(job(created)))),
            "gone" => drop(desk.forget_job(&job(created))),
            "created" => drop(desk.learn_job(&job(created))),
            _ => {}
        }
        let answer = if list { vec![job(created)] } else { Vec::new() };
        desk.learn_jobs(&key, &answer);
        let row = format!("{before} {heard} {list}");
        assert_eq!(desk.entry(&key).unwrap().jobs.len(), jobs, "{row}");
        assert_eq!(desk.active(), active, "{row}");
        assert_eq!(desk.is_live(&key, now()), is_live, "{row}");
    }
}

/// OPR-04: a Job that lost its owner while we kept it is known until we let it go.
#[test]
fn a_job_without_an_owner() {
    let mut orphan = job("2026-03-02T10:00:01Z");
    orphan.metadata.owner_references = None;
    let mut desk = Desk::default();
    assert_eq!(desk.learn_job(&orphan), None);
    assert!(desk.keys().is_empty());
    orphan.metadata.finalizers = Some(vec!["kron.io/recorded".into()]);
    let key = desk.learn_job(&orphan).unwrap();
    assert_eq!(desk.entry(&key).unwrap().jobs["a-1"].owner, "");
    orphan.metadata.finalizers = None;
    assert_eq!(desk.learn_job(&orphan), Some(key.clone()));
    assert!(desk.entry(&key).unwrap().jobs.is_empty());
}

/// Fault 43: what failed is tried again when the next period is due, if not before; and before
/// it is too late for one that is due.
#[test]
fn a_failure_does_not_put_off_what_is_due() {
    // Due thirty seconds from now; deadline, seconds by now, pause, and when it is looked at.
    for (deadline, at, pause, wakes) in [
        ("0s", 0, 10, 10),
        ("0s", 0, 60, 30),
        ("0s", 30, 60, 31),
        ("20s", 30, 60, 40),
        ("20s", 30, 5, 35),
        ("20s", 48, 60, 49),
        ("20s", 51, 60, 111),
        ("10m", 30, 60, 90),
    ] {
        for claims in ["nextPeriod", "pending"] {
            let claim = json!({
                "periodId": "2026-03-02T10:01:00Z", "nominalTime": "2026-03-02T10:01:00Z",
                "chosenTime": "2026-03-02T10:01:00Z", "seedHash": "",
            });
            let claim = if claims == "pending" { json!([claim]) } else { claim };
            let mut kronjob = kronjob("u", "1", 1, &json!({ claims: claim }));
            kronjob.spec.policy.deadline = deadline.into();
            let mut desk = Desk::default();
            let (key, _) = desk.learn(kronjob, now());
            desk.wake_by(&key, after(at + pause), after(at));
            let wake = desk.next_wake().unwrap().floor();
            assert_eq!(wake.instant(), after(wakes), "{claims} {deadline} {at} {pause}");
        }
    }
}

/// OPR-06, Fault 45: what cannot be read of one object is about that object.
#[test]
fn what_cannot_be_read() {
    let object = |path: &str, value: Value| {
        let mut object = serde_json::to_value(kronjob("u", "1", 1, &json!({}))).unwrap();
        *object.pointer_mut(path).unwrap() = value;
        serde_json::from_value::<DynamicObject>(object).unwrap()
    };
    let many = json!({ "activeCount": 5_000_000_000_u64, "history": 7 });
    for (object, unreadable, invalid) in [
        (object("/status", json!(null)), "", ""),
        (object("/status", json!({ "activeCount": 5 })), "", ""),
        (
            object("/status", many),
            "status.activeCount: invalid value: integer `5000000000`, expected u32; \
             status.history: invalid type: integer `7`, expected a sequence",
            "",
        ),
        (
            object("/spec/failedJobsHistoryLimit", json!(-1)),
            "",
            "spec: it cannot be read: invalid value: integer `-1`, expected u32",
        ),
    ] {
        let mut desk = Desk::default();
        let (key, is_news) = desk.learn(object, now());
        assert!(is_news);
        let held = desk.entry(&key).unwrap().held.clone().unwrap();
        assert_eq!(held.unreadable.unwrap_or_default(), unreadable);
        let told = held.job.as_ref().as_ref().err().map(ToString::to_string).unwrap_or_default();
        assert!(told.starts_with(invalid) && told.is_empty() == invalid.is_empty(), "{told}");
        // Nobody knows how many are kept: then all are.
        let limits = if invalid.is_empty() { (3, 1) } else { (u32::MAX, u32::MAX) };
        assert_eq!(held.limits, limits);
    }
}

/// OPR-06: a spec that breaks the program is invalid, and the others are read.
#[test]
fn a_spec_that_breaks_the_reader() {
    let mut desk = Desk::reading(|namespace, name, spec, zones| {
        assert_ne!(spec.schedule, "6 6 6 6 6", "injected");
        convert::job(namespace, name, spec, zones)
    });
    for (version, schedule, is_valid) in
        [("1", "* * * * *", true), ("2", "6 6 6 6 6", false), ("3", "1 * * * *", true)]
    {
        let mut kronjob = kronjob("u", version, version.parse().unwrap(), &json!({}));
        kronjob.spec.schedule = schedule.into();
        let (key, _) = desk.learn(kronjob, now());
        let held = desk.entry(&key).unwrap().held.clone().unwrap();
        assert_eq!(held.job.is_ok(), is_valid, "{schedule}");
    }
}

/// Another object of the same name is not forgotten because this one is gone.
#[test]
fn which_object() {
    let mut desk = Desk::default();
    let known = known(&mut desk);
    assert!(desk.is_of(&known, "u"));
    assert!(!desk.is_of(&known, "v"));
    assert!(!desk.is_of(&key("shop".into(), "b".into()), "u"));
}

/// OBS-01: what a write that had no answer was to say is told when it is known to have been
/// heard, and only then.
#[test]
fn writes_without_an_answer() {
    let marks = |through: &str| json!({ "marks": { "notBefore": "2026-03-02T09:00:00Z", "handledThrough": through } });
    let (before, written, other) = (
        marks("2026-03-02T09:59:00Z"),
        marks("2026-03-02T10:00:00Z"),
        marks("2026-03-02T10:01:00Z"),
    );
    for (uid, version, generation, status, is_told, is_kept) in [
        // Nothing is known yet.
        ("u", "1", 1, &before, false, true),
        ("u", "2", 1, &written, true, false),
        // It was edited after that, or before.
        ("u", "3", 2, &written, true, false),
        ("u", "2", 2, &before, false, false),
        // Somebody else wrote.
        ("u", "2", 1, &other, false, false),
        // It is another object.
        ("v", "2", 1, &written, false, false),
    ] {
        let row = format!("{uid} {version} {generation} {status}");
        let mut desk = Desk::default();
        let (key, _) = desk.learn(kronjob("u", "1", 1, &before), now());
        let book = |kronjob: &KronJob| {
            let mut desk = Desk::default();
            let (key, _) = desk.learn(kronjob.clone(), now());
            let held = desk.entry(&key).unwrap().held.clone().unwrap();
            let job = Result::as_ref(&held.job).unwrap();
            Book::read(Some(&held.status), job, held.created, now()).0
        };
        desk.keep_untold(
            &key,
            Untold {
                uid: "u".into(),
                version: "1".into(),
                generation: 1,
                book: book(&kronjob("u", "2", 1, &written)),
                remarks: vec![Remark::Planned(period())],
            },
        );
        // Another attempt had no answer either.
        desk.keep_untold(
            &key,
            Untold {
                uid: "u".into(),
                version: "1".into(),
                generation: 1,
                book: book(&kronjob("u", "2", 1, &marks("2026-03-02T10:05:00Z"))),
                remarks: Vec::new(),
            },
        );
        // A third, while there is no answer for long.
        desk.keep_untold(
            &key,
            Untold {
                uid: "u".into(),
                version: "1".into(),
                generation: 1,
                book: book(&kronjob("u", "2", 1, &other)),
                remarks: vec![Remark::Planned(period())],
            },
        );
        assert_eq!(desk.entry(&key).unwrap().untold.len(), 2, "{row}");
        let current = kronjob(uid, version, generation, status);
        desk.learn(current.clone(), now());
        let held = desk.entry(&key).unwrap().held.clone().unwrap();
        let told = desk.heard_of(&key, &held, &book(&current));
        let told = told.is_some_and(|told| !told.remarks.is_empty());
        assert_eq!(told, is_told, "{row}");
        assert_eq!(!desk.entry(&key).unwrap().untold.is_empty(), is_kept, "{row}");
    }
}
