//! The command line: names that stay, and help with examples.

// Doc comments here become the text of `--help`.
#![allow(missing_docs)]

use crate::log::LogFormat;
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use kron_core::time::duration;
use kron_engine::event::Shutdown;
use kron_term::choice::{Colour, Format, LogLevel, STYLES, VERSION};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Runs jobs at the second Kron chose, each period at most once
///
/// krond reads .kron files, waits until a job's chosen second comes, records that
/// it starts, and only then starts it: whatever crashes, no period runs twice.
/// As root it is the system's daemon; as anybody else it is your own.
#[derive(Debug, Parser)]
#[command(name = "krond", version = VERSION.as_str(), styles = STYLES, arg_required_else_help = true, after_help = "\
Exit codes:
  0  success
  1  a mistake of the caller, no such job, or no daemon is running
  2  invalid configuration or input
  3  the state directory is in use or cannot be trusted
  4  something could not be recorded, or another fatal error

Files:
  /etc/krond.d/*.kron, /var/lib/krond           the system's jobs and their state
  ~/.config/krond/*.kron, ~/.local/state/krond  your own ($XDG_CONFIG_HOME, $XDG_STATE_HOME)

Examples:
  krond start                       run the configured jobs, in the foreground
  krond start jobs.kron --state-dir state
  krond jobs                        what runs next, and how the last runs ended
  krond why backup                  what happened to a job, what will happen, and why then")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Colour,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    Start(Box<Start>),
    /// How the daemon is
    Status(Ask),
    /// All jobs: what runs next, how the last run ended, what is running
    Jobs(Ask),
    /// How the latest periods of a job ended
    History(AskJob),
    Why(Why),
    /// Read the configuration again, and say what came of it
    Reload(Ask),
    Stop(Stop),
    State(State),
}

/// Run the daemon, in the foreground
///
/// Signals: TERM and INT end it as --shutdown says, a second one at once (jobs
/// go on and are found again at the next start); HUP reads the configuration
/// again, all of it or, if anything is wrong, nothing.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  krond start
  krond start /etc/krond.d /srv/shop/jobs.kron
  krond start jobs.kron --state-dir ./state --log-format json
  krond start --shutdown terminate --shutdown-limit 30s --metrics 127.0.0.1:9550")]
pub struct Start {
    /// File or directory to read. Default: the system's or the user's configuration
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub paths: Vec<PathBuf>,

    /// As PATH; may be repeated
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub config: Vec<PathBuf>,

    #[command(flatten)]
    pub place: Place,

    /// How to log to standard error. Default: for people on a terminal, otherwise text
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,

    /// Least level to log
    #[arg(long, value_enum, default_value_t, value_name = "LEVEL")]
    pub log_level: LogLevel,

    /// Ended periods to keep in each state file
    #[arg(long, default_value_t = 100, value_name = "N")]
    pub history: usize,

    /// From asking a job to end (TERM) until making it (KILL)
    #[arg(long, default_value = "10s", value_name = "DURATION", value_parser = length)]
    pub grace: Duration,

    /// What becomes of running jobs when the daemon ends
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    pub shutdown: ShutdownMode,

    /// Longest wait for running jobs when the daemon ends; then they are left running
    #[arg(long, value_name = "DURATION", value_parser = length)]
    pub shutdown_limit: Option<Duration>,

    /// Most jobs to run at once; others wait until their deadline
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_running: Option<u32>,

    /// Most open files of a job that does not say (`RLIMIT_NOFILE`)
    #[arg(long, value_name = "N")]
    pub limit_nofile: Option<u64>,

    /// Most processes of the user of a job that does not say (`RLIMIT_NPROC`)
    #[arg(long, value_name = "N")]
    pub limit_nproc: Option<u64>,

    /// Serve metrics for Prometheus at this address, such as 127.0.0.1:9550
    #[arg(long, value_name = "ADDR")]
    pub metrics: Option<SocketAddr>,

    /// Write the daemon's PID to this file
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub pid_file: Option<PathBuf>,

    /// Start with the valid entries even if others are not; report those
    #[arg(long)]
    pub keep_going: bool,

    /// For tests: end by SIGKILL at this point
    #[arg(long, hide = true, value_name = "POINT")]
    pub crash_at: Option<String>,

    /// For tests: a step that fails, such as rename:3=ENOSPC
    #[arg(long, hide = true, value_name = "STEP", value_parser = crate::crash::failure)]
    pub fail_at: Option<crate::crash::Failure>,

    /// For tests: how old a replaced state file must be before it is written into again
    #[arg(long, hide = true, value_name = "DURATION", value_parser = length)]
    pub spare_age: Option<Duration>,

    /// For tests: the clock differs by the seconds in this file, read again at USR2
    #[arg(long, hide = true, value_name = "PATH")]
    pub clock_shift: Option<PathBuf>,

    /// For tests: make this mistake
    #[cfg(feature = "mutants")]
    #[arg(long, hide = true, value_name = "NAME", value_parser = mutant)]
    pub mutant: Option<kron_core::mutant::Mutant>,
}

/// Where a daemon is.
#[derive(Args, Clone, Debug, Default)]
pub struct Place {
    /// Directory of state files. Default: /var/lib/krond, or ~/.local/state/krond
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub state_dir: Option<PathBuf>,

    /// Socket to talk to the daemon. Default: control.sock in the state directory
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub socket: Option<PathBuf>,
}

/// What becomes of running jobs when the daemon ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ShutdownMode {
    /// Wait for them
    #[default]
    Wait,
    /// End them: TERM, and KILL after the grace
    Terminate,
    /// Leave them running; the next daemon finds them
    Detach,
}

impl From<ShutdownMode> for Shutdown {
    fn from(mode: ShutdownMode) -> Self {
        match mode {
            ShutdownMode::Wait => Self::Wait,
            ShutdownMode::Terminate => Self::Terminate,
            ShutdownMode::Detach => Self::Detach,
        }
    }
}

fn length(text: &str) -> Result<Duration, String> {
    duration::parse(text)
        .map_err(|_| String::from("not a duration; `10s`, `1m30s` and `500ms` are"))
}

/// Something about the whole daemon.
#[derive(Args, Debug)]
pub struct Ask {
    #[command(flatten)]
    pub place: Place,

    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Something about a job.
#[derive(Args, Debug)]
pub struct AskJob {
    /// Name or identity of the job
    #[arg(value_name = "JOB")]
    pub job: String,

    #[command(flatten)]
    pub ask: Ask,
}

/// What happened or will happen to a period, and why
///
/// Without --at: the period handled last, up to three that are due and have not ended, and the
/// one that comes next.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  krond why backup
  krond why backup --at 2026-03-01
  krond why backup --at '2026-03-01 10:00' --format json")]
pub struct Why {
    /// Name or identity of the job
    #[arg(value_name = "JOB")]
    pub job: String,

    /// A time in or near the period's window, such as 2026-03-01T10:00:00Z,
    /// '2026-03-01 10:00' (in the job's zone), now, +2h or -90m
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub at: Option<String>,

    #[command(flatten)]
    pub ask: Ask,
}

/// End the daemon, and wait until it has ended
#[derive(Args, Debug)]
pub struct Stop {
    /// Wait for running jobs
    #[arg(long, conflicts_with = "now")]
    pub graceful: bool,

    /// End running jobs: TERM, and KILL after the grace
    #[arg(long)]
    pub now: bool,

    #[command(flatten)]
    pub ask: Ask,
}

/// Look at a job's state, or forget its marks
#[derive(Args, Debug)]
pub struct State {
    /// What to do.
    #[command(subcommand)]
    pub command: StateCommand,
}

/// What can be done with state.
#[derive(Debug, Subcommand)]
pub enum StateCommand {
    /// Print a job's state file
    Show(AskJob),
    /// Forget which periods of a job are handled
    ///
    /// The way out when a clock that was wrong once left marks in the future.
    /// Nothing due before now runs, but what ran under the wrong clock may run
    /// again when its time comes, and so may what ran ahead before state was lost. Works
    /// with and without a running daemon.
    Reset(AskJob),
}

#[cfg(feature = "mutants")]
fn mutant(name: &str) -> Result<kron_core::mutant::Mutant, String> {
    let mut all = kron_core::mutant::Mutant::ALL.iter();
    all.find(|mutant| mutant.as_str() == name).copied().ok_or_else(|| format!("no mutant {name}"))
}
