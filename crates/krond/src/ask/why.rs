//! `krond why`: what happened or will happen to a period, and why, on one
//! screen.

use super::{ask, text};
use crate::cli::Why;
use crate::control::Request;
use anstyle::Style;
use kron_core::{Record, UtcInstant, UtcSecond, Zone, Zones};
use kron_engine::view::{JobView, Standing};
use kron_term::choice::Format;
use kron_term::failure::{FATAL, Failure, USER};
use kron_term::{moment, terminal};
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
    let bold = Style::new().bold();
    let mut out = format!("{bold}{}{bold:#}  {}\n{}\n", job.job, job.schedule, job.identity);
    let policy = &answer["policy"];
    out += &format!(
        "concurrency={} deadline={} suspend={}\n",
        text(policy, "concurrency"),
        text(policy, "deadline"),
        policy["suspend"]
    );
    let periods = answer["periods"].as_array().map_or(&[][..], Vec::as_slice);
    if periods.is_empty() {
        let why =
            if job.suspended { "it is suspended" } else { "its schedule has no period there" };
        return Err(Failure::new(USER, format!("nothing to tell about `{}`: {why}", job.job)));
    }
    for period in periods {
        let context = Context { answer: period, zone: &zone, now, policy };
        out += "\n";
        out += &context.period()?;
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
    policy: &'a Value,
}

impl Context<'_> {
    fn period(&self) -> Result<String, Failure> {
        let record: Record = read(&self.answer["decision"])?;
        let standing: Standing = read(&self.answer["standing"])?;
        let mut rows: Vec<(&str, String)> = Vec::new();
        rows.push(("period", self.time(&record.period_id)));
        rows.push((
            "window",
            format!("{} to {}  ({})", record.window_start, record.window_end, record.mode),
        ));
        let params: Vec<String> = record
            .distribution
            .params
            .iter()
            .map(|(name, value)| format!(" {name}={value}"))
            .collect();
        rows.push(("distribution", format!("{}{}", record.distribution.name, params.concat())));
        rows.push(("seed hash", record.seed_hash.clone()));
        for (name, clauses) in
            [("only", &record.constraints.only), ("avoid", &record.constraints.avoid)]
        {
            if let Some(clauses) = clauses {
                rows.push((name, clauses.clone()));
            }
        }
        match &record.chosen_time {
            Some(chosen) => {
                let draws = match record.attempts {
                    0 => "the only second there is".into(),
                    1 => "first draw".into(),
                    n => format!("draw {n}"),
                };
                rows.push(("chosen", format!("{}  ({draws})", self.time(chosen))));
            }
            None => rows.push(("chosen", "none".into())),
        }
        rows.extend(self.fate(&record, &standing));
        let mut out = String::new();
        for (name, value) in rows {
            out += &format!("{name:<14}{value}\n");
        }
        Ok(out)
    }

    fn time(&self, text: &str) -> String {
        match text.parse::<UtcSecond>() {
            Ok(at) => moment::in_full(self.zone, at, self.now),
            Err(_) => text.into(),
        }
    }

    /// What became of it, or will.
    fn fate(&self, record: &Record, standing: &Standing) -> Vec<(&'static str, String)> {
        let finished = &self.answer["finished"];
        if !finished.is_null() {
            return finished_rows(finished);
        }
        let chosen = record.chosen_time.as_deref().unwrap_or_default();
        let fate = match standing {
            Standing::Running(run) => match (run.pid, &run.started_at) {
                (Some(pid), Some(at)) => format!("executed: running as process {pid} since {at}"),
                _ => "is being started".into(),
            },
            Standing::Blocked(blocked) => {
                let again = match &blocked.retry_at {
                    Some(at) => format!("; tried again at {at}"),
                    None => String::new(),
                };
                format!(
                    "could not be started yet: {}{again}; missed at {}",
                    blocked.obstacle, blocked.missed_at
                )
            }
            Standing::Replacing => "waits for the execution before it to end".into(),
            Standing::Waiting if record.unschedulable => format!(
                "will be unschedulable: {}",
                record.reason.as_deref().unwrap_or("no second is allowed")
            ),
            Standing::Waiting => match chosen.parse::<UtcSecond>() {
                Ok(at) => format!("will run {}", moment::distance(self.now, at)),
                Err(_) => "waits".into(),
            },
            Standing::Suspended => {
                "the job is suspended: nothing happens, and nothing is recorded".into()
            }
            Standing::Closed { last: Some(last) } => match &last.reason {
                Some(reason) => format!("{}: {reason}", last.outcome),
                None => format!("{}, exit code unknown", last.outcome),
            },
            Standing::Closed { last: None } => {
                "closed without a record of its own: it passed while krond was not running or \
                 the clock jumped, and only the latest such period is judged; or its record has \
                 left the history"
                    .into()
            }
            Standing::BeforeFirst { not_before } => format!(
                "does not run: it was due before {not_before}, when krond first saw the job, \
                 its present schedule, or it after an absence"
            ),
            Standing::NoSuchPeriod => "the schedule has no such period".into(),
        };
        let deadline = text(self.policy, "deadline");
        let mut rows = vec![("outcome", fate)];
        if matches!(standing, Standing::Waiting) && !record.unschedulable {
            let late = if deadline == "0s" { "1s" } else { deadline };
            rows.push(("if late", format!("missed from {late} after the chosen time on")));
        }
        rows
    }
}

/// How it ended.
fn finished_rows(finished: &Value) -> Vec<(&'static str, String)> {
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
                format!("  ({} ms after the chosen time)", late.as_millis())
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
