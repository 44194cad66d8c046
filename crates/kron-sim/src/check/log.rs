//! Laws about what is logged.

use super::account::{due, expiry};
use super::{Checker, Law};
use crate::fact::Time;
use crate::law::Breach;
use kron_core::{Concurrency, Decision, Outcome, PeriodId, Record, Zones};
use kron_engine::line::Line;
use std::borrow::Cow;
use std::rc::Rc;

impl Checker {
    pub(super) fn said(&mut self, at: Time, line: &Line, zones: &mut Zones) -> Result<(), Breach> {
        match line.event {
            "decision" => self.decided(line, zones),
            "outcome" => self.outcome(at, line),
            "superseded" => self.superseded(line),
            "reset" => {
                if let Some(identity) = line.get("identity") {
                    let job = self.job(&identity.into());
                    job.before_reset = None;
                    if let Some(floor) = job.not_before.1.take() {
                        job.not_before.0 = floor;
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// What is logged of a decision is what anybody computes.
    fn decided(&mut self, line: &Line, zones: &mut Zones) -> Result<(), Breach> {
        let breach = |what: String| Err(Breach { law: Law::Decision, what });
        let get = |key: &str| line.get(key).map(Cow::Borrowed);
        let Ok(record) = Record::from_log_fields(get) else {
            return breach(format!("a decision that cannot be read: {line:?}"));
        };
        match record.verify(zones) {
            Ok(differences) if differences.is_empty() => {}
            Ok(differences) => return breach(format!("{differences:?} in {line:?}")),
            Err(error) => return breach(format!("{error} in {line:?}")),
        }
        let identity: Rc<str> = record.identity.as_str().into();
        let job = self.job(&identity);
        let Some(def) = job.def().filter(|def| def.schedule == record.schedule) else {
            let what = format!("a decision by another definition: {}", record.schedule);
            return Err(job.breach(Law::Decision, what));
        };
        let Ok(period) = record.period_id.parse::<PeriodId>() else {
            return breach(format!("no period in {line:?}"));
        };
        let decision = def.job.decide(period);
        let fresh = decision.chosen().map(|chosen| chosen.to_string());
        if fresh != record.chosen_time || record.seed_hash != decision.seed_hash().to_string() {
            let what = format!("{period} is decided as {:?}, afresh {fresh:?}", record.chosen_time);
            return Err(job.breach(Law::Decision, what));
        }
        job.planned.insert(period);
        Ok(())
    }

    fn outcome(&mut self, at: Time, line: &Line) -> Result<(), Breach> {
        let text = |key: &str| line.get(key).unwrap_or_default();
        let identity: Rc<str> = text("identity").into();
        let word = text("outcome");
        let outcome = Outcome::ALL.into_iter().find(|outcome| outcome.as_str() == word);
        let (Ok(period), Some(outcome)) = (text("period_id").parse::<PeriodId>(), outcome) else {
            return Err(Breach { law: Law::Reason, what: format!("no outcome: {line:?}") });
        };
        let (latest, was_active) = (self.latest, self.was_active_of(at, &identity));
        self.unlogged.retain(|(known, known_period)| *known != identity || *known_period != period);
        let job = self.job(&identity);
        let breach = |law, what: String| Err(job.breach(law, format!("{period}: {what}")));
        match job.closed.get(&period) {
            None => return breach(Law::OneOutcome, format!("{word} is logged, not recorded")),
            Some(known) if known.outcome != Some(outcome) => {
                return breach(Law::OneOutcome, format!("{word}, and {:?} before", known.outcome));
            }
            Some(known) if known.is_logged => {
                return breach(Law::OneOutcome, format!("{word} is logged twice"));
            }
            Some(_) => {}
        }
        if line.get("reason").is_some() == (outcome == Outcome::Executed) {
            return breach(Law::Reason, format!("{word}, reason {:?}", line.get("reason")));
        }
        let has_run = job.ran.contains(&period) || job.fell.contains(&period);
        if has_run != (outcome == Outcome::Executed) {
            return breach(Law::Reason, format!("{word} is logged, but that is not so"));
        }
        let says_so = |decision: &Decision<'_>| {
            decision.chosen().map(|chosen| chosen.to_string()).as_deref() == line.get("chosen_time")
                && Some(decision.seed_hash().to_string().as_str()) == line.get("seed_hash")
        };
        let def = job.defs.iter().rev().find(|def| says_so(&def.job.decide(period)));
        let Some(def) = def.cloned() else {
            return breach(Law::Decision, format!("not what was decided: {line:?}"));
        };
        let (decision, policy) = (def.job.decide(period), *def.job.policy());
        if job.defs.len() == 1 && policy.suspend {
            return breach(Law::Suspended, format!("{word} while suspended"));
        }
        if latest < due(&decision) {
            return breach(Law::NotEarly, format!("{word} before {}", due(&decision)));
        }
        // What is told while a reset is on its way was recorded before it.
        let is_reset = job.before_reset.is_some();
        if due(&decision) < job.floor() && job.defs.len() == 1 && !is_reset {
            return breach(Law::NotBefore, format!("{word}, due before {}", job.floor()));
        }
        let policies = || job.defs.iter().map(|def| *def.job.policy());
        match (outcome, decision.chosen()) {
            (Outcome::Missed, Some(chosen)) => {
                if !policies().any(|policy| latest >= expiry(&policy, chosen)) {
                    let expiry = expiry(&policy, chosen);
                    return breach(Law::Missed, format!("missed at {}, before {expiry}", at.wall));
                }
            }
            (Outcome::Skipped, Some(_)) => {
                let forbids = policies().any(|p| p.concurrency == Concurrency::Forbid);
                if !forbids || !was_active {
                    return breach(Law::Forbid, "skipped, but nothing was in its way".into());
                }
            }
            (Outcome::Executed, Some(_)) | (Outcome::Unschedulable, None) => {}
            _ => return breach(Law::Reason, format!("{word} cannot be")),
        }
        if outcome != Outcome::Executed {
            job.check_catch_up(&decision)?;
        }
        if let Some(closed) = job.closed.get_mut(&period) {
            closed.is_logged = true;
        }
        Ok(())
    }

    fn was_active_of(&self, at: Time, identity: &Rc<str>) -> bool {
        self.jobs.contains_key(identity) && self.was_active(at, identity)
    }

    fn superseded(&mut self, line: &Line) -> Result<(), Breach> {
        let identity: Rc<str> = line.get("identity").unwrap_or_default().into();
        let count = line.get("count").and_then(|count| count.parse::<usize>().ok());
        let job = self.job(&identity);
        let passed = core::mem::take(&mut job.passed);
        let left = core::mem::take(&mut job.left);
        job.open.retain(|period| !left.contains(period));
        let closed = passed
            .into_iter()
            .chain(left)
            .map(|period| (period, super::Closed { outcome: None, is_logged: true }));
        job.closed.extend(closed);
        // What is on its way from before a doubt may be told later than this.
        if let Some(place) = job.counts.iter().position(|known| *known == count) {
            job.counts.drain(..=place);
        } else if let Some(place) = job.counts.iter().position(Option::is_none) {
            job.counts.drain(..=place);
        } else if let Some(expected) = job.counts.pop_front() {
            let what = format!("{count:?} periods passed over, there were {expected:?}");
            return Err(job.breach(Law::CatchUp, what));
        }
        Ok(())
    }
}
