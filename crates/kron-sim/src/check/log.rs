//! Laws about what is logged.

use super::account::Count;
use super::{Checker, Law};
use crate::law::Breach;
use kron_core::line::Line;
use kron_core::{Outcome, PeriodId, Record, Zones};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::rc::Rc;

impl Checker {
    pub(super) fn said(&mut self, line: &Line, zones: &mut Zones) -> Result<(), Breach> {
        match line.event {
            "decision" => self.decided(line, zones),
            "outcome" => self.outcome(line),
            "superseded" => self.superseded(line),
            "reset" => {
                if let Some(identity) = line.get("identity") {
                    let job = self.job(&identity.into());
                    // What was told since was recorded before, and is forgotten, too.
                    if job.before_reset.take().is_some() {
                        job.forget_doomed();
                    }
                    // What changed since is not durable by that.
                    if job.changed == job.reset
                        && let Some(floor) = job.not_before.1.take()
                    {
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
        if let Err(what) = def.rule.check(period, line) {
            return Err(job.breach(Law::Window, format!("{period}: {what}, not {line:?}")));
        }
        let decision = def.job.decide(period);
        let fresh = decision.chosen().map(|chosen| chosen.to_string());
        if fresh != record.chosen_time || record.seed_hash != decision.seed_hash().to_string() {
            let what = format!("{period} is decided as {:?}, afresh {fresh:?}", record.chosen_time);
            return Err(job.breach(Law::Decision, what));
        }
        job.planned.insert(period);
        Ok(())
    }

    fn outcome(&mut self, line: &Line) -> Result<(), Breach> {
        let text = |key: &str| line.get(key).unwrap_or_default();
        let identity: Rc<str> = text("identity").into();
        let word = text("outcome");
        let outcome = Outcome::ALL.into_iter().find(|outcome| outcome.as_str() == word);
        let (Ok(period), Some(outcome)) = (text("period_id").parse::<PeriodId>(), outcome) else {
            return Err(Breach { law: Law::Reason, what: format!("no outcome: {line:?}") });
        };
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
        let Some(def) = job.judged.get(&period).cloned() else {
            return breach(Law::Decision, format!("{word} is logged, and nobody judged it"));
        };
        let decision = def.job.decide(period);
        let chosen = decision.chosen().map(|chosen| chosen.to_string());
        if chosen.as_deref() != line.get("chosen_time")
            || Some(decision.seed_hash().to_string().as_str()) != line.get("seed_hash")
        {
            return breach(Law::Decision, format!("not what was decided: {line:?}"));
        }
        if outcome != Outcome::Executed {
            job.check_catch_up(&decision)?;
        }
        if let Some(closed) = job.closed.get_mut(&period) {
            closed.is_logged = true;
        }
        job.judged.remove(&period);
        job.last = Some(period);
        Ok(())
    }

    fn superseded(&mut self, line: &Line) -> Result<(), Breach> {
        let identity: Rc<str> = line.get("identity").unwrap_or_default().into();
        let count = line.get("count").and_then(|count| count.parse::<usize>().ok());
        let job = self.job(&identity);
        if line.get("reason").is_some() {
            // What waited is not started any more, for an edit or a removal.
            return Ok(());
        }
        if job.tell_left(count) {
            return Ok(());
        }
        // What is on its way from before a doubt may be told later than this.
        let places = |is_it: &dyn Fn(Option<usize>) -> bool| {
            job.counts.iter().position(|known| is_it(known.number))
        };
        let place = places(&|known| known == count).or_else(|| places(&|known| known.is_none()));
        // Those of a catch-up that was found since then are told of later.
        let passed: BTreeSet<PeriodId> = match place {
            Some(place) => job.counts.drain(..=place).flat_map(|told| told.over).collect(),
            None => job.passed.clone(),
        };
        let left = core::mem::take(&mut job.left).into_iter().flat_map(|left| left.over);
        let over = job.passed.intersection(&passed).copied().chain(left).collect();
        job.close_over(&over);
        if place.is_some() {
            return Ok(());
        }
        if let Some(Count { number: expected, .. }) = job.counts.pop_front() {
            let what = format!("{count:?} periods passed over, there were {expected:?}");
            return Err(job.breach(Law::CatchUp, what));
        }
        if !job.may_count {
            let what = format!("{count:?} periods passed over, there were none");
            return Err(job.breach(Law::CatchUp, what));
        }
        Ok(())
    }
}
