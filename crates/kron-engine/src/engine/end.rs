//! How runs end: by themselves, by their timeout, for another, with the daemon.

use super::{After, Engine, Stopping};
use crate::event::{Effect, Exit, JobKey, Moment, RunId, Shutdown, Signal, StartFailure};
use crate::job::{Blocked, Tracked};
use crate::kept::Finished;
use crate::report;
use crate::run::{Alarm, Ending, Phase, Run, Why};
use crate::settings::{PREPARATION, UNKILLABLE, backoff};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::mem;
use kron_core::mutant::{self, Mutant};
use kron_core::{Outcome, PeriodId, Situation, UtcInstant, Verdict, judge};

impl Engine {
    /// Alarms whose uptime has come.
    pub(super) fn ring(&mut self, moment: Moment, effects: &mut Vec<Effect>) {
        while let Some(Reverse((at, id, alarm))) = self.alarms.peek().copied()
            && at <= moment.uptime
        {
            self.alarms.pop();
            match alarm {
                Alarm::Unprepared if mutant::is(Mutant::HangForever) => {}
                Alarm::Unprepared => self.give_up_preparing(id, moment, effects),
                Alarm::Timeout => self.end(id, Why::Timeout, moment, effects),
                Alarm::Kill => self.kill(id, moment, effects),
                Alarm::Undead => self.undead(id, moment, effects),
            }
        }
        if let Some(stopping) = &mut self.stopping
            && stopping.limit.is_some_and(|limit| limit <= moment.uptime)
        {
            stopping.limit = None;
            stopping.how = Shutdown::Detach;
            let line = report::left(self.runs.len(), "the limit for ending is over");
            effects.push(Effect::Log(line));
        }
    }

    fn give_up_preparing(&mut self, id: RunId, moment: Moment, effects: &mut Vec<Effect>) {
        if !self.runs.get(&id).is_some_and(|run| matches!(run.phase, Phase::Preparing)) {
            return;
        }
        effects.push(Effect::Abandon(id));
        let seconds = PREPARATION.as_secs();
        let failure = StartFailure {
            operation: "prepare",
            message: format!("the process was not ready after {seconds} s"),
            is_transient: true,
        };
        self.unprepared(id, &failure, moment, effects);
    }

    /// Asks a run to end.
    pub(super) fn end(&mut self, id: RunId, why: Why, moment: Moment, effects: &mut Vec<Effect>) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        if run.ending.is_some() {
            return;
        }
        // At the gate it has to run first: what is recorded as executed was.
        let (Phase::Running(begun) | Phase::Leaderless(begun, _)) = &run.phase else { return };
        let pid = begun.process.pid;
        let is_led = matches!(run.phase, Phase::Running(_));
        run.ending = Some(Ending { why, is_led, killed: false, hopeless: false });
        let grace = self.settings.grace;
        self.set_alarm(moment.uptime + grace, id, Alarm::Kill);
        if why == Why::Timeout {
            self.tally.timeouts += 1;
        }
        let run = &self.runs[&id];
        if let Some(job) = self.job(run.job) {
            effects.push(Effect::Log(report::ending(job, run, pid, why, grace)));
        }
        effects.push(Effect::Signal(id, Signal::Terminate));
    }

    fn kill(&mut self, id: RunId, moment: Moment, effects: &mut Vec<Effect>) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        let Some(ending) = &mut run.ending else { return };
        ending.killed = true;
        let run = &self.runs[&id];
        if let (Some(job), Some(begun)) = (self.job(run.job), run.begun()) {
            effects.push(Effect::Log(report::killing(job, run, begun.process.pid)));
        }
        effects.push(Effect::Signal(id, Signal::Kill));
        if matches!(run.phase, Phase::Leaderless(..)) {
            effects.push(Effect::WatchGroup(id));
        }
        self.set_alarm(moment.uptime + UNKILLABLE, id, Alarm::Undead);
    }

    /// A run did not even die by SIGKILL. Nothing starts in its place.
    fn undead(&mut self, id: RunId, moment: Moment, effects: &mut Vec<Effect>) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        let Some(ending) = &mut run.ending else { return };
        ending.hopeless = true;
        let run = &self.runs[&id];
        let (key, period) = (run.job, run.period);
        let Some(begun) = run.begun() else { return };
        let pid = begun.process.pid;
        let Some(job) = self.job(key) else { return };
        effects.push(Effect::Log(report::undead(job, run, &begun.process)));
        let Some(job) = self.job_mut(key) else { return };
        let Some(busy) = &mut job.busy else { return };
        let waiting = mem::take(&mut busy.replacing);
        let obstacle = format!("process {pid} of period {period} does not end");
        for (waiting, _) in waiting {
            let failed = self.failures(key, waiting) + 1;
            let retry_at = moment.now.saturating_add(backoff(failed).max(UNKILLABLE));
            self.block(key, waiting, &obstacle, Some(retry_at), moment.now);
        }
    }

    fn failures(&self, key: JobKey, period: PeriodId) -> u32 {
        let blocked = self.job(key).map_or(&[][..], Tracked::blocked);
        blocked.iter().find(|blocked| blocked.period == period).map_or(0, |blocked| blocked.failed)
    }

    /// A period takes the place of the runs that are active.
    pub(super) fn replace(
        &mut self,
        key: JobKey,
        period: PeriodId,
        moment: Moment,
        effects: &mut Vec<Effect>,
    ) {
        let Some(job) = self.job_mut(key) else { return };
        job.busy().replacing.push((period, moment.now));
        self.end_runs(key, Why::Replaced, moment, effects);
    }

    pub(super) fn end_runs(
        &mut self,
        key: JobKey,
        why: Why,
        moment: Moment,
        effects: &mut Vec<Effect>,
    ) {
        let Some(job) = self.job(key) else { return };
        for id in job.runs().to_vec() {
            let Some(run) = self.runs.get_mut(&id) else { continue };
            match (&run.phase, run.ending) {
                (Phase::Running(_) | Phase::Leaderless(..), Some(ending)) if ending.hopeless => {
                    // Another try, in case whatever held it has let go.
                    if let Some(ending) = &mut run.ending {
                        ending.hopeless = false;
                    }
                    self.kill(id, moment, effects);
                }
                _ => self.end(id, why, moment, effects),
            }
        }
    }

    pub(super) fn exited(
        &mut self,
        id: RunId,
        exit: Exit,
        moment: Moment,
        effects: &mut Vec<Effect>,
    ) {
        let Some(run) = self.runs.get(&id) else { return };
        let is_ended = self.is_ended_by_somebody(run);
        let Some(run) = self.runs.get_mut(&id) else { return };
        let Phase::Running(begun) = &run.phase else {
            return self.died_early(id, exit, moment, effects);
        };
        if run.ending.is_some() || is_ended && self.stopping.is_none() {
            // What it started may still be there.
            run.phase = Phase::Leaderless(begun.clone(), exit);
            effects.push(Effect::WatchGroup(id));
            return;
        }
        self.finish(id, exit, moment, effects);
    }

    /// Whether a run is ended some time, by its timeout or for another, if it does not end
    /// by itself: only then is it worth waiting for what its leader left behind.
    fn is_ended_by_somebody(&self, run: &Run) -> bool {
        run.timeout.is_some() || self.job(run.job).is_some_and(Tracked::is_replaced)
    }

    /// An edit or a removal may have taken away who would have ended what a leader left
    /// behind. It would be active for ever.
    pub(super) fn finish_left(&mut self, key: JobKey, moment: Moment, effects: &mut Vec<Effect>) {
        let Some(job) = self.job(key) else { return };
        for id in job.runs().to_vec() {
            let Some(run) = self.runs.get(&id) else { continue };
            if let Phase::Leaderless(_, exit) = run.phase
                && run.ending.is_none()
                && !self.is_ended_by_somebody(run)
            {
                self.finish(id, exit, moment, effects);
            }
        }
    }

    /// A process ended before its command began.
    fn died_early(&mut self, id: RunId, exit: Exit, moment: Moment, effects: &mut Vec<Effect>) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        match &run.phase {
            Phase::Preparing => {
                let failure = StartFailure {
                    operation: "prepare",
                    message: String::from("the process ended while it was being prepared"),
                    is_transient: true,
                };
                effects.push(Effect::Abandon(id));
                self.unprepared(id, &failure, moment, effects);
            }
            // It is recorded as executed, or about to be.
            Phase::AtGate(begun) => {
                run.phase = Phase::Running(begun.clone());
                self.finish(id, exit, moment, effects);
            }
            Phase::Queued | Phase::Running(_) | Phase::Leaderless(..) => {}
        }
    }

    pub(super) fn group_gone(&mut self, id: RunId, moment: Moment, effects: &mut Vec<Effect>) {
        let Some(Run { phase: Phase::Leaderless(_, exit), .. }) = self.runs.get(&id) else {
            return;
        };
        let exit = *exit;
        self.finish(id, exit, moment, effects);
    }

    /// A run is over.
    fn finish(&mut self, id: RunId, exit: Exit, moment: Moment, effects: &mut Vec<Effect>) {
        effects.push(Effect::Forget(id));
        let Some(run) = self.runs.remove(&id) else { return };
        let Some(begun) = run.begun().cloned() else { return };
        let counter = match exit.code {
            Some(0) => &mut self.tally.succeeded,
            Some(_) if run.has_failed(exit) => &mut self.tally.failed,
            Some(_) => &mut self.tally.replaced,
            None => &mut self.tally.unseen,
        };
        *counter += 1;
        let key = run.job;
        let Some(job) = self.job_mut(key) else { return };
        let line = report::exited(job, &run, &begun, exit, moment.now);
        let reason = run.ending.map(|ending| ending.why.reason().into());
        let busy = job.busy();
        busy.runs.retain(|known| *known != id);
        busy.finished.push(Finished {
            period: run.period,
            outcome: Outcome::Executed,
            chosen: Some(run.chosen),
            completed_at: moment.now,
            exit_code: exit.code,
            signal: exit.signal,
            reason,
            started_at: Some(begun.started_at),
            seed_hash: run.seed_hash,
        });
        if let Some(last) = &mut job.last
            && last.period == run.period
        {
            last.exit_code = exit.code;
        }
        if self.is_crowded() {
            self.pending.ended.push((key, line));
        } else {
            self.mark_dirty(key);
            self.pending.after.push(After::Log(line));
        }
        if self.stopping.is_some() {
            return;
        }
        self.replace_next(key, moment, effects);
        self.let_next_in(moment, effects);
        self.prepare_more(moment, effects);
    }

    /// If nothing of a job is active any more, the period that waited for that longest
    /// takes the place.
    pub(super) fn replace_next(&mut self, key: JobKey, moment: Moment, effects: &mut Vec<Effect>) {
        while let Some(busy) = self.job_mut(key).and_then(|job| job.busy.as_mut())
            && busy.runs.is_empty()
            && !busy.replacing.is_empty()
        {
            let waited = busy.replacing.remove(0);
            let is_followed = !busy.replacing.is_empty();
            self.take_place(key, waited, is_followed, moment, effects);
        }
    }

    fn take_place(
        &mut self,
        key: JobKey,
        (period, judged): (PeriodId, UtcInstant),
        is_followed: bool,
        moment: Moment,
        effects: &mut Vec<Effect>,
    ) {
        let Some(job) = self.job_mut(key) else { return };
        if job.is_retired {
            return;
        }
        let Tracked { entry, ledger, .. } = job;
        let decision = entry.job.decide(period);
        let situation = Situation { ledger, active: &[], obstacle: None, now: moment.now };
        let situation = situation.having_waited(judged, is_followed);
        let seed_hash = *decision.seed_hash();
        match judge(&decision, situation) {
            Verdict::Start(permit) => {
                let closure = permit.closure();
                self.begin(key, closure, seed_hash, moment);
            }
            Verdict::Close(closure) => {
                ledger.close(&entry.job, &closure, moment.now);
                self.close(key, &closure, seed_hash, moment.now);
            }
            // The definition changed in the meantime.
            _ => self.visit(key, moment, effects),
        }
    }

    /// Places are free: those that wait for one are looked at again, first come, first
    /// served.
    pub(super) fn let_next_in(&mut self, moment: Moment, effects: &mut Vec<Effect>) {
        let Some(most) = self.settings.max_running else { return };
        while self.runs.len() < most
            && let Some((key, period)) = self.waiting.pop_front()
        {
            let busy = self.job_mut(key).and_then(|job| job.busy.as_mut());
            let mut blocked = busy.into_iter().flat_map(|busy| &mut busy.blocked);
            let is_waiting = |b: &&mut Blocked| b.is_crowded_out && b.period == period;
            if let Some(blocked) = blocked.find(is_waiting) {
                blocked.retry_at.get_or_insert(moment.now);
                self.visit(key, moment, effects);
            }
        }
    }

    // ── The daemon itself ───────────────────────────────────────────────────

    /// The daemon is to end: nothing new is triggered. What is recorded as
    /// started does start.
    pub(super) fn shut_down(&mut self, how: Shutdown, moment: Moment, effects: &mut Vec<Effect>) {
        match &mut self.stopping {
            Some(stopping) if how <= stopping.how => return,
            Some(stopping) => stopping.how = how,
            None => {
                let limit = self.settings.shutdown_limit.map(|limit| moment.uptime + limit);
                self.stopping = Some(Stopping { how, limit, stopped: false });
            }
        }
        let unstarted: Vec<RunId> =
            self.runs.iter().filter(|(_, run)| run.is_unstarted()).map(|(id, _)| *id).collect();
        for id in unstarted {
            self.abandon(id, effects);
        }
        self.backlog.clear();
        // What was left behind is not waited for.
        let left: Vec<(RunId, Exit)> = self
            .runs
            .iter()
            .filter_map(|(id, run)| match run.phase {
                Phase::Leaderless(_, exit) if run.ending.is_none() => Some((*id, exit)),
                _ => None,
            })
            .collect();
        if how != Shutdown::Terminate {
            for (id, exit) in left {
                self.finish(id, exit, moment, effects);
            }
        }
        let jobs = self.runs.values().map(|run| self.job(run.job));
        let names: Vec<&str> = jobs.map(|job| job.map_or("", |job| job.entry.name())).collect();
        effects.push(Effect::Log(report::stopping(how, names.into_iter())));
        if how == Shutdown::Terminate {
            let running: Vec<RunId> = self.runs.keys().copied().collect();
            for id in running {
                self.end(id, Why::Shutdown, moment, effects);
            }
        }
    }

    /// Closes the gate of a run that has not started.
    pub(super) fn abandon(&mut self, id: RunId, effects: &mut Vec<Effect>) {
        let Some(run) = self.drop_unstarted(id) else { return };
        if matches!(run.phase, Phase::Preparing) {
            effects.push(Effect::Abandon(id));
        }
    }

    /// The same for one that is to be judged again.
    pub(super) fn take_back(&mut self, id: RunId, effects: &mut Vec<Effect>) {
        let Some(run) = self.runs.get(&id) else { return };
        let (key, period) = (run.job, run.period);
        self.abandon(id, effects);
        if let Some(job) = self.job_mut(key) {
            job.busy().unsettled.push(period);
        }
    }

    /// Ends the daemon once everything is recorded and nobody is waited for.
    pub(super) fn stop_if_done(&mut self, effects: &mut Vec<Effect>) {
        let at_rest = self.in_flight.is_none()
            && self.pending.dirty.is_empty()
            && self.pending.ended.is_empty()
            && self.pending.roster.is_empty();
        let Some(stopping) = &mut self.stopping else { return };
        // What cannot be ended is not waited for.
        let is_waited_for = |run: &Run| !run.ending.is_some_and(|ending| ending.hopeless);
        let waited_for = stopping.how != Shutdown::Detach && self.runs.values().any(is_waited_for);
        if at_rest && !waited_for && !stopping.stopped {
            stopping.stopped = true;
            effects.push(Effect::Stop);
        }
    }
}
