//! `krontab verify`: logged decisions, made again.

use crate::cli::{Format, Verify};
use crate::lint::counted;
use anstyle::{AnsiColor, Style};
use kron_core::{Difference, EVENT, Record, Zones, logfmt};
use kron_term::failure::{Failure, INVALID, USER, plain};
use kron_term::terminal;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// Largest document that is read whole, in bytes.
const DOCUMENT: u64 = 1 << 30;
/// Longest line that is looked at, in bytes.
const LINE: u64 = 1 << 20;

pub(crate) fn verify(arguments: &Verify) -> Result<u8, Failure> {
    let mut check = Check { zones: Zones::bundled(), lines: 0, verified: 0, found: Vec::new() };
    for path in &arguments.logs {
        let shown = if path == Path::new("-") {
            "standard input".into()
        } else {
            path.display().to_string()
        };
        let failed =
            |error: io::Error| Failure::new(INVALID, format!("{shown}: {}", plain(&error)));
        if path == Path::new("-") {
            check.log(&shown, io::stdin().lock()).map_err(failed)?;
        } else {
            let file = File::open(path).map_err(failed)?;
            check.log(&shown, BufReader::new(file)).map_err(failed)?;
        }
    }
    match arguments.format {
        Format::Text => check.print(),
        Format::Json => terminal::print_json(&check.json()),
    }
    let differs = check.found.iter().any(|found| matches!(found.what, What::Differs { .. }));
    let unverifiable = check.found.iter().any(|found| matches!(found.what, What::Unverifiable(_)));
    Ok(match (differs, unverifiable || check.verified == 0) {
        (true, _) => USER,
        (false, true) => INVALID,
        (false, false) => 0,
    })
}

struct Check {
    zones: Zones,
    lines: usize,
    verified: usize,
    found: Vec<Found>,
}

/// A line that did not verify.
struct Found {
    path: String,
    line: usize,
    what: What,
}

enum What {
    Differs { identity: String, period: String, differences: Vec<Difference> },
    Unverifiable(String),
}

impl Check {
    fn log(&mut self, shown: &str, mut log: impl BufRead) -> io::Result<()> {
        let mut line = Vec::new();
        let mut number = 0;
        while log.by_ref().take(LINE).read_until(b'\n', &mut line)? > 0 {
            if line.len() as u64 == LINE && !line.ends_with(b"\n") {
                // No decision is that long.
                number += 1;
                self.lines += 1;
                log.skip_until(b'\n')?;
                line.clear();
                continue;
            }
            // What `explain` and `next` print is one object over many lines.
            if number == 0 && line == b"{\n" {
                log.by_ref().take(DOCUMENT).read_to_end(&mut line)?;
                if let Ok(value) = serde_json::from_slice(&line) {
                    self.document(shown, &value);
                    return Ok(());
                }
            }
            number += 1;
            self.lines += 1;
            // Jobs may write anything into a log.
            let text = String::from_utf8_lossy(&line);
            let what = match record(text.trim_end_matches(['\n', '\r'])) {
                None => None,
                Some(Err(message)) => Some(What::Unverifiable(message)),
                Some(Ok(record)) => self.record(record),
            };
            if let Some(what) = what {
                self.found.push(Found { path: shown.into(), line: number, what });
            }
            line.clear();
        }
        Ok(())
    }

    /// A decision, or a list of them, as other commands print them.
    fn document(&mut self, shown: &str, value: &Value) {
        let one = [value.clone()];
        let listed = value.get("decisions").and_then(Value::as_array);
        for decision in listed.map_or(&one[..], Vec::as_slice) {
            self.lines += 1;
            let what = match serde_json::from_value(decision.clone()) {
                Ok(record) => self.record(record),
                Err(error) => Some(What::Unverifiable(error.to_string())),
            };
            if let Some(what) = what {
                self.found.push(Found { path: shown.into(), line: 1, what });
            }
        }
    }

    fn record(&mut self, record: Record) -> Option<What> {
        match record.verify(&mut self.zones) {
            Ok(differences) if differences.is_empty() => {
                self.verified += 1;
                None
            }
            Ok(differences) => Some(What::Differs {
                identity: record.identity,
                period: record.period_id,
                differences,
            }),
            Err(error) => Some(What::Unverifiable(error.to_string())),
        }
    }

    fn print(&self) {
        let bold = |colour: AnsiColor| Style::new().bold().fg_color(Some(colour.into()));
        let (red, green) = (bold(AnsiColor::Red), bold(AnsiColor::Green));
        for Found { path, line, what } in &self.found {
            let text = match what {
                What::Unverifiable(message) => {
                    format!("{red}unverifiable{red:#}: {}\n", one_line(message))
                }
                What::Differs { identity, period, differences } => {
                    let lines: Vec<String> = differences
                        .iter()
                        .map(|d| {
                            format!(
                                "  {}: logged `{}`, recomputed `{}`\n",
                                d.field,
                                one_line(&d.recorded),
                                one_line(&d.recomputed)
                            )
                        })
                        .collect();
                    let (identity, period) = (one_line(identity), one_line(period));
                    format!("{red}mismatch{red:#}: {identity}, period {period}\n{}", lines.concat())
                }
            };
            terminal::print(&format!("{path}:{line}: {text}"));
        }
        let decisions = self.verified + self.found.len();
        let summary = match (decisions, self.found.len()) {
            (0, _) => format!(
                "nothing verified: no decisions in {}\n",
                counted(self.lines, "line", "lines")
            ),
            (n, 0) => format!(
                "{green}verified{green:#}: {} came out as logged\n",
                counted(n, "decision", "decisions")
            ),
            (n, bad) => format!(
                "{red}{bad}{red:#} of {} did not verify\n",
                counted(n, "decision", "decisions")
            ),
        };
        terminal::print(&summary);
    }

    fn json(&self) -> Value {
        let found: Vec<Value> = self
            .found
            .iter()
            .map(|found| {
                let mut value = json!({ "path": found.path, "line": found.line });
                match &found.what {
                    What::Unverifiable(message) => value["unverifiable"] = message.as_str().into(),
                    What::Differs { identity, period, differences } => {
                        let differences: Vec<Value> = differences
                            .iter()
                            .map(|d| json!({ "field": d.field, "recorded": d.recorded, "recomputed": d.recomputed }))
                            .collect();
                        value["identity"] = identity.as_str().into();
                        value["periodId"] = period.as_str().into();
                        value["differences"] = differences.into();
                    }
                }
                value
            })
            .collect();
        json!({
            "lines": self.lines,
            "decisions": self.verified + self.found.len(),
            "verified": self.verified,
            "findings": found,
        })
    }
}

/// What a log says, such that it cannot be taken for what we say: without line
/// ends and colours of its own.
fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// The record in a line of a log, text or JSON; nothing if it is about something
/// else.
///
/// # Errors
/// When it should have one and does not: what is wrong, as a text.
#[must_use]
pub fn record(line: &str) -> Option<Result<Record, String>> {
    match line.trim_start() {
        json if json.starts_with('{') => json_record(json),
        _ => text_record(line),
    }
}

fn text_record(line: &str) -> Option<Result<Record, String>> {
    // A log collector may have put something in front.
    let start = line.find("level=")?;
    let line = &line[start..];
    if !line.contains(EVENT) {
        return None;
    }
    let pairs: Result<BTreeMap<&str, Cow<'_, str>>, _> = logfmt::pairs(line).collect();
    let pairs = match pairs {
        Ok(pairs) => pairs,
        // A job's own words, unless they look like a decision of the daemon.
        Err(error) if line.contains(&format!("event={EVENT} ")) => {
            return Some(Err(error.to_string()));
        }
        Err(_) => return None,
    };
    (pairs.get("event")? == EVENT).then(|| {
        Record::from_log_fields(|key| pairs.get(key).cloned()).map_err(|error| error.to_string())
    })
}

fn json_record(line: &str) -> Option<Result<Record, String>> {
    let value: Value = match serde_json::from_str(line) {
        Ok(value) => value,
        // A line cut short is no decision that came out as logged.
        Err(error) => {
            let named =
                line.contains(&format!("\"event\":\"{EVENT}\"")) || line.contains("\"seedHash\"");
            return named.then(|| Err(format!("not a whole line of JSON: {error}")));
        }
    };
    // What `decide`, `explain` and `next` print, one to a line.
    if value.get("periodId").is_some() && value.get("seedHash").is_some() {
        return Some(serde_json::from_value(value).map_err(|error| error.to_string()));
    }
    (value.get("event")?.as_str()? == EVENT).then(|| {
        let get = |key: &str| match value.get(key)? {
            Value::String(text) => Some(Cow::Owned(text.clone())),
            Value::Null => None,
            other => Some(Cow::Owned(other.to_string())),
        };
        Record::from_log_fields(get).map_err(|error| error.to_string())
    })
}
