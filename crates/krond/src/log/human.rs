//! Short lines for somebody who watches: time of day (UTC), what happened, to
//! which job, and the rest in words.
//!
//! ```text
//! 10:04:11  started   backup  period 2026-03-02T10:00:00Z, chosen 10:04:11 from 09:15–10:45, 1 ms after that, pid 4711
//! 10:04:13  next      backup  in 23h 56m at 2026-03-03T10:01:02Z (window 09:15–10:45, normal)
//! ```
//!
//! What went wrong is followed by a line that says what to do. An event without
//! words of its own is shown with its pairs. Lines that programs read are those
//! of `text` and `json`.

use anstyle::{AnsiColor, Style};
use kron_core::line::{Level, Line};
use kron_core::logfmt::Value;
use kron_core::time::duration;
use kron_core::{UtcInstant, UtcSecond};
use kron_term::moment::{distance, two_units};
use std::borrow::Cow;
use std::fmt::Write;
use std::time::Duration;

/// Width of the column of events; longer words move the rest of their line.
const EVENT: usize = 8;
/// Where the second line of an event begins.
const INDENT: usize = 8 + 2 + EVENT + 2;

pub(super) fn push(out: &mut String, at: UtcInstant, line: &Line, colour: bool) {
    let time = at.floor().to_ascii();
    out.extend(time[11..19].iter().map(|&b| char::from(b)));
    let word = word(line);
    let style = if colour { style(line) } else { Style::new() };
    // A string can always be written to.
    let _ = write!(out, "  {style}{word}{style:#}");
    out.extend(std::iter::repeat_n(' ', EVENT.saturating_sub(word.chars().count()) + 2));
    let said = said(line, at);
    match (job(line), said.is_empty()) {
        (Some(job), true) => out.push_str(&shown(job)),
        (Some(job), false) => {
            let _ = write!(out, "{}  {}", shown(job), shown(&said));
        }
        (None, _) => out.push_str(&shown(&said)),
    }
    out.truncate(out.trim_end_matches(' ').len());
    out.push('\n');
    if let Some(help) = help(line) {
        let style = if colour { coloured(AnsiColor::Cyan) } else { Style::new() };
        let _ = writeln!(out, "{:INDENT$}{style}help{style:#}: {}", "", shown(&help));
    }
}

/// Its name, or the end of its identity.
fn job(line: &Line) -> Option<&str> {
    line.get("job").or_else(|| line.get("identity")?.rsplit(':').next())
}

/// What happened, in a word.
fn word(line: &Line) -> Cow<'_, str> {
    match line.event {
        "decision" => "next".into(),
        "outcome" => shown(line.get("outcome").unwrap_or(line.event)),
        "privileges_dropped" => "became".into(),
        "reload_rejected" => "rejected".into(),
        "clock_jump" => "clock".into(),
        event => event.replace('_', " ").into(),
    }
}

fn style(line: &Line) -> Style {
    match (line.level, line.event, line.get("outcome")) {
        (Level::Error, _, _) | (_, _, Some("missed")) => coloured(AnsiColor::Red),
        (Level::Warn, _, _) | (_, _, Some("skipped" | "unschedulable")) => {
            coloured(AnsiColor::Yellow)
        }
        (_, "started" | "exited" | "ready" | "reloaded", _) | (_, _, Some("executed")) => {
            coloured(AnsiColor::Green)
        }
        (_, "decision", _) | (Level::Debug, _, _) => Style::new().dimmed(),
        _ => Style::new(),
    }
}

fn coloured(colour: AnsiColor) -> Style {
    Style::new().bold().fg_color(Some(colour.into()))
}

/// The rest, in words.
fn said(line: &Line, at: UtcInstant) -> String {
    let get = |key: &str| line.get(key);
    let mut say = Sentence::default();
    match line.event {
        "decision" => return decision(line, at),
        "started" => {
            say.period(line);
            let late = length(get("late")).or_else(|| at.since(time(get("chosen_time"))?));
            let chosen = time(get("chosen_time")).map(UtcInstant::floor);
            let choice = chosen.and_then(|chosen| {
                Some(format!("chosen {} from {}", clock(chosen), window(line, chosen)?))
            });
            let what = if choice.is_some() { "that" } else { "its chosen time" };
            say.part_some(choice);
            say.part_some(late.map(|late| format!("{} after {what}", spoken(late))));
            say.pid(line);
        }
        "exited" => {
            say.period(line);
            let how = match (get("signal"), get("exit_code")) {
                (Some(signal), _) => format!("ended by signal {signal}"),
                (None, Some(code)) => format!("exit code {code}"),
                (None, None) => "nobody saw how it ended".into(),
            };
            let ran = length(get("ran")).map(|ran| format!(" after {}", spoken(ran)));
            say.part(how + &ran.unwrap_or_default());
            say.pid(line);
            say.because(get("reason"));
        }
        "outcome" => {
            say.period(line);
            say.because(get("reason").filter(|_| get("outcome") != Some("executed")));
        }
        "privileges_dropped" => {
            say.part_some(get("user").map(|user| format!("user {user}")));
            say.period(line);
            say.pid(line);
        }
        "timeout" | "replacing" | "terminating" | "killing" => ending(&mut say, line),
        "adopting" => {
            say.period(line);
            say.pid(line);
            say.part("still running from before");
        }
        "superseded" => {
            let at_least = if get("at_least").is_some() { "at least " } else { "" };
            let passed = match get("count") {
                Some("1") => "1 earlier period".into(),
                count => format!("{} earlier periods", count.unwrap_or("some")),
            };
            say.part(format!("{at_least}{passed} passed meanwhile; only the latest is looked at"));
        }
        "clock_jump" | "stalled" => {
            say.part_some(get("by").map(|by| match get("direction") {
                Some(direction) => format!("{direction} by {by}"),
                None => format!("for {by}"),
            }));
            say.because(get("message"));
        }
        "idle" => {
            say.part_some(get("idle_until").map(|until| format!("until {until}")));
            say.part_some(get("count").map(|count| format!("{count} more")));
            say.because(get("message"));
        }
        "reloaded" => {
            say.part_some(get("jobs").map(|jobs| counted(jobs, "job", "jobs")));
            let changes = ["added", "changed", "removed"]
                .iter()
                .filter_map(|key| Some(format!("{} {key}", get(key)?)));
            say.because(Some(&*changes.collect::<Vec<_>>().join(", ")).filter(|c| !c.is_empty()));
        }
        "stopping" => {
            say.part_some(get("running").map(|running| match get("jobs") {
                Some(jobs) => format!("{running} running ({jobs})"),
                None => format!("{running} running"),
            }));
            say.part_some(get("shutdown").map(|how| format!("shutdown is {how}")));
            say.because(get("message"));
        }
        "error" | "quarantined" | "reload_rejected" => wrong(&mut say, line),
        _ => others(&mut say, line),
    }
    say.text
}

fn decision(line: &Line, at: UtcInstant) -> String {
    let Some(chosen) = time(line.get("chosen_time")).map(UtcInstant::floor) else {
        let mut say = Sentence::default();
        say.period(line);
        say.text.push_str(" will be unschedulable");
        say.because(line.get("reason"));
        return say.text;
    };
    let mut text = format!("{} at {chosen}", distance(at.floor(), chosen));
    if let Some(window) = window(line, chosen) {
        let _ = write!(text, " (window {window}");
        if let Some(distribution) = line.get("distribution") {
            let _ = write!(text, ", {distribution}");
        }
        text.push(')');
    }
    text
}

/// The window around a chosen time, if there was anything to choose.
fn window(line: &Line, chosen: UtcSecond) -> Option<String> {
    let start = time(line.get("window_start"))?.floor();
    let end = time(line.get("window_end"))?.floor();
    (start < end).then(|| format!("{}–{}", near(start, chosen), near(end, chosen)))
}

/// A time as short as it can be told next to another one.
fn near(at: UtcSecond, other: UtcSecond) -> String {
    let (day, other) = (at.to_string(), other.to_string());
    if day[..10] == other[..10] { clock(at) } else { format!("{} {}", &day[..10], clock(at)) }
}

/// The time of day, with its seconds if there are any.
fn clock(at: UtcSecond) -> String {
    let at = at.to_string();
    let clock = if &at[17..19] == "00" { &at[11..16] } else { &at[11..19] };
    clock.into()
}

/// A run is to end.
fn ending(say: &mut Sentence, line: &Line) {
    say.period(line);
    say.pid(line);
    match (line.event, line.get("timeout")) {
        ("timeout", Some(timeout)) => say.part(format!("has run for {timeout}, is to end")),
        ("replacing", _) => say.part("makes way for the next run"),
        ("killing", _) => say.part("did not end when asked to"),
        _ => say.part("is to end"),
    }
    if let Some(grace) = line.get("grace") {
        say.part(format!("killed if it still runs in {grace}"));
    }
}

/// Something went wrong: where, what was tried, and what came of it.
fn wrong(say: &mut Sentence, line: &Line) {
    let get = |key: &str| line.get(key);
    if let (Some(path), None) = (get("path"), get("job")) {
        let place = [Some(path), get("line"), get("column")];
        say.part(place.into_iter().flatten().collect::<Vec<_>>().join(":"));
    } else {
        say.period(line);
    }
    // Who reads it knows that a configuration is read.
    let operation = get("operation").filter(|_| get("line").is_none());
    say.because(operation);
    say.because(get("message"));
    say.part_some(get("count").map(|count| format!("{count} in all")));
    if let (Some(path), Some(_)) = (get("path"), get("job")) {
        say.part(format!("now {path}"));
    }
    say.pid(line);
    say.part_some(get("retry").map(|retry| format!("retry: {retry}")));
}

/// What to do about it.
fn help(line: &Line) -> Option<Cow<'_, str>> {
    if let Some(hint) = line.get("hint") {
        return Some(hint.into());
    }
    if line.event == "stopping" && line.get("running") != Some("0") {
        return match line.get("shutdown")? {
            "detach" => None,
            _ => Some("a second signal (Ctrl-C) ends krond at once and leaves them running".into()),
        };
    }
    let job = job(line).unwrap_or("JOB");
    let help = match (line.event, line.get("error_type")?) {
        ("exited", _) => format!("`krond history {job}` shows how earlier runs ended"),
        ("quarantined", _) => {
            "look at what damaged the file; a restored one is used from the next start on".into()
        }
        (_, "ExecutionError") => format!("`krontab run {job}` tries it by hand"),
        (_, "PersistenceError") => "is the state directory writable, and is there room?".into(),
        (_, "ConfigurationError" | "ValidationError") => "`krontab lint` shows it in place".into(),
        _ => return None,
    };
    Some(help.into())
}

/// An event without words of its own.
fn others(say: &mut Sentence, line: &Line) {
    let jobs = line.get("jobs");
    say.part_some(jobs.map(|jobs| counted(jobs, "job", "jobs")));
    say.because(line.get("message"));
    let known = ["identity", "job", "jobs", "message", "hint"];
    for (key, value) in line.fields.iter().filter(|(key, _)| !known.contains(key)) {
        say.part(format!("{key}={}", Value(value)));
    }
}

/// Parts with commas between them.
#[derive(Default)]
struct Sentence {
    text: String,
}

impl Sentence {
    fn part(&mut self, part: impl AsRef<str>) {
        if !self.text.is_empty() {
            self.text.push_str(", ");
        }
        self.text.push_str(part.as_ref());
    }

    fn part_some(&mut self, part: Option<String>) {
        if let Some(part) = part {
            self.part(part);
        }
    }

    /// What explains the parts so far.
    fn because(&mut self, why: Option<&str>) {
        if let Some(why) = why {
            if !self.text.is_empty() {
                self.text.push_str(": ");
            }
            self.text.push_str(why);
        }
    }

    fn period(&mut self, line: &Line) {
        self.part_some(line.get("period_id").map(|period| format!("period {period}")));
    }

    fn pid(&mut self, line: &Line) {
        self.part_some(line.get("pid").map(|pid| format!("pid {pid}")));
    }
}

fn counted(n: &str, one: &str, many: &str) -> String {
    format!("{n} {}", if n == "1" { one } else { many })
}

fn time(text: Option<&str>) -> Option<UtcInstant> {
    text?.parse().ok()
}

fn length(text: Option<&str>) -> Option<Duration> {
    duration::parse(text?).ok()
}

/// A length as people say it.
fn spoken(length: Duration) -> String {
    match length.as_millis() {
        0 => "less than 1 ms".into(),
        millis @ 1..1000 => format!("{millis} ms"),
        millis @ 1000..10_000 => format!("{}.{} s", millis / 1000, millis % 1000 / 100),
        millis => two_units((millis / 1000) as u64),
    }
}

/// A text that stays in its line and commands no terminal.
fn shown(text: &str) -> Cow<'_, str> {
    let odd = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(odd) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if odd(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out.into()
}
