//! Which jobs there are: at the start, after a reload, after a reset.

use super::{After, Engine};
use crate::commit::RosterLine;
use crate::event::{Changes, Effect, Enrolment, JobKey, Moment, RunId};
use crate::job::{Tracked, seen_line};
use crate::kept::{Active, Finished};
use crate::report;
use crate::run::{Alarm, Begun, Phase, Run};
use crate::settings::PREPARATION;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::mem;
use core::time::Duration;
use kron_core::mutant::{self, Mutant};
use kron_core::{Identity, Outcome, PeriodId, UtcInstant, UtcSecond};
use kron_tab::Entry;

impl Engine {
    /// The configuration is this and nothing else.
    pub(super) fn reload(
        &mut self,
        jobs: Vec<Enrolment>,
        moment: Moment,
        effects: &mut Vec<Effect>,
    ) {
        let mut changes = Changes::default();
        let is_reload = mem::replace(&mut self.is_configured, true);
        let mut known = self.keys_by_identity();
        if self.jobs.is_empty() {
            // Growing step by step would leave room for as many again.
            self.jobs.reserve_exact(jobs.len());
        }
        let mut index = Vec::with_capacity(jobs.len());
        let mut visits = Vec::new();
        let latest = self.latest_known(&jobs, moment.now);
        for Enrolment { entry, found, alive } in jobs {
            let key = if let Some(key) = known.remove(entry.job.identity()) {
                let change = self.redefine(key, entry, moment, effects);
                changes.changed += usize::from(change.is_edit);
                if change.is_open {
                    visits.push(key);
                }
                key
            } else {
                changes.added += 1;
                let is_lost = found.is_lost();
                let mut lines = mem::take(&mut self.pending.roster);
                let (job, active, remark) =
                    Tracked::enrol(entry, found, moment.now, latest, &mut lines);
                self.pending.roster = lines;
                let line = remark.map(|remark| report::remark(&job, &remark));
                effects.extend(line.map(Effect::Log));
                let key = self.insert(job);
                if is_lost {
                    // With a file again, it is not taken for lost once more.
                    self.mark_dirty(key);
                }
                for (active, alive) in active.into_iter().zip(alive) {
                    self.take_over(key, active, alive, moment, effects);
                }
                visits.push(key);
                key
            };
            index.push(key);
        }
        self.index = index;
        let jobs = &self.jobs;
        self.index.sort_unstable_by(|a, b| identity_of(jobs, *a).cmp(&identity_of(jobs, *b)));
        for key in known.into_values() {
            changes.removed += usize::from(self.retire(key, moment, effects));
        }
        if self.stopping.is_none() {
            for key in &visits {
                self.visit(*key, moment, effects);
            }
            // What was under preparation may have been abandoned.
            self.let_next_in(moment, effects);
            self.prepare_more(moment, effects);
        }
        self.warn_of_idle(visits, moment.now, effects);
        if is_reload {
            let line = report::reloaded(self.index.len(), changes);
            self.pending.after.push(After::Log(line));
        }
        self.pending.after.push(After::Reloaded(changes));
    }

    /// The latest time that anything here tells of: now, unless the clock was set back.
    /// What a job whose state is lost may have run, it ran before this.
    fn latest_known(&self, jobs: &[Enrolment], now: UtcInstant) -> UtcInstant {
        if !jobs.iter().any(|job| job.found.is_lost()) {
            return now;
        }
        let kept = jobs.iter().filter_map(|job| job.found.kept.as_ref());
        let kept = kept.map(|kept| (&kept.ledger, kept.last.as_deref()));
        let tracked = self.jobs.iter().flatten().map(|job| (&job.ledger, job.last.as_deref()));
        let times = kept.chain(tracked).flat_map(|(ledger, last)| {
            let chosen = last.and_then(|last| last.chosen).map(UtcSecond::instant);
            [Some(ledger.not_before()), last.and_then(|last| last.started_at), chosen]
        });
        times.flatten().fold(now, UtcInstant::max)
    }

    /// All jobs that are tracked, those no longer configured included.
    fn keys_by_identity(&self) -> BTreeMap<Identity, JobKey> {
        let keys = (0..).map(JobKey).zip(&self.jobs);
        keys.filter_map(|(key, job)| Some((job.as_ref()?.identity().clone(), key))).collect()
    }

    fn insert(&mut self, job: Tracked) -> JobKey {
        if let Some(key) = self.free.pop() {
            self.jobs[key.0 as usize] = Some(job);
            return key;
        }
        self.jobs.push(Some(job));
        JobKey(self.jobs.len() as u32 - 1)
    }

    /// Puts another entry in the place of a job's.
    fn redefine(
        &mut self,
        key: JobKey,
        entry: Entry,
        moment: Moment,
        effects: &mut Vec<Effect>,
    ) -> Change {
        let mut change = Change { is_edit: false, is_open: false };
        let Some(job) = self.job(key) else { return change };
        let is_other_job = job.is_retired || job.entry.job != entry.job;
        change.is_edit = is_other_job || !is_same_command(&job.entry, &entry);
        // What was in the way of a period may be gone.
        let is_waiting = job.busy.as_ref().is_some_and(|busy| busy.waiting().next().is_some());
        change.is_open = is_other_job || is_waiting;
        if change.is_edit {
            // What was prepared by the old definition is judged by the new one.
            for id in job.runs().to_vec() {
                if self.runs.get(&id).is_some_and(Run::is_unstarted)
                    && !mutant::is(Mutant::InvalidInForce)
                {
                    self.take_back(id, effects);
                    change.is_open = true;
                }
            }
            if let Some(busy) = self.job_mut(key).and_then(|job| job.busy.as_mut()) {
                let put_off = busy.put_off.drain(..).map(|(period, _)| period);
                busy.unsettled.extend(put_off);
            }
        }
        let mut lines = mem::take(&mut self.pending.roster);
        let mut barred = 0;
        if let Some(job) = self.job_mut(key)
            && job.redefine(entry, moment.now, &mut lines)
        {
            job.planned = None;
            barred = job.barred();
        }
        self.pending.roster = lines;
        self.drop_waiting(key, barred, "the definition changed while it waited");
        self.finish_left(key, moment, effects);
        change
    }

    /// Tells of due periods that waited for something, and are not started any more.
    fn drop_waiting(&mut self, key: JobKey, count: u32, why: &'static str) {
        let Some(job) = self.job(key).filter(|_| count > 0) else { return };
        let line = report::dropped(job, count, why);
        self.tally.superseded += u64::from(count);
        self.pending.after.push(After::Log(line));
    }

    /// A job is no longer configured. What runs goes on and is recorded.
    fn retire(&mut self, key: JobKey, moment: Moment, effects: &mut Vec<Effect>) -> bool {
        let Some(job) = self.job_mut(key) else { return false };
        let was_retired = mem::replace(&mut job.is_retired, true);
        job.ticket = job.ticket.next();
        let mut waiting: BTreeSet<PeriodId> = BTreeSet::new();
        if let Some(busy) = &mut job.busy {
            waiting.extend(busy.waiting());
            busy.blocked.clear();
            busy.replacing.clear();
            busy.put_off.clear();
            busy.unsettled.clear();
        }
        let identity = job.identity().clone();
        let lead = job.job().window().lead();
        for id in job.runs().to_vec() {
            if let Some(run) = self.runs.get(&id).filter(|run| run.is_unstarted()) {
                waiting.insert(run.period);
                self.abandon(id, effects);
            }
        }
        self.drop_waiting(key, waiting.len() as u32, "the job was removed while it waited");
        self.finish_left(key, moment, effects);
        if !was_retired {
            // Its marks say how far it ran ahead; what was not recorded did not run.
            let seen = self.job(key).and_then(|job| job.ledger.seen(Duration::ZERO));
            let seen = seen.filter(|_| !lead.is_zero());
            self.pending.roster.extend(RosterLine::departure(&identity, seen));
            self.leaving.push(key);
        }
        !was_retired
    }

    /// Forgets jobs that are no longer configured once everything about them is
    /// durable. Before that, the store would not know them as they are if they came
    /// back.
    pub(super) fn let_go(&mut self) {
        // Whoever reads a configuration was told which jobs are known here, and does
        // not look up what is kept of them.
        if self.is_reading || !self.pending.roster.is_empty() {
            return;
        }
        for key in mem::take(&mut self.leaving) {
            let Some(job) = self.job(key).filter(|job| job.is_retired) else { continue };
            let is_recorded = job.busy.as_ref().is_none_or(|busy| busy.finished.is_empty());
            if job.runs().is_empty() && !job.is_dirty && is_recorded {
                self.jobs[key.0 as usize] = None;
                self.free.push(key);
            } else {
                self.leaving.push(key);
            }
        }
    }

    /// An execution of an earlier daemon: still there, or ended unseen.
    fn take_over(
        &mut self,
        key: JobKey,
        active: Active,
        alive: Option<Duration>,
        moment: Moment,
        effects: &mut Vec<Effect>,
    ) {
        let Active { period, chosen, started_at, process } = active;
        let Some(job) = self.job(key) else { return };
        let seed_hash = job.last.as_ref().filter(|last| last.period == period);
        let run = Run {
            job: key,
            period,
            chosen,
            seed_hash: seed_hash.and_then(|last| last.seed_hash),
            closure: None,
            phase: Phase::Running(Begun { process: process.clone(), started_at, user: None }),
            prepared_since: Duration::ZERO,
            is_stalled: false,
            timeout: None,
            ending: None,
        };
        if alive.is_some() && mutant::is(Mutant::ActiveForgotten) {
            return;
        }
        let Some(age) = alive else {
            let exit = crate::event::Exit::UNSEEN;
            if let Phase::Running(begun) = &run.phase {
                let line = report::exited(job, &run, begun, exit, moment.now);
                self.pending.after.push(After::Log(line));
            }
            self.tally.unseen += 1;
            if let Some(job) = self.job_mut(key) {
                job.busy().finished.push(Finished {
                    period,
                    outcome: Outcome::Executed,
                    chosen: Some(chosen),
                    completed_at: moment.now,
                    exit_code: None,
                    signal: None,
                    reason: None,
                    started_at: Some(started_at),
                    seed_hash: run.seed_hash,
                });
            }
            return self.mark_dirty(key);
        };
        let line = report::adopting(job, &run, &process);
        let timeout = job.entry.timeout.filter(|_| !mutant::is(Mutant::TimeoutUnadopted));
        let id = RunId(self.next_run);
        self.next_run += 1;
        let run = Run { timeout, ..run };
        self.runs.insert(id, run);
        effects.push(Effect::Log(line));
        if let Some(timeout) = timeout {
            // The clock says it exactly, unless it was set; in its age it was prepared, too.
            let shown = moment.now.since(started_at).unwrap_or_default();
            let is_credible = shown <= age && age <= shown + PREPARATION;
            let ran = if is_credible { shown } else { age };
            let left = timeout.saturating_sub(ran);
            self.set_alarm(moment.uptime + left, id, Alarm::Timeout);
        }
        effects.push(Effect::Adopt(id, process));
        if let Some(job) = self.job_mut(key) {
            job.busy().runs.push(id);
        }
    }

    /// Forgets the marks of a job that lie in the future, so that they no longer
    /// hold it. Nothing due before now runs.
    pub(super) fn reset(&mut self, key: JobKey, moment: Moment, effects: &mut Vec<Effect>) {
        self.pending.after.push(After::ResetDone);
        let Some(job) = self.job(key) else { return };
        let runs = job.runs().iter().filter_map(|id| self.runs.get(id));
        let mut recorded: Vec<_> = runs.map(|run| run.period).collect();
        recorded.extend(job.last.as_ref().map(|last| last.period));
        let Some(job) = self.job_mut(key) else { return };
        let waiting = job.busy.iter().flat_map(|busy| busy.waiting());
        let dropped: BTreeSet<_> = waiting.filter(|period| !recorded.contains(period)).collect();
        let dropped = dropped.len();
        job.ledger = job.ledger.reset(job.job(), moment.now, &recorded);
        job.attentive_since = moment.now;
        let line = report::reset(job, dropped);
        let seen = seen_line(job.job(), &job.ledger);
        // Who is seen is configured; one that is not is still gone when it returns.
        let gone = job.is_retired.then(|| RosterLine::Gone(job.identity().clone()));
        self.pending.roster.extend(seen);
        self.pending.roster.extend(gone);
        self.pending.after.push(After::Log(line));
        self.mark_dirty(key);
        self.visit(key, moment, effects);
    }
}

/// What a new configuration means for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    /// Whether its entry is another.
    is_edit: bool,
    /// Whether its periods are to be looked at again.
    is_open: bool,
}

/// Whether two entries run the same, wherever they stand in their files.
fn is_same_command(a: &Entry, b: &Entry) -> bool {
    a.command == b.command
        && a.user == b.user
        && a.group == b.group
        && a.cwd == b.cwd
        && a.env == b.env
        && a.umask == b.umask
        && a.timeout == b.timeout
        && a.stdout == b.stdout
        && a.stderr == b.stderr
        && a.limits == b.limits
        && a.description == b.description
}

fn identity_of(jobs: &[Option<Tracked>], key: JobKey) -> Option<&Identity> {
    jobs.get(key.0 as usize)?.as_ref().map(Tracked::identity)
}
