//! What is said of troubles and what is left of them (OPR-06, OPR-07, ERR-02).

use crate::{Scene, Setting, period};
use k8s_openapi::api::batch::v1::Job;
use kron_operator::cluster::Call;
use kron_operator::tell::now;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn generation(kronjob: &mut Value) {
    kronjob["metadata"]["generation"] = 2.into();
}

/// A Job that could not be created is nobody's trouble any more when its period is not due by the
/// spec as it is; though that request may still be heard.
#[tokio::test]
async fn an_obstacle_that_an_edit_takes_away() {
    for edit in [
        |kronjob: &mut Value| kronjob["spec"]["policy"]["suspend"] = true.into(),
        |kronjob: &mut Value| kronjob["spec"]["schedule"] = "0 0 1 1 *".into(),
    ] {
        let refuses = |asked: &str| (asked == "POST /jobs").then_some(500);
        let mut scene = Scene::set(Setting { refuses, ..Setting::default() }).await;
        scene.look().await;
        assert_eq!(scene.condition("SchedulingError")["reason"], "NotCreated");
        scene.edit(|kronjob| {
            generation(kronjob);
            edit(kronjob);
        });
        scene.look().await;
        let error = scene.condition("SchedulingError");
        assert_eq!(error["status"], "False", "{error}");
        assert_eq!(scene.server.count("POST /jobs"), 1);
    }
}

/// Fault 45: a status or a spec that cannot be read is told of; nothing runs by it, and the
/// status is mended.
#[tokio::test]
async fn what_cannot_be_read() {
    for (place, value, condition, reason) in [
        ("/status/activeCount", json!(5_000_000_000_u64), "SchedulingError", "StatusLost"),
        ("/spec/policy/suspend", json!("no"), "InvalidSpec", "InvalidSchedule"),
    ] {
        let mut scene = Scene::set(Setting::default()).await;
        scene.edit(|kronjob| {
            generation(kronjob);
            let (parent, key) = place.rsplit_once('/').unwrap();
            kronjob.pointer_mut(parent).unwrap()[key] = value.clone();
        });
        scene.look().await;
        let found = scene.condition(condition);
        assert_eq!((&found["status"], &found["reason"]), (&json!("True"), &json!(reason)));
        assert_eq!(scene.server.count("POST /jobs"), 0, "{place}");
        let state = scene.server.state.lock().unwrap();
        assert_eq!(state.kronjob["status"]["activeCount"], 0, "{place}");
    }
}

/// A definition in the cluster that is older than the program: what it drops of the status is not
/// written again and again, and the look comes to its end.
#[tokio::test]
async fn an_older_definition() {
    let mut scene = Scene::set(Setting::default()).await;
    scene.server.state.lock().unwrap().prunes = true;
    scene.look().await;
    let writes = scene.server.count("PATCH /status");
    assert_eq!(scene.server.count("POST /jobs"), 1);
    // There is nothing left to do for now.
    assert!(scene.context.desk().next_wake() > Some(now()));
    scene.look().await;
    assert_eq!(scene.server.count("PATCH /status"), writes);
    // Whatever changes about the object shows that it was dropped; it is written once more.
    scene.edit(|kronjob| kronjob["metadata"]["labels"] = json!({ "a": "b" }));
    scene.look().await;
    assert_eq!(scene.server.count("PATCH /status"), writes + 1);
    scene.look().await;
    assert_eq!(scene.server.count("PATCH /status"), writes + 1);
}

/// OPR-06: why a period was not executed is not forgotten if recording it fails at first.
#[tokio::test]
async fn an_obstacle_is_kept_until_it_is_recorded() {
    static FULL: AtomicBool = AtomicBool::new(false);
    static REFUSED: AtomicBool = AtomicBool::new(false);
    let refuses = |asked: &str| match asked {
        "POST /jobs" => Some(422),
        "PATCH /status"
            if FULL.load(Ordering::Relaxed) && !REFUSED.swap(true, Ordering::Relaxed) =>
        {
            Some(500)
        }
        _ => None,
    };
    let age = now().since(period().nominal().instant()).unwrap();
    let deadline = Duration::from_secs(age.as_secs() + 3);
    let policy = json!({ "deadline": format!("{}s", deadline.as_secs()) });
    let scene = Scene::set(Setting { policy, refuses, ..Setting::default() }).await;
    scene.look().await;
    let is_over = || scene.period.nominal().instant().saturating_add(deadline) < now();
    while !is_over() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    FULL.store(true, Ordering::Relaxed);
    scene.look().await;
    scene.look().await;
    assert!(REFUSED.load(Ordering::Relaxed));
    let state = scene.server.state.lock().unwrap();
    let last = &state.kronjob["status"]["lastPeriod"];
    assert_eq!(last["outcome"], "missed");
    assert!(last["reason"].as_str().unwrap().contains("last attempt"), "{last}");
}

/// OPR-03: what is being deleted creates nothing, however long somebody else keeps it.
#[tokio::test]
async fn one_that_is_going() {
    for (is_going, created) in [(false, 1), (true, 0)] {
        let mut scene = Scene::set(Setting::default()).await;
        scene.edit(|kronjob| {
            kronjob["metadata"]["finalizers"] = json!(["example.com/theirs"]);
            if is_going {
                kronjob["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
            }
        });
        scene.look().await;
        assert_eq!(scene.server.count("POST /jobs"), created);
    }
}

/// OPR-07: whatever breaks in a look, it is told of, and tried again.
#[tokio::test]
async fn a_look_that_breaks() {
    static BREAKS: AtomicBool = AtomicBool::new(true);
    let hears = |call| assert!(call != Call::Create || !BREAKS.load(Ordering::Relaxed), "injected");
    let scene = Scene::set(Setting { hears, ..Setting::default() }).await;
    scene.look().await;
    let error = scene.condition("SchedulingError");
    assert_eq!((&error["status"], &error["reason"]), (&json!("True"), &json!("DecisionFailed")));
    assert!(scene.context.desk().next_wake().is_some());
    BREAKS.store(false, Ordering::Relaxed);
    scene.look().await;
    assert_eq!(scene.condition("SchedulingError")["status"], "False");
    assert_eq!(scene.server.count("POST /jobs"), 1);
}

/// ERR-02: a Job of an object that is gone cannot be let go of: that is counted.
#[tokio::test]
async fn a_finalizer_that_cannot_be_removed() {
    let refuses = |asked: &str| (asked == "PATCH /jobs").then_some(403);
    let scene = Scene::set(Setting { refuses, ..Setting::default() }).await;
    let stray: Job = serde_json::from_value(json!({
        "metadata": {
            "name": "a-1", "namespace": "shop", "uid": "j",
            "creationTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["kron.io/recorded"],
            "labels": { "kron.io/kronjob": "a" },
            "annotations": { "kron.io/period-id": "2026-01-01T00:00:00Z" },
            "ownerReferences": [{
                "apiVersion": "kron.io/v1alpha1", "kind": "KronJob", "name": "a",
                "uid": "another", "controller": true,
            }],
        },
    }))
    .unwrap();
    scene.context.desk().learn_job(&stray);
    scene.look().await;
    assert_eq!(scene.server.count("PATCH /jobs"), 1);
    assert_eq!(scene.series("kron_failures_total"), 1);
    // And nothing else waits for it.
    assert_eq!(scene.server.count("POST /jobs"), 1);
}
