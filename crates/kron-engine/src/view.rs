//! What the engine knows, for people who ask. The names are those of the JSON
//! that `krond` prints, and stable.

use crate::engine::Engine;
use crate::event::JobKey;
use crate::kept::Last;
use crate::run::Phase;
use crate::tally::Tally;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use kron_core::{PeriodId, Record, UtcInstant};
use kron_tab::Entry;
use serde::{Deserialize, Serialize};

/// A job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobView {
    /// Its name in its file.
    pub job: String,
    /// Its identity.
    pub identity: String,
    /// Its schedule, canonical.
    pub schedule: String,
    /// Its zone.
    pub timezone: String,
    /// Whether it is suspended.
    pub suspended: bool,
    /// The period that comes next.
    pub next: Option<NextView>,
    /// The period handled most recently.
    pub last: Option<LastView>,
    /// Executions that are active.
    pub running: Vec<RunningView>,
    /// Due periods that could not be started yet.
    pub blocked: Vec<BlockedView>,
    /// Set if a mark in the future holds it.
    pub idle_until: Option<String>,
}

/// The period that comes next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NextView {
    /// Which.
    pub period_id: String,
    /// When it runs; nothing if it will be unschedulable.
    pub chosen_time: Option<String>,
    /// The seed of that choice.
    pub seed_hash: String,
}

/// The period handled most recently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastView {
    /// Which.
    pub period_id: String,
    /// How it ended.
    pub outcome: String,
    /// When it was to run.
    pub chosen_time: Option<String>,
    /// Why it was not executed.
    pub reason: Option<String>,
    /// When it began.
    pub started_at: Option<String>,
    /// How its command ended.
    pub exit_code: Option<i32>,
    /// The seed of its choice.
    pub seed_hash: Option<String>,
    /// The distribution it was chosen from.
    pub distribution: Option<String>,
}

/// An active execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunningView {
    /// Its period.
    pub period_id: String,
    /// The process; nothing while it is being made.
    pub pid: Option<u32>,
    /// Since when.
    pub started_at: Option<String>,
    /// Why it is being ended.
    pub ending: Option<String>,
}

/// A due period that could not be started yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BlockedView {
    /// Which.
    pub period_id: String,
    /// What is in its way.
    pub obstacle: String,
    /// When it is tried again.
    pub retry_at: Option<String>,
    /// From when on it is missed.
    pub missed_at: String,
}

/// Where a period stands, as far as the engine can tell without its history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum Standing {
    /// Its command runs, or is about to.
    Running(RunningView),
    /// It is due and could not be started yet.
    Blocked(BlockedView),
    /// It waits for the execution before it to end.
    Replacing,
    /// It is yet to come.
    Waiting,
    /// The job is suspended.
    Suspended,
    /// It has its outcome; if it is the one handled most recently, this one.
    Closed {
        /// The record of the job's last period, if it is this one.
        last: Option<LastView>,
    },
    /// It was due before anything of this job may run: the job was new then, was
    /// edited, or came back.
    #[serde(rename_all = "camelCase")]
    BeforeFirst {
        /// Since when periods count.
        not_before: String,
    },
    /// The schedule has no such period.
    NoSuchPeriod,
}

/// Numbers about the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gauges {
    /// Configured jobs.
    pub jobs: usize,
    /// Jobs in line.
    pub queued: usize,
    /// Executions that are active.
    pub running: usize,
    /// When the engine wants to wake up.
    pub next: Option<UtcInstant>,
}

impl Engine {
    /// The configured jobs, in the order of their identities.
    pub fn keys(&self) -> &[JobKey] {
        &self.index
    }

    /// The entry of a job.
    #[must_use]
    pub fn entry(&self, key: JobKey) -> Option<&Entry> {
        self.job(key).map(|job| &job.entry)
    }

    /// The jobs meant by a word: an identity, or a name.
    #[must_use]
    pub fn find(&self, word: &str) -> Vec<JobKey> {
        let is_meant = |key: &JobKey| {
            self.job(*key).is_some_and(|job| {
                &*job.entry.name == word || job.identity().as_str() == word
            })
        };
        self.index.iter().copied().filter(is_meant).collect()
    }

    /// Everything about a job but its history.
    #[must_use]
    pub fn view(&self, key: JobKey, now: UtcInstant) -> Option<JobView> {
        let job = self.job(key)?;
        let next = job.planned.map(|period| job.job().decide(period));
        Some(JobView {
            job: job.entry.name.to_string(),
            identity: job.identity().to_string(),
            schedule: job.job().schedule().to_string(),
            timezone: job.job().zone().name().to_string(),
            suspended: job.job().policy().suspend,
            next: next.map(|next| NextView {
                period_id: next.period().to_string(),
                chosen_time: next.chosen().map(|chosen| chosen.to_string()),
                seed_hash: next.seed_hash().to_string(),
            }),
            last: job.last.as_deref().map(last_view),
            running: job.runs().iter().filter_map(|run| self.running_view(*run)).collect(),
            blocked: job.blocked().iter().map(blocked_view).collect(),
            idle_until: job.ledger.idle_until(now).map(|until| until.to_string()),
        })
    }

    fn running_view(&self, run: crate::event::RunId) -> Option<RunningView> {
        let run = self.runs.get(&run)?;
        let begun = run.begun();
        Some(RunningView {
            period_id: run.period.to_string(),
            pid: begun.map(|begun| begun.process.pid),
            started_at: begun.map(|begun| begun.started_at.to_string()),
            ending: run.ending.map(|ending| ending.why.reason().into()),
        })
    }

    /// Where a period stands.
    #[must_use]
    pub fn standing(&self, key: JobKey, period: PeriodId) -> Option<Standing> {
        let job = self.job(key)?;
        let decision = job.job().decide(period);
        let run = job.runs().iter().find(|run| self.runs[*run].period == period);
        if let Some(view) = run.and_then(|run| self.running_view(*run)) {
            return Some(Standing::Running(view));
        }
        if let Some(blocked) = job.blocked().iter().find(|blocked| blocked.period == period) {
            return Some(Standing::Blocked(blocked_view(blocked)));
        }
        if job.busy.as_ref().is_some_and(|busy| busy.is_replacing(period)) {
            return Some(Standing::Replacing);
        }
        let last = job.last.as_deref().filter(|last| last.period == period).map(last_view);
        let exists = job.job().prev_period(period.nominal()) == Some(period);
        Some(if last.is_some() || (job.ledger.is_marked(period) && exists) {
            Standing::Closed { last }
        } else if !exists {
            Standing::NoSuchPeriod
        } else if job.ledger.is_closed(&decision) {
            Standing::BeforeFirst { not_before: job.ledger.not_before().to_string() }
        } else if job.job().policy().suspend {
            Standing::Suspended
        } else {
            Standing::Waiting
        })
    }

    /// The record of a decision.
    #[must_use]
    pub fn record(&self, key: JobKey, period: PeriodId) -> Option<Record> {
        let job = self.job(key)?;
        Some(Record::of(&job.job().decide(period), &self.zones))
    }

    /// The periods that were and will be the latest: the one handled most recently
    /// and the one planned.
    #[must_use]
    pub fn around_now(&self, key: JobKey) -> (Option<PeriodId>, Option<PeriodId>) {
        let Some(job) = self.job(key) else { return (None, None) };
        (job.last.as_ref().map(|last| last.period), job.planned)
    }

    /// What happened since the start.
    #[must_use]
    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Numbers about the whole.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        let is_running = |run: &&crate::run::Run| {
            matches!(run.phase, Phase::Running(_) | Phase::Leaderless(..))
        };
        Gauges {
            jobs: self.index.len(),
            queued: self.queue.len(),
            running: self.runs.values().filter(is_running).count(),
            next: self.awaited,
        }
    }

    /// Whether the daemon is on its way out.
    #[must_use]
    pub const fn is_stopping(&self) -> bool {
        self.stopping.is_some()
    }
}

fn last_view(last: &Last) -> LastView {
    LastView {
        period_id: last.period.to_string(),
        outcome: last.outcome.to_string(),
        chosen_time: last.chosen.map(|chosen| chosen.to_string()),
        reason: last.reason.as_deref().map(String::from),
        started_at: last.started_at.map(|at| at.to_string()),
        exit_code: last.exit_code,
        seed_hash: last.seed_hash.map(|hash| hash.to_string()),
        distribution: last.distribution.as_deref().map(String::from),
    }
}

fn blocked_view(blocked: &crate::job::Blocked) -> BlockedView {
    BlockedView {
        period_id: blocked.period.to_string(),
        obstacle: blocked.obstacle.to_string(),
        retry_at: blocked.retry_at.map(|at| at.to_string()),
        missed_at: blocked.expiry.to_string(),
    }
}
