//! Events that are not written (ERR-02): they are counted, and not taken for told.

use crate::{Scene, Setting};
use kron_operator::tell::Note;

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
