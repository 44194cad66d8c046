//! An operator that does what plans say, one step at a time, and remembers no more than
//! it may.

use crate::cluster::{Cluster, Conflict};
use kron_core::{Attention, PeriodId, StartPermit, UtcInstant};
use kron_operator::api::KronJobStatus;
use kron_operator::book::{Book, Origin};
use kron_operator::facts::Fact;
use kron_operator::lease::Term;
use kron_operator::obstacle::{self, Obstacle};
use kron_operator::plan::{Remark, Replacing, Sight, Step, Surety, plan};
use kron_operator::unusable::{self, Flaw};
use kron_operator::upkeep::{HOLD, Upkeep};
use std::time::Duration;

/// How long after a refusal the next attempt is made.
const PAUSE: Duration = Duration::from_secs(10);

/// What a step was.
#[derive(Clone, Debug, PartialEq)]
pub enum Did {
    /// Nothing is left to do.
    Rest,
    Look,
    Wrote(Vec<Remark>),
    /// A new book was begun; why, if the old one was lost.
    Began(Option<String>),
    Created(PeriodId),
    /// A request is on its way.
    Sent(PeriodId, Option<kron_core::UtcSecond>),
    Refused(PeriodId, String),
    Ended(PeriodId, Vec<String>),
    /// Jobs could not be ended; that is tried again later.
    Unended,
    Tidied(Vec<String>, Vec<String>),
    Conflict,
}

#[allow(clippy::struct_excessive_bools, reason = "each is a way to be wrong")]
pub struct Operator {
    attention: Attention,
    /// Since when this very job has been looked after.
    since: UtcInstant,
    /// Whether nothing of it was judged.
    rested: bool,
    /// When to ask again.
    pub wake: Option<UtcInstant>,
    memory: Vec<Fact>,
    seen: (Option<KronJobStatus>, u64),
    is_live: bool,
    confirmed: Option<UtcInstant>,
    /// When somebody led before.
    watched: Option<Term>,
    /// Since when it leads.
    pub begun: UtcInstant,
    /// Whether nobody else can create anything.
    pub is_sole: bool,
    obstacles: Vec<Obstacle>,
    replacing: Vec<Replacing>,
    unended: Option<String>,
    /// Until when it says that nothing can run.
    pub idle: Option<UtcInstant>,
    /// What it says of Jobs that do not end.
    pub stuck: Option<String>,
    /// Whether it hears nothing of what becomes of Jobs.
    pub is_deaf: bool,
    /// Whether it may act on what was true a moment ago.
    pub is_late: bool,
    /// Whether it does not hear of what its next request creates.
    pub is_cut_off: bool,
    /// Whether requests to create are only sent.
    pub is_far: bool,
}

impl Operator {
    /// One that has just been started: it knows what the cluster knows.
    pub fn start(cluster: &Cluster) -> Self {
        let now = cluster.now;
        Self {
            attention: Attention::begin(now),
            since: now,
            rested: rests(cluster),
            wake: Some(now),
            memory: cluster.facts(),
            seen: (cluster.read(), cluster.version),
            is_live: false,
            confirmed: None,
            watched: cluster.led,
            begun: now,
            is_sole: true,
            obstacles: Vec::new(),
            replacing: Vec::new(),
            unended: None,
            stuck: None,
            idle: None,
            is_deaf: false,
            is_late: false,
            is_cut_off: false,
            is_far: false,
        }
    }

    /// Somebody woke it up, or its timer did.
    pub fn wake_up(&mut self, cluster: &Cluster) {
        let planned = self.wake.filter(|at| *at <= cluster.now);
        self.attention.wake(planned, cluster.now);
        self.look_anew();
        self.hear(cluster);
    }

    /// What it asked for is not new any more.
    pub fn look_anew(&mut self) {
        (self.is_live, self.confirmed) = (false, None);
    }

    /// Hears of Jobs only.
    pub fn hear_of_jobs(&mut self, cluster: &Cluster) {
        self.memory = cluster.facts();
    }

    /// Hears of everything.
    pub fn hear(&mut self, cluster: &Cluster) {
        self.seen = (cluster.read(), cluster.version);
        if self.is_cut_off {
            return;
        }
        if !self.is_deaf {
            self.memory = cluster.facts();
        }
        // What was created is always heard of.
        for fact in cluster.facts() {
            if self.memory.iter().all(|known| known.uid != fact.uid) {
                self.memory.push(fact);
            }
        }
        let rests = rests(cluster);
        if rests || self.rested {
            self.since = cluster.now;
        }
        self.rested = rests;
    }

    /// Does one step.
    pub fn step(&mut self, cluster: &mut Cluster) -> Did {
        if let Some(flaw) = cluster.flaw {
            return self.care(cluster, flaw);
        }
        let (job, now) = (cluster.job.clone(), cluster.now);
        let (book, origin) =
            Book::read(self.seen.0.as_ref(), &job, Some(cluster.created), cluster.now);
        if origin != Origin::Kept {
            let why = match origin {
                Origin::Lost(why) => Some(why),
                _ => None,
            };
            return self.write(cluster, &book, &[]).map_or(Did::Conflict, |()| Did::Began(why));
        }
        let (memory, obstacles) = (self.memory.clone(), self.obstacles.clone());
        let (replacing, unended) = (self.replacing.clone(), self.unended.clone());
        let since = self.attention.since().max(self.since);
        let surety =
            Surety { sole_since: self.is_sole.then_some(since), confirmed: self.confirmed };
        let sight = Sight {
            job: &job,
            generation: cluster.generation,
            book: &book,
            jobs: &memory,
            is_live: self.is_live,
            since,
            watched: self.watched,
            now,
            clock: now,
            surety,
            obstacles: &obstacles,
            replacing: &replacing,
            unended: unended.as_deref(),
            limits: cluster.limits,
        };
        let plan = plan(&sight);
        self.wake = plan.wake;
        self.replacing = plan.replacing;
        self.idle = plan.idle;
        if !matches!(plan.step, Step::Look) {
            self.stuck = plan.stuck.map(|(_, why)| why);
        }
        match plan.step {
            Step::Look => {
                assert!(!self.is_live, "it looks twice");
                self.memory = cluster.facts();
                self.is_live = true;
                Did::Look
            }
            Step::Confirm => {
                assert_ne!(self.confirmed, Some(now), "it asks twice");
                self.memory = cluster.facts();
                self.seen = (cluster.read(), cluster.version);
                (self.is_live, self.confirmed) = (true, Some(now));
                Did::Look
            }
            Step::Write => {
                assert_ne!(plan.book, book, "it writes what is written");
                match self.write(cluster, &plan.book, &plan.remarks) {
                    Ok(()) => Did::Wrote(plan.remarks),
                    Err(Conflict) => Did::Conflict,
                }
            }
            Step::Create(permit) => self.create(cluster, &permit),
            Step::End { delete, release } => {
                let period = self.replacing[0].period;
                if let Some(why) = &cluster.bound {
                    self.unended = Some(format!("Job `{}` cannot be ended: {why}", delete[0]));
                    self.wake = self.wake.into_iter().chain([now.saturating_add(PAUSE)]).min();
                    return Did::Unended;
                }
                self.unended = None;
                clear(cluster, &delete, &release);
                self.memory = cluster.facts();
                Did::Ended(period, [delete, release].concat())
            }
            Step::Tidy { release, delete } => {
                clear(cluster, &delete, &release);
                self.memory = cluster.facts();
                Did::Tidied(release, delete)
            }
            Step::Rest => {
                assert!(self.wake.is_none_or(|wake| wake > now), "it asks again at once");
                Did::Rest
            }
        }
    }

    /// One step of what there is to do while the spec cannot be used.
    fn care(&mut self, cluster: &mut Cluster, flaw: Flaw) -> Did {
        let status = self.seen.0.clone().unwrap_or_default();
        let care = unusable::care(&status, &self.memory, flaw, cluster.limits, cluster.now);
        if care.status != status {
            let written = cluster.put(&care.status, &care.book, &care.remarks, self.seen.1);
            self.seen = (cluster.read(), cluster.version);
            return written.map_or(Did::Conflict, |()| Did::Wrote(care.remarks));
        }
        assert!(care.remarks.is_empty(), "it is told twice: {:?}", care.remarks);
        let Upkeep { release, delete, wake } = care.upkeep;
        self.wake = wake;
        if release.is_empty() && delete.is_empty() {
            return Did::Rest;
        }
        clear(cluster, &delete, &release);
        self.memory = cluster.facts();
        Did::Tidied(release, delete)
    }

    fn create(&mut self, cluster: &mut Cluster, permit: &StartPermit<'_>) -> Did {
        let now = cluster.now;
        let period = permit.decision().period();
        let waiting = self.replacing.iter().find(|waiting| waiting.period == period);
        let judged = waiting.map_or(now, |waiting| waiting.judged);
        let is_current = !self.is_late && self.seen.1 == cluster.version;
        cluster.check_request(permit, judged, is_current);
        if self.is_far {
            return Did::Sent(period, Some(permit.chosen()));
        }
        let result = cluster.create(permit);
        if self.is_cut_off {
            self.give_up(period, now);
            return Did::Refused(period, "no answer".into());
        }
        // Whether it was created or was there: it is known now.
        let theirs = cluster.facts().into_iter().find(|fact| fact.period == period);
        match (result, theirs) {
            (_, Some(fact)) => {
                self.memory.retain(|known| known.name != fact.name);
                self.memory.push(fact);
                obstacle::passed(&mut self.obstacles, period, now);
                Did::Created(period)
            }
            (Ok(()), None) => unreachable!("it was created"),
            (Err(why), None) => {
                let retry_at = now.saturating_add(PAUSE);
                let before = self.obstacles.iter().find(|o| o.period == period);
                let lands_until = before.and_then(|before| before.lands_until);
                self.obstacles.retain(|obstacle| obstacle.period != period);
                let is_own = why.ends_with("already exists");
                let (told, attempts) = (why.clone(), 1);
                let obstacle =
                    Obstacle { period, why: told, is_own, attempts, retry_at, lands_until };
                self.obstacles.push(obstacle);
                Did::Refused(period, why)
            }
        }
    }

    fn write(
        &mut self,
        cluster: &mut Cluster,
        book: &Book,
        remarks: &[Remark],
    ) -> Result<(), Conflict> {
        let result = cluster.write(book, remarks, self.seen.1);
        self.seen = (cluster.read(), cluster.version);
        result
    }

    /// A request that was sent had no answer in time.
    pub fn give_up(&mut self, period: PeriodId, now: UtcInstant) {
        let retry_at = now.saturating_add(PAUSE);
        self.obstacles.retain(|obstacle| obstacle.period != period);
        let lands_until = Some(now.saturating_add(HOLD));
        let (why, is_own) = ("no answer".into(), false);
        let obstacle = Obstacle { period, why, is_own, attempts: 1, retry_at, lands_until };
        self.obstacles.push(obstacle);
    }
}

/// Whether nothing of it is judged.
fn rests(cluster: &Cluster) -> bool {
    cluster.job.policy().suspend || cluster.flaw.is_some()
}

fn clear(cluster: &mut Cluster, delete: &[String], release: &[String]) {
    for name in delete {
        cluster.delete(name);
    }
    for name in release {
        cluster.release(name);
    }
}
