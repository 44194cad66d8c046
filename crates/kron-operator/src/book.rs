//! What is kept of a `KronJob` between one plan and the next: its status, as the core
//! understands it (DECISIONS on what counts as handled; OPR-10).
//!
//! Pure. Reading what was written gives the same book.

use crate::api::{ActiveJob, History, KronJobStatus, LastPeriod, Marks, NextPeriod, RunResult};
use crate::facts::{Fact, Phase};
use kron_core::{Closure, Decision, DefinitionHash, Job, Ledger, PeriodId, SeedHash, UtcInstant};
use std::collections::BTreeMap;
use std::time::Duration;

/// Outcomes that are kept…
const HISTORY: usize = 10;
/// …and how many may be because Jobs of older ones have not ended. An object can only be so
/// large.
const LONGEST_HISTORY: usize = 50;
/// Active Jobs that are listed, the latest; others are only counted. An object can only be so
/// large, and with `allow` there may be any number that never end.
pub const ACTIVE: usize = 200;
/// For so long after its creation, what came due of a new `KronJob` is caught up with,
/// because an operator may have been restarted just then. One that is older may have lost
/// its status, and what may have run must not run again.
const NEWBORN: Duration = Duration::from_secs(600);

/// The status of a `KronJob`, but for what others can see from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Book {
    /// Which periods are closed.
    pub ledger: Ledger,
    /// The period handled most recently.
    pub last: Option<LastPeriod>,
    /// The claim: only this period's Job may be created, and those of…
    pub next: Option<NextPeriod>,
    /// …periods that are due and wait.
    pub pending: Vec<NextPeriod>,
    /// Jobs that have not finished, the latest of them.
    pub active: Vec<ActiveJob>,
    /// How many there are.
    pub active_count: u32,
    /// Outcomes, the newest first.
    pub history: Vec<History>,
}

/// What a decision was made by; as far as that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Basis {
    /// The whole schedule.
    pub schedule: Option<String>,
    /// Generation of the spec.
    pub generation: Option<i64>,
}

impl Basis {
    /// This definition, which is of that generation.
    #[must_use]
    pub fn of(job: &Job, generation: i64) -> Self {
        Self { schedule: Some(job.schedule().to_string()), generation: Some(generation) }
    }
}

/// A Job that has finished, or is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Its name.
    pub job: String,
    /// Its period.
    pub period: PeriodId,
    /// How.
    pub result: RunResult,
}

/// How a book was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// As it was written.
    Kept,
    /// There was none: the `KronJob` is new.
    New,
    /// It could not be read, or is gone; nothing from before now runs.
    Lost(String),
}

impl Book {
    /// The book of a `KronJob`.
    #[must_use]
    pub fn read(
        status: Option<&KronJobStatus>,
        job: &Job,
        created: Option<UtcInstant>,
        now: UtcInstant,
    ) -> (Self, Origin) {
        let marks = status.and_then(|status| status.marks.as_ref());
        let (ledger, origin) = match marks.map(ledger) {
            Some(Ok(ledger)) => (ledger, Origin::Kept),
            Some(Err(why)) => (without_marks(status, job, now), Origin::Lost(why)),
            None => match first_sight(status, created, now) {
                Some(at) => (Ledger::first_sight(job, at), Origin::New),
                None => {
                    let why = "the status has no marks of what was handled".into();
                    (without_marks(status, job, now), Origin::Lost(why))
                }
            },
        };
        let status = status.cloned().unwrap_or_default();
        let book = Self {
            ledger,
            last: status.last_period,
            next: status.next_period,
            pending: status.pending,
            active: status.active,
            active_count: status.active_count,
            history: status.history,
        };
        (book, origin)
    }

    /// A book in the place of one that nobody can read.
    #[must_use]
    pub fn lost(job: &Job, why: String, now: UtcInstant) -> (Self, Origin) {
        let book = Self {
            ledger: without_marks(None, job, now),
            ..Self::kept(&KronJobStatus::default(), now)
        };
        (book, Origin::Lost(why))
    }

    /// Puts the book into a status; the rest of it stays.
    pub fn write(&self, status: &mut KronJobStatus) {
        status.marks = Some(Marks {
            handled_through: self.ledger.handled_through().map(|period| period.to_string()),
            handled_ahead: self.ledger.handled_ahead().iter().map(PeriodId::to_string).collect(),
            not_before: self.ledger.not_before().to_string(),
            definition_hash: self.ledger.definition().map(|hash| hash.to_string()),
        });
        status.last_period.clone_from(&self.last);
        status.next_period.clone_from(&self.next);
        status.pending.clone_from(&self.pending);
        status.active.clone_from(&self.active);
        status.active_count = self.active_count;
        status.history.clone_from(&self.history);
    }

    /// Whether there are active Jobs that are not listed.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        usize::try_from(self.active_count).is_ok_and(|count| count > self.active.len())
    }

    /// Whether this period is due and waits.
    #[must_use]
    pub fn is_pending(&self, period: PeriodId) -> bool {
        let period = period.to_string();
        self.pending.iter().any(|claimed| claimed.period_id == period)
    }

    /// Whether this period has been claimed.
    #[must_use]
    pub fn has_claimed(&self, period: PeriodId) -> bool {
        let period = period.to_string();
        self.next.iter().chain(&self.pending).any(|claimed| claimed.period_id == period)
    }

    /// Records the end of a period, by a decision with this seed and basis.
    pub fn close(
        &mut self,
        definition: &Job,
        end: &Closure,
        (seed_hash, basis): (SeedHash, Basis),
        job: Option<&str>,
        now: UtcInstant,
    ) {
        self.ledger.close(definition, end, now);
        self.enter(end, Some(seed_hash), basis, job);
    }

    /// Claims this period as the next and those as pending, all by one definition.
    pub fn claim(&mut self, next: Option<&Decision<'_>>, pending: &[Decision<'_>], basis: &Basis) {
        self.next = next.map(|next| claim(next, basis.clone()));
        // It is long, and all have the same: an object can only be so large.
        let mut schedule = basis.schedule.clone().filter(|_| next.is_none());
        let pending = pending.iter().map(|decision| {
            claim(decision, Basis { schedule: schedule.take(), generation: basis.generation })
        });
        self.pending = pending.collect();
    }

    /// What the claim of a period was made by.
    #[must_use]
    pub fn basis_of_claim(&self, period: PeriodId) -> Basis {
        let period = period.to_string();
        let mut claims = self.next.iter().chain(&self.pending);
        let schedule = claims.clone().find_map(|claim| claim.schedule.clone());
        let claim = claims.find(|claim| claim.period_id == period);
        claim.map_or_else(Basis::default, |claim| Basis { schedule, generation: claim.generation })
    }

    /// The book that is in a status, whatever the spec says.
    #[must_use]
    pub fn kept(status: &KronJobStatus, now: UtcInstant) -> Self {
        Self {
            ledger: marked(status, now),
            last: status.last_period.clone(),
            next: status.next_period.clone(),
            pending: status.pending.clone(),
            active: status.active.clone(),
            active_count: status.active_count,
            history: status.history.clone(),
        }
    }

    /// Jobs that nobody has recorded yet, one of each period.
    #[must_use]
    pub fn unrecorded<'f>(&self, jobs: &'f [Fact]) -> Vec<&'f Fact> {
        let mut found: Vec<&Fact> =
            jobs.iter().filter(|fact| !self.ledger.is_marked(fact.period)).collect();
        found.sort_by_key(|fact| (fact.period, &fact.name));
        found.dedup_by_key(|fact| fact.period);
        found
    }

    /// Records a Job that was found: it was created, whatever was to be decided.
    pub fn find(&mut self, fact: &Fact) -> Closure {
        let known = self.ledger.handled_ahead().iter().copied();
        self.remake_ledger(known.chain([fact.period]).collect(), self.ledger.definition());
        let end = Closure::found(fact.period, fact.chosen);
        let basis = self.basis_of_claim(fact.period);
        self.enter(&end, fact.seed_hash, basis, Some(&fact.name));
        end
    }

    /// Whatever definition comes next, it is another: nothing due before it runs.
    pub fn forget_definition(&mut self) {
        let ahead = self.ledger.handled_ahead().to_vec();
        self.remake_ledger(ahead, Some(DefinitionHash::UNKNOWN));
    }

    fn remake_ledger(&mut self, ahead: Vec<PeriodId>, definition: Option<DefinitionHash>) {
        let (through, not_before) = (self.ledger.handled_through(), self.ledger.not_before());
        self.ledger = Ledger::restore(through, ahead, Some(not_before), definition);
    }

    fn enter(
        &mut self,
        end: &Closure,
        seed_hash: Option<SeedHash>,
        basis: Basis,
        job: Option<&str>,
    ) {
        let (period_id, outcome) = (end.period().to_string(), end.outcome().to_string());
        let chosen_time = end.chosen().map(|chosen| chosen.to_string());
        let reason = end.reason().map(ToString::to_string);
        self.last = Some(LastPeriod {
            period_id: period_id.clone(),
            nominal_time: end.period().nominal().to_string(),
            chosen_time: chosen_time.clone(),
            outcome: outcome.clone(),
            reason: reason.clone(),
            seed_hash: seed_hash.map(|hash| hash.to_string()),
            job: job.map(String::from),
            schedule: basis.schedule,
            generation: basis.generation,
        });
        let entry = History {
            period_id,
            chosen_time,
            outcome,
            reason,
            job: job.map(String::from),
            result: None,
            finished_at: None,
        };
        self.history.insert(0, entry);
        let mut newer = 0..;
        self.history.retain(|entry| newer.next() < Some(HISTORY) || is_unended(entry));
        self.history.truncate(LONGEST_HISTORY);
    }

    /// Notes what has become of Jobs that were created, and which are active; the ends that are
    /// new.
    pub fn note_results(&mut self, jobs: &[Fact]) -> Vec<Finished> {
        let known: BTreeMap<&str, &Fact> = jobs.iter().map(|fact| (&*fact.name, fact)).collect();
        let mut active: Vec<&Fact> = jobs.iter().filter(|fact| fact.is_active()).collect();
        active.sort_by_key(|fact| (fact.period, &fact.name));
        self.active_count = u32::try_from(active.len()).unwrap_or(u32::MAX);
        let active = active
            .split_off(active.len().saturating_sub(ACTIVE))
            .into_iter()
            .map(|fact| ActiveJob { name: fact.name.clone(), period_id: fact.period.to_string() });
        let before = std::mem::replace(&mut self.active, active.collect());
        // Those that the history has no room for.
        let is_entered = |name: &String| self.history.iter().any(|e| e.job.as_ref() == Some(name));
        let others = before.into_iter().filter(|active| !is_entered(&active.name));
        let others = others.filter_map(|ActiveJob { name, period_id }| {
            let (result, _) = result(known.get(&*name).copied())?;
            Some(Finished { job: name, period: period_id.parse().ok()?, result })
        });
        let mut ends: Vec<_> = others.collect();
        for entry in self.history.iter_mut().filter(|entry| is_unended(entry)) {
            let Some(name) = &entry.job else { continue };
            let Some((result, at)) = result(known.get(&**name).copied()) else { continue };
            entry.result = Some(result);
            entry.finished_at = at.map(|at| at.floor().to_string());
            let period = entry.period_id.parse().ok();
            ends.extend(period.map(|period| Finished { job: name.clone(), period, result }));
        }
        ends
    }
}

/// Whether it is not known yet what became of its Job.
fn is_unended(entry: &History) -> bool {
    entry.job.is_some() && entry.result.is_none()
}

/// How a Job ended and when, if it did; one that is not there was deleted.
fn result(fact: Option<&Fact>) -> Option<(RunResult, Option<UtcInstant>)> {
    let Some(fact) = fact else { return Some((RunResult::Deleted, None)) };
    match fact.phase {
        Phase::Active => None,
        Phase::Succeeded => Some((RunResult::Succeeded, fact.finished)),
        Phase::Failed => Some((RunResult::Failed, fact.finished)),
    }
}

/// The claim of a period.
fn claim(decision: &Decision<'_>, basis: Basis) -> NextPeriod {
    NextPeriod {
        period_id: decision.period().to_string(),
        nominal_time: decision.period().nominal().to_string(),
        chosen_time: decision.chosen().map(|chosen| chosen.to_string()),
        seed_hash: decision.seed_hash().to_string(),
        schedule: basis.schedule,
        generation: basis.generation,
    }
}

/// From when on the periods of a `KronJob` without marks count, if it is new.
fn first_sight(
    status: Option<&KronJobStatus>,
    created: Option<UtcInstant>,
    now: UtcInstant,
) -> Option<UtcInstant> {
    if let Some(status) = status {
        if status.last_period.is_some() || !status.history.is_empty() {
            return None;
        }
        // Somebody has looked at it before, and said that the spec was invalid: mending it
        // does not fire it.
        if status.observed_generation.is_some() || !status.conditions.is_empty() {
            return Some(now);
        }
    }
    // Creation is known to the second: its last moment, so that nothing from before counts.
    let created = created?.saturating_add(Duration::from_secs(1)).min(now);
    let is_old = now.since(created).is_some_and(|age| age > NEWBORN);
    Some(if is_old { now } else { created })
}

/// Whether a status says which periods are closed.
#[must_use]
pub fn has_marks(status: &KronJobStatus) -> bool {
    status.marks.as_ref().is_some_and(|marks| ledger(marks).is_ok())
}

/// Which periods are closed, whatever the spec says.
fn marked(status: &KronJobStatus, now: UtcInstant) -> Ledger {
    let known = status.marks.as_ref().and_then(|marks| ledger(marks).ok());
    known.unwrap_or_else(|| Ledger::restore(None, told(Some(status)), Some(now), None))
}

/// What can be said without marks: nothing from before now runs, and what was told of is
/// not told again.
fn without_marks(status: Option<&KronJobStatus>, job: &Job, now: UtcInstant) -> Ledger {
    Ledger::restore(None, told(status), Some(now), Some(DefinitionHash::of(job)))
}

fn told(status: Option<&KronJobStatus>) -> Vec<PeriodId> {
    let history = status.into_iter().flat_map(|status| &status.history);
    history.filter_map(|entry| entry.period_id.parse().ok()).collect()
}

fn ledger(marks: &Marks) -> Result<Ledger, String> {
    let period = |text: &String| {
        text.parse::<PeriodId>().map_err(|error| format!("status.marks: `{text}`: {error}"))
    };
    let through = marks.handled_through.as_ref().map(period).transpose()?;
    let ahead = marks.handled_ahead.iter().map(period).collect::<Result<Vec<_>, _>>()?;
    let not_before = marks
        .not_before
        .parse()
        .map_err(|error| format!("status.marks.notBefore: `{}`: {error}", marks.not_before))?;
    let definition = marks.definition_hash.as_ref().map(|text| {
        text.parse().map_err(|_| format!("status.marks.definitionHash: `{text}` is not a hash"))
    });
    Ok(Ledger::restore(through, ahead, Some(not_before), definition.transpose()?))
}
