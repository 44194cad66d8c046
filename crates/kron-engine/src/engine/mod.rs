//! The engine: the queue, the ledgers, the runs, and what follows from an event.

mod configure;
mod end;
mod record;
mod show;
mod start;

use crate::commit::RosterLine;
use crate::event::{Changes, Effect, Event, JobKey, Moment, RunId, Shutdown};
use crate::job::{Blocked, Tracked};
use crate::queue::{Queue, Ticket};
use crate::report;
use crate::run::{Alarm, Begun, Run};
use crate::settings::{DISPATCH, JUMP, NAMED_ONE_BY_ONE, Settings, WAITING};
use crate::tally::Tally;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BinaryHeap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::mem;
use core::time::Duration;
use kron_core::line::Line;
use kron_core::mutant::{self, Mutant};
use kron_core::{
    Attention, Closure, Decision, Lapse, Outcome, PeriodId, SeedHash, Situation, UtcInstant,
    Verdict, Zones, agenda, judge,
};

/// The pure part of the daemon.
pub struct Engine {
    settings: Settings,
    /// Only asked for the release of its database.
    zones: Zones,
    jobs: Vec<Option<Tracked>>,
    free: Vec<JobKey>,
    /// Jobs no longer configured of which something is left.
    leaving: Vec<JobKey>,
    /// Configured jobs in the order of their identities.
    index: Vec<JobKey>,
    queue: Queue,
    runs: BTreeMap<RunId, Run>,
    next_run: u64,
    alarms: BinaryHeap<Reverse<(Duration, RunId, Alarm)>>,
    /// Runs that wait for others to be prepared.
    backlog: VecDeque<RunId>,
    preparing: usize,
    /// Preparations as they began, each with the uptime from which on it has
    /// taken long.
    begun: VecDeque<(Duration, RunId)>,
    /// Periods kept from starting by the number of runs, in the order in which they came.
    waiting: VecDeque<(JobKey, PeriodId)>,
    /// How long that may be until those are taken out that do not wait any more.
    waiting_most: usize,
    attention: Attention,
    last: Moment,
    /// What the daemon was asked to wake up for: a time of the clock, and an uptime.
    awaited: (Option<UtcInstant>, Option<Duration>),
    pending: Pending,
    /// What is to happen when the batch on its way is durable.
    in_flight: Option<Vec<After>>,
    stopping: Option<Stopping>,
    /// Whether there has been a configuration.
    is_configured: bool,
    /// Whether one is being read.
    is_reading: bool,
    tally: Tally,
}

/// What goes into the next batch, and what waits for it.
#[derive(Debug, Default)]
struct Pending {
    dirty: Vec<JobKey>,
    /// Jobs with a run that ended, and the line that tells of it. They are less
    /// urgent than starts, and wait while there are many.
    ended: Vec<(JobKey, Line)>,
    roster: Vec<RosterLine>,
    after: Vec<After>,
}

/// What happens once a batch is durable.
#[derive(Debug)]
enum After {
    Log(Line),
    Release(RunId),
    Reloaded(Changes),
    ResetDone,
}

#[derive(Clone, Copy, Debug)]
struct Stopping {
    how: Shutdown,
    /// Uptime at which running jobs are left to themselves.
    limit: Option<Duration>,
    stopped: bool,
}

impl Engine {
    /// An engine without jobs.
    #[must_use]
    pub fn new(settings: Settings, zones: Zones, moment: Moment) -> Self {
        Self {
            settings,
            zones,
            jobs: Vec::new(),
            free: Vec::new(),
            leaving: Vec::new(),
            index: Vec::new(),
            queue: Queue::default(),
            runs: BTreeMap::new(),
            next_run: 1,
            alarms: BinaryHeap::new(),
            backlog: VecDeque::new(),
            preparing: 0,
            begun: VecDeque::new(),
            waiting: VecDeque::new(),
            waiting_most: WAITING,
            attention: Attention::begin(moment.now),
            last: moment,
            awaited: (None, None),
            pending: Pending::default(),
            in_flight: None,
            stopping: None,
            is_configured: false,
            is_reading: false,
            tally: Tally::default(),
        }
    }

    /// Hears of something and says what is to be done about it, in order.
    pub fn handle(&mut self, event: Event, moment: Moment, effects: &mut Vec<Effect>) {
        let review = self.notice(moment, effects);
        match event {
            Event::Tick => self.tick(moment, effects),
            Event::Prepared { run, process, user, begun: since } => {
                let begun = Begun { process, started_at: moment.now, user };
                self.prepared(run, begun, since, moment, effects);
            }
            Event::Unprepared { run, failure } => self.unprepared(run, &failure, moment, effects),
            Event::Committed => self.committed(moment, effects),
            Event::Exited { run, exit } => self.exited(run, exit, moment, effects),
            Event::GroupGone(run) => self.group_gone(run, moment, effects),
            Event::Reload(jobs) => self.reload(jobs, moment, effects),
            Event::Reset(key) => self.reset(key, moment, effects),
            Event::Shutdown(how) => self.shut_down(how, moment, effects),
        }
        if let Some(review) = review {
            self.review(review, moment, effects);
        }
        self.begin_commit(effects);
        self.stop_if_done(effects);
    }

    /// To be told when a configuration begins to be read, and when that is over:
    /// what is known in between stays known.
    pub fn set_reading(&mut self, is_reading: bool) {
        self.is_reading = is_reading;
        if self.in_flight.is_none() {
            self.let_go();
        }
    }

    /// Has something happen to a run at an uptime. Alarms of runs that have ended are not
    /// searched for; once they are the larger part, they are swept out.
    fn set_alarm(&mut self, at: Duration, run: RunId, alarm: Alarm) {
        const SMALL: usize = 64;
        self.alarms.push(Reverse((at, run, alarm)));
        if self.alarms.len() > SMALL + 4 * self.runs.len() {
            let runs = &self.runs;
            self.alarms.retain(|Reverse((_, run, alarm))| {
                runs.get(run).is_some_and(|run| run.awaits(*alarm))
            });
        }
    }

    /// When to send the next [`Event::Tick`]: at a time of the clock, and at an
    /// uptime.
    pub fn next_wake(&mut self) -> (Option<UtcInstant>, Option<Duration>) {
        let jobs = &self.jobs;
        let first = self.queue.first(|job, ticket| is_live(jobs, job, ticket));
        let due = first.filter(|_| self.stopping.is_none() || mutant::is(Mutant::StopIgnored));
        while let Some(Reverse((_, run, alarm))) = self.alarms.peek()
            && !self.runs.get(run).is_some_and(|run| run.awaits(*alarm))
        {
            self.alarms.pop();
        }
        let alarm = self.alarms.peek().map(|Reverse((at, _, _))| *at);
        let limit = self.stopping.and_then(|stopping| stopping.limit);
        let uptime = [alarm, limit, self.stalls_at()].into_iter().flatten().min();
        let due =
            due.map(|at| if mutant::is(Mutant::WakesForNothing) { self.last.now } else { at });
        self.awaited = (due, uptime);
        self.awaited
    }

    /// Looks at the clocks, whatever the event: what was judged before the machine
    /// slept or the clock was set may not hold any more.
    fn notice(&mut self, moment: Moment, effects: &mut Vec<Effect>) -> Option<Review> {
        let before = mem::replace(&mut self.last, moment);
        let (due, uptime) = self.awaited;
        let lapse = self.attention.wake(due, moment.now);
        // Since the last event, however early that was heard.
        let overdue = [
            due.and_then(|due| moment.now.since(due.max(before.now))),
            uptime.and_then(|at| moment.uptime.checked_sub(at.max(before.uptime))),
        ];
        let late = overdue.into_iter().flatten().max().filter(|late| *late > DISPATCH);
        let jump = Jump::between(before, moment);
        let is_back = match (lapse, jump) {
            (Some(Lapse::Backward(by)), _) => {
                let by = jump.and_then(Jump::backward).unwrap_or(by);
                effects.push(Effect::Log(report::backward(by)));
                true
            }
            (_, Some(Jump::Backward(by))) if by > JUMP => {
                effects.push(Effect::Log(report::backward(by)));
                true
            }
            (_, Some(Jump::Forward(by))) if by > JUMP => {
                effects.push(Effect::Log(report::forward(by)));
                // Nobody watched what it jumped over, however little that is.
                self.attention = Attention::begin(moment.now);
                false
            }
            (Some(Lapse::Forward(late)), _) => {
                effects.push(Effect::Log(report::stalled(late)));
                false
            }
            (None, _) if let Some(late) = late => {
                effects.push(Effect::Log(report::stalled(late)));
                false
            }
            _ => false,
        };
        let is_far = jump.and_then(Jump::forward).is_some_and(|by| by > JUMP);
        if !(lapse.is_some() || is_back || is_far || late.is_some()) {
            return None;
        }
        // It has been noticed.
        self.awaited = (None, None);
        Some(Review { is_back, unsettled: self.unsettle(effects) })
    }

    /// Judges anew what a lapse has unsettled, and everything that is due.
    fn review(&mut self, review: Review, moment: Moment, effects: &mut Vec<Effect>) {
        if self.stopping.is_some() {
            return;
        }
        if review.is_back {
            self.replan_all(moment, effects);
        } else {
            for key in review.unsettled {
                self.visit(key, moment, effects);
            }
        }
        self.let_next_in(moment, effects);
        self.visit_due(moment, effects);
    }

    /// Takes back every start that is not recorded yet, to be judged again. All of them
    /// came due while the clock was watched: none is passed over.
    fn unsettle(&mut self, effects: &mut Vec<Effect>) -> Vec<JobKey> {
        let unstarted: Vec<RunId> =
            self.runs.iter().filter(|(_, run)| run.is_unstarted()).map(|(id, _)| *id).collect();
        let mut keys: Vec<JobKey> = self.runs.values().map(|run| run.job).collect();
        for id in unstarted {
            self.take_back(id, effects);
        }
        for key in &keys {
            if let Some(busy) = self.job_mut(*key).and_then(|job| job.busy.as_mut()) {
                let waiting = busy.replacing.drain(..).chain(busy.put_off.drain(..));
                busy.unsettled.extend(waiting.map(|(period, _)| period));
            }
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    fn tick(&mut self, moment: Moment, effects: &mut Vec<Effect>) {
        self.ring(moment, effects);
        if self.stopping.is_some() && !mutant::is(Mutant::StopIgnored) {
            return;
        }
        self.visit_due(moment, effects);
    }

    /// Looks at every job whose time has come.
    fn visit_due(&mut self, moment: Moment, effects: &mut Vec<Effect>) {
        loop {
            let jobs = &self.jobs;
            let is_live = |job, ticket| is_live(jobs, job, ticket);
            let Some(key) = self.queue.pop_due(moment.now, is_live) else { break };
            self.visit(key, moment, effects);
        }
        self.prepare_more(moment, effects);
    }

    /// The clock went back: what comes next is asked of every job anew.
    fn replan_all(&mut self, moment: Moment, effects: &mut Vec<Effect>) {
        for key in self.index.clone() {
            if let Some(job) = self.job_mut(key).filter(|_| mutant::is(Mutant::StepReopens)) {
                job.ledger = job.ledger.without_future(moment.now, |_| false);
            }
            self.visit(key, moment, effects);
        }
        self.warn_of_idle(self.index.clone(), moment.now, effects);
    }

    fn warn_of_idle(&self, keys: Vec<JobKey>, now: UtcInstant, effects: &mut Vec<Effect>) {
        // Marks a moment ahead of the clock are what a small correction leaves.
        let soon = now.saturating_add(JUMP);
        let mut count = 0;
        for job in keys.into_iter().filter_map(|key| self.job(key)) {
            let Some(until) = job.ledger.idle_until(soon) else { continue };
            count += 1;
            if count <= NAMED_ONE_BY_ONE {
                effects.push(Effect::Log(report::idle(job, until)));
            }
        }
        if count > NAMED_ONE_BY_ONE {
            effects.push(Effect::Log(report::idle_others(count - NAMED_ONE_BY_ONE)));
        }
    }

    /// Looks at a job: judges what is due, and puts it in line for what comes.
    fn visit(&mut self, key: JobKey, moment: Moment, effects: &mut Vec<Effect>) {
        let now = moment.now;
        let most = self.settings.max_running.unwrap_or(usize::MAX);
        let mut room = most.saturating_sub(self.runs.len());
        let Some(job) = self.jobs.get_mut(key.0 as usize).and_then(Option::as_mut) else { return };
        if job.is_retired {
            return;
        }
        let runs = || job.runs().iter().filter_map(|run| self.runs.get(run));
        let has_runs = !job.runs().is_empty();
        let has_begun = runs().any(|run| !run.is_unstarted()) || mutant::is(Mutant::SkipEarly);
        // Starts of this very visit count as active for those behind them, unless
        // there is no room for them.
        let mut active: Vec<PeriodId> = runs().map(|run| run.period).collect();
        let since = self.attention.since().max(job.attentive_since);
        let Tracked { entry, ledger, busy, planned, .. } = job;
        // Judged without ever having been planned: they came due unattended.
        let mut unplanned: Vec<PeriodId> = Vec::new();
        let mut seen = active.clone();
        if let Some(busy) = busy {
            seen.extend(busy.waiting());
            busy.unsettled.clear();
        }
        let agenda = agenda(&entry.job, ledger, since, &seen, now);
        let mut put_off_before = Vec::new();
        let mut lapsed = 0;
        if let Some(busy) = busy {
            lapsed = busy.keep_due(&agenda.due, ledger);
            put_off_before = mem::take(&mut busy.put_off);
        }
        let busy = busy.as_deref();
        let mut put_off = Vec::new();
        let mut verdicts: Vec<(Fate, SeedHash)> = Vec::new();
        for decision in &agenda.due {
            let blocked = busy.and_then(|busy| busy.blocked_period(decision.period()));
            if blocked.is_some_and(|blocked| !blocked.is_ready(now))
                || busy.is_some_and(|busy| busy.is_replacing(decision.period()))
            {
                continue;
            }
            let before = put_off_before.iter().find(|(known, _)| *known == decision.period());
            let obstacle = blocked.map(|blocked| &*blocked.obstacle);
            let obstacle = obstacle.or(before.map(|_| "another period was being prepared"));
            // That another is being prepared does not make it late, unless that fails.
            let judged = before.filter(|_| has_runs).map_or(now, |(_, judged)| *judged);
            let situation = Situation { ledger, active: &active, obstacle, now: judged };
            let fate = match judge(decision, situation) {
                Verdict::Handled | Verdict::Suspended | Verdict::WaitUntil(_) => continue,
                // Not for what may never begin.
                Verdict::Close(closure) if closure.outcome() == Outcome::Skipped && !has_begun => {
                    put_off.push(before.copied().unwrap_or((decision.period(), now)));
                    None
                }
                Verdict::Close(closure) => {
                    ledger.close(&entry.job, &closure, now);
                    Some(Fate::Closed(closure))
                }
                Verdict::Replace(replacement) => {
                    Some(Fate::Replace(replacement.decision().period()))
                }
                Verdict::Start(permit) => {
                    if room > 0 {
                        room -= 1;
                        active.push(decision.period());
                    }
                    Some(Fate::Start(permit.closure()))
                }
            };
            verdicts.extend(fate.map(|fate| (fate, *decision.seed_hash())));
            if blocked.is_none() && before.is_none() && *planned != Some(decision.period()) {
                unplanned.push(decision.period());
            }
        }
        // After the verdicts: the marks of very many may close what is left behind them.
        ledger.supersede(&entry.job, &agenda.superseded, now);
        let due = agenda.next.as_ref().map(Decision::due);
        let planned = agenda.next.as_ref().map(Decision::period);
        let superseded = agenda.superseded;
        for period in unplanned.into_iter().chain(planned.filter(|_| planned != job.planned)) {
            effects.push(Effect::Plan(key, period));
        }
        job.planned = planned;
        if !put_off.is_empty() {
            job.busy().put_off = put_off;
        }
        self.record_superseded(key, superseded.count() + lapsed, superseded.is_at_least());
        for (fate, seed_hash) in verdicts {
            match fate {
                Fate::Closed(closure)
                    if mutant::is(Mutant::PeriodLost) && closure.outcome() == Outcome::Missed => {}
                Fate::Closed(closure) => self.close(key, &closure, seed_hash, now),
                Fate::Start(closure) => self.begin(key, closure, seed_hash, moment),
                Fate::Replace(period) => self.replace(key, period, moment, effects),
            }
        }
        self.line_up(key, due);
    }

    /// Puts a job in line: for its next period, or for one that is blocked.
    fn line_up(&mut self, key: JobKey, due: Option<UtcInstant>) {
        let Some(job) = self.jobs.get_mut(key.0 as usize).and_then(Option::as_mut) else { return };
        let again = job.busy.as_ref().and_then(|busy| {
            // Those that are being tried, or wait for others to end, are heard of.
            let runs = || busy.runs.iter().filter_map(|run| self.runs.get(run));
            let is_tried = |period| runs().any(|run| run.period == period);
            let blocked = busy.blocked.iter();
            let is_idle = |b: &&Blocked| {
                !(is_tried(b.period) || busy.is_replacing(b.period) || busy.is_put_off(b.period))
            };
            blocked.filter(is_idle).map(Blocked::look_at).min()
        });
        job.ticket = job.ticket.next();
        job.settle();
        let due = due.map(|due| {
            let is_late = mutant::is(Mutant::NeverInTime) && job.job().policy().deadline.is_zero();
            due.saturating_add(Duration::from_secs(is_late.into()))
        });
        if let Some(at) = [due, again].into_iter().flatten().min() {
            self.queue.push(at, key, job.ticket);
        }
        let jobs = &self.jobs;
        self.queue.sweep(self.index.len(), |job, ticket| is_live(jobs, job, ticket));
    }

    fn job(&self, key: JobKey) -> Option<&Tracked> {
        self.jobs.get(key.0 as usize)?.as_ref()
    }

    fn job_mut(&mut self, key: JobKey) -> Option<&mut Tracked> {
        self.jobs.get_mut(key.0 as usize)?.as_mut()
    }
}

/// What is to be looked at after a lapse.
struct Review {
    /// Whether the clock went back.
    is_back: bool,
    /// Jobs whose starts were taken back.
    unsettled: Vec<JobKey>,
}

/// How far the clock on the wall went away from the uptime.
#[derive(Clone, Copy, Debug)]
enum Jump {
    Backward(Duration),
    Forward(Duration),
}

impl Jump {
    fn between(before: Moment, after: Moment) -> Option<Self> {
        let expected = before.now.saturating_add(after.uptime.saturating_sub(before.uptime));
        match after.now.since(expected) {
            Some(by) => Some(Self::Forward(by)),
            None => expected.since(after.now).map(Self::Backward),
        }
    }

    fn backward(self) -> Option<Duration> {
        if let Self::Backward(by) = self { Some(by) } else { None }
    }

    fn forward(self) -> Option<Duration> {
        if let Self::Forward(by) = self { Some(by) } else { None }
    }
}

/// What a verdict asks for, without borrowing the job.
enum Fate {
    Closed(Closure),
    Start(Closure),
    Replace(PeriodId),
}

fn is_live(jobs: &[Option<Tracked>], job: JobKey, ticket: Ticket) -> bool {
    matches!(jobs.get(job.0 as usize), Some(Some(job)) if job.ticket == ticket && !job.is_retired)
}

/// The distribution of a job, as in the syntax.
fn distribution(job: &Tracked) -> Box<str> {
    let distribution = job.job().distribution();
    let mut params = Vec::new();
    distribution.for_each_param(|key, value| params.push(alloc::format!("{key}={value}")));
    let mut text = String::from(distribution.name());
    if !params.is_empty() {
        text.extend(["(", &params.join(","), ")"]);
    }
    text.into_boxed_str()
}
