//! From the right to start to a command that runs: prepare, record, release.

use super::{After, Engine, distribution};
use crate::event::{Effect, JobKey, Moment, Preparation, RunId, StartFailure};
use crate::job::{Blocked, Tracked};
use crate::kept::Last;
use crate::report;
use crate::run::{Alarm, Begun, Phase, Run};
use crate::settings::{DISPATCH, PREPARATION, STALLED, WAITING, backoff};
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::mem;
use core::time::Duration;
use kron_core::mutant::{self, Mutant};
use kron_core::{Closure, PeriodId, SeedHash, UtcInstant};

impl Engine {
    /// Begins a run that may start.
    pub(super) fn begin(
        &mut self,
        key: JobKey,
        closure: Closure,
        seed_hash: SeedHash,
        moment: Moment,
    ) {
        let Some(chosen) = closure.chosen() else { return };
        let period = closure.period();
        if let Some(most) = self.settings.max_running
            && !mutant::is(Mutant::CrowdIgnored)
            && self.runs.len() >= most
        {
            let obstacle = if self.settings.is_short_of_files {
                format!("as many jobs were running as there may be files open for ({most})")
            } else {
                format!("as many jobs were running as may at once ({most})")
            };
            self.block(key, period, &obstacle, None, moment.now);
            let blocked = self.job_mut(key).and_then(|job| job.busy().blocked.last_mut());
            if let Some(blocked) = blocked {
                blocked.is_crowded_out = true;
            }
            self.waiting.push_back((key, period));
            return self.sweep_waiting();
        }
        let run = RunId(self.next_run);
        self.next_run += 1;
        self.runs.insert(
            run,
            Run {
                job: key,
                period,
                chosen,
                seed_hash: Some(seed_hash),
                closure: Some(closure),
                phase: Phase::Queued,
                prepared_since: Duration::ZERO,
                is_stalled: false,
                timeout: None,
                ending: None,
            },
        );
        self.backlog.push_back(run);
        if let Some(job) = self.job_mut(key) {
            job.busy().runs.push(run);
        }
    }

    /// Forgets who does not wait for a place any more: missed, edited, gone.
    fn sweep_waiting(&mut self) {
        if self.waiting.len() < self.waiting_most {
            return;
        }
        let mut waiting = mem::take(&mut self.waiting);
        let mut seen = BTreeSet::new();
        waiting.retain(|(key, period)| {
            let blocked = self.job(*key).map_or(&[][..], Tracked::blocked);
            blocked.iter().any(|blocked| blocked.is_crowded_out && blocked.period == *period)
                && seen.insert((*key, *period))
        });
        self.waiting_most = WAITING.max(2 * waiting.len());
        self.waiting = waiting;
    }

    /// Lets as many runs be prepared as may be at once.
    pub(super) fn prepare_more(&mut self, moment: Moment, effects: &mut Vec<Effect>) {
        while self.has_place(moment.uptime)
            && let Some(id) = self.backlog.pop_front()
        {
            let Some(run) = self.runs.get_mut(&id) else { continue };
            let Run { job, period, chosen, .. } = *run;
            run.phase = Phase::Preparing;
            run.prepared_since = moment.uptime;
            self.preparing += 1;
            self.begun.push_back((moment.uptime + STALLED, id));
            self.set_alarm(moment.uptime + PREPARATION, id, Alarm::Unprepared);
            effects.push(Effect::Prepare(Preparation { run: id, job, period, chosen }));
        }
    }

    /// Whether another may be prepared: those that take long make way.
    fn has_place(&mut self, uptime: Duration) -> bool {
        while self.stalls_at().is_some_and(|at| at <= uptime)
            && let Some((_, id)) = self.begun.pop_front()
            && let Some(run) = self.runs.get_mut(&id)
        {
            run.is_stalled = true;
            self.preparing -= 1;
        }
        self.preparing < self.settings.preparing
    }

    /// When the preparation that began first will have taken too long for those
    /// that wait, if any do.
    pub(super) fn stalls_at(&mut self) -> Option<Duration> {
        while let Some((_, id)) = self.begun.front()
            && !self.runs.get(id).is_some_and(Run::takes_place)
        {
            self.begun.pop_front();
        }
        if self.backlog.is_empty() { None } else { self.begun.front().map(|(at, _)| *at) }
    }

    /// A process is at the gate. From here on the period counts as executed; the
    /// gate opens when that is durable.
    pub(super) fn prepared(
        &mut self,
        id: RunId,
        begun: Begun,
        since: Duration,
        moment: Moment,
        effects: &mut Vec<Effect>,
    ) {
        if mutant::is(Mutant::PreparedLost) && id.0.is_multiple_of(8) {
            return;
        }
        if let Some(took) = self.took_too_long(id, since, moment) {
            return self.withdraw(id, took, moment, effects);
        }
        let Some(run) = self.runs.get_mut(&id) else {
            // Abandoned in the meantime.
            return;
        };
        let (Phase::Preparing, Some(closure)) = (&run.phase, run.closure.take()) else { return };
        self.preparing -= usize::from(run.takes_place());
        let started_at = begun.started_at;
        run.phase = Phase::AtGate(begun);
        let (key, seed_hash) = (run.job, run.seed_hash);
        self.tally.count(&closure);
        if let Some(job) = self.job_mut(key) {
            let Tracked { entry, ledger, .. } = job;
            ledger.close(&entry.job, &closure, moment.now);
            let distribution = Some(distribution(job));
            job.last = Some(Box::new(Last {
                period: closure.period(),
                outcome: closure.outcome(),
                chosen: closure.chosen(),
                reason: None,
                started_at: Some(started_at),
                exit_code: None,
                seed_hash,
                distribution,
            }));
            job.busy().blocked.retain(|blocked| blocked.period != closure.period());
            let line = report::outcome(job, &closure, seed_hash);
            self.pending.after.push(After::Release(id));
            self.pending.after.push(After::Log(line));
        }
        self.mark_dirty(key);
        let is_awaited =
            |job: &Tracked| job.busy.as_ref().is_some_and(|busy| !busy.put_off.is_empty());
        if self.job(key).is_some_and(is_awaited) {
            self.visit(key, moment, effects);
        }
        self.prepare_more(moment, effects);
    }

    /// How long its own preparation took, if that was so long that it is past its deadline now.
    fn took_too_long(&self, id: RunId, since: Duration, moment: Moment) -> Option<Duration> {
        let run = self.runs.get(&id)?;
        let took = moment.uptime.saturating_sub(run.prepared_since.max(since));
        let is_too_late = matches!(run.phase, Phase::Preparing)
            && took > DISPATCH
            && self.job(run.job)?.job().policy().expiry(run.chosen) <= moment.now
            && !mutant::is(Mutant::GateLate);
        is_too_late.then_some(took)
    }

    /// A process is ready when its time is over: it is not let go, and the period is judged.
    fn withdraw(&mut self, id: RunId, took: Duration, moment: Moment, effects: &mut Vec<Effect>) {
        let failure = StartFailure {
            operation: "prepare",
            message: format!("the process was ready only after {} s", took.as_secs()),
            is_transient: true,
        };
        effects.push(Effect::Abandon(id));
        self.unprepared(id, &failure, moment, effects);
    }

    /// There is no process, so the period stays open until its deadline.
    pub(super) fn unprepared(
        &mut self,
        id: RunId,
        failure: &StartFailure,
        moment: Moment,
        effects: &mut Vec<Effect>,
    ) {
        let Some(run) = self.runs.get(&id) else { return };
        if !matches!(run.phase, Phase::Preparing) {
            return;
        }
        self.tally.start_failures += 1;
        let Some(run) = self.drop_unstarted(id) else { return };
        let Some(job) = self.job(run.job) else { return };
        let failed = job.blocked().iter().find(|blocked| blocked.period == run.period);
        let failed = failed.map_or(0, |blocked| blocked.failed) + 1;
        let retry_at = failure
            .is_transient
            .then(|| moment.now.saturating_add(backoff(failed)))
            .filter(|at| *at < job.job().policy().expiry(run.chosen));
        let retry = retry_at.map_or("none before the deadline".to_string(), |at| at.to_string());
        effects.push(Effect::Log(report::unprepared(job, &run, failure, &retry)));
        self.block(run.job, run.period, &failure.message, retry_at, moment.now);
        // It was to be replaced itself, and is not there.
        self.replace_next(run.job, moment, effects);
        self.visit(run.job, moment, effects);
        self.let_next_in(moment, effects);
        self.prepare_more(moment, effects);
    }

    /// Takes a run that has no process back out of everything.
    pub(super) fn drop_unstarted(&mut self, id: RunId) -> Option<Run> {
        let run = self.runs.remove(&id)?;
        self.preparing -= usize::from(run.takes_place());
        if let Some(job) = self.job_mut(run.job) {
            job.busy().runs.retain(|known| *known != id);
        }
        Some(run)
    }

    /// Notes what is in the way of a period.
    pub(super) fn block(
        &mut self,
        key: JobKey,
        period: PeriodId,
        obstacle: &str,
        retry_at: Option<UtcInstant>,
        now: UtcInstant,
    ) {
        let Some(job) = self.job_mut(key) else { return };
        let decision = job.entry.job.decide(period);
        let Some(chosen) = decision.chosen() else { return };
        let expiry = job.job().policy().expiry(chosen).max(now);
        let busy = job.busy();
        let failed = match busy.blocked.iter().position(|blocked| blocked.period == period) {
            Some(place) => busy.blocked.swap_remove(place).failed,
            None => 0,
        } + 1;
        busy.blocked.push(Blocked {
            period,
            obstacle: obstacle.into(),
            retry_at,
            is_crowded_out: false,
            expiry,
            failed,
        });
        self.visit_later(key);
    }

    /// Puts a job in line again, with the time of its plan.
    fn visit_later(&mut self, key: JobKey) {
        let Some(job) = self.job(key) else { return };
        let due = job.planned.map(|period| job.job().decide(period).due());
        self.line_up(key, due);
    }
}
