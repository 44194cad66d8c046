//! What is known of the Jobs of a `KronJob`: only what a plan depends on, so that ten
//! thousand of them are small.
//!
//! Pure.

use crate::api::{
    CHOSEN_ANNOTATION, FINALIZER, KRONJOB_LABEL, KronJob, PERIOD_ANNOTATION, SEED_ANNOTATION,
};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kron_core::{PeriodId, SeedHash, UtcInstant, UtcSecond};
use kube::ResourceExt;

/// A Job of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Its name.
    pub name: String,
    /// Which object, should another get the same name.
    pub uid: String,
    /// The `KronJob` that it belongs to; empty if it lost its owner while we kept it.
    pub owner: String,
    /// Its period.
    pub period: PeriodId,
    /// The chosen time of its period.
    pub chosen: Option<UtcSecond>,
    /// The seed of that decision.
    pub seed_hash: Option<SeedHash>,
    /// What has become of it.
    pub phase: Phase,
    /// When it was created.
    pub created: UtcInstant,
    /// When it finished.
    pub finished: Option<UtcInstant>,
    /// Whether our finalizer keeps it.
    pub is_held: bool,
    /// Whether it is being deleted.
    pub is_going: bool,
}

/// What has become of a Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It has not finished.
    Active,
    /// It completed.
    Succeeded,
    /// It failed.
    Failed,
}

impl Fact {
    /// A Job as it is in the cluster; `None` if it is nobody's of ours.
    #[must_use]
    pub fn of(job: &Job) -> Option<Self> {
        let meta = &job.metadata;
        let is_held = job.finalizers().iter().any(|finalizer| finalizer == FINALIZER);
        let mut references = meta.owner_references.iter().flatten();
        let is_orphan = is_held && references.all(|other| other.controller != Some(true));
        let owner = owner(meta).or(is_orphan.then_some(""))?;
        let annotation = |key: &str| meta.annotations.as_ref()?.get(key);
        let period = annotation(PERIOD_ANNOTATION)?.parse().ok()?;
        let chosen = annotation(CHOSEN_ANNOTATION).and_then(|text| text.parse().ok());
        let seed_hash = annotation(SEED_ANNOTATION).and_then(|text| text.parse().ok());
        let status = job.status.as_ref();
        let conditions = status.and_then(|status| status.conditions.as_deref()).unwrap_or_default();
        let finished = conditions.iter().find(|condition| {
            condition.status == "True" && matches!(&*condition.type_, "Complete" | "Failed")
        });
        let phase = match finished.map(|condition| &*condition.type_) {
            Some("Complete") => Phase::Succeeded,
            Some(_) => Phase::Failed,
            None => Phase::Active,
        };
        let completion = status.and_then(|status| status.completion_time.as_ref());
        let at =
            completion.or(finished.and_then(|finished| finished.last_transition_time.as_ref()));
        Some(Self {
            name: job.name_any(),
            uid: meta.uid.clone()?,
            owner: owner.into(),
            period,
            chosen,
            seed_hash,
            phase,
            created: meta.creation_timestamp.as_ref().and_then(instant)?,
            finished: finished.and(at).and_then(instant),
            is_held,
            is_going: meta.deletion_timestamp.is_some(),
        })
    }

    /// Whether it has not finished.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.phase == Phase::Active
    }
}

/// The uid of the `KronJob` that controls something.
#[must_use]
pub fn owner(meta: &ObjectMeta) -> Option<&str> {
    let references = meta.owner_references.as_deref().unwrap_or_default();
    let ours = references.iter().find(|reference| {
        reference.controller == Some(true)
            && reference.kind == "KronJob"
            && reference.api_version.starts_with("kron.io/")
    });
    ours.map(|reference| &*reference.uid)
}

/// The name of the `KronJob` that a Job says it belongs to.
#[must_use]
pub fn kronjob_of(job: &Job) -> Option<&str> {
    job.metadata.labels.as_ref()?.get(KRONJOB_LABEL).map(String::as_str)
}

/// A time of the API server.
#[must_use]
pub fn instant(time: &Time) -> Option<UtcInstant> {
    let (seconds, nanos) = (time.0.as_second(), time.0.subsec_nanosecond());
    UtcInstant::new(seconds, u32::try_from(nanos).ok()?).ok()
}

/// When a `KronJob` was created.
#[must_use]
pub fn created(kronjob: &KronJob) -> Option<UtcInstant> {
    kronjob.metadata.creation_timestamp.as_ref().and_then(instant)
}
