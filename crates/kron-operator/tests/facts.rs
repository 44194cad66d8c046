//! What is seen in a Job of the cluster (OPR-03): whose it is, its period, and what has
//! become of it.

use k8s_openapi::api::batch::v1::Job;
use kron_operator::facts::{Fact, kronjob_of};
use serde_json::{Value, json};

const SEED: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// A Job as this program creates it.
fn job() -> Value {
    json!({
        "metadata": {
            "name": "a-29540760",
            "namespace": "shop",
            "uid": "job-uid",
            "creationTimestamp": "2026-03-02T10:00:01Z",
            "labels": { "kron.io/kronjob": "a", "kron.io/period": "20260302T100000Z" },
            "annotations": {
                "kron.io/period-id": "2026-03-02T10:00:00Z",
                "kron.io/chosen-time": "2026-03-02T10:00:00Z",
                "kron.io/seed-hash": SEED,
            },
            "finalizers": ["kron.io/recorded"],
            "ownerReferences": [{
                "apiVersion": "kron.io/v1alpha1", "kind": "KronJob", "name": "a",
                "uid": "owner-uid", "controller": true, "blockOwnerDeletion": true,
            }],
        },
    })
}

/// The same with other values at some places.
fn with(changes: &[(&str, Value)]) -> Value {
    let mut job = job();
    for (place, value) in changes {
        match job.pointer_mut(place) {
            Some(known) => *known = value.clone(),
            None => {
                let (parent, key) = place.rsplit_once('/').expect("a place");
                let parent = job.pointer_mut(parent).expect("where it belongs");
                parent[key] = value.clone();
            }
        }
    }
    job
}

/// What is seen of a Job, in short.
#[track_caller]
fn check(changes: &[(&str, Value)], expected: &str) {
    let job: Job = serde_json::from_value(with(changes)).expect("a Job");
    let seen = Fact::of(&job).map_or("nobody's".into(), |fact| {
        let finished = fact.finished.map_or(String::new(), |at| format!(" at {at}"));
        let held = if fact.is_held { " held" } else { "" };
        let going = if fact.is_going { " going" } else { "" };
        assert_eq!((&*fact.name, &*fact.uid), ("a-29540760", "job-uid"));
        assert_eq!(fact.created.to_string(), "2026-03-02T10:00:01Z");
        assert_eq!(fact.seed_hash.map(|hash| hash.to_string()).as_deref(), Some(SEED));
        format!("{} {} {:?}{finished}{held}{going}", fact.owner, fact.period, fact.phase)
    });
    assert_eq!(seen, expected, "{changes:?}");
}

#[test]
fn phases() {
    let condition = |kind: &str, status: &str| json!({ "type": kind, "status": status, "lastTransitionTime": "2026-03-02T10:05:00Z" });
    let status = |conditions: &[Value]| ("/status", json!({ "conditions": conditions }));
    let ours = "owner-uid 2026-03-02T10:00:00Z";
    let check = |conditions: &[Value], expected: &str| {
        check(&[status(conditions)], &format!("{ours} {expected} held"));
    };
    check(&[], "Active");
    check(&[condition("Complete", "True")], "Succeeded at 2026-03-02T10:05:00Z");
    check(&[condition("Failed", "True")], "Failed at 2026-03-02T10:05:00Z");
    check(&[condition("Complete", "False")], "Active");
    check(&[condition("Complete", "Unknown"), condition("Failed", "False")], "Active");
    // On its way to be finished, its pods still run.
    check(&[condition("SuccessCriteriaMet", "True")], "Active");
    check(&[condition("FailureTarget", "True")], "Active");
    check(&[condition("Suspended", "True")], "Active");
    let both = [condition("FailureTarget", "True"), condition("Failed", "True")];
    check(&both, "Failed at 2026-03-02T10:05:00Z");
}

#[test]
fn completion() {
    let status = json!({
        "completionTime": "2026-03-02T10:04:00Z",
        "conditions": [{ "type": "Complete", "status": "True" }],
    });
    let ours = "owner-uid 2026-03-02T10:00:00Z";
    check(&[("/status", status)], &format!("{ours} Succeeded at 2026-03-02T10:04:00Z held"));
    // Nobody has said when.
    let status = json!({ "conditions": [{ "type": "Failed", "status": "True" }] });
    check(&[("/status", status)], &format!("{ours} Failed held"));
}

#[test]
fn holding_and_going() {
    let ours = "owner-uid 2026-03-02T10:00:00Z Active";
    let going = ("/metadata/deletionTimestamp", json!("2026-03-02T10:03:00Z"));
    check(&[], &format!("{ours} held"));
    check(std::slice::from_ref(&going), &format!("{ours} held going"));
    let others = ("/metadata/finalizers", json!(["foregroundDeletion"]));
    check(std::slice::from_ref(&others), ours);
    check(&[others, going], &format!("{ours} going"));
    check(&[("/metadata/finalizers", json!([]))], ours);
}

/// OPR-03: only what this program created for that very object counts.
#[test]
fn whose() {
    let owner = "/metadata/ownerReferences/0";
    let at = |key: &str| format!("{owner}/{key}");
    // Whoever is nobody's any more, and is kept by us all the same, has to be let go.
    let orphan = " 2026-03-02T10:00:00Z Active held";
    let free = ("/metadata/finalizers", json!([]));
    let none = ("/metadata/ownerReferences", json!([]));
    check(std::slice::from_ref(&none), orphan);
    check(&[none, free.clone()], "nobody's");
    check(&[(&at("controller"), json!(false))], orphan);
    check(&[(&at("controller"), Value::Null)], orphan);
    check(&[(&at("controller"), Value::Null), free], "nobody's");
    check(&[(&at("kind"), json!("CronJob"))], "nobody's");
    check(&[(&at("apiVersion"), json!("batch/v1"))], "nobody's");
    check(&[(&at("apiVersion"), json!("kron.io.example/v1"))], "nobody's");
    check(&[("/metadata/annotations", json!({}))], "nobody's");
    check(&[("/metadata/annotations/kron.io~1period-id", json!("10 o'clock"))], "nobody's");
    // Another version of the resource is the same resource.
    let ours = "2026-03-02T10:00:00Z Active held";
    check(&[(&at("apiVersion"), json!("kron.io/v1"))], &format!("owner-uid {ours}"));
    check(&[(&at("uid"), json!("another"))], &format!("another {ours}"));
}

/// The chosen time is told to people; without it a Job is ours all the same.
#[test]
fn chosen_times() {
    let chosen = |changes: &[(&str, Value)]| {
        let job: Job = serde_json::from_value(with(changes)).expect("a Job");
        assert_eq!(kronjob_of(&job), Some("a"));
        Fact::of(&job).expect("ours").chosen.map(|chosen| chosen.to_string())
    };
    let place = "/metadata/annotations/kron.io~1chosen-time";
    assert_eq!(chosen(&[]).as_deref(), Some("2026-03-02T10:00:00Z"));
    assert_eq!(chosen(&[(place, json!("soon"))]), None);
}
