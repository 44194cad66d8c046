//! Events that are not written (ERR-02): they are counted, and not taken for told.

use crate::{Scene, Setting};
use kron_operator::tell::Note;
use serde_json::{Value, json};

/// Those that are refused, and those that there is no room for.
#[tokio::test]
async fn events_that_are_lost() {
    for (refused, notes, lost) in [(None, 1, 0), (Some(403), 1, 1), (Some(403), 3, 3)] {
        let refuses = if refused.is_some() {
            |asked: &str| (asked == "POST /events").then_some(403)
        } else {
            |_: &str| None
        };
        let scene = Scene::set(Setting { refuses, ..Setting::default() }).await;
        for number in 0..notes {
            scene.context.teller.note(note(&scene, number));
        }
        scene.context.teller.finish().await;
        assert_eq!(scene.series("kron_events_lost_total"), lost);
    }
    // Nobody writes them while this thread does not wait.
    let scene = Scene::set(Setting::default()).await;
    for number in 0..=10_000 {
        scene.context.teller.note(note(&scene, number));
    }
    assert_eq!(scene.series("kron_events_lost_total"), 0);
    for _ in 0..2 {
        scene.context.teller.note(note(&scene, 10_001));
    }
    assert_eq!(scene.series("kron_events_lost_total"), 2);
}

/// EXE-21, OPR-07: who ended a Job that makes way for another, and for which.
#[tokio::test]
async fn a_job_that_is_replaced() {
    let policy = json!({ "deadline": "30m", "concurrency": "replace" });
    let scene = Scene::set(Setting { policy, ..Setting::default() }).await;
    let job = json!({
        "metadata": {
            "name": "a-1", "namespace": "shop", "uid": "j",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": { "kron.io/kronjob": "a" },
            "annotations": { "kron.io/period-id": "2026-01-01T00:00:00Z" },
            "ownerReferences": [{
                "apiVersion": "kron.io/v1alpha1", "kind": "KronJob", "name": "a", "uid": "u",
                "controller": true,
            }],
        },
    });
    scene.server.state.lock().unwrap().jobs.push(job.clone());
    scene.context.desk().learn_job(&serde_json::from_value(job).unwrap());
    scene.look().await;
    assert_eq!(scene.server.count("DELETE /jobs"), 1);
    scene.context.teller.finish().await;
    let state = scene.server.state.lock().unwrap();
    let replaced: Vec<&Value> =
        state.events.iter().filter(|event| event["reason"] == "Replaced").collect();
    let [event] = replaced[..] else { panic!("{:?}", state.events) };
    let expected = format!(
        "period 2026-01-01T00:00:00Z: deleted Job a-1, period {} takes its place",
        scene.period
    );
    assert_eq!(event["note"], expected, "{event}");
}

fn note(scene: &Scene, number: u32) -> Note {
    Note {
        key: scene.key.clone(),
        uid: "u".into(),
        is_warning: true,
        reason: "NotCreated",
        note: number.to_string(),
        job: None,
    }
}
