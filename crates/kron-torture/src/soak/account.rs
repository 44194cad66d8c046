//! Every period of every job: due, decided, started, ended, in the record.

use crate::time::{MINUTE, Nanos, SECOND, nanos, read_instant, read_period};
use kron_core::{Job, PeriodId, UtcSecond};
use std::collections::HashMap;

/// What was heard of a period.
#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    started: u8,
    executed: u8,
    missed: u8,
    skipped: u8,
    signalled: bool,
}

/// What the log says, as it comes.
#[derive(Debug)]
pub struct Account {
    jobs: Vec<Job>,
    heard: HashMap<(usize, i64), Heard>,
    /// How late runs were, in milliseconds, since the last look.
    late: Vec<f64>,
    ready: Option<Nanos>,
    decisions: u64,
    wrong: Vec<String>,
}

impl Account {
    pub fn new(jobs: Vec<Job>) -> Self {
        let (heard, late, wrong) = (HashMap::new(), Vec::new(), Vec::new());
        Self { jobs, heard, late, ready: None, decisions: 0, wrong }
    }

    pub fn take_late(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.late)
    }

    /// Takes note of a line.
    pub fn hear(&mut self, time: &str, keys: &HashMap<String, String>, line: &str) {
        let get = |key: &str| keys.get(key).map(String::as_str);
        let event = get("event").unwrap_or_default();
        let period = get("period_id").and_then(read_period);
        let job = get("job").and_then(number);
        match (event, job.zip(period)) {
            ("ready", _) => self.ready = read_instant(time),
            ("decision", Some((job, period))) => {
                self.decisions += 1;
                let chosen = get("chosen_time").and_then(read_instant);
                if chosen != self.chosen(job, period) {
                    self.wrong.push(line.into());
                }
            }
            ("started", Some(key)) => {
                self.heard.entry(key).or_default().started += 1;
                let late =
                    get("late").and_then(|late| late.strip_suffix("ms")?.parse::<f64>().ok());
                self.late.extend(late);
            }
            ("exited", Some(key)) => {
                self.heard.entry(key).or_default().signalled |= get("signal").is_some();
            }
            ("outcome", Some(key)) => {
                let heard = self.heard.entry(key).or_default();
                match get("outcome") {
                    Some("executed") => heard.executed += 1,
                    Some("missed") => heard.missed += 1,
                    Some("skipped") => heard.skipped += 1,
                    _ => self.wrong.push(line.into()),
                }
            }
            ("error" | "reload_rejected" | "quarantined" | "stalled", _) => {
                self.wrong.push(line.into());
            }
            _ => {}
        }
    }

    fn chosen(&self, job: usize, period: i64) -> Option<Nanos> {
        let period = PeriodId::new(UtcSecond::new(period).ok()?).ok()?;
        self.jobs.get(job)?.decide(period).chosen().map(nanos)
    }
}

fn number(name: &str) -> Option<usize> {
    name.strip_prefix('j')?.parse().ok()
}

/// What became of all periods.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Audit {
    pub due: u64,
    pub runs: u64,
    pub executed: u64,
    pub missed: u64,
    pub skipped: u64,
    /// Executed and ended by a signal before the command wrote its line.
    pub cut_short: u64,
    pub duplicates: u64,
    /// In the record, and not in the log as started once.
    pub unannounced: u64,
    pub unaccounted: u64,
    pub decisions: u64,
    pub wrong: Vec<String>,
}

/// Compares record, log and what was due until a time.
pub fn audit(account: &Account, record: &str, until: Nanos) -> Audit {
    let mut audit = Audit { decisions: account.decisions, ..Audit::default() };
    audit.wrong.clone_from(&account.wrong);
    let mut ran: HashMap<(usize, i64), u64> = HashMap::new();
    for line in record.lines() {
        let words: Vec<&str> = line.split('\t').collect();
        let key = match words.as_slice() {
            ["R", identity, period, _, _] => {
                let name = identity.rsplit_once(':').and_then(|(_, name)| number(name));
                name.zip(read_period(period))
            }
            _ => None,
        };
        match key {
            Some(key) => *ran.entry(key).or_default() += 1,
            None => audit.wrong.push(format!("record: {line}")),
        }
    }
    for (key, count) in &ran {
        audit.runs += count;
        audit.duplicates += count - 1;
        let heard = account.heard.get(key).copied().unwrap_or_default();
        audit.unannounced += u64::from(heard.started != 1 || heard.executed != 1);
    }
    let Some(ready) = account.ready else {
        audit.wrong.push("never ready".into());
        return audit;
    };
    for job in 0..account.jobs.len() {
        let mut period = (ready - 2 * MINUTE) / MINUTE * 60;
        while period * SECOND <= until {
            period += 60;
            let chosen = account.chosen(job, period);
            if !chosen.is_some_and(|chosen| ready < chosen && chosen <= until) {
                continue;
            }
            audit.due += 1;
            let heard = account.heard.get(&(job, period)).copied().unwrap_or_default();
            let outcomes = heard.executed + heard.missed + heard.skipped;
            *match (outcomes, ran.contains_key(&(job, period))) {
                (1, true) if heard.executed == 1 => &mut audit.executed,
                (1, false) if heard.executed == 1 && heard.signalled => &mut audit.cut_short,
                (1, false) if heard.missed == 1 => &mut audit.missed,
                (1, false) if heard.skipped == 1 => &mut audit.skipped,
                _ => &mut audit.unaccounted,
            } += 1;
        }
    }
    audit
}

impl Audit {
    pub fn is_clean(&self) -> bool {
        self.duplicates + self.unannounced + self.unaccounted == 0 && self.wrong.is_empty()
    }

    pub fn table(&self) -> String {
        let rows = [
            ("periods due", self.due),
            ("  executed, and in the record", self.executed),
            ("  executed, ended by a signal before its line", self.cut_short),
            ("  missed", self.missed),
            ("  skipped", self.skipped),
            ("  unaccounted for", self.unaccounted),
            ("runs in the record", self.runs),
            ("duplicates", self.duplicates),
            ("in the record and not in the log", self.unannounced),
            ("decisions made again", self.decisions),
            ("lines of the log that should not be", self.wrong.len() as u64),
        ];
        let mut text = String::new();
        for (says, count) in rows {
            text += &format!("{says:<52} {count:>9}\n");
        }
        for line in self.wrong.iter().take(10) {
            text += &format!("    {line}\n");
        }
        text
    }
}
