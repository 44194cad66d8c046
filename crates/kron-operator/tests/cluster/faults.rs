//! Two replicas whose requests are lost, delayed, doubled and refused, whose watches break,
//! and who are killed between any two requests: each period has one Job (OPR-03, OPR-04,
//! Fault 40, Fault 41, Fault 42, Fault 46).
//!
//! What was created is known by somebody else who watches.

use crate::bench::{Bench, definition, object, wait};
use crate::proxy::{self, Call, Fate};
use futures::StreamExt;
use k8s_openapi::api::batch::v1::Job as KubeJob;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
use kron_core::{Job, PeriodId, UtcInstant};
use kron_operator::convert::job_name;
use kron_operator::facts::{self, Fact};
use kron_operator::tell::now;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::time::sleep;

/// `KronJob`s; each is due once a minute.
const OBJECTS: usize = 150;
/// …and others, of which one Job at a time may be active.
const ALONE: usize = 24;

/// Faults of each phase, and Jobs: fewer would mean little.
const FAULTS: u32 = 260;
const JOBS: usize = 120;
/// Jobs that come after one beside which they must not be.
const SUCCESSIONS: usize = 5;

/// How much longer than it should a phase may take to have these.
const LIMIT: Duration = Duration::from_secs(240);

/// The longest that a request hangs, and a little more.
const HANGS: Duration = Duration::from_secs(15);

/// What is drawn, and how often it was.
struct Chance {
    state: AtomicU64,
    is_calm: AtomicBool,
    /// Kills among ten thousand requests.
    kills: AtomicU64,
    counts: Mutex<BTreeMap<(Call, &'static str), u32>>,
}

impl Chance {
    fn new(seed: u64) -> Self {
        Self {
            state: AtomicU64::new(seed),
            is_calm: AtomicBool::new(true),
            kills: AtomicU64::new(0),
            counts: Mutex::default(),
        }
    }

    /// A number below `limit` (splitmix64).
    fn below(&self, limit: u64) -> u64 {
        let mut z = self.state.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    fn judge(&self, call: Call) -> Fate {
        if self.is_calm.load(Ordering::Relaxed) {
            return Fate::Pass;
        }
        let is_kill = self.below(10_000) < self.kills.load(Ordering::Relaxed);
        let millis = |limit| Duration::from_millis(self.below(limit));
        let (name, fate) = match call {
            Call::Watch if self.below(4) == 0 => ("gone", Fate::Gone),
            Call::Watch => ("cut", Fate::Cut(millis(40_000))),
            Call::Lease if self.below(20) > 0 => return Fate::Pass,
            Call::Lease => ("lost", Fate::Lose),
            _ if is_kill && self.below(2) == 0 => ("killed before", Fate::KillBefore),
            _ if is_kill => ("killed after", Fate::KillAfter),
            _ => match self.below(20) {
                0 => ("lost", Fate::Lose),
                1 | 2 => ("unanswered", Fate::Mute),
                3 => ("late", Fate::Late(millis(3_000))),
                4 => ("twice", Fate::Twice(millis(8_000))),
                5 => ("refused", Fate::Refuse([429, 500, 503][self.below(3) as usize])),
                _ => return Fate::Pass,
            },
        };
        *self.counts.lock().unwrap().entry((call, name)).or_default() += 1;
        fate
    }

    fn faults(&self) -> u32 {
        self.counts.lock().unwrap().values().sum()
    }

    fn count(&self, name: &str) -> u32 {
        let counts = self.counts.lock().unwrap();
        counts.iter().filter(|((_, what), _)| *what == name).map(|(_, count)| count).sum()
    }
}

/// A replica behind its proxy, and those that ran there before.
struct Replica {
    number: usize,
    config: PathBuf,
    is_elected: bool,
    child: Mutex<Option<Child>>,
    /// The log of each, and when it ended.
    lives: Mutex<Vec<(PathBuf, Option<UtcInstant>)>>,
}

impl Replica {
    fn ended(&self) {
        if let Some((_, end)) = self.lives.lock().unwrap().last_mut() {
            *end = Some(now());
        }
    }

    fn kill(&self) {
        if let Some(mut child) = self.child.lock().unwrap().take() {
            let _ = child.kill();
            let _ = child.wait();
            self.ended();
        }
    }

    /// Starts it, if it has ended.
    fn tend(&self) {
        let mut child = self.child.lock().unwrap();
        if let Some(child) = child.as_mut()
            && child.try_wait().unwrap().is_none()
        {
            return;
        }
        if child.take().is_some() {
            self.ended();
        }
        let mut lives = self.lives.lock().unwrap();
        let log = format!("replica-{}-{}.log", self.number, lives.len());
        let log = self.config.with_file_name(log);
        let mut command = Command::new(env!("CARGO_BIN_EXE_kron-operator"));
        command
            .args(["run", "--listen", "127.0.0.1:0", "--lease-namespace", "kron-system"])
            .arg(format!("--leader-elect={}", self.is_elected))
            .env("KUBECONFIG", &self.config)
            .stderr(File::create(&log).unwrap());
        *child = Some(command.spawn().unwrap());
        lives.push((log, None));
    }
}

/// Everything that one phase needs; its replicas end with it.
struct Phase {
    replicas: Vec<Arc<Replica>>,
    _runtime: Runtime,
}

impl Drop for Phase {
    fn drop(&mut self) {
        self.end();
    }
}

impl Phase {
    fn start(bench: &Bench, name: &str, chance: &Arc<Chance>, is_elected: bool) -> Self {
        let runtime = Runtime::new().unwrap();
        let account =
            bench.cluster.kubeconfig_for_service_account("kron-system", "kron-operator").unwrap();
        let replicas = (0..2).map(|number| {
            let directory = bench.cluster.directory().join(name);
            fs::create_dir_all(&directory).unwrap();
            let replica = Arc::new(Replica {
                number,
                config: directory.join(format!("replica-{number}.kubeconfig")),
                is_elected,
                child: Mutex::new(None),
                lives: Mutex::default(),
            });
            let (judge, victim) = (Arc::clone(chance), Arc::clone(&replica));
            let address = runtime.block_on(proxy::start(
                &account,
                Arc::new(move |call| judge.judge(call)),
                Arc::new(move || victim.kill()),
            ));
            let config = json!({
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "proxy",
                "clusters": [{ "name": "proxy", "cluster": { "server": format!("http://{address}") } }],
                "contexts": [{ "name": "proxy", "context": { "cluster": "proxy", "user": "proxy" } }],
                "users": [{ "name": "proxy", "user": {} }],
            });
            fs::write(&replica.config, config.to_string()).unwrap();
            replica
        });
        let replicas = replicas.collect();
        Self { replicas, _runtime: runtime }
    }

    /// Keeps the replicas alive for so long, and until enough has happened.
    fn run(&self, seconds: u64, is_enough: impl Fn() -> bool) {
        let begin = now();
        let until = begin.saturating_add(Duration::from_secs(seconds));
        let limit = until.saturating_add(LIMIT);
        while now() < until || !is_enough() {
            assert!(now() < limit, "too little happens in {LIMIT:?}");
            for replica in &self.replicas {
                replica.tend();
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn end(&self) {
        for replica in &self.replicas {
            replica.kill();
        }
    }

    /// Everybody who was ever attentive.
    fn lives(&self) -> Vec<Life> {
        let mut lives = Vec::new();
        for replica in &self.replicas {
            for (log, end) in &*replica.lives.lock().unwrap() {
                let name = log.file_stem().unwrap().display().to_string();
                let log = fs::read_to_string(log).unwrap();
                let ready = log.lines().find(|line| line.contains(" event=ready "));
                let Some(from) = ready.map(time_of) else { continue };
                lives.push(Life { name, from, to: end.unwrap_or_else(now), log });
            }
        }
        lives
    }
}

/// A replica that was attentive, from the moment that everything was known until its end.
struct Life {
    name: String,
    from: UtcInstant,
    to: UtcInstant,
    log: String,
}

impl Life {
    fn lines<'a>(&'a self, job: &str) -> impl Iterator<Item = &'a str> {
        let job = format!(" job={job} ");
        self.log.lines().filter(move |line| line.contains(&job))
    }

    fn says(&self, event: &str, job: &str, after: UtcInstant) -> bool {
        let event = format!(" event={event} ");
        self.lines(job).any(|line| line.contains(&event) && time_of(line) > after)
    }

    /// Whether it told that a period was planned, before it came due.
    fn has_claimed(&self, job: &str, period: PeriodId, chosen: UtcInstant) -> bool {
        let about = format!(" period_id={period} ");
        let is_plan = |line: &str| line.contains(" event=decision ") && line.contains(&about);
        self.lines(job).any(|line| is_plan(line) && time_of(line) < chosen)
    }

    /// Whether it knows by the lease that somebody led then. (Whoever is not elected knows of no
    /// lease.)
    fn knows_watched(&self, terms: &[Term], at: UtcInstant) -> bool {
        let starting = self.log.lines().find(|line| line.contains(" event=starting ")).unwrap();
        let word = starting.split(' ').find_map(|word| word.strip_prefix("replica="));
        let ours = terms.iter().position(|(_, _, who)| Some(&**who) == word);
        let before = ours.and_then(|ours| terms[..ours].last());
        before.is_some_and(|(from, to, _)| *from <= at && at <= *to)
    }

    /// Whether it did not succeed with what was due at `chosen`: it died while its requests
    /// may have hung, or says that they failed.
    fn failed(&self, job: &str, chosen: UtcInstant) -> bool {
        self.to <= chosen.saturating_add(HANGS) || self.says("error", job, chosen)
    }
}

fn time_of(line: &str) -> UtcInstant {
    line.split(' ').next().unwrap().parse().unwrap()
}

/// Some end by themselves, and are removed at once.
fn spec(number: usize) -> Value {
    templated(number.is_multiple_of(2), "allow")
}

/// Those that are skipped while another is active, and those that replace it. Some are active
/// for ever, some for a moment.
fn alone(number: usize) -> Value {
    match number % 3 {
        0 => templated(true, "forbid"),
        1 => templated(false, "forbid"),
        _ => templated(true, "replace"),
    }
}

fn templated(is_endless: bool, concurrency: &str) -> Value {
    let mut job = json!({ "template": { "spec": {
        "restartPolicy": "Never", "containers": [{ "name": "main", "image": "none" }]
    } } });
    if is_endless {
        job["suspend"] = true.into();
    } else {
        job["parallelism"] = 0.into();
        job["activeDeadlineSeconds"] = 1.into();
        job["ttlSecondsAfterFinished"] = 0.into();
    }
    json!({
        "window": { "duration": "59s" },
        "policy": { "concurrency": concurrency, "deadline": "30m" },
        "jobTemplate": { "spec": job },
    })
}

/// Somebody who sees every Job that there ever is. (The audit log does not do: of a request
/// whose sender is gone it may not know how it ended.)
struct Observer {
    seen: Arc<Mutex<Seen>>,
    /// By their beginnings.
    terms: Arc<Mutex<BTreeMap<UtcInstant, Term>>>,
    _runtime: Runtime,
}

/// Which Jobs of a name there were.
type Seen = BTreeMap<String, BTreeMap<String, Sighting>>;

/// When a replica led by the lease: from, to, and which.
type Term = (UtcInstant, UtcInstant, String);

/// When a Job was created, and when it finished or was gone.
#[derive(Clone, Copy, Debug)]
struct Sighting {
    created: UtcInstant,
    ended: Option<UtcInstant>,
}

impl Observer {
    fn start(bench: &Bench) -> Self {
        let runtime = Runtime::new().unwrap();
        let client = runtime.block_on(proxy::client(&bench.cluster.kubeconfig()));
        let seen: Arc<Mutex<Seen>> = Arc::default();
        let notes = Arc::clone(&seen);
        runtime.spawn(async move {
            let jobs: Api<KubeJob> = Api::default_namespaced(client);
            let mut events = Box::pin(watcher(jobs, watcher::Config::default()));
            while let Some(event) = events.next().await {
                let is_gone = matches!(event, Ok(Event::Delete(_)));
                let job = match event {
                    Ok(Event::Apply(job) | Event::InitApply(job) | Event::Delete(job)) => job,
                    Ok(Event::Init | Event::InitDone) => continue,
                    // It is asked again; what there is then is seen then.
                    Err(error) => {
                        eprintln!("the observer: {error}");
                        sleep(Duration::from_millis(200)).await;
                        continue;
                    }
                };
                let at = job.metadata.creation_timestamp.as_ref().and_then(facts::instant);
                let mut notes = notes.lock().unwrap();
                let of_that_name = notes.entry(job.name_any()).or_default();
                let known = of_that_name
                    .entry(job.uid().unwrap())
                    .or_insert(Sighting { created: at.unwrap(), ended: None });
                let finished = Fact::of(&job).and_then(|fact| fact.finished);
                known.ended = known.ended.or(finished).or(is_gone.then(now));
            }
        });
        let terms: Arc<Mutex<BTreeMap<UtcInstant, Term>>> = Arc::default();
        let notes = Arc::clone(&terms);
        let client = runtime.block_on(proxy::client(&bench.cluster.kubeconfig()));
        runtime.spawn(async move {
            let leases: Api<Lease> = Api::namespaced(client, "kron-system");
            let mut events = Box::pin(watcher(leases, watcher::Config::default()));
            while let Some(event) = events.next().await {
                let Ok(Event::Apply(lease) | Event::InitApply(lease)) = event else { continue };
                let spec = lease.spec.unwrap_or_default();
                let instant = |time: &Option<MicroTime>| facts::instant(&Time(time.as_ref()?.0));
                let terms = (instant(&spec.acquire_time), instant(&spec.renew_time));
                let ((Some(from), Some(renewed)), Some(who)) = (terms, spec.holder_identity) else {
                    continue;
                };
                let good = u64::try_from(spec.lease_duration_seconds.unwrap_or_default()).unwrap();
                let to = renewed.saturating_add(Duration::from_secs(good));
                notes.lock().unwrap().insert(from, (from, to, who));
            }
        });
        Self { seen, terms, _runtime: runtime }
    }

    fn count(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

/// One Job for each period that came due from `begin` to `end`, but for those that came due while
/// nobody held a lease that was good, or nobody had come to claim them; and of these only if they
/// and a later one were due when somebody came who passed them over, while whoever had been
/// there before failed or died.
fn check(
    bench: &Bench,
    seen: &Seen,
    terms: &[Term],
    (begin, end): (UtcInstant, UtcInstant),
    lives: &[Life],
) {
    let created: BTreeMap<&String, Vec<UtcInstant>> = seen
        .iter()
        .map(|(name, jobs)| (name, jobs.values().map(|job| job.created).collect()))
        .collect();
    let (mut runs, mut passed, mut given_up, mut wrong) = (0, 0, 0, Vec::new());
    let mut expected = 0;
    for number in 0..OBJECTS {
        let name = format!("fault-{number}");
        let explain = |wrong: &mut Vec<String>, what: String| {
            wrong.push(what);
            for life in lives {
                wrong.extend(life.lines(&name).map(|line| format!("{} {line}", life.name)));
            }
        };
        let job: Job = definition("default", &name, &spec(number));
        let mut due = Vec::new();
        let mut at = begin.saturating_sub(Duration::from_secs(120)).floor();
        while let Some(period) =
            job.next_period(at).filter(|period| period.nominal().instant() <= end)
        {
            at = period.nominal();
            due.extend(job.decide(period).chosen().map(|chosen| (chosen.instant(), period)));
        }
        for (chosen, period) in due.iter().filter(|(chosen, _)| *chosen > begin && *chosen <= end) {
            expected += 1;
            let found = created.get(&job_name(&name, *period)).map_or(&[][..], Vec::as_slice);
            let later = due.iter().map(|(later, _)| *later).find(|later| later > chosen);
            let was_there = |life: &&Life| life.from <= *chosen && *chosen < life.to;
            let is_claimed = lives.iter().any(|life| life.has_claimed(&name, *period, *chosen));
            let successor = later.and_then(|later| {
                let others = lives.iter().filter(|life| life.from > *chosen);
                let mut others =
                    others.filter(|life| !(is_claimed && life.knows_watched(terms, *chosen)));
                others.find(|life| {
                    let is_gone =
                        |before: &Life| before.to <= life.from || before.failed(&name, *chosen);
                    // What it wrote it may not have heard of, or not have lived to tell.
                    let has_told = life.says("superseded", &name, later)
                        || life.failed(&name, later.max(life.from));
                    has_told && lives.iter().filter(was_there).all(is_gone)
                })
            });
            match found {
                [one] if one >= chosen => runs += 1,
                [] if successor.is_some() && lives.iter().any(|life| was_there(&life)) => {
                    given_up += 1;
                }
                [] if successor.is_some() => passed += 1,
                _ => explain(&mut wrong, format!("{name} {period}, chosen {chosen}: {found:?}")),
            }
        }
        let status = bench.status(&name);
        for entry in status["history"].as_array().unwrap() {
            if entry["outcome"] != "executed" {
                explain(&mut wrong, format!("{name}: {entry}"));
            }
        }
    }
    for (name, times) in &created {
        if times.len() != 1 {
            wrong.push(format!("{name} was created at {times:?}"));
        }
    }
    eprintln!(
        "{expected} periods: {runs} Jobs, {passed} passed over that nobody was there for, \
         {given_up} with which those who were there had failed"
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(runs >= JOBS, "too few ran for this to mean anything");
}

/// OBS-01: the outcome of each Job that was created from `begin` to `end` is told once, also if
/// the answer to the write that recorded it was lost; unless somebody who led did not live on.
fn check_told(seen: &Seen, begin: UtcInstant, end: UtcInstant, lives: &[Life]) {
    let mut told: BTreeMap<&str, u32> = BTreeMap::new();
    for line in lives.iter().flat_map(|life| life.log.lines()) {
        if line.contains(" event=outcome ") {
            let job = line.split(' ').find_map(|word| word.strip_prefix("kubernetes_job="));
            // What was skipped has none.
            if let Some(job) = job {
                *told.entry(job).or_default() += 1;
            }
        }
    }
    let (mut once, mut untold, mut wrong) = (0, 0, Vec::new());
    for (name, jobs) in seen {
        let at = jobs.values().next().unwrap().created;
        if at < begin || at.saturating_add(HANGS) > end {
            continue;
        }
        let died = |life: &Life| life.to >= at.saturating_sub(HANGS) && life.to < end;
        match told.get(name.as_str()) {
            Some(1) => once += 1,
            None if lives.iter().any(died) => untold += 1,
            count => wrong.push(format!("{name}, created at {at}, was told of {count:?} times")),
        }
    }
    eprintln!("{once} outcomes told once, {untold} by nobody who lived");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Jobs that came after another of a `KronJob` of which one at a time may be active.
fn successions(seen: &Seen) -> Vec<(String, Sighting, Sighting)> {
    let mut found = Vec::new();
    for number in 0..ALONE {
        let name = format!("alone-{number}");
        let is_of_it = |job: &str| job.rsplit_once('-').is_some_and(|(owner, _)| owner == name);
        let jobs = seen.iter().filter(|(job, _)| is_of_it(job));
        let mut jobs: Vec<Sighting> = jobs.flat_map(|(_, jobs)| jobs.values().copied()).collect();
        jobs.sort_by_key(|job| job.created);
        found.extend(jobs.windows(2).map(|pair| (name.clone(), pair[0], pair[1])));
    }
    found
}

/// Fault 41: whoever leads, none of those that are to be alone is active beside another. (Two
/// that both believe to be alone may look at the same time.)
fn check_alone(bench: &Bench, seen: &Seen) {
    // Times of creation have no fraction, and an end is seen a moment later.
    const SLACK: Duration = Duration::from_secs(2);
    let successions = successions(seen);
    eprintln!("{} Jobs after another of those that are to be alone", successions.len());
    for (name, first, second) in successions {
        let is_apart = |ended| second.created.saturating_add(SLACK) >= ended;
        assert!(first.ended.is_some_and(is_apart), "{name}: {first:?} {second:?}");
    }
    for number in 0..ALONE {
        let name = format!("alone-{number}");
        for entry in bench.status(&name)["history"].as_array().into_iter().flatten() {
            let outcome = entry["outcome"].as_str().unwrap();
            assert!(["executed", "skipped"].contains(&outcome), "{name}: {entry}");
        }
    }
}

/// How long each phase lasts at least; `KRON_FAULT_SECONDS` for a long run.
fn seconds() -> u64 {
    std::env::var("KRON_FAULT_SECONDS").map_or(30, |text| text.parse().unwrap())
}

#[test]
fn opr_03_04_fault_40_41_42_46_one_job_for_each_period() {
    let Some(bench) = Bench::start("one_job_for_each_period") else { return };
    let seed = now().subsec_nanos().into();
    eprintln!("seed {seed}");
    let chance = Arc::new(Chance::new(seed));
    let faulty = (0..OBJECTS).map(|number| object(&format!("fault-{number}"), &spec(number)));
    let alone = (0..ALONE).map(|number| object(&format!("alone-{number}"), &alone(number)));
    let objects: Vec<Value> = faulty.chain(alone).collect();
    bench
        .cluster
        .apply(&json!({ "apiVersion": "v1", "kind": "List", "items": objects }).to_string())
        .unwrap();
    let observer = Observer::start(&bench);
    let begin = now();

    // Two replicas that elect a leader; each leader's death costs the others a quarter of a
    // minute, so there are few.
    let elected = Phase::start(&bench, "elected", &chance, true);
    chance.is_calm.store(false, Ordering::Relaxed);
    chance.kills.store(20, Ordering::Relaxed);
    elected.run(seconds(), || {
        let successions = || successions(&observer.seen.lock().unwrap()).len();
        chance.faults() >= FAULTS && observer.count() >= JOBS && successions() >= SUCCESSIONS
    });
    let calm = now();
    elected.end();
    let mut lives = elected.lives();
    drop(elected);
    check_told(&observer.seen.lock().unwrap(), begin, calm, &lives);
    check_alone(&bench, &observer.seen.lock().unwrap());

    // Two that both believe to be alone.
    let rivals = Phase::start(&bench, "rivals", &chance, false);
    chance.kills.store(200, Ordering::Relaxed);
    let (faults, jobs) = (chance.faults() + FAULTS, observer.count() + JOBS);
    let kinds = ["lost", "unanswered", "late", "twice", "refused", "cut"];
    rivals.run(seconds(), || {
        chance.faults() >= faults
            && observer.count() >= jobs
            && kinds.iter().all(|what| chance.count(what) > 5)
            && chance.count("killed before") + chance.count("killed after") > 5
    });
    chance.is_calm.store(true, Ordering::Relaxed);
    rivals.run(3, || true);
    let end = now();
    wait("everything that was due to be recorded", || {
        rivals.run(1, || true);
        let all = bench.get(&["kronjobs"]);
        let is_settled = |item: &Value| {
            let next = item["status"]["nextPeriod"]["chosenTime"].as_str();
            item["status"]["pending"].as_array().is_none_or(Vec::is_empty)
                && next.is_some_and(|next| next.parse::<UtcInstant>().unwrap() > end)
        };
        all["items"].as_array().unwrap().iter().all(is_settled).then_some(())
    });
    lives.extend(rivals.lives());
    drop(rivals);

    for ((call, what), count) in &*chance.counts.lock().unwrap() {
        eprintln!("{call:?} {what}: {count}");
    }
    eprintln!("{} faults", chance.faults());
    let terms: Vec<Term> = observer.terms.lock().unwrap().values().cloned().collect();
    eprintln!("{} terms", terms.len());
    check(&bench, &observer.seen.lock().unwrap(), &terms, (begin, end), &lives);
    assert!(chance.faults() >= 500, "{}", chance.faults());
}
