//! What can be seen from outside: the record that jobs wrote, the daemon's log, and
//! its state files between two lives.

use crate::time::{Nanos, read_instant, read_period};
use kron_core::logfmt::pairs;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// A line that a job wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub name: String,
    pub period: i64,
    pub pid: u32,
    pub at: Nanos,
}

/// What state and log say became of a period.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "several at once are what is looked for")]
pub struct Fate {
    pub executed: bool,
    pub missed: bool,
    pub skipped: bool,
    pub unschedulable: bool,
    /// Whether a reason stood beside everything but `executed`.
    pub reasonless: bool,
    /// How the run ended, if that was seen.
    pub exit_code: Option<i64>,
    /// Whether it was ended by a signal.
    pub signalled: bool,
    /// When its run was at the gate, by the daemon's clock…
    pub started: Option<Nanos>,
    /// …and when it was closed without one.
    pub closed: Option<Nanos>,
    /// The end of the life that first told of it.
    pub noted: Option<Nanos>,
}

/// The marks of a state file between two lives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    pub at: Nanos,
    pub through: Option<i64>,
    pub ahead: Vec<i64>,
    pub not_before: Option<Nanos>,
    /// Runs that had not ended, and when they were started by the daemon's clock.
    pub active: Vec<(i64, Nanos)>,
    /// When the file was written.
    pub written: Nanos,
}

impl Snapshot {
    pub fn marks(&self, period: i64) -> bool {
        self.through.is_some_and(|through| period <= through) || self.ahead.contains(&period)
    }
}

/// What the log of one life says of a job, besides outcomes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Periods that it counts as superseded…
    pub superseded: u64,
    /// …which may have been more.
    pub is_at_least: bool,
    /// The latest chosen second that it tells an outcome of.
    pub judged: Option<Nanos>,
}

#[derive(Debug, Default)]
pub struct Evidence {
    pub runs: Vec<Run>,
    /// Runs that began while another of the same job was still there.
    pub overlaps: Vec<Run>,
    pub fates: HashMap<(String, i64), Fate>,
    pub snapshots: BTreeMap<String, Vec<Snapshot>>,
    /// Everything that could not be read, and should have been.
    pub unreadable: Vec<String>,
    /// By job and the end of a life.
    pub counted: HashMap<(String, Nanos), Counted>,
}

impl Evidence {
    /// Reads the record.
    pub fn read_record(&mut self, text: &str) {
        for line in text.lines() {
            let words: Vec<&str> = line.split('\t').collect();
            let run = match words.as_slice() {
                [_, identity, period, pid, at] => {
                    identity.rsplit_once(':').and_then(|(_, name)| {
                        let (pid, at) = (pid.parse().ok()?, at.parse().ok()?);
                        Some(Run { name: name.into(), period: read_period(period)?, pid, at })
                    })
                }
                _ => None,
            };
            match run {
                Some(run) if words[0] == "R" => self.runs.push(run),
                Some(run) => self.overlaps.push(run),
                None => self.unreadable.push(format!("record: {line}")),
            }
        }
    }

    /// Reads the log of a life that ended at a time; its last line may be cut short.
    pub fn read_log(&mut self, text: &str, at: Nanos) {
        for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let concerns = ["event=outcome", "event=exited", "event=superseded"];
            if !concerns.iter().any(|event| line.contains(event)) {
                continue;
            }
            let keys: HashMap<String, String> = pairs(line.trim_end())
                .filter_map(Result::ok)
                .map(|(key, value)| (key.to_string(), value.into_owned()))
                .collect();
            let get = |key: &str| keys.get(key).map(String::as_str);
            let Some(name) = get("job") else {
                self.unreadable.push(format!("log: {line}"));
                continue;
            };
            let counted = self.counted.entry((name.into(), at)).or_default();
            if get("event") == Some("superseded") {
                let count = get("count").and_then(|count| count.parse::<u64>().ok());
                counted.superseded += count.unwrap_or(0);
                counted.is_at_least |= get("at_least") == Some("true");
                continue;
            }
            let Some(period) = get("period_id").and_then(read_period) else {
                self.unreadable.push(format!("log: {line}"));
                continue;
            };
            if get("event") == Some("outcome") {
                let chosen = get("chosen_time").and_then(read_instant);
                counted.judged = counted.judged.max(chosen);
            }
            let fate = self.fates.entry((name.into(), period)).or_default();
            fate.noted.get_or_insert(at);
            if get("event") == Some("exited") {
                fate.executed = true;
                fate.exit_code = fate.exit_code.or(get("exit_code").and_then(|c| c.parse().ok()));
                fate.signalled |= get("signal").is_some();
            } else if let Some(outcome) = get("outcome") {
                fate.note(outcome, get("reason").is_some());
                if outcome != "executed" && fate.closed.is_none() {
                    // State says it more exactly, if it still can.
                    fate.closed = line.split(' ').next().and_then(read_instant);
                }
            }
        }
    }

    /// Reads a state file as it is after the life that ended at a time, and as it was
    /// written at another.
    pub fn read_state(&mut self, name: &str, text: &[u8], at: Nanos, written: Nanos) {
        let state: Value = match serde_json::from_slice(text) {
            Ok(state) => state,
            Err(error) => {
                return self.unreadable.push(format!("state file of {name}: {error}"));
            }
        };
        let period = |value: &Value| value.as_str().and_then(read_period);
        for entry in state["History"].as_array().into_iter().flatten() {
            let Some(id) = period(&entry["PeriodID"]) else { continue };
            let outcome = entry["Outcome"].as_str().unwrap_or_default();
            let instant = |key: &str| entry[key].as_str().and_then(read_instant);
            let fate = self.fate(name, id, at);
            fate.note(outcome, entry["Reason"].is_string());
            if outcome == "executed" {
                fate.started = fate.started.or(instant("StartedAt"));
            } else {
                fate.closed = instant("CompletedAt").or(fate.closed);
            }
            fate.exit_code = fate.exit_code.or(entry["ExitCode"].as_i64());
            fate.signalled |= entry["Signal"].is_i64();
        }
        let mut snapshot = Snapshot {
            at,
            through: period(&state["HandledThrough"]),
            ahead: state["HandledAhead"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(period)
                .collect(),
            not_before: state["NotBefore"].as_str().and_then(read_instant),
            active: Vec::new(),
            written,
        };
        for active in state["ActiveExecutions"].as_array().into_iter().flatten() {
            let Some(id) = period(&active["PeriodID"]) else { continue };
            let started = active["StartedAt"].as_str().and_then(read_instant);
            let fate = self.fate(name, id, at);
            fate.executed = true;
            fate.started = fate.started.or(started);
            snapshot.active.push((id, started.unwrap_or_default()));
        }
        if let Some(id) = period(&state["LastHandledPeriodID"]) {
            let outcome = state["LastOutcome"].as_str().unwrap_or_default();
            let started = state["LastStartedAt"].as_str().and_then(read_instant);
            let fate = self.fate(name, id, at);
            fate.note(outcome, state["LastReason"].is_string());
            fate.started = fate.started.or(started);
        }
        self.snapshots.entry(name.into()).or_default().push(snapshot);
    }

    fn fate(&mut self, name: &str, period: i64, at: Nanos) -> &mut Fate {
        let fate = self.fates.entry((name.into(), period)).or_default();
        fate.noted.get_or_insert(at);
        fate
    }

    /// The first snapshot whose marks close a period.
    pub fn closing(&self, name: &str, period: i64) -> Option<&Snapshot> {
        self.snapshots.get(name)?.iter().find(|snapshot| snapshot.marks(period))
    }
}

impl Fate {
    fn note(&mut self, outcome: &str, has_reason: bool) {
        match outcome {
            "executed" => self.executed = true,
            "missed" => self.missed = true,
            "skipped" => self.skipped = true,
            "unschedulable" => self.unschedulable = true,
            _ => {}
        }
        self.reasonless |= outcome != "executed" && !has_reason;
    }

    pub fn is_known(&self) -> bool {
        self.executed || self.missed || self.skipped || self.unschedulable
    }
}
