//! The program: puts the parts together, and ends them.

use crate::api;
use crate::cli::{Cli, Command, Run};
use crate::cluster::{Cluster, Fail};
use crate::desk::Desk;
use crate::lanes::Lanes;
use crate::lease::{Candidate, Fence};
use crate::meter::Meter;
use crate::pulse::Pulse;
use crate::reconcile::Context;
use crate::serve::{Pages, serve};
use crate::tell::{Teller, log};
use crate::{operator, plan};
use clap::Parser;
use kron_core::line::{Level, Line};
use kron_term::failure::{FATAL, Failure, INVALID, STATE};
use kube::{Client, Config};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// Runs the program; its exit code.
#[must_use]
pub fn main() -> u8 {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are not errors, and have exit code 0.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(INVALID);
        }
    };
    let outcome = match cli.command {
        Command::Crd => api::definition_yaml()
            .map(|yaml| kron_term::terminal::print(&yaml))
            .map_err(|error| Failure::new(FATAL, error.to_string())),
        Command::Run(arguments) => return start(arguments),
    };
    match outcome {
        Ok(()) => 0,
        Err(failure) => {
            failure.report();
            failure.code
        }
    }
}

/// Runs until it is stopped; its exit code. Whatever ends it is in the log (OBS-06).
fn start(arguments: Run) -> u8 {
    let format = arguments.log_format;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let ended = match runtime {
        Ok(runtime) => runtime.block_on(run(arguments)),
        Err(error) => Err(system("start threads", &error)),
    };
    match ended {
        Ok(()) => 0,
        Err(Fatal { code, error_type, operation, message, hint }) => {
            let line = Line::new(Level::Error, "error")
                .with("error_type", error_type)
                .with("operation", operation)
                .with("message", message)
                .with_some("hint", hint)
                .with("fatal", true);
            log(format, &line);
            code
        }
    }
}

/// Why the program ends.
struct Fatal {
    code: u8,
    error_type: &'static str,
    operation: &'static str,
    message: String,
    hint: Option<&'static str>,
}

fn system(operation: &'static str, error: &dyn std::fmt::Display) -> Fatal {
    let (error_type, message) = ("SystemError", error.to_string());
    Fatal { code: FATAL, error_type, operation, message, hint: None }
}

fn configuration(operation: &'static str, error: &dyn std::fmt::Display) -> Fatal {
    let hint = "set KUBECONFIG, or run it in a pod with a service account";
    let error_type = "ConfigurationError";
    Fatal { error_type, hint: Some(hint), ..system(operation, error) }
}

struct Shown {
    context: Arc<Context>,
    pulse: Pulse,
    is_elected: bool,
}

impl Pages for Shown {
    fn metrics(&self) -> String {
        let (objects, active) = {
            let desk = self.context.desk();
            (desk.len(), desk.active())
        };
        self.context.meter.page(objects, active, self.context.cluster.leads())
    }

    fn health(&self) -> Result<(), String> {
        self.pulse.health(Instant::now())
    }

    /// A replica that waits for the lease is ready to take over.
    fn readiness(&self) -> Result<(), String> {
        let waits = self.is_elected && !self.context.cluster.leads();
        if waits || self.pulse.is_synced() {
            Ok(())
        } else {
            Err("KronJobs and Jobs have not been listed yet".into())
        }
    }
}

async fn run(arguments: Run) -> Result<(), Fatal> {
    let config = Config::infer().await;
    let config = config.map_err(|error| configuration("tell which cluster is meant", &error))?;
    let namespace = config.default_namespace.clone();
    let client = Client::try_from(config);
    let client = client.map_err(|error| configuration("use the configuration", &error))?;
    let fence = Arc::new(if arguments.leader_elect { Fence::closed() } else { Fence::open() });
    let identity = arguments.identity.clone().unwrap_or_else(|| {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        format!("{host}_{}", std::process::id())
    });
    let context = context(&arguments, client.clone(), Arc::clone(&fence), &identity);
    let shown = Arc::new(Shown {
        context: Arc::clone(&context),
        pulse: Pulse::default(),
        is_elected: arguments.leader_elect,
    });
    let listener = TcpListener::bind(arguments.listen).await.map_err(|error| {
        system("serve metrics", &format!("cannot listen at {}: {error}", arguments.listen))
    })?;
    let address = listener.local_addr().unwrap_or(arguments.listen);
    tokio::spawn(serve(listener, Arc::clone(&shown)));
    let mut stop = stop().map_err(|error| system("wait for signals", &error))?;
    let teller = &context.teller;
    teller.log(
        &Line::new(Level::Info, "starting")
            .with("version", env!("CARGO_PKG_VERSION"))
            .with("replica", &identity)
            .with("listen", address)
            .with("namespace", arguments.namespace.as_deref().unwrap_or("all"))
            .with("tzdb", kron_core::Zones::bundled().version()),
    );
    let lease_namespace = arguments.lease_namespace.clone().unwrap_or(namespace);
    let lease = format!("{lease_namespace}/{}", arguments.lease_name);
    let complain = |fail: &Fail| {
        context.meter.failure();
        teller.log(&about_lease("renew the lease", fail).with("lease", &lease));
    };
    let mut candidate = Candidate::new(client, &lease_namespace, &arguments.lease_name, &identity);
    if arguments.leader_elect {
        tokio::select! {
            () = candidate.acquire(&fence, complain) => {}
            () = &mut stop => return Ok(()),
        }
        teller.log(&Line::new(Level::Info, "leading").with("lease", &arguments.lease_name));
    }
    let only = arguments.namespace.as_deref();
    let working = operator::run(Arc::clone(&context), only, &shown.pulse, stop);
    let ended = if arguments.leader_elect {
        tokio::select! {
            ended = working => Some(ended),
            () = candidate.keep(&fence, complain) => None,
        }
    } else {
        Some(working.await)
    };
    match ended {
        Some(ended) => {
            teller.log(&Line::new(Level::Info, "stopping"));
            teller.finish().await;
            let complain = |fail: &Fail| teller.log(&about_lease("give the lease back", fail));
            candidate.give_back(&fence, complain).await;
            ended.map_err(|error| system("set a timer", &error))
        }
        None => {
            // Another may lead already: nothing more is done here, not even tidily.
            let why = "the lease was lost; another replica may lead now";
            Err(Fatal { code: STATE, ..system("renew the lease", &why) })
        }
    }
}

/// The parts, and somebody who writes Events.
fn context(arguments: &Run, client: Client, fence: Arc<Fence>, identity: &str) -> Arc<Context> {
    let meter = Arc::new(Meter::default());
    let counter = Arc::clone(&meter);
    let cluster = Cluster::new(client, fence).counted(Arc::new(move |call| counter.call(call)));
    let lanes = Arc::new(Lanes::new(usize::from(arguments.concurrency)));
    let quiet = Arc::clone(&lanes);
    let (format, level) = (arguments.log_format, arguments.log_level.into());
    let (teller, telling) = Teller::new(
        format,
        level,
        cluster.clone(),
        identity.into(),
        Arc::clone(&meter),
        move || {
            let lanes = Arc::clone(&quiet);
            async move { lanes.quiet().await }
        },
    );
    tokio::spawn(telling);
    Arc::new(Context {
        cluster,
        desk: Mutex::new(Desk::default()),
        lanes,
        teller,
        meter,
        planner: plan::plan,
        max_dispatch_lag: arguments.max_dispatch_lag,
    })
}

fn about_lease(operation: &'static str, why: &Fail) -> Line {
    Line::new(Level::Warn, "error")
        .with("error_type", "SystemError")
        .with("operation", operation)
        .with("message", why)
}

/// Ready when somebody asks for the end.
fn stop() -> std::io::Result<Pin<Box<dyn Future<Output = ()> + Send>>> {
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(Box::pin(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        tokio::time::sleep(Duration::ZERO).await;
    }))
}
