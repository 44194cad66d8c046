//! `krond why`: what happened or will happen to a period, and why, on one
//! screen.

use super::{ask, text};
use crate::cli::Why;
use crate::control::Request;
use kron_core::{Record, UtcInstant, UtcSecond, Zone, Zones};
use kron_engine::view::{JobView, Standing};
use kron_term::choice::Format;
use kron_term::failure::{FATAL, Failure, USER};
use kron_term::period::{self, Earlier, Policy, Rows};
use kron_term::terminal;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Explains the period asked for, or the last and the next one.
pub fn why(arguments: &Why) -> Result<u8, Failure> {
    let request = Request::Why { job: arguments.job.clone(), at: arguments.at.clone() };
    let answer = ask(&arguments.ask.place, &request, drop)?;
    if arguments.ask.format == Format::Json {
        terminal::print_json(&answer);
        return Ok(0);
    }
    let job: JobView = read(&answer["job"])?;
    let zone = Zones::bundled().get(&job.timezone).map_err(|error| odd(&error))?;
    let now = text(&answer, "now").parse::<UtcInstant>().map_or(UtcSecond::MIN, UtcInstant::floor);
    let policy = &answer["policy"];
    let policy = Policy {
        concurrency: text(policy, "concurrency"),
        deadline: text(policy, "deadline"),
        suspend: policy["suspend"] == true,
    };
    let mut out = period::heading(&job.job, &job.schedule, &job.identity, &policy);
    let periods = answer["periods"].as_array().map_or(&[][..], Vec::as_slice);
    if periods.is_empty() {
        let why =
            if job.suspended { "it is suspended" } else { "its schedule has no period there" };
        return Err(Failure::new(USER, format!("nothing to tell about `{}`: {why}", job.job)));
    }
    for period in periods {
        let context = Context { answer: period, zone: &zone, now, policy, job: &job };
        out += "\n";
        out += &context.period()?;
    }
    let earlier = answer["earlierOpen"].as_u64().unwrap_or(0);
    if earlier > 0 {
        let periods = if earlier == 1 { "period is" } else { "periods are" };
        out += &format!("\n{earlier} earlier {periods} open, too: `--at` explains each\n");
    }
    terminal::print(&out);
    Ok(0)
}

fn read<T: DeserializeOwned>(value: &Value) -> Result<T, Failure> {
    serde_json::from_value(value.clone()).map_err(|error| odd(&error))
}

fn odd(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(FATAL, format!("krond answers oddly: {error}"))
}

struct Context<'a> {
    answer: &'a Value,
    zone: &'a Zone,
    now: UtcSecond,
    policy: Policy<'a>,
    job: &'a JobView,
}

impl Context<'_> {
    fn period(&self) -> Result<String, Failure> {
        let record: Record = read(&self.answer["decision"])?;
        let standing: Standing = read(&self.answer["standing"])?;
        let mut rows = match self.earlier(&record, &standing) {
            Some((chosen, seed_hash)) => {
                let earlier = Earlier {
                    period: &record.period_id,
                    chosen: chosen.as_deref(),
                    seed_hash: Some(&seed_hash),
                    definition: "definition",
                };
                period::earlier_choice(&earlier, self.zone, self.now)
            }
            None => period::choice(&record, self.zone, self.now),
        };
        rows.extend(self.fate(&record, &standing));
        Ok(period::render(&rows))
    }

    /// Chosen time and seed hash of a period that has ended, if the present definition
    /// would have had others.
    fn earlier(&self, record: &Record, standing: &Standing) -> Option<(Option<String>, String)> {
        let finished = &self.answer["finished"];
        let (chosen, seed_hash) = match standing {
            Standing::Closed { last: Some(last) } if finished.is_null() => {
                (last.chosen_time.clone(), last.seed_hash.clone()?)
            }
            _ => {
                let seed_hash = finished["seedHash"].as_str()?.to_string();
                (finished["chosenTime"].as_str().map(String::from), seed_hash)
            }
        };
        let is_same = chosen == record.chosen_time && seed_hash == record.seed_hash;
        (!is_same).then_some((chosen, seed_hash))
    }

    /// What became of it, or will.
    fn fate(&self, record: &Record, standing: &Standing) -> Rows {
        let finished = &self.answer["finished"];
        if !finished.is_null() {
            return finished_rows(finished);
        }
        let fate = match standing {
            Standing::Running(run) => match (run.pid, &run.started_at) {
                (Some(pid), Some(at)) => format!("executed: running as process {pid} since {at}"),
                _ => period::STARTING.into(),
            },
            Standing::Blocked(blocked) => {
                period::blocked(&blocked.obstacle, blocked.retry_at.as_deref(), &blocked.missed_at)
            }
            Standing::Replacing => period::REPLACING.into(),
            Standing::PutOff => period::PUT_OFF.into(),
            Standing::Waiting => {
                let mut rows = period::to_come(record, self.policy.deadline, self.now);
                let pids: Vec<u32> = self.job.running.iter().filter_map(|run| run.pid).collect();
                let busy = period::while_running(self.policy.concurrency, &pids);
                rows.extend(busy.filter(|_| !record.unschedulable));
                return rows;
            }
            Standing::Suspended => period::SUSPENDED.into(),
            Standing::Closed { last: Some(last) } => match &last.reason {
                Some(reason) => format!("{}: {reason}", last.outcome),
                None => match last.exit_code {
                    Some(code) => format!("{}, exit code {code}", last.outcome),
                    None => format!("{}, exit code unknown", last.outcome),
                },
            },
            Standing::Closed { last: None } => period::closed("krond"),
            Standing::BeforeFirst { not_before } => period::before_first(not_before, "krond"),
            Standing::NoSuchPeriod => period::NO_SUCH_PERIOD.into(),
            Standing::Removed => "will not run: the job is no longer configured".into(),
        };
        vec![("outcome", fate)]
    }
}

/// How it ended.
fn finished_rows(finished: &Value) -> Rows {
    let mut outcome = text(finished, "outcome").to_string();
    if let Some(reason) = finished["reason"].as_str() {
        outcome += &format!(": {reason}");
    }
    let mut rows = vec![("outcome", outcome)];
    if let Some(started) = finished["startedAt"].as_str() {
        let late = started
            .parse::<UtcInstant>()
            .ok()
            .zip(text(finished, "chosenTime").parse::<UtcSecond>().ok())
            .and_then(|(started, chosen)| started.since(chosen.instant()))
            .map_or(String::new(), |late| {
                format!("  (ready {} ms after the chosen time)", late.as_millis())
            });
        rows.push(("started", format!("{started}{late}")));
        let exit = match (finished["exitCode"].as_i64(), finished["signal"].as_i64()) {
            (_, Some(signal)) => format!("by signal {signal}"),
            (Some(code), None) => format!("exit code {code}"),
            (None, None) => "nobody saw how".into(),
        };
        rows.push(("ended", format!("{}  {exit}", text(finished, "completedAt"))));
    }
    rows
}
