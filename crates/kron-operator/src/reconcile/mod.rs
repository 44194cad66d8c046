//! Does what a plan says, step by step, until there is nothing left to do: asks the
//! cluster, tells the [`Desk`] what came of it, and asks for the next step.
//!
//! Whatever fails is planned anew from what is known then; nothing here remembers what it
//! was about to do.
//!
//! Here are the loop and the choice of what is done for which step. How it is done is in the
//! modules below: what is asked in `ask`, Jobs come in `create` and go in `end`, the status is
//! written in `status`, what stands against a plan is in `trouble`, the words for all of it
//! are in `report`. `dry_run` is apart: nothing waits for it.

mod ask;
mod create;
mod dry_run;
mod end;
mod report;
mod status;
mod trouble;

pub use dry_run::check_template;

use crate::book::{Book, Origin};
use crate::cluster::{Cluster, Fail};
use crate::conditions::Health;
use crate::desk::{Desk, Entry, Held, Key};
use crate::facts::Fact;
use crate::lanes::Lanes;
use crate::meter::Meter;
use crate::obstacle::{Obstacle, pause};
use crate::plan::{Plan, Replacing, Sight, Step, Surety};
use crate::tell::{self, Teller, now};
use crate::trial::Trial;
use crate::upkeep::Limits;
use futures::FutureExt;
use kron_core::{Job, UtcInstant};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use trouble::{idleness, trouble, usable};

/// Steps of one look; more come after others had their turn.
const STEPS: usize = 16;

/// Says what is to be done.
pub type Planner = for<'a> fn(&Sight<'a>) -> Plan<'a>;

/// Everything that a look needs.
pub struct Context {
    /// The API server.
    pub cluster: Cluster,
    /// What is known.
    pub desk: Mutex<Desk>,
    /// Who goes first.
    pub lanes: Arc<Lanes>,
    /// Who tells.
    pub teller: Teller,
    /// Who counts.
    pub meter: Arc<Meter>,
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

/// Looks at a `KronJob`: because its alarm rang, which its entry says when, or because of
/// something else. One that breaks this is not in the way of others.
pub async fn reconcile(context: &Context, key: &Key, is_due: bool) {
    if AssertUnwindSafe(look(context, key, is_due)).catch_unwind().await.is_ok() {
        return;
    }
    let mut look = Look::new(context, key);
    let wake = look.failed(&Fail::Later(trouble::BROKEN.into()));
    context.desk().wake_by(key, wake, now());
    if let Ok(Err(fail)) = AssertUnwindSafe(look.crashed()).catch_unwind().await {
        look.failed(&fail);
    }
}

async fn look(context: &Context, key: &Key, is_due: bool) {
    context.meter.reconcile();
    let _turn = if is_due { None } else { context.lanes.turn().await };
    let is_live = context.desk().is_live(key, now());
    let rang = context.desk().entry(key).map(|entry| (entry.rang.take(), edition(entry)));
    let (fired, edition) = rang.unwrap_or_default();
    let mut look = Look { fired, edition, is_live, ..Look::new(context, key) };
    for _ in 0..STEPS {
        match look.step().await {
            Ok(Then::Again) => (look.is_live, look.confirmed) = (false, None),
            Ok(Then::AgainLive(confirmed)) => (look.is_live, look.confirmed) = (true, confirmed),
            // Its time came while it was looked at.
            Ok(Then::Rest(Some(wake))) if wake <= now() => look.fired = Some(wake),
            Ok(Then::Rest(wake)) => {
                look.entry(|entry| entry.failures = 0);
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

/// One look at a `KronJob`.
struct Look<'a> {
    context: &'a Context,
    key: &'a Key,
    /// When its alarm rang…
    fired: Option<UtcInstant>,
    /// …for this object with this spec. No other is judged by that time.
    edition: Option<(String, i64)>,
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

/// A `KronJob` that can be planned, when a step begins.
#[derive(Clone, Copy)]
struct Case<'v> {
    view: &'v View,
    held: &'v Held,
    /// What is known of the template of this generation.
    trial: Option<&'v Trial>,
    job: &'v Job,
    book: &'v Book,
}

impl<'a> Look<'a> {
    fn new(context: &'a Context, key: &'a Key) -> Self {
        Self {
            context,
            key,
            fired: None,
            edition: None,
            is_live: false,
            confirmed: None,
            has_stray: false,
            strays_at: None,
            is_told: false,
        }
    }
}

impl Look<'_> {
    /// Reads or changes what is known of it, if anything is.
    fn entry<T>(&self, with: impl FnOnce(&mut Entry) -> T) -> Option<T> {
        self.context.desk().entry(self.key).map(with)
    }

    fn view(&self) -> Option<View> {
        self.entry(|entry| {
            let uid = entry.held.as_ref().map(|held| held.uid.clone()).unwrap_or_default();
            let is_kept = entry.held.as_ref().is_some_and(|held| !held.is_going);
            let (jobs, strays) =
                entry.jobs.values().cloned().partition(|fact| is_kept && fact.owner == uid);
            View {
                held: entry.held.clone(),
                jobs,
                strays,
                since: entry.since.unwrap_or_else(now),
                obstacles: entry.obstacles.clone(),
                replacing: entry.replacing.clone(),
                unended: entry.unended.clone(),
                template: entry.template.clone(),
                lost: entry.lost.clone(),
            }
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
        let edition = view.held.as_ref().map(Held::edition);
        if self.edition != edition {
            (self.edition, self.fired) = (edition, None);
        }
        if self.let_stray_go(&view.strays).await {
            return Ok(Then::Again);
        }
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
        let (book, origin) = match &held.unreadable {
            Some(why) => Book::lost(job, why.clone(), now),
            None => Book::read(Some(&held.status), job, created, now),
        };
        let case = Case { view: &view, held, trial, job, book: &book };
        if let Origin::Lost(why) = &origin {
            return self.begin(case, why).await;
        }
        self.tell_heard(held, Some(job), &book);
        let surety = self.surety(view.since);
        let sight = Sight {
            job,
            generation: held.generation,
            book: &book,
            jobs: &view.jobs,
            is_live: self.is_live,
            since: view.since,
            watched: self.context.cluster.led_before(),
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
            return self.broken(case).await;
        };
        self.follow(case, surety, now, plan).await
    }

    /// Takes the step of a plan.
    async fn follow(
        &mut self,
        case: Case<'_>,
        surety: Surety,
        judged: UtcInstant,
        plan: Plan<'_>,
    ) -> Result<Then, Fail> {
        let Case { view, held, trial, job, book: known } = case;
        let Plan { book, remarks, step, replacing, stuck, idle, wake } = plan;
        self.tell_idle(held, idle);
        self.replaces(replacing);
        if !matches!(step, Step::Look) {
            self.tell_stuck(held, stuck.as_ref());
        }
        // Of one that has its outcome that says why.
        let stuck = stuck.filter(|_| !book.pending.is_empty());
        let error =
            trouble(view, &book, trial, stuck.as_ref()).or_else(|| Some(idleness(self.key, idle?)));
        if !matches!(step, Step::Look) {
            self.clear(known, &book);
        }
        match step {
            Step::Look => {
                self.look_at_jobs().await?;
                Ok(Then::AgainLive(None))
            }
            Step::Confirm => self.confirm(held).await,
            Step::Create(permit) => self.create(held, &permit, surety, judged).await,
            Step::End { delete, release } => {
                if let Err((name, fail)) = self.end(held, &view.jobs, &delete, &release).await {
                    self.unended(case, &name, &fail).await?;
                    return Err(fail);
                }
                self.entry(|entry| entry.unended = None);
                Ok(Then::Again)
            }
            Step::Write => {
                let health = Health::of(&book, job, error);
                let mut status = held.status.clone();
                book.write(&mut status);
                self.record(held, Some(job), (status, book), &health, remarks).await?;
                Ok(Then::Again)
            }
            Step::Tidy { .. } | Step::Rest => {
                let health = Health::of(&book, job, error);
                if self.write(held, &book, &health).await? {
                    return Ok(Then::Again);
                }
                if let Step::Tidy { release, delete } = step {
                    self.tidy(&view.jobs, &release, &delete).await?;
                    return Ok(Then::Again);
                }
                Ok(self.rest(wake, trial))
            }
        }
    }

    /// Keeps what a plan says of periods that wait for others to end.
    fn replaces(&self, replacing: Vec<Replacing>) {
        self.entry(|entry| {
            if replacing.is_empty() {
                entry.unended = None;
            }
            entry.replacing = replacing;
        });
    }

    /// What was in the way of a period that is not due any more, because of an edit or a suspension,
    /// is in nobody's way; but a request that is under way may still be heard, and what is planned
    /// may not come to be written.
    fn clear(&self, known: &Book, planned: &Book) {
        self.entry(|entry| {
            let now = now();
            entry.obstacles.retain(|obstacle| {
                let period = obstacle.period;
                let is_pending = planned.is_pending(period) || known.is_pending(period);
                is_pending || obstacle.lands_until > Some(now)
            });
        });
    }

    /// Nothing is to be done before then, by the Jobs, those of others, or the template. If the
    /// API server is to be asked about that now, it is after this look.
    fn rest(&self, wake: Option<UtcInstant>, trial: Option<&Trial>) -> Then {
        let again_at = trial.and_then(|trial| trial.again_at).filter(|at| *at > now());
        Then::Rest([wake, self.strays_at, again_at].into_iter().flatten().min())
    }

    /// When to look again after a failure.
    fn failed(&self, fail: &Fail) -> UtcInstant {
        let counted = self.entry(|entry| {
            entry.failures = entry.failures.saturating_add(1);
            (entry.failures, entry.held.as_ref().map(|held| held.uid.clone()))
        });
        let (failures, uid) = counted.unwrap_or((1, None));
        self.tell_failure(fail, failures, uid.as_deref());
        now().saturating_add(pause(failures))
    }
}

/// Which object with which spec it is.
fn edition(entry: &Entry) -> Option<(String, i64)> {
    entry.held.as_ref().map(Held::edition)
}

fn limits(held: &Held) -> Limits {
    let (succeeded, failed) = held.limits;
    Limits { succeeded: succeeded as usize, failed: failed as usize }
}
