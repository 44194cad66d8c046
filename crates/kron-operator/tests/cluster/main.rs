//! The real program against a real API server, with the rights that the manifests give it.
//!
//! Skipped, loudly, where there is no control plane: `kron-cluster build` makes one.

mod bench;
mod faults;
mod proxy;
mod told;
mod trouble;

use bench::{Bench, wait};
use kron_cluster::End;
use kron_operator::tell::now;
use serde_json::{Value, json};
use std::time::Duration;

/// OPR-06, Fault 45: what admission can check is refused there, in words.
fn bad_specs_are_refused(bench: &Bench) {
    for (spec, words) in [
        (json!({ "window": { "duration": "5d" } }), "must be a length of time such as 90m"),
        (json!({ "window": { "mode": "before" } }), "supported values: \"after\", \"around\""),
        (json!({ "policy": { "concurrency": "Forbid" } }), "\"allow\", \"forbid\", \"replace\""),
        (json!({ "distribution": { "shape": 2 } }), "shape belongs to the distributions"),
        (
            json!({ "distribution": { "name": "exponential", "lambda": 0 } }),
            "must be greater than 0",
        ),
        (json!({ "jobTemplate": {} }), "spec.jobTemplate.spec: Required value"),
        (json!({ "schedule": null }), "spec.schedule: Required value"),
    ] {
        let refused = bench.try_apply("refused", &spec).unwrap_err();
        assert!(refused.contains(words), "{spec}: {refused}");
    }
    let refused = bench.try_apply(&"n".repeat(53), &json!({})).unwrap_err();
    assert!(refused.contains("no more than 52 characters"), "{refused}");
}

/// OPR-06, OPR-07: what only the operator can check becomes a condition and an Event, and
/// nobody else minds.
fn invalid_specs_are_told(bench: &Bench) {
    for (name, spec, words) in [
        ("no-minute", json!({ "schedule": "61 * * * *" }), "minute `61` is out of range"),
        ("no-macro", json!({ "schedule": "@daily" }), "write `0 0 * * *`"),
        ("no-zone", json!({ "timezone": "Europe/Pariss" }), "did you mean `Europe/Paris`?"),
        (
            "no-template",
            json!({ "jobTemplate": { "spec": { "template": { "spec": {
                "restartPolicy": "Always", "containers": [{ "name": "c", "image": "i" }]
            } } } } }),
            "restartPolicy",
        ),
    ] {
        bench.apply(name, &spec);
        let message = wait("a condition", || {
            let found = bench.condition(name, "InvalidSpec");
            (found["status"] == "True").then(|| found["message"].to_string())
        });
        assert!(message.contains(words), "{name}: {message}");
        assert_eq!(bench.condition(name, "Ready")["status"], "False");
        wait("an Event", || bench.events(name).contains("InvalidSpec").then_some(()));
    }
}

/// OPR-02, OPR-08, OPR-10: Jobs appear at the second that anybody can compute, with
/// everything on them that they need; what becomes of them reaches the status.
fn jobs_run_at_their_second(bench: &Bench) {
    let names: Vec<String> = (0..20).map(|number| format!("tick-{number}")).collect();
    // It would be created again, if anybody thought that it had not been.
    let tick = json!({ "window": { "duration": "59s" }, "policy": { "deadline": "30m" } });
    for name in &names {
        bench.apply(name, &tick);
    }
    let (name, job) = wait("a Job", || {
        let jobs = bench.get(&["jobs", "-l", "kron.io/kronjob"]);
        let is_tick = |job: &&Value| {
            let owner = job["metadata"]["labels"]["kron.io/kronjob"].as_str();
            owner.is_some_and(|owner| owner.starts_with("tick-"))
        };
        let job = jobs["items"].as_array()?.iter().find(is_tick)?.clone();
        Some((job["metadata"]["labels"]["kron.io/kronjob"].as_str()?.to_string(), job))
    });
    let meta = &job["metadata"];
    let note = |key: &str| meta["annotations"][key].as_str().unwrap_or_default().to_string();
    let decision = Bench::decide(&name, &tick, &note("kron.io/period-id"));
    assert_eq!(note("kron.io/chosen-time"), decision.0);
    assert_eq!(note("kron.io/seed-hash"), decision.1);
    assert_eq!(meta["name"], format!("{name}-{}", decision.2));
    assert_eq!(meta["labels"]["kron.io/period"], note("kron.io/period-id").replace(['-', ':'], ""));
    assert_eq!(meta["ownerReferences"][0]["kind"], "KronJob");
    assert_eq!(meta["ownerReferences"][0]["name"], name);
    assert_eq!(meta["finalizers"], json!(["kron.io/recorded"]));
    // The second itself, or the next if the machine is busy.
    let created = meta["creationTimestamp"].as_str().unwrap_or_default();
    let late = bench::seconds(created) - bench::seconds(&decision.0);
    assert!((0..5).contains(&late), "chosen {}, created {created}", decision.0);

    // The next period may come before this is read.
    let (status, entry) = wait("a record", || {
        let status = bench.status(&name);
        let history = status["history"].as_array()?;
        let entry = history.iter().find(|entry| entry["job"] == meta["name"])?.clone();
        Some((status, entry))
    });
    assert_eq!(entry["outcome"], "executed");
    assert_eq!(entry["chosenTime"], decision.0);
    let last = &status["lastPeriod"];
    let period = last["periodId"].as_str().unwrap_or_default();
    let seed = Bench::decide(&name, &tick, period).1;
    assert_eq!(last["seedHash"], seed);
    assert_eq!(status["active"][0]["name"], meta["name"]);
    assert!(status["nextPeriod"]["chosenTime"].is_string(), "{status}");

    let job_name = meta["name"].as_str().unwrap_or_default();
    assert_eq!(bench.cluster.finish_pods("default", job_name, End::Succeeded).unwrap(), 1);
    wait("its result", || {
        let history = bench.status(&name)["history"].clone();
        let entry = history.as_array()?.iter().find(|entry| entry["job"] == job_name)?.clone();
        (entry["result"] == "succeeded").then_some(())
    });
    wait("an Event", || bench.events(&name).contains("Executed").then_some(()));
    // Fault 42: held for a while, then let go of; once it is gone, it is not created again.
    wait("the finalizer to be taken off", || {
        bench.get(&["job", job_name])["metadata"]["finalizers"].is_null().then_some(())
    });
    bench.kubectl(&["delete", "job", job_name, "--timeout=30s"]);
    let last = || {
        let all = bench.get(&["kronjobs"])["items"].as_array().cloned().unwrap_or_default();
        let is_tick = |item: &&Value| {
            item["metadata"]["name"].as_str().is_some_and(|name| name.starts_with("tick-"))
        };
        let last = |item: &Value| item["status"]["lastPeriod"]["periodId"].clone();
        all.iter().filter(is_tick).map(last).collect::<Vec<Value>>()
    };
    let before = last();
    wait("others to have come due since", || {
        let changed = last().iter().zip(&before).filter(|(now, before)| now != before).count();
        (changed >= 3).then_some(())
    });
    assert_eq!(bench.created(job_name), 1);
    for name in &names {
        bench.kubectl(&["delete", "kronjob", name, "--timeout=30s"]);
    }
    wait("Jobs to go with their owners", || {
        names.iter().all(|name| bench.jobs(name).is_empty()).then_some(())
    });
}

/// A `KronJob` that is edited does not run because of that, though by its new schedule a period
/// was due a moment ago and could still run; nor if it was suspended meanwhile.
fn edits_fire_nothing(bench: &Bench) {
    let yearly = json!({ "schedule": "0 0 1 1 *" });
    for (name, suspend) in [("edited", false), ("edited-at-rest", true)] {
        let policy = |suspend| json!({ "suspend": suspend, "deadline": "30m" });
        bench.apply(name, &yearly);
        wait("a plan", || next(bench, name));
        let mut spec = trouble::lonely(name, 2, json!({ "policy": policy(suspend) }));
        let passed = trouble::due(&bench::definition("default", name, &spec), now())[0].0;
        while now() < passed.instant().saturating_add(Duration::from_secs(1)) {
            std::thread::sleep(Duration::from_millis(50));
        }
        bench.apply(name, &spec);
        if suspend {
            wait("the suspension", || bench.status(name)["nextPeriod"].is_null().then_some(()));
            spec["policy"] = policy(false);
            bench.apply(name, &spec);
        }
        let [(second, _), _] = trouble::due(&bench::definition("default", name, &spec), now());
        wait("another plan", || next(bench, name).filter(|next| *next == second.to_string()));
        assert!(bench.jobs(name).is_empty(), "{name}");
        bench.apply(name, &yearly);
        wait("the first plan", || next(bench, name).filter(|next| next.ends_with("01T00:00:00Z")));
        assert!(bench.jobs(name).is_empty(), "{name}");
        assert_eq!(bench.status(name)["lastPeriod"], Value::Null, "{name}");
    }
}

fn next(bench: &Bench, name: &str) -> Option<String> {
    bench.status(name)["nextPeriod"]["chosenTime"].as_str().map(String::from)
}

/// The lease was given back, so that another replica need not wait; it takes over what was
/// found out, and an edit is looked at anew.
fn another_operator_goes_on(bench: &mut Bench) {
    let lease = bench.get(&["lease", "kron-operator", "-n", "kron-system"]);
    assert_eq!(lease["spec"]["holderIdentity"], "");
    let before = bench.status("no-template");
    trouble::an_orphan(bench);
    trouble::an_unreadable_status(bench);
    bench.start_operator();
    trouble::an_unreadable_status_is_mended(bench);
    bench.apply("edited", &json!({ "schedule": "9 0 1 1 *" }));
    wait("a plan", || next(bench, "edited").filter(|next| next.ends_with("00:09:00Z")));
    assert_eq!(bench.status("no-template"), before);
    bench.apply("no-template", &json!({ "schedule": "9 0 1 1 *" }));
    wait("the mended one", || {
        (bench.condition("no-template", "Ready")["status"] == "True").then_some(())
    });
    wait("the orphan to be let go", || {
        bench.get(&["job", "orphan-1"])["metadata"]["finalizers"].is_null().then_some(())
    });
}

/// One cluster for all: starting one takes longer than what is done with it.
#[test]
fn on_a_real_api_server() {
    let Some(mut bench) = Bench::start("on_a_real_api_server") else { return };
    bad_specs_are_refused(&bench);
    bench.start_operator();
    trouble::set_up(&bench);
    invalid_specs_are_told(&bench);
    edits_fire_nothing(&bench);
    jobs_run_at_their_second(&bench);
    trouble::suspended_and_resumed(&bench);
    trouble::one_that_is_going(&bench);
    trouble::concurrency(&bench);
    trouble::a_name_that_is_taken(&bench);
    trouble::removed_by_ttl(&bench);
    trouble::marks_that_are_lost(&bench);
    trouble::marks_in_the_future(&bench);
    trouble::denied(&bench);
    trouble::unended(&bench);
    told::the_pages(&bench);
    trouble::a_namespace_that_goes(&bench);
    bench.stop_operator(Duration::from_secs(20));
    trouble::a_decision_that_fails(&bench);
    another_operator_goes_on(&mut bench);
    trouble::an_api_server_that_is_away(&mut bench);
    trouble::a_resource_that_comes_back(&mut bench);
    told::a_lease_that_is_lost(&mut bench);
    told::the_log(&bench);
}
