//! What users are told, and what the operator itself remembers (OPR-10).
//!
//! The marks are the same as in the state files of krond (STATE, Period Advancement
//! Rules). Times are text, as everywhere in Kron: RFC 3339 in UTC.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Types of conditions.
pub mod condition {
    /// The spec is valid, and periods are looked after.
    pub const READY: &str = "Ready";
    /// The spec cannot be used; nothing is created.
    pub const INVALID: &str = "InvalidSpec";
    /// A period could not be decided or its Job not created; it is tried again.
    pub const ERROR: &str = "SchedulingError";
    /// There is no time that the constraints allow, or no period at all.
    pub const UNSCHEDULABLE: &str = "Unschedulable";
}

/// What the operator says about a `KronJob`.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KronJobStatus {
    /// The generation of the spec that all of this is about.
    pub observed_generation: Option<i64>,
    /// Whether it works, and if not, why.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The period handled most recently.
    pub last_period: Option<LastPeriod>,
    /// The period whose Job is created next. Nothing is created that is not named here or
    /// in `pending`.
    pub next_period: Option<NextPeriod>,
    /// Periods that are due and wait: for another attempt, or until others have ended.
    pub pending: Vec<NextPeriod>,
    /// Jobs that have not finished.
    pub active: Vec<ActiveJob>,
    /// How many there are; of very many only the latest are listed.
    #[schemars(range(max = u32::MAX))]
    pub active_count: u32,
    /// Which periods are closed: none of them is ever created again.
    pub marks: Option<Marks>,
    /// Outcomes, the newest first.
    pub history: Vec<History>,
    /// The version of the algorithm that chooses.
    pub algorithm: Option<String>,
    /// The release of the time zone database that it used.
    pub tzdb: Option<String>,
}

/// A period and its outcome.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastPeriod {
    /// Its identifier.
    pub period_id: String,
    /// The time that the schedule names.
    pub nominal_time: String,
    /// The chosen time; absent if there was none.
    pub chosen_time: Option<String>,
    /// `executed`, `skipped`, `missed` or `unschedulable`.
    pub outcome: String,
    /// Why it was not executed.
    pub reason: Option<String>,
    /// The seed of its decision.
    pub seed_hash: Option<String>,
    /// The Job, if there was one.
    pub job: Option<String>,
    /// The whole schedule by which that was decided, as `krontab explain` takes it; absent if it
    /// was another than anybody knows.
    pub schedule: Option<String>,
    /// The generation of the spec that said so.
    pub generation: Option<i64>,
}

/// A period to come.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NextPeriod {
    /// Its identifier.
    pub period_id: String,
    /// The time that the schedule names.
    pub nominal_time: String,
    /// The chosen time; absent if there is none.
    pub chosen_time: Option<String>,
    /// The seed of its decision.
    pub seed_hash: String,
    /// The whole schedule by which that was decided, as `krontab explain` takes it. Those in
    /// `pending` have that of `nextPeriod`, or if there is none, of the first of them.
    pub schedule: Option<String>,
    /// The generation of the spec that said so.
    pub generation: Option<i64>,
}

/// A Job that has not finished.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActiveJob {
    /// Its name.
    pub name: String,
    /// Its period.
    pub period_id: String,
}

/// Which periods are closed.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Marks {
    /// Every period up to this one.
    pub handled_through: Option<String>,
    /// Each of these.
    #[serde(default)]
    pub handled_ahead: Vec<String>,
    /// Every period chosen before this instant.
    pub not_before: String,
    /// Fingerprint of what decided the timing.
    pub definition_hash: Option<String>,
}

/// The outcome of a period, and what became of its Job.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct History {
    /// Its identifier.
    pub period_id: String,
    /// The chosen time; absent if there was none.
    pub chosen_time: Option<String>,
    /// `executed`, `skipped`, `missed` or `unschedulable`.
    pub outcome: String,
    /// Why it was not executed.
    pub reason: Option<String>,
    /// The Job, if there was one.
    pub job: Option<String>,
    /// What became of the Job, once that is known.
    pub result: Option<RunResult>,
    /// When it finished.
    pub finished_at: Option<String>,
}

/// What became of a Job.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RunResult {
    /// It completed.
    Succeeded,
    /// It failed.
    Failed,
    /// It was deleted before it finished.
    Deleted,
}
