//! `kron-cluster`: builds the programs of a control plane, and starts one by hand.

#![forbid(unsafe_code)]

use clap::{Args, Parser};
use kron_cluster::{AUDIT_METADATA, Cluster, Controllers, Error, Options, Programs};
use nix::sys::signal::{SigSet, Signal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  kron-cluster build               # once; takes ten minutes or more
  kron-cluster up                  # then, elsewhere: the line that it prints
  kron-cluster up --apply crd.yaml
  PATH=\"$(kron-cluster path):$PATH\" kubectl get jobs

Environment:
  KRON_CLUSTER_BIN     a directory with etcd, kube-apiserver, kube-controller-manager
                       and kubectl, to be used instead of what is built
  KUBEBUILDER_ASSETS   the same, if all of them are there
  XDG_CACHE_HOME       where programs are kept, in kron/cluster; ~/.cache if not set";

/// A real Kubernetes control plane without nodes, for tests and for trying things out.
#[derive(Debug, Parser)]
#[command(name = "kron-cluster", after_help = EXAMPLES)]
enum Cli {
    /// Build the programs with Go, unless there are some
    Build,
    /// Start a control plane, until Ctrl-C; nothing of it is kept
    Up(Up),
    /// Print the directory of the programs
    Path,
}

#[derive(Debug, Args)]
struct Up {
    /// Manifests to apply before controllers start, such as resource definitions
    #[arg(long, value_name = "FILE")]
    apply: Vec<PathBuf>,
    /// Also start the controller of Kubernetes' own cron jobs
    #[arg(long)]
    cron_jobs: bool,
    /// Keep an audit log of all requests
    #[arg(long)]
    audit: bool,
    /// Wait for the disk at every write, as in production
    #[arg(long)]
    durable: bool,
}

fn main() -> ExitCode {
    let result = match Cli::parse() {
        Cli::Build => build(),
        Cli::Up(up) => up.run(),
        Cli::Path => {
            Programs::find().map(|programs| println!("{}", programs.directory().display()))
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kron-cluster: {error}");
            // So that a script can tell a machine without Go from a failure.
            ExitCode::from(if error.is_missing() { 3 } else { 1 })
        }
    }
}

fn build() -> Result<(), Error> {
    let from = Instant::now();
    let programs = Programs::find_or_build(&|what| {
        eprintln!("kron-cluster: {what} ({} s)", from.elapsed().as_secs());
    })?;
    println!("{}", programs.directory().display());
    Ok(())
}

impl Up {
    fn run(&self) -> Result<(), Error> {
        let from = Instant::now();
        let mut cluster = Cluster::start(&Options {
            is_durable: self.durable,
            audit_policy: self.audit.then(|| AUDIT_METADATA.to_string()),
            ..Options::default()
        })?;
        for path in &self.apply {
            let path = path.display().to_string();
            cluster.kubectl(&["apply", "--server-side", "--filename", &path])?;
        }
        let controllers =
            if self.cron_jobs { Controllers::with_cron_jobs() } else { Controllers::default() };
        cluster.start_controllers(&controllers)?;
        // Who reads the next line may end us at once.
        let signals = hold_back_signals();
        println!("export KUBECONFIG={}", cluster.kubeconfig().display());
        eprintln!(
            "kron-cluster: ready after {:.1} s; logs are in {}; Ctrl-C ends it",
            from.elapsed().as_secs_f64(),
            cluster.directory().display()
        );
        // It does not fail for signals that exist. If it did: the cluster would end at once.
        let _ = signals.wait();
        Ok(())
    }
}

/// Holds back Ctrl-C and its like, to wait for them. Only once everything is started, because a
/// program started with them held back would never hear them; before, they end us, and the
/// cluster with us.
fn hold_back_signals() -> SigSet {
    let mut signals = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        signals.add(signal);
    }
    // This does not fail for signals that exist, either.
    let _ = signals.thread_block();
    signals
}
