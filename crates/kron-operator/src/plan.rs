//! What is to be done about a `KronJob` now: a pure function of what is known of it
//! (OPR-02 to OPR-05, OPR-09).
//!
//! The fate of a period is decided by [`judge`], as everywhere. What is decided here is
//! in which order the cluster hears of it: a period is claimed in the status before its
//! Job is created, recorded after that, and the Job is let go of last. Whoever crashes
//! in between leaves behind what the next plan needs to go on.
//!
//! A plan is one step. When it has been done, or has failed, the next is asked for.

use crate::api::NextPeriod;
use crate::book::{Basis, Book, Finished};
use crate::facts::Fact;
use crate::obstacle::{Obstacle, again_at};
use crate::upkeep::{HOLD, Limits, Upkeep, free_at};
use kron_core::{
    Closure, Concurrency, Decision, Job, Outcome, PeriodId, SeedHash, Situation, StartPermit,
    UtcInstant, Verdict, agenda, judge,
};
use std::collections::BTreeSet;
use std::time::Duration;

/// For so long what was seen is good for a request to create a Job.
pub const PROMPT: Duration = Duration::from_secs(5);
/// So many periods that wait are claimed at once; others follow when these have an outcome. An
/// object can only be so large.
const CLAIMS: usize = 100;
/// Marks that are no more than this ahead of the clock are what a small correction of it leaves.
const AHEAD: Duration = Duration::from_secs(1);
/// How long a Job that is replaced may take to end. After that it is said that it does not,
/// and the deadline counts.
const SLOW: Duration = Duration::from_secs(60);

/// Everything that a plan depends on.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// The definition.
    pub job: &'a Job,
    /// Generation of the spec that it is of.
    pub generation: i64,
    /// The book as it is in the cluster.
    pub book: &'a Book,
    /// Its Jobs.
    pub jobs: &'a [Fact],
    /// Whether the cluster was asked for them just now. What is remembered may lack what
    /// was deleted or has finished since, but never a Job that was created.
    pub is_live: bool,
    /// Since when somebody has watched without a break.
    pub since: UtcInstant,
    /// When, as far as the cluster knows, somebody else watched before that: the time of the
    /// lease before ours.
    pub watched: Option<(UtcInstant, UtcInstant)>,
    /// The time, sampled once for everything that is due together.
    pub now: UtcInstant,
    /// What the clock says.
    pub clock: UtcInstant,
    /// What rules out that somebody else's Job went unnoticed.
    pub surety: Surety,
    /// What keeps periods from being started.
    pub obstacles: &'a [Obstacle],
    /// What the last plan said of this.
    pub replacing: &'a [Replacing],
    /// Why the last attempt to end Jobs failed, if it did.
    pub unended: Option<&'a str>,
    /// How many finished Jobs are kept.
    pub limits: Limits,
}

/// What rules out that the Job of a period was created by somebody else, recorded and removed
/// without having been heard of: of the status and the Jobs, each may be known as it was at
/// another time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Surety {
    /// Since when nobody else can have created anything.
    pub sole_since: Option<UtcInstant>,
    /// When the cluster was asked for the Jobs, and after them for the status. Had a Job been
    /// there before and gone, the status would say so.
    pub confirmed: Option<UtcInstant>,
}

impl Surety {
    /// Whether a request to create the Job of a period may be sent now. Who is prompt finds the
    /// name taken if anybody was quicker; but not what must not run beside it, or why somebody
    /// has skipped it.
    #[must_use]
    pub fn covers(&self, decision: &Decision<'_>, clock: UtcInstant) -> bool {
        let due = decision.due();
        let is_recent = |at: UtcInstant| clock.since(at).is_some_and(|age| age <= PROMPT);
        let may_share = decision.job().policy().concurrency == Concurrency::Allow;
        self.sole_since.is_some_and(|since| since <= due)
            || may_share && is_recent(due)
            || self.confirmed.is_some_and(is_recent)
    }
}

/// Whether a period that was judged in time is so still: until its deadline, and beyond it for as
/// long as a dispatch may lag. What has waited for others to end is judged after its deadline;
/// that is as good as whatever else was seen then.
#[must_use]
pub fn is_in_time(judged: UtcInstant, now: UtcInstant, expiry: UtcInstant, lag: Duration) -> bool {
    let Some(by) = now.since(judged) else { return false };
    now < expiry || by <= lag || judged >= expiry && by <= PROMPT
}

/// A period that waits until others are ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replacing {
    /// Which one.
    pub period: PeriodId,
    /// When it was last judged to be in time.
    pub judged: UtcInstant,
    /// The first of those that are to end…
    pub whom: Option<PeriodId>,
    /// …and since when it is waited for.
    pub since: UtcInstant,
}

/// What to do now, and when to ask again.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The book as it should be.
    pub book: Book,
    /// What there is to tell once it is.
    pub remarks: Vec<Remark>,
    /// The step.
    pub step: Step<'a>,
    /// Periods that wait until others are ended.
    pub replacing: Vec<Replacing>,
    /// The first of those that should have begun, and what does not end; nothing if the Jobs
    /// are to be asked for first.
    pub stuck: Option<(PeriodId, String)>,
    /// Until when nothing can run because of a mark in the future: the clock was wrong once, or
    /// is wrong now.
    pub idle: Option<UtcInstant>,
    /// When to ask again, if nothing happens before.
    pub wake: Option<UtcInstant>,
}

/// One step.
#[derive(Debug)]
pub enum Step<'a> {
    /// Ask the cluster for the Jobs: what is remembered is not enough to judge by.
    Look,
    /// Ask the cluster for the Jobs, and then for the status.
    Confirm,
    /// Create the Job of this period.
    Create(StartPermit<'a>),
    /// End these Jobs, because a period takes their place.
    End {
        /// Jobs to delete.
        delete: Vec<String>,
        /// Jobs on their way out that only our finalizer still keeps.
        release: Vec<String>,
    },
    /// Make the book durable.
    Write,
    /// Let these Jobs go, and delete those.
    Tidy {
        /// Jobs whose finalizer is to be taken off.
        release: Vec<String>,
        /// Jobs beyond what is kept.
        delete: Vec<String>,
    },
    /// Nothing.
    Rest,
}

/// Something to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// A period has its outcome.
    Outcome {
        /// How it ended.
        end: Closure,
        /// The seed of its decision, if that is known.
        seed_hash: Option<SeedHash>,
        /// Its Job, if there is one.
        job: Option<Created>,
    },
    /// So many periods were passed over; whether there may be more.
    Superseded(u32, bool),
    /// So many periods waited when an edit took their place.
    Barred(u32),
    /// A period has been planned.
    Planned(PeriodId),
    /// A Job has finished, or is gone.
    Finished(Finished),
}

/// A Job that was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// Its name.
    pub name: String,
    /// When.
    pub at: UtcInstant,
}

impl Created {
    /// This one.
    #[must_use]
    pub fn of(fact: &Fact) -> Self {
        Self { name: fact.name.clone(), at: fact.created }
    }
}

/// Plans the next step.
#[must_use]
pub fn plan<'a>(sight: &Sight<'a>) -> Plan<'a> {
    let mut planner = Planner {
        sight: *sight,
        active: sight.jobs.iter().filter(|fact| fact.is_active()).map(|f| f.period).collect(),
        book: sight.book.clone(),
        remarks: Vec::new(),
        replacing: Vec::new(),
        stuck: None,
        waits: Vec::new(),
        must_look: false,
    };
    planner.adopt_definition();
    let has_found = planner.record_found();
    planner.note_results();
    let begin = planner.judge_due();
    let step = match begin {
        _ if planner.must_look => Step::Look,
        // What was created is recorded before anything else begins.
        Some(Step::Create(permit)) if !has_found && !is_covered(sight, &permit) => Step::Confirm,
        Some(begin) if !has_found => begin,
        _ if planner.book != *sight.book => Step::Write,
        _ => planner.tidy(),
    };
    let Planner { book, remarks, replacing, stuck, mut waits, .. } = planner;
    let idle = book.ledger.idle_until(sight.clock.saturating_add(AHEAD));
    waits.extend(idle);
    Plan { book, remarks, step, replacing, stuck, idle, wake: waits.into_iter().min() }
}

fn is_covered(sight: &Sight<'_>, permit: &StartPermit<'_>) -> bool {
    sight.surety.covers(permit.decision(), sight.clock)
}

struct Planner<'a> {
    sight: Sight<'a>,
    /// Periods whose Jobs have not finished.
    active: Vec<PeriodId>,
    book: Book,
    remarks: Vec<Remark>,
    replacing: Vec<Replacing>,
    stuck: Option<(PeriodId, String)>,
    waits: Vec<UtcInstant>,
    must_look: bool,
}

impl<'a> Planner<'a> {
    /// What waited and is barred by an edit is told of.
    fn adopt_definition(&mut self) {
        let Sight { job, jobs, book, now, .. } = self.sight;
        if !self.book.ledger.adopt_definition(job, now) {
            return;
        }
        let pending = book.pending.iter().filter_map(|claim| claim.period_id.parse().ok());
        let is_barred = |period: &PeriodId| {
            !book.ledger.is_marked(*period)
                && self.book.ledger.is_closed(&job.decide(*period))
                && !jobs.iter().any(|fact| fact.period == *period)
        };
        let barred = pending.filter(is_barred).count();
        if barred > 0 {
            self.remarks.push(Remark::Barred(u32::try_from(barred).unwrap_or(u32::MAX)));
        }
    }

    /// Jobs that nobody has recorded yet, because they have just been created or whoever
    /// created them did not live to do it; whether there are any.
    fn record_found(&mut self) -> bool {
        let Sight { job, jobs, .. } = self.sight;
        let found = self.book.unrecorded(jobs);
        for fact in &found {
            let decision = job.decide(fact.period);
            let end = Closure::found(fact.period, fact.chosen.or(decision.chosen()));
            // It may have been decided by an earlier definition.
            let seed_hash = fact.seed_hash.unwrap_or(*decision.seed_hash());
            let is_of_this =
                seed_hash == *decision.seed_hash() && end.chosen() == decision.chosen();
            let basis =
                if is_of_this { self.basis() } else { self.book.basis_of_claim(fact.period) };
            self.close(end, (seed_hash, basis), Some(fact));
        }
        !found.is_empty()
    }

    /// What has become of Jobs that were created.
    fn note_results(&mut self) {
        let ends = self.book.note_results(self.sight.jobs);
        self.remarks.extend(ends.into_iter().map(Remark::Finished));
    }

    /// Judges what is due; the step that begins an execution, if one is to begin.
    fn judge_due(&mut self) -> Option<Step<'a>> {
        let Sight { job, since, now, .. } = self.sight;
        let seen = self.seen();
        let agenda = agenda(job, &self.book.ledger, since, &seen, now);
        let mut begin = None;
        // Due, and without an outcome yet.
        let mut open: Vec<Decision<'a>> = Vec::new();
        for (place, decision) in agenda.due.iter().enumerate() {
            let is_followed = self.is_any_waiting(&agenda.due[place + 1..]);
            match self.judge_one(decision, is_followed) {
                Fate::Nothing => {}
                Fate::Closed(end) => {
                    self.close(end, (*decision.seed_hash(), self.basis()), None);
                }
                Fate::Waits => open.push(*decision),
                Fate::Begins(step) => {
                    open.push(*decision);
                    // A period may begin once its claim is in the cluster. Those after it
                    // are judged again when that is done.
                    if begin.is_none() && self.sight.book.has_claimed(decision.period()) {
                        begin = Some(step);
                    }
                }
            }
        }
        let claims = self.sight.book.next.iter().chain(&self.sight.book.pending);
        let mut claimed: Vec<PeriodId> =
            claims.filter_map(|claim| claim.period_id.parse().ok()).collect();
        claimed.retain(|period| !self.book.ledger.is_marked(*period));
        self.book.ledger.supersede(job, &agenda.superseded, now);
        // What was claimed may have been created, if only nobody heard of it.
        let is_doubtful = claimed.iter().any(|period| self.book.ledger.is_marked(*period));
        self.must_look |= is_doubtful && !self.sight.is_live;
        if !agenda.superseded.is_empty() {
            let superseded = &agenda.superseded;
            self.remarks.push(Remark::Superseded(superseded.count(), superseded.is_at_least()));
        }
        let next = agenda.next.filter(|_| !job.policy().suspend);
        self.waits.extend(next.map(|next| next.due()));
        open.truncate(CLAIMS);
        for decision in open.iter().chain(&next) {
            if !self.sight.book.has_claimed(decision.period()) {
                self.remarks.push(Remark::Planned(decision.period()));
            }
        }
        let basis = self.basis();
        self.book.claim(next.as_ref(), &open, &basis);
        begin
    }

    /// What is claimed and somebody saw come due: whoever wrote `pending`, or led when the next
    /// came due. Unless the spec is another by now: then nobody waited for it.
    fn seen(&self) -> Vec<PeriodId> {
        let Sight { book, generation, since, watched, .. } = self.sight;
        let was_watched = |next: &&NextPeriod| {
            let chosen = next.chosen_time.as_ref().and_then(|text| text.parse::<UtcInstant>().ok());
            let is_in = |at: UtcInstant| {
                watched.is_some_and(|(from, to)| from <= at && at <= to) && at < since
            };
            next.generation == Some(generation) && chosen.is_some_and(is_in)
        };
        let next = book.next.as_ref().filter(was_watched);
        book.pending.iter().chain(next).filter_map(|claim| claim.period_id.parse().ok()).collect()
    }

    fn basis(&self) -> Basis {
        Basis::of(self.sight.job, self.sight.generation)
    }

    /// Whether any of these waits until others are ended, or will.
    fn is_any_waiting(&self, due: &[Decision<'a>]) -> bool {
        let Sight { job, replacing, now, .. } = self.sight;
        let is_in_time = |decision: &Decision<'_>| {
            decision.chosen().is_some_and(|chosen| now < job.policy().expiry(chosen))
        };
        due.iter().any(|decision| {
            let is_waiting = replacing.iter().any(|waiting| waiting.period == decision.period());
            is_waiting || is_in_time(decision)
        })
    }

    fn judge_one(&mut self, decision: &Decision<'a>, is_followed: bool) -> Fate<'a> {
        let period = decision.period();
        let Sight { jobs, obstacles, replacing, .. } = self.sight;
        let obstacle = obstacles.iter().find(|obstacle| obstacle.period == period);
        let waiting = replacing.iter().find(|waiting| waiting.period == period).copied();
        let whom = self.active.iter().min().copied();
        let since = waiting.filter(|waiting| waiting.whom == whom);
        let since = since.map_or(self.sight.now, |waiting| waiting.since);
        // What is remembered may have ended.
        let stuck = waiting.filter(|_| self.sight.is_live).and_then(|_| self.undead(since));
        let mut situation = Situation {
            ledger: &self.book.ledger,
            active: &self.active,
            obstacle: obstacle.map(|obstacle| &*obstacle.why).or(stuck.as_deref()),
            now: self.sight.now,
        };
        if let Some(waiting) = waiting {
            situation = situation.having_waited(waiting.judged, is_followed);
        }
        let judged = situation.now;
        self.stuck = self.stuck.take().or_else(|| stuck.clone().map(|stuck| (period, stuck)));
        match judge(decision, situation) {
            Verdict::Handled | Verdict::Suspended | Verdict::WaitUntil(_) => Fate::Nothing,
            Verdict::Close(end) => {
                let landing = self.lands_until(decision, obstacle);
                if end.outcome() == Outcome::Missed && landing > Some(self.sight.now) {
                    self.must_look |= obstacle.is_some() && !self.sight.is_live;
                    self.waits.extend(landing);
                    return Fate::Waits;
                }
                // What is remembered as active may have finished; and what was claimed may
                // have been created, if only nobody heard of it.
                let is_doubtful =
                    end.outcome() == Outcome::Skipped || self.sight.book.has_claimed(period);
                if is_doubtful && !self.sight.is_live {
                    self.must_look = true;
                    // It is judged again, and what it waited for is still the reason.
                    self.replacing.extend(waiting);
                }
                Fate::Closed(end)
            }
            Verdict::Replace(_) => {
                self.must_look |= !self.sight.is_live;
                let replacing = Replacing { period, judged, whom, since };
                self.replacing.push(replacing);
                self.wait_for_end(&replacing, decision);
                let (going, staying): (Vec<&Fact>, Vec<&Fact>) =
                    jobs.iter().filter(|fact| fact.is_active()).partition(|fact| fact.is_going);
                let is_recorded = |fact: &&&Fact| self.sight.book.ledger.is_marked(fact.period);
                let held = going.iter().filter(|fact| fact.is_held).filter(is_recorded);
                let (free, bound): (Vec<&Fact>, Vec<&Fact>) =
                    held.copied().partition(|fact| free_at(fact) <= self.sight.now);
                self.waits.extend(bound.into_iter().map(free_at));
                let release: Vec<String> = free.iter().map(|fact| fact.name.clone()).collect();
                let delete: Vec<String> = staying.iter().map(|fact| fact.name.clone()).collect();
                if delete.is_empty() && release.is_empty() {
                    return Fate::Waits;
                }
                Fate::Begins(Step::End { delete, release })
            }
            Verdict::Start(permit) => {
                // Its turn has come, but it may have to be claimed first.
                self.replacing.extend(waiting.map(|waiting| Replacing { judged, ..waiting }));
                self.start(permit, obstacle)
            }
        }
    }

    fn start(&mut self, permit: StartPermit<'a>, obstacle: Option<&Obstacle>) -> Fate<'a> {
        let Sight { job, obstacles, now, .. } = self.sight;
        let again_at = obstacle.map(|obstacle| again_at(obstacles, obstacle));
        match again_at.filter(|at| *at > now) {
            Some(at) => {
                let expiry = job.policy().expiry(permit.chosen());
                self.waits.push(at.min(expiry));
                Fate::Waits
            }
            None => {
                let is_alone = job.policy().concurrency != Concurrency::Allow;
                self.must_look |= is_alone && !self.sight.is_live && self.may_be_active();
                Fate::Begins(Step::Create(permit))
            }
        }
    }

    /// Whether the status says that Jobs are active which nobody has seen finished.
    fn may_be_active(&self) -> bool {
        let Sight { book, jobs, .. } = self.sight;
        if book.active.is_empty() {
            return book.is_cut();
        }
        let known: BTreeSet<&str> = jobs.iter().map(|fact| &*fact.name).collect();
        book.is_cut() || !book.active.iter().all(|active| known.contains(&*active.name))
    }

    /// Until when a request to create the Job of a period may still be heard: one that had
    /// no answer, or that somebody sent who was there before.
    fn lands_until(
        &self,
        decision: &Decision<'_>,
        obstacle: Option<&Obstacle>,
    ) -> Option<UtcInstant> {
        let Sight { book, since, .. } = self.sight;
        let is_theirs = book.has_claimed(decision.period()) && decision.due() < since;
        let theirs = is_theirs.then(|| since.saturating_add(HOLD));
        theirs.max(obstacle.and_then(|obstacle| obstacle.lands_until))
    }

    /// Somebody looks again when those that are replaced are gone; and if they never
    /// are, when that is told and when the deadline is over.
    fn wait_for_end(&mut self, replacing: &Replacing, decision: &Decision<'_>) {
        let slow = replacing.since.saturating_add(SLOW);
        let expiry = decision.chosen().map(|chosen| self.sight.job.policy().expiry(chosen));
        let later = [Some(slow), expiry].into_iter().flatten().filter(|at| *at > self.sight.now);
        self.waits.extend(later);
    }

    /// Which of the Jobs that are replaced since then do not end, or why they cannot be ended.
    fn undead(&self, since: UtcInstant) -> Option<String> {
        let Sight { jobs, unended, now, .. } = self.sight;
        let mut active: Vec<&Fact> = jobs.iter().filter(|fact| fact.is_active()).collect();
        active.sort_by_key(|fact| (fact.period, &fact.name));
        let first = active.first()?;
        if let Some(why) = unended {
            return Some(why.into());
        }
        let is_slow = now.since(since).is_some_and(|by| by >= SLOW);
        let more = match active.len() - 1 {
            0 => String::new(),
            more => format!(", nor do {more} others"),
        };
        let (name, period) = (&first.name, first.period);
        is_slow.then(|| format!("Job `{name}` of period {period} does not end{more}"))
    }

    fn close(&mut self, end: Closure, (seed_hash, basis): (SeedHash, Basis), fact: Option<&Fact>) {
        let name = fact.map(|fact| &*fact.name);
        self.book.close(self.sight.job, &end, (seed_hash, basis), name, self.sight.now);
        let (seed_hash, job) = (Some(seed_hash), fact.map(Created::of));
        self.remarks.push(Remark::Outcome { end, seed_hash, job });
    }

    /// What is left to do when everything is recorded.
    fn tidy(&mut self) -> Step<'a> {
        let Sight { jobs, now, limits, .. } = self.sight;
        let Upkeep { release, delete, wake } = Upkeep::of(jobs, limits, now);
        self.waits.extend(wake);
        if release.is_empty() && delete.is_empty() {
            Step::Rest
        } else {
            Step::Tidy { release, delete }
        }
    }
}

enum Fate<'a> {
    /// It is not its time.
    Nothing,
    /// It is to be tried again later.
    Waits,
    /// It has its outcome.
    Closed(Closure),
    /// It begins with this step.
    Begins(Step<'a>),
}
