//! `krond status`, `krond reload`, `krond stop`: the daemon as a whole.

use super::{ask, begin, explain, socket, text};
use crate::cli::{Ask, Stop};
use crate::control::Request;
use kron_core::{UtcInstant, UtcSecond};
use kron_term::choice::Format;
use kron_term::failure::{Failure, INVALID};
use kron_term::{moment, terminal};
use serde_json::{Value, json};

/// How the daemon is.
pub fn status(arguments: &Ask) -> Result<u8, Failure> {
    let status = ask(&arguments.place, &Request::Status, drop)?;
    if arguments.format == Format::Json {
        terminal::print_json(&status);
        return Ok(0);
    }
    let instant =
        |name: &str| text(&status, name).parse::<UtcInstant>().ok().map(UtcInstant::floor);
    let now = instant("now").unwrap_or(UtcSecond::MIN);
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let mut out = String::new();
    let mut row = |name: &str, value: String| {
        out += &format!("{name:<14}{value}\n");
    };
    let state = if status["stopping"] == json!(true) { "stopping" } else { "running" };
    row("krond", format!("{state}, pid {}, version {}", status["pid"], text(&status, "version")));
    if let Some(started) = instant("startedAt") {
        row("since", format!("{started}  {}", moment::distance(now, started)));
    }
    let paths: Vec<&str> = status["configuration"]
        .as_array()
        .map(|paths| paths.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    row("configuration", paths.join(", "));
    if let Some(at) = instant("reloadRejectedAt") {
        row("", format!("as it was before {at}: a reload was refused; `krond reload` says why"));
    }
    let left_out = number(&status["leftOut"]);
    if left_out > 0 {
        let mistakes = if left_out == 1 { "mistake" } else { "mistakes" };
        row(
            "",
            format!("without the entries of {left_out} {mistakes}; `krontab lint` shows where"),
        );
    }
    row("state", text(&status, "stateDir").into());
    row("jobs", format!("{}, {} running", number(&status["jobs"]), number(&status["running"])));
    match instant("next") {
        Some(next) => row("next", format!("{next}  {}", moment::distance(now, next))),
        None => row("next", "nothing is due".into()),
    }
    let outcomes = &status["outcomes"];
    let counts: Vec<String> = ["executed", "skipped", "missed", "unschedulable", "superseded"]
        .iter()
        .filter(|name| number(&outcomes[**name]) > 0 || **name == "executed")
        .map(|name| format!("{} {name}", number(&outcomes[*name])))
        .collect();
    row("since then", counts.join(", "));
    row("decides by", format!("{}, tzdb {}", text(&status, "algorithm"), text(&status, "tzdb")));
    terminal::print(&out);
    Ok(0)
}

/// Reads the configuration again.
pub fn reload(arguments: &Ask) -> Result<u8, Failure> {
    let is_json = arguments.format == Format::Json;
    let answer = match ask(&arguments.place, &Request::Reload, drop) {
        Err(failure) if is_json && failure.code == INVALID => {
            let (error, hint) = (failure.message(), failure.advice());
            terminal::print_json(&json!({ "error": error, "hint": hint }));
            return Ok(failure.code);
        }
        // What is wrong is said as `krontab lint` says it.
        Err(failure) if failure.message().starts_with("error[") => {
            terminal::print_error(&format!("{}\n\n", failure.message()));
            let why = failure.advice().unwrap_or_default();
            return Err(Failure::new(failure.code, format!("nothing was changed: {why}")));
        }
        other => other?,
    };
    if is_json {
        terminal::print_json(&answer);
        return Ok(0);
    }
    let jobs = answer["jobs"].as_u64().unwrap_or(0);
    let changes: Vec<String> = ["added", "changed", "removed"]
        .iter()
        .filter_map(|name| Some((name, answer[*name].as_u64().filter(|count| *count > 0)?)))
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    let changes = if changes.is_empty() { "nothing changed".into() } else { changes.join(", ") };
    let plural = if jobs == 1 { "" } else { "s" };
    terminal::print(&format!("reloaded: {jobs} job{plural}; {changes}\n"));
    if jobs == 0 {
        terminal::print_error("warning: nothing is configured, so nothing will run\n");
    }
    Ok(0)
}

/// Ends the daemon.
pub fn stop(arguments: &Stop) -> Result<u8, Failure> {
    let how = match (arguments.graceful, arguments.now) {
        (true, _) => Some("wait".into()),
        (_, true) => Some("terminate".into()),
        _ => None,
    };
    let place = &arguments.ask.place;
    let is_text = arguments.ask.format == Format::Text;
    let mut conversation = begin(place, &Request::Stop { how })?;
    let (mut is_heard, mut leaves) = (false, false);
    let answer = conversation.finish(|row| {
        (is_heard, leaves) = (true, text(&row, "stopping") == "detach");
        let running = row["running"].as_u64().unwrap_or(0);
        let what = match text(&row, "stopping") {
            "wait" if running > 0 => {
                format!("waiting for {} (`krond stop --now` ends them)\n", jobs(running))
            }
            "terminate" if running > 0 => format!("ending {}\n", jobs(running)),
            "detach" if running > 0 => format!("leaving {}\n", jobs(running)),
            _ => return,
        };
        if is_text {
            terminal::print_error(&what);
        }
    });
    if let Err(error) = answer.as_ref()
        && !is_heard
    {
        return Err(explain(error, &socket(place)?));
    }
    // Its last words may be lost on the way out; that it is gone is what matters.
    conversation.wait_for_the_end();
    if is_text {
        let left = answer.as_ref().ok().and_then(|answer| answer["left"].as_u64());
        if let Some(left) = left.filter(|left| *left > 0 && !leaves) {
            terminal::print_error(&format!("left alone: {}\n", jobs(left)));
        }
        terminal::print("krond has ended\n");
    } else {
        terminal::print_json(&answer.unwrap_or_else(|_| json!({ "stopped": true })));
    }
    Ok(0)
}

fn jobs(running: u64) -> String {
    format!("{running} running job{}", if running == 1 { "" } else { "s" })
}
