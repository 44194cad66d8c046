//! Laws about periods that nothing was started for: when they were judged, by what, and
//! whether they could have run.
//!
//! The daemon judges when it hears something, by the definition in force then, and a batch
//! has what was judged since the one before it. So there are few moments at which an
//! outcome can have been judged, mostly one, and at one of them it must have been right.

use super::account::{Account, Def, due, expiry};
use super::{Checker, PAUSE, SLACK};
use crate::fact::{Recorded, Time};
use crate::law::{Breach, Law};
use core::time::Duration;
use kron_core::{Concurrency, Outcome, PeriodId, PolicySpec, UtcInstant, UtcSecond};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Epochs of a job that are remembered: more than there can be while a batch is on its way.
const EPOCHS: usize = 8;

/// A moment at which the daemon heard something.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub event: u64,
    pub at: Time,
}

/// What was known of a time in which the clock was beyond doubt. What was judged then and is
/// not on its way to the disk yet is held to this, not to what was heard since.
#[derive(Debug)]
pub struct Watch {
    /// The event that ended it.
    pub until: u64,
    /// When something was heard, and when the daemon had asked to be woken.
    pub plans: Vec<(UtcInstant, Option<UtcInstant>)>,
    /// Of each job: since when it was watched, and when it was looked at.
    pub jobs: BTreeMap<Rc<str>, (Option<UtcInstant>, Vec<Look>)>,
}

/// What a job was from some event on.
#[derive(Debug)]
pub struct Epoch {
    pub event: u64,
    pub at: Duration,
    /// Nothing if it was not configured.
    pub def: Option<Rc<Def>>,
    /// Nothing due before could run.
    pub floor: UtcInstant,
}

/// A moment at which everything of a job that was due was looked at; what is in the way
/// is what was when that was over.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    pub at: Time,
    pub generation: u32,
    pub is_crowded: bool,
    /// Whether others were being prepared, and no more may be at once.
    pub is_queued: bool,
    /// What was to become of it beside others.
    pub concurrency: Concurrency,
    /// Whether one of the same job was being prepared.
    pub is_preparing: bool,
    /// When something of it was active last, in true time.
    pub last_active: Duration,
}

impl Look {
    fn is_active(&self) -> bool {
        self.last_active >= self.at.true_time
    }

    fn replaces(&self) -> bool {
        self.concurrency == Concurrency::Replace
    }
}

/// How a try ended that came to nothing.
#[derive(Clone, Copy, Debug)]
pub struct Untried {
    pub at: Duration,
    pub generation: u32,
    /// Whether it failed; otherwise it was taken back.
    pub is_failure: bool,
}

impl Account {
    /// Takes note of what the job is from this event on.
    pub fn begin_epoch(&mut self, event: u64, at: Time) {
        let (def, floor) = (self.def(), self.floor());
        if self.epochs.len() >= EPOCHS {
            self.epochs.remove(0);
        }
        self.epochs.push(Epoch { event, at: at.true_time, def, floor });
    }

    /// How long before its nominal time a period can have run, by what was in force lately.
    pub fn lead(&self) -> Duration {
        let defs = self.epochs.iter().filter_map(|epoch| epoch.def.as_ref());
        defs.map(|def| def.job.window().lead()).max().unwrap_or_default()
    }

    fn epoch(&self, event: u64) -> Option<&Epoch> {
        self.epochs.iter().rev().find(|epoch| epoch.event <= event)
    }

    /// Whether the policy was to replace at some time since then.
    pub fn replaced_since(&self, since: Duration) -> bool {
        let replaces = |epoch: &Epoch| {
            let policy = epoch.def.as_ref().map(|def| def.job.policy().concurrency);
            policy == Some(Concurrency::Replace)
        };
        let ends = self.epochs.iter().skip(1).map(|next| Some(next.at)).chain([None]);
        let mut epochs = self.epochs.iter().zip(ends);
        epochs.any(|(epoch, end)| replaces(epoch) && end.is_none_or(|end| end >= since))
    }

    /// Whether a period was judged in time, and had to wait for those that it replaces or
    /// for others that were being prepared.
    pub fn has_waited(&self, chosen: UtcSecond, expiry: UtcInstant) -> (bool, bool) {
        let in_time = |look: &&Look| look.at.wall >= chosen.instant() && look.at.wall < expiry;
        let looks = || self.looks.iter().filter(in_time);
        (
            looks().any(|look| look.replaces() && look.is_active()),
            looks().any(|look| look.is_queued),
        )
    }

    /// The last look at what is due at `from`, if it was before it is too late.
    fn last_look(looks: &[Look], from: UtcInstant, expiry: UtcInstant) -> Option<&Look> {
        let last = looks.iter().rev().find(|look| look.at.wall < expiry);
        last.filter(|look| look.at.wall >= from)
    }

    /// Whether something kept a period from being started when it was looked at.
    fn was_hindered(&self, period: PeriodId, look: &Look) -> bool {
        let at = look.at.true_time;
        // What does not end is tried again after a pause.
        let waits = look.replaces() && look.last_active + PAUSE + SLACK >= at;
        // What waited for its turn is judged anew if the definition changes.
        let is_taken_back = look.is_queued && look.generation != self.generation;
        let was_tried = self.untried.get(&period).is_some_and(|tried| {
            tried.at >= at || (tried.is_failure && tried.generation == look.generation)
        });
        // It waited for another, and that did not begin.
        let is_put_off =
            look.concurrency == Concurrency::Forbid && look.is_preparing && self.last_untried >= at;
        look.is_crowded || waits || is_taken_back || was_tried || is_put_off
    }
}

impl Checker {
    /// What happened last is over: what was in the way of what was looked at?
    pub(super) fn end_event(&mut self) {
        if !self.jobs.values().any(|job| job.is_looked_at) {
            return;
        }
        let Some(at) = self.last else { return };
        let known = self.live.values().filter(|execution| execution.is_known);
        let known = known.map(|execution| &execution.identity);
        let active: BTreeSet<Rc<str>> =
            known.chain(self.runs.values().map(|run| &run.identity)).cloned().collect();
        let unready = self.runs.values().filter(|run| !run.is_at_gate);
        let unready: BTreeSet<Rc<str>> = unready.map(|run| Rc::clone(&run.identity)).collect();
        let is_queued =
            self.settings.preparing == 1 && self.runs.values().any(|run| !run.is_at_gate);
        // Those that wait to be prepared take places, and nobody outside can count them.
        let is_crowded = self.is_crowded() || (is_queued && self.settings.max_running.is_some());
        for job in self.jobs.values_mut() {
            let is_looked_at = core::mem::take(&mut job.is_looked_at);
            let Some(def) = job.def().filter(|_| is_looked_at && job.attentive.is_some()) else {
                continue;
            };
            let is_active = active.contains(&job.identity);
            job.looks.push(Look {
                at,
                generation: job.generation,
                is_crowded,
                is_queued,
                concurrency: def.job.policy().concurrency,
                is_preparing: unready.contains(&job.identity),
                last_active: if is_active { at.true_time } else { job.last_active },
            });
        }
    }

    /// The clock is not beyond doubt any more.
    pub(super) fn end_watch(&mut self) {
        let plans = core::mem::take(&mut self.plans);
        if self.moments.len() <= 1 {
            // Everything that was judged before this very moment is on its way.
            return;
        }
        let of_job = |(identity, job): (&Rc<str>, &Account)| {
            (Rc::clone(identity), (job.attentive, job.looks.clone()))
        };
        let jobs = self.jobs.iter().map(of_job).collect();
        self.watches.push(Watch { until: self.event, plans, jobs });
    }

    /// Everything that was judged so far is on its way, or lost.
    pub(super) fn forget_moments(&mut self) {
        self.moments.clear();
        self.watches.clear();
    }

    /// Whether an outcome can have been judged since the last batch, and by what.
    pub(super) fn judged(&self, recorded: &Recorded) -> Result<Rc<Def>, Breach> {
        let job = &self.jobs[&recorded.identity];
        let mut first = None;
        for moment in self.moments.iter().rev() {
            match self.judged_at(moment, job, recorded) {
                Ok(def) => return Ok(def),
                Err(breach) => first = first.or(Some(breach)),
            }
        }
        let unheard = || job.breach(Law::Reason, "judged, though nothing was heard");
        Err(first.unwrap_or_else(unheard))
    }

    fn judged_at(
        &self,
        moment: &Moment,
        job: &Account,
        recorded: &Recorded,
    ) -> Result<Rc<Def>, Breach> {
        let Recorded { period, outcome, .. } = recorded;
        let now = moment.at.wall;
        let breach = |law, what: String| {
            Err(job.breach(law, format!("{period} is {outcome} at {now}, {what}")))
        };
        let Some((def, floor)) =
            job.epoch(moment.event).and_then(|epoch| Some((epoch.def.as_ref()?, epoch.floor)))
        else {
            return breach(Law::InForce, "though the job is not configured".into());
        };
        let policy = def.job.policy();
        if policy.suspend {
            return breach(Law::Suspended, "while the job is suspended".into());
        }
        if def.job.prev_period(period.nominal()) != Some(*period) {
            return breach(Law::InForce, "though there is no such period".into());
        }
        let decision = def.job.decide(*period);
        let due = due(&decision);
        if now < due {
            return breach(Law::NotEarly, format!("before {due}"));
        }
        if due < floor {
            return breach(Law::NotBefore, format!("due {due}, before {floor}"));
        }
        match (*outcome, decision.chosen()) {
            (Outcome::Missed, Some(chosen)) => {
                let expiry = expiry(policy, chosen);
                if now < expiry {
                    return breach(Law::Missed, format!("before {expiry}"));
                }
                self.could_not_run(moment, job, policy, *period, chosen)?;
            }
            (Outcome::Skipped, Some(_)) => {
                let was_active = self.was_active(moment.at, &recorded.identity);
                if policy.concurrency != Concurrency::Forbid || !was_active {
                    return breach(Law::Forbid, "but nothing was in its way".into());
                }
            }
            (Outcome::Unschedulable, None) => {}
            _ => return breach(Law::Reason, "which cannot be".into()),
        }
        Ok(Rc::clone(def))
    }

    /// What is missed was not looked at in time, or something was in its way.
    fn could_not_run(
        &self,
        moment: &Moment,
        job: &Account,
        policy: &PolicySpec,
        period: PeriodId,
        chosen: UtcSecond,
    ) -> Result<(), Breach> {
        let (from, expiry) = (chosen.instant(), expiry(policy, chosen));
        let watch = self.watches.iter().find(|watch| moment.event < watch.until);
        let plans = watch.map_or(&self.plans, |watch| &watch.plans);
        let (since, looks) = match watch.map(|watch| watch.jobs.get(&job.identity)) {
            None => (job.attentive, &job.looks[..]),
            Some(known) => known.map_or((None, &[][..]), |(since, looks)| (*since, looks)),
        };
        if let Some(look) = Account::last_look(looks, from, expiry)
            && !job.was_hindered(period, look)
        {
            let what = format!(
                "{period}, due {from}, is missed, though it was looked at at {} and nothing was \
                 in its way",
                look.at.wall
            );
            return Err(job.breach(Law::Missed, what));
        }
        // Whoever does not ask to be woken is late by his own fault.
        let place = plans.partition_point(|(heard, _)| *heard < from);
        if let Some((heard, planned)) = plans.get(place)
            && place > 0
            && since.is_some_and(|since| since < from)
            && planned.is_none_or(|planned| planned > from)
        {
            let what = format!(
                "{period}, due {from}, is missed: heard at {heard}, asked to be woken at {planned:?}"
            );
            return Err(job.breach(Law::Missed, what));
        }
        Ok(())
    }
}
