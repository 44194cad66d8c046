//! A false cluster: one `KronJob` with a status, its Jobs, and an API server that refuses
//! what a real one refuses. What must hold whatever happens is asserted here.

use kron_core::{Concurrency, Job, PeriodId, StartPermit, UtcInstant, Zones};
use kron_operator::api::KronJobStatus;
use kron_operator::book::{Book, Origin};
use kron_operator::convert::job_name;
use kron_operator::facts::{Fact, Phase};
use kron_operator::lease::Term;
use kron_operator::plan::Remark;
use kron_operator::unusable::Flaw;
use kron_operator::upkeep::Limits;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

pub const IDENTITY: &str = "shop/a";

pub fn parse(identity: &str, schedule: &str) -> Arc<Job> {
    thread_local! {
        static ZONES: RefCell<Zones> = RefCell::new(Zones::bundled());
    }
    let job = ZONES.with_borrow_mut(|zones| Job::parse(identity, schedule, zones));
    Arc::new(job.unwrap_or_else(|errors| panic!("{schedule}: {errors}")))
}

/// How Jobs behave.
#[derive(Clone, Copy, Debug)]
pub struct Ways {
    /// How long they run; `None` for ever.
    pub run: Option<Duration>,
    pub fails: bool,
    /// How long they take to be gone when they are deleted.
    pub lingers: Duration,
    /// How long after their end somebody deletes them.
    pub ttl: Option<Duration>,
}

#[derive(Clone, Debug)]
pub struct FalseJob {
    pub fact: Fact,
    pub ways: Ways,
    started: UtcInstant,
    ended: Option<UtcInstant>,
    deleted: Option<UtcInstant>,
}

/// Somebody else wrote in between.
#[derive(Debug)]
pub struct Conflict;

pub struct Cluster {
    pub now: UtcInstant,
    pub job: Arc<Job>,
    /// Why it cannot be used.
    pub flaw: Option<Flaw>,
    pub created: UtcInstant,
    pub status: Option<Value>,
    pub version: u64,
    pub jobs: BTreeMap<String, FalseJob>,
    pub ways: Ways,
    /// Why nothing can be created.
    pub refusal: Option<String>,
    /// How many Jobs there may be.
    pub quota: usize,
    /// Why nothing can be deleted.
    pub bound: Option<String>,
    /// Names that are taken by Jobs of others.
    pub foreign: BTreeSet<String>,
    pub limits: Limits,
    /// Periods of which a Job was ever created.
    pub ever: BTreeSet<PeriodId>,
    /// Outcomes that were ever recorded.
    pub recorded: BTreeMap<PeriodId, String>,
    /// Whether Jobs are created with our finalizer.
    pub holds: bool,
    /// Whether marks were taken away, so that they may go back.
    pub has_lost: bool,
    uids: u32,
    /// Generation of the spec.
    pub generation: i64,
    /// How long the lease of an operator that crashed is good for, if there are leases…
    pub lease: Option<Duration>,
    /// …and when the last of them led.
    pub led: Option<Term>,
}

impl Cluster {
    pub fn new(now: UtcInstant, job: Arc<Job>) -> Self {
        let second = Duration::from_secs(1);
        Self {
            now,
            job,
            flaw: None,
            created: now,
            status: None,
            version: 1,
            jobs: BTreeMap::new(),
            ways: Ways { run: Some(second), fails: false, lingers: Duration::ZERO, ttl: None },
            refusal: None,
            quota: usize::MAX,
            bound: None,
            foreign: BTreeSet::new(),
            limits: Limits { succeeded: 3, failed: 1 },
            ever: BTreeSet::new(),
            recorded: BTreeMap::new(),
            holds: true,
            has_lost: false,
            uids: 0,
            generation: 1,
            lease: None,
            led: None,
        }
    }

    pub fn read(&self) -> Option<KronJobStatus> {
        let status = self.status.clone()?;
        Some(serde_json::from_value(status).expect("a status"))
    }

    pub fn book(&self) -> (Book, Origin) {
        Book::read(self.read().as_ref(), &self.job, Some(self.created), self.now)
    }

    pub fn facts(&self) -> Vec<Fact> {
        self.jobs.values().map(|job| job.fact.clone()).collect()
    }

    pub fn edit(&mut self, job: Arc<Job>) {
        self.job = job;
        self.flaw = None;
        self.version += 1;
        self.generation += 1;
    }

    /// An edit after which it cannot be used.
    pub fn spoil(&mut self, flaw: Flaw) {
        self.flaw = Some(flaw);
        self.version += 1;
        self.generation += 1;
    }

    // ── What an operator asks for ───────────────────────────────────────────

    /// Writes a book, of which there is this to tell, if nobody has written since `version`.
    pub fn write(&mut self, book: &Book, remarks: &[Remark], version: u64) -> Result<(), Conflict> {
        let mut status = self.read().unwrap_or_default();
        book.write(&mut status);
        self.put(&status, book, remarks, version)?;
        let again = self.book();
        assert_eq!(again, (book.clone(), Origin::Kept), "it reads as something else");
        Ok(())
    }

    /// Writes a status with this book.
    pub fn put(
        &mut self,
        status: &KronJobStatus,
        book: &Book,
        remarks: &[Remark],
        version: u64,
    ) -> Result<(), Conflict> {
        if version != self.version {
            return Err(Conflict);
        }
        let (old, origin) = self.book();
        let (was, is) = (&old.ledger, &book.ledger);
        assert!(was.handled_through() <= is.handled_through(), "{was:?} → {is:?}");
        assert!(was.not_before() <= is.not_before(), "{was:?} → {is:?}");
        assert!(was.handled_ahead().iter().all(|p| is.is_marked(*p)), "{was:?} → {is:?}");
        if origin == Origin::Kept {
            self.record(&old, book, remarks);
        }
        self.status = Some(serde_json::to_value(status).expect("JSON"));
        self.version += 1;
        Ok(())
    }

    /// One outcome for each period, for ever (OPR-09), told of when it is written. The newest
    /// of them are in the history, which may be too short for all of one writing; so is the end
    /// of each Job (OBS-01).
    fn record(&mut self, old: &Book, new: &Book, remarks: &[Remark]) {
        let mut told = Vec::new();
        for remark in remarks {
            let Remark::Outcome { end, job, .. } = remark else { continue };
            let (period, outcome) = (end.period(), end.outcome().to_string());
            let is_executed = outcome == "executed";
            let before = self.recorded.insert(period, outcome);
            assert!(before.is_none() || self.has_lost, "{end:?} after {before:?}");
            assert!(new.ledger.is_marked(period), "{end:?} is not closed");
            assert_eq!(end.reason().is_none(), is_executed, "{end:?}");
            assert_eq!(job.is_some(), is_executed, "{end:?}");
            told.push(period.to_string());
        }
        let known = old.history.iter().map(|entry| &entry.period_id);
        let mut all = told.iter().rev().chain(known);
        for entry in &new.history {
            assert!(all.any(|period| *period == entry.period_id), "the newest first, each once");
        }
        // Nobody is forgotten before it is known what became of its Job.
        let is_told = |name: &String| {
            new.history.iter().any(|entry| entry.job.as_ref() == Some(name))
                || new.active.iter().any(|active| active.name == *name)
                || remarks.iter().any(|r| matches!(r, Remark::Finished(end) if end.job == *name))
        };
        let unended = old.history.iter().filter(|entry| entry.result.is_none());
        let active = old.active.iter().map(|active| &active.name);
        for job in unended.filter_map(|entry| entry.job.as_ref()).chain(active) {
            assert!(is_told(job), "{job} is forgotten");
        }
    }

    /// What must hold when an operator asks for a Job (OPR-04); some of it only if what
    /// it knows is up to date.
    pub fn check_request(&self, permit: &StartPermit<'_>, judged: UtcInstant, is_current: bool) {
        let period = permit.decision().period();
        assert!(self.now >= permit.chosen().instant(), "{period} is created too early");
        let expiry = permit.decision().job().policy().expiry(permit.chosen());
        assert!(judged < expiry, "{period} is created too late");
        let (book, origin) = self.book();
        assert_eq!(origin, Origin::Kept, "{period} is created without marks");
        assert!(book.has_claimed(period) || !is_current, "{period} is created unclaimed");
        let is_alone = permit.decision().job().policy().concurrency != Concurrency::Allow;
        let active = self.jobs.values().find(|job| job.fact.is_active());
        if is_alone
            && is_current
            && let Some(active) = active
        {
            assert_eq!(active.fact.period, period, "{period} is created beside it");
        }
    }

    /// A request to create the Job of a period arrives.
    pub fn create(&mut self, permit: &StartPermit<'_>) -> Result<(), String> {
        self.land(permit.decision().period(), Some(permit.chosen()))
    }

    pub fn land(
        &mut self,
        period: PeriodId,
        chosen: Option<kron_core::UtcSecond>,
    ) -> Result<(), String> {
        let name = job_name("a", period);
        if let Some(refusal) = &self.refusal {
            return Err(refusal.clone());
        }
        if self.jobs.contains_key(&name) || self.foreign.contains(&name) {
            return Err(format!("{name} already exists"));
        }
        if self.jobs.len() >= self.quota {
            return Err("over quota".into());
        }
        assert!(self.ever.insert(period), "{period} is created twice");
        self.uids += 1;
        let fact = Fact {
            name: name.clone(),
            uid: self.uids.to_string(),
            owner: "uid".into(),
            period,
            chosen,
            seed_hash: Some(*self.job.decide(period).seed_hash()),
            phase: Phase::Active,
            created: self.now.floor().instant(),
            finished: None,
            is_held: self.holds,
            is_going: false,
        };
        let (ways, started) = (self.ways, self.now);
        self.jobs.insert(name, FalseJob { fact, ways, started, ended: None, deleted: None });
        Ok(())
    }

    pub fn delete(&mut self, name: &str) {
        let now = self.now;
        if let Some(job) = self.jobs.get_mut(name) {
            job.fact.is_going = true;
            job.deleted.get_or_insert(now);
        }
        self.settle();
    }

    /// Takes the finalizer off, which must not be before the period is recorded.
    pub fn release(&mut self, name: &str) {
        let (book, _) = self.book();
        if let Some(job) = self.jobs.get_mut(name) {
            assert!(book.ledger.is_marked(job.fact.period), "{name} is let go unrecorded");
            job.fact.is_held = false;
        }
        self.settle();
    }

    // ── What happens by itself ──────────────────────────────────────────────

    /// When something happens to a Job next.
    pub fn next_event(&self) -> Option<UtcInstant> {
        let event = |job: &FalseJob| match (job.deleted, job.ended) {
            (Some(at), _) => Some(at.saturating_add(job.ways.lingers)).filter(|at| *at > self.now),
            (None, Some(at)) => job.ways.ttl.map(|ttl| at.saturating_add(ttl)),
            (None, None) => job.ways.run.map(|run| job.started.saturating_add(run)),
        };
        self.jobs.values().filter_map(event).min()
    }

    /// Lets happen what is to have happened by now.
    pub fn settle(&mut self) {
        let now = self.now;
        for job in self.jobs.values_mut().filter(|job| !job.fact.is_going) {
            let end = job.ways.run.map(|run| job.started.saturating_add(run));
            if job.ended.is_none() && end.is_some_and(|end| end <= now) {
                job.ended = end;
                job.fact.phase = if job.ways.fails { Phase::Failed } else { Phase::Succeeded };
                job.fact.finished = end.map(|end| end.floor().instant());
            }
            let gone = job.ended.zip(job.ways.ttl).map(|(end, ttl)| end.saturating_add(ttl));
            if gone.is_some_and(|gone| gone <= now) {
                job.fact.is_going = true;
                job.deleted = gone;
            }
        }
        self.jobs.retain(|_, job| {
            let gone = job.deleted.map(|at| at.saturating_add(job.ways.lingers));
            job.fact.is_held || gone.is_none_or(|gone| gone > now)
        });
    }
}
