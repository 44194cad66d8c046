//! What the engine knows, for people who ask. Nothing here changes anything.

use super::Engine;
use crate::event::{JobKey, RunId};
use crate::job::{Blocked, Tracked};
use crate::kept::Last;
use crate::report;
use crate::run::{Phase, Run};
use crate::tally::Tally;
use crate::view::{BlockedView, Gauges, JobView, LastView, NextView, RunningView, Standing};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use kron_core::line::Line;
use kron_core::{Identity, PeriodId, Record, UtcInstant, UtcSecond};
use kron_tab::Entry;

impl Engine {
    /// The configured jobs, in the order of their identities.
    #[must_use]
    pub fn keys(&self) -> &[JobKey] {
        &self.index
    }

    /// The job that comes after an identity in the list of all, by identity: those that are
    /// configured, and those that are not any more and still run.
    #[must_use]
    pub fn key_after(&self, sent: Option<&Identity>) -> Option<JobKey> {
        let identity = |key: &JobKey| self.job(*key).map(Tracked::identity);
        // Before the first there is none, which is less than any.
        let place = self.index.partition_point(|key| identity(key) <= sent);
        let configured = self.index.get(place).copied();
        let lingering = self.lingering().filter(|key| identity(key) > sent);
        configured.into_iter().chain(lingering).min_by_key(identity)
    }

    /// Jobs that are no longer configured and still run.
    fn lingering(&self) -> impl Iterator<Item = JobKey> {
        let runs = |key: &JobKey| self.job(*key).is_some_and(|job| !job.runs().is_empty());
        self.leaving.iter().copied().filter(runs)
    }

    /// The entry of a job.
    #[must_use]
    pub fn entry(&self, key: JobKey) -> Option<&Entry> {
        self.job(key).map(|job| &job.entry)
    }

    /// The log line of a plan, with everything that is needed to make it again.
    #[must_use]
    pub fn plan(&self, key: JobKey, period: PeriodId) -> Option<Line> {
        let job = self.job(key)?;
        Some(report::decision(job, &job.job().decide(period), &self.zones))
    }

    /// The jobs meant by a word: an identity, or a name.
    #[must_use]
    pub fn find(&self, word: &str) -> Vec<JobKey> {
        let is_meant = |key: &JobKey| {
            self.job(*key)
                .is_some_and(|job| job.entry.name() == word || job.identity().as_str() == word)
        };
        self.index.iter().copied().chain(self.lingering()).filter(is_meant).collect()
    }

    /// Everything about a job but its history.
    #[must_use]
    pub fn view(&self, key: JobKey, now: UtcInstant) -> Option<JobView> {
        let job = self.job(key)?;
        let planned = job.planned.filter(|_| !job.is_retired && !self.is_stopping());
        let next = planned.map(|period| job.job().decide(period));
        Some(JobView {
            job: job.entry.name().to_string(),
            identity: job.identity().to_string(),
            schedule: job.job().schedule().to_string(),
            timezone: job.job().zone().name().to_string(),
            configured: !job.is_retired,
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

    fn running_view(&self, run: RunId) -> Option<RunningView> {
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
        if job.busy.as_ref().is_some_and(|busy| busy.is_put_off(period)) {
            return Some(Standing::PutOff);
        }
        let last = job.last.as_deref().filter(|last| last.period == period).map(last_view);
        let exists = job.job().prev_period(period.nominal()) == Some(period);
        Some(if last.is_some() {
            Standing::Closed { last }
        } else if !exists {
            Standing::NoSuchPeriod
        } else if decision.due() < job.ledger.not_before() {
            Standing::BeforeFirst { not_before: job.ledger.not_before().to_string() }
        } else if job.ledger.is_closed(&decision) {
            Standing::Closed { last: None }
        } else if job.is_retired {
            Standing::Removed
        } else if job.job().policy().suspend {
            Standing::Suspended
        } else {
            Standing::Waiting
        })
    }

    /// What a run is of: entry, period and chosen time.
    #[must_use]
    pub fn run(&self, run: RunId) -> Option<(&Entry, PeriodId, UtcSecond)> {
        let run = self.runs.get(&run)?;
        Some((&self.job(run.job)?.entry, run.period, run.chosen))
    }

    /// The identities that are tracked, those of jobs no longer configured but
    /// still running included.
    pub fn identities(&self) -> impl Iterator<Item = &Identity> {
        self.jobs.iter().flatten().map(Tracked::identity)
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

    /// Periods of a job that are due and have not ended: running, or kept from it.
    #[must_use]
    pub fn open_periods(&self, key: JobKey) -> Vec<PeriodId> {
        let Some(job) = self.job(key) else { return Vec::new() };
        let running = job.runs().iter().filter_map(|run| self.runs.get(run)).map(|run| run.period);
        let waiting = job.busy.iter().flat_map(|busy| busy.waiting());
        let mut open: Vec<PeriodId> = running.chain(waiting).collect();
        open.sort_unstable();
        open.dedup();
        open
    }

    /// What happened since the start.
    #[must_use]
    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Numbers about the whole.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        let is_running =
            |run: &&Run| matches!(run.phase, Phase::Running(_) | Phase::Leaderless(..));
        Gauges {
            jobs: self.index.len(),
            queued: self.index.iter().filter(|key| self.is_in_line(**key)).count(),
            running: self.runs.values().filter(is_running).count(),
            next: self.awaited.0,
        }
    }

    fn is_in_line(&self, key: JobKey) -> bool {
        self.job(key).is_some_and(|job| job.planned.is_some() || !job.blocked().is_empty())
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

fn blocked_view(blocked: &Blocked) -> BlockedView {
    BlockedView {
        period_id: blocked.period.to_string(),
        obstacle: blocked.obstacle.to_string(),
        retry_at: blocked.retry_at.map(|at| at.to_string()),
        missed_at: blocked.expiry.to_string(),
    }
}
