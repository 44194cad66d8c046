//! What becomes durable, and what waits for it.

use super::{After, Engine, Pending, distribution};
use crate::commit::{Batch, RosterLine, Snapshot};
use crate::event::{Effect, JobKey, Moment, RunId, Shutdown};
use crate::kept::{Active, Finished, Kept, Last};
use crate::report;
use crate::run::{Alarm, Phase, Why};
use crate::settings::{CROWD, ENDED};
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::mem;
use kron_core::mutant::{self, Mutant};
use kron_core::{Closure, SeedHash, UtcInstant};

impl Engine {
    /// Records that periods were passed over.
    pub(super) fn record_superseded(&mut self, key: JobKey, count: u32, is_at_least: bool) {
        if count == 0 && !is_at_least {
            return;
        }
        self.tally.superseded += u64::from(count);
        let Some(job) = self.job(key) else { return };
        let line = report::superseded(job, count, is_at_least);
        if !mutant::is(Mutant::SupersededSilent) {
            self.pending.after.push(After::Log(line));
        }
        self.mark_dirty(key);
    }

    /// Records the end of a period that nothing was started for. Its ledger has
    /// it already.
    pub(super) fn close(
        &mut self,
        key: JobKey,
        closure: &Closure,
        seed_hash: SeedHash,
        now: UtcInstant,
    ) {
        self.tally.count(closure);
        let Some(job) = self.job_mut(key) else { return };
        let reason = closure.reason().map(|reason| reason.to_string().into_boxed_str());
        let busy = job.busy();
        busy.blocked.retain(|blocked| blocked.period != closure.period());
        busy.finished.push(Finished {
            period: closure.period(),
            outcome: closure.outcome(),
            chosen: closure.chosen(),
            completed_at: now,
            exit_code: None,
            signal: None,
            reason: reason.clone(),
            started_at: None,
            seed_hash: Some(seed_hash),
        });
        job.last = Some(Box::new(Last {
            period: closure.period(),
            outcome: closure.outcome(),
            chosen: closure.chosen(),
            reason,
            started_at: None,
            exit_code: None,
            seed_hash: Some(seed_hash),
            distribution: Some(distribution(job)),
        }));
        let line = report::outcome(job, closure, Some(seed_hash));
        if mutant::is(Mutant::OutcomeTwice) {
            self.pending.after.push(After::Log(line.clone()));
        }
        if !mutant::is(Mutant::OutcomeLost) {
            self.pending.after.push(After::Log(line));
        }
        self.mark_dirty(key);
    }

    pub(super) fn mark_dirty(&mut self, key: JobKey) {
        let Some(job) = self.jobs.get_mut(key.0 as usize).and_then(Option::as_mut) else { return };
        if !job.is_dirty {
            job.is_dirty = true;
            self.pending.dirty.push(key);
        }
    }

    /// Sends everything that has come together on its way, unless an earlier
    /// batch still is.
    pub(super) fn begin_commit(&mut self, effects: &mut Vec<Effect>) {
        if self.in_flight.is_some() && !mutant::is(Mutant::CommitTwice) {
            return;
        }
        if !self.is_crowded() || self.pending.ended.len() >= ENDED {
            for (key, line) in mem::take(&mut self.pending.ended) {
                self.mark_dirty(key);
                self.pending.after.push(After::Log(line));
            }
        }
        let Pending { dirty, ended, roster, after } = mem::take(&mut self.pending);
        self.pending.ended = ended;
        if dirty.is_empty() && roster.is_empty() {
            // Nothing to wait for: these lines are about nothing that is kept.
            debug_assert!(!after.iter().any(|after| matches!(after, After::Release(_))));
            self.pending.after = after;
            return self.follow_up(effects);
        }
        let mut batch = Batch { jobs: Vec::with_capacity(dirty.len()), roster };
        for key in dirty {
            let active = self.active_of(key);
            let Some(job) = self.job_mut(key) else { continue };
            job.is_dirty = false;
            let first = !mem::replace(&mut job.has_file, true);
            let finished = job.busy.as_mut().map(|busy| mem::take(&mut busy.finished));
            let snapshot = Snapshot {
                identity: job.identity().clone(),
                kept: Kept { ledger: job.ledger.clone(), last: job.last.clone(), active },
                finished: finished.unwrap_or_default(),
            };
            job.settle();
            if first {
                batch.roster.push(RosterLine::HasFile(snapshot.identity.clone()));
            }
            batch.jobs.push(snapshot);
        }
        if mutant::is(Mutant::CommitAfterExec) {
            for after in &after {
                let After::Release(run) = after else { continue };
                self.release(*run, self.last, effects);
            }
        }
        self.in_flight = Some(after);
        effects.push(Effect::Commit(Box::new(batch)));
    }

    /// Whether so many starts are under way that ends should not delay them.
    pub(super) fn is_crowded(&self) -> bool {
        let is_release = |after: &&After| matches!(after, After::Release(_));
        let at_gates = self.pending.after.iter().filter(is_release).count();
        self.backlog.len() + at_gates >= CROWD
    }

    /// Lines that wait for nothing.
    fn follow_up(&mut self, effects: &mut Vec<Effect>) {
        for after in mem::take(&mut self.pending.after) {
            match after {
                After::Log(line) => effects.push(Effect::Log(line)),
                After::Reloaded(changes) => effects.push(Effect::Reloaded(changes)),
                After::ResetDone => effects.push(Effect::ResetDone),
                After::Release(_) => {}
            }
        }
    }

    pub(super) fn committed(&mut self, moment: Moment, effects: &mut Vec<Effect>) {
        let Some(after) = self.in_flight.take() else { return };
        for after in after {
            match after {
                After::Log(line) => effects.push(Effect::Log(line)),
                After::Release(run) => self.release(run, moment, effects),
                After::Reloaded(changes) => effects.push(Effect::Reloaded(changes)),
                After::ResetDone => effects.push(Effect::ResetDone),
            }
        }
        self.let_go();
    }

    /// The start is durable: the command may run.
    fn release(&mut self, id: RunId, moment: Moment, effects: &mut Vec<Effect>) {
        let Some(key) = self.runs.get(&id).map(|run| run.job) else { return };
        let timeout = self.job(key).and_then(|job| job.entry.timeout);
        let timeout = timeout.filter(|_| !mutant::is(Mutant::TimeoutForgotten));
        let Some(run) = self.runs.get_mut(&id) else { return };
        let Phase::AtGate(begun) = &run.phase else { return };
        let begun = begun.clone();
        (run.phase, run.timeout) = (Phase::Running(begun.clone()), timeout);
        if let Some(timeout) = timeout {
            self.set_alarm(moment.uptime + timeout, id, Alarm::Timeout);
        }
        let run = &self.runs[&id];
        let Some(job) = self.job(key) else { return };
        let late = moment.now.since(run.chosen.instant()).unwrap_or_default();
        effects.push(Effect::Release(id));
        effects.extend(report::privileges_dropped(job, run, &begun).map(Effect::Log));
        effects.push(Effect::Log(report::started(job, run, &begun, late)));
        let to_replace = job.busy.as_ref().is_some_and(|busy| !busy.replacing.is_empty());
        self.tally.late(late);
        // On its way out nothing would take the place.
        if to_replace && self.stopping.is_none() {
            self.end_runs(key, Why::Replaced, moment, effects);
        } else if self.stopping.is_some_and(|stopping| stopping.how == Shutdown::Terminate) {
            self.end(id, Why::Shutdown, moment, effects);
        }
    }

    fn active_of(&self, key: JobKey) -> Vec<Active> {
        let Some(job) = self.job(key) else { return Vec::new() };
        let active = |id: &RunId| {
            let run = self.runs.get(id)?;
            let begun = run.begun()?;
            Some(Active {
                period: run.period,
                chosen: run.chosen,
                started_at: begun.started_at,
                process: begun.process.clone(),
            })
        };
        job.runs().iter().filter_map(active).collect()
    }
}
