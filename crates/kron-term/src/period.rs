//! What is told of a period, row by row: how its second was chosen, and what
//! becomes of it. The words are the same whoever runs it.

use crate::moment;
use kron_core::{Record, UtcSecond, Zone};

/// Names and values.
pub type Rows = Vec<(&'static str, String)>;

/// The first lines of an answer: which job, and under which policy.
#[must_use]
pub fn heading(name: &str, schedule: &str, identity: &str, policy: &Policy<'_>) -> String {
    let bold = anstyle::Style::new().bold();
    let Policy { concurrency, deadline, suspend } = policy;
    format!(
        "{bold}{name}{bold:#}  {schedule}\n{identity}\n\
         concurrency={concurrency} deadline={deadline} suspend={suspend}\n"
    )
}

/// What happens at the chosen time, in words.
#[derive(Clone, Copy, Debug)]
pub struct Policy<'a> {
    /// `allow`, `forbid` or `replace`.
    pub concurrency: &'a str,
    /// How late a run may begin.
    pub deadline: &'a str,
    /// Whether nothing runs.
    pub suspend: bool,
}

fn in_full(text: &str, zone: &Zone, now: UtcSecond) -> String {
    text.parse().map_or_else(|_| text.into(), |at| moment::in_full(zone, at, now))
}

/// How the second was chosen.
#[must_use]
pub fn choice(record: &Record, zone: &Zone, now: UtcSecond) -> Rows {
    let time = |text: &str| in_full(text, zone, now);
    let mut rows = vec![("period", time(&record.period_id))];
    let Record { window_start, window_end, mode, .. } = record;
    rows.push(("window", format!("{window_start} to {window_end}  ({mode})")));
    let params = record.distribution.params.iter();
    let params: Vec<String> = params.map(|(name, value)| format!(" {name}={value}")).collect();
    rows.push(("distribution", format!("{}{}", record.distribution.name, params.concat())));
    rows.push(("seed hash", record.seed_hash.clone()));
    for (name, clauses) in
        [("only", &record.constraints.only), ("avoid", &record.constraints.avoid)]
    {
        rows.extend(clauses.as_ref().map(|clauses| (name, clauses.clone())));
    }
    let chosen = record.chosen_time.as_ref().map(|chosen| {
        let draws = match record.attempts {
            0 => "the only second there is".into(),
            1 => "first draw".into(),
            n => format!("draw {n}"),
        };
        format!("{}  ({draws})", time(chosen))
    });
    rows.push(("chosen", chosen.unwrap_or_else(|| "none".into())));
    rows
}

/// What is recorded of a choice that another definition made than the present one.
#[derive(Clone, Copy, Debug)]
pub struct Earlier<'a> {
    /// The period.
    pub period: &'a str,
    /// Its chosen time, if it had one.
    pub chosen: Option<&'a str>,
    /// The seed, if that was recorded.
    pub seed_hash: Option<&'a str>,
    /// What a definition is called.
    pub definition: &'a str,
}

/// How the second was chosen, as far as that was recorded.
#[must_use]
pub fn earlier_choice(earlier: &Earlier<'_>, zone: &Zone, now: UtcSecond) -> Rows {
    let Earlier { period, chosen, seed_hash, definition } = earlier;
    let time = |text: &str| in_full(text, zone, now);
    let chosen = chosen.map_or_else(|| "none".into(), time);
    let mut rows = vec![("period", time(period))];
    rows.extend(seed_hash.map(|hash| ("seed hash", hash.into())));
    rows.push(("chosen", format!("{chosen}  (decided by an earlier {definition})")));
    rows
}

/// A period that is yet to come.
#[must_use]
pub fn to_come(record: &Record, deadline: &str, now: UtcSecond) -> Rows {
    if record.unschedulable {
        let reason = record.reason.as_deref().unwrap_or("no second is allowed");
        return vec![("outcome", format!("will be unschedulable: {reason}"))];
    }
    let chosen = record.chosen_time.as_deref().unwrap_or_default();
    let fate = match chosen.parse::<UtcSecond>() {
        Ok(at) => format!("will run {}", moment::distance(now, at)),
        Err(_) => "waits".into(),
    };
    let late = if deadline == "0s" { "1s" } else { deadline };
    vec![("outcome", fate), ("if late", format!("missed from {late} after the chosen time on"))]
}

/// What else decides that: runs of the job that go on, by their processes.
#[must_use]
pub fn while_running(concurrency: &str, pids: &[u32]) -> Option<(&'static str, String)> {
    let pids: Vec<String> = pids.iter().map(ToString::to_string).collect();
    let (noun, verb) = if pids.len() == 1 { ("process", "runs") } else { ("processes", "run") };
    let pids = pids.join(", ");
    match concurrency {
        _ if pids.is_empty() => None,
        "forbid" => Some(("if busy", format!("skipped if {noun} {pids} still {verb} then"))),
        "replace" => Some(("if busy", format!("{noun} {pids}: ended first, if still there then"))),
        _ => None,
    }
}

/// A period that could not be started yet.
#[must_use]
pub fn blocked(obstacle: &str, retry_at: Option<&str>, missed_at: &str) -> String {
    let again = retry_at.map_or(String::new(), |at| format!("; tried again at {at}"));
    format!("could not be started yet: {obstacle}{again}; missed at {missed_at}")
}

/// A period of a suspended job.
pub const SUSPENDED: &str = "the job is suspended: nothing happens, and nothing is recorded; once \
                             it is resumed, the latest period that passed runs if its deadline allows";
/// A period that waits because of `concurrency=replace`.
pub const REPLACING: &str = "waits for the execution before it to end";
/// A period that waits because of `concurrency=forbid`.
pub const PUT_OFF: &str = "is skipped if the execution that is being started begins";
/// A period that is about to run.
pub const STARTING: &str = "is being started";
/// A time that is none of the schedule.
pub const NO_SUCH_PERIOD: &str = "the schedule has no such period";

/// A period that has no record; `who` runs the job.
#[must_use]
pub fn closed(who: &str) -> String {
    format!(
        "closed without a record of its own: it passed while {who} was not running or the clock \
         jumped, and only the latest such period is judged; or its record has left the history"
    )
}

/// A period from before the job was known; `who` runs the job.
#[must_use]
pub fn before_first(not_before: &str, who: &str) -> String {
    format!(
        "does not run: it was due before {not_before}, when {who} first saw the job, its present \
         schedule, or it after an absence, or forgot its marks on request"
    )
}

/// Rows as text.
#[must_use]
pub fn render(rows: &[(&str, String)]) -> String {
    let mut out = String::new();
    for (name, value) in rows {
        out += &format!("{name:<14}{value}\n");
    }
    out
}
