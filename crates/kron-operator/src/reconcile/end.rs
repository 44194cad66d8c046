//! Ending Jobs and letting them go: those that a period takes the place of, those that are no
//! longer needed, and those whose `KronJob` is gone.
//!
//! Which they are, the plan and [`upkeep`](crate::upkeep) say, but for the last.

use super::Look;
use crate::cluster::Fail;
use crate::desk::Held;
use crate::facts::Fact;
use crate::obstacle::PAUSE;
use crate::tell::now;
use crate::upkeep::free_at;
use std::collections::BTreeMap;

impl Look<'_> {
    /// Lets go of a Job whose owner is gone or going and must not be kept by us; whether one was
    /// tried. That it fails is no reason for anything else to wait.
    pub(super) async fn let_stray_go(&mut self, strays: &[Fact]) -> bool {
        // Of those that have lost their owner nobody knows whether they were recorded.
        let must_stay = |fact: &&Fact| fact.owner.is_empty() && free_at(fact) > now();
        let (bound, free): (Vec<&Fact>, Vec<&Fact>) =
            strays.iter().filter(|fact| fact.is_held).partition(must_stay);
        if let Some(stray) = free.first().filter(|_| !self.has_stray) {
            let released = self.release(stray).await;
            self.has_stray = released.is_err();
            if let Err(fail) = released {
                self.tell_stray(stray, &fail);
            }
            return true;
        }
        let again = self.has_stray.then(|| now().saturating_add(PAUSE.1));
        self.strays_at = bound.into_iter().map(free_at).chain(again).min();
        false
    }

    /// Ends Jobs, because a period waits for it; if one cannot be, which and why.
    pub(super) async fn end(
        &self,
        held: &Held,
        jobs: &[Fact],
        delete: &[String],
        release: &[String],
    ) -> Result<(), (String, Fail)> {
        for job in named(jobs, delete) {
            let _leave = self.context.lanes.urgent().await;
            self.delete(job, true).await.map_err(|fail| (job.name.clone(), fail))?;
            self.tell_replacing(held, job);
        }
        for job in named(jobs, release) {
            self.release(job).await.map_err(|fail| (job.name.clone(), fail))?;
        }
        Ok(())
    }

    /// Lets go of Jobs and deletes them, because they are not needed; nobody waits for it.
    pub(super) async fn tidy(
        &self,
        jobs: &[Fact],
        release: &[String],
        delete: &[String],
    ) -> Result<(), Fail> {
        for job in named(jobs, release) {
            self.release(job).await?;
        }
        for job in named(jobs, delete) {
            let _leave = self.context.lanes.other().await;
            self.delete(job, false).await?;
        }
        Ok(())
    }

    /// Deletes a Job, if need be its pods before it.
    async fn delete(&self, job: &Fact, pods_first: bool) -> Result<(), Fail> {
        self.context.cluster.delete(&self.key.0, &job.name, &job.uid, pods_first).await?;
        self.learn(job, |fact| fact.is_going = true);
        Ok(())
    }

    /// Takes our finalizer off a Job.
    async fn release(&self, job: &Fact) -> Result<(), Fail> {
        let _leave = self.context.lanes.other().await;
        self.context.cluster.release(&self.key.0, &job.name, &job.uid).await?;
        self.learn(job, |fact| fact.is_held = false);
        Ok(())
    }

    /// Takes down what has become of a Job.
    fn learn(&self, job: &Fact, change: impl FnOnce(&mut Fact)) {
        self.entry(|entry| entry.jobs.get_mut(&job.name).map(change));
    }
}

/// Those of the Jobs that have these names, in their order.
fn named<'f>(jobs: &'f [Fact], names: &'f [String]) -> impl Iterator<Item = &'f Fact> {
    let known: BTreeMap<&str, &Fact> = jobs.iter().map(|fact| (&*fact.name, fact)).collect();
    names.iter().filter_map(move |name| known.get(&**name).copied())
}
