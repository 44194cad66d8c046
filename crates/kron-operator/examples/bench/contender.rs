//! Who creates Jobs.

use kron_cluster::{Cluster, Controllers, Part};
use serde_json::{Value, json};
use std::error::Error;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Contender {
    /// Kubernetes' controller as it comes.
    Plain,
    /// The same, allowed as much as it can use.
    Tuned,
    Kron,
}

impl Contender {
    pub const ALL: [Self; 3] = [Self::Plain, Self::Tuned, Self::Kron];

    pub fn named(name: &str) -> Result<Self, String> {
        match name {
            "plain" => Ok(Self::Plain),
            "tuned" => Ok(Self::Tuned),
            "kron" => Ok(Self::Kron),
            _ => Err(format!("`{name}` is none of plain, tuned, kron")),
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::Plain => "CronJob",
            Self::Tuned => "CronJob, 500 requests a second, 64 workers",
            Self::Kron => "KronJob",
        }
    }

    /// Installs what it needs.
    pub fn install(self, cluster: &Cluster) -> Result<(), Box<dyn Error>> {
        if self != Self::Kron {
            return Ok(());
        }
        let deploy = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy");
        cluster.apply(&fs::read_to_string(format!("{deploy}/crd.yaml"))?)?;
        let until = Instant::now() + Duration::from_secs(30);
        while cluster
            .kubectl(&["wait", "--for=condition=Established", "crd/kronjobs.kron.io"])
            .is_err()
        {
            if Instant::now() > until {
                return Err("the resource is not established".into());
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        cluster.apply(&fs::read_to_string(format!("{deploy}/operator.yaml"))?)?;
        Ok(())
    }

    /// One of its objects, and where it goes.
    pub fn object(self, number: usize, schedule: &str) -> (&'static str, Value) {
        let job = json!({ "spec": { "suspend": true, "template": { "spec": {
            "restartPolicy": "Never", "containers": [{ "name": "main", "image": "none" }]
        } } } });
        let (path, version, kind) = match self {
            Self::Kron => (
                "/apis/kron.io/v1alpha1/namespaces/default/kronjobs",
                "kron.io/v1alpha1",
                "KronJob",
            ),
            _ => ("/apis/batch/v1/namespaces/default/cronjobs", "batch/v1", "CronJob"),
        };
        let object = json!({
            "apiVersion": version,
            "kind": kind,
            "metadata": { "name": format!("bench-{number}"), "namespace": "default" },
            "spec": { "schedule": schedule, "jobTemplate": job },
        });
        (path, object)
    }

    /// Starts it.
    pub fn run(self, cluster: &mut Cluster) -> Result<Running, Box<dyn Error>> {
        if self == Self::Kron {
            let config = cluster.kubeconfig_for_service_account("kron-system", "kron-operator")?;
            let log = cluster.directory().join("operator.log");
            let program = std::env::current_exe()?;
            let program = program.parent().and_then(|examples| examples.parent());
            let program = program.ok_or("no directory of programs")?.join("kron-operator");
            let child = Command::new(program)
                .args(["run", "--listen", "127.0.0.1:0", "--lease-namespace", "kron-system"])
                .env("KUBECONFIG", config)
                .stderr(File::create(&log)?)
                .spawn()?;
            let running = Running { child: Some(child), log: Some(log) };
            running.wait_for("event=ready", 1)?;
            return Ok(running);
        }
        let mut controllers =
            Controllers { names: vec!["cronjob-controller".into()], ..Controllers::default() };
        if self == Self::Tuned {
            controllers.api_qps = Some(500);
            controllers.api_burst = Some(1000);
            controllers.concurrent_cron_job_syncs = Some(64);
        }
        cluster.stop_controllers();
        cluster.start_controllers(&controllers)?;
        Ok(Running { child: None, log: None })
    }
}

/// A contender that runs: the operator, or the controller manager of the cluster.
pub struct Running {
    child: Option<Child>,
    log: Option<PathBuf>,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Running {
    fn pid(&self, cluster: &Cluster) -> Result<u32, &'static str> {
        let child = self.child.as_ref().map(Child::id);
        child.or(cluster.pid(Part::ControllerManager)).ok_or("it does not run")
    }

    /// Processor time that it has used.
    pub fn cpu(&self, cluster: &Cluster) -> Result<Duration, Box<dyn Error>> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid(cluster)?))?;
        // The name, which may hold anything, ends with the last parenthesis.
        let fields: Vec<&str> =
            stat.rsplit_once(')').ok_or("no end of the name")?.1.split_whitespace().collect();
        let ticks = fields[11].parse::<u64>()? + fields[12].parse::<u64>()?;
        Ok(Duration::from_millis(ticks * 10))
    }

    /// Kilobytes that it has, and that it had at most.
    pub fn memory(&self, cluster: &Cluster) -> Result<(u64, u64), Box<dyn Error>> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid(cluster)?))?;
        let field = |name: &str| -> Result<u64, Box<dyn Error>> {
            let line = status.lines().find(|line| line.starts_with(name)).ok_or("no such field")?;
            Ok(line.split_whitespace().nth(1).ok_or("no number")?.parse()?)
        };
        Ok((field("VmRSS:")?, field("VmHWM:")?))
    }

    /// Waits until everything has been looked at for the first time.
    pub fn wait_for_plans(&self, count: usize) -> Result<(), Box<dyn Error>> {
        self.wait_for("event=decision", count)
    }

    fn wait_for(&self, words: &str, count: usize) -> Result<(), Box<dyn Error>> {
        let Some(log) = &self.log else { return Ok(()) };
        let until = Instant::now() + Duration::from_secs(180);
        while fs::read_to_string(log)?.matches(words).count() < count {
            if Instant::now() > until {
                return Err(format!("not {count} of `{words}`").into());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    /// Ends it, so that another need not wait for its lease.
    pub fn stop(&mut self) -> Result<(), Box<dyn Error>> {
        if let Some(mut child) = self.child.take() {
            Command::new("kill").args(["-TERM", &child.id().to_string()]).status()?;
            child.wait()?;
        }
        Ok(())
    }
}
