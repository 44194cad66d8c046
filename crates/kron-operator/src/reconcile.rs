//! Does what a plan says, step by step, until there is nothing left to do: asks the
//! cluster, tells the [`Desk`] what came of it, and asks for the next step.
//!
//! Whatever fails is planned anew from what is known then; nothing here remembers what it
//! was about to do.

use crate::announce::Announcement;
use crate::api::KronJobStatus;
use crate::book::{Book, Finished, Origin};
use crate::cluster::{Cluster, Fail};
use crate::conditions::{Health, INVALID_TEMPLATE, Trouble};
use crate::convert;
use crate::desk::{Desk, Held, Key, Untold};
use crate::facts::{Fact, owner};
use crate::lanes::Lanes;
use crate::meter::Meter;
use crate::obstacle::{self, Failed, Obstacle, PAUSE, pause};
use crate::plan::{Plan, Remark, Replacing, Sight, Step, Surety};
use crate::tell::{self, Note, Teller, now};
use crate::template::{self, Owner};
use crate::trial::{Trial, Tried};
use crate::unusable::{self, Care, Flaw};
use crate::upkeep::{HOLD, Limits, Upkeep, free_at};
use kron_core::line::{Level, Line};
use kron_core::{Category, Job, Outcome, PeriodId, Record, StartPermit, UtcInstant, Zones};
use kube::ResourceExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Steps of one look; more come after others had their turn.
const STEPS: usize = 16;
/// After so many failures in a row there is an Event; fewer are nothing special.
const TOLD: u32 = 3;

/// Why a late Job is not created, if that is not the API server's fault in any other way.
const SLOW: &str = "it takes the API server too long to tell whether its Job was there before";

/// Says what is to be done.
pub type Planner = for<'a> fn(&Sight<'a>) -> Plan<'a>;

/// Everything that a look needs.
pub struct Context {
    /// The API server.
    pub cluster: Cluster,
    /// What is known.
    pub desk: Mutex<Desk>,
    /// Who goes first.
    pub lanes: std::sync::Arc<Lanes>,
    /// Who tells.
    pub teller: Teller,
    /// Who counts.
    pub meter: std::sync::Arc<Meter>,
    /// Who plans; a test may put somebody else here.
    pub planner: Planner,
    /// How late after its alarm a period is still judged by the time of the alarm.
    pub max_dispatch_lag: Duration,
}

impl Context {
    /// What is known.
    pub fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What to do after a step.
enum Then {
    /// Plan again.
    Again,
    /// Plan again; the Jobs were just listed, and if they were asked for then, the status was
    /// read after them.
    AgainLive(Option<UtcInstant>),
    /// Wait until then, or until something happens.
    Rest(Option<UtcInstant>),
}

/// Looks at a `KronJob`: because its alarm rang at `fired`, or because of something else.
pub async fn reconcile(context: &Context, key: &Key, fired: Option<UtcInstant>) {
    context.meter.reconcile();
    let _turn = if fired.is_none() { context.lanes.turn().await } else { None };
    let rang = context.desk().entry(key).and_then(|entry| entry.rang.take());
    let fired = fired.or(rang);
    let is_live = context.desk().is_live(key, now());
    let mut look = Look {
        context,
        key,
        fired,
        is_live,
        confirmed: None,
        has_stray: false,
        strays_at: None,
        is_told: false,
    };
    for _ in 0..STEPS {
        match look.step().await {
            Ok(Then::Again) => (look.is_live, look.confirmed) = (false, None),
            Ok(Then::AgainLive(confirmed)) => (look.is_live, look.confirmed) = (true, confirmed),
            // Its time came while it was looked at.
            Ok(Then::Rest(Some(wake))) if wake <= now() => look.fired = Some(wake),
            Ok(Then::Rest(wake)) => {
                if let Some(entry) = context.desk().entry(key) {
                    entry.failures = 0;
                }
                return context.desk().wake_at(key, wake);
            }
            Err(fail) => {
                let wake = look.failed(&fail);
                return context.desk().wake_by(key, wake, now());
            }
        }
    }
    // Others first, then on.
    context.desk().wake_at(key, Some(now()));
}

/// Asks the API server whether the template of a `KronJob` can be used, for each generation
/// until it knows; whether it has to be looked at again for that. Nothing waits for the
/// answer: what is found out too late is found out when a Job is created.
pub async fn check_template(context: &Context, key: &Key) -> bool {
    let (held, period) = {
        let mut desk = context.desk();
        let Some(entry) = desk.entry(key) else { return false };
        let Some(held) = entry.held.clone().filter(|held| !held.is_going) else { return false };
        let known = entry.template.as_ref().filter(|trial| !trial.is_due(now()));
        let known = known.map(|trial| trial.generation);
        let is_known = [known, entry.checking].contains(&Some(held.generation));
        let Ok(job) = held.job.as_ref() else { return false };
        let period = job.next_period(now().floor());
        let Some(period) = period.filter(|_| !is_known) else { return false };
        entry.checking = Some(held.generation);
        (held, period)
    };
    let Ok(job) = held.job.as_ref() else { return false };
    let _turn = context.lanes.turn().await;
    let decision = job.decide(period);
    let (namespace, name) = (&*key.0, &*key.1);
    let owner = Owner { namespace, name, uid: &held.uid, generation: held.generation };
    let chosen = decision.chosen().unwrap_or(period.nominal());
    let wanted = template::job(owner, &held.template(), &decision, chosen);
    let tried = {
        let _leave = context.lanes.other().await;
        context.cluster.try_create(namespace, &wanted).await
    };
    // By which period it was tried says nothing.
    let plain = |why: String| why.replace(&convert::job_name(name, period), name);
    let tried = tried.map_err(|fail| match fail {
        Fail::Refused(why) => Fail::Refused(plain(why)),
        Fail::Later(why) => Fail::Later(plain(why)),
        other => other,
    });
    let mut desk = context.desk();
    let before = desk.entry(key).and_then(|entry| entry.template.clone());
    let trial = Trial::new(held.generation, before.as_ref(), tried, now());
    let is_news = desk.tried(key, &held.uid, trial.clone(), now());
    drop(desk);
    if is_news && let Tried::Denied(why) = &trial.tried {
        let complaint = Complaint {
            reason: "Denied",
            error_type: "ExecutionError",
            operation: "try the template",
            period: None,
        };
        complain(context, key, &held.uid, &complaint, why);
    }
    is_news
}

/// What an error is called, in the log and in an Event.
struct Complaint {
    reason: &'static str,
    error_type: &'static str,
    operation: &'static str,
    period: Option<PeriodId>,
}

fn complain(context: &Context, key: &Key, uid: &str, complaint: &Complaint, note: &str) {
    let line = Line::new(Level::Error, "error")
        .with("identity", format!("{}/{}", key.0, key.1))
        .with("job", &key.1)
        .with_some("period_id", complaint.period)
        .with("error_type", complaint.error_type)
        .with("operation", complaint.operation)
        .with("message", note);
    context.teller.log(&line);
    let (key, uid, note, reason) = (key.clone(), uid.into(), note.into(), complaint.reason);
    context.teller.note(Note { key, uid, is_warning: true, reason, note, job: None });
}

/// Why a spec cannot be used.
struct Unusable {
    flaw: Flaw,
    reason: &'static str,
    category: Category,
    why: String,
}

struct Look<'a> {
    context: &'a Context,
    key: &'a Key,
    fired: Option<UtcInstant>,
    is_live: bool,
    /// When the Jobs were asked for, if the status was read after them.
    confirmed: Option<UtcInstant>,
    /// Whether a Job of an object that is gone could not be let go.
    has_stray: bool,
    /// When to look at such Jobs again.
    strays_at: Option<UtcInstant>,
    /// Whether it has been told what failed.
    is_told: bool,
}

/// What is known when a step begins.
struct View {
    held: Option<Held>,
    /// Its Jobs.
    jobs: Vec<Fact>,
    /// Jobs of objects that are gone.
    strays: Vec<Fact>,
    since: UtcInstant,
    obstacles: Vec<Obstacle>,
    replacing: Vec<Replacing>,
    unended: Option<String>,
    template: Option<Trial>,
    lost: Option<String>,
}

impl Look<'_> {
    fn view(&self) -> Option<View> {
        let mut desk = self.context.desk();
        let entry = desk.entry(self.key)?;
        let uid = entry.held.as_ref().map(|held| held.uid.clone()).unwrap_or_default();
        let is_kept = entry.held.as_ref().is_some_and(|held| !held.is_going);
        let (jobs, strays) =
            entry.jobs.values().cloned().partition(|fact| is_kept && fact.owner == uid);
        Some(View {
            held: entry.held.clone(),
            jobs,
            strays,
            since: entry.since.unwrap_or_else(now),
            obstacles: entry.obstacles.clone(),
            replacing: entry.replacing.clone(),
            unended: entry.unended.clone(),
            template: entry.template.clone(),
            lost: entry.lost.clone(),
        })
    }

    /// The time by which is judged.
    fn now(&self) -> UtcInstant {
        let now = now();
        match self.fired {
            // Not if the clock was set back since.
            Some(fired)
                if now.since(fired).is_some_and(|by| by <= self.context.max_dispatch_lag) =>
            {
                fired
            }
            _ => now,
        }
    }

    async fn step(&mut self) -> Result<Then, Fail> {
        let Some(view) = self.view() else { return Ok(Then::Rest(None)) };
        // Whoever owned these is gone or going, and must not be kept by us.
        // That this fails is no reason for anything else to wait.
        // Of those that have lost their owner nobody knows whether they were recorded.
        let must_stay = |fact: &&Fact| fact.owner.is_empty() && free_at(fact) > now();
        let (bound, free): (Vec<&Fact>, Vec<&Fact>) =
            view.strays.iter().filter(|fact| fact.is_held).partition(must_stay);
        if let Some(stray) = free.first().filter(|_| !self.has_stray) {
            self.has_stray = self.release(&stray.name, &stray.uid).await.is_err();
            return Ok(Then::Again);
        }
        let again = self.has_stray.then(|| now().saturating_add(PAUSE.1));
        self.strays_at = bound.into_iter().map(free_at).chain(again).min();
        let Some(held) = view.held.as_ref().filter(|held| !held.is_going) else {
            return Ok(Then::Rest(self.strays_at));
        };
        let trial = view.template.as_ref().filter(|trial| trial.generation == held.generation);
        let job = match usable(held, trial) {
            Ok(job) => job,
            Err(unusable) => return self.invalid(&view, held, unusable).await,
        };
        let now = self.now();
        // What was edited before anybody saw it is as new as the edit, or newer.
        let created = held.created.map(|at| if held.generation > 1 { now } else { at });
        let (book, origin) = Book::read(Some(&held.status), job, created, now);
        if let Origin::Lost(why) = &origin {
            return self.begin(held, job, &book, why).await;
        }
        self.tell_heard(held, Some(job), &book);
        let surety = self.surety(view.since);
        let sight = Sight {
            job,
            book: &book,
            jobs: &view.jobs,
            is_live: self.is_live,
            since: view.since,
            now,
            clock: tell::now(),
            surety,
            obstacles: &view.obstacles,
            replacing: &view.replacing,
            unended: view.unended.as_deref(),
            limits: limits(held),
        };
        let planner = self.context.planner;
        let Ok(plan) = catch_unwind(AssertUnwindSafe(|| planner(&sight))) else {
            return self.broken(held, job, &book).await;
        };
        let Plan { book: planned, remarks, step, replacing, stuck, idle, wake } = plan;
        self.tell_idle(held, idle);
        self.replaces(replacing);
        if !matches!(step, Step::Look) {
            self.tell_stuck(held, stuck.as_ref());
        }
        // Of one that has its outcome that says why.
        let stuck = stuck.filter(|_| !planned.pending.is_empty());
        let error =
            trouble(&view, trial, stuck.as_ref()).or_else(|| Some(idleness(self.key, idle?)));
        match step {
            Step::Look => {
                self.look_at_jobs().await?;
                Ok(Then::AgainLive(None))
            }
            Step::Confirm => self.confirm(held).await,
            Step::Create(permit) => self.create(held, &permit, surety).await,
            Step::End { delete, release } => {
                let Err((name, fail)) = self.end(&view.jobs, &delete, &release).await else {
                    if let Some(entry) = self.context.desk().entry(self.key) {
                        entry.unended = None;
                    }
                    return Ok(Then::Again);
                };
                self.unended(held, (job, &book), &name, &fail).await?;
                Err(fail)
            }
            Step::Write => {
                let health = Health::of(&planned, job, error);
                let mut status = held.status.clone();
                planned.write(&mut status);
                self.record(held, Some(job), (status, planned), &health, remarks).await?;
                Ok(Then::Again)
            }
            Step::Tidy { .. } | Step::Rest => {
                let health = Health::of(&planned, job, error);
                if self.write(held, &planned, &health).await? {
                    return Ok(Then::Again);
                }
                if let Step::Tidy { release, delete } = step {
                    self.tidy(&view.jobs, &release, &delete).await?;
                    return Ok(Then::Again);
                }
                let again_at = again_at(trial);
                Ok(Then::Rest([wake, self.strays_at, again_at].into_iter().flatten().min()))
            }
        }
    }

    /// Asks for the Jobs.
    async fn look_at_jobs(&self) -> Result<(), Fail> {
        let _leave = self.context.lanes.urgent().await;
        self.context.desk().ask_jobs(self.key, true);
        let jobs = self.context.cluster.jobs(&self.key.0, &self.key.1).await;
        let mut desk = self.context.desk();
        match jobs {
            Ok(jobs) => desk.learn_jobs(self.key, &jobs),
            Err(fail) => {
                desk.ask_jobs(self.key, false);
                return Err(fail);
            }
        }
        Ok(())
    }

    /// Asks for the Jobs, and then for the object itself.
    async fn confirm(&self, held: &Held) -> Result<Then, Fail> {
        let asked = now();
        self.look_at_jobs().await?;
        let _leave = self.context.lanes.urgent().await;
        self.read_again(held).await?;
        Ok(Then::AgainLive(Some(asked)))
    }

    /// The object as it is now.
    async fn read_again(&self, held: &Held) -> Result<(), Fail> {
        let current = self.context.cluster.kronjob(&self.key.0, &self.key.1).await?;
        let mut desk = self.context.desk();
        match current {
            Some(kronjob) => {
                desk.learn(kronjob, now());
            }
            // Another of that name may be there by now.
            None if desk.is_of(self.key, &held.uid) => desk.forget(self.key),
            None => {}
        }
        Ok(())
    }

    /// Another can have created something before this one led, and at any time if nobody is
    /// elected.
    fn surety(&self, since: UtcInstant) -> Surety {
        let sole_since = self.context.cluster.is_elected().then_some(since);
        Surety { sole_since, confirmed: self.confirmed }
    }

    /// A book was begun in the place of one that was lost. That is said first of all, and as
    /// long as nothing else has happened.
    async fn begin(&self, held: &Held, job: &Job, book: &Book, why: &str) -> Result<Then, Fail> {
        let note = format!("{why}; nothing due before now is created");
        self.warn(held, "StatusLost", "PersistenceError", "read status", None, &note);
        if let Some(entry) = self.context.desk().entry(self.key) {
            entry.lost = Some(note.clone());
        }
        let health = Health::of(book, job, Some(("StatusLost", note)));
        self.write(held, book, &health).await?;
        Ok(Then::Again)
    }

    /// Keeps what a plan says of periods that wait for others to end.
    fn replaces(&self, replacing: Vec<Replacing>) {
        if let Some(entry) = self.context.desk().entry(self.key) {
            if replacing.is_empty() {
                entry.unended = None;
            }
            entry.replacing = replacing;
        }
    }

    /// What does not end is told once (ERR-27).
    fn tell_stuck(&self, held: &Held, stuck: Option<&(PeriodId, String)>) {
        {
            let mut desk = self.context.desk();
            let Some(entry) = desk.entry(self.key) else { return };
            let told = std::mem::replace(&mut entry.stuck, stuck.map(|(_, why)| why.clone()));
            if told == entry.stuck {
                return;
            }
        }
        if let Some((period, why)) = stuck {
            self.warn(held, "NotEnded", "ExecutionError", "end jobs", Some(*period), why);
        }
    }

    /// A mark in the future is told once: by it nothing runs, and nothing else shows it.
    fn tell_idle(&self, held: &Held, idle: Option<UtcInstant>) {
        {
            let mut desk = self.context.desk();
            let Some(entry) = desk.entry(self.key) else { return };
            if std::mem::replace(&mut entry.idle, idle) == idle {
                return;
            }
        }
        let Some(until) = idle else { return };
        let (reason, why) = idleness(self.key, until);
        let line = Line::new(Level::Warn, "idle")
            .with("identity", format!("{}/{}", self.key.0, self.key.1))
            .with("job", &self.key.1)
            .with("idle_until", until)
            .with("message", &why);
        self.context.teller.log(&line);
        self.note(held, true, reason, why, None);
    }

    /// A Job that is replaced cannot be ended: this is said, and tried again.
    async fn unended(
        &mut self,
        held: &Held,
        (job, book): (&Job, &Book),
        name: &str,
        fail: &Fail,
    ) -> Result<(), Fail> {
        if matches!(fail, Fail::Deposed | Fail::Conflict) {
            return Ok(());
        }
        let why = format!("Job `{name}` cannot be ended: {fail}");
        let period = {
            let mut desk = self.context.desk();
            let Some(entry) = desk.entry(self.key) else { return Ok(()) };
            (entry.unended, entry.stuck) = (Some(why.clone()), Some(why.clone()));
            entry.replacing.first().map(|waiting| waiting.period)
        };
        self.warn(held, "NotEnded", "ExecutionError", "end jobs", period, &why);
        self.is_told = true;
        let health = Health::of(book, job, Some(("NotEnded", why)));
        self.write(held, book, &health).await.map(drop)
    }

    /// The spec cannot be used: that is said, and nothing is started until it is another. What
    /// was is looked after.
    async fn invalid(&self, view: &View, held: &Held, invalid: Unusable) -> Result<Then, Fail> {
        let Unusable { flaw, reason, category, why } = invalid;
        let now = now();
        self.tell_heard(held, None, &Book::kept(&held.status, now));
        let care = unusable::care(&held.status, &view.jobs, flaw, limits(held), now);
        let health = Health::Invalid(reason, why.clone());
        let known = &held.status.conditions;
        if health.conditions(known, held.generation, now) != *known {
            self.warn(held, "InvalidSpec", category.as_str(), "read spec", None, &why);
        }
        let Care { status, book, remarks, upkeep } = care;
        if self.record(held, None, (status, book), &health, remarks).await? {
            return Ok(Then::Again);
        }
        let Upkeep { release, delete, wake } = upkeep;
        if !release.is_empty() || !delete.is_empty() {
            self.tidy(&view.jobs, &release, &delete).await?;
            return Ok(Then::Again);
        }
        let again_at = again_at(view.template.as_ref());
        Ok(Then::Rest([wake, self.strays_at, again_at].into_iter().flatten().min()))
    }

    /// Writes a status with a book, and tells what there is to tell of it; whether it was
    /// written.
    async fn record(
        &self,
        held: &Held,
        job: Option<&Job>,
        (status, book): (KronJobStatus, Book),
        health: &Health,
        remarks: Vec<Remark>,
    ) -> Result<bool, Fail> {
        match self.write_status(held, status, health).await {
            Ok(false) => Ok(false),
            Ok(true) => {
                self.settle(&book, &remarks);
                self.remark(held, job, remarks);
                Ok(true)
            }
            Err(fail) => {
                if matches!(fail, Fail::Silent(_)) {
                    self.keep(held, book, remarks);
                }
                Err(fail)
            }
        }
    }

    /// The plan could not be made. Nothing was decided, so nothing is recorded but that.
    async fn broken(&mut self, held: &Held, job: &Job, book: &Book) -> Result<Then, Fail> {
        let why = "the decision failed by an internal error; it is tried again";
        let health = Health::of(book, job, Some(("DecisionFailed", why.into())));
        // With the marks of what is new: what comes due meanwhile is not lost.
        self.write(held, book, &health).await?;
        self.warn(held, "SchedulingError", "SchedulingError", "decide", None, why);
        self.is_told = true;
        Err(Fail::Later(why.into()))
    }

    async fn create(
        &mut self,
        held: &Held,
        permit: &StartPermit<'_>,
        surety: Surety,
    ) -> Result<Then, Fail> {
        let decision = permit.decision();
        let (period, chosen) = (decision.period(), permit.chosen());
        let (namespace, name) = (&*self.key.0, &*self.key.1);
        let owner_of = Owner { namespace, name, uid: &held.uid, generation: held.generation };
        let job = template::job(owner_of, &held.template(), decision, chosen);
        let created = {
            let _leave = self.context.lanes.urgent().await;
            // It may have had to wait.
            let is_covered = surety.covers(decision, now());
            if !is_covered && surety.confirmed.is_none() {
                return Ok(Then::Again);
            }
            if is_covered {
                match self.context.cluster.create(namespace, &job).await {
                    Err(Fail::Exists) => self.theirs_or_ours(held, period).await,
                    other => other,
                }
            } else {
                Err(Fail::Later(SLOW.into()))
            }
        };
        let why = match created {
            Ok(job) => {
                let late = now().since(chosen.instant()).unwrap_or_default();
                self.context.meter.late(late);
                let mut desk = self.context.desk();
                desk.learn_job(&job);
                if let Some(entry) = desk.entry(self.key) {
                    obstacle::passed(&mut entry.obstacles, period, now());
                    let trial = entry.template.as_mut();
                    trial.filter(|trial| trial.generation == held.generation).map(Trial::passed);
                }
                drop(desk);
                let line = Line::new(Level::Info, "started")
                    .with("identity", format!("{namespace}/{name}"))
                    .with("job", name)
                    .with("period_id", period)
                    .with("nominal_time", period.nominal())
                    .with("chosen_time", chosen)
                    .with("kubernetes_job", job.name_any())
                    .with("late", format!("{:.3}ms", late.as_secs_f64() * 1000.0))
                    .with("seed_hash", decision.seed_hash());
                self.context.teller.log(&line);
                return Ok(Then::Again);
            }
            Err(Fail::Deposed) => return Err(Fail::Deposed),
            Err(fail) => fail,
        };
        // Retries look at the time again.
        self.fired = None;
        let failed = Failed {
            period,
            why: why.to_string(),
            is_own: matches!(why, Fail::Taken(_)),
            lands_until: matches!(why, Fail::Silent(_)).then(|| now().saturating_add(HOLD)),
            expiry: decision.job().policy().expiry(chosen),
        };
        self.context.meter.failure();
        if let Some(entry) = self.context.desk().entry(self.key) {
            obstacle::failed(&mut entry.obstacles, failed, now());
        }
        let note = format!("the Job of period {period} cannot be created: {why}");
        self.warn(held, "NotCreated", "ExecutionError", "create job", Some(period), &note);
        Ok(Then::Again)
    }

    /// A Job of that name exists: it may be the one, created by a request whose answer
    /// never came, or by another replica.
    async fn theirs_or_ours(
        &self,
        held: &Held,
        period: PeriodId,
    ) -> Result<k8s_openapi::api::batch::v1::Job, Fail> {
        let name = convert::job_name(&self.key.1, period);
        let Some(job) = self.context.cluster.job(&self.key.0, &name).await? else {
            return Err(Fail::Later(format!("`{name}` was there and is gone")));
        };
        let is_ours = owner(&job.metadata) == Some(&held.uid)
            && Fact::of(&job).is_some_and(|fact| fact.period == period);
        if is_ours {
            return Ok(job);
        }
        let whose = match job.metadata.owner_references.as_deref().unwrap_or_default() {
            [] => "nobody".to_string(),
            [first, ..] => format!("{} `{}`", first.kind, first.name),
        };
        Err(Fail::Taken(format!("a Job `{name}` exists and belongs to {whose}")))
    }

    /// Ends Jobs; if one cannot be, which and why.
    async fn end(
        &self,
        jobs: &[Fact],
        delete: &[String],
        release: &[String],
    ) -> Result<(), (String, Fail)> {
        let uid = |name: &str| jobs.iter().find(|fact| fact.name == name).map(|fact| &*fact.uid);
        for name in delete {
            let Some(uid) = uid(name) else { continue };
            let _leave = self.context.lanes.urgent().await;
            let deleted = self.context.cluster.delete(&self.key.0, name, uid, true).await;
            deleted.map_err(|fail| (name.clone(), fail))?;
            if let Some(entry) = self.context.desk().entry(self.key)
                && let Some(fact) = entry.jobs.get_mut(name)
            {
                fact.is_going = true;
            }
        }
        for name in release {
            if let Some(uid) = uid(name) {
                self.release(name, uid).await.map_err(|fail| (name.clone(), fail))?;
            }
        }
        Ok(())
    }

    async fn tidy(&self, jobs: &[Fact], release: &[String], delete: &[String]) -> Result<(), Fail> {
        let uid = |name: &str| jobs.iter().find(|fact| fact.name == name).map(|fact| &*fact.uid);
        for name in release {
            if let Some(uid) = uid(name) {
                self.release(name, uid).await?;
            }
        }
        for name in delete {
            let Some(uid) = uid(name) else { continue };
            let _leave = self.context.lanes.other().await;
            self.context.cluster.delete(&self.key.0, name, uid, false).await?;
            if let Some(entry) = self.context.desk().entry(self.key)
                && let Some(fact) = entry.jobs.get_mut(name)
            {
                fact.is_going = true;
            }
        }
        Ok(())
    }

    async fn release(&self, name: &str, uid: &str) -> Result<(), Fail> {
        let _leave = self.context.lanes.other().await;
        self.context.cluster.release(&self.key.0, name, uid).await?;
        if let Some(entry) = self.context.desk().entry(self.key)
            && let Some(fact) = entry.jobs.get_mut(name)
        {
            fact.is_held = false;
        }
        Ok(())
    }

    async fn write(&self, held: &Held, book: &Book, health: &Health) -> Result<bool, Fail> {
        let mut status = held.status.clone();
        book.write(&mut status);
        self.write_status(held, status, health).await
    }

    /// Writes a status if it says anything new; whether it did.
    async fn write_status(
        &self,
        held: &Held,
        mut status: KronJobStatus,
        health: &Health,
    ) -> Result<bool, Fail> {
        status.observed_generation = Some(held.generation);
        status.conditions = health.conditions(&held.status.conditions, held.generation, now());
        status.algorithm = Some(kron_core::ALGORITHM.to_string());
        status.tzdb = Some(Zones::bundled().version().to_string());
        if status == held.status {
            return Ok(false);
        }
        let written = {
            let _leave = self.context.lanes.other().await;
            let (namespace, name) = (&*self.key.0, &*self.key.1);
            match self.context.cluster.write_status(namespace, name, &held.version, &status).await {
                // Somebody was quicker: what is there now decides.
                Err(Fail::Conflict | Fail::Missing) => {
                    // That this had no answer says nothing of the write.
                    let read = self.read_again(held).await;
                    return Err(match read {
                        Err(Fail::Silent(why)) => Fail::Later(why),
                        Err(fail) => fail,
                        Ok(()) => Fail::Conflict,
                    });
                }
                other => other?,
            }
        };
        let mut desk = self.context.desk();
        desk.learn(written, now());
        if let Some(entry) = desk.entry(self.key) {
            // One before it that had no answer was not heard.
            entry.untold.clear();
        }
        Ok(true)
    }

    /// What was in the way of a period that has its outcome is in nobody's way; and what was
    /// lost is behind us.
    fn settle(&self, book: &Book, remarks: &[Remark]) {
        let mut desk = self.context.desk();
        let Some(entry) = desk.entry(self.key) else { return };
        entry.obstacles.retain(|obstacle| !book.ledger.is_marked(obstacle.period));
        if remarks.iter().any(|remark| matches!(remark, Remark::Outcome { .. })) {
            entry.lost = None;
        }
    }

    /// Keeps what there is to tell until it is known whether the write was heard.
    fn keep(&self, held: &Held, book: Book, remarks: Vec<Remark>) {
        let (uid, version) = (held.uid.clone(), held.version.clone());
        let untold = Untold { uid, version, generation: held.generation, book, remarks };
        self.context.desk().keep_untold(self.key, untold);
    }

    /// Tells what was kept, if the write was heard.
    fn tell_heard(&self, held: &Held, job: Option<&Job>, book: &Book) {
        let heard = self.context.desk().heard_of(self.key, held, book);
        let Some(Untold { generation, remarks, .. }) = heard else { return };
        self.settle(book, &remarks);
        // By another definition it would be another decision.
        self.remark(held, job.filter(|_| generation == held.generation), remarks);
    }

    fn remark(&self, held: &Held, job: Option<&Job>, remarks: Vec<Remark>) {
        let (namespace, name) = (&*self.key.0, &*self.key.1);
        let identity = format!("{namespace}/{name}");
        let about =
            |level, event| Line::new(level, event).with("identity", &identity).with("job", name);
        let teller = &self.context.teller;
        for remark in remarks {
            if let Some(Announcement { is_warning, reason, note, job }) = Announcement::of(&remark)
            {
                self.note(held, is_warning, reason, note, job);
            }
            match remark {
                Remark::Planned(period) => {
                    let Some(decision) = job.map(|job| job.decide(period)) else { continue };
                    let mut line = Line::new(Level::Info, kron_core::EVENT).with("job", name);
                    line.fields.extend(Record::of(&decision, &Zones::bundled()).into_log_fields());
                    teller.log(&line);
                }
                Remark::Superseded(count, at_least) => {
                    self.context.meter.superseded(count);
                    let line = about(Level::Info, "superseded").with("count", count);
                    teller.log(&if at_least { line.with("at_least", true) } else { line });
                }
                Remark::Finished(Finished { job, period, result }) => {
                    let line = about(Level::Info, "exited")
                        .with("period_id", period)
                        .with("kubernetes_job", job)
                        .with("result", format!("{result:?}").to_lowercase());
                    teller.log(&line);
                }
                Remark::Outcome { end, seed_hash, job } => {
                    self.context.meter.outcome(end.outcome().as_str());
                    let level = if end.outcome() == Outcome::Unschedulable {
                        Level::Warn
                    } else {
                        Level::Info
                    };
                    let line = about(level, "outcome")
                        .with("period_id", end.period())
                        .with("nominal_time", end.period().nominal())
                        .with_some("chosen_time", end.chosen())
                        .with("outcome", end.outcome())
                        .with_some("reason", end.reason())
                        .with_some("kubernetes_job", job.map(|job| job.name))
                        .with_some("seed_hash", seed_hash);
                    teller.log(&line);
                }
            }
        }
    }

    fn note(
        &self,
        held: &Held,
        is_warning: bool,
        reason: &'static str,
        note: String,
        job: Option<String>,
    ) {
        let (key, uid) = (self.key.clone(), held.uid.clone());
        self.context.teller.note(Note { key, uid, is_warning, reason, note, job });
    }

    fn warn(
        &self,
        held: &Held,
        reason: &'static str,
        error_type: &'static str,
        operation: &'static str,
        period: Option<PeriodId>,
        note: &str,
    ) {
        let complaint = Complaint { reason, error_type, operation, period };
        complain(self.context, self.key, &held.uid, &complaint, note);
    }

    /// When to look again after a failure.
    fn failed(&self, fail: &Fail) -> UtcInstant {
        let (mut failures, mut uid) = (1, None);
        if let Some(entry) = self.context.desk().entry(self.key) {
            entry.failures = entry.failures.saturating_add(1);
            failures = entry.failures;
            uid = entry.held.as_ref().map(|held| held.uid.clone());
        }
        if *fail != Fail::Conflict && *fail != Fail::Deposed {
            self.context.meter.failure();
        }
        if *fail != Fail::Conflict && *fail != Fail::Deposed && !self.is_told {
            let line = Line::new(Level::Warn, "error")
                .with("identity", format!("{}/{}", self.key.0, self.key.1))
                .with("job", &self.key.1)
                .with("error_type", "SystemError")
                .with("operation", "talk to the API server")
                .with("message", fail);
            self.context.teller.log(&line);
            // The same is an Event only once in a while.
            if let Some(uid) = uid.filter(|_| failures >= TOLD) {
                let (key, note) = (self.key.clone(), format!("a request failed: {fail}"));
                let (reason, job) = ("RequestFailed", None);
                self.context.teller.note(Note { key, uid, is_warning: true, reason, note, job });
            }
        }
        now().saturating_add(pause(failures))
    }
}

/// The definition, or why there is none to go by.
fn usable<'h>(held: &'h Held, trial: Option<&Trial>) -> Result<&'h Job, Unusable> {
    match (held.job.as_ref(), trial.map(|trial| &trial.tried)) {
        (Err(invalid), _) => Err(Unusable {
            flaw: Flaw::Schedule,
            reason: "InvalidSchedule",
            category: invalid.category(),
            why: invalid.to_string(),
        }),
        (Ok(_), Some(Tried::Invalid(why))) => Err(Unusable {
            flaw: Flaw::Template,
            reason: INVALID_TEMPLATE,
            category: Category::Validation,
            why: why.clone(),
        }),
        (Ok(job), _) => Ok(job),
    }
}

fn limits(held: &Held) -> Limits {
    let (succeeded, failed) = held.limits;
    Limits { succeeded: succeeded as usize, failed: failed as usize }
}

/// When to look at it because the API server is to be asked about its template. If that is now,
/// it is asked after this look.
fn again_at(trial: Option<&Trial>) -> Option<UtcInstant> {
    trial.and_then(|trial| trial.again_at).filter(|at| *at > now())
}

/// What is wrong, if anything is; what is in the way of a period goes first.
fn trouble(
    view: &View,
    trial: Option<&Trial>,
    stuck: Option<&(PeriodId, String)>,
) -> Option<Trouble> {
    let obstacle = view.obstacles.first().map(|obstacle| ("NotCreated", obstacle.why.clone()));
    let stuck = stuck.map(|(_, why)| ("NotEnded", why.clone()));
    let lost = view.lost.clone().map(|why| ("StatusLost", why));
    let denied = trial.and_then(|trial| match &trial.tried {
        Tried::Denied(why) => Some(("Denied", why.clone())),
        Tried::Fine | Tried::Invalid(_) => None,
    });
    obstacle.or(stuck).or(lost).or(denied)
}

/// Why nothing runs until then, and the way out.
fn idleness((namespace, name): &Key, until: UtcInstant) -> Trouble {
    let patch = r#"{"status":{"marks":null}}"#;
    let why = format!(
        "nothing runs until {until}: the status says that periods up to then are handled, so the \
         clock was wrong once or is wrong now; `kubectl -n {namespace} patch kronjob {name} \
         --subresource=status --type=merge -p '{patch}'` forgets it"
    );
    ("IdleUntil", why)
}
