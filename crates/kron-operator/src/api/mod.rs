//! The `KronJob` resource (SYNTAX, Scope; OPR-01): what users write, and what
//! they are told.
//!
//! The definition that is installed in a cluster is generated from these types
//! ([`definition`]). What admission can check is checked there, by schema and CEL;
//! the rest is [`convert`](crate::convert)'s, and becomes a condition.

mod heard;
mod spec;
mod status;

pub use heard::Heard;
pub use spec::{
    Concurrency, Constraints, DirectionName, Distribution, DistributionName, KronJob, KronJobSpec,
    MuName, Policy, Seed, SeedName, Window, WindowMode,
};
pub use status::{
    ActiveJob, History, KronJobStatus, LastPeriod, Marks, NextPeriod, RunResult, condition,
};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::Value;

/// The group of everything here, and the prefix of labels and annotations.
pub const GROUP: &str = "kron.io";
/// Label of a Job: the name of its `KronJob`.
pub const KRONJOB_LABEL: &str = "kron.io/kronjob";
/// Label of a Job: its period, without the characters that labels cannot hold.
pub const PERIOD_LABEL: &str = "kron.io/period";
/// Annotation of a Job: its period, exactly.
pub const PERIOD_ANNOTATION: &str = "kron.io/period-id";
/// Annotation of a Job: the second chosen for it.
pub const CHOSEN_ANNOTATION: &str = "kron.io/chosen-time";
/// Annotation of a Job: the seed of the decision.
pub const SEED_ANNOTATION: &str = "kron.io/seed-hash";
/// Annotation of a Job: the generation of the `KronJob` that it was made from.
pub const GENERATION_ANNOTATION: &str = "kron.io/generation";
/// Finalizer of a Job, until its period is recorded.
pub const FINALIZER: &str = "kron.io/recorded";

/// The definition of the resource, as a cluster gets it.
#[must_use]
pub fn definition() -> CustomResourceDefinition {
    KronJob::crd()
}

/// The definition as YAML.
///
/// # Errors
/// Never for the types here; it is what the writer of YAML says.
pub fn definition_yaml() -> Result<String, serde_yaml_ng::Error> {
    let value: Value = serde_json::to_value(definition()).unwrap_or_default();
    serde_yaml_ng::to_string(&value)
}
