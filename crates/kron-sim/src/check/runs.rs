//! Laws about starting, running and ending.

use super::account::expiry;
use super::{COMMIT, Checker, SLACK};
use crate::fact::Time;
use crate::law::{Breach, Law};
use core::time::Duration;
use kron_core::{Concurrency, PeriodId, UtcSecond};
use kron_engine::event::{RunId, Shutdown};
use std::rc::Rc;

/// One attempt of the daemon that runs.
#[derive(Debug)]
pub struct Run {
    pub identity: Rc<str>,
    pub period: PeriodId,
    /// Which definition it was judged by.
    pub generation: u32,
    pub is_at_gate: bool,
    pub process: Option<u64>,
}

/// A command that runs.
#[derive(Debug)]
pub struct Execution {
    pub identity: Rc<str>,
    pub period: PeriodId,
    pub released: Duration,
    pub timeout: Option<Duration>,
    pub terminated: Option<Duration>,
    pub killed: Option<Duration>,
    /// Whether the daemon that runs must know of it.
    pub is_known: bool,
    /// Whether the daemon that runs started it.
    pub is_own: bool,
    /// Whether the daemon was away in between.
    pub is_disturbed: bool,
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
        let heard = core::mem::take(&mut self.heard);
        let result = self.may_start(at, identity, period, chosen, is_active, &heard);
        self.heard = heard;
        result?;
        if self.stopping.is_some() {
            let what = format!("{period} is started by a daemon that is to end");
            return Err(self.job(identity).breach(Law::Ending, what));
        }
        let job = self.job(identity);
        *job.tried.entry(period).or_default() += 1;
        job.last_active = at.true_time;
        let generation = job.generation;
        let identity = Rc::clone(identity);
        self.runs
            .insert(id, Run { identity, period, generation, is_at_gate: false, process: None });
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
        heard: &[kron_core::UtcInstant],
    ) -> Result<(), Breach> {
        let now = at.wall;
        let is_queued = self.settings.preparing == 1;
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
            // Judged in time, it may have waited for its turn.
            let may_wait = is_queued || policy.concurrency == Concurrency::Replace;
            let in_time = heard.iter().any(|at| *at >= chosen.instant() && *at < expiry);
            if !(may_wait && in_time) {
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

    pub(super) fn at_gate(&mut self, id: RunId) -> Result<(), Breach> {
        let Some(run) = self.runs.get_mut(&id) else { return Ok(()) };
        run.is_at_gate = true;
        let (identity, period, generation) = (Rc::clone(&run.identity), run.period, run.generation);
        let job = self.job(&identity);
        if job.generation != generation || !job.is_configured {
            let what = format!("{period} goes on by a definition that is not in force any more");
            return Err(job.breach(Law::InForce, what));
        }
        Ok(())
    }

    /// A try came to nothing.
    pub(super) fn untry(&mut self, id: RunId) {
        let Some(run) = self.runs.remove(&id) else { return };
        if let Some(tries) = self.job(&run.identity).tried.get_mut(&run.period) {
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
        let job = self.job(&identity);
        if !job.ran.insert(period) {
            return Err(job.breach(Law::OneRun, format!("{period} runs twice")));
        }
        if !durable || !is_at_gate {
            let what = format!("{period} runs before its start is durable");
            return Err(job.breach(Law::Durable, what));
        }
        let timeout = job.defs.back().and_then(|def| def.text.timeout);
        job.last_active = at.true_time;
        let execution = Execution {
            identity,
            period,
            released: at.true_time,
            timeout,
            terminated: None,
            killed: None,
            is_known: true,
            is_own: true,
            is_disturbed: false,
        };
        self.live.insert(process, execution);
        Ok(())
    }

    pub(super) fn adopted(&mut self, id: RunId, process: u64) {
        self.unadopted.retain(|known| *known != process);
        let Some(execution) = self.live.get_mut(&process) else { return };
        execution.is_known = true;
        let (identity, period) = (Rc::clone(&execution.identity), execution.period);
        let run = Run { identity, period, generation: 0, is_at_gate: true, process: Some(process) };
        self.runs.insert(id, run);
    }

    pub(super) fn ended(&mut self, at: Time, process: u64) -> Result<(), Breach> {
        // Whoever looks for it now finds that it is gone.
        self.unadopted.retain(|known| *known != process);
        let Some(execution) = self.live.remove(&process) else { return Ok(()) };
        self.job(&execution.identity).last_active = at.true_time;
        self.check_timeout(&execution, at.true_time)
    }

    pub(super) fn forgotten(&mut self, id: RunId) {
        let Some(run) = self.runs.remove(&id) else { return };
        if run.is_at_gate && run.process.is_none() {
            // It died at the gate; that was its run.
            self.job(&run.identity).fell.insert(run.period);
        }
    }

    pub(super) fn signalled(&mut self, at: Time, id: RunId, kill: bool) -> Result<(), Breach> {
        let now = at.true_time;
        let Some(run) = self.runs.get(&id) else { return Ok(()) };
        let (identity, period) = (Rc::clone(&run.identity), run.period);
        let Some(process) = run.process else { return Ok(()) };
        let is_stopping = self.stopping == Some(Shutdown::Terminate);
        let job = &self.jobs[&identity];
        let replaces =
            job.defs.iter().any(|def| def.job.policy().concurrency == Concurrency::Replace);
        // Its leader may be gone, and the rest of its group not.
        let Some(execution) = self.live.get_mut(&process) else { return Ok(()) };
        let ran = now.checked_sub(execution.released).unwrap();
        let timeouts = job.defs.iter().filter_map(|def| def.text.timeout).chain(execution.timeout);
        let timed_out = timeouts.min().is_some_and(|least| !execution.is_own || ran >= least);
        if kill {
            execution.killed.get_or_insert(now);
            let since = execution.terminated.map(|at| now.checked_sub(at).unwrap());
            if since.is_none_or(|since| since < self.settings.grace) {
                let what = format!("{period} is killed {since:?} after it was asked to end");
                return Err(job.breach(Law::Timeout, what));
            }
        } else {
            execution.terminated.get_or_insert(now);
            if !(is_stopping || replaces || timed_out) {
                let what = format!("{period} is asked to end for no reason, after {ran:?}");
                return Err(job.breach(Law::Timeout, what));
            }
        }
        Ok(())
    }

    fn check_timeout(&self, execution: &Execution, now: Duration) -> Result<(), Breach> {
        if !self.is_up || !execution.is_own || execution.is_disturbed {
            return Ok(());
        }
        let job = &self.jobs[&execution.identity];
        let (period, ran) = (execution.period, now.checked_sub(execution.released).unwrap());
        if let Some(timeout) = execution.timeout
            && ran > timeout + SLACK
            && execution.terminated.is_none_or(|at| at > execution.released + timeout + SLACK)
        {
            let what = format!("{period} ran for {ran:?}, its timeout is {timeout:?}");
            return Err(job.breach(Law::Timeout, what));
        }
        if let Some(at) = execution.terminated
            && now > at + self.settings.grace + SLACK
            && execution.killed.is_none()
        {
            let what = format!(
                "{period} was asked to end {:?} ago and not killed",
                now.checked_sub(at).unwrap()
            );
            return Err(job.breach(Law::Timeout, what));
        }
        Ok(())
    }

    /// The daemon goes: what had it to end before?
    pub(super) fn check_endings(&mut self, at: Time) -> Result<(), Breach> {
        for execution in self.live.values() {
            self.check_timeout(execution, at.true_time)?;
        }
        self.live.values_mut().for_each(|execution| execution.is_own = false);
        Ok(())
    }

    pub(super) fn check_stop(&self) -> Result<(), Breach> {
        let breach = |what: &str| Err(Breach { law: Law::Ending, what: what.into() });
        if self.commit.is_some() {
            return breach("the daemon ends while a batch is on its way");
        }
        let waits = self.stopping == Some(Shutdown::Wait) && self.settings.shutdown_limit.is_none();
        if waits && self.live.values().any(|execution| execution.is_own) {
            return breach("the daemon was to wait for its jobs, and did not");
        }
        Ok(())
    }

    /// Whether an execution of a job was active while an outcome was on its way.
    pub(super) fn was_active(&self, at: Time, identity: &Rc<str>) -> bool {
        let last = self.jobs[identity].last_active;
        // What ended while the daemon was away is heard of after it is back.
        let unheard = self.away_until + SLACK >= at.true_time && last >= self.away_from;
        self.is_active(identity) || last + COMMIT >= at.true_time || unheard
    }
}
