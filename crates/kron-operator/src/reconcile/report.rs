//! What is told of a look: which line the log gets, with which keys, and which Event goes with
//! it (OPR-07, OBS).
//!
//! The words of Events about periods are in [`announce`](crate::announce); writing either is
//! [`tell`](crate::tell)'s work.

use super::trouble::idleness;
use super::{Context, Look};
use crate::announce::Announcement;
use crate::book::Finished;
use crate::cluster::Fail;
use crate::desk::{Held, Key};
use crate::facts::Fact;
use crate::plan::Remark;
use crate::tell::Note;
use kron_core::line::{Level, Line};
use kron_core::{Category, Job, Outcome, PeriodId, Record, StartPermit, UtcInstant, Zones};
use std::fmt::Display;
use std::time::Duration;

/// After so many failures in a row there is an Event; fewer are nothing special.
const TOLD: u32 = 3;

/// An error that somebody should look at.
#[derive(Clone, Copy)]
pub(super) enum Complaint {
    /// The API server denies a Job of this template now.
    Denied,
    /// The spec cannot be used.
    InvalidSpec(Category),
    /// A Job could not be created.
    NotCreated,
    /// A Job that is replaced does not end.
    NotEnded,
    /// The status cannot be read, or is gone.
    StatusLost,
    /// The definition in the cluster is older than this program.
    Pruned,
    /// The planner failed.
    Undecided,
}

impl Complaint {
    /// The reason of its Event; its type and operation in the log.
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Denied => ("Denied", "ExecutionError", "try the template"),
            Self::InvalidSpec(category) => ("InvalidSpec", category.as_str(), "read spec"),
            Self::NotCreated => ("NotCreated", "ExecutionError", "create job"),
            Self::NotEnded => ("NotEnded", "ExecutionError", "end jobs"),
            Self::StatusLost => ("StatusLost", "PersistenceError", "read status"),
            Self::Pruned => ("StatusPruned", "PersistenceError", "write status"),
            Self::Undecided => ("SchedulingError", "SchedulingError", "decide"),
        }
    }
}

/// A line about a `KronJob`.
fn about(key: &Key, level: Level, event: &'static str) -> Line {
    let (namespace, name) = key;
    Line::new(level, event).with("identity", format!("{namespace}/{name}")).with("job", name)
}

/// An Event that somebody should look at.
fn warning(reason: &'static str, note: String) -> Announcement {
    Announcement { is_warning: true, reason, note, job: None }
}

impl Context {
    /// Has an Event written.
    fn announce(&self, key: &Key, uid: &str, announcement: Announcement) {
        let Announcement { is_warning, reason, note, job } = announcement;
        let (key, uid) = (key.clone(), uid.into());
        self.teller.note(Note { key, uid, is_warning, reason, note, job });
    }

    /// Tells of an error, in the log and by an Event.
    pub(super) fn complain(
        &self,
        key: &Key,
        uid: &str,
        complaint: Complaint,
        period: Option<PeriodId>,
        note: &str,
    ) {
        let (reason, error_type, operation) = complaint.words();
        let line = about(key, Level::Error, "error")
            .with_some("period_id", period)
            .with("error_type", error_type)
            .with("operation", operation)
            .with("message", note);
        self.teller.log(&line);
        self.announce(key, uid, warning(reason, note.into()));
    }
}

impl Look<'_> {
    /// Tells of an error with this object.
    pub(super) fn complain(
        &self,
        held: &Held,
        complaint: Complaint,
        period: Option<PeriodId>,
        note: &str,
    ) {
        self.context.complain(self.key, &held.uid, complaint, period, note);
    }

    /// What does not end is told once (ERR-27).
    pub(super) fn tell_stuck(&self, held: &Held, stuck: Option<&(PeriodId, String)>) {
        let why = stuck.map(|(_, why)| why.clone());
        let is_news = self.entry(|entry| std::mem::replace(&mut entry.stuck, why) != entry.stuck);
        if is_news == Some(true)
            && let Some((period, why)) = stuck
        {
            self.complain(held, Complaint::NotEnded, Some(*period), why);
        }
    }

    /// A mark in the future is told once: by it nothing runs, and nothing else shows it.
    pub(super) fn tell_idle(&self, held: &Held, idle: Option<UtcInstant>) {
        let is_news = self.entry(|entry| std::mem::replace(&mut entry.idle, idle) != idle);
        let Some(until) = idle.filter(|_| is_news == Some(true)) else { return };
        let (reason, why) = idleness(self.key, until);
        let line =
            about(self.key, Level::Warn, "idle").with("idle_until", until).with("message", &why);
        self.context.teller.log(&line);
        self.context.announce(self.key, &held.uid, warning(reason, why));
    }

    /// The Job of a period was created, so much after its chosen time. (That the period is
    /// executed is told when it is recorded.)
    pub(super) fn tell_started(&self, permit: &StartPermit<'_>, job: &str, late: Duration) {
        let decision = permit.decision();
        let line = about(self.key, Level::Info, "started")
            .with("period_id", decision.period())
            .with("nominal_time", decision.period().nominal())
            .with("chosen_time", permit.chosen())
            .with("kubernetes_job", job)
            .with("late", format!("{:.3}ms", late.as_secs_f64() * 1000.0))
            .with("seed_hash", decision.seed_hash());
        self.context.teller.log(&line);
    }

    /// A Job is deleted because a later period takes its place (EXE-21): its end alone would not
    /// tell why.
    pub(super) fn tell_replacing(&self, held: &Held, job: &Fact) {
        let waiting = self.entry(|entry| entry.replacing.first().map(|waiting| waiting.period));
        let waiting = waiting.flatten();
        let line = about(self.key, Level::Info, "replacing")
            .with("period_id", job.period)
            .with("kubernetes_job", &job.name)
            .with_some("replaced_by", waiting);
        self.context.teller.log(&line);
        let by = waiting.map_or("a later one".to_string(), |period| format!("period {period}"));
        let note = format!("period {}: deleted Job {}, {by} takes its place", job.period, job.name);
        let (reason, job) = ("Replaced", Some(job.name.clone()));
        let announcement = Announcement { is_warning: false, reason, note, job };
        self.context.announce(self.key, &held.uid, announcement);
    }

    /// A request failed, the last of so many in a row.
    pub(super) fn tell_failure(&self, fail: &Fail, failures: u32, uid: Option<&str>) {
        if matches!(fail, Fail::Conflict | Fail::Deposed) {
            return;
        }
        self.context.meter.failure();
        if self.is_told {
            return;
        }
        let line = about(self.key, Level::Warn, "error")
            .with("error_type", "SystemError")
            .with("operation", "talk to the API server")
            .with("message", fail);
        self.context.teller.log(&line);
        // The same is an Event only once in a while.
        if let Some(uid) = uid.filter(|_| failures >= TOLD) {
            let note = format!("a request failed: {fail}");
            self.context.announce(self.key, uid, warning("RequestFailed", note));
        }
    }

    /// A Job of an object that is gone cannot be let go of: somebody may wait for that, but it
    /// is not the trouble of any object.
    pub(super) fn tell_stray(&self, stray: &Fact, fail: &Fail) {
        if *fail == Fail::Deposed {
            return;
        }
        self.context.meter.failure();
        let about: [(_, &dyn Display); 3] =
            [("period_id", &stray.period), ("kubernetes_job", &stray.name), ("message", fail)];
        self.context.teller.warn(self.key, "let a Job go", &about);
    }

    /// Tells what a plan had to say, once it is recorded; by `job`, if it is known by which
    /// definition it was planned.
    pub(super) fn remark(&self, held: &Held, job: Option<&Job>, remarks: Vec<Remark>) {
        let about = |level, event| about(self.key, level, event);
        for remark in remarks {
            if let Some(announcement) = Announcement::of(&remark) {
                self.context.announce(self.key, &held.uid, announcement);
            }
            let line = match remark {
                Remark::Planned(period) => {
                    let Some(decision) = job.map(|job| job.decide(period)) else { continue };
                    // The record has the identity.
                    let mut line =
                        Line::new(Level::Info, kron_core::EVENT).with("job", &self.key.1);
                    line.fields.extend(Record::of(&decision, &Zones::bundled()).into_log_fields());
                    line
                }
                Remark::Superseded(count, at_least) => {
                    self.context.meter.superseded(count);
                    let line = about(Level::Info, "superseded").with("count", count);
                    line.with_some("at_least", at_least.then_some(true))
                }
                Remark::Barred(count) => {
                    self.context.meter.superseded(count);
                    let line = about(Level::Info, "superseded").with("count", count);
                    line.with("reason", "the spec was changed while it waited")
                }
                Remark::Finished(Finished { job, period, result }) => about(Level::Info, "exited")
                    .with("period_id", period)
                    .with("kubernetes_job", job)
                    .with("result", format!("{result:?}").to_lowercase()),
                Remark::Outcome { end, seed_hash, job } => {
                    self.context.meter.outcome(end.outcome().as_str());
                    let is_warning = end.outcome() == Outcome::Unschedulable;
                    about(if is_warning { Level::Warn } else { Level::Info }, "outcome")
                        .with("period_id", end.period())
                        .with("nominal_time", end.period().nominal())
                        .with_some("chosen_time", end.chosen())
                        .with("outcome", end.outcome())
                        .with_some("reason", end.reason())
                        .with_some("kubernetes_job", job.map(|job| job.name))
                        .with_some("seed_hash", seed_hash)
                }
            };
            self.context.teller.log(&line);
        }
    }
}
