//! The checker: a history of what really happened, and the laws it must obey.
//!
//! It is written from the contract (SPEC, STATE, EXECUTION, the decisions about
//! them), not from the engine. It parses definitions itself, walks the calendar
//! itself, and asks of the core only what a period's chosen time is.

mod account;
mod judged;
mod log;
mod runs;
mod window;

use crate::fact::{Fact, OnDisk, Recorded, Time};
use crate::law::{Breach, Law};
use crate::scenario::Definition;
use account::{Account, Closed, Def, expiry};
use core::time::Duration;
use judged::{Moment, Watch};
use kron_core::{Concurrency, Decision, Outcome, PeriodId, UtcInstant, Zones};
use kron_engine::event::{RunId, Shutdown};
use kron_engine::settings::Settings;
use runs::{Execution, Run};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
pub use window::Rule;

/// A clock that parts this far from the time that passed was set.
const SET: Duration = Duration::from_secs(1);
/// A wake-up this late is one of a daemon that was not watching.
const STALL: Duration = Duration::from_secs(60);
/// A wake-up this late, by either clock, takes back what is not recorded yet; and a process
/// that is ready later than this after its preparation began is judged anew (KROND, Limits).
const DISPATCH: Duration = Duration::from_secs(10);
/// What the false machine takes for something that is done at once.
const SLACK: Duration = Duration::from_secs(3);
/// The longest pause before another try (KROND, Limits).
const PAUSE: Duration = Duration::from_secs(30);
/// What lives so long after KILL is given up (KROND, Limits).
const UNKILLABLE: Duration = Duration::from_secs(5);
/// The longest that something is on its way to the disk: a false commit takes at most 20
/// seconds, and one may have to wait for the one before.
const COMMIT: Duration = Duration::from_secs(41);

/// The checker.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact by itself")]
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
    /// Counts what it heard, and what that is.
    event: u64,
    what: &'static str,
    /// When it did since the last batch was sent on its way.
    moments: Vec<Moment>,
    /// When it did since its clock was last beyond doubt, and when it had asked to be
    /// woken.
    plans: Vec<(UtcInstant, Option<UtcInstant>)>,
    /// What was known before that, at the moments since the last batch.
    watches: Vec<Watch>,
    /// Whether it finds just now that its clock was not.
    is_lapse: bool,
    /// Whether it finds just now that it was late, if only by little: what is not recorded yet
    /// is judged anew.
    is_late: bool,
    /// The latest time this daemon has seen.
    latest: UtcInstant,
    /// The latest that any clock has ever shown.
    furthest: UtcInstant,
    /// When the daemon was away last, in true time, and in that it was not asleep.
    away_from: Duration,
    away_until: Duration,
    away_awake: (Duration, Duration),
    /// What the wall showed when that began.
    away_wall: UtcInstant,
    /// When as many ran as may be at once, last, in true time.
    last_crowded: Option<Duration>,
    /// When a place among those being prepared became free last, in true time.
    last_place: Option<Duration>,
    /// A batch on its way.
    commit: Option<Vec<Recorded>>,
    /// One that was on its way when the daemon died.
    lost: Vec<Recorded>,
    /// Durable, and to be logged before anything else happens.
    unlogged: Vec<(Rc<str>, PeriodId)>,
    /// Processes to be adopted before anything else happens.
    unadopted: Vec<u64>,
    looked_up: BTreeMap<Rc<str>, (OnDisk, bool)>,
    /// Events that brought configurations which are not in force durably yet.
    reloads: VecDeque<u64>,
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
            event: 0,
            what: "",
            moments: Vec::new(),
            plans: Vec::new(),
            watches: Vec::new(),
            is_lapse: false,
            is_late: false,
            latest: UtcInstant::MIN,
            furthest: UtcInstant::MIN,
            away_from: Duration::ZERO,
            away_until: Duration::ZERO,
            away_awake: (Duration::ZERO, Duration::ZERO),
            away_wall: UtcInstant::MIN,
            last_crowded: None,
            last_place: None,
            commit: None,
            lost: Vec::new(),
            unlogged: Vec::new(),
            unadopted: Vec::new(),
            looked_up: BTreeMap::new(),
            reloads: VecDeque::new(),
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
        self.furthest = self.furthest.max(at.wall);
        if ends_event(&fact) {
            self.end_event();
        }
        match fact {
            Fact::Started => {
                self.is_up = true;
                self.is_starting = true;
                (self.stopping, self.last, self.previous) = (None, None, None);
                self.forget_moments();
                self.plans.clear();
                if at.wall < self.latest {
                    // The clock was set back while nobody watched.
                    self.jobs.values_mut().for_each(|job| job.set_back(at.wall));
                }
                self.latest = at.wall;
                self.idle = (0, 0, at.true_time);
                self.live.values_mut().for_each(|execution| execution.is_known = false);
                Ok(())
            }
            Fact::LookedUp { identity, found, survived, alive } => {
                // Some may have ended since it looked.
                for number in alive {
                    if let Some(execution) = self.live.get_mut(&number) {
                        execution.is_known = true;
                        self.unadopted.push(number);
                    }
                }
                self.looked_up.insert(identity, (found, survived));
                Ok(())
            }
            Fact::Configured(jobs) => self.configured(at, &jobs, zones),
            Fact::Confirmed => {
                self.confirm();
                Ok(())
            }
            Fact::Heard { what, planned, overdue, idle } => {
                self.hear(at, what, planned, overdue, idle)
            }
            Fact::Said(line) => self.said(&line, zones),
            Fact::Prepare { run, identity, period, chosen } => {
                self.prepare(at, run, &identity, period, chosen)
            }
            Fact::AtGate { run } => self.at_gate(at, run),
            Fact::NotMade { run } => {
                self.untry(at, run, true);
                Ok(())
            }
            Fact::Abandoned { run } => {
                let is_taken_back = self.is_lapse || self.is_late || self.what == "reload";
                self.untry(at, run, !is_taken_back);
                Ok(())
            }
            Fact::Commit(outcomes) => self.committing(outcomes),
            Fact::Committed => {
                self.has_committed = true;
                self.jobs.values_mut().for_each(|job| job.on_way.clear());
                for recorded in self.commit.take().unwrap_or_default() {
                    self.record(&recorded, true);
                }
                Ok(())
            }
            Fact::Released { run, process, durable } => self.released(at, run, process, durable),
            Fact::Adopted { run, process } => {
                self.adopted(at, run, process);
                Ok(())
            }
            Fact::Ended { process } => self.ended(at, process),
            Fact::Forgotten { run } => {
                self.forgotten(at, run);
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
            Fact::Away { until, awake } => {
                if self.away_until + SLACK < at.true_time {
                    (self.away_from, self.away_awake.0) = (at.true_time, at.awake);
                    self.away_wall = at.wall;
                }
                self.away_until = self.away_until.max(until);
                self.away_awake.1 = self.away_awake.1.max(awake);
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
        let (now, event) = (at.wall, self.event);
        let is_start = core::mem::take(&mut self.is_starting);
        let looked_up = core::mem::take(&mut self.looked_up);
        let (is_certain, is_stopping) = (self.commit.is_none(), self.stopping.is_some());
        self.reloads.push_back(event);
        let mut configured = Vec::new();
        for text in defined {
            let identity: Rc<str> = text.identity().into();
            configured.push(Rc::clone(&identity));
            let known = self.job(&identity).known.clone();
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
            let old = job.known.clone();
            let is_other = old.as_ref().is_none_or(|old| old.schedule != def.schedule);
            let was_suspended = old.as_ref().is_some_and(|old| old.job.policy().suspend);
            let is_retimed = old.as_ref().is_some_and(|old| old.timing != def.timing);
            let was_due = old.as_ref().and_then(|old| account::latest_due(&old.job, now));
            let through = job.through(was_due, now);
            if old.as_ref().is_none_or(|old| !Rc::ptr_eq(old, &def)) {
                job.generation += 1;
                job.known = Some(Rc::clone(&def));
            }
            let survived = looked_up.get(&identity).is_some_and(|(_, survived)| *survived);
            let is_certain =
                is_certain && (!looked_up.contains_key(&identity) || job.come_ashore(survived));
            let bar = match looked_up.get(&identity) {
                Some((OnDisk::Nothing | OnDisk::Damaged, _)) => true,
                Some((OnDisk::Something, _)) => {
                    if job.confirmed.is_none() {
                        // Whether the disk had heard of it is not certain.
                        job.quiet_before = job.quiet_before.max(now);
                    }
                    job.confirmed.as_ref().is_some_and(|known| *known != def.timing)
                }
                None => is_retimed || !was_configured,
            };
            if let Some((OnDisk::Damaged, _)) = looked_up.get(&identity) {
                self.damaged(&identity, &def, now);
            }
            let job = self.job(&identity);
            if bar || is_retimed || !was_configured {
                job.changed = event;
            }
            if bar || !was_configured && old.is_some() {
                job.bar(now);
                job.quieten(through);
                job.forget_open();
                job.passed.clear();
                job.drop_counts();
            }
            if is_retimed {
                job.planned.clear();
                job.tried.retain(|_, tries| *tries > 0);
            }
            let is_hindered = job.untried.values().any(|tried| tried.is_failure);
            // Otherwise it is not looked at.
            job.is_looked_at |= is_other || is_hindered;
            let resumed = was_suspended && !def.job.policy().suspend;
            if is_stopping {
                // Nothing more is judged by this daemon.
                job.look_away();
            } else if is_start || !was_configured || resumed || bar {
                job.attend(now, event, is_certain);
            } else if def.job.policy().suspend {
                job.leave(event);
            } else if is_other && job.attentive.is_none() {
                job.attend(now, event, is_certain);
            }
            job.begin_epoch(event, at);
        }
        for identity in self.jobs.keys().cloned().collect::<Vec<_>>() {
            if !configured.contains(&identity) && self.job(&identity).is_configured {
                self.audit_one(at, &identity)?;
                let job = self.job(&identity);
                job.leave(event);
                job.is_configured = false;
                job.is_leaving = true;
                job.generation += 1;
                job.changed = event;
                job.confirmed = None;
                job.begin_epoch(event, at);
            }
        }
        self.lost.clear();
        Ok(())
    }

    /// The state of a job is lost.
    fn damaged(&mut self, identity: &Rc<str>, def: &Def, now: UtcInstant) {
        let furthest = self.furthest;
        let job = self.job(identity);
        // What was due before now stays barred, by whatever definition; but nobody knows any
        // more what ran when the clock was ahead.
        if furthest > now {
            job.forget_after(now.saturating_sub(def.job.window().trail()));
        }
        // If other jobs know of a later time, it may be idle until then. This definition or an
        // earlier one may have run what lies ahead still.
        let lead = job.lead().max(def.job.window().lead());
        // It is kept in whole seconds.
        let lead = lead.saturating_add(Duration::from_secs(1));
        let ahead = furthest.saturating_add(lead).max(job.reach());
        job.quiet_before = job.quiet_before.max(furthest);
        job.quiet_through = job.quiet_through.max(ahead);
        let of_it = self.live.values_mut().filter(|execution| execution.identity == *identity);
        of_it.for_each(|execution| execution.is_known = false);
    }

    /// The earliest configuration that was not, is in force durably.
    fn confirm(&mut self) {
        let Some(event) = self.reloads.pop_front() else { return };
        for job in self.jobs.values_mut() {
            if job.changed > event {
                // What the disk will have of it is on its way.
                job.confirmed = None;
                continue;
            }
            job.is_leaving = false;
            if !job.is_configured {
                continue;
            }
            job.confirmed = job.known.as_ref().map(|def| def.timing.clone());
            if let Some(floor) = job.not_before.1.take() {
                job.not_before.0 = job.not_before.0.max(floor);
            }
        }
    }

    fn reset(&mut self, at: Time, identity: &Rc<str>) {
        let of_it = self.live.values().filter(|execution| execution.identity == *identity);
        let active: Vec<PeriodId> = of_it.map(|execution| execution.period).collect();
        let event = self.event;
        let job = self.job(identity);
        let Some(def) = job.known.clone() else { return };
        // What still runs is known to have begun.
        job.on_record.extend(active);
        let through = job.through(None, at.wall);
        job.quieten(through);
        let reach = job.quiet_through;
        job.before_reset = Some((reach, job.floor().max(job.quiet_before)));
        job.forget_by_reset(at.wall);
        let horizon = at.wall.saturating_add(def.job.window().lead());
        job.drop_counts();
        job.forget_open();
        (job.changed, job.reset) = (event, event);
        job.not_before = (job.not_before.0.min(at.wall), Some(at.wall));
        job.settled = at.wall;
        job.quiet_through = reach.min(horizon);
        job.quiet_before = at.wall;
        job.attend(at.wall, event, false);
        job.begin_epoch(event, at);
    }

    // ── Watching ────────────────────────────────────────────────────────────

    fn hear(
        &mut self,
        at: Time,
        what: &'static str,
        planned: Option<UtcInstant>,
        overdue: Duration,
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
            if self.commit.is_none() {
                // Everything that was judged before was sent on its way at once.
                self.forget_moments();
            }
        }
        if what != "committed" && self.commit.is_none() {
            self.check_gates()?;
        }
        (self.event, self.what) = (self.event + 1, what);
        self.moments.push(Moment { event: self.event, at });
        self.watch(at, planned, overdue)?;
        self.plans.push((at.wall, planned));
        if what == "tick" && self.stopping.is_none() {
            self.jobs.values_mut().for_each(|job| job.is_looked_at = job.attentive.is_some());
        }
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
    fn watch(
        &mut self,
        at: Time,
        planned: Option<UtcInstant>,
        overdue: Duration,
    ) -> Result<(), Breach> {
        (self.is_lapse, self.is_late) = (false, false);
        let Some(last) = self.last.replace(at) else { return Ok(()) };
        if last.true_time < at.true_time {
            self.previous = Some(last);
        }
        let expected = last.wall.saturating_add(at.awake.checked_sub(last.awake).unwrap());
        let is_before = at.wall < last.wall;
        let is_back = is_before || expected.since(at.wall).is_some_and(|by| by > SET);
        let late = planned.and_then(|planned| at.wall.since(planned)).unwrap_or_default();
        let is_forward = at.wall.since(expected).is_some_and(|by| by > SET) || late > STALL;
        if is_back || is_forward {
            // Until then it had watched.
            for identity in self.jobs.keys().cloned().collect::<Vec<_>>() {
                self.audit_until(last, last.wall, &identity)?;
            }
            self.end_watch();
            self.is_lapse = true;
            let (is_certain, event) = (self.commit.is_none(), self.event);
            for job in self.jobs.values_mut() {
                if is_back {
                    job.set_back(at.wall);
                }
                job.is_looked_at = job.attentive.is_some();
                // Back to a time after everything that was seen, nothing was missed.
                if (is_before || is_forward) && job.attentive.is_some() {
                    job.attend(at.wall, event, is_certain);
                }
                // What had waited is judged anew.
                job.looks.clear();
            }
        }
        // Since it heard something last, however early that was.
        let passed = at.awake.checked_sub(last.awake).unwrap();
        let shown = at.wall.since(last.wall).unwrap_or_default();
        self.is_late = late.min(shown).max(overdue.min(passed)) > DISPATCH;
        if self.is_lapse || self.is_late {
            self.unsettle();
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
        // What it finds when it is back it deals with in any order.
        let until = if was_away { until.min(self.away_wall) } else { until };
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
                && job.counts.iter().any(|count| count.number.is_some());
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
        if job.epochs.last().is_some_and(|epoch| epoch.event == self.event) {
            // What it is now it has just become.
            return true;
        }
        let Some(chosen) = decision.chosen() else { return false };
        let policy = decision.job().policy();
        let is_active = self.is_active(&job.identity);
        let tries = job.tried.get(&decision.period());
        // A place that is free is taken at once, which takes the false machine a while.
        let is_crowded =
            self.is_crowded() || self.last_crowded.is_some_and(|last| last + SLACK >= at.true_time);
        let is_queued = self.settings.preparing == 1 && self.has_turned(at);
        let is_late = until >= expiry(policy, chosen).saturating_add(SLACK);
        // What a try came to is dealt with in the same moment.
        let of_job = |run: &&Run| run.identity == job.identity;
        let is_under_way = |run: &Run| run.period == decision.period() && self.is_timely(run, at);
        let is_tried = self.runs.values().filter(of_job).any(is_under_way)
            || tries.is_some_and(|_| job.last_untried >= at.true_time);
        // And so it is if others are skipped unless that fails.
        let is_before = |run: &Run| !run.is_at_gate && self.is_timely(run, at);
        let is_put_off = policy.concurrency == Concurrency::Forbid
            && (self.runs.values().filter(of_job).any(is_before)
                || job.last_untried >= at.true_time);
        if is_tried || is_queued || is_put_off {
            return true;
        }
        // What did not end is tried again after a pause.
        let pause = if is_late { Duration::ZERO } else { PAUSE };
        let waits = policy.concurrency == Concurrency::Replace
            && (is_active || job.last_active + pause + SLACK >= at.true_time);
        let has_failed = tries.is_some_and(|tries| *tries == 0);
        waits || (!is_late && (has_failed || is_crowded))
    }

    fn is_crowded(&self) -> bool {
        self.settings.max_running.is_some_and(|most| self.runs.len() >= most)
    }

    fn is_executing(&self, identity: &Rc<str>) -> bool {
        self.live.values().any(|execution| execution.is_known && execution.identity == *identity)
    }

    fn is_active(&self, identity: &Rc<str>) -> bool {
        self.is_executing(identity) || self.runs.values().any(|run| run.identity == *identity)
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
        for recorded in &outcomes {
            let Recorded { identity, period, outcome } = recorded;
            self.job(identity).on_way.insert(*period);
            if *outcome == Outcome::Executed {
                self.start_recorded(identity, *period)?;
            } else {
                let def = self.judged(recorded)?;
                self.job(identity).judged.insert(*period, def);
            }
        }
        self.forget_moments();
        self.commit = Some(outcomes);
        Ok(())
    }

    fn record(&mut self, recorded: &Recorded, is_heard: bool) {
        let Recorded { identity, period, outcome } = recorded;
        let job = self.job(identity);
        // One that runs on after its marks were reset is recorded again.
        let is_known = job.tried.contains_key(period) || job.judged.contains_key(period);
        let is_old = *outcome == Outcome::Executed && is_heard && !is_known;
        if is_old {
            job.quiet.insert(*period);
        }
        if !job.closed.contains_key(period) && !is_old {
            let closed = Closed { outcome: Some(*outcome), is_logged: !is_heard };
            job.closed.insert(*period, closed);
            if !is_heard {
                // One of those is what the file has as the last.
                job.on_record.insert(*period);
            }
            if is_heard {
                self.unlogged.push((Rc::clone(identity), *period));
            }
        }
    }

    fn gone(&mut self, at: Time, stopped: bool) -> Result<(), Breach> {
        if self.is_up {
            if stopped {
                self.check_stop(at)?;
            } else if self.stopping.is_none() && !self.is_starting {
                self.end_of_watch(at)?;
            }
            self.check_endings(at)?;
        }
        if self.has_committed && self.commit.is_none() {
            // It died while it dealt with an answer, before the next batch.
            let event = self.event;
            self.jobs.values_mut().for_each(|job| job.drop_found(event));
        }
        self.is_up = false;
        self.is_starting = false;
        self.stopping = None;
        (self.last, self.previous, self.has_committed) = (None, None, false);
        (self.away_until, self.away_awake.1) = (Duration::ZERO, Duration::ZERO);
        self.runs.clear();
        (self.last_crowded, self.last_place) = (None, None);
        for (identity, period) in core::mem::take(&mut self.unlogged) {
            self.job(&identity).on_record.insert(period);
        }
        self.unadopted.clear();
        self.looked_up.clear();
        self.reloads.clear();
        self.lost.extend(self.commit.take().unwrap_or_default());
        for job in self.jobs.values_mut() {
            job.look_away();
            if let Some((reach, floor)) = job.before_reset.take() {
                // Whether the disk heard of the reset is not certain.
                job.quiet_through = job.quiet_through.max(reach);
                job.quiet_before = job.quiet_before.max(floor);
                job.hazy_until = job.hazy_until.max(job.settled);
                job.is_doubtful = true;
            }
            if core::mem::take(&mut job.is_leaving) {
                // As far as the disk knows it may never have been away.
                (job.is_configured, job.is_doubtful) = (true, true);
            }
            if job.not_before.1.take().is_some() {
                // Whether the disk heard of it is not certain.
                job.confirmed = None;
                job.hazy_until = job.hazy_until.max(job.settled);
                job.is_doubtful = true;
            }
            job.fell.clear();
            job.set_adrift();
            job.tried.clear();
            job.untried.clear();
        }
        Ok(())
    }
}

/// Whether whatever was heard before has been dealt with when this happens.
const fn ends_event(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::Heard { .. }
            | Fact::AtGate { .. }
            | Fact::NotMade { .. }
            | Fact::Committed
            | Fact::Ended { .. }
            | Fact::Gone { .. }
    )
}
