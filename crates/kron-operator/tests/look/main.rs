//! One look at a `KronJob`, beside an API server that is not one: what happens between the
//! steps of a plan, which a plan alone cannot know.

mod create;
mod events;
mod lead;
mod server;
mod trouble;

use kron_core::line::Level;
use kron_core::{DefinitionHash, PeriodId, UtcInstant, UtcSecond, Zones};
use kron_operator::api::KronJobSpec;
use kron_operator::cluster::{Call, Cluster};
use kron_operator::convert;
use kron_operator::desk::{Desk, Key};
use kron_operator::lanes::Lanes;
use kron_operator::lease::{Candidate, Fence};
use kron_operator::meter::Meter;
use kron_operator::plan::plan;
use kron_operator::reconcile::{Context, Planner, reconcile};
use kron_operator::tell::{LogFormat, Teller, now};
use kube::api::DynamicObject;
use serde_json::{Value, json};
use server::{Refuses, Server};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// A `KronJob` one period of which came due five minutes ago, was claimed, and waits; seen by
/// somebody who has led for long.
struct Scene {
    context: Arc<Context>,
    server: Arc<Server>,
    key: Key,
    period: PeriodId,
}

/// What is different from one scene to the next.
struct Setting {
    policy: Value,
    lag: Duration,
    planner: Planner,
    refuses: Refuses,
    /// Hears of every request.
    hears: fn(Call),
}

impl Default for Setting {
    fn default() -> Self {
        let policy = json!({ "deadline": "30m" });
        Self {
            policy,
            lag: Duration::from_secs(10),
            planner: plan,
            refuses: |_| None,
            hears: |_| (),
        }
    }
}

/// The period of five minutes ago.
fn period() -> PeriodId {
    let minute = now().unix_seconds() / 60 * 60 - 300;
    PeriodId::new(UtcSecond::new(minute).unwrap()).unwrap()
}

fn spec(period: PeriodId, policy: &Value) -> Value {
    let text = period.to_string();
    let schedule = format!("{} {} * * *", &text[14..16], &text[11..13]);
    json!({ "schedule": schedule, "policy": policy, "jobTemplate": { "spec": {} } })
}

impl Scene {
    async fn set(setting: Setting) -> Self {
        let period = period();
        let spec = spec(period, &setting.policy);
        let typed: KronJobSpec = serde_json::from_value(spec.clone()).unwrap();
        let job = convert::job("shop", "a", &typed, &mut Zones::bundled()).unwrap();
        let long_ago = period.nominal().instant().saturating_sub(HOUR);
        let kronjob = json!({
            "apiVersion": "kron.io/v1alpha1",
            "kind": "KronJob",
            "metadata": {
                "name": "a", "namespace": "shop", "uid": "u", "resourceVersion": "1",
                "generation": 1, "creationTimestamp": long_ago.floor().to_string(),
            },
            "spec": spec,
            "status": {
                "observedGeneration": 1,
                "marks": {
                    "handledAhead": [],
                    "notBefore": long_ago.to_string(),
                    "definitionHash": DefinitionHash::of(&job).to_string(),
                },
                "pending": [{
                    "periodId": period.to_string(),
                    "nominalTime": period.to_string(),
                    "chosenTime": period.to_string(),
                    "seedHash": job.decide(period).seed_hash().to_string(),
                }],
            },
        });
        let (server, client) = Server::start(kronjob.clone(), Vec::new(), setting.refuses).await;
        let fence = Arc::new(Fence::closed());
        Candidate::new(client.clone(), "shop", "lease", "test").acquire(&fence, |_| ()).await;
        let cluster = Cluster::new(client, fence).counted(Arc::new(setting.hears));
        let meter = Arc::<Meter>::default();
        let (format, counter) = (LogFormat::Text, Arc::clone(&meter));
        let (teller, telling) =
            Teller::new(format, Level::Error, cluster.clone(), "test".into(), counter, async || {});
        tokio::spawn(telling);
        let mut desk = Desk::default();
        let (key, _) = desk.learn(object_of(&kronjob), now());
        let entry = desk.entry(&key).unwrap();
        (entry.since, entry.rang) = (Some(long_ago), None);
        let context = Arc::new(Context {
            cluster,
            desk: Mutex::new(desk),
            lanes: Arc::new(Lanes::new(1)),
            teller,
            meter,
            planner: setting.planner,
            max_dispatch_lag: setting.lag,
        });
        Self { context, server, key, period }
    }

    /// The object changes, in the cluster and for those who watch.
    fn edit(&mut self, change: impl FnOnce(&mut Value)) {
        let mut state = self.server.state.lock().unwrap();
        let version = state.kronjob["metadata"]["resourceVersion"].as_str().unwrap();
        let version: u64 = version.parse().unwrap();
        state.kronjob["metadata"]["resourceVersion"] = (version + 1).to_string().into();
        change(&mut state.kronjob);
        self.context.desk().learn(object_of(&state.kronjob), now());
    }

    /// Its alarm rang at the chosen second.
    fn ring(&self) {
        let at: UtcInstant = self.period.nominal().instant();
        self.context.desk().entry(&self.key).unwrap().rang = Some(at);
    }

    fn condition(&self, kind: &str) -> Value {
        let state = self.server.state.lock().unwrap();
        let conditions = state.kronjob["status"]["conditions"].as_array().cloned();
        conditions.into_iter().flatten().find(|found| found["type"] == kind).unwrap_or_default()
    }

    /// The value of a series.
    fn series(&self, name: &str) -> u64 {
        let page = self.context.meter.page(0, 0, true);
        let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name}")).parse().unwrap()
    }

    async fn look(&self) {
        reconcile(&self.context, &self.key, false).await;
    }
}

fn object_of(kronjob: &Value) -> DynamicObject {
    serde_json::from_value(kronjob.clone()).unwrap()
}
