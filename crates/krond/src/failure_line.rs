//! Errors as log lines: always category, operation and message (ERROR-MODEL,
//! Error Logging Contract), with identity where there is one.

use crate::store::{CommitError, Problem, Reason, StoreError, Warning};
use kron_core::line::{Level, Line};
use kron_term::load::Report;
use std::io;

fn error(category: &str, operation: &str) -> Line {
    Line::new(Level::Error, "error").with("error_type", category).with("operation", operation)
}

/// The system refused something.
#[must_use]
pub fn system(operation: &str, what: &io::Error) -> Line {
    error("SystemError", operation).with("message", kron_term::failure::plain(what))
}

/// The same of something that ends the daemon.
#[must_use]
pub fn fatal(line: Line) -> Line {
    let is_said = line.level != Level::Error || line.fields.iter().any(|(key, _)| *key == "fatal");
    if is_said { line } else { line.with("fatal", true) }
}

/// Something could not be made durable. The daemon ends.
#[must_use]
pub fn commit(what: &CommitError) -> Line {
    Line::new(Level::Error, "error")
        .with_some("identity", what.identity.as_ref())
        .with("error_type", "PersistenceError")
        .with("operation", what.step)
        .with("path", what.path.display())
        .with("message", what)
        .with("fatal", true)
}

/// State that must not be used: the daemon does not start, or keeps the jobs it has.
#[must_use]
pub fn store(what: &StoreError) -> Vec<Line> {
    match what {
        StoreError::Locked { path, pid } => vec![
            error("SystemError", "lock the state directory")
                .with("path", path.display())
                .with_some("holder", *pid)
                .with("message", what)
                .with(
                    "hint",
                    format_args!(
                        "`krond status --state-dir {}` asks it; another state directory is for \
                         another krond",
                        path.parent().unwrap_or(path).display()
                    ),
                ),
        ],
        StoreError::Refused(problems) => problems.iter().map(problem).collect(),
    }
}

fn problem(what: &Problem) -> Line {
    let operation = match &what.reason {
        Reason::Failed { step, .. } => step.to_string(),
        Reason::Unsafe { .. } => "check who may write state".into(),
        Reason::State(_) => "read state".into(),
    };
    Line::new(Level::Error, "error")
        .with_some("identity", what.identity.as_ref())
        .with("error_type", what.category())
        .with("operation", operation)
        .with("path", what.path.display())
        .with("message", what)
}

/// Something about state that somebody should look at.
#[must_use]
pub fn warning(what: &Warning) -> Line {
    let identity = match what {
        Warning::HistoryLost { identity, .. } => Some(identity),
        _ => None,
    };
    Line::new(Level::Warn, "state").with_some("identity", identity).with("message", what)
}

/// The last word about a configuration that is not used.
#[must_use]
pub fn not_started(count: usize) -> Line {
    let things = if count == 1 { "1 thing is" } else { "things are" };
    let number = if count == 1 { String::new() } else { format!("{count} ") };
    error("ConfigurationError", "start")
        .with(
            "message",
            format_args!("{number}{things} wrong in the configuration; nothing was started"),
        )
        .with("fatal", true)
}

/// A configuration may be empty; whoever has made a mistake should hear of it.
#[must_use]
pub fn no_jobs() -> Line {
    Line::new(Level::Warn, "configuration")
        .with("message", "nothing is configured, so nothing will run")
}

/// Few jobs can run at once here.
#[must_use]
pub fn scarce_files(room: usize) -> Line {
    let jobs = if room == 1 { "1 job runs" } else { "jobs run" };
    let number = if room == 1 { String::new() } else { format!("{room} ") };
    Line::new(Level::Warn, "limits").with(
        "message",
        format_args!(
            "at most {number}{jobs} at once, because of the limit of open files (RLIMIT_NOFILE); \
             others wait until their deadline"
        ),
    )
}

/// What is wrong with a configuration, a line each.
#[must_use]
pub fn configuration(report: &Report) -> Vec<Line> {
    report.list().iter().map(crate::log::configuration_error).collect()
}
