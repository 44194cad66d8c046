//! The command line.

use crate::tell::LogFormat;
use clap::{Parser, Subcommand};
use kron_term::choice::LogLevel;
use std::net::SocketAddr;
use std::time::Duration;

/// Creates Kubernetes Jobs at the second that Kron chose, one for each period
#[derive(Debug, Parser)]
#[command(
    name = "kron-operator",
    version,
    after_help = "Examples:
  kron-operator crd | kubectl apply -f -
      installs the resource
  kron-operator run
      looks after the KronJobs of all namespaces
  kron-operator run --namespace shop --leader-elect=false
      those of one namespace, as the only replica

Exit codes: 0 stopped as asked, 2 invalid arguments, 3 the lease was lost, 4 anything fatal."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Look after `KronJob`s until stopped
    Run(Run),
    /// Print the definition of the resource
    Crd,
}

/// How to look after them.
#[derive(Clone, Debug, Parser)]
pub struct Run {
    /// Only this namespace; all if not given
    #[arg(long, env = "KRON_NAMESPACE", value_name = "NAME")]
    pub namespace: Option<String>,
    /// Whether several replicas agree on which of them works
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    pub leader_elect: bool,
    /// Namespace of the lease; by default the one that this runs in
    #[arg(long, env = "POD_NAMESPACE", value_name = "NAME")]
    pub lease_namespace: Option<String>,
    /// Name of the lease
    #[arg(long, default_value = "kron-operator", value_name = "NAME")]
    pub lease_name: String,
    /// Who this replica is; no other may be the same
    #[arg(long, env = "POD_NAME", value_name = "NAME")]
    pub identity: Option<String>,
    /// Where metrics and health are served
    #[arg(long, default_value = "0.0.0.0:8080", value_name = "ADDRESS")]
    pub listen: SocketAddr,
    /// How late after its alarm a period is still judged by the time of the alarm
    #[arg(long, default_value = "10s", value_name = "DURATION", value_parser = duration)]
    pub max_dispatch_lag: Duration,
    /// Requests to create Jobs that are under way at once
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub concurrency: u16,
    /// How lines are written
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub log_format: LogFormat,
    /// Which lines are written
    #[arg(long, value_enum, default_value_t, value_name = "LEVEL")]
    pub log_level: LogLevel,
}

fn duration(text: &str) -> Result<Duration, String> {
    kron_core::time::duration::parse(text)
        .map_err(|_| "a length of time such as `10s` or `1m30s` is expected".into())
}
