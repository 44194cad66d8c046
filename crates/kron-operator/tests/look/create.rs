//! What happens between the judgement of a period and the request to create its Job
//! (OPR-03, OPR-05).

use crate::{HOUR, Scene, Setting};
use kron_operator::plan::is_in_time;
use kron_operator::reconcile::reconcile;
use kron_operator::tell::now;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::yield_now;

/// What happens while a look waits for leave to create a Job.
type Happens = fn(&mut Scene);

fn edit(change: fn(&mut Value)) -> impl Fn(&mut Scene) {
    move |scene| {
        scene.edit(|kronjob| {
            kronjob["metadata"]["generation"] = 2.into();
            change(kronjob);
        });
    }
}

/// Sets the scene, has it looked at, and lets this happen while it waits; how many Jobs are
/// created, by which generation.
async fn check(setting: Setting, rings: bool, happens: Happens, expected: &[&str]) {
    let mut scene = Scene::set(setting).await;
    if rings {
        scene.ring();
    }
    let lanes = Arc::clone(&scene.context.lanes);
    let leave = lanes.urgent().await;
    let (context, key) = (Arc::clone(&scene.context), scene.key.clone());
    let look = tokio::spawn(async move { reconcile(&context, &key, rings).await });
    // There is one thread, so it is as far as it gets.
    for _ in 0..10 {
        yield_now().await;
    }
    assert_eq!(scene.server.count("POST /jobs"), 0);
    happens(&mut scene);
    drop(leave);
    look.await.unwrap();
    let state = scene.server.state.lock().unwrap();
    let generation = |job: &Value| {
        job["metadata"]["annotations"]["kron.io/generation"].as_str().unwrap().to_string()
    };
    assert_eq!(
        state.jobs.iter().map(generation).collect::<Vec<_>>(),
        expected,
        "{:?}",
        state.asked
    );
}

/// OPR-03, OPR-05: what was judged before it had to wait is judged again if it is another by
/// then, or too late.
#[tokio::test]
async fn leave_that_comes_late() {
    let strict =
        || Setting { policy: json!({ "deadline": "0s" }), lag: HOUR, ..Setting::default() };
    let soon = || {
        let lag = now().since(crate::period().nominal().instant()).unwrap();
        Setting { lag: lag + Duration::from_millis(500), ..strict() }
    };
    check(Setting::default(), false, |_| (), &["1"]).await;
    check(strict(), true, |_| (), &["1"]).await;
    let suspend: Happens = |scene| {
        edit(|kronjob| kronjob["spec"]["policy"]["suspend"] = true.into())(scene);
    };
    check(Setting::default(), false, suspend, &[]).await;
    // The same timing with another template: the new one.
    let template: Happens = |scene| {
        edit(|kronjob| kronjob["spec"]["jobTemplate"]["spec"]["suspend"] = true.into())(scene);
    };
    check(Setting::default(), false, template, &["2"]).await;
    // That its alarm rang in time was about another spec: by now it is too late.
    check(strict(), true, template, &[]).await;
    let schedule: Happens = |scene| {
        edit(|kronjob| kronjob["spec"]["schedule"] = "0 0 1 1 *".into())(scene);
    };
    check(Setting::default(), false, schedule, &[]).await;
    let deletion: Happens = |scene| {
        scene.edit(|kronjob| {
            kronjob["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        });
    };
    check(Setting::default(), false, deletion, &[]).await;
    let another: Happens = |scene| {
        scene.edit(|kronjob| {
            kronjob["metadata"]["uid"] = "v".into();
            kronjob["status"] = Value::Null;
        });
    };
    check(Setting::default(), false, another, &[]).await;
    let gone: Happens = |scene| scene.context.desk().forget(&scene.key);
    check(Setting::default(), false, gone, &[]).await;
    // The wait is longer than a dispatch may lag.
    let wait: Happens = |scene| {
        let limit = scene.period.nominal().instant().saturating_add(scene.context.max_dispatch_lag);
        while now() <= limit {
            std::thread::yield_now();
        }
    };
    check(soon(), true, wait, &[]).await;
}

/// OPR-05: until when a judgement is good.
#[test]
fn how_long_a_judgement_is_good() {
    // Seconds: judged, now, expiry, lag.
    for (judged, at, expiry, lag, is_good) in [
        (0, 0, 10, 0, true),
        (0, 9, 10, 0, true),
        (0, 10, 10, 0, false),
        (0, 10, 10, 10, true),
        (0, 11, 10, 10, false),
        (5, 12, 10, 10, true),
        (5, 16, 10, 10, false),
        // The clock was set back.
        (5, 4, 10, 10, false),
        // It has waited for others to end.
        (20, 20, 10, 0, true),
        (20, 25, 10, 0, true),
        (20, 26, 10, 0, false),
        (20, 30, 10, 10, true),
    ] {
        let at_second = |second: u64| {
            let zero = "2026-03-02T10:00:00Z".parse::<kron_core::UtcInstant>().unwrap();
            zero.saturating_add(Duration::from_secs(second))
        };
        let row = format!("{judged} {at} {expiry} {lag}");
        let lag = Duration::from_secs(lag);
        let found = is_in_time(at_second(judged), at_second(at), at_second(expiry), lag);
        assert_eq!(found, is_good, "{row}");
    }
}
