//! The words of the command line: what may be written, and what `--help` says.

// Doc comments here become the text of `--help`.
#![allow(missing_docs)]

use clap::{Args, CommandFactory, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use kron_term::choice::{Colour, Format, STYLES, VERSION};
use krontab::cli::{Question, Stretch, Telling};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the program is called.
pub const NAME: &str = "kronctl";
/// What it is called when `kubectl` runs it.
const PLUGIN: &str = "kubectl kron";

/// The command line of a program that was called so: as a plugin of `kubectl`, it
/// speaks of itself as one.
#[must_use]
pub fn command(called: Option<&OsString>) -> clap::Command {
    let file = called.and_then(|path| Path::new(path).file_stem());
    if file.is_some_and(|name| name == "kubectl-kron" || name == "kubectl-kron.exe") {
        return as_plugin(Cli::command()).bin_name(PLUGIN);
    }
    Cli::command()
}

fn as_plugin(command: clap::Command) -> clap::Command {
    let examples = command.get_after_help().map(ToString::to_string);
    let examples = examples.map(|text| text.replace(&format!("{NAME} "), &format!("{PLUGIN} ")));
    let command = examples.into_iter().fold(command, clap::Command::after_help);
    command.mut_subcommands(as_plugin)
}

/// Explain, preview and check `KronJob`s, in the cluster or in a file
///
/// A `KronJob` runs around a time: at a second chosen inside a window, by a seed that
/// everyone who knows its definition, its namespace and its name can compute. kronctl
/// shows which second, why, and what became of it. As `kubectl-kron` on the search
/// path it is also `kubectl kron`.
#[derive(Debug, Parser)]
#[command(name = NAME, version = VERSION.as_str(), styles = STYLES, arg_required_else_help = true)]
#[command(after_help = "\
Exit codes:
  0  done
  1  not found, out of reach, invalid file (validate), something refused (convert)
  2  invalid input or definition, or a file that cannot be read
  4  could not write, or the cluster answers oddly

Examples:
  kronctl next backup
  kronctl why backup --namespace shop
  kronctl explain -f backup.yaml
  kronctl validate -f deploy/*.yaml
  kubectl get cronjob old -o yaml | kronctl convert -f - --window 2h")]
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
    Explain(Explain),
    Next(Next),
    Why(Why),
    Validate(Validate),
    Convert(Convert),
    /// Print completions for a shell
    #[command(after_help = "\
Example:
  kronctl completions bash > ~/.local/share/bash-completion/completions/kronctl")]
    Completions {
        /// Which shell
        #[arg(value_enum)]
        shell: Shell,
    },
}

/// Where `KronJob`s are.
#[derive(Args, Debug, Default)]
pub struct Place {
    /// A file with manifests instead of the cluster; `-` is standard input
    #[arg(long = "filename", short = 'f', value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with_all = ["context", "kubeconfig"])]
    pub file: Option<PathBuf>,

    /// The namespace, which is part of the identity. Default: the manifest's own or
    /// `default`; in a cluster, that of the context
    #[arg(long, short, value_name = "NAMESPACE")]
    pub namespace: Option<String>,

    /// A context of the kubeconfig. Default: its current one
    #[arg(long, value_name = "CONTEXT")]
    pub context: Option<String>,

    /// The kubeconfig. Default: $KUBECONFIG, or `~/.kube/config`
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub kubeconfig: Option<PathBuf>,
}

/// Explain why a `KronJob` runs at the second it does
///
/// Shows the period that a time belongs to and everything that led to its second: the
/// cron match, the window, the seed, the distribution, each candidate that was refused
/// and by which clause; and a picture of it. The same as `krontab explain` shows.
#[derive(Args, Debug)]
#[command(after_help = "\
The period of a time is the one whose nominal time it is, or else whose chosen
time, or else the latest one whose window had opened by then; that of a date is
the first of the day.

A TIME is 2026-03-01T10:00:00Z, or without an offset in the job's zone:
'2026-03-01 10:00', 2026-03-01; or now, +2h, -90m.

Examples:
  kronctl explain backup
  kronctl explain backup --at '2026-03-01 02:00'
  kronctl explain -f backup.yaml --namespace shop --format json")]
pub struct Explain {
    /// Name of the `KronJob`
    #[arg(value_name = "NAME", required_unless_present = "file")]
    pub name: Option<String>,

    #[command(flatten)]
    pub place: Place,

    #[command(flatten)]
    pub question: Question,
}

/// Show the next runs of one `KronJob`, or of all
///
/// Lists chosen times from a moment on, in their order. Periods that will be
/// unschedulable are listed as such, where their windows open. The same as `krontab
/// next` shows.
#[derive(Args, Debug)]
#[command(after_help = "\
How long until a run is counted from --from. Jobs in several zones: a TIME without
an offset is UTC.

A TIME is 2026-03-01T10:00:00Z, or without an offset in the job's zone:
'2026-03-01 10:00', 2026-03-01; or now, +2h, -90m.

Examples:
  kronctl next
  kronctl next backup --count 30
  kronctl next -f backup.yaml --from 2026-12-24 --until 2026-12-27")]
pub struct Next {
    /// Name of the `KronJob`. Default: all of the namespace, or of the file
    #[arg(value_name = "NAME")]
    pub name: Option<String>,

    #[command(flatten)]
    pub place: Place,

    /// How many to show, at most. Default: 10, or all if --until is given
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub count: Option<u32>,

    #[command(flatten)]
    pub stretch: Stretch,
}

/// Tell what happened or will happen to a period, and why
///
/// Of a `KronJob` in the cluster: what its status says, with what can be seen of its
/// Jobs and Events. Of one in a file: what will happen.
#[derive(Args, Debug)]
#[command(after_help = "\
A TIME is 2026-03-01T10:00:00Z, or without an offset in the job's zone:
'2026-03-01 10:00', 2026-03-01; or now, +2h, -90m.

Examples:
  kronctl why backup
  kronctl why backup --namespace shop --at '2026-03-01 02:00'")]
pub struct Why {
    /// Name of the `KronJob`
    #[arg(value_name = "NAME", required_unless_present = "file")]
    pub name: Option<String>,

    #[command(flatten)]
    pub place: Place,

    /// A time of the period. Default: the last and the next period
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub at: Option<String>,

    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Check manifests
///
/// Reports everything that is wrong with the `KronJob`s in files, with its place: fields
/// that do not exist, and what the operator would refuse. Warns of what is allowed but
/// seldom meant. Other kinds are passed over and counted. No cluster is asked.
#[derive(Args, Debug)]
#[command(after_help = "\
Exit codes:
  0  valid (warnings do not count, unless --deny-warnings)
  1  invalid
  2  a file cannot be read

Examples:
  kronctl validate -f backup.yaml
  helm template chart | kronctl validate -f - --deny-warnings")]
pub struct Validate {
    /// Files with manifests; `-` is standard input
    #[arg(long = "filename", short = 'f', value_name = "FILE", required = true, num_args = 1..)]
    #[arg(value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,

    #[command(flatten)]
    pub telling: Telling,
}

/// Convert `CronJob`s to `KronJob`s
///
/// Prints manifests: the schedule, zone, policy and history limits in Kron's words, the
/// Job template as it is. What differs stands above each as a comment, and is told on
/// standard error.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  kronctl convert -f cronjob.yaml --window 90m > kronjob.yaml
  kubectl get cronjobs -o yaml | kronctl convert -f -")]
pub struct Convert {
    /// A file with manifests; `-` is standard input
    #[arg(long = "filename", short = 'f', value_name = "FILE", required = true)]
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,

    /// Let them run within so long after their time, such as 90m
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub window: Option<Duration>,
}

fn duration(text: &str) -> Result<Duration, String> {
    kron_core::time::duration::parse(text)
        .map_err(|_| "a length of time such as `90m` or `1h30m` is expected".into())
}
