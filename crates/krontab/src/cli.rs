//! The words of the command line: what may be written, and what `--help` says.

// Doc comments here become the text of `--help`.
#![allow(missing_docs)]

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
pub use kron_term::choice::{Colour, Format};
use kron_term::choice::{STYLES, VERSION};
use std::path::PathBuf;

/// Write, check, explain and preview Kron schedules
///
/// A job runs around a time: at a second chosen inside a window, from a
/// distribution, by a seed that everyone who knows the definition can compute.
/// krontab shows which second, and why.
#[derive(Debug, Parser)]
#[command(name = "krontab", version = VERSION.as_str(), styles = STYLES, arg_required_else_help = true)]
#[command(after_help = "\
Exit codes:
  0  done
  1  not found, invalid file (lint), mismatch (verify), something refused (import)
  2  invalid input or configuration
  4  could not write

Files:
  /etc/krond.d/*.kron       the system's jobs
  ~/.config/krond/*.kron    a user's jobs ($XDG_CONFIG_HOME/krond)

Examples:
  krontab next --schedule '0 10 * * * @win(around,45m)' --identity demo
  krontab add backup '0 0 * * * @win(after,3h)' -- /usr/local/bin/backup --full
  krontab explain backup
  krontab lint")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Colour,
}

/// How a list of runs is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TimelineFormat {
    /// For people
    #[default]
    Text,
    /// For programs; stable
    Json,
    /// An iCalendar feed, for calendars
    Ics,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    Lint(Lint),
    Explain(Explain),
    Next(Next),
    /// Decide many periods: JSON lines in, JSON lines out
    ///
    /// Each line of standard input is an object with `identity`, `schedule` and
    /// `nominal`; each line of standard output is the decision, or an object with
    /// `error`. The nominal time is taken as given: it need not match the cron
    /// fields. This is Kron's engine for programs in other languages.
    #[command(after_help = "\
Exit code 0 says that all lines were read, not that all could be answered.

Example:
  printf '{\"identity\":\"%s\",\"schedule\":\"%s\",\"nominal\":\"%s\"}\n' \\
    demo '0 10 * * * @win(around,45m)' 2026-03-02T10:00:00Z \\
    | krontab decide")]
    Decide,
    List(List),
    Show(Show),
    Add(Add),
    Set(Set),
    Remove(Remove),
    Edit(Edit),
    Import(Import),
    Run(Run),
    Verify(Verify),
}

/// Where jobs come from.
#[derive(Args, Debug, Default)]
pub struct Source {
    /// File or directory to read; may be repeated. Default: the user's or the
    /// system's configuration
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub file: Vec<PathBuf>,

    /// Take the files to be installed in DIR, which is part of a job's identity
    #[arg(long = "as", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub installed: Option<PathBuf>,
}

/// Where one or more jobs come from, a bare schedule included.
#[derive(Args, Debug, Default)]
pub struct SourceOrSchedule {
    #[command(flatten)]
    pub source: Source,

    /// A schedule, cron fields and modifiers, instead of a file
    #[arg(long, value_name = "SCHEDULE", requires = "identity", conflicts_with_all = ["file", "installed", "job"])]
    pub schedule: Option<String>,

    /// The identity that goes with --schedule; it seeds the choice
    #[arg(long, value_name = "ID", requires = "schedule")]
    pub identity: Option<String>,
}

/// Check configuration files
///
/// Reports everything that is wrong, with its place, and warns of what is
/// allowed but seldom meant: windows that overlap, constraints that leave little
/// or nothing, times that a change of the clock skips or repeats, rare jobs
/// without a deadline, commands and users that do not exist.
#[derive(Args, Debug)]
#[command(after_help = "\
Exit codes:
  0  valid (warnings do not count, unless --deny-warnings)
  1  invalid
  2  a file cannot be read

Examples:
  krontab lint
  krontab lint shop.kron --as /etc/krond.d
  krontab lint --format json --deny-warnings conf/")]
pub struct Lint {
    /// Files or directories. Default: the user's or the system's configuration
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub paths: Vec<PathBuf>,

    /// Take the files to be installed in DIR, which is part of a job's identity
    #[arg(long = "as", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub installed: Option<PathBuf>,

    #[command(flatten)]
    pub telling: Telling,
}

/// How findings are told.
#[derive(Args, Debug)]
pub struct Telling {
    /// Treat warnings as errors
    #[arg(long)]
    pub deny_warnings: bool,

    /// Show every finding, also where there are many of a kind
    #[arg(long)]
    pub all: bool,

    /// Look ahead for a year from TIME instead of now
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,

    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Explain why a job runs at the second it does
///
/// Shows the period that a time belongs to and everything that led to its
/// second: the cron match, the window, the seed, the distribution, each candidate
/// that was refused and by which clause; and a picture of it.
#[derive(Args, Debug)]
#[command(after_help = "\
The period of a time is the one whose nominal time it is, or else whose chosen
time, or else the latest one whose window had opened by then; that of a date is
the first of the day.

A TIME is 2026-03-01T10:00:00Z, or without an offset in the job's zone:
'2026-03-01 10:00', 2026-03-01; or now, +2h, -90m.

Examples:
  krontab explain backup
  krontab explain backup --at '2026-03-01 02:00'
  krontab explain --schedule '0 10 * * * @win(around,45m)' --identity demo --format json")]
pub struct Explain {
    /// Name of the job, or its whole identity
    #[arg(value_name = "JOB", required_unless_present = "schedule")]
    pub job: Option<String>,

    #[command(flatten)]
    pub source: SourceOrSchedule,

    #[command(flatten)]
    pub question: Question,
}

/// Which period is explained, and how.
#[derive(Args, Debug)]
pub struct Question {
    /// A time of the period to explain. Default: the next run's
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub at: Option<String>,

    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Show the next runs of one job, or of all
///
/// Lists chosen times from a moment on, in their order. Periods that will be
/// unschedulable are listed as such, where their windows open.
#[derive(Args, Debug)]
#[command(after_help = "\
How long until a run is counted from --from. Jobs in several zones: a TIME without
an offset is UTC.

A TIME is 2026-03-01T10:00:00Z, or without an offset in the job's zone:
'2026-03-01 10:00', 2026-03-01; or now, +2h, -90m.

Examples:
  krontab next
  krontab next backup --count 30
  krontab next --file shop.kron --as /etc/krond.d --from 2026-12-24 --until 2026-12-27
  krontab next --format ics > jobs.ics")]
pub struct Next {
    /// Name of the job, or its whole identity. Default: all jobs
    #[arg(value_name = "JOB")]
    pub job: Option<String>,

    #[command(flatten)]
    pub source: SourceOrSchedule,

    /// How many to show, at most. Default: 10, or all if --until is given
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub count: Option<u32>,

    #[command(flatten)]
    pub stretch: Stretch,
}

/// From when to when runs are listed, and how.
#[derive(Args, Debug)]
pub struct Stretch {
    /// From when on. Default: now
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub from: Option<String>,

    /// Until when
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub until: Option<String>,

    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: TimelineFormat,
}

/// List the jobs of the configuration
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  krontab list
  krontab list --file /etc/krond.d/shop.kron --format json")]
pub struct List {
    #[command(flatten)]
    pub source: Source,

    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Show one job: its entry in full, defaults included
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  krontab show backup
  krontab show /etc/krond.d/shop.kron:backup --format json")]
pub struct Show {
    /// Name of the job, or its whole identity
    #[arg(value_name = "JOB")]
    pub job: String,

    #[command(flatten)]
    pub source: Source,

    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// The file that a command changes.
#[derive(Args, Debug)]
pub struct Target {
    /// File to change. Default: where the job is, or `jobs.kron` of the user's or
    /// the system's configuration
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,

    /// Show what would be written, and write nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Add a job
///
/// Checks the new entry, writes the file in one step, and says when the job will
/// run first. Fields are written as in the file: user=www-data env=LANG=C.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  krontab add backup '0 0 * * * @win(after,3h)' -- /usr/local/bin/backup --full
  krontab add report '30 7 * * MON' user=www-data shell=true command='make report | mail boss'")]
pub struct Add {
    /// Name of the new job
    #[arg(value_name = "NAME")]
    pub name: String,

    /// Its schedule: cron fields and modifiers, in one argument
    #[arg(value_name = "SCHEDULE")]
    pub schedule: String,

    /// Fields, as in the file
    #[arg(value_name = "FIELD=VALUE")]
    pub fields: Vec<String>,

    /// The command and its arguments, behind `--`
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<String>,

    #[command(flatten)]
    pub target: Target,
}

/// Change a job
///
/// Sets fields of an entry, `schedule` among them, and leaves everything else in
/// the file as it is.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  krontab set backup schedule='0 1 * * * @win(after,3h)'
  krontab set backup user=backup env=LEVEL=9 --unset timeout
  krontab set backup -- /usr/local/bin/backup --incremental")]
pub struct Set {
    /// Name of the job, or its whole identity
    #[arg(value_name = "JOB")]
    pub job: String,

    /// Fields to set, as in the file; also `schedule=…`
    #[arg(value_name = "FIELD=VALUE")]
    pub fields: Vec<String>,

    /// Field to take away; may be repeated
    #[arg(long, value_name = "FIELD")]
    pub unset: Vec<String>,

    /// A new command and its arguments, behind `--`
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<String>,

    #[command(flatten)]
    pub target: Target,
}

/// Remove a job
///
/// Takes its entry out of the file, with the comment lines right above it.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  krontab remove backup")]
pub struct Remove {
    /// Name of the job, or its whole identity
    #[arg(value_name = "JOB")]
    pub job: String,

    #[command(flatten)]
    pub target: Target,
}

/// Edit a file with $VISUAL or $EDITOR
///
/// The file is replaced only once it is valid. If it is not, you can go on
/// editing or give up; then nothing has changed.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  krontab edit
  EDITOR=nano krontab edit /etc/krond.d/shop.kron")]
pub struct Edit {
    /// File to edit. Default: `jobs.kron` of the user's or the system's configuration
    #[arg(value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
}

/// What jobs are imported from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ImportFormat {
    /// A user's crontab, as `crontab -l` prints it
    Crontab,
    /// `/etc/crontab` or a file of `/etc/cron.d`, with a user in each line
    SystemCrontab,
    /// Timer units, with their services
    Systemd,
    /// Kubernetes manifests with `CronJob`s
    Cronjob,
}

/// Convert jobs of cron, systemd timers and Kubernetes `CronJob`s
///
/// Each entry is reported as exact, changed (what differs is listed) or refused
/// (with the reason), with its next runs before and after. What cron does without
/// saying so is written out: its time zone, its shell, its search path, and that
/// runs may overlap. Random delays become windows. Nothing is written unless
/// --output is given.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  crontab -l | krontab import crontab -
  krontab import system-crontab /etc/cron.d/* --output /etc/krond.d/cron.kron
  krontab import systemd /lib/systemd/system/logrotate.timer
  krontab import cronjob cronjob.yaml")]
pub struct Import {
    /// What the files are
    #[arg(value_enum, value_name = "FORMAT")]
    pub format: ImportFormat,

    /// Files to convert; `-` is standard input. The service of a timer is found next
    /// to it
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,

    /// File to add the converted jobs to
    #[arg(long, short, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Write nothing, even with --output
    #[arg(long)]
    pub dry_run: bool,

    /// The local time zone of the jobs. Default: this host's
    #[arg(long, value_name = "ZONE")]
    pub zone: Option<String>,

    /// The owner of a crontab. Default: you
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Username)]
    pub user: Option<String>,

    /// How to print
    #[arg(long = "format", value_enum, default_value_t)]
    pub output_format: Format,
}

/// Run a job's command now, as the daemon would
///
/// In the foreground, with the user, environment, directory, umask, limits and
/// shell that krond would use; standard input is empty. No state is touched: the
/// job's next period runs all the same. The exit code is the command's; 128 and the
/// number of the signal that ended it; 127 or 126 if it could not be started.
#[derive(Args, Debug)]
#[command(after_help = "\
The environment is that of a daemon started as a service: a search path, and who
it runs as. With --inherit-env it is that of this shell, as for a daemon started
in it. Output goes to the terminal, whatever the entry says.

Examples:
  krontab run backup
  krontab run backup --inherit-env")]
pub struct Run {
    /// Name of the job, or its whole identity
    #[arg(value_name = "JOB")]
    pub job: String,

    #[command(flatten)]
    pub source: Source,

    /// Pass on the environment of this shell
    #[arg(long)]
    pub inherit_env: bool,
}

/// Check logged decisions by making them again
///
/// Reads krond's log, text or JSON, and decides each logged period anew from the
/// definition in the line. Lines that are no decisions are passed over.
#[derive(Args, Debug)]
#[command(after_help = "\
Exit codes:
  0  every decision came out as logged
  1  at least one did not
  2  a file cannot be read, a decision is incomplete, or there is none

Examples:
  krontab verify /var/log/krond.log
  journalctl -u krond -o cat | krontab verify -")]
pub struct Verify {
    /// Log files; `-` is standard input
    #[arg(value_name = "LOG", required = true, value_hint = ValueHint::FilePath)]
    pub logs: Vec<PathBuf>,

    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}
