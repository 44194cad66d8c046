//! What the engine knows, for people who ask. The names are those of the JSON
//! that `krond` prints, and stable.

use alloc::string::String;
use alloc::vec::Vec;
use kron_core::UtcInstant;
use serde::{Deserialize, Serialize};

/// A job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobView {
    /// Its name in its file.
    pub job: String,
    /// Its identity.
    pub identity: String,
    /// Its schedule, canonical.
    pub schedule: String,
    /// Its zone.
    pub timezone: String,
    /// Whether it is configured; if not, it is listed because it still runs.
    pub configured: bool,
    /// Whether it is suspended.
    pub suspended: bool,
    /// The period that comes next.
    pub next: Option<NextView>,
    /// The period handled most recently.
    pub last: Option<LastView>,
    /// Executions that are active.
    pub running: Vec<RunningView>,
    /// Due periods that could not be started yet.
    pub blocked: Vec<BlockedView>,
    /// Set if a mark in the future holds it.
    pub idle_until: Option<String>,
}

/// The period that comes next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NextView {
    /// Which.
    pub period_id: String,
    /// When it runs; nothing if it will be unschedulable.
    pub chosen_time: Option<String>,
    /// The seed of that choice.
    pub seed_hash: String,
}

/// The period handled most recently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastView {
    /// Which.
    pub period_id: String,
    /// How it ended.
    pub outcome: String,
    /// When it was to run.
    pub chosen_time: Option<String>,
    /// Why it was not executed.
    pub reason: Option<String>,
    /// When it began.
    pub started_at: Option<String>,
    /// How its command ended.
    pub exit_code: Option<i32>,
    /// The seed of its choice.
    pub seed_hash: Option<String>,
    /// The distribution it was chosen from.
    pub distribution: Option<String>,
}

/// An active execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunningView {
    /// Its period.
    pub period_id: String,
    /// The process; nothing while it is being made.
    pub pid: Option<u32>,
    /// Since when.
    pub started_at: Option<String>,
    /// Why it is being ended.
    pub ending: Option<String>,
}

/// A due period that could not be started yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BlockedView {
    /// Which.
    pub period_id: String,
    /// What is in its way.
    pub obstacle: String,
    /// When it is tried again.
    pub retry_at: Option<String>,
    /// From when on it is missed.
    pub missed_at: String,
}

/// Where a period stands, as far as the engine can tell without its history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum Standing {
    /// Its command runs, or is about to.
    Running(RunningView),
    /// It is due and could not be started yet.
    Blocked(BlockedView),
    /// It waits for the execution before it to end.
    Replacing,
    /// It is skipped if the execution before it begins, which is being prepared.
    PutOff,
    /// It is yet to come.
    Waiting,
    /// The job is suspended.
    Suspended,
    /// It has its outcome; if it is the one handled most recently, this one.
    Closed {
        /// The record of the job's last period, if it is this one.
        last: Option<LastView>,
    },
    /// It was due before anything of this job may run: the job was new then, was
    /// edited, or came back.
    #[serde(rename_all = "camelCase")]
    BeforeFirst {
        /// Since when periods count.
        not_before: String,
    },
    /// The schedule has no such period.
    NoSuchPeriod,
    /// The job is no longer configured, and still runs.
    Removed,
}

/// Numbers about the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gauges {
    /// Configured jobs.
    pub jobs: usize,
    /// Jobs in line.
    pub queued: usize,
    /// Executions that are active.
    pub running: usize,
    /// When the engine wants to wake up.
    pub next: Option<UtcInstant>,
}
