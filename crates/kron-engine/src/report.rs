//! The log lines of the engine: which event has which particulars.
//!
//! Names of events and keys are stable. Commands and environments never appear:
//! they may hold secrets.

use crate::event::{Changes, Exit, Shutdown, StartFailure};
use crate::job::{Remark, Tracked};
use crate::kept::Process;
use crate::run::{Begun, Run, Why};
use crate::settings::NAMED_ONE_BY_ONE;
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt::Display;
use core::time::Duration;
use kron_core::line::{Level, Line};
use kron_core::mutant::{self, Mutant};
use kron_core::time::duration::Pretty;
use kron_core::{
    Closure, Decision, Outcome, PeriodId, Record, SeedHash, UtcInstant, UtcSecond, Zones,
};

/// The categories of errors that a daemon logs (ERROR-MODEL, Error Categories).
pub mod error_type {
    /// A process could not be made, or failed.
    pub const EXECUTION: &str = "ExecutionError";
    /// State could not be kept.
    pub const PERSISTENCE: &str = "PersistenceError";
}

fn about(level: Level, event: &'static str, job: &Tracked) -> Line {
    Line::new(level, event).with("identity", job.identity()).with("job", job.entry.name())
}

fn period(line: Line, period: PeriodId, chosen: Option<UtcSecond>) -> Line {
    line.with("period_id", period)
        .with("nominal_time", period.nominal())
        .with_some("chosen_time", chosen)
}

/// A period is planned, with everything that is needed to plan it again.
pub(crate) fn decision(job: &Tracked, decision: &Decision<'_>, zones: &Zones) -> Line {
    let mut line = Line::new(Level::Info, kron_core::EVENT);
    let mut record = Record::of(decision, zones);
    if mutant::is(Mutant::WrongSeed) {
        record.seed_hash = record.seed_hash.chars().rev().collect();
    }
    line.fields.push(("job", Cow::Owned(job.entry.name().to_string())));
    line.fields.extend(
        record.log_fields().into_iter().map(|(key, value)| (key, Cow::Owned(value.into_owned()))),
    );
    line
}

/// A period has its outcome.
pub(crate) fn outcome(job: &Tracked, closure: &Closure, seed_hash: Option<SeedHash>) -> Line {
    let level = match closure.outcome() {
        Outcome::Unschedulable => Level::Warn,
        Outcome::Executed | Outcome::Skipped | Outcome::Missed => Level::Info,
    };
    period(about(level, "outcome", job), closure.period(), closure.chosen())
        .with("outcome", closure.outcome())
        .with_some("reason", closure.reason().filter(|_| !mutant::is(Mutant::ReasonMissing)))
        .with_some("seed_hash", seed_hash)
}

/// A command runs from here on.
pub(crate) fn started(job: &Tracked, run: &Run, begun: &Begun, late: Duration) -> Line {
    let window = job.job().window().of(run.period);
    period(about(Level::Info, "started", job), run.period, Some(run.chosen))
        .with("window_start", window.start())
        .with("window_end", window.end())
        .with("pid", begun.process.pid)
        .with("late", Millis(late))
        .with_some("seed_hash", run.seed_hash)
}

/// A process has become another user.
pub(crate) fn privileges_dropped(job: &Tracked, run: &Run, begun: &Begun) -> Option<Line> {
    let user = begun.user.as_deref()?;
    let line = about(Level::Info, "privileges_dropped", job);
    Some(
        period(line, run.period, Some(run.chosen))
            .with("pid", begun.process.pid)
            .with("user", user),
    )
}

/// A command has ended.
pub(crate) fn exited(job: &Tracked, run: &Run, begun: &Begun, exit: Exit, now: UtcInstant) -> Line {
    let failed = run.has_failed(exit);
    let level = if failed { Level::Error } else { Level::Info };
    let mut line = period(about(level, "exited", job), run.period, Some(run.chosen))
        .with("pid", begun.process.pid)
        .with_some("exit_code", exit.code)
        .with_some("signal", exit.signal);
    // Until when one ran that ended unseen, nobody knows.
    let is_seen = exit.code.is_some();
    if let Some(ran) = now.since(begun.started_at).filter(|_| is_seen) {
        line = line.with("ran", Millis(ran));
    }
    if !is_seen {
        line = line.with("message", "nobody saw how it ended");
    }
    line = line.with_some("reason", run.ending.map(|ending| ending.why.reason()));
    if failed {
        let message = match exit.signal {
            Some(signal) => format!("ended by signal {signal}"),
            None => format!("exit code {}", exit.code.unwrap_or_default()),
        };
        line = line
            .with("error_type", error_type::EXECUTION)
            .with("operation", "run")
            .with("message", message);
    }
    line
}

/// A process could not be prepared.
pub(crate) fn unprepared(job: &Tracked, run: &Run, failure: &StartFailure, retry: &str) -> Line {
    period(about(Level::Error, "error", job), run.period, Some(run.chosen))
        .with("error_type", error_type::EXECUTION)
        .with("operation", failure.operation)
        .with("message", &failure.message)
        .with("retry", retry)
}

/// An execution that `replace` should end does not end.
pub(crate) fn undead(job: &Tracked, run: &Run, process: &Process) -> Line {
    period(about(Level::Error, "error", job), run.period, Some(run.chosen))
        .with("error_type", error_type::EXECUTION)
        .with("operation", "end the process group")
        .with("pid", process.pid)
        .with("message", "the process group does not end, not even by SIGKILL")
}

/// A run is asked to end, because its time is over or another takes its place.
pub(crate) fn ending(job: &Tracked, run: &Run, pid: u32, why: Why, grace: Duration) -> Line {
    let event = match why {
        Why::Timeout => "timeout",
        Why::Replaced => "replacing",
        Why::Shutdown => "terminating",
    };
    let level = if why == Why::Timeout { Level::Warn } else { Level::Info };
    let mut line = period(about(level, event, job), run.period, Some(run.chosen)).with("pid", pid);
    if let (Why::Timeout, Some(timeout)) = (why, run.timeout) {
        line = line.with("timeout", Pretty(timeout));
    }
    line.with("grace", Pretty(grace))
}

/// A run is made to end.
pub(crate) fn killing(job: &Tracked, run: &Run, pid: u32) -> Line {
    period(about(Level::Warn, "killing", job), run.period, Some(run.chosen)).with("pid", pid)
}

/// Periods passed while nobody looked.
pub(crate) fn superseded(job: &Tracked, count: u32, is_at_least: bool) -> Line {
    let line = about(Level::Info, "superseded", job).with("count", count);
    if is_at_least { line.with("at_least", true) } else { line }
}

/// Due periods that waited are not started any more.
pub(crate) fn dropped(job: &Tracked, count: u32, why: &'static str) -> Line {
    superseded(job, count, false).with("reason", why)
}

/// A state file could not be used.
pub(crate) fn remark(job: &Tracked, remark: &Remark) -> Line {
    match remark {
        Remark::Quarantined(place) => about(Level::Error, "quarantined", job)
            .with("error_type", error_type::PERSISTENCE)
            .with("operation", "read state")
            .with("path", place)
            .with(
                "message",
                "the state file is not readable JSON; it was moved aside, and nothing due before now runs",
            ),
        Remark::Vanished => about(Level::Error, "error", job)
            .with("error_type", error_type::PERSISTENCE)
            .with("operation", "read state")
            .with("message", "the state file is gone; nothing due before now runs"),
    }
}

/// An execution of an earlier daemon is still there, or said to be.
pub(crate) fn adopting(job: &Tracked, run: &Run, process: &Process) -> Line {
    period(about(Level::Info, "adopting", job), run.period, Some(run.chosen))
        .with("pid", process.pid)
}

/// The clock went back.
pub(crate) fn backward(by: Duration) -> Line {
    Line::new(Level::Warn, "clock_jump")
        .with("direction", "backward")
        .with("by", rounded(by))
        .with("message", "the clock was set back; what was handled stays handled")
}

/// A wake-up came late though the clock was not set.
pub(crate) fn stalled(late: Duration) -> Line {
    Line::new(Level::Warn, "stalled")
        .with("by", rounded(late))
        .with("message", "the daemon was stopped or could not run")
}

/// The clock went forward.
pub(crate) fn forward(by: Duration) -> Line {
    Line::new(Level::Info, "clock_jump")
        .with("direction", "forward")
        .with("by", rounded(by))
        .with("message", "the clock was set forward, or the machine was asleep")
}

/// A job has a mark in the future.
pub(crate) fn idle(job: &Tracked, until: UtcInstant) -> Line {
    about(Level::Warn, "idle", job).with("idle_until", until).with(
        "message",
        format_args!(
            "its state says that periods up to then are handled: the clock was wrong once or is wrong now, or state was lost and they may have run ahead; `krond state reset {}` forgets it, and what ran ahead may run again",
            job.entry.name()
        ),
    )
}

/// As [`idle`], of many jobs.
pub(crate) fn idle_others(count: usize) -> Line {
    Line::new(Level::Warn, "idle").with("count", count).with("message", "so are other jobs")
}

/// A new configuration is in force.
pub(crate) fn reloaded(jobs: usize, changes: Changes) -> Line {
    let Changes { added, changed, removed } = changes;
    let (level, message) = match jobs {
        0 => (Level::Warn, Some("nothing is configured, so nothing will run")),
        _ => (Level::Info, None),
    };
    Line::new(level, "reloaded")
        .with("jobs", jobs)
        .with("added", added)
        .with("changed", changed)
        .with("removed", removed)
        .with_some("message", message)
}

/// Marks were forgotten on request.
pub(crate) fn reset(job: &Tracked, dropped: usize) -> Line {
    let forgotten = "its marks are forgotten; nothing due before now runs";
    let line = about(Level::Warn, "reset", job);
    match dropped {
        0 => line.with("message", forgotten),
        1 => line.with("message", format_args!("{forgotten}, nor the period that waited")),
        n => line.with("message", format_args!("{forgotten}, nor the {n} periods that waited")),
    }
}

/// The daemon is to end while these jobs run.
pub(crate) fn stopping<'a>(how: Shutdown, running: impl ExactSizeIterator<Item = &'a str>) -> Line {
    let count = running.len();
    let line = Line::new(Level::Info, "stopping");
    let line = line.with("shutdown", how.as_str()).with("running", count);
    if count == 0 {
        return line;
    }
    let mut names: Vec<&str> = running.take(NAMED_ONE_BY_ONE).collect();
    if count > NAMED_ONE_BY_ONE {
        names.push("…");
    }
    line.with("jobs", names.join(" "))
}

/// Jobs are left running.
pub(crate) fn left(running: usize, why: &'static str) -> Line {
    Line::new(Level::Warn, "stopping")
        .with("shutdown", Shutdown::Detach.as_str())
        .with("running", running)
        .with("message", why)
}

/// A length to the millisecond.
fn rounded(length: Duration) -> Pretty {
    Pretty(Duration::from_millis(u64::try_from(length.as_millis()).unwrap_or(u64::MAX)))
}

/// A length in milliseconds, to the microsecond: `1.234ms`.
struct Millis(Duration);

impl Display for Millis {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let micros = self.0.as_micros();
        write!(f, "{}.{:03}ms", micros / 1000, micros % 1000)
    }
}
