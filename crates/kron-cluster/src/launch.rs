//! The flags of each program.

use crate::certificates::TokenKeys;
use crate::options::{Controllers, Options};
use std::path::Path;

/// Large enough that the audit log is one file, in megabytes.
const AUDIT_LOG_SIZE: u32 = 100_000;

pub fn etcd(data: &Path, client: u16, peer: u16, is_durable: bool) -> Vec<String> {
    let client = format!("http://127.0.0.1:{client}");
    let peer = format!("http://127.0.0.1:{peer}");
    let mut flags = vec![
        "--name=kron".into(),
        "--log-level=warn".into(),
        format!("--data-dir={}", data.display()),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=kron={peer}"),
    ];
    if !is_durable {
        flags.push("--unsafe-no-fsync".into());
    }
    flags
}

/// Files that the API server is told of.
pub struct ApiServerFiles<'a> {
    pub certificate: &'a Path,
    pub key: &'a Path,
    pub authority: &'a Path,
    pub token_keys: &'a TokenKeys,
    /// The audit policy and the log, if there is to be one.
    pub audit: Option<(&'a Path, &'a Path)>,
}

pub fn api_server(
    files: &ApiServerFiles<'_>,
    etcd: u16,
    port: u16,
    options: &Options,
) -> Vec<String> {
    let file = |flag: &str, path: &Path| format!("--{flag}={}", path.display());
    let mut flags = vec![
        format!("--etcd-servers=http://127.0.0.1:{etcd}"),
        "--bind-address=127.0.0.1".into(),
        "--advertise-address=127.0.0.1".into(),
        format!("--secure-port={port}"),
        file("tls-cert-file", files.certificate),
        file("tls-private-key-file", files.key),
        file("client-ca-file", files.authority),
        "--authorization-mode=RBAC".into(),
        "--service-cluster-ip-range=10.0.0.0/24".into(),
        "--service-account-issuer=https://kubernetes.default.svc".into(),
        file("service-account-key-file", &files.token_keys.checking),
        file("service-account-signing-key-file", &files.token_keys.signing),
        // Nothing makes the accounts that it would demand of every pod.
        "--disable-admission-plugins=ServiceAccount".into(),
        "--endpoint-reconciler-type=none".into(),
    ];
    if let Some((policy, log)) = files.audit {
        flags.push(file("audit-policy-file", policy));
        flags.push(file("audit-log-path", log));
        flags.push(format!("--audit-log-maxsize={AUDIT_LOG_SIZE}"));
    }
    flags.extend_from_slice(&options.api_server_flags);
    flags
}

pub fn controller_manager(kubeconfig: &Path, controllers: &Controllers) -> Vec<String> {
    let mut flags = vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        "--leader-elect=false".into(),
        "--secure-port=0".into(),
        format!("--controllers={}", controllers.names.join(",")),
    ];
    for (flag, value) in [
        ("kube-api-qps", controllers.api_qps),
        ("kube-api-burst", controllers.api_burst),
        ("concurrent-cron-job-syncs", controllers.concurrent_cron_job_syncs),
    ] {
        flags.extend(value.map(|value| format!("--{flag}={value}")));
    }
    flags.extend_from_slice(&controllers.flags);
    flags
}
