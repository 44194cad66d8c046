//! Asks the API server whether the template of a `KronJob` can be used, by a dry run.
//!
//! It is asked after a look, not in one: nothing waits for the answer, and what is found out
//! too late is found out when a Job is created. What an answer means, and when to ask again,
//! is [`trial`](crate::trial)'s business.

use super::Context;
use super::report::Complaint;
use super::trouble::BROKEN;
use crate::cluster::Fail;
use crate::convert;
use crate::desk::{Held, Key};
use crate::tell::now;
use crate::template::{self, Owner};
use crate::trial::{Trial, Tried};
use futures::FutureExt;
use kron_core::{Job, PeriodId};
use std::panic::AssertUnwindSafe;

/// Asks about each generation until it knows; whether the `KronJob` has to be looked at again
/// for that. One that breaks this is not asked about again before it is another.
pub async fn check_template(context: &Context, key: &Key) -> bool {
    let asked = AssertUnwindSafe(check(context, key)).catch_unwind().await;
    asked.unwrap_or_else(|_| {
        let uid = context.desk().entry(key).and_then(|e| e.held.as_ref().map(|h| h.uid.clone()));
        context.complain(key, &uid.unwrap_or_default(), Complaint::Undecided, None, BROKEN);
        false
    })
}

async fn check(context: &Context, key: &Key) -> bool {
    let Some((held, period)) = untried(context, key) else { return false };
    let Ok(job) = held.job.as_ref() else { return false };
    let _turn = context.lanes.turn().await;
    let answer = ask(context, key, &held, job, period).await;
    let mut desk = context.desk();
    let before = desk.entry(key).and_then(|entry| entry.template.clone());
    let trial = Trial::new(held.generation, before.as_ref(), answer, now());
    let is_news = desk.tried(key, &held.uid, trial.clone(), now());
    drop(desk);
    if is_news && let Tried::Denied(why) = &trial.tried {
        context.complain(key, &held.uid, Complaint::Denied, None, why);
    }
    is_news
}

/// What is to be asked about, and a period to do it by; nobody else asks meanwhile.
fn untried(context: &Context, key: &Key) -> Option<(Held, PeriodId)> {
    let mut desk = context.desk();
    let entry = desk.entry(key)?;
    let held = entry.held.clone().filter(|held| !held.is_going)?;
    let known = entry.template.as_ref().filter(|trial| !trial.is_due(now()));
    let known = known.map(|trial| trial.generation);
    if [known, entry.checking].contains(&Some(held.generation)) {
        return None;
    }
    let period = held.job.as_ref().as_ref().ok()?.next_period(now().floor())?;
    entry.checking = Some(held.generation);
    Some((held, period))
}

async fn ask(
    context: &Context,
    key: &Key,
    held: &Held,
    job: &Job,
    period: PeriodId,
) -> Result<(), Fail> {
    let decision = job.decide(period);
    let (namespace, name) = (&*key.0, &*key.1);
    let owner = Owner { namespace, name, uid: &held.uid, generation: held.generation };
    let chosen = decision.chosen().unwrap_or(period.nominal());
    let wanted = template::job(owner, &held.template(), &decision, chosen);
    let _leave = context.lanes.other().await;
    let tried = context.cluster.try_create(namespace, &wanted).await;
    // By which period it was tried says nothing.
    let plain = |why: String| why.replace(&convert::job_name(name, period), name);
    tried.map_err(|fail| match fail {
        Fail::Refused(why) => Fail::Refused(plain(why)),
        Fail::Later(why) => Fail::Later(plain(why)),
        other => other,
    })
}
