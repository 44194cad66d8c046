//! Policies and troubles, all at once: they are set up together, because each waits for
//! minutes to pass.

use crate::bench::{Bench, definition, minute, object, wait};
use kron_core::line::Level;
use kron_core::{Job, PeriodId, UtcInstant, UtcSecond};
use kron_operator::convert::job_name;
use kron_operator::lanes::Lanes;
use kron_operator::lease::Fence;
use kron_operator::plan::{Plan, Sight, plan};
use kron_operator::pulse::Pulse;
use kron_operator::reconcile::Context;
use kron_operator::tell::{LogFormat, Teller, now};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::Runtime;

/// A Job that never ends, and needs no pods for that.
fn endless() -> Value {
    job(&json!({ "suspend": true }))
}

/// A Job that fails at once, and is removed then.
fn brief() -> Value {
    job(&json!({ "parallelism": 0, "activeDeadlineSeconds": 1, "ttlSecondsAfterFinished": 0 }))
}

fn job(more: &Value) -> Value {
    let mut spec = json!({ "template": { "spec": {
        "restartPolicy": "Never", "containers": [{ "name": "main", "image": "none" }]
    } } });
    for (key, value) in more.as_object().unwrap() {
        spec[key] = value.clone();
    }
    json!({ "spec": spec })
}

/// The first two periods that are due from then on.
pub fn due(job: &Job, from: UtcInstant) -> [(UtcSecond, PeriodId); 2] {
    let mut due = Vec::new();
    let mut at = from.saturating_sub(Duration::from_secs(120)).floor();
    while let Some(period) = job.next_period(at).filter(|_| due.len() < 2) {
        at = period.nominal();
        let chosen = job.decide(period).chosen().filter(|chosen| chosen.instant() >= from);
        due.extend(chosen.map(|chosen| (chosen, period)));
    }
    due.try_into().unwrap()
}

/// The same spec with the salt that is best by the seconds at which two periods are due.
fn salted<K: Ord>(
    namespace: &str,
    name: &str,
    from: UtcInstant,
    mut spec: Value,
    key: impl Fn(i64, i64) -> K,
) -> Value {
    spec["window"] = json!({ "duration": "59s" });
    let mut key = |salt: u32| {
        spec["seed"] = json!({ "salt": salt.to_string() });
        let [first, second] = due(&definition(namespace, name, &spec), from);
        key(first.0.unix_seconds(), second.0.unix_seconds())
    };
    let best = (0..2000).min_by_key(|salt| key(*salt)).unwrap();
    spec["seed"] = json!({ "salt": best.to_string() });
    spec
}

/// With a salt by which a period is due so many seconds from now or not much later, and the
/// next not long after: minutes need not be waited for.
fn hurried(namespace: &str, name: &str, after: u64, spec: Value) -> Value {
    let soonest = now().saturating_add(Duration::from_secs(after));
    salted(namespace, name, soonest, spec, |first, second| (second, first))
}

/// …and the next long after.
pub fn lonely(name: &str, after: u64, spec: Value) -> Value {
    let soonest = now().saturating_add(Duration::from_secs(after));
    let limit = soonest.unix_seconds() + 10;
    salted("default", name, soonest, spec, |first, second| (first > limit, first - second))
}

/// Everything that comes to pass soon.
pub fn set_up(bench: &Bench) {
    let namespace =
        |name| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    for name in ["full", "denied", "bound", "going"] {
        bench.cluster.apply(&namespace(name).to_string()).unwrap();
    }
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": { "name": "none", "namespace": "full" },
        "spec": { "hard": { "count/jobs.batch": "0" } },
    });
    bench.cluster.apply(&quota.to_string()).unwrap();
    wait("the quota", || {
        let found = bench.get(&["resourcequota", "none", "-n", "full"]);
        (found["status"]["hard"]["count/jobs.batch"] == "0").then_some(())
    });
    deny(bench, "denied", "CREATE", "no Jobs today");
    deny(bench, "bound", "DELETE", "they stay");
    // Names that are taken for the next minutes.
    for after in 0..=5 {
        let mut job = endless();
        job["apiVersion"] = "batch/v1".into();
        job["kind"] = "Job".into();
        job["metadata"] = json!({ "name": format!("theirs-{}", minute() + after) });
        bench.cluster.apply(&job.to_string()).unwrap();
    }
    let policy = |concurrency: &str, deadline: &str| json!({ "concurrency": concurrency, "deadline": deadline });
    for (name, spec) in [
        ("forbids", json!({ "policy": policy("forbid", "1m"), "jobTemplate": endless() })),
        ("replaces", json!({ "policy": policy("replace", "0s"), "jobTemplate": endless() })),
        ("allows", json!({ "policy": policy("allow", "0s"), "jobTemplate": endless() })),
        ("theirs", json!({ "jobTemplate": endless() })),
        // It would be created again, if anybody thought that it had not been.
        ("brief", json!({ "policy": policy("forbid", "30m"), "jobTemplate": brief() })),
    ] {
        bench.apply(name, &hurried("default", name, 8, spec));
    }
    for (name, concurrency) in
        [("full", "forbid"), ("denied", "forbid"), ("bound", "replace"), ("going", "forbid")]
    {
        let spec = json!({ "policy": policy(concurrency, "30m"), "jobTemplate": endless() });
        in_namespace(bench, name, name, &hurried(name, name, 8, spec));
    }
}

/// Nobody can do this with Jobs in a namespace, not even on trial.
fn deny(bench: &Bench, namespace: &str, operation: &str, message: &str) {
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": { "name": namespace },
        "spec": {
            "matchConstraints": {
                "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": namespace } },
                "resourceRules": [{
                    "apiGroups": ["batch"], "apiVersions": ["v1"],
                    "operations": [operation], "resources": ["jobs"],
                }],
            },
            "validations": [{ "expression": "false", "message": message }],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": { "name": namespace },
        "spec": { "policyName": namespace, "validationActions": ["Deny"] },
    });
    bench.cluster.apply(&policy.to_string()).unwrap();
    bench.cluster.apply(&binding.to_string()).unwrap();
}

fn in_namespace(bench: &Bench, namespace: &str, name: &str, spec: &Value) {
    let mut object = object(name, spec);
    object["metadata"]["namespace"] = namespace.into();
    bench.cluster.apply(&object.to_string()).unwrap();
}

fn condition(bench: &Bench, namespace: &str, name: &str, kind: &str) -> Value {
    let object = bench.get(&["kronjob", name, "-n", namespace]);
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|found| found["type"] == kind).unwrap_or_default()
}

/// Waits for an Event of this reason.
fn event(bench: &Bench, namespace: &str, name: &str, reason: &str) {
    let about = format!("--field-selector=regarding.name={name}");
    wait(&format!("{reason} of {name}"), || {
        let events = bench.kubectl(&["get", "events.events.k8s.io", "-n", namespace, &about]);
        events.contains(reason).then_some(())
    });
}

/// The outcomes of a `KronJob`, the latest first, with what became of their Jobs.
fn history(bench: &Bench, name: &str) -> Vec<Value> {
    bench.status(name)["history"].as_array().cloned().unwrap_or_default()
}

fn is(outcome: &str) -> impl Fn(&&Value) -> bool + '_ {
    move |entry| entry["outcome"] == outcome
}

/// OPR-05: what became of active Jobs.
pub fn concurrency(bench: &Bench) {
    let skipped = wait("a period to be skipped", || {
        history(bench, "forbids").iter().find(is("skipped")).cloned()
    });
    let reason = skipped["reason"].as_str().unwrap();
    assert!(reason.contains("still active and concurrency is forbid"), "{reason}");
    assert_eq!(bench.jobs("forbids").len(), 1);

    let replaced = wait("a Job to be replaced", || {
        let entries = history(bench, "replaces");
        entries.into_iter().find(|entry| entry["result"] == "deleted")
    });
    assert_eq!(replaced["outcome"], "executed");
    // They come every minute: the next may just be replacing this one.
    wait("only one of them", || (bench.jobs("replaces").len() == 1).then_some(()));

    wait("two at once", || (bench.jobs("allows").len() >= 2).then_some(()));
}

/// Fault 40: a Job of somebody else is left alone, and told of.
pub fn a_name_that_is_taken(bench: &Bench) {
    let missed = wait("a period to be missed", || {
        history(bench, "theirs").iter().find(is("missed")).cloned()
    });
    let reason = missed["reason"].as_str().unwrap();
    assert!(reason.contains("exists and belongs to nobody"), "{reason}");
    assert!(bench.events("theirs").contains("NotCreated"));
    for job in bench.jobs("theirs") {
        assert!(job["metadata"]["finalizers"].is_null(), "{job}");
    }
}

/// Fault 42: a Job that removed itself is not created again.
pub fn removed_by_ttl(bench: &Bench) {
    let entry = wait("a Job to have failed", || {
        history(bench, "brief").into_iter().find(|entry| entry["result"] == "failed")
    });
    let name = entry["job"].as_str().unwrap();
    wait("it to be removed", || {
        let jobs = bench.jobs("brief");
        jobs.iter().all(|job| job["metadata"]["name"] != name).then_some(())
    });
    // Somebody has judged it since, and others after it.
    let number = |entry: &Value| entry["periodId"].as_str().map(String::from);
    wait("its next Job", || {
        let entries = history(bench, "brief").into_iter();
        let mut later = entries.filter(|later| number(later) > number(&entry));
        later.any(|later| later["outcome"] == "executed").then_some(())
    });
    assert_eq!(bench.created(name), 1);
}

/// OPR-05: what is suspended when it comes due does not run, and nothing is recorded; when it is
/// resumed, the latest that passed runs if its deadline allows it.
pub fn suspended_and_resumed(bench: &Bench) {
    let rows = [("rests-long", "30m", "executed"), ("rests-short", "0s", "missed")];
    let plans = rows.map(|(name, deadline, _)| {
        let policy = json!({ "deadline": deadline, "suspend": true });
        let spec = lonely(name, 3, json!({ "policy": policy, "jobTemplate": endless() }));
        let soonest = now().saturating_add(Duration::from_secs(2));
        let [first, _] = due(&definition("default", name, &spec), soonest);
        bench.apply(name, &spec);
        (spec, first)
    });
    for (name, _, _) in rows {
        wait("the suspension", || {
            (bench.condition(name, "Ready")["reason"] == "Suspended").then_some(())
        });
    }
    let last = plans.iter().map(|(_, (chosen, _))| chosen.unix_seconds()).max().unwrap();
    while now().unix_seconds() < last + 3 {
        std::thread::sleep(Duration::from_millis(50));
    }
    for ((name, _, outcome), (mut spec, (chosen, period))) in rows.into_iter().zip(plans) {
        assert!(bench.jobs(name).is_empty(), "{name}");
        assert_eq!(bench.status(name)["lastPeriod"], Value::Null, "{name}");
        spec["policy"]["suspend"] = false.into();
        bench.apply(name, &spec);
        let found = wait("an outcome", || {
            history(bench, name).into_iter().find(|entry| entry["periodId"] == period.to_string())
        });
        assert_eq!(found["outcome"], outcome, "{name}: {found}");
        assert_eq!(found["chosenTime"], chosen.to_string(), "{name}");
        let created = usize::from(outcome == "executed");
        assert_eq!(bench.created(&job_name(name, period)), created, "{name}");
    }
}

/// OPR-03: what is being deleted creates nothing, however long somebody else keeps it.
pub fn one_that_is_going(bench: &Bench) {
    let name = "lingers";
    let policy = json!({ "deadline": "30m" });
    let begin = now();
    let spec = json!({ "policy": policy, "jobTemplate": endless() });
    let target = begin.unix_seconds() + 8;
    let spec = salted("default", name, begin, spec, |first, _| (first - target).abs());
    let [(chosen, period), _] = due(&definition("default", name, &spec), begin);
    let mut object = object(name, &spec);
    object["metadata"]["finalizers"] = json!(["example.com/theirs"]);
    bench.cluster.apply(&object.to_string()).unwrap();
    wait("a plan", || {
        let next = bench.status(name)["nextPeriod"].clone();
        (next["periodId"] == period.to_string()).then_some(())
    });
    bench.kubectl(&["delete", "kronjob", name, "--wait=false"]);
    assert!(now() < chosen.instant(), "it took too long to delete it");
    while now().unix_seconds() < chosen.unix_seconds() + 3 {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(bench.requests().all(|r| r["objectRef"]["name"] != job_name(name, period)));
    let patch = json!({ "metadata": { "finalizers": null } }).to_string();
    bench.kubectl(&["patch", "kronjob", name, "--type=merge", "-p", &patch]);
    wait("its end", || bench.cluster.kubectl(&["get", "kronjob", name]).err());
}

/// Fault 45: a status that nobody can read, as an older definition let it in.
pub fn an_unreadable_status(bench: &Bench) {
    let place = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/activeCount";
    let patch = json!([{ "op": "remove", "path": format!("{place}/maximum") }]).to_string();
    bench.kubectl(&["patch", "crd", "kronjobs.kron.io", "--type=json", "-p", &patch]);
    let patch = json!({ "status": { "activeCount": 5_000_000_000_u64 } }).to_string();
    let spoil = ["patch", "kronjob", "ahead", "--subresource=status", "--type=merge", "-p", &patch];
    wait("the older definition", || bench.cluster.kubectl(&spoil).ok());
}

/// It is told of and mended, and the others do not mind.
pub fn an_unreadable_status_is_mended(bench: &Bench) {
    event(bench, "default", "ahead", "StatusLost");
    wait("another status", || {
        let status = bench.status("ahead");
        (status["activeCount"] == 0 && status["nextPeriod"].is_object()).then_some(())
    });
}

/// OPR-07: a status that somebody spoilt is told of, until a period has an outcome again.
pub fn marks_that_are_lost(bench: &Bench) {
    // Nothing of it is due while this is looked at.
    bench.apply("brief", &json!({ "schedule": "0 0 1 1 *", "jobTemplate": brief() }));
    wait("another plan", || {
        let next = bench.status("brief")["nextPeriod"]["periodId"].clone();
        next.as_str()?.ends_with("-01-01T00:00:00Z").then_some(())
    });
    let patch = json!({ "status": { "marks": null } }).to_string();
    let lose = ["patch", "kronjob", "brief", "--subresource=status", "--type=merge", "-p", &patch];
    bench.kubectl(&lose);
    let error = wait("a condition", || {
        let found = bench.condition("brief", "SchedulingError");
        (found["status"] == "True").then_some(found)
    });
    assert_eq!(error["reason"], "StatusLost", "{error}");
    event(bench, "default", "brief", "StatusLost");
    assert!(bench.status("brief")["marks"]["notBefore"].is_string());
    assert_eq!(bench.condition("brief", "SchedulingError"), error);
}

/// A clock that was ahead once left marks by which nothing runs: this is told, and with the way
/// out that is told it goes on, but not with the past.
pub fn marks_in_the_future(bench: &Bench) {
    let policy = json!({ "deadline": "8784h" });
    bench.apply("ahead", &json!({ "schedule": "0 0 1 1 *", "policy": policy }));
    let next = || bench.status("ahead")["nextPeriod"]["periodId"].as_str().map(String::from);
    let planned = wait("a plan", next);
    let marks = json!({ "status": { "marks": { "notBefore": "2099-06-01T00:00:00Z" } } });
    let patch = |marks: &Value| {
        let patch = ["patch", "kronjob", "ahead", "--subresource=status", "--type=merge", "-p"];
        bench.kubectl(&[&patch[..], &[&marks.to_string()]].concat());
    };
    patch(&marks);
    let error = wait("a condition", || {
        Some(bench.condition("ahead", "SchedulingError")).filter(|found| found["status"] == "True")
    });
    assert_eq!(error["reason"], "IdleUntil", "{error}");
    event(bench, "default", "ahead", "IdleUntil");
    let out = r#"-p '{"status":{"marks":null}}'"#;
    assert!(error["message"].as_str().unwrap().contains(out), "{error}");
    let line = "level=warn component=kron-operator event=idle identity=default/ahead";
    assert!(bench.operator_log().contains(line), "{}", bench.operator_log());
    patch(&json!({ "status": { "marks": null } }));
    wait("the plan to be as before", || (next()? == planned).then_some(()));
    wait("the condition to be gone", || {
        (bench.condition("ahead", "SchedulingError")["status"] == "False").then_some(())
    });
    assert!(bench.jobs("ahead").is_empty());
}

/// Fault 44: a quota and an admission policy are in the way; this is told, tried again ever
/// more rarely, and succeeds within the deadline.
pub fn denied(bench: &Bench) {
    // Not due for long: only the dry run knows.
    let frozen = json!({ "schedule": "0 0 29 2 *", "jobTemplate": endless() });
    in_namespace(bench, "denied", "frozen", &frozen);
    let is_in_trouble = |name: &str| {
        let found = condition(bench, "denied", name, "SchedulingError");
        (found["status"] == "True").then_some(found)
    };
    let error = wait("a condition", || is_in_trouble("frozen"));
    assert_eq!(error["reason"], "Denied");
    assert!(error["message"].as_str().unwrap().contains("no Jobs today"), "{error}");
    assert_eq!(condition(bench, "denied", "frozen", "InvalidSpec")["status"], "False");
    event(bench, "denied", "frozen", "Denied");
    for (name, words, cure) in [
        ("denied", "no Jobs today", &["delete", "validatingadmissionpolicybinding", "denied"][..]),
        ("full", "exceeded quota", &["delete", "resourcequota", "none", "-n", "full"]),
    ] {
        let condition = |kind: &str| condition(bench, name, name, kind);
        event(bench, name, name, "NotCreated");
        let error = wait("a condition", || {
            Some(condition("SchedulingError")).filter(|found| found["status"] == "True")
        });
        assert!(error["message"].as_str().unwrap().contains(words), "{error}");
        assert_eq!(condition("Ready")["status"], "True");
        // Seven in the first ten seconds, and then one when a period is due and every half
        // minute, however many wait.
        let object = bench.get(&["kronjob", name, "-n", name]);
        let created = object["metadata"]["creationTimestamp"].as_str().unwrap();
        let age = now().unix_seconds() - crate::bench::seconds(created);
        let (attempts, most) = (bench.attempts(name), 9 + usize::try_from(age).unwrap() / 15);
        assert!((1..=most).contains(&attempts), "{attempts} attempts in {age} s");
        bench.kubectl(cure);
        wait("a Job", || {
            let status = &bench.get(&["kronjob", name, "-n", name])["status"];
            status["history"].as_array()?.iter().find(is("executed")).map(drop)
        });
        wait("the condition to be gone", || {
            (condition("SchedulingError")["status"] == "False").then_some(())
        });
    }
    wait("the other condition to be gone", || is_in_trouble("frozen").is_none().then_some(()));
}

/// ERR-27: a Job that is replaced cannot be ended: this is told, nothing starts in its place,
/// and it is tried again.
pub fn unended(bench: &Bench) {
    let condition = || condition(bench, "bound", "bound", "SchedulingError");
    event(bench, "bound", "bound", "NotEnded");
    let error = wait("a condition", || Some(condition()).filter(|found| found["status"] == "True"));
    assert_eq!(error["reason"], "NotEnded");
    assert!(error["message"].as_str().unwrap().contains("they stay"), "{error}");
    let jobs = || bench.get(&["jobs", "-n", "bound"])["items"].as_array().cloned().unwrap();
    let [first] = &jobs()[..] else { panic!("{:?}", jobs()) };
    bench.kubectl(&["delete", "validatingadmissionpolicybinding", "bound"]);
    wait("another Job", || {
        let uid = |job: &Value| job["metadata"]["uid"].clone();
        jobs().iter().any(|job| uid(job) != uid(first)).then_some(())
    });
    wait("the condition to be gone", || (condition()["status"] == "False").then_some(()));
    bench.kubectl(&["delete", "kronjob", "bound", "-n", "bound", "--timeout=30s"]);
}

/// A Job of ours whose owner was deleted without it while nobody was there.
pub fn an_orphan(bench: &Bench) {
    let mut job = endless();
    job["apiVersion"] = "batch/v1".into();
    job["kind"] = "Job".into();
    job["metadata"] = json!({
        "name": "orphan-1", "finalizers": ["kron.io/recorded"],
        "labels": { "kron.io/kronjob": "orphan" },
        "annotations": { "kron.io/period-id": "1970-01-01T00:01:00Z" },
    });
    bench.cluster.apply(&job.to_string()).unwrap();
}

/// Fault 44: a namespace goes with everything in it.
pub fn a_namespace_that_goes(bench: &Bench) {
    wait("a Job in it", || {
        let jobs = bench.get(&["jobs", "-n", "going"]);
        jobs["items"].as_array().is_some_and(|jobs| !jobs.is_empty()).then_some(())
    });
    bench.kubectl(&["delete", "namespace", "going", "--timeout=80s"]);
}

/// Fault 43: the API server is down when two periods come due. One may run later.
pub fn an_api_server_that_is_away(bench: &mut Bench) {
    for (name, deadline) in [("patient", "10m"), ("hasty", "0s")] {
        let policy = json!({ "deadline": deadline, "concurrency": "allow" });
        let spec = json!({ "policy": policy, "jobTemplate": endless() });
        bench.apply(name, &lonely(name, 15, spec));
    }
    let planned = |name: &str| {
        let next = bench.status(name)["nextPeriod"].clone();
        let text = |key: &str| next[key].as_str().map(String::from);
        let chosen: UtcSecond = text("chosenTime")?.parse().unwrap();
        // There has to be time to stop the server.
        let is_ahead = chosen.unix_seconds() > now().unix_seconds() + 5;
        Some((text("periodId")?, chosen)).filter(|_| is_ahead)
    };
    let due =
        wait("two plans", || ["patient", "hasty"].map(planned).into_iter().collect::<Option<_>>());
    let due: Vec<(String, UtcSecond)> = due;
    bench.cluster.stop_api_server();
    let last = due.iter().map(|(_, chosen)| chosen.unix_seconds()).max().unwrap();
    while now().unix_seconds() < last + 3 {
        std::thread::sleep(Duration::from_millis(50));
    }
    bench.cluster.start_api_server().unwrap();
    // One that could not renew its lease has ended, and is started again by its kubelet.
    for ((name, (period, _)), outcome) in
        ["patient", "hasty"].into_iter().zip(&due).zip(["executed", "missed"])
    {
        let found = wait("an outcome", || {
            bench.tend_operator();
            history(bench, name).into_iter().find(|entry| entry["periodId"] == **period)
        });
        assert_eq!(found["outcome"], outcome, "{found}");
        let job = job_name(name, period.parse().unwrap());
        assert_eq!(bench.created(&job), usize::from(outcome == "executed"));
    }
}

/// OPR-07, OPR-10: a decision that fails creates nothing and closes nothing; it is told of,
/// and made again.
pub fn a_decision_that_fails(bench: &Bench) {
    static FAILS: AtomicBool = AtomicBool::new(true);
    fn planner<'a>(sight: &Sight<'a>) -> Plan<'a> {
        assert!(!FAILS.load(Ordering::Relaxed), "injected");
        plan(sight)
    }
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "failing" } });
    bench.cluster.apply(&namespace.to_string()).unwrap();
    let name = "failing";
    let spec = json!({ "policy": { "deadline": "30m" }, "jobTemplate": endless() });
    let spec = hurried(name, name, 8, spec);
    in_namespace(bench, name, name, &spec);
    let object = bench.get(&["kronjob", name, "-n", name]);
    let created = object["metadata"]["creationTimestamp"].as_str().unwrap();
    // The second of its creation counts as before it.
    let since = created.parse::<UtcInstant>().unwrap().saturating_add(Duration::from_secs(1));
    let [(_, period), _] = due(&definition(name, name, &spec), since);
    let runtime = Runtime::new().unwrap();
    let client = runtime.block_on(crate::proxy::client(&bench.cluster.kubeconfig()));
    let cluster = kron_operator::cluster::Cluster::new(client, Arc::new(Fence::open()));
    let _guard = runtime.enter();
    let (teller, telling) = Teller::new(
        LogFormat::Text,
        Level::Error,
        cluster.clone(),
        "test".into(),
        Arc::default(),
        || async {},
    );
    runtime.spawn(telling);
    let context = Arc::new(Context {
        cluster,
        desk: Mutex::default(),
        lanes: Arc::new(Lanes::new(4)),
        teller,
        meter: Arc::default(),
        planner,
        max_dispatch_lag: Duration::from_secs(10),
    });
    runtime.spawn(async move {
        let pulse = Pulse::default();
        kron_operator::operator::run(context, Some("failing"), &pulse, std::future::pending()).await
    });
    let status = || bench.get(&["kronjob", name, "-n", name])["status"].clone();
    let error = wait("a condition", || {
        let conditions = status()["conditions"].as_array().cloned()?;
        conditions.into_iter().find(|found| found["type"] == "SchedulingError")
    });
    assert_eq!(error["status"], "True");
    assert!(error["message"].as_str().unwrap().contains("the decision failed"), "{error}");
    let about = format!("--field-selector=regarding.name={name}");
    wait("an Event", || {
        let events = bench.kubectl(&["get", "events.events.k8s.io", "-n", name, &about]);
        events.contains("SchedulingError").then_some(())
    });
    std::thread::sleep(Duration::from_secs(10));
    assert_eq!(bench.attempts(name), 0);
    // It is known since when it counts, and nothing is closed.
    let marks = status()["marks"].clone();
    assert!(marks["notBefore"].as_str().unwrap().parse::<UtcInstant>().unwrap() <= since);
    assert!(marks["handledThrough"].is_null() && status()["lastPeriod"].is_null(), "{marks}");
    assert_eq!(marks["handledAhead"], json!([]));
    FAILS.store(false, Ordering::Relaxed);
    let entry = wait("its outcome", || {
        let history = status()["history"].as_array().cloned()?;
        history.into_iter().find(|entry| entry["periodId"] == period.to_string())
    });
    assert_eq!(entry["outcome"], "executed", "{entry}");
    assert_eq!(bench.created(&job_name(name, period)), 1);
    runtime.shutdown_timeout(Duration::from_secs(1));
    bench.kubectl(&["delete", "kronjob", name, "-n", name, "--timeout=30s"]);
}

/// Fault 44: the resource is removed and comes back; the operator goes on with it.
pub fn a_resource_that_comes_back(bench: &mut Bench) {
    bench.kubectl(&["delete", "crd", "kronjobs.kron.io", "--timeout=80s"]);
    // Whether they go is up to Kubernetes, whose collector may not know their owner's kind any
    // more; that they can is up to us.
    wait("all Jobs to be let go of", || {
        let jobs = bench.get(&["jobs", "-A", "-l", "kron.io/kronjob"]);
        let is_free = |job: &Value| job["metadata"]["finalizers"].is_null();
        jobs["items"].as_array()?.iter().all(is_free).then_some(())
    });
    bench.define();
    bench.apply("again", &json!({ "schedule": "0 0 1 1 *" }));
    wait("a plan", || {
        bench.tend_operator();
        bench.status("again")["nextPeriod"]["chosenTime"].is_string().then_some(())
    });
    assert!(!bench.operator_log().contains("panicked"));
}
