//! Laws about starting, running and ending.

use super::account::expiry;
use super::judged::Untried;
use super::{COMMIT, Checker, DISPATCH, SLACK, UNKILLABLE};
use crate::fact::Time;
use crate::law::{Breach, Law};
use core::time::Duration;
use kron_core::{Concurrency, PeriodId, UtcInstant, UtcSecond};
use kron_engine::event::{RunId, Shutdown};
use std::rc::Rc;

/// A preparation that takes longer does not keep others waiting (KROND, Limits).
const STALLED: Duration = Duration::from_secs(1);
/// How long a preparation may take.
const PREPARATION: Duration = Duration::from_secs(30);

/// One attempt of the daemon that runs.
#[derive(Debug)]
pub struct Run {
    pub identity: Rc<str>,
    pub period: PeriodId,
    /// Which definition it was judged by.
    pub generation: u32,
    /// When it began to be prepared, in true time and in that the machine was not asleep.
    pub began: Duration,
    pub began_awake: Duration,
    pub is_at_gate: bool,
    /// When it was there, and the event that told of it.
    pub gate: Option<(Time, u64)>,
    /// Whether something lapsed while it was being prepared.
    pub is_unsettled: bool,
    /// Whether its start is in a batch, or was in one of an earlier daemon.
    pub is_recorded: bool,
    /// What the wall showed when it was.
    pub started: UtcInstant,
    pub process: Option<u64>,
}

/// A command that runs.
#[derive(Debug)]
pub struct Execution {
    pub identity: Rc<str>,
    pub period: PeriodId,
    /// When it began to be prepared and when it was released, in true time.
    pub began: Duration,
    pub released: Duration,
    /// What is recorded of that: what the wall showed.
    pub started: UtcInstant,
    /// Between which times its timeout is over; like the next two, in the time that the
    /// machine is not asleep.
    pub timeout: Option<(Duration, Duration)>,
    pub terminated: Option<Duration>,
    pub killed: Option<Duration>,
    /// Whether the daemon that runs must know of it.
    pub is_known: bool,
    /// Whether it watches it: it has started or adopted it.
    pub is_watched: bool,
}

impl Checker {
    pub(super) fn prepare(
        &mut self,
        at: Time,
        id: RunId,
        identity: &Rc<str>,
        period: PeriodId,
        chosen: UtcSecond,
    ) -> Result<(), Breach> {
        let is_active = self.is_active(identity);
        self.may_start(at, identity, period, chosen, is_active)?;
        if self.stopping.is_some() {
            let what = format!("{period} is started by a daemon that is to end");
            return Err(self.job(identity).breach(Law::Ending, what));
        }
        let job = self.job(identity);
        *job.tried.entry(period).or_default() += 1;
        job.last_active = at.true_time;
        let generation = job.generation;
        let identity = Rc::clone(identity);
        let run = Run {
            identity,
            period,
            generation,
            began: at.true_time,
            began_awake: at.awake,
            is_at_gate: false,
            gate: None,
            is_unsettled: false,
            is_recorded: false,
            started: at.wall,
            process: None,
        };
        self.runs.insert(id, run);
        if let Some(most) = self.settings.max_running.filter(|most| self.runs.len() > *most) {
            let what = format!("{} runs at once, at most {most} may be", self.runs.len());
            return Err(Breach { law: Law::Crowd, what });
        }
        Ok(())
    }

    fn may_start(
        &mut self,
        at: Time,
        identity: &Rc<str>,
        period: PeriodId,
        chosen: UtcSecond,
        is_active: bool,
    ) -> Result<(), Breach> {
        let now = at.wall;
        let has_place = self.settings.preparing == 1
            && self.last_place(at).is_some_and(|freed| self.is_recent(at, freed));
        let last_active = self.job(identity).last_active;
        let is_free = has_place || self.is_recent(at, last_active);
        let job = self.job(identity);
        let breach = |law, what: String| Err(job.breach(law, format!("{period} at {now}: {what}")));
        let Some(def) = job.def() else {
            return breach(Law::InForce, "started, though the job is not configured".into());
        };
        let policy = *def.job.policy();
        if policy.suspend {
            return breach(Law::Suspended, "started, though the job is suspended".into());
        }
        let decision = def.job.decide(period);
        if def.job.prev_period(period.nominal()) != Some(period) {
            return breach(Law::InForce, "started, though there is no such period".into());
        }
        if decision.chosen() != Some(chosen) || !job.planned.contains(&period) {
            let fresh = decision.chosen();
            return breach(Law::Decision, format!("started for {chosen}, decided {fresh:?}"));
        }
        if job.ran.contains(&period) {
            return breach(Law::OneRun, "started again".into());
        }
        if let Some(closed) = job.closed.get(&period) {
            let how = closed.outcome.map_or("passed over", kron_core::Outcome::as_str);
            return breach(Law::Closed, format!("started, though it was {how}"));
        }
        if job.passed.contains(&period) && job.is_certain {
            return breach(Law::CatchUp, "started, though it is passed over".into());
        }
        if now < chosen.instant() {
            return breach(Law::NotEarly, format!("started before {chosen}"));
        }
        if chosen.instant() < job.floor() {
            let floor = job.floor();
            return breach(Law::NotBefore, format!("started for {chosen}, before {floor}"));
        }
        job.check_catch_up(&decision)?;
        let expiry = expiry(&policy, chosen);
        if now >= expiry {
            // Judged in time, it may have waited for its turn, which has just come.
            let (for_others, for_place) = job.has_waited(chosen, expiry);
            if !(for_others && is_free || for_place && has_place) {
                return breach(Law::NotLate, format!("started after its deadline, {expiry}"));
            }
        }
        match policy.concurrency {
            Concurrency::Forbid if is_active => {
                breach(Law::Forbid, "started beside an active execution".into())
            }
            Concurrency::Replace if is_active => {
                breach(Law::Replace, "started before the active execution had ended".into())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn at_gate(&mut self, at: Time, id: RunId) -> Result<(), Breach> {
        self.free_place(at, id);
        let Some(run) = self.runs.get_mut(&id) else { return Ok(()) };
        (run.is_at_gate, run.started) = (true, at.wall);
        let (identity, period, generation) = (Rc::clone(&run.identity), run.period, run.generation);
        let event = self.event + 1;
        if let Some(run) = self.runs.get_mut(&id) {
            run.gate = Some((at, event));
        }
        let job = self.job(&identity);
        job.at_gate = Some((period, event));
        job.last_begun = at.true_time;
        if job.generation != generation || !job.is_configured {
            let what = format!("{period} goes on by a definition that is not in force any more");
            return Err(job.breach(Law::InForce, what));
        }
        if let Some(def) = job.known.clone() {
            job.judged.insert(period, def);
        }
        Ok(())
    }

    /// What is not recorded yet is to be taken back, and judged anew.
    pub(super) fn unsettle(&mut self) {
        let event = self.event;
        // Of a gate that was reached before, the daemon has heard in time.
        let is_open = |run: &&mut Run| run.gate.is_none_or(|(_, told)| told >= event);
        self.runs.values_mut().filter(is_open).for_each(|run| run.is_unsettled = true);
        if self.stopping.is_none() {
            let attentive = self.jobs.values_mut().filter(|job| job.attentive.is_some());
            attentive.for_each(|job| {
                job.is_looked_at = true;
                job.looks.clear();
            });
        }
    }

    /// A start is on its way to the disk: was it in time at its gate?
    pub(super) fn start_recorded(
        &mut self,
        identity: &Rc<str>,
        period: PeriodId,
    ) -> Result<(), Breach> {
        let is_it = |run: &&mut Run| run.identity == *identity && run.period == period;
        let Some(run) = self.runs.values_mut().find(is_it).filter(|run| !run.is_recorded) else {
            return Ok(());
        };
        run.is_recorded = true;
        let Some((gate, _)) = run.gate else { return Ok(()) };
        let (is_unsettled, took) = (run.is_unsettled, gate.awake.saturating_sub(run.began_awake));
        let job = &self.jobs[identity];
        let Some(def) = job.judged.get(&period) else { return Ok(()) };
        let Some(chosen) = def.job.decide(period).chosen() else { return Ok(()) };
        let (expiry, now) = (expiry(def.job.policy(), chosen), gate.wall);
        if now < expiry || (!is_unsettled && took <= DISPATCH) {
            return Ok(());
        }
        let lapse = if is_unsettled { ", with a lapse" } else { "" };
        let what = format!("{period} is let go at {now}, after {expiry}: it took {took:?}{lapse}");
        Err(job.breach(Law::LateAtGate, what))
    }

    /// What the daemon has heard of at its gate is on its way to the disk by now, or withdrawn.
    pub(super) fn check_gates(&self) -> Result<(), Breach> {
        let is_open =
            |run: &&Run| !run.is_recorded && run.gate.is_some_and(|(_, told)| told <= self.event);
        let Some(run) = self.runs.values().find(is_open) else { return Ok(()) };
        let what = format!("{} stands at its gate, and nothing becomes of it", run.period);
        Err(self.jobs[&run.identity].breach(Law::EveryPeriod, what))
    }

    /// Whether a try may still be under way: its preparation ends by itself or is given up,
    /// and what is at its gate is recorded.
    pub(super) fn is_timely(&self, run: &Run, at: Time) -> bool {
        let due = match run.gate {
            Some((gate, _)) => gate.awake + COMMIT,
            None => run.began_awake + PREPARATION,
        };
        run.is_recorded || at.awake <= self.latest(due)
    }

    /// Whether one may wait for another's turn to be over, where one may be prepared at once.
    pub(super) fn has_turned(&self, at: Time) -> bool {
        let is_in_turn =
            |run: &Run| !run.is_at_gate && at.awake <= self.latest(run.began_awake + STALLED);
        self.runs.values().any(is_in_turn)
            || self.last_place(at).is_some_and(|freed| self.is_recent(at, freed))
    }

    /// A preparation is over.
    fn free_place(&mut self, at: Time, id: RunId) {
        if let Some(run) = self.runs.get(&id).filter(|run| !run.is_at_gate) {
            let freed = at.true_time.min(run.began + STALLED);
            self.last_place = self.last_place.max(Some(freed));
        }
    }

    /// When a place among those being prepared became free last.
    fn last_place(&self, at: Time) -> Option<Duration> {
        let preparing = self.runs.values().filter(|run| !run.is_at_gate);
        let stalled = preparing.map(|run| run.began + STALLED);
        stalled.filter(|stalled| *stalled <= at.true_time).chain(self.last_place).max()
    }

    /// Whether the daemon cannot have dealt with something long ago.
    fn is_recent(&self, at: Time, then: Duration) -> bool {
        let unheard = self.away_until + SLACK >= at.true_time && then >= self.away_from;
        then + SLACK >= at.true_time || unheard
    }

    /// A try came to nothing.
    pub(super) fn untry(&mut self, at: Time, id: RunId, is_failure: bool) {
        self.note_crowd(at);
        self.free_place(at, id);
        let Some(run) = self.runs.remove(&id) else { return };
        let job = self.job(&run.identity);
        // Until then it was in the way of others.
        (job.last_untried, job.last_active) = (at.true_time, at.true_time);
        let untried = Untried { at: at.true_time, generation: run.generation, is_failure };
        job.untried.insert(run.period, untried);
        job.judged.remove(&run.period);
        if let Some(tries) = job.tried.get_mut(&run.period) {
            *tries = tries.saturating_sub(1);
        }
    }

    pub(super) fn released(
        &mut self,
        at: Time,
        id: RunId,
        process: u64,
        durable: bool,
    ) -> Result<(), Breach> {
        let Some(run) = self.runs.get_mut(&id) else {
            let what = format!("a gate is opened that nobody stands at (run {})", id.0);
            return Err(Breach { law: Law::Protocol, what });
        };
        run.process = Some(process);
        let (identity, period, is_at_gate) = (Rc::clone(&run.identity), run.period, run.is_at_gate);
        let (began, started) = (run.began, run.started);
        let job = self.job(&identity);
        if !job.ran.insert(period) {
            return Err(job.breach(Law::OneRun, format!("{period} runs twice")));
        }
        if !durable || !is_at_gate {
            let what = format!("{period} runs before its start is durable");
            return Err(job.breach(Law::Durable, what));
        }
        let timeout = job.known.as_ref().and_then(|def| def.text.timeout);
        let timeout = timeout.map(|timeout| at.awake + timeout);
        (job.last_active, job.last_begun) = (at.true_time, at.true_time);
        let execution = Execution {
            identity,
            period,
            began,
            released: at.true_time,
            started,
            timeout: timeout.map(|over| (over, over)),
            terminated: None,
            killed: None,
            is_known: true,
            is_watched: true,
        };
        self.live.insert(process, execution);
        Ok(())
    }

    pub(super) fn adopted(&mut self, at: Time, id: RunId, process: u64) {
        self.unadopted.retain(|known| *known != process);
        let Some(execution) = self.live.get_mut(&process) else { return };
        (execution.is_known, execution.is_watched) = (true, true);
        // This daemon has not asked it to end.
        (execution.terminated, execution.killed) = (None, None);
        let (identity, period) = (Rc::clone(&execution.identity), execution.period);
        let (began, started) = (execution.began, execution.started);
        // How long it has run is known by its age, in which it was prepared; and by the wall,
        // which may have been set, but is believed if preparing it can be the difference.
        let ran = at.true_time.checked_sub(execution.released).unwrap();
        let age = at.true_time.checked_sub(execution.began).unwrap();
        let shown = at.wall.since(started).unwrap_or_default();
        let known = self.jobs.get(&identity).and_then(|job| job.known.as_ref());
        execution.timeout = known.and_then(|def| def.text.timeout).map(|timeout| {
            let over = |ran| at.awake + timeout.saturating_sub(ran);
            (over(age), over(shown.clamp(ran.saturating_sub(PREPARATION), ran)))
        });
        let process = Some(process);
        let run = Run {
            identity,
            period,
            generation: 0,
            began,
            began_awake: at.awake,
            is_at_gate: true,
            gate: None,
            is_unsettled: false,
            is_recorded: true,
            started,
            process,
        };
        self.runs.insert(id, run);
    }

    pub(super) fn ended(&mut self, at: Time, process: u64) -> Result<(), Breach> {
        // Whoever looks for it now finds that it is gone.
        self.unadopted.retain(|known| *known != process);
        let Some(execution) = self.live.remove(&process) else { return Ok(()) };
        let job = self.job(&execution.identity);
        (job.last_active, job.last_begun) = (at.true_time, at.true_time);
        self.check_timeout(&execution, at.awake)
    }

    /// A run is about to go.
    fn note_crowd(&mut self, at: Time) {
        if self.is_crowded() {
            self.last_crowded = Some(at.true_time);
        }
    }

    pub(super) fn forgotten(&mut self, at: Time, id: RunId) {
        self.note_crowd(at);
        self.free_place(at, id);
        let Some(run) = self.runs.remove(&id) else { return };
        if run.is_at_gate && run.process.is_none() {
            // It died at the gate; that was its run.
            self.job(&run.identity).fell.insert(run.period);
        } else if run.process.is_some() {
            // Something of it may have lived on after it.
            let job = self.job(&run.identity);
            (job.last_active, job.last_begun) = (at.true_time, at.true_time);
        }
    }

    pub(super) fn signalled(&mut self, at: Time, id: RunId, kill: bool) -> Result<(), Breach> {
        let now = at.awake;
        let Some(run) = self.runs.get(&id) else { return Ok(()) };
        let (identity, period) = (Rc::clone(&run.identity), run.period);
        // Its leader may be gone, and the rest of its group not.
        let Some(execution) = run.process.and_then(|process| self.live.get(&process)) else {
            return Ok(());
        };
        let is_stopping = self.stopping == Some(Shutdown::Terminate);
        let job = &self.jobs[&identity];
        let breach = |what: String| Err(job.breach(Law::Timeout, format!("{period} {what}")));
        if kill {
            let since = execution.terminated.map(|at| now.checked_sub(at).unwrap());
            if since.is_none_or(|since| since < self.settings.grace) {
                return breach(format!("is killed {since:?} after it was asked to end"));
            }
            self.check_kill(execution, now)?;
        } else {
            // One that was at its gate when it was to be replaced, is when it runs.
            let since = execution.began.max(at.true_time.saturating_sub(COMMIT));
            let timed_out = execution.timeout.is_some_and(|(least, _)| now >= least);
            if !(is_stopping || job.replaced_since(since) || timed_out) {
                let ran = at.true_time.checked_sub(execution.released).unwrap();
                return breach(format!("is asked to end for no reason, after {ran:?}"));
            }
            self.check_timeout(execution, now)?;
        }
        let process = run.process.unwrap_or_default();
        if let Some(execution) = self.live.get_mut(&process) {
            let when = if kill { &mut execution.killed } else { &mut execution.terminated };
            when.get_or_insert(now);
        }
        Ok(())
    }

    /// Until when something must be done that is due then: not while the daemon is away.
    fn latest(&self, due: Duration) -> Duration {
        let (from, until) = self.away_awake;
        let due = if from <= due + SLACK { due.max(until) } else { due };
        due + SLACK
    }

    /// Was it asked to end when its timeout was over, and made to?
    fn check_timeout(&self, execution: &Execution, now: Duration) -> Result<(), Breach> {
        if !self.is_up || !execution.is_watched {
            return Ok(());
        }
        if let Some((_, over)) = execution.timeout
            && execution.terminated.is_none()
            && now > self.latest(over)
        {
            let late = now.checked_sub(over).unwrap();
            let what = format!("{} runs on {late:?} after its timeout", execution.period);
            return Err(self.jobs[&execution.identity].breach(Law::Timeout, what));
        }
        self.check_kill(execution, now)
    }

    fn check_kill(&self, execution: &Execution, now: Duration) -> Result<(), Breach> {
        if let Some(asked) = execution.terminated
            && execution.killed.is_none()
            && now > self.latest(asked + self.settings.grace)
        {
            let since = now.checked_sub(asked).unwrap();
            let what = format!("{} was asked to end {since:?} ago, not killed", execution.period);
            return Err(self.jobs[&execution.identity].breach(Law::Timeout, what));
        }
        Ok(())
    }

    /// The daemon goes: what had it to end before?
    pub(super) fn check_endings(&mut self, at: Time) -> Result<(), Breach> {
        for execution in self.live.values() {
            self.check_timeout(execution, at.awake)?;
        }
        self.live.values_mut().for_each(|execution| execution.is_watched = false);
        Ok(())
    }

    pub(super) fn check_stop(&self, at: Time) -> Result<(), Breach> {
        let breach = |what: &str| Err(Breach { law: Law::Ending, what: what.into() });
        if self.commit.is_some() {
            return breach("the daemon ends while a batch is on its way");
        }
        let waits = self.stopping == Some(Shutdown::Wait) && self.settings.shutdown_limit.is_none();
        // Nobody waits for what does not end even by KILL.
        let is_given_up = |killed: Duration| killed + UNKILLABLE <= at.awake;
        let is_awaited = |execution: &Execution| {
            execution.is_watched && !execution.killed.is_some_and(is_given_up)
        };
        if waits && self.live.values().any(is_awaited) {
            return breach("the daemon was to wait for its jobs, and did not");
        }
        Ok(())
    }

    /// Whether an execution of a job was active at some moment, as far as the daemon knew:
    /// not one that was being prepared, of which nobody knows whether it begins.
    pub(super) fn was_active(&self, at: Time, identity: &Rc<str>) -> bool {
        let has_begun = |run: &Run| run.is_at_gate && run.identity == *identity;
        self.is_executing(identity)
            || self.runs.values().any(has_begun)
            || self.is_recent(at, self.jobs[identity].last_begun)
    }
}
