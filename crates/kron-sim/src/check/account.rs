//! What the checker knows of one job: which periods are closed, what may still
//! run, and what is owed. Its periods are found by walking the calendar.

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
}

impl Def {
    /// Parses a definition.
    pub fn parse(text: &Rc<Definition>, zones: &mut Zones) -> Result<Self, Breach> {
        let job = Job::parse(&text.identity(), &text.schedule(), zones).map_err(|error| {
            let what = format!("an invalid configuration is in force: {}: {error}", text.line());
            Breach { law: Law::InForce, what }
        })?;
        let (timing, schedule) = (job.timing().to_string(), job.schedule().to_string());
        Ok(Self { text: Rc::clone(text), job, timing, schedule })
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

/// One job.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact by itself")]
pub struct Account {
    pub identity: Rc<str>,
    /// In force, and those before it that judged what is still on its way.
    pub defs: VecDeque<Rc<Def>>,
    pub is_configured: bool,
    /// Counts definitions.
    pub generation: u32,
    /// The timing that the disk knows for certain.
    pub confirmed: Option<String>,
    /// Nothing due before may run: durably, and as long as the daemon lives.
    pub not_before: (UtcInstant, Option<UtcInstant>),
    /// What was due before need not have an outcome.
    pub quiet_before: UtcInstant,
    /// Periods up to here need not have an outcome.
    pub quiet_through: UtcInstant,
    /// Since when the daemon watches.
    pub attentive: Option<UtcInstant>,
    /// What was due before is closed, unless it is in `open`.
    pub settled: UtcInstant,
    pub open: BTreeSet<PeriodId>,
    pub closed: BTreeMap<PeriodId, Closed>,
    /// Passed over, if the daemon lives to record it.
    pub passed: BTreeSet<PeriodId>,
    /// Those of which that was on its way when nobody watched any more.
    pub left: BTreeSet<PeriodId>,
    /// How many each catch-up has to count; nothing if that is not certain.
    pub counts: VecDeque<Option<usize>>,
    /// What was due when attention began: due, period, whether it can run.
    pub behind: Vec<(UtcInstant, PeriodId, bool)>,
    /// Whether that was beyond doubt: nothing was on its way to the disk.
    pub is_certain: bool,
    pub ran: BTreeSet<PeriodId>,
    /// Those whose process died at its gate, which counts if it is recorded.
    pub fell: BTreeSet<PeriodId>,
    pub planned: BTreeSet<PeriodId>,
    /// Periods that were tried, and how many tries are under way.
    pub tried: BTreeMap<PeriodId, u32>,
    /// When an execution of it was active last, in true time.
    pub last_active: Duration,
    /// Until where marks reached before a reset that is not durable yet.
    pub before_reset: Option<UtcInstant>,
    /// Since when the daemon before this one watched.
    pub last_attentive: UtcInstant,
    /// Whether its marks were being reset, or its removal noted, when the daemon died.
    pub is_doubtful: bool,
    /// Whether it was removed and the disk may not know.
    pub is_leaving: bool,
}

impl Account {
    pub fn new(identity: Rc<str>) -> Self {
        Self {
            identity,
            defs: VecDeque::new(),
            is_configured: false,
            generation: 0,
            confirmed: None,
            not_before: (UtcInstant::MIN, None),
            quiet_before: UtcInstant::MIN,
            quiet_through: UtcInstant::MIN,
            attentive: None,
            settled: UtcInstant::MIN,
            open: BTreeSet::new(),
            closed: BTreeMap::new(),
            passed: BTreeSet::new(),
            left: BTreeSet::new(),
            counts: VecDeque::new(),
            behind: Vec::new(),
            is_certain: true,
            ran: BTreeSet::new(),
            fell: BTreeSet::new(),
            planned: BTreeSet::new(),
            tried: BTreeMap::new(),
            last_active: Duration::ZERO,
            before_reset: None,
            last_attentive: UtcInstant::MIN,
            is_doubtful: false,
            is_leaving: false,
        }
    }

    pub fn def(&self) -> Option<Rc<Def>> {
        self.defs.back().filter(|_| self.is_configured).cloned()
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
        if let Some(since) = self.attentive.take() {
            self.last_attentive = since;
        }
    }

    /// Nobody watches any more; what was to be passed over is not.
    pub fn leave(&mut self) {
        self.attentive = None;
        self.counts.clear();
        self.left.extend(&self.passed);
        self.open.extend(core::mem::take(&mut self.passed));
    }

    /// What is known of periods after this no longer holds.
    pub fn forget_after(&mut self, horizon: UtcInstant) {
        let is_kept = |period: &PeriodId| period.nominal().instant() <= horizon;
        self.closed.retain(|period, _| is_kept(period));
        self.ran.retain(is_kept);
        self.tried.retain(|period, _| is_kept(period));
        self.passed.retain(is_kept);
    }

    pub fn breach(&self, law: Law, what: impl core::fmt::Display) -> Breach {
        Breach { law, what: format!("{}: {what}", short(&self.identity)) }
    }

    fn is_owed(&self, decision: &Decision<'_>) -> bool {
        let period = decision.period();
        due(decision) >= self.floor().max(self.quiet_before)
            && period.nominal().instant() > self.quiet_through
            && !self.closed.contains_key(&period)
            && !self.passed.contains(&period)
    }

    /// Attention begins: what is behind, and what must be passed over of it.
    pub fn attend(&mut self, now: UtcInstant, is_certain: bool) {
        self.behind.clear();
        self.is_certain = is_certain;
        self.attentive = None;
        let Some(def) = self.def() else { return };
        if def.job.policy().suspend {
            return;
        }
        self.attentive = Some(now);
        let job = &def.job;
        let floor = self.floor();
        let from = self.open.iter().map(|p| job.window().of(*p).start()).min();
        let from = from.map_or(self.settled, |open| open.min(self.settled)).max(floor);
        let is_doubtful = core::mem::take(&mut self.is_doubtful);
        // Where the clock was set back, marks may reach further than what is known here.
        let was_back = self.quiet_through > UtcInstant::MIN;
        let mut is_ambiguous = false;
        let (mut looked_at, mut is_exact) = (0, is_certain && !is_doubtful && !was_back);
        let mut at = now.saturating_add(job.window().lead()).floor();
        while let Some(period) = job.prev_period(at) {
            if job.window().of(period).end() < from {
                break;
            }
            looked_at += 1;
            if looked_at > FAR {
                is_exact = false;
                self.open.retain(|open| *open > period);
                break;
            }
            at = before(period);
            let decision = job.decide(period);
            if due(&decision) >= now {
                continue;
            }
            if self.is_owed(&decision) {
                self.behind.push((due(&decision), period, decision.chosen().is_some()));
            } else if due(&decision) >= floor
                && !self.closed.contains_key(&period)
                && !self.passed.contains(&period)
            {
                // Nobody can say whether it counts.
                is_exact = false;
                is_ambiguous = true;
            }
        }
        if is_ambiguous {
            // Nor, therefore, which of those behind is the latest.
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
        if !over.is_empty() {
            self.counts.push_back(is_exact.then_some(over.len()));
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
