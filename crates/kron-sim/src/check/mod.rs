//! The checker: a history of what really happened, and the laws it must obey.
//!
//! It is written from the contract (SPEC, STATE, EXECUTION, the decisions about
//! them), not from the engine. It parses definitions itself, walks the calendar
//! itself, and asks of the core only what a period's chosen time is.

mod account;
mod log;
mod runs;

use crate::fact::{Fact, OnDisk, Recorded, Time};
use crate::law::{Breach, Law};
use crate::scenario::Definition;
use account::{Account, Closed, Def, due, expiry};
use core::time::Duration;
use kron_core::{Concurrency, Decision, Outcome, PeriodId, UtcInstant, Zones};
use kron_engine::event::{RunId, Shutdown};
use kron_engine::settings::Settings;
use runs::{Execution, Run};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A clock that parts this far from the time that passed was set.
const SET: Duration = Duration::from_secs(1);
/// A wake-up this late is one of a daemon that was not watching.
const STALL: Duration = Duration::from_secs(60);
/// What the false machine takes for something that is done at once.
const SLACK: Duration = Duration::from_secs(3);
/// The longest that a false commit takes.
const COMMIT: Duration = Duration::from_secs(60);

/// The checker.
#[derive(Debug)]
pub struct Checker {
    settings: Settings,
    jobs: BTreeMap<Rc<str>, Account>,
    /// Of the daemon that runs.
    runs: BTreeMap<RunId, Run>,
    /// Processes of commands.
    live: BTreeMap<u64, Execution>,
    is_up: bool,
    stopping: Option<Shutdown>,
    last: Option<Time>,
    /// When it heard something before that.
    previous: Option<Time>,
    /// Whether it is doing what an answer to a batch allows.
    has_committed: bool,
    /// When the daemon heard something since its clock was last beyond doubt.
    heard: Vec<UtcInstant>,
    /// The latest time this daemon has seen.
    latest: UtcInstant,
    /// When the daemon was away last.
    away_from: Duration,
    away_until: Duration,
    /// A batch on its way.
    commit: Option<Vec<Recorded>>,
    /// One that was on its way when the daemon died.
    lost: Vec<Recorded>,
    /// Durable, and to be logged before anything else happens.
    unlogged: Vec<(Rc<str>, PeriodId)>,
    /// Processes to be adopted before anything else happens.
    unadopted: Vec<u64>,
    looked_up: BTreeMap<Rc<str>, (OnDisk, bool)>,
    is_starting: bool,
    /// Wake-ups that nothing came of, and everything else.
    idle: (u64, u64, Duration),
    periods: u64,
}

impl Checker {
    /// A checker that has seen nothing.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            jobs: BTreeMap::new(),
            runs: BTreeMap::new(),
            live: BTreeMap::new(),
            is_up: false,
            stopping: None,
            last: None,
            previous: None,
            has_committed: false,
            heard: Vec::new(),
            latest: UtcInstant::MIN,
            away_from: Duration::ZERO,
            away_until: Duration::ZERO,
            commit: None,
            lost: Vec::new(),
            unlogged: Vec::new(),
            unadopted: Vec::new(),
            looked_up: BTreeMap::new(),
            is_starting: false,
            idle: (0, 0, Duration::ZERO),
            periods: 0,
        }
    }

    /// Periods that came due while somebody watched.
    #[must_use]
    pub const fn periods(&self) -> u64 {
        self.periods
    }

    /// Takes note of something.
    ///
    /// # Errors
    /// If it breaks a law.
    pub fn note(&mut self, at: Time, fact: Fact, zones: &mut Zones) -> Result<(), Breach> {
        match fact {
            Fact::Started => {
                self.is_up = true;
                self.is_starting = true;
                (self.stopping, self.last, self.previous) = (None, None, None);
                self.heard.clear();
                if at.wall < self.latest {
                    // The clock was set back while nobody watched.
                    for job in self.jobs.values_mut() {
                        job.quiet_through = job.quiet_through.max(self.latest);
                    }
                }
                self.latest = at.wall;
                self.idle = (0, 0, at.true_time);
                self.live.values_mut().for_each(|execution| execution.is_known = false);
                Ok(())
            }
            Fact::LookedUp { identity, found, survived, alive } => {
                for number in &alive {
                    if let Some(execution) = self.live.get_mut(number) {
                        execution.is_known = true;
                    }
                }
                self.unadopted.extend(alive);
                self.looked_up.insert(identity, (found, survived));
                Ok(())
            }
            Fact::Configured(jobs) => self.configured(at, &jobs, zones),
            Fact::Confirmed => {
                self.confirm();
                Ok(())
            }
            Fact::Heard { what, planned, idle } => self.hear(at, what, planned, idle),
            Fact::Said(line) => self.said(at, &line, zones),
            Fact::Prepare { run, identity, period, chosen } => {
                self.prepare(at, run, &identity, period, chosen)
            }
            Fact::AtGate { run } => self.at_gate(run),
            Fact::NotMade { run } | Fact::Abandoned { run } => {
                self.untry(run);
                Ok(())
            }
            Fact::Commit(outcomes) => self.committing(outcomes),
            Fact::Committed => {
                self.has_committed = true;
                for recorded in self.commit.take().unwrap_or_default() {
                    self.record(&recorded, true);
                }
                Ok(())
            }
            Fact::Released { run, process, durable } => self.released(at, run, process, durable),
            Fact::Adopted { run, process } => {
                self.adopted(run, process);
                Ok(())
            }
            Fact::Ended { process } => self.ended(at, process),
            Fact::Forgotten { run } => {
                self.forgotten(run);
                Ok(())
            }
            Fact::Signalled { run, kill } => self.signalled(at, run, kill),
            Fact::Reset(identity) => {
                self.reset(at, &identity);
                Ok(())
            }
            Fact::Shutdown(how) => {
                if self.stopping.is_none() {
                    self.end_of_watch(at)?;
                    self.jobs.values_mut().for_each(Account::look_away);
                }
                self.stopping = self.stopping.max(Some(how));
                Ok(())
            }
            Fact::Gone { stopped, .. } => self.gone(at, stopped),
            Fact::Away(until) => {
                if self.away_until < at.true_time {
                    self.away_from = at.true_time;
                }
                self.away_until = self.away_until.max(until);
                self.live.values_mut().for_each(|execution| execution.is_disturbed = true);
                Ok(())
            }
            Fact::Refused | Fact::Outside(_) => Ok(()),
        }
    }

    /// The world ends.
    ///
    /// # Errors
    /// If something is owed.
    pub fn finish(&mut self, at: Time, _: &mut Zones) -> Result<(), Breach> {
        if self.is_up {
            self.end_of_watch(at)?;
            self.check_endings(at)?;
        }
        Ok(())
    }

    fn job(&mut self, identity: &Rc<str>) -> &mut Account {
        let fresh = || Account::new(Rc::clone(identity));
        self.jobs.entry(Rc::clone(identity)).or_insert_with(fresh)
    }

    // ── What is in force ────────────────────────────────────────────────────

    fn configured(
        &mut self,
        at: Time,
        defined: &[Rc<Definition>],
        zones: &mut Zones,
    ) -> Result<(), Breach> {
        let now = at.wall;
        let is_start = core::mem::take(&mut self.is_starting);
        let looked_up = core::mem::take(&mut self.looked_up);
        let is_certain = self.commit.is_none();
        let mut configured = Vec::new();
        for text in defined {
            let identity: Rc<str> = text.identity().into();
            configured.push(Rc::clone(&identity));
            let known = self.job(&identity).defs.back().cloned();
            let def = match known.filter(|known| known.text == *text) {
                Some(known) => known,
                None => Rc::new(Def::parse(text, zones)?),
            };
            if !is_start {
                self.audit_one(at, &identity)?;
            }
            let lost: Vec<Recorded> = match looked_up.get(&identity) {
                Some((_, true)) => {
                    let of_it = |r: &&Recorded| r.identity == identity;
                    self.lost.iter().filter(of_it).cloned().collect()
                }
                _ => Vec::new(),
            };
            for recorded in &lost {
                self.record(recorded, false);
            }
            let job = self.job(&identity);
            let was_configured = core::mem::replace(&mut job.is_configured, true);
            let old = job.defs.back().cloned();
            let is_other = old.as_ref().is_none_or(|old| old.schedule != def.schedule);
            let was_suspended = old.as_ref().is_some_and(|old| old.job.policy().suspend);
            let is_retimed = old.as_ref().is_some_and(|old| old.timing != def.timing);
            if old.as_ref().is_none_or(|old| !Rc::ptr_eq(old, &def)) {
                job.generation += 1;
                job.defs.push_back(Rc::clone(&def));
                if job.defs.len() > 4 {
                    job.defs.pop_front();
                }
            }
            let reach = job.closed.keys().next_back().map(|p| p.nominal().instant());
            let bar = match looked_up.get(&identity) {
                Some((OnDisk::Nothing | OnDisk::Damaged, _)) => true,
                Some((OnDisk::Something, survived)) => {
                    if job.confirmed.is_none() {
                        // Whether the disk had heard of it is not certain.
                        job.quiet_before = job.quiet_before.max(now);
                    }
                    if *survived {
                        job.quiet_before = job.quiet_before.max(job.last_attentive);
                    }
                    job.confirmed.as_ref().is_some_and(|known| *known != def.timing)
                }
                None => is_retimed || !was_configured,
            };
            if let Some((OnDisk::Damaged, _)) = looked_up.get(&identity) {
                // Nobody knows any more what ran when the clock was ahead.
                // What was due before now stays barred.
                let horizon = now.saturating_sub(def.job.window().trail());
                job.forget_after(horizon);
                self.live
                    .values_mut()
                    .filter(|execution| execution.identity == identity)
                    .for_each(|execution| execution.is_known = false);
            }
            let job = self.job(&identity);
            if bar || !was_configured && old.is_some() {
                job.bar(now);
                job.quiet_through = job.quiet_through.max(reach.unwrap_or(UtcInstant::MIN));
                job.open.clear();
                job.passed.clear();
                job.counts.clear();
            }
            if is_retimed {
                job.planned.clear();
                job.tried.retain(|_, tries| *tries > 0);
            }
            let survived = looked_up.get(&identity).is_some_and(|(_, survived)| *survived);
            let is_certain = is_certain && !survived;
            let resumed = was_suspended && !def.job.policy().suspend;
            if is_start || !was_configured || resumed || bar {
                job.attend(now, is_certain);
            } else if def.job.policy().suspend {
                job.leave();
            } else if is_other && job.attentive.is_none() {
                job.attend(now, is_certain);
            }
        }
        for identity in self.jobs.keys().cloned().collect::<Vec<_>>() {
            if !configured.contains(&identity) && self.job(&identity).is_configured {
                self.audit_one(at, &identity)?;
                let job = self.job(&identity);
                job.leave();
                job.is_configured = false;
                job.is_leaving = true;
                job.generation += 1;
                job.confirmed = None;
            }
        }
        self.lost.clear();
        Ok(())
    }

    fn confirm(&mut self) {
        self.jobs.values_mut().for_each(|job| job.is_leaving = false);
        for job in self.jobs.values_mut().filter(|job| job.is_configured) {
            job.confirmed = job.defs.back().map(|def| def.timing.clone());
            if let Some(floor) = job.not_before.1.take() {
                job.not_before.0 = job.not_before.0.max(floor);
            }
        }
    }

    fn reset(&mut self, at: Time, identity: &Rc<str>) {
        let latest = self.latest;
        let job = self.job(identity);
        let Some(def) = job.defs.back().cloned() else { return };
        let reach = job.closed.keys().next_back().map_or(latest, |p| p.nominal().instant());
        job.before_reset = Some(reach.max(job.quiet_through));
        let horizon = at.wall.saturating_add(def.job.window().lead());
        job.forget_after(horizon);
        // What was passed over because the clock was ahead may come again.
        let is_past = |period: &PeriodId| due(&def.job.decide(*period)) < at.wall;
        job.closed.retain(|period, closed| closed.outcome.is_some() || is_past(period));
        job.counts.clear();
        job.open.clear();
        job.not_before = (job.not_before.0.min(at.wall), Some(at.wall));
        job.settled = at.wall;
        job.quiet_through = horizon;
        job.quiet_before = at.wall;
        job.attend(at.wall, false);
    }

    // ── Watching ────────────────────────────────────────────────────────────

    fn hear(
        &mut self,
        at: Time,
        what: &'static str,
        planned: Option<UtcInstant>,
        idle: bool,
    ) -> Result<(), Breach> {
        if let Some((identity, period)) = self.unlogged.first().filter(|_| what != "committed") {
            let job = &self.jobs[identity];
            return Err(job.breach(Law::OneOutcome, format!("{period} was recorded, not logged")));
        }
        if let Some(process) = self.unadopted.first().filter(|_| what != "reload") {
            let known = self.live.get(process).map_or("?", |e| &e.identity);
            let what = format!("process {process} of {known} is alive, recorded and not adopted");
            return Err(Breach { law: Law::Adopted, what });
        }
        if what != "committed" {
            self.has_committed = false;
        }
        self.watch(at, planned)?;
        self.heard.push(at.wall);
        self.calm(at, what == "tick" && idle)
    }

    fn calm(&mut self, at: Time, idle: bool) -> Result<(), Breach> {
        let (idles, others, since) = &mut self.idle;
        *(if idle { &mut *idles } else { &mut *others }) += 1;
        let hours = at.true_time.saturating_sub(*since).as_secs() / 3600;
        if *idles > 30 + *others * 2 + hours * 2 {
            let what = format!("{idles} wake-ups came to nothing, beside {others} events");
            return Err(Breach { law: Law::Calm, what });
        }
        let length = at.true_time.saturating_sub(*since).as_secs();
        if *others > 2000 + length * 4 {
            let what = format!("{others} events in {length} s");
            return Err(Breach { law: Law::Calm, what });
        }
        Ok(())
    }

    /// Looks at the clocks: was the daemon watching until now?
    fn watch(&mut self, at: Time, planned: Option<UtcInstant>) -> Result<(), Breach> {
        let Some(last) = self.last.replace(at) else { return Ok(()) };
        if last.true_time < at.true_time {
            self.previous = Some(last);
        }
        let expected = last.wall.saturating_add(at.true_time.checked_sub(last.true_time).unwrap());
        let is_back = at.wall < last.wall || expected.since(at.wall).is_some_and(|by| by > SET);
        let is_forward = at.wall.since(expected).is_some_and(|by| by > SET)
            || planned.and_then(|at_| at.wall.since(at_)).is_some_and(|late| late > STALL);
        if is_back || is_forward {
            // Until then it had watched.
            for identity in self.jobs.keys().cloned().collect::<Vec<_>>() {
                self.audit_until(last, last.wall, &identity)?;
            }
            self.heard.clear();
            let (latest, is_certain) = (self.latest, self.commit.is_none());
            for job in self.jobs.values_mut() {
                if is_back {
                    job.quiet_through = job.quiet_through.max(latest);
                }
                if job.attentive.is_some() {
                    job.attend(at.wall, is_certain);
                }
            }
        }
        self.latest = self.latest.max(at.wall);
        Ok(())
    }

    fn end_of_watch(&mut self, at: Time) -> Result<(), Breach> {
        for identity in self.jobs.keys().cloned().collect::<Vec<_>>() {
            self.audit_one(at, &identity)?;
        }
        Ok(())
    }

    /// Is everything in order with a job, as far as the daemon can have seen?
    fn audit_one(&mut self, at: Time, identity: &Rc<str>) -> Result<(), Breach> {
        // What it is hearing right now it may not have dealt with.
        let last = self.last.filter(|last| last.true_time < at.true_time).or(self.previous);
        let Some(last) = last else { return Ok(()) };
        let is_busy = self.last.is_some_and(|last| last.true_time == at.true_time);
        let passed = at.true_time.checked_sub(last.true_time).unwrap();
        let is_set = last.wall.saturating_add(passed) != at.wall;
        let was_away = self.away_until + SLACK > last.true_time;
        let until = if is_set || was_away || is_busy { last.wall } else { at.wall };
        self.audit_until(at, until, identity)
    }

    fn audit_until(
        &mut self,
        at: Time,
        until: UtcInstant,
        identity: &Rc<str>,
    ) -> Result<(), Breach> {
        let until = until.saturating_sub(SLACK);
        let Some(mut job) = self.jobs.remove(identity) else { return Ok(()) };
        let audited =
            job.audit(until, |job, decision, until| self.excuses(at, job, decision, until));
        let result = audited.and_then(|seen| {
            self.periods += seen;
            let is_owed = self.commit.is_none()
                && !self.has_committed
                && job.counts.iter().any(Option::is_some);
            let is_late = job.attentive.is_some_and(|since| until > since);
            if is_owed && is_late && self.stopping.is_none() {
                let counts = &job.counts;
                return Err(
                    job.breach(Law::CatchUp, format!("{counts:?} passed over, not counted"))
                );
            }
            Ok(())
        });
        self.jobs.insert(Rc::clone(identity), job);
        result
    }

    /// Whether a period may still be open.
    fn excuses(&self, at: Time, job: &Account, decision: &Decision<'_>, until: UtcInstant) -> bool {
        if self.commit.is_some() || self.has_committed || self.stopping.is_some() {
            return true;
        }
        let Some(chosen) = decision.chosen() else { return false };
        let policy = decision.job().policy();
        let is_active = self.is_active(&job.identity);
        let tries = job.tried.get(&decision.period());
        let crowd = self.settings.max_running;
        let is_crowded = crowd.is_some_and(|most| self.runs.len() >= most);
        let queued = self.settings.preparing == 1 && self.runs.len() > 1;
        let is_late = until >= expiry(policy, chosen).saturating_add(SLACK);
        if tries.is_some_and(|tries| *tries > 0) || queued {
            return true;
        }
        let waits = policy.concurrency == Concurrency::Replace
            && (is_active || job.last_active + SLACK >= at.true_time);
        waits || (!is_late && (tries.is_some() || is_crowded))
    }

    fn is_active(&self, identity: &Rc<str>) -> bool {
        self.live.values().any(|execution| execution.is_known && execution.identity == *identity)
            || self.runs.values().any(|run| run.identity == *identity)
    }

    // ── Recording ───────────────────────────────────────────────────────────

    fn committing(&mut self, outcomes: Vec<Recorded>) -> Result<(), Breach> {
        for Recorded { identity, period, outcome } in &outcomes {
            let job = self.job(identity);
            let Some(known) = job.closed.get(period) else { continue };
            let is_same = known.outcome == Some(*outcome) && *outcome == Outcome::Executed;
            if !is_same {
                let known = known.outcome.map_or("passed over", Outcome::as_str);
                let what = format!("{period} is recorded as {outcome}, and was {known} already");
                return Err(job.breach(Law::OneOutcome, what));
            }
        }
        self.commit = Some(outcomes);
        Ok(())
    }

    fn record(&mut self, recorded: &Recorded, is_heard: bool) {
        let Recorded { identity, period, outcome } = recorded;
        let job = self.job(identity);
        // One that runs on after its marks were reset is recorded again.
        let is_old = *outcome == Outcome::Executed && is_heard && !job.tried.contains_key(period);
        if !job.closed.contains_key(period) && !is_old {
            let closed = Closed { outcome: Some(*outcome), is_logged: !is_heard };
            job.closed.insert(*period, closed);
            if is_heard {
                self.unlogged.push((Rc::clone(identity), *period));
            }
        }
    }

    fn gone(&mut self, at: Time, stopped: bool) -> Result<(), Breach> {
        if self.is_up {
            if stopped {
                self.check_stop()?;
            } else if self.stopping.is_none() && !self.is_starting {
                self.end_of_watch(at)?;
            }
            self.check_endings(at)?;
        }
        self.is_up = false;
        self.is_starting = false;
        self.stopping = None;
        (self.last, self.previous, self.has_committed) = (None, None, false);
        self.away_until = Duration::ZERO;
        self.runs.clear();
        self.unlogged.clear();
        self.unadopted.clear();
        self.looked_up.clear();
        self.lost.extend(self.commit.take().unwrap_or_default());
        for job in self.jobs.values_mut() {
            job.look_away();
            if let Some(reach) = job.before_reset.take() {
                job.quiet_through = job.quiet_through.max(reach);
                job.is_doubtful = true;
            }
            if core::mem::take(&mut job.is_leaving) {
                // As far as the disk knows it may never have been away.
                (job.is_configured, job.is_doubtful) = (true, true);
            }
            if job.not_before.1.take().is_some() {
                // Whether the disk heard of it is not certain.
                job.confirmed = None;
            }
            job.fell.clear();
            job.left.clear();
            job.counts.clear();
            job.behind.clear();
            job.open.extend(core::mem::take(&mut job.passed));
            job.tried.clear();
        }
        Ok(())
    }
}
