//! A cluster with the resource installed, and the operator beside it.

use kron_cluster::{AUDIT_METADATA, Cluster, Controllers, Options, start_or_skip};
use kron_core::{Job, UtcSecond, Zones};
use kron_operator::api::KronJobSpec;
use kron_operator::convert;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(90);

pub struct Bench {
    pub cluster: Cluster,
    operator: Option<Child>,
    log: PathBuf,
}

/// A program that is not to outlive whoever started it.
pub struct Ends(Option<Child>);

impl Drop for Ends {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        drop(Ends(self.operator.take()));
        if std::thread::panicking() {
            eprintln!("{}", fs::read_to_string(&self.log).unwrap_or_default());
        }
    }
}

/// The name of this machine, as replicas call themselves by.
fn host() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_string()
}

fn deploy(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(file);
    fs::read_to_string(path).unwrap()
}

impl Bench {
    pub fn start(test: &str) -> Option<Self> {
        let options = Options { audit_policy: Some(AUDIT_METADATA.into()), ..Options::default() };
        let cluster = start_or_skip(test, &options).unwrap()?;
        let log = cluster.directory().join("operator.log");
        let mut bench = Self { cluster, operator: None, log };
        bench.define();
        bench.cluster.apply(&deploy("operator.yaml")).unwrap();
        let mut controllers = Controllers::default();
        controllers.names.push("resourcequota-controller".into());
        bench.cluster.start_controllers(&controllers).unwrap();
        Some(bench)
    }

    /// Installs the resource.
    pub fn define(&self) {
        self.cluster.apply(&deploy("crd.yaml")).unwrap();
        // Until it has a status at all, waiting for a condition of it is an error.
        let established = ["wait", "--for=condition=Established", "crd/kronjobs.kron.io"];
        wait("the resource", || self.cluster.kubectl(&established).ok());
    }

    /// Starts the program as the account that the manifests make for it.
    pub fn start_operator(&mut self) {
        let config =
            self.cluster.kubeconfig_for_service_account("kron-system", "kron-operator").unwrap();
        self.operator = Some(Self::spawn(&config, &self.log, &[]).0.take().unwrap());
        let pid = self.operator.as_ref().map(Child::id);
        let start = format!("replica={}_{}", host(), pid.unwrap_or_default());
        wait("the operator", || {
            let log = fs::read_to_string(&self.log).ok()?;
            log.split_once(&start)?.1.contains("event=ready").then_some(())
        });
    }

    /// Starts the program by this configuration; it ends with what is returned.
    pub fn spawn(config: &Path, log: &Path, arguments: &[&str]) -> Ends {
        let log = File::options().create(true).append(true).open(log).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_kron-operator"))
            .args(["run", "--listen", "127.0.0.1:0", "--lease-namespace", "kron-system"])
            .args(arguments)
            .env("KUBECONFIG", config)
            .stderr(log)
            .spawn();
        Ends(Some(child.unwrap()))
    }

    /// How the program has ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        let status = self.operator.as_mut()?.try_wait().unwrap()?;
        self.operator = None;
        Some(status)
    }

    /// Starts the program again if it has ended because it lost its lease.
    pub fn tend_operator(&mut self) {
        let Some(child) = &mut self.operator else { return };
        if let Some(status) = child.try_wait().unwrap() {
            assert_eq!(status.code(), Some(3), "{status}");
            self.start_operator();
        }
    }

    pub fn operator_log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// Asks the program to end, and waits.
    pub fn stop_operator(&mut self, patience: Duration) {
        let Some(mut child) = self.operator.take() else { return };
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        let until = Instant::now() + patience;
        loop {
            match child.try_wait().unwrap() {
                Some(status) => {
                    assert!(status.success(), "{status}");
                    return;
                }
                None => assert!(Instant::now() < until, "it does not end"),
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// A `KronJob` with this in its spec; the rest is that of one that runs every minute.
    pub fn apply(&self, name: &str, spec: &Value) {
        self.try_apply(name, spec).unwrap();
    }

    pub fn try_apply(&self, name: &str, spec: &Value) -> Result<String, String> {
        self.cluster.apply(&object(name, spec).to_string()).map_err(|error| error.to_string())
    }

    pub fn kubectl(&self, arguments: &[&str]) -> String {
        self.cluster.kubectl(arguments).unwrap()
    }

    pub fn get(&self, arguments: &[&str]) -> Value {
        let arguments = [&["get", "--output=json"], arguments].concat();
        serde_json::from_str(&self.kubectl(&arguments)).unwrap()
    }

    pub fn status(&self, name: &str) -> Value {
        self.get(&["kronjob", name])["status"].clone()
    }

    pub fn condition(&self, name: &str, kind: &str) -> Value {
        let status = self.status(name);
        let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        conditions.into_iter().find(|found| found["type"] == kind).unwrap_or_default()
    }

    pub fn events(&self, name: &str) -> String {
        let about = format!("--field-selector=regarding.name={name}");
        self.kubectl(&["get", "events.events.k8s.io", &about])
    }

    /// The Jobs that have the name of a `KronJob`, whosever they are.
    pub fn jobs(&self, kronjob: &str) -> Vec<Value> {
        let jobs = self.get(&["jobs"])["items"].as_array().cloned().unwrap_or_default();
        let is_of = |job: &Value| {
            let name = job["metadata"]["name"].as_str().unwrap_or_default();
            name.rsplit_once('-').is_some_and(|(name, _)| name == kronjob)
        };
        jobs.into_iter().filter(is_of).collect()
    }

    /// Everything that was asked for, from the audit log.
    fn audit(&self) -> impl Iterator<Item = Value> {
        let log = fs::read_to_string(self.cluster.audit_log()).unwrap();
        // The last line may be being written.
        let lines = log.lines().filter_map(|line| serde_json::from_str(line).ok());
        lines.collect::<Vec<Value>>().into_iter()
    }

    /// What the operator's account asked to be changed.
    pub fn changes(&self) -> impl Iterator<Item = Value> {
        self.audit().filter(|line| {
            let verb = line["verb"].as_str().unwrap_or_default();
            line["user"]["username"] == "system:serviceaccount:kron-system:kron-operator"
                && ["create", "update", "patch", "delete"].contains(&verb)
        })
    }

    /// Requests to create Jobs.
    pub fn requests(&self) -> impl Iterator<Item = Value> {
        self.audit().filter(|line| {
            let uri = line["requestURI"].as_str().unwrap_or_default();
            line["verb"] == "create"
                && line["objectRef"]["resource"] == "jobs"
                && !uri.contains("dryRun")
        })
    }

    /// How often a Job was created.
    pub fn created(&self, job: &str) -> usize {
        let is_it = |request: &Value| {
            request["objectRef"]["name"] == job && request["responseStatus"]["code"] == 201
        };
        self.requests().filter(is_it).count()
    }

    /// How often somebody tried to create a Job in a namespace.
    pub fn attempts(&self, namespace: &str) -> usize {
        self.requests().filter(|request| request["objectRef"]["namespace"] == namespace).count()
    }

    /// Chosen time, seed and minute of a period, computed here.
    pub fn decide(name: &str, spec: &Value, period: &str) -> (String, String, i64) {
        let job = definition("default", name, spec);
        let decision = job.decide(period.parse().unwrap());
        let minute = decision.period().nominal().unix_seconds() / 60;
        (decision.chosen().unwrap().to_string(), decision.seed_hash().to_string(), minute)
    }
}

/// Polls until there is something.
pub fn wait<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// A `KronJob` as its manifest.
pub fn object(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "kron.io/v1alpha1",
        "kind": "KronJob",
        "metadata": { "name": name },
        "spec": full(spec),
    })
}

/// What the operator makes of it.
pub fn definition(namespace: &str, name: &str, spec: &Value) -> Job {
    let spec: KronJobSpec = serde_json::from_value(full(spec)).unwrap();
    convert::job(namespace, name, &spec, &mut Zones::bundled()).unwrap()
}

fn full(spec: &Value) -> Value {
    let mut full = json!({
        "schedule": "* * * * *",
        "jobTemplate": { "spec": { "backoffLimit": 0, "template": { "spec": {
            "restartPolicy": "Never", "containers": [{ "name": "main", "image": "none" }]
        } } } },
    });
    for (key, value) in spec.as_object().into_iter().flatten() {
        if value.is_null() {
            full.as_object_mut().unwrap().remove(key);
        } else {
            full[key] = value.clone();
        }
    }
    full
}

pub fn seconds(time: &str) -> i64 {
    time.parse::<UtcSecond>().unwrap().unix_seconds()
}

/// Minutes since 1970.
pub fn minute() -> i64 {
    kron_operator::tell::now().unix_seconds() / 60
}
