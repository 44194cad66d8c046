//! What can be different about a cluster.

use crate::programs::Programs;

/// An audit policy that keeps who asked for what and when, of every request, and no
/// bodies. A request is one line, with the times of its arrival and of its answer.
pub const AUDIT_METADATA: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
";

/// How etcd and the API server are started.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Which programs; found, or built, if not given.
    pub programs: Option<Programs>,
    /// Whether a write waits for the disk, as in production. Tests need not.
    pub is_durable: bool,
    /// A policy, such as [`AUDIT_METADATA`], by which the API server keeps an audit log.
    pub audit_policy: Option<String>,
    /// More flags of the API server; they win over those of this crate.
    pub api_server_flags: Vec<String>,
}

/// How the controller manager is started.
#[derive(Clone, Debug)]
pub struct Controllers {
    /// Names as of `--controllers`.
    pub names: Vec<String>,
    /// Requests per second that it allows itself; Kubernetes' default is 20.
    pub api_qps: Option<u32>,
    /// Requests above that rate that it may send at once; Kubernetes' default is 30.
    pub api_burst: Option<u32>,
    /// `CronJob`s looked at in parallel; Kubernetes' default is 5.
    pub concurrent_cron_job_syncs: Option<u32>,
    /// More flags; they win over those of this crate.
    pub flags: Vec<String>,
}

impl Default for Controllers {
    /// What Jobs and namespaces need: the Job controller, garbage collection, removal
    /// of finished Jobs and of namespaces.
    fn default() -> Self {
        let names = [
            "job-controller",
            "garbage-collector-controller",
            "ttl-after-finished-controller",
            "namespace-controller",
        ];
        Self {
            names: names.map(String::from).to_vec(),
            api_qps: None,
            api_burst: None,
            concurrent_cron_job_syncs: None,
            flags: Vec::new(),
        }
    }
}

impl Controllers {
    /// The default ones, and Kubernetes' own `CronJob`s.
    #[must_use]
    pub fn with_cron_jobs() -> Self {
        let mut controllers = Self::default();
        controllers.names.push("cronjob-controller".into());
        controllers
    }
}
