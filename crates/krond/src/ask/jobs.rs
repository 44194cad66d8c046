//! `krond jobs`: a table of all jobs.

use super::{ask, text};
use crate::cli::Ask;
use crate::control::Request;
use anstyle::{AnsiColor, Style};
use kron_core::{UtcInstant, UtcSecond};
use kron_engine::view::JobView;
use kron_term::choice::Format;
use kron_term::failure::{FATAL, Failure};
use kron_term::moment;
use kron_term::table::{Cell, Table};
use kron_term::terminal;
use serde_json::{Value, json};

/// All jobs, by the time at which they run next.
pub fn jobs(arguments: &Ask) -> Result<u8, Failure> {
    let mut rows = Vec::new();
    ask(&arguments.place, &Request::Jobs, |row| rows.push(row))?;
    if arguments.format == Format::Json {
        terminal::print_json(&rows);
        return Ok(0);
    }
    let status = ask(&arguments.place, &Request::Status, drop)?;
    let is_stopping = status["stopping"] == json!(true);
    let now = text(&status, "now").parse::<UtcInstant>().map_or(UtcSecond::MIN, UtcInstant::floor);
    let parse = |row: Value| {
        serde_json::from_value::<JobView>(row)
            .map_err(|error| Failure::new(FATAL, format!("krond answers oddly: {error}")))
    };
    let mut jobs: Vec<JobView> = rows.into_iter().map(parse).collect::<Result<_, _>>()?;
    if jobs.is_empty() {
        terminal::print("no jobs are configured\n");
        return Ok(0);
    }
    jobs.sort_by(|a, b| (due(a), &a.identity).cmp(&(due(b), &b.identity)));
    let mut table = Table::new(vec!["JOB", "NEXT", "", "LAST", "", "RUNNING"]);
    let is_unique = |job: &JobView| jobs.iter().filter(|other| other.job == job.job).count() == 1;
    let unique: Vec<bool> = if jobs.len() > 1000 {
        vec![true; jobs.len()]
    } else {
        jobs.iter().map(is_unique).collect()
    };
    for (job, unique) in jobs.iter().zip(unique) {
        let (next, until) = next(job, now, is_stopping);
        let (last, detail) = last(job);
        let name = if unique { &job.job } else { &job.identity };
        table.row(vec![name.clone().into(), next.into(), until, last, detail.into(), running(job)]);
    }
    terminal::print(&table.render());
    Ok(0)
}

/// When a job is due, for sorting: those that are not come last.
fn due(job: &JobView) -> (bool, Option<&String>) {
    let next = job.next.as_ref().map(|next| next.chosen_time.as_ref().unwrap_or(&next.period_id));
    (next.is_none(), next)
}

fn next(job: &JobView, now: UtcSecond, is_stopping: bool) -> (String, Cell) {
    let dim = Style::new().dimmed();
    if let Some(until) = &job.idle_until {
        let warn = Style::new().fg_color(Some(AnsiColor::Yellow.into()));
        return ("-".into(), Cell::styled(format!("idle until {until}"), warn));
    }
    match &job.next {
        _ if !job.configured => ("-".into(), Cell::styled("no longer configured", dim)),
        None if job.suspended => ("-".into(), Cell::styled("suspended", dim)),
        None if is_stopping => ("-".into(), Cell::styled("krond is stopping", dim)),
        None => ("-".into(), "".into()),
        Some(next) => match next.chosen_time.as_deref().map(|at| (at, at.parse::<UtcSecond>())) {
            Some((at, Ok(second))) => (at.into(), moment::distance(now, second).into()),
            _ => (next.period_id.clone(), Cell::styled("unschedulable", dim)),
        },
    }
}

fn last(job: &JobView) -> (Cell, String) {
    let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
    let Some(last) = &job.last else { return ("-".into(), String::new()) };
    let (word, style) = match (last.outcome.as_str(), last.exit_code) {
        ("executed", Some(0)) => ("ok".into(), colour(AnsiColor::Green)),
        ("executed", Some(code)) => (format!("exit {code}"), colour(AnsiColor::Red)),
        ("executed", None) if is_running(job, &last.period_id) => {
            ("running".into(), colour(AnsiColor::Cyan))
        }
        ("executed", None) => ("exit unknown".into(), colour(AnsiColor::Yellow)),
        (other, _) => (other.into(), colour(AnsiColor::Yellow)),
    };
    (Cell::styled(word, style), last.period_id.clone())
}

fn is_running(job: &JobView, period: &str) -> bool {
    job.running.iter().any(|run| run.period_id == period)
}

fn running(job: &JobView) -> Cell {
    let pids: Vec<String> = job
        .running
        .iter()
        .map(|run| run.pid.map_or("starting".into(), |pid| pid.to_string()))
        .collect();
    if !pids.is_empty() {
        return format!("pid {}", pids.join(", ")).into();
    }
    match job.blocked.first() {
        Some(blocked) => Cell::styled(
            format!("blocked: {}", blocked.obstacle),
            Style::new().fg_color(Some(AnsiColor::Red.into())),
        ),
        None => "-".into(),
    }
}
