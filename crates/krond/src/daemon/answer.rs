//! What people ask the daemon.

use super::Daemon;
use super::shelf::{Found, LookedUp};
use crate::control::server::{Appetite, Heard};
use crate::control::{Refusal, Reply, Request};
use kron_core::{Identity, PeriodId, UtcSecond};
use kron_engine::event::{Changes, Event, JobKey, Moment, Shutdown};
use kron_engine::kept::Finished;
use kron_term::failure::{INVALID, USER};
use kron_term::moment;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Questions that are not answered yet.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    /// Wait for a reload.
    reload: Vec<u32>,
    /// What readings have changed that were followed by another at once.
    unanswered: Changes,
    /// Wait for a reset to be durable, in the order in which they were asked for.
    reset: VecDeque<u32>,
    stop: Vec<u32>,
    /// Gets all jobs: the one that was sent last. A place in the list would be another's
    /// after a reload.
    jobs: BTreeMap<u32, Option<Identity>>,
}

/// How many open periods are explained unasked, the latest: one screen's worth.
const OPEN: usize = 3;

type Answer = Result<Value, Refusal>;

impl Daemon {
    /// A client is ready.
    pub(super) fn client(&mut self, id: u32, moment: Moment) {
        match self.server.ready(id, &self.poll) {
            Heard::Request(request) => self.request(id, request, moment),
            Heard::Hungry if self.conversations.jobs.contains_key(&id) => {
                self.more_jobs(id, moment);
            }
            // The rest of its answer is not known yet.
            Heard::Hungry => self.server.pause(id, &self.poll),
            Heard::Nothing => {}
            Heard::Gone => {
                self.conversations.jobs.remove(&id);
            }
        }
    }

    fn request(&mut self, id: u32, request: Request, moment: Moment) {
        let answer = match request {
            Request::Status => Ok(self.status(moment)),
            Request::Jobs => {
                self.conversations.jobs.insert(id, None);
                return self.more_jobs(id, moment);
            }
            Request::History { ref job }
            | Request::Why { ref job, .. }
            | Request::StateShow { ref job } => {
                let entry = self.find(job).and_then(|key| self.engine.entry(key).ok_or_else(gone));
                match entry {
                    Ok(entry) => {
                        let identity = entry.job.identity().clone();
                        return self.shelf.ask((id, request, identity));
                    }
                    Err(refusal) => Err(refusal),
                }
            }
            Request::Reload if self.engine.is_stopping() => {
                Err(Refusal::new(USER, "krond is on its way out"))
            }
            Request::Reload => {
                self.conversations.reload.push(id);
                return self.reader.begin(&mut self.engine, moment.now);
            }
            Request::Stop { how } => return self.stop(id, how.as_deref()),
            Request::StateReset { job } => match self.find(&job) {
                Ok(key) => {
                    self.conversations.reset.push_back(id);
                    return self.events.push_back(Event::Reset(key));
                }
                Err(refusal) => Err(refusal),
            },
        };
        self.answer(id, answer);
    }

    /// Questions come back with what the files say.
    pub(super) fn looked_up(&mut self, moment: Moment) {
        for LookedUp { client, request, found } in self.shelf.mailbox().take() {
            let answer = found.and_then(|found| match (request, found) {
                (Request::Why { job, at }, Found::History(history)) => {
                    self.why(self.find(&job)?, at.as_deref(), &history, moment)
                }
                (Request::History { job }, Found::History(history)) => {
                    self.history(self.find(&job)?, &history)
                }
                (_, Found::Text(path, text)) => Ok(json!({ "path": path, "text": text })),
                (_, Found::History(_)) => Err(gone()),
            });
            self.answer(client, answer);
        }
    }

    fn answer(&mut self, id: u32, answer: Answer) {
        let reply = match answer {
            Ok(value) => Reply::Done(value),
            Err(refusal) => Reply::Failed(refusal),
        };
        self.server.reply(id, &reply, &self.poll);
    }

    /// The job that is meant.
    fn find(&self, word: &str) -> Result<JobKey, Refusal> {
        let found = self.engine.find(word);
        let identity = |key: &JobKey| Some(self.engine.entry(*key)?.job.identity().to_string());
        match found[..] {
            [key] => Ok(key),
            [] => {
                let names = self.engine.keys().iter().filter_map(|key| self.engine.entry(*key));
                let near = kron_core::nearest(word, names.map(kron_tab::Entry::name));
                let refusal = Refusal::new(USER, format!("there is no job `{word}`"));
                Err(match near {
                    Some(name) => refusal.hint(format!("did you mean `{name}`?")),
                    None => refusal.hint(
                        "`krond jobs` lists them; of one that was removed, `krond state show` has \
                         what is kept, by its identity",
                    ),
                })
            }
            _ => {
                let all: Vec<String> = found.iter().filter_map(identity).collect();
                let refusal =
                    Refusal::new(USER, format!("{} jobs are called `{word}`", found.len()));
                Err(refusal.hint(format!("name one of: {}", all.join(", "))))
            }
        }
    }

    fn status(&self, moment: Moment) -> Value {
        let gauges = self.engine.gauges();
        let tally = self.engine.tally();
        json!({
            "pid": std::process::id(),
            "version": env!("CARGO_PKG_VERSION"),
            "algorithm": kron_core::ALGORITHM,
            "tzdb": kron_core::Zones::bundled().version(),
            "now": moment.now.to_string(),
            "startedAt": self.started_at.to_string(),
            "configuration": self.sources().iter().map(|path| path.display().to_string())
                .collect::<Vec<_>>(),
            "socket": self.server.path().display().to_string(),
            "stateDir": self.store.path().display().to_string(),
            "jobs": gauges.jobs,
            "running": gauges.running,
            "next": gauges.next.map(|next| next.to_string()),
            "stopping": self.engine.is_stopping(),
            "reloadRejectedAt": self.rejected_at.map(|at| at.to_string()),
            "leftOut": self.left_out,
            "outcomes": {
                "executed": tally.executed,
                "skipped": tally.skipped,
                "missed": tally.missed_late + tally.missed_obstacle,
                "unschedulable": tally.unschedulable_impossible + tally.unschedulable_budget,
                "superseded": tally.superseded,
            },
        })
    }

    /// Gives a client more jobs, as many as it takes for now.
    fn more_jobs(&mut self, id: u32, moment: Moment) {
        let Some(mut sent) = self.conversations.jobs.remove(&id) else { return };
        while let Some(key) = self.engine.key_after(sent.as_ref()) {
            sent = self.engine.entry(key).map(|entry| entry.job.identity().clone());
            let view = self.engine.view(key, moment.now);
            let Some(Ok(row)) = view.map(serde_json::to_value) else { continue };
            match self.server.reply(id, &Reply::Row(row), &self.poll) {
                Appetite::More => {}
                Appetite::Enough => {
                    self.conversations.jobs.insert(id, sent);
                    return;
                }
                Appetite::Gone => return,
            }
        }
        self.answer(id, Ok(json!({ "jobs": self.engine.keys().len() })));
    }

    fn history(&self, key: JobKey, history: &[Finished]) -> Answer {
        let entry = self.engine.entry(key).ok_or_else(gone)?;
        let rows: Vec<Value> = history.iter().map(finished_json).collect();
        let view = self.engine.view(key, self.clock.moment().now);
        let (last, running) = view.map(|view| (view.last, view.running)).unwrap_or_default();
        Ok(json!({
            "job": entry.name(),
            "identity": entry.job.identity().to_string(),
            "timezone": entry.job.zone().name(),
            "history": rows,
            "last": last,
            "running": running,
        }))
    }

    fn why(&self, key: JobKey, at: Option<&str>, history: &[Finished], moment: Moment) -> Answer {
        let entry = self.engine.entry(key).ok_or_else(gone)?;
        let job = &entry.job;
        let mut earlier = 0;
        let periods: Vec<PeriodId> = match at {
            Some(text) => {
                let at =
                    moment::parse(text, job.zone(), moment.now.floor()).map_err(|failure| {
                        Refusal {
                            code: INVALID,
                            message: failure.message().into(),
                            hint: failure.advice().map(String::from),
                        }
                    })?;
                let near = job
                    .period_of_day(text, at)
                    .or_else(|| job.period_at(at))
                    .or_else(|| nearest_period(entry, at));
                near.into_iter().collect()
            }
            None => {
                let (last, next) = self.engine.around_now(key);
                let mut open = self.engine.open_periods(key);
                earlier = open.len().saturating_sub(OPEN);
                let periods: BTreeSet<_> =
                    last.into_iter().chain(open.drain(earlier..)).chain(next).collect();
                periods.into_iter().collect()
            }
        };
        let explain = |period: PeriodId| {
            let record = self.engine.record(key, period);
            let standing = self.engine.standing(key, period);
            let past = history.iter().rev().find(|finished| finished.period == period);
            json!({
                "decision": record,
                "standing": standing,
                "finished": past.map(finished_json),
            })
        };
        let view = self.engine.view(key, moment.now);
        Ok(json!({
            "now": moment.now.to_string(),
            "job": view,
            "policy": {
                "concurrency": job.policy().concurrency.as_str(),
                "deadline": kron_core::time::duration::Pretty(job.policy().deadline).to_string(),
                "suspend": job.policy().suspend,
            },
            "periods": periods.into_iter().map(explain).collect::<Vec<_>>(),
            "earlierOpen": earlier,
        }))
    }

    fn stop(&mut self, id: u32, how: Option<&str>) {
        let how = match how {
            None => self.shutdown,
            Some("wait") => Shutdown::Wait,
            Some("terminate") => Shutdown::Terminate,
            Some("detach") => Shutdown::Detach,
            Some(_) => {
                return self.answer(id, Err(Refusal::new(INVALID, "no such way to end")));
            }
        };
        let running = self.engine.gauges().running;
        let row = json!({ "stopping": how.as_str(), "running": running });
        self.server.reply(id, &Reply::Row(row), &self.poll);
        self.conversations.stop.push(id);
        crate::notify::tell(crate::notify::STOPPING);
        self.events.push_back(Event::Shutdown(how));
    }

    pub(super) fn answer_stop(&mut self) {
        let left = self.engine.gauges().running;
        for id in std::mem::take(&mut self.conversations.stop) {
            self.answer(id, Ok(json!({ "stopped": true, "left": left })));
        }
    }

    pub(super) fn answer_reload(&mut self, result: Result<Changes, &str>) {
        // Those who asked while it was being read are answered by the next one.
        let earlier = std::mem::take(&mut self.conversations.unanswered);
        let result = result.map(|changes| earlier + changes);
        if self.reader.is_wanted() {
            self.conversations.unanswered = result.unwrap_or(earlier);
            return;
        }
        for id in std::mem::take(&mut self.conversations.reload) {
            let answer =
                match &result {
                    Ok(Changes { added, changed, removed }) => Ok(json!({
                        "jobs": self.engine.keys().len(),
                        "added": added,
                        "changed": changed,
                        "removed": removed,
                    })),
                    Err(text) => Err(Refusal::new(INVALID, *text)
                        .hint("the configuration before stays in force")),
                };
            self.answer(id, answer);
        }
    }

    /// A reset is durable: that of whoever has waited longest.
    pub(super) fn answer_reset(&mut self) {
        if let Some(id) = self.conversations.reset.pop_front() {
            self.answer(id, Ok(json!({ "reset": true })));
        }
    }
}

fn gone() -> Refusal {
    Refusal::new(USER, "there is no such job any more")
}

/// The period whose nominal time is nearest.
fn nearest_period(entry: &kron_tab::Entry, at: UtcSecond) -> Option<PeriodId> {
    let (before, after) = (entry.job.prev_period(at), entry.job.next_period(at));
    let far =
        |period: &PeriodId| (period.nominal().unix_seconds() - at.unix_seconds()).unsigned_abs();
    before.into_iter().chain(after).min_by_key(far)
}

/// An end of a period as JSON; the names are stable.
pub(crate) fn finished_json(finished: &Finished) -> Value {
    json!({
        "periodId": finished.period.to_string(),
        "nominalTime": finished.period.nominal().to_string(),
        "chosenTime": finished.chosen.map(|at| at.to_string()),
        "outcome": finished.outcome.to_string(),
        "reason": finished.reason,
        "startedAt": finished.started_at.map(|at| at.to_string()),
        "completedAt": finished.completed_at.to_string(),
        "exitCode": finished.exit_code,
        "signal": finished.signal,
        "seedHash": finished.seed_hash.map(|hash| hash.to_string()),
    })
}
