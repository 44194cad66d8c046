//! What users write.

use super::KronJobStatus;
use k8s_openapi::api::batch::v1::JobTemplateSpec;
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A Job that runs around a time: once in every period of its schedule, at a second
/// chosen inside a window, which anyone can compute in advance.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "kron.io",
    version = "v1alpha1",
    kind = "KronJob",
    plural = "kronjobs",
    shortname = "kj",
    namespaced,
    status = "KronJobStatus",
    derive = "PartialEq",
    validation = Rule::new("self.metadata.name.size() <= 52")
        .message("the name must be no more than 52 characters: its Jobs add the period to it"),
    printcolumn(name = "Schedule", type_ = "string", json_path = ".spec.schedule"),
    printcolumn(name = "Zone", type_ = "string", json_path = ".spec.timezone"),
    printcolumn(name = "Suspended", type_ = "boolean", json_path = ".spec.policy.suspend"),
    printcolumn(name = "Last", type_ = "string", json_path = ".status.lastPeriod.outcome"),
    printcolumn(name = "Next", type_ = "string", json_path = ".status.nextPeriod.chosenTime"),
    printcolumn(name = "Active", type_ = "integer", json_path = ".status.activeCount"),
    printcolumn(name = "Window", type_ = "string", json_path = ".spec.window.duration", priority = 1),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct KronJobSpec {
    /// Five cron fields: minute, hour, day of month, month, day of week.
    #[schemars(length(min = 1, max = 1024))]
    pub schedule: String,
    /// IANA name of the zone in which the schedule and its constraints are read.
    #[serde(default = "utc")]
    #[schemars(length(min = 1, max = 64))]
    pub timezone: String,
    /// When a run may begin, relative to the time that the schedule names.
    #[serde(default)]
    pub window: Window,
    /// How likely each second of the window is.
    #[serde(default)]
    pub distribution: Distribution,
    /// What the choice is derived from, besides namespace and name.
    #[serde(default)]
    pub seed: Seed,
    /// Times that may or must not be chosen.
    #[serde(default)]
    pub constraints: Constraints,
    /// What happens at the chosen time.
    #[serde(default)]
    pub policy: Policy,
    /// The Job that is created for each period.
    #[schemars(schema_with = "job_template")]
    pub job_template: Value,
    /// How many succeeded Jobs are kept.
    #[serde(default = "three")]
    #[schemars(range(min = 0, max = 1000))]
    pub successful_jobs_history_limit: u32,
    /// How many failed Jobs are kept.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 1000))]
    pub failed_jobs_history_limit: u32,
}

fn utc() -> String {
    "UTC".into()
}

fn three() -> u32 {
    3
}

fn one() -> u32 {
    1
}

fn zero_seconds() -> String {
    "0s".into()
}

/// A length of time as Go writes it. Kept in one place: the same rule for every field.
const IS_DURATION: &str =
    r"self.matches('^(0|([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+$')";
const DURATION: &str = "must be a length of time such as 90m, 1h30m or 45s";

/// The window of a period.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// `after`: from the scheduled time on. `around`: half of it before.
    #[serde(default)]
    pub mode: WindowMode,
    /// Its length, up to 366 days (`8784h`).
    #[serde(default = "zero_seconds")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new(IS_DURATION).message(DURATION))]
    pub duration: String,
}

impl Default for Window {
    fn default() -> Self {
        Self { mode: WindowMode::default(), duration: zero_seconds() }
    }
}

/// Where a window lies.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub enum WindowMode {
    #[default]
    After,
    Around,
}

/// A distribution and its parameters.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = Rule::new("self.name == 'normal' || (!has(self.mu) && !has(self.sigma))")
    .message("mu and sigma belong to the distribution `normal`"))]
#[x_kube(validation = Rule::new("self.name in ['skewEarly', 'skewLate'] || !has(self.shape)")
    .message("shape belongs to the distributions `skewEarly` and `skewLate`"))]
#[x_kube(validation = Rule::new("self.name == 'exponential' || (!has(self.lambda) && !has(self.dir))")
    .message("lambda and dir belong to the distribution `exponential`"))]
pub struct Distribution {
    /// Which one.
    #[serde(default)]
    pub name: DistributionName,
    /// `normal`: where the middle of the bell is. Without it `nominal` in windows around
    /// the time, `mid` in windows after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mu: Option<MuName>,
    /// `normal`: standard deviation. Without it a sixth of the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new(IS_DURATION).message(DURATION))]
    pub sigma: Option<String>,
    /// `skewEarly`, `skewLate`: how strongly; 2 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self > 0.0").message("must be greater than 0"))]
    pub shape: Option<f64>,
    /// `exponential`: rate of decay; 1 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self > 0.0").message("must be greater than 0"))]
    pub lambda: Option<f64>,
    /// `exponential`: which end of the window is likelier; `early` if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<DirectionName>,
}

/// Names of distributions.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub enum DistributionName {
    #[default]
    Uniform,
    Normal,
    SkewEarly,
    SkewLate,
    Exponential,
}

/// Anchors of `normal`.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub enum MuName {
    Nominal,
    Start,
    Mid,
    End,
}

/// Directions of `exponential`.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub enum DirectionName {
    Early,
    Late,
}

/// What a choice is derived from.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seed {
    /// `stable`: every period its own draw. `daily`, `weekly`: periods of a day or week
    /// share one.
    #[serde(default)]
    pub strategy: SeedName,
    /// Anything that is to make the choices different from those of others.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 1024))]
    pub salt: String,
}

/// Names of seed strategies.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub enum SeedName {
    #[default]
    Stable,
    Daily,
    Weekly,
}

/// Clauses such as `dow=MON-FRI`, `hours=8-18`, `between=08:00-20:00`, `dom=1-7`,
/// `months=JAN-MAR`, `date=2026-12-25`, `dates=2026-12-24..2026-12-31`.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constraints {
    /// At the chosen time each kind of clause must hold; of several of one kind, one is enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 1024)))]
    pub only: Vec<String>,
    /// None of these may hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 1024)))]
    pub avoid: Vec<String>,
}

/// What happens at the chosen time.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// While a Job of an earlier period is active: start beside it, skip, or end it first.
    #[serde(default)]
    pub concurrency: Concurrency,
    /// How late a run may begin; `0s` is a second.
    #[serde(default = "zero_seconds")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new(IS_DURATION).message(DURATION))]
    pub deadline: String,
    /// Whether nothing is created for the time being.
    #[serde(default)]
    pub suspend: bool,
}

impl Default for Policy {
    fn default() -> Self {
        let concurrency = Concurrency::default();
        Self { concurrency, deadline: zero_seconds(), suspend: false }
    }
}

/// Words for concurrency.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub enum Concurrency {
    Allow,
    #[default]
    Forbid,
    Replace,
}

/// The schema of Kubernetes' own Job templates, without descriptions: with them the
/// definition is too large to be applied by `kubectl apply`. The template itself stays
/// JSON, because a typed one would lose the fields that it does not know.
fn job_template(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = JobTemplateSpec::json_schema(generator);
    strip(&mut schema);
    schema.insert("required".into(), ["spec"].as_slice().into());
    schema
}

fn strip(schema: &mut Schema) {
    schema.remove("description");
    schemars::transform::transform_subschemas(&mut strip, schema);
}
