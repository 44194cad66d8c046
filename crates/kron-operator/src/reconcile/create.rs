//! Creating the Job of a period (OPR-03): by its name there can be only one, so that one which
//! exists is either this one or somebody else's.
//!
//! Which period may begin, the plan says; what the Job is made of, [`template`]. When another
//! attempt is made after one that failed, [`obstacle`] decides.

use super::report::Complaint;
use super::{Look, Then};
use crate::cluster::Fail;
use crate::convert;
use crate::desk::{Entry, Held};
use crate::facts::{Fact, owner};
use crate::obstacle::{self, Failed};
use crate::plan::{Surety, is_in_time};
use crate::tell::now;
use crate::template::{self, Owner};
use crate::trial::Trial;
use crate::upkeep::HOLD;
use k8s_openapi::api::batch::v1::Job;
use kron_core::{PeriodId, StartPermit, UtcInstant};
use kube::ResourceExt;

/// Why a late Job is not created, if that is not the API server's fault in any other way.
const SLOW: &str = "it takes the API server too long to tell whether its Job was there before";

impl Look<'_> {
    /// Creates the Job of a period that was judged by this time, or takes down why it could not
    /// be.
    pub(super) async fn create(
        &mut self,
        held: &Held,
        permit: &StartPermit<'_>,
        surety: Surety,
        judged: UtcInstant,
    ) -> Result<Then, Fail> {
        let decision = permit.decision();
        let (namespace, name) = (&*self.key.0, &*self.key.1);
        let created = {
            let _leave = self.context.lanes.urgent().await;
            // It may have had to wait.
            let expiry = decision.job().policy().expiry(permit.chosen());
            let lag = self.context.max_dispatch_lag;
            if !self.is_still(held) || !is_in_time(judged, now(), expiry, lag) {
                return Ok(Then::Again);
            }
            let is_covered = surety.covers(decision, now());
            if !is_covered && surety.confirmed.is_none() {
                return Ok(Then::Again);
            }
            if is_covered {
                // Those that wait do not have their trees with them.
                let owner = Owner { namespace, name, uid: &held.uid, generation: held.generation };
                let job = template::job(owner, &held.template(), decision, permit.chosen());
                match self.context.cluster.create(namespace, &job).await {
                    Err(Fail::Exists) => self.theirs_or_ours(held, decision.period()).await,
                    other => other,
                }
            } else {
                Err(Fail::Later(SLOW.into()))
            }
        };
        match created {
            Ok(job) => self.created(held, permit, &job),
            Err(Fail::Deposed) => return Err(Fail::Deposed),
            Err(fail) => self.not_created(held, permit, &fail),
        }
        Ok(Then::Again)
    }

    /// Whether nothing else has been heard of it since.
    fn is_still(&self, held: &Held) -> bool {
        let current = |entry: &mut Entry| entry.held.as_ref().map(|held| held.version.clone());
        self.entry(current).flatten().is_some_and(|version| version == held.version)
    }

    /// A Job of that name exists: it may be the one, created by a request whose answer
    /// never came, or by another replica.
    async fn theirs_or_ours(&self, held: &Held, period: PeriodId) -> Result<Job, Fail> {
        let name = convert::job_name(&self.key.1, period);
        let Some(job) = self.context.cluster.job(&self.key.0, &name).await? else {
            return Err(Fail::Later(format!("`{name}` was there and is gone")));
        };
        let is_ours = owner(&job.metadata) == Some(&held.uid)
            && Fact::of(&job).is_some_and(|fact| fact.period == period);
        if is_ours {
            return Ok(job);
        }
        let whose = match job.metadata.owner_references.as_deref().unwrap_or_default() {
            [] => "nobody".to_string(),
            [first, ..] => format!("{} `{}`", first.kind, first.name),
        };
        Err(Fail::Taken(format!("a Job `{name}` exists and belongs to {whose}")))
    }

    fn created(&self, held: &Held, permit: &StartPermit<'_>, job: &Job) {
        let late = now().since(permit.chosen().instant()).unwrap_or_default();
        self.context.meter.late(late);
        let mut desk = self.context.desk();
        desk.learn_job(job);
        if let Some(entry) = desk.entry(self.key) {
            obstacle::passed(&mut entry.obstacles, permit.decision().period(), now());
            let trial = entry.template.as_mut();
            trial.filter(|trial| trial.generation == held.generation).map(Trial::passed);
        }
        drop(desk);
        self.tell_started(permit, &job.name_any(), late);
    }

    fn not_created(&mut self, held: &Held, permit: &StartPermit<'_>, why: &Fail) {
        let decision = permit.decision();
        let period = decision.period();
        // Retries look at the time again.
        self.fired = None;
        let failed = Failed {
            period,
            why: why.to_string(),
            is_own: matches!(why, Fail::Taken(_)),
            lands_until: matches!(why, Fail::Silent(_)).then(|| now().saturating_add(HOLD)),
            expiry: decision.job().policy().expiry(permit.chosen()),
        };
        self.context.meter.failure();
        self.entry(|entry| obstacle::failed(&mut entry.obstacles, failed, now()));
        let note = format!("the Job of period {period} cannot be created: {why}");
        self.complain(held, Complaint::NotCreated, Some(period), &note);
    }
}
