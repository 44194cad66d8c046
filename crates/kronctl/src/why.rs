//! `kronctl why`: what happened or will happen to a period, and why, on one screen.
//!
//! From what the status says and what can be seen of Jobs and Events; in the words of
//! `krond why`. [`answer`] is pure.

use crate::cli::Why;
use crate::cluster::{self, Reached};
use crate::subject;
use k8s_openapi::api::events::v1::Event;
use kron_core::time::duration::Pretty;
use kron_core::{
    Concurrency, Decision, Job, PeriodId, Record, UtcInstant, UtcSecond, Zone, Zones, timeline,
};
use kron_operator::api::{History, KronJobStatus, LastPeriod, RunResult, condition};
use kron_operator::book::Book;
use kron_operator::facts::{self, Fact, Phase};
use kron_term::choice::Format;
use kron_term::failure::{Failure, USER, note};
use kron_term::period::{self, Earlier, Policy, Rows};
use kron_term::table::Table;
use kron_term::{moment, terminal};
use kube::ResourceExt;
use serde::Serialize;
use std::collections::BTreeSet;

/// Who runs jobs.
const WHO: &str = "the operator";
/// Events of a period that are shown, the newest.
const EVENTS: usize = 3;

/// Tells what becomes of a period.
///
/// # Errors
/// When there is no such `KronJob` or period, or it is not valid.
pub fn why(arguments: &Why, zones: &mut Zones) -> Result<u8, Failure> {
    let (name, place) = (arguments.name.as_deref(), &arguments.place);
    let now = krontab::clock::now().instant();
    let (subject, seen) = match (&place.file, name) {
        (None, Some(name)) => {
            let (kronjob, jobs, events) = cluster::ask(place, async |reached: &Reached| {
                let kronjob = reached.kronjob(name).await?;
                let uid = kronjob.uid().unwrap_or_default();
                Ok((kronjob, reached.jobs(name).await, reached.events(&uid).await))
            })?;
            // Of a spec that cannot be used nothing can be computed; what was recorded stays.
            let subject = subject::of(&kronjob, zones).inspect_err(|_| {
                if arguments.format == Format::Text {
                    terminal::print(&kronjob.status.as_ref().map(recorded).unwrap_or_default());
                }
            })?;
            let uid = kronjob.uid().unwrap_or_default();
            let facts = |jobs: Vec<_>| {
                let facts = jobs.iter().filter_map(Fact::of);
                facts.filter(|fact| fact.owner == uid).collect()
            };
            let events = reachable("Events", events).unwrap_or_default();
            let seen = Seen {
                created: facts::created(&kronjob),
                generation: kronjob.metadata.generation.unwrap_or_default(),
                jobs: reachable("Jobs", jobs).map(facts),
                events: events.iter().filter_map(Told::of).collect(),
                status: kronjob.status,
            };
            (subject, Some(seen))
        }
        _ => (subject::one(name, place, zones)?, None),
    };
    let job = &subject.named.job;
    let answer = answer(&subject.name, job, seen.as_ref(), arguments.at.as_deref(), now, zones)?;
    answer.remarks.iter().for_each(note);
    match arguments.format {
        Format::Json => terminal::print_json(&answer),
        Format::Text => terminal::print(&answer.page(job.zone(), now.floor())),
    }
    Ok(0)
}

/// The latest outcomes as a status has them, without anything that its spec would have to say.
#[must_use]
pub fn recorded(status: &KronJobStatus) -> String {
    if status.history.is_empty() {
        return String::new();
    }
    let mut table = Table::new(vec!["PERIOD", "CHOSEN", "OUTCOME", "JOB", "ENDED", "WHY"]);
    for entry in status.history.iter().rev() {
        let chosen = entry.chosen_time.as_deref().unwrap_or("-");
        let result = entry.result.map(|result| format!("{result:?}").to_lowercase());
        table.row(vec![
            entry.period_id.as_str().into(),
            chosen.into(),
            entry.outcome.as_str().into(),
            entry.job.as_deref().unwrap_or("-").into(),
            result.as_deref().unwrap_or("-").into(),
            entry.reason.as_deref().unwrap_or_default().into(),
        ]);
    }
    format!("{}\n", table.render())
}

/// What could be listed; that it could not is told, and no reason to say nothing.
fn reachable<T>(what: &str, listed: Result<Vec<T>, Failure>) -> Option<Vec<T>> {
    let tell = |failure: &Failure| {
        note(format_args!("{what} cannot be seen: {}", failure.message()));
    };
    listed.inspect_err(tell).ok()
}

/// What is seen of a `KronJob` in a cluster, besides its spec.
#[derive(Debug, Default)]
pub struct Seen {
    /// What it says of itself.
    pub status: Option<KronJobStatus>,
    /// When it was created.
    pub created: Option<UtcInstant>,
    /// Generation of its spec.
    pub generation: i64,
    /// Its Jobs, if they can be seen.
    pub jobs: Option<Vec<Fact>>,
    /// What was told of it.
    pub events: Vec<Told>,
}

/// An Event.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Told {
    /// When.
    pub at: String,
    /// In one word.
    pub reason: String,
    /// In full.
    pub note: String,
}

impl Told {
    fn of(event: &Event) -> Option<Self> {
        let at = event.event_time.as_ref().map(|time| time.0)?;
        let at = UtcSecond::new(at.as_second()).ok()?.to_string();
        Some(Self { at, reason: event.reason.clone()?, note: event.note.clone()? })
    }
}

/// Everything there is to tell. The names are those of `krond why` and stable.
#[derive(Debug, Serialize)]
pub struct Answer {
    now: String,
    job: JobAnswer,
    policy: PolicyAnswer,
    conditions: Vec<ConditionAnswer>,
    /// What to know about all of it.
    remarks: Vec<String>,
    periods: Vec<PeriodAnswer>,
}

#[derive(Debug, Serialize)]
struct JobAnswer {
    job: String,
    identity: String,
    schedule: String,
    timezone: String,
    suspended: bool,
}

#[derive(Debug, Serialize)]
struct PolicyAnswer {
    concurrency: &'static str,
    deadline: String,
    suspend: bool,
}

#[derive(Debug, Serialize)]
struct ConditionAnswer {
    #[serde(rename = "type")]
    type_: String,
    reason: String,
    message: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PeriodAnswer {
    period_id: String,
    /// Nothing if it was made by an earlier spec, of which nobody knows the rest.
    decision: Option<Record>,
    /// The schedule of an earlier spec, if that made the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier_schedule: Option<String>,
    standing: Standing,
    finished: Option<End>,
    events: Vec<Told>,
}

/// The outcome of a period.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct End {
    outcome: String,
    reason: Option<String>,
    /// The second that was chosen for it then.
    chosen_time: Option<String>,
    job: Option<String>,
    created_at: Option<String>,
    result: Option<RunResult>,
    finished_at: Option<String>,
}

/// Where a period stands.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase", tag = "state")]
enum Standing {
    /// Its Job has not finished.
    #[serde(rename_all = "camelCase")]
    Running { job: String, created_at: Option<String> },
    /// It is due and its Job could not be created yet.
    #[serde(rename_all = "camelCase")]
    Blocked { obstacle: String, missed_at: String },
    /// It waits for the Jobs before it to end.
    Replacing,
    /// Its Job is about to be created.
    Starting,
    /// It is due, and nobody has judged it.
    Overdue,
    /// It is yet to come.
    Waiting,
    /// The job is suspended.
    Suspended,
    /// The spec cannot be used.
    Invalid { message: String },
    /// It has its outcome; or none, if it was due before this.
    #[serde(rename_all = "camelCase")]
    Closed {
        #[serde(skip_serializing_if = "Option::is_none")]
        not_before: Option<String>,
    },
    /// It was due before anything of this job may run.
    #[serde(rename_all = "camelCase")]
    BeforeFirst { not_before: String },
    /// It is over, and a file does not say how it ended.
    Unknown,
    /// The schedule has no such period.
    NoSuchPeriod,
}

/// Tells what becomes of the period of a time; or of the last, those that run, and the
/// next.
///
/// # Errors
/// When there is no such time, or nothing to tell.
pub fn answer(
    name: &str,
    job: &Job,
    seen: Option<&Seen>,
    at: Option<&str>,
    now: UtcInstant,
    zones: &Zones,
) -> Result<Answer, Failure> {
    let teller = Teller::new(job, seen, now);
    let periods: BTreeSet<PeriodId> = match at {
        Some(text) => {
            let at = moment::parse(text, job.zone(), now.floor())?;
            let recorded =
                PeriodId::new(at).ok().filter(|period| teller.recorded(*period).is_some());
            let period = recorded.or_else(|| job.period_of_day(text, at));
            period.or_else(|| job.period_at(at)).into_iter().collect()
        }
        None => teller.around_now(),
    };
    if periods.is_empty() {
        let message = format!("nothing to tell about `{name}`: its schedule has no period there");
        return Err(Failure::new(USER, message));
    }
    let policy = job.policy();
    let told = seen.map_or(&[][..], |seen| &seen.events);
    let explain = |period: PeriodId| {
        let decision = job.decide(period);
        let about = period.to_string();
        let mut events: Vec<Told> =
            told.iter().filter(|told| told.note.contains(&about)).cloned().collect();
        events.sort_by(|a, b| a.at.cmp(&b.at));
        events.drain(..events.len().saturating_sub(EVENTS));
        let is_ours = teller.is_of_this_spec(&decision);
        let earlier = if is_ours { None } else { teller.earlier(period) };
        let of_earlier = |earlier: &Job| Record::of(&earlier.decide(period), zones);
        let record = || Record::of(&decision, zones);
        PeriodAnswer {
            period_id: about,
            decision: earlier.as_ref().map(of_earlier).or_else(|| is_ours.then(record)),
            earlier_schedule: earlier.map(|earlier| earlier.schedule().to_string()),
            standing: teller.standing(&decision),
            finished: teller.finished(&decision),
            events,
        }
    };
    Ok(Answer {
        now: now.to_string(),
        job: JobAnswer {
            job: name.into(),
            identity: job.identity().to_string(),
            schedule: job.schedule().to_string(),
            timezone: job.zone().name().to_string(),
            suspended: policy.suspend,
        },
        policy: PolicyAnswer {
            concurrency: policy.concurrency.as_str(),
            deadline: Pretty(policy.deadline).to_string(),
            suspend: policy.suspend,
        },
        conditions: teller.conditions(),
        remarks: teller.remarks(),
        periods: periods.into_iter().map(explain).collect(),
    })
}

struct Teller<'a> {
    job: &'a Job,
    seen: Option<&'a Seen>,
    status: KronJobStatus,
    /// The marks; nothing without a cluster.
    book: Option<Book>,
    now: UtcInstant,
}

impl<'a> Teller<'a> {
    fn new(job: &'a Job, seen: Option<&'a Seen>, now: UtcInstant) -> Self {
        let status = seen.and_then(|seen| seen.status.clone());
        let book = seen.map(|seen| {
            let (mut book, _) = Book::read(status.as_ref(), job, seen.created, now);
            // What was edited does not run for the past, whoever has seen the edit.
            book.ledger.adopt_definition(job, now);
            book
        });
        Self { job, seen, status: status.unwrap_or_default(), book, now }
    }

    /// Whether the status is about the spec as it is.
    fn is_current(&self) -> bool {
        self.seen.is_some_and(|seen| self.status.observed_generation == Some(seen.generation))
    }

    fn around_now(&self) -> BTreeSet<PeriodId> {
        let last = self.status.last_period.iter().map(|last| &last.period_id);
        let pending = self.status.pending.iter().map(|pending| &pending.period_id);
        let claimed = self.status.next_period.as_ref().filter(|_| self.is_current());
        let claimed = claimed.and_then(|next| next.period_id.parse().ok());
        let mut periods: BTreeSet<PeriodId> =
            last.chain(pending).filter_map(|period| period.parse().ok()).collect();
        periods.extend(self.active());
        periods.extend(claimed.or_else(|| self.next()));
        periods
    }

    /// The first period to come that is not closed.
    fn next(&self) -> Option<PeriodId> {
        let jobs = std::slice::from_ref(self.job);
        let is_open = |decision: &Decision<'_>| {
            self.book.as_ref().is_none_or(|book| !book.ledger.is_closed(decision))
        };
        let mut to_come = timeline(jobs, self.now.floor()).map(|(_, decision)| decision);
        to_come.find(is_open).map(|decision| decision.period())
    }

    /// Its Jobs as they are; the status may be behind.
    fn facts(&self) -> Option<&[Fact]> {
        self.seen?.jobs.as_deref()
    }

    fn fact(&self, period: PeriodId) -> Option<&Fact> {
        self.facts()?.iter().find(|fact| fact.period == period)
    }

    /// Periods whose Jobs have not finished.
    fn active(&self) -> Vec<PeriodId> {
        match self.facts() {
            Some(facts) => facts.iter().filter(|f| f.is_active()).map(|f| f.period).collect(),
            None => {
                let active = self.status.active.iter();
                active.filter_map(|active| active.period_id.parse().ok()).collect()
            }
        }
    }

    fn recorded(&self, period: PeriodId) -> Option<&History> {
        let period = period.to_string();
        self.status.history.iter().find(|entry| entry.period_id == period)
    }

    fn last(&self, period: PeriodId) -> Option<&LastPeriod> {
        let last = self.status.last_period.as_ref();
        last.filter(|last| last.period_id == period.to_string())
    }

    /// Whether what is recorded of a period could have been decided by the spec as it is.
    fn is_of_this_spec(&self, decision: &Decision<'_>) -> bool {
        let period = decision.period();
        let (entry, last, fact) = (self.recorded(period), self.last(period), self.fact(period));
        let chosen = decision.chosen().map(|chosen| chosen.to_string());
        let seed_hash = last.and_then(|last| last.seed_hash.as_ref()?.parse().ok());
        let seed_hash = seed_hash.or(fact.and_then(|fact| fact.seed_hash));
        let is_recorded = entry.is_some() || last.is_some() || fact.is_some();
        let is_period = self.job.prev_period(period.nominal()) == Some(period);
        entry.is_none_or(|entry| entry.chosen_time == chosen)
            && last.is_none_or(|last| last.chosen_time == chosen)
            && fact.is_none_or(|f| f.chosen.is_none() || f.chosen == decision.chosen())
            && seed_hash.is_none_or(|seed_hash| seed_hash == *decision.seed_hash())
            && (is_period || !is_recorded)
    }

    /// The earlier definition by which a period was decided, if the status still has it.
    fn earlier(&self, period: PeriodId) -> Option<Job> {
        let last = self.last(period)?;
        let identity = self.job.identity().to_string();
        let earlier = Job::parse(&identity, last.schedule.as_ref()?, &mut Zones::bundled()).ok()?;
        let decision = earlier.decide(period);
        let chosen = decision.chosen().map(|chosen| chosen.to_string());
        let seed_hash = Some(decision.seed_hash().to_string());
        (chosen == last.chosen_time && seed_hash == last.seed_hash).then_some(earlier)
    }

    /// What is recorded of its end, completed by what is seen of its Job.
    fn finished(&self, decision: &Decision<'_>) -> Option<End> {
        let period = decision.period();
        let fact = self.fact(period);
        let created_at = fact.map(|fact| fact.created.to_string());
        let finished_at = fact.and_then(|fact| fact.finished).map(|at| at.floor().to_string());
        if let Some(entry) = self.recorded(period) {
            return Some(End {
                outcome: entry.outcome.clone(),
                reason: entry.reason.clone(),
                chosen_time: entry.chosen_time.clone(),
                job: entry.job.clone(),
                created_at,
                result: entry.result.or_else(|| entry.job.as_ref().and(self.result(period))),
                finished_at: entry.finished_at.clone().or(finished_at),
            });
        }
        if let Some(last) = self.last(period) {
            return Some(End {
                outcome: last.outcome.clone(),
                reason: last.reason.clone(),
                chosen_time: last.chosen_time.clone(),
                job: last.job.clone(),
                created_at,
                result: last.job.as_ref().and(self.result(period)),
                finished_at,
            });
        }
        // A Job is an execution, recorded or not.
        fact.map(|fact| End {
            outcome: "executed".into(),
            reason: None,
            chosen_time: fact.chosen.or(decision.chosen()).map(|chosen| chosen.to_string()),
            job: Some(fact.name.clone()),
            created_at,
            result: self.result(period),
            finished_at,
        })
    }

    /// How the Job of a period that was executed ended, as far as that can be seen.
    fn result(&self, period: PeriodId) -> Option<RunResult> {
        let facts = self.facts()?;
        match facts.iter().find(|fact| fact.period == period).map(|fact| fact.phase) {
            None => Some(RunResult::Deleted),
            Some(Phase::Active) => None,
            Some(Phase::Succeeded) => Some(RunResult::Succeeded),
            Some(Phase::Failed) => Some(RunResult::Failed),
        }
    }

    fn standing(&self, decision: &Decision<'_>) -> Standing {
        let period = decision.period();
        if let Some(finished) = self.finished(decision) {
            return match finished.job {
                Some(job) if self.active().contains(&period) => {
                    Standing::Running { job, created_at: finished.created_at }
                }
                _ => Standing::Closed { not_before: None },
            };
        }
        if self.job.prev_period(period.nominal()) != Some(period) {
            return Standing::NoSuchPeriod;
        }
        let Some(Book { ledger, .. }) = &self.book else {
            return match decision.due() {
                due if due < self.now => Standing::Unknown,
                _ if self.job.policy().suspend => Standing::Suspended,
                _ => Standing::Waiting,
            };
        };
        let not_before = ledger.not_before().to_string();
        let is_early = decision.due() < ledger.not_before();
        if ledger.is_marked(period) {
            Standing::Closed { not_before: is_early.then_some(not_before) }
        } else if is_early {
            Standing::BeforeFirst { not_before }
        } else if self.job.policy().suspend {
            Standing::Suspended
        } else if let Some(message) = self.condition(condition::INVALID) {
            Standing::Invalid { message: message.into() }
        } else if decision.due() > self.now {
            Standing::Waiting
        } else {
            self.due(decision)
        }
    }

    /// A period that should have begun.
    fn due(&self, decision: &Decision<'_>) -> Standing {
        let expiry = decision.chosen().map(|chosen| self.job.policy().expiry(chosen));
        let is_claimed = self.book.as_ref().is_some_and(|b| b.has_claimed(decision.period()));
        match (expiry, self.condition(condition::ERROR)) {
            (Some(expiry), Some(obstacle)) if is_claimed => {
                Standing::Blocked { obstacle: obstacle.into(), missed_at: expiry.to_string() }
            }
            _ if self.job.policy().concurrency == Concurrency::Replace
                && !self.active().is_empty() =>
            {
                Standing::Replacing
            }
            (Some(expiry), _) if is_claimed && self.now < expiry => Standing::Starting,
            _ => Standing::Overdue,
        }
    }

    /// What a condition that holds says.
    fn condition(&self, type_: &str) -> Option<&str> {
        let found = self.status.conditions.iter().find(|found| found.type_ == type_);
        found.filter(|found| found.status == "True").map(|found| &*found.message)
    }

    fn conditions(&self) -> Vec<ConditionAnswer> {
        let holds = |found: &&k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition| {
            (found.status == "True") != (found.type_ == condition::READY)
        };
        let holding = self.status.conditions.iter().filter(holds);
        holding
            .map(|found| ConditionAnswer {
                type_: found.type_.clone(),
                reason: found.reason.clone(),
                message: found.message.clone(),
            })
            .collect()
    }

    fn remarks(&self) -> Vec<String> {
        let Some(seen) = self.seen else { return Vec::new() };
        match self.status.observed_generation {
            None => vec![format!("{WHO} has not looked at it yet")],
            Some(known) if known != seen.generation => vec![format!(
                "{WHO} has seen generation {known} of the spec; this is generation {}",
                seen.generation
            )],
            Some(_) => Vec::new(),
        }
    }
}

impl Answer {
    /// For people.
    #[must_use]
    pub fn page(&self, zone: &Zone, now: UtcSecond) -> String {
        let Self { job, policy, .. } = self;
        let words = Policy {
            concurrency: policy.concurrency,
            deadline: &policy.deadline,
            suspend: policy.suspend,
        };
        let mut out = period::heading(&job.job, &job.schedule, &job.identity, &words);
        for ConditionAnswer { type_, reason, message } in &self.conditions {
            let message = if message.is_empty() { reason } else { message };
            let no = if type_ == condition::READY { "not " } else { "" };
            out += &format!("{no}{type_}: {message}\n");
        }
        for answer in &self.periods {
            let mut rows = answer.choice(zone, now);
            rows.extend(answer.fate(&policy.deadline, now));
            rows.extend(
                answer
                    .events
                    .iter()
                    .map(|told| ("event", format!("{}  {}: {}", told.at, told.reason, told.note))),
            );
            out += &format!("\n{}", period::render(&rows));
        }
        out
    }
}

impl PeriodAnswer {
    /// How its second was chosen, as far as that is known.
    fn choice(&self, zone: &Zone, now: UtcSecond) -> Rows {
        if let Some(decision) = &self.decision {
            let mut rows = period::choice(decision, zone, now);
            let earlier = self.earlier_schedule.iter();
            rows.extend(earlier.map(|text| ("decided by", format!("an earlier spec: {text}"))));
            return rows;
        }
        let earlier = Earlier {
            period: &self.period_id,
            chosen: self.finished.as_ref().and_then(|finished| finished.chosen_time.as_deref()),
            seed_hash: None,
            definition: "spec",
        };
        period::earlier_choice(&earlier, zone, now)
    }

    /// What became of it, or will.
    fn fate(&self, deadline: &str, now: UtcSecond) -> Rows {
        let fate = match (&self.standing, &self.finished) {
            (Standing::Running { job, created_at }, _) => {
                let since = created_at.as_ref().map_or(String::new(), |at| format!(" since {at}"));
                format!("executed: running as Job {job}{since}")
            }
            (_, Some(finished)) => return finished.rows(),
            (Standing::Blocked { obstacle, missed_at }, _) => {
                period::blocked(obstacle, None, missed_at)
            }
            (Standing::Replacing, _) => period::REPLACING.into(),
            (Standing::Starting, _) => period::STARTING.into(),
            (Standing::Overdue, _) => {
                format!("is due, and {WHO} has not judged it: it is busy, or not running")
            }
            // What is not recorded can be decided by this spec only.
            (Standing::Waiting, _) => {
                let to_come = |decision| period::to_come(decision, deadline, now);
                return self.decision.as_ref().map(to_come).unwrap_or_default();
            }
            (Standing::Suspended, _) => period::SUSPENDED.into(),
            (Standing::Invalid { message }, _) => {
                format!("does not run: the spec cannot be used: {message}")
            }
            (Standing::Closed { not_before: None }, None) => period::closed(WHO),
            // Marks of the past do not say whether it ran before that.
            (Standing::Closed { not_before: Some(at) }, None) => {
                let closed = period::closed(WHO);
                format!("{closed}; or it was due before {at}, when nothing of it counted yet")
            }
            (Standing::BeforeFirst { not_before }, _) => period::before_first(not_before, WHO),
            (Standing::Unknown, _) => {
                "not known: a file does not say what has been; without `-f` the cluster is asked"
                    .into()
            }
            (Standing::NoSuchPeriod, _) => period::NO_SUCH_PERIOD.into(),
        };
        vec![("outcome", fate)]
    }
}

impl End {
    /// How it ended.
    fn rows(&self) -> Rows {
        let reason = self.reason.as_ref().map_or(String::new(), |why| format!(": {why}"));
        let mut rows = vec![("outcome", format!("{}{reason}", self.outcome))];
        if let Some(job) = &self.job {
            // Creation is known to the second.
            let late = self
                .created_at
                .as_ref()
                .and_then(|at| at.parse::<UtcInstant>().ok())
                .zip(self.chosen_time.as_ref().and_then(|at| at.parse::<UtcSecond>().ok()))
                .and_then(|(created, chosen)| created.since(chosen.instant()));
            let created = match (&self.created_at, late) {
                (Some(at), Some(late)) => {
                    format!("  created {at}, {} s after the chosen time", late.as_secs())
                }
                (Some(at), None) => format!("  created {at}"),
                (None, _) => String::new(),
            };
            rows.push(("job", format!("{job}{created}")));
            let result = match self.result {
                Some(RunResult::Succeeded) => "succeeded",
                Some(RunResult::Failed) => "failed",
                Some(RunResult::Deleted) => "deleted before anybody saw how it finished",
                None => "nobody saw how",
            };
            let at = self.finished_at.as_ref().map_or(String::new(), |at| format!("{at}  "));
            rows.push(("ended", format!("{at}{result}")));
        }
        rows
    }
}
