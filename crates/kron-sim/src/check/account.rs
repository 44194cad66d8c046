//! What the checker knows of one job: which periods are closed, what may still
//! run, and what is owed. Its periods are found by walking the calendar.

use super::judged::{Epoch, Look, Untried};
use super::window::Rule;
use crate::fact::short;
use crate::law::{Breach, Law};
use crate::scenario::Definition;
use core::time::Duration;
use kron_core::{Decision, Job, Outcome, PeriodId, PolicySpec, UtcInstant, Zones};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

/// Periods that are looked at when a job comes back after a long time.
const FAR: usize = 4096;

/// A definition, parsed by the checker itself.
#[derive(Debug)]
pub struct Def {
    /// The line.
    pub text: Rc<Definition>,
    /// What it means.
    pub job: Job,
    /// What decides its timing.
    pub timing: String,
    /// Its whole schedule.
    pub schedule: String,
    /// When its periods may run, as its text says.
    pub rule: Rule,
}

impl Def {
    /// Parses a definition.
    pub fn parse(text: &Rc<Definition>, zones: &mut Zones) -> Result<Self, Breach> {
        let job = Job::parse(&text.identity(), &text.schedule(), zones).map_err(|error| {
            let what = format!("an invalid configuration is in force: {}: {error}", text.line());
            Breach { law: Law::InForce, what }
        })?;
        let (timing, schedule) = (job.timing().to_string(), job.schedule().to_string());
        let Some(rule) = Rule::read(text) else {
            let what = format!("the checker cannot read {}", text.line());
            return Err(Breach { law: Law::Window, what });
        };
        Ok(Self { text: Rc::clone(text), job, timing, schedule, rule })
    }
}

/// How a period was closed.
#[derive(Clone, Copy, Debug)]
pub struct Closed {
    /// Its outcome; nothing if it was passed over.
    pub outcome: Option<Outcome>,
    /// Whether the log says so, or nobody could have heard.
    pub is_logged: bool,
}

/// Periods that a catch-up passes over.
#[derive(Clone, Debug)]
pub struct Count {
    /// How many; nothing if that is not certain.
    pub number: Option<usize>,
    /// Which.
    pub over: Vec<PeriodId>,
    /// At which event they were found.
    pub found: u64,
}

/// One job.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact by itself")]
pub struct Account {
    pub identity: Rc<str>,
    /// In force, or the last that was.
    pub known: Option<Rc<Def>>,
    /// That and those before it, with what else decides what may run.
    pub epochs: Vec<Epoch>,
    /// What decided the outcomes on their way, and those of runs at their gates.
    pub judged: BTreeMap<PeriodId, Rc<Def>>,
    /// The period that came to its gate last, and the event that tells of it.
    pub at_gate: Option<(PeriodId, u64)>,
    /// When it was looked at since the daemon watches, and whether it is being.
    pub looks: Vec<Look>,
    pub is_looked_at: bool,
    pub is_configured: bool,
    /// Counts definitions.
    pub generation: u32,
    /// At which event that, or what may run, changed last.
    pub changed: u64,
    /// At which its marks were reset last.
    pub reset: u64,
    /// The timing that the disk knows for certain.
    pub confirmed: Option<String>,
    /// Nothing due before may run: durably, and as long as the daemon lives.
    pub not_before: (UtcInstant, Option<UtcInstant>),
    /// What was due before need not have an outcome.
    pub quiet_before: UtcInstant,
    /// Periods up to here need not have an outcome.
    pub quiet_through: UtcInstant,
    /// Nor need these: whether they are closed is not certain.
    pub quiet: BTreeSet<PeriodId>,
    /// What was settled when its clock was set back, or when a change was lost: what comes
    /// due again before is not kept track of.
    pub hazy_until: UtcInstant,
    /// Periods that may be open though no outcome is owed.
    pub hazy: BTreeSet<PeriodId>,
    /// Since when the daemon watches.
    pub attentive: Option<UtcInstant>,
    /// What was due before is closed, unless it is in `open`.
    pub settled: UtcInstant,
    pub open: BTreeSet<PeriodId>,
    /// Those of which that is beyond doubt though the clock was set back: they had been tried
    /// in vain, and are due still.
    pub waiting: BTreeSet<PeriodId>,
    pub closed: BTreeMap<PeriodId, Closed>,
    /// Passed over, if the daemon lives to record it.
    pub passed: BTreeSet<PeriodId>,
    /// Those of which that was on its way when nobody watched any more, in the order in which
    /// they are told of.
    pub left: VecDeque<Count>,
    /// Those of which it was when the daemon died, and whether they are in its last
    /// batch beyond doubt.
    pub adrift: BTreeSet<PeriodId>,
    pub is_adrift_certain: bool,
    /// Outcomes in the batch on its way.
    pub on_way: BTreeSet<PeriodId>,
    /// The period whose outcome was told last.
    pub last: Option<PeriodId>,
    /// Those that were so when the marks were reset: they stay closed.
    pub on_record: BTreeSet<PeriodId>,
    /// What each catch-up has to count.
    pub counts: VecDeque<Count>,
    /// What was due when attention began: due, period, whether it can run.
    pub behind: Vec<(UtcInstant, PeriodId, bool)>,
    /// Whether that was beyond doubt: nothing was on its way to the disk.
    pub is_certain: bool,
    /// Whether a count may be told that nobody here expects.
    pub may_count: bool,
    pub ran: BTreeSet<PeriodId>,
    /// Those whose process died at its gate, which counts if it is recorded.
    pub fell: BTreeSet<PeriodId>,
    pub planned: BTreeSet<PeriodId>,
    /// Periods that were tried, and how many tries are under way.
    pub tried: BTreeMap<PeriodId, u32>,
    /// How the last try of a period came to nothing, if it did.
    pub untried: BTreeMap<PeriodId, Untried>,
    /// When a try came to nothing last, in true time.
    pub last_untried: Duration,
    /// When an execution of it was active last, in true time.
    pub last_active: Duration,
    /// The same, but for what was only being prepared.
    pub last_begun: Duration,
    /// Until where marks reached before a reset that is not durable yet, and before
    /// which time nothing could run.
    pub before_reset: Option<(UtcInstant, UtcInstant)>,
    /// Outcomes that were on their way then, and which it forgets as well.
    pub doomed: BTreeSet<PeriodId>,
    /// Since when the daemon before this one watched.
    pub last_attentive: UtcInstant,
    /// Whether its marks were being reset, or its change or removal noted, when the daemon
    /// died.
    pub is_doubtful: bool,
    /// Whether it was removed and the disk may not know.
    pub is_leaving: bool,
}

impl Account {
    pub fn new(identity: Rc<str>) -> Self {
        Self {
            identity,
            known: None,
            epochs: Vec::new(),
            judged: BTreeMap::new(),
            at_gate: None,
            looks: Vec::new(),
            is_looked_at: false,
            is_configured: false,
            generation: 0,
            changed: 0,
            reset: 0,
            confirmed: None,
            not_before: (UtcInstant::MIN, None),
            quiet_before: UtcInstant::MIN,
            quiet_through: UtcInstant::MIN,
            quiet: BTreeSet::new(),
            hazy_until: UtcInstant::MIN,
            hazy: BTreeSet::new(),
            attentive: None,
            settled: UtcInstant::MIN,
            open: BTreeSet::new(),
            waiting: BTreeSet::new(),
            closed: BTreeMap::new(),
            passed: BTreeSet::new(),
            left: VecDeque::new(),
            adrift: BTreeSet::new(),
            is_adrift_certain: true,
            on_way: BTreeSet::new(),
            last: None,
            on_record: BTreeSet::new(),
            counts: VecDeque::new(),
            behind: Vec::new(),
            is_certain: true,
            may_count: false,
            ran: BTreeSet::new(),
            fell: BTreeSet::new(),
            planned: BTreeSet::new(),
            tried: BTreeMap::new(),
            untried: BTreeMap::new(),
            last_untried: Duration::ZERO,
            last_active: Duration::ZERO,
            last_begun: Duration::ZERO,
            before_reset: None,
            doomed: BTreeSet::new(),
            last_attentive: UtcInstant::MIN,
            is_doubtful: false,
            is_leaving: false,
        }
    }

    pub fn def(&self) -> Option<Rc<Def>> {
        self.known.clone().filter(|_| self.is_configured)
    }

    pub fn floor(&self) -> UtcInstant {
        self.not_before.0.max(self.not_before.1.unwrap_or(UtcInstant::MIN))
    }

    /// Nothing due before `now` may run from here on.
    pub fn bar(&mut self, now: UtcInstant) {
        self.not_before.1 = Some(self.floor().max(now));
        self.settled = self.settled.max(now);
    }

    /// The daemon no longer watches.
    pub fn look_away(&mut self) {
        self.looks.clear();
        self.is_looked_at = false;
        if let Some(since) = self.attentive.take() {
            self.last_attentive = since;
        }
    }

    /// Nobody watches any more; what was to be passed over is not. What was found at this very
    /// event is on no way: the job is another before it is looked at.
    pub fn leave(&mut self, event: u64) {
        self.look_away();
        let mut passed = core::mem::take(&mut self.passed);
        self.open.extend(&passed);
        let mut counts = self.counts.clone();
        self.drop_counts();
        for count in &mut counts {
            count.over.retain(|period| passed.remove(period));
        }
        if !passed.is_empty() {
            // What nobody here has a count of was found before the others.
            let over = passed.into_iter().collect();
            self.left.push_back(Count { number: None, over, found: 0 });
        }
        self.left.extend(counts.into_iter().filter(|count| count.found != event));
    }

    fn left_over(&self) -> impl Iterator<Item = &PeriodId> {
        self.left.iter().flat_map(|count| &count.over)
    }

    /// It is told how many were passed over. Returns whether these were left when nobody
    /// watched any more: each batch tells of its own, and those after them may be in the next.
    pub fn tell_left(&mut self, number: Option<usize>) -> bool {
        let is_it = |known: &Count| known.number == number;
        let place = self.left.iter().position(is_it);
        let place = place.or_else(|| self.left.iter().position(|known| known.number.is_none()));
        let Some(place) = place else { return false };
        let over = self.left.drain(..=place).flat_map(|told| told.over).collect();
        self.close_over(&over);
        true
    }

    /// They are passed over, durably.
    pub fn close_over(&mut self, over: &BTreeSet<PeriodId>) {
        self.open.retain(|period| !over.contains(period));
        self.passed.retain(|period| !over.contains(period));
        for period in over {
            let closed = Closed { outcome: None, is_logged: true };
            self.closed.entry(*period).or_insert(closed);
        }
        // What was found once more while that was on its way is told of once.
        for count in self.counts.iter_mut().filter(|count| count.number.is_none()) {
            count.over.retain(|period| !over.contains(period));
        }
        self.counts.retain(|count| count.number.is_some() || !count.over.is_empty());
    }

    /// What was to be counted is not, or was told before that.
    pub fn drop_counts(&mut self) {
        self.may_count |= !self.counts.is_empty();
        self.counts.clear();
    }

    /// The daemon died: what it found then is in no batch.
    pub fn drop_found(&mut self, event: u64) {
        for count in self.counts.iter().filter(|count| count.found == event) {
            self.open.extend(&count.over);
            self.passed.retain(|period| !count.over.contains(period));
        }
    }

    /// The daemon died: what it was passing over is open again, unless its last batch
    /// survived.
    pub fn set_adrift(&mut self) {
        self.counts.clear();
        self.behind.clear();
        self.on_way.clear();
        self.judged.clear();
        self.may_count = false;
        let passed = core::mem::take(&mut self.passed);
        let left = core::mem::take(&mut self.left);
        if !passed.is_empty() || !left.is_empty() {
            self.is_adrift_certain &= self.is_certain;
        }
        self.adrift
            .extend(passed.iter().copied().chain(left.into_iter().flat_map(|left| left.over)));
        self.open.extend(passed);
    }

    /// A daemon found what the last batch of the one before left. Returns whether that
    /// leaves no doubt.
    ///
    /// What is passed over is recorded at once, with the batch that begins when it is
    /// found. So if nothing was on its way then, it is in the last batch, and is closed
    /// if that is there. Otherwise it may be in the one after, and nobody here can tell.
    pub fn come_ashore(&mut self, survived: bool) -> bool {
        let adrift = core::mem::take(&mut self.adrift);
        let is_certain = core::mem::replace(&mut self.is_adrift_certain, true);
        if !survived {
            return true;
        }
        if is_certain {
            self.open.retain(|period| !adrift.contains(period));
            for period in adrift {
                let closed = Closed { outcome: None, is_logged: true };
                self.closed.entry(period).or_insert(closed);
            }
        } else {
            self.quiet_before = self.quiet_before.max(self.last_attentive);
        }
        is_certain
    }

    /// The clock was set back: no outcome is owed up to where marks may be, but of what is
    /// known to wait. After that everything is, however far the clock had been.
    pub fn set_back(&mut self, now: UtcInstant) {
        self.waiting =
            self.open.iter().filter(|period| self.is_waiting(**period, now)).copied().collect();
        self.hazy_until = self.hazy_until.max(self.settled);
        let sets = [&self.passed, &self.on_way, &self.adrift, &self.open];
        let all = sets.into_iter().flatten().chain(self.left_over()).chain(self.tried.keys());
        let all: Vec<PeriodId> = all.copied().collect();
        self.hazy.extend(all.into_iter().filter(|period| !self.waiting.contains(period)));
        let through = self.through(None, now);
        self.quieten(through);
    }

    /// No outcome is owed of what a mark may have closed: everything up to the first period
    /// that is open for certain (`HandledThrough`), and what may be closed beyond it, which is
    /// on its way or about to be (`HandledAhead`).
    pub fn quieten(&mut self, through: UtcInstant) {
        self.quiet_through = self.quiet_through.max(through);
        let unsure: Vec<PeriodId> = self.unsure().copied().collect();
        self.quiet.extend(unsure);
    }

    /// What is closed, if what is under way does not come to nothing.
    fn unsure(&self) -> impl Iterator<Item = &PeriodId> {
        let sets = [&self.passed, &self.on_way, &self.adrift];
        sets.into_iter().flatten().chain(self.tried.keys()).chain(self.left_over())
    }

    /// Up to where every period of the definition is closed, or may be; those that were due
    /// before `now` are.
    pub fn through(&self, was_due: Option<UtcInstant>, now: UtcInstant) -> UtcInstant {
        // Those that were due before anything could run are closed, too, and in its way nowhere.
        let reach = self.reach().max(was_due.unwrap_or(now)).max(now).max(self.settled);
        let Some(def) = self.known.as_ref() else { return reach };
        let unsure: BTreeSet<PeriodId> = self.unsure().copied().collect();
        let floor = self.floor();
        let from = self.settled.min(now).max(floor).saturating_sub(def.job.window().trail());
        let mut at = from.floor();
        let mut looked_at = 0;
        while let Some(period) = def.job.next_period(at)
            && period.nominal().instant() <= reach
            && looked_at < FAR
        {
            (at, looked_at) = (period.nominal(), looked_at + 1);
            let is_closed = self.closed.contains_key(&period) || unsure.contains(&period);
            if !is_closed && due(&def.job.decide(period)) >= floor.max(self.settled).max(now) {
                return before(period).instant();
            }
        }
        reach
    }

    /// Whether a period that is open was tried, is not any more, and will be again or is
    /// missed: no mark can have closed it.
    fn is_waiting(&self, period: PeriodId, now: UtcInstant) -> bool {
        let has_failed = self
            .untried
            .get(&period)
            .is_some_and(|tried| tried.is_failure && tried.generation == self.generation);
        let is_tried = self.tried.get(&period).is_some_and(|tries| *tries > 0);
        let is_judged = self.judged.contains_key(&period) || self.on_way.contains(&period);
        let is_due = self.def().is_some_and(|def| due(&def.job.decide(period)) < now);
        (has_failed || self.waiting.contains(&period)) && !is_tried && !is_judged && is_due
    }

    /// What was open is closed, or nobody's business any more.
    pub fn forget_open(&mut self) {
        self.open.clear();
        self.waiting.clear();
    }

    /// How far marks may reach: everything that was closed, or is about to be.
    pub fn reach(&self) -> UtcInstant {
        let last = |periods: &BTreeSet<PeriodId>| periods.last().copied();
        let closed = self.closed.keys().next_back().copied();
        let sets = [&self.passed, &self.on_way, &self.adrift];
        let tried = self.tried.keys().next_back().copied();
        let left = self.left_over().max().copied();
        let all = sets.into_iter().filter_map(last).chain(closed).chain(tried).chain(left);
        all.max().map_or(UtcInstant::MIN, |period| period.nominal().instant())
    }

    /// What is known of periods after this no longer holds.
    pub fn forget_after(&mut self, horizon: UtcInstant) {
        self.keep(|period| period.nominal().instant() <= horizon);
    }

    /// Nothing is known any more of what a reset at `now` forgets. What was closed stays so
    /// if its window has begun; only then, and only by the definition in force, which is the
    /// one that is asked.
    pub fn forget_by_reset(&mut self, now: UtcInstant) {
        let Some(def) = self.known.clone() else { return };
        let horizon = now.saturating_add(def.job.window().lead());
        let is_forgotten = |period: &&PeriodId| {
            let nominal = period.nominal();
            let is_known = def.job.prev_period(nominal) == Some(**period);
            nominal.instant() > horizon || (nominal.instant() > now && !is_known)
        };
        self.doomed = self.on_way.iter().filter(is_forgotten).copied().collect();
        self.forget_after(horizon);
        self.forget_others_after(now, &def.job);
        self.on_record.extend(self.last);
    }

    /// Nor of what was told since and had been recorded before it.
    pub fn forget_doomed(&mut self) {
        let doomed = core::mem::take(&mut self.doomed);
        self.on_record.extend(self.last.filter(|last| doomed.contains(last)));
        self.keep(|period| !doomed.contains(period));
    }

    /// Nor what is known of those after this that another definition had.
    pub fn forget_others_after(&mut self, horizon: UtcInstant, job: &Job) {
        self.keep(|period| {
            let nominal = period.nominal();
            nominal.instant() <= horizon || job.prev_period(nominal) == Some(*period)
        });
    }

    fn keep(&mut self, is_kept: impl Fn(&PeriodId) -> bool) {
        self.closed.retain(|period, _| is_kept(period));
        self.ran.retain(&is_kept);
        self.fell.retain(&is_kept);
        self.tried.retain(|period, _| is_kept(period));
        self.passed.retain(is_kept);
    }

    pub fn breach(&self, law: Law, what: impl core::fmt::Display) -> Breach {
        Breach { law, what: format!("{}: {what}", short(&self.identity)) }
    }

    fn is_owed(&self, decision: &Decision<'_>) -> bool {
        let period = decision.period();
        due(decision) >= self.floor().max(self.quiet_before)
            && !self.is_quiet(period)
            && !self.closed.contains_key(&period)
            && !self.passed.contains(&period)
            && !self.on_record.contains(&period)
    }

    /// Whether a period is one of those up to which no outcome is owed.
    fn is_quiet(&self, period: PeriodId) -> bool {
        let is_quiet =
            period.nominal().instant() <= self.quiet_through || self.quiet.contains(&period);
        is_quiet && !self.waiting.contains(&period)
    }

    /// From where on something may be open, of what is counted.
    fn open_from(&self, job: &Job, is_counted: impl Fn(&PeriodId) -> bool) -> UtcInstant {
        let open = self.open.iter().filter(|period| is_counted(period));
        let from = open.map(|period| job.window().of(*period).start()).min();
        from.map_or(self.settled, |open| open.min(self.settled)).max(self.floor())
    }

    /// Attention begins: what is behind, and what must be passed over of it.
    pub fn attend(&mut self, now: UtcInstant, event: u64, is_certain: bool) {
        self.behind.clear();
        // What was found before is in the batch after the one that was on its way then.
        self.is_certain = is_certain && (self.is_certain || self.passed.is_empty());
        self.attentive = None;
        // What was due at the last look was seen then, and waits since.
        let seen = self.looks.drain(..).map(|look| look.at.wall).max();
        let Some(def) = self.def() else { return };
        if def.job.policy().suspend {
            return;
        }
        self.attentive = Some(now);
        self.is_looked_at = true;
        let job = &def.job;
        let floor = self.floor();
        let from = self.open_from(job, |_| true);
        let hazy_from = self.open_from(job, |period| !self.waiting.contains(period));
        let is_doubtful = core::mem::take(&mut self.is_doubtful);
        let mut is_ambiguous = false;
        self.hazy.retain(|period| !self.closed.contains_key(period));
        let is_hazy = !self.hazy.is_empty()
            || (hazy_from <= self.hazy_until && self.hazy_until > UtcInstant::MIN);
        let (mut looked_at, mut is_exact) = (0, is_certain && !is_doubtful && !is_hazy);
        let mut at = now.saturating_add(job.window().lead()).floor();
        while let Some(period) = job.prev_period(at) {
            if job.window().of(period).end() < from {
                break;
            }
            looked_at += 1;
            if looked_at > FAR {
                is_exact = false;
                self.open.retain(|open| *open > period);
                // One mark closes them all.
                self.quiet_through = self.quiet_through.max(period.nominal().instant());
                break;
            }
            at = before(period);
            let decision = job.decide(period);
            if due(&decision) >= now {
                continue;
            }
            // Where no outcome is owed the daemon may still be trying one, which counts when
            // it is passed over in the end; nobody here keeps track of that.
            is_exact &= !self.is_quiet(period) || self.closed.contains_key(&period);
            // What is told of just now is taken back.
            let is_judged =
                self.judged.contains_key(&period) && self.at_gate != Some((period, event));
            if self.on_way.contains(&period) || is_judged {
                // It is judged, or at its gate; it is open only if the batch is lost.
                self.open.insert(period);
                continue;
            }
            let is_owed = self.is_owed(&decision);
            if is_owed && seen.is_some_and(|seen| due(&decision) <= seen) {
                self.open.insert(period);
            } else if is_owed {
                self.behind.push((due(&decision), period, decision.chosen().is_some()));
            } else if due(&decision) >= floor
                && !self.closed.contains_key(&period)
                && !self.passed.contains(&period)
            {
                // Nobody can say whether it counts.
                is_exact = false;
                is_ambiguous = true;
                self.hazy.insert(period);
                self.quiet.insert(period);
            }
        }
        // Of those behind all but the latest are passed over. What was seen before waits, and
        // what the clock went back to before comes due again.
        let (stay, mut behind): (BTreeSet<_>, BTreeSet<_>) =
            core::mem::take(&mut self.hazy).into_iter().partition(|period| {
                let due = due(&job.decide(*period));
                due >= now || seen.is_some_and(|seen| due <= seen)
            });
        self.hazy = stay.into_iter().chain(behind.pop_last()).collect();
        if is_ambiguous {
            // Nor, therefore, which of those behind is the latest, whatever the clock shows then.
            self.quiet.extend(self.behind.iter().map(|(_, period, _)| *period));
            self.quiet_before = self.quiet_before.max(now);
        }
        self.behind.sort_unstable();
        let latest = self.behind.iter().rev().find(|(_, _, runs)| *runs).copied();
        let hopeless = self.behind.iter().rev().find(|(_, _, runs)| !*runs).copied();
        let hopeless = hopeless.filter(|(due, ..)| latest.is_none_or(|latest| *due > latest.0));
        let judged: Vec<PeriodId> =
            latest.iter().chain(&hopeless).map(|(_, period, _)| *period).collect();
        let over: Vec<PeriodId> =
            self.behind.iter().map(|(_, p, _)| *p).filter(|p| !judged.contains(p)).collect();
        self.may_count |= !is_exact;
        if !over.is_empty() {
            let number = is_exact.then_some(over.len());
            self.counts.push_back(Count { number, over: over.clone(), found: event });
        }
        self.passed.extend(over);
        self.open.extend(judged);
    }

    /// Whether a period due before attention began may be judged.
    pub fn check_catch_up(&self, decision: &Decision<'_>) -> Result<(), Breach> {
        let Some(since) = self.attentive.filter(|since| due(decision) < *since) else {
            return Ok(());
        };
        // What is not behind was judged before attention was lost.
        let is_behind = self.behind.iter().any(|(_, period, _)| *period == decision.period());
        if !is_behind || !self.is_certain {
            return Ok(());
        }
        let (due, can_run) = (due(decision), decision.chosen().is_some());
        let later = self.behind.iter().find(|(other, period, runs)| {
            *other > due && *period != decision.period() && (*runs || !can_run)
        });
        let Some((other, later, _)) = later else { return Ok(()) };
        let period = decision.period();
        Err(self.breach(
            Law::CatchUp,
            format!("{period} (due {due}) is judged after {since}, though {later} (due {other}) is later"),
        ))
    }

    /// Everything that came due until then has its outcome, or a reason to be
    /// open, which `excuse` gives.
    pub fn audit(
        &mut self,
        until: UtcInstant,
        excuse: impl Fn(&Self, &Decision<'_>, UtcInstant) -> bool,
    ) -> Result<u64, Breach> {
        let (Some(since), Some(def)) = (self.attentive, self.def()) else { return Ok(0) };
        if until <= since {
            return Ok(0);
        }
        let job = &def.job;
        let from = since.max(self.settled);
        let mut owed = Vec::new();
        let mut seen = 0;
        let mut at = from.saturating_sub(job.window().trail()).floor();
        at = kron_core::UtcSecond::new(at.unix_seconds() - 1).unwrap_or(at);
        while let Some(period) = job.next_period(at) {
            at = period.nominal();
            if job.window().of(period).start() > until {
                break;
            }
            let decision = job.decide(period);
            if due(&decision) >= from && due(&decision) <= until {
                seen += 1;
                if self.is_owed(&decision) {
                    owed.push(decision);
                } else if !self.closed.contains_key(&period) && !self.passed.contains(&period) {
                    self.hazy.insert(period);
                    self.quiet.insert(period);
                }
            }
        }
        for period in &self.open {
            let decision = job.decide(*period);
            if self.is_owed(&decision) && due(&decision) <= until {
                owed.push(decision);
            }
        }
        let mut open = BTreeSet::new();
        for decision in owed {
            if !excuse(self, &decision, until) {
                let (period, due) = (decision.period(), due(&decision));
                let tries = self.tried.get(&period);
                return Err(self.breach(
                    Law::EveryPeriod,
                    format!("{period}, due {due}, has no outcome at {until} (watched since {since}, tries under way: {tries:?})"),
                ));
            }
            open.insert(decision.period());
        }
        self.open = open;
        self.settled = self.settled.max(until);
        Ok(seen)
    }
}

fn before(period: PeriodId) -> kron_core::UtcSecond {
    let nominal = period.nominal();
    kron_core::UtcSecond::new(nominal.unix_seconds() - 1).unwrap_or(nominal)
}

/// The nominal time of the latest period that was due before `now`: those up to it may
/// all be closed by one mark, however they were.
pub fn latest_due(job: &Job, now: UtcInstant) -> Option<UtcInstant> {
    let mut at = now.saturating_add(job.window().lead()).floor();
    loop {
        let period = job.prev_period(at)?;
        if due(&job.decide(period)) < now {
            return Some(period.nominal().instant());
        }
        at = before(period);
    }
}

/// When a period asks for attention: at its chosen time, or when its window opens
/// if it has none (DECISIONS: `unschedulable` is recorded at window start).
pub fn due(decision: &Decision<'_>) -> UtcInstant {
    decision.chosen().map_or(decision.window().start(), kron_core::UtcSecond::instant)
}

/// The first instant after the deadline (SPEC, Deadline Semantics): without one,
/// lateness is judged in whole seconds; with one, its end is included.
pub fn expiry(policy: &PolicySpec, chosen: kron_core::UtcSecond) -> UtcInstant {
    let accepted = match policy.deadline {
        Duration::ZERO => Duration::from_secs(1),
        deadline => deadline.saturating_add(Duration::from_nanos(1)),
    };
    chosen.instant().saturating_add(accepted)
}
