//! `krond history`: how a job's latest periods ended.

use super::{ask, text};
use crate::cli::AskJob;
use crate::control::Request;
use anstyle::{AnsiColor, Style};
use kron_core::UtcInstant;
use kron_core::time::duration::Pretty;
use kron_term::choice::Format;
use kron_term::failure::Failure;
use kron_term::table::{Cell, Table};
use kron_term::terminal;
use serde_json::Value;
use std::time::Duration;

/// The latest last, as in a log.
pub fn history(arguments: &AskJob) -> Result<u8, Failure> {
    let request = Request::History { job: arguments.job.clone() };
    let answer = ask(&arguments.ask.place, &request, drop)?;
    if arguments.ask.format == Format::Json {
        terminal::print_json(&answer);
        return Ok(0);
    }
    let rows = answer["history"].as_array().map_or(&[][..], Vec::as_slice);
    let last = &answer["last"];
    let running = answer["running"].as_array().map_or(&[][..], Vec::as_slice);
    for run in running {
        let (period, since) = (text(run, "periodId"), text(run, "startedAt"));
        if let Some(pid) = run["pid"].as_u64().filter(|_| !since.is_empty()) {
            terminal::print(&format!("{period} is running, pid {pid}, since {since}\n"));
        }
    }
    let is_running = running.iter().any(|run| run["periodId"] == last["periodId"]);
    let last = if is_running { &Value::Null } else { last };
    if rows.is_empty() && !last.is_null() {
        // The history may be as short as nothing; how the last period ended is known.
        terminal::print("no history is kept; the last period:\n\n");
    }
    let latest = std::slice::from_ref(last);
    let rows = if rows.is_empty() && !last.is_null() { latest } else { rows };
    if rows.is_empty() {
        terminal::print(&format!("no period of `{}` has ended yet\n", text(&answer, "job")));
        return Ok(0);
    }
    let mut table = Table::new(vec!["PERIOD", "CHOSEN", "OUTCOME", "STARTED", "RAN", "WHY"]);
    for row in rows {
        table.row(vec![
            text(row, "periodId").into(),
            or_dash(text(row, "chosenTime")).into(),
            outcome(row),
            or_dash(text(row, "startedAt")).into(),
            or_dash(&ran(row).unwrap_or_default()).into(),
            text(row, "reason").into(),
        ]);
    }
    terminal::print(&table.render());
    Ok(0)
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "-" } else { text }
}

/// The outcome, and how the command ended.
pub(super) fn outcome(row: &Value) -> Cell {
    let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
    let outcome = text(row, "outcome");
    match (outcome, row["exitCode"].as_i64(), row["signal"].as_i64()) {
        ("executed", Some(0), _) => Cell::styled("executed, exit 0", colour(AnsiColor::Green)),
        ("executed", Some(_), Some(signal)) => {
            Cell::styled(format!("executed, signal {signal}"), colour(AnsiColor::Red))
        }
        ("executed", Some(code), None) => {
            Cell::styled(format!("executed, exit {code}"), colour(AnsiColor::Red))
        }
        ("executed", None, _) => Cell::styled("executed, exit unknown", colour(AnsiColor::Yellow)),
        (other, _, _) => Cell::styled(other, colour(AnsiColor::Yellow)),
    }
}

fn ran(row: &Value) -> Option<String> {
    // When nobody saw the end, it was some time before it was noticed.
    row["exitCode"].as_i64()?;
    let started: UtcInstant = text(row, "startedAt").parse().ok()?;
    let ended: UtcInstant = text(row, "completedAt").parse().ok()?;
    let ran = ended.since(started)?;
    Some(Pretty(Duration::from_millis(ran.as_millis() as u64)).to_string())
}
