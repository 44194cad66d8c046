//! `krontab next`: the runs to come, of one job or of all.

use crate::cli::{Next, Stretch, TimelineFormat};
use crate::jobs::{self, Named};
use crate::{clock, ics};
use anstyle::{AnsiColor, Style};
use kron_core::{PeriodId, Record, UtcSecond, Zone, Zones, timeline};
use kron_term::failure::{Failure, INVALID, note};
use kron_term::table::{Cell, Table};
use kron_term::{moment, terminal};
use serde::Serialize;

/// Runs shown if nothing else is said.
const SHOWN: u32 = 10;
/// Runs shown in any case.
const MOST: u32 = 1_000_000;

pub(crate) fn next(arguments: &Next) -> Result<u8, Failure> {
    let mut zones = Zones::bundled();
    let jobs = jobs::select(&arguments.source, arguments.job.as_deref(), &mut zones)?;
    show(&jobs, arguments.count, &arguments.stretch, &zones)
}

/// Lists the runs of jobs.
///
/// # Errors
/// When there is no such stretch of time.
pub fn show(
    jobs: &[Named],
    count: Option<u32>,
    stretch: &Stretch,
    zones: &Zones,
) -> Result<u8, Failure> {
    let now = clock::now();
    let zone = common_zone(jobs, zones);
    let from = match &stretch.from {
        Some(text) => moment::parse(text, &zone, now)?,
        None => now,
    };
    let until = match &stretch.until {
        Some(text) => moment::parse(text, &zone, now)?,
        None => UtcSecond::MAX,
    };
    if until < from {
        return Err(Failure::new(INVALID, "`--until` is before `--from`"));
    }
    let count = match (count, &stretch.until) {
        (Some(count), _) => count,
        (None, Some(_)) => MOST,
        (None, None) => SHOWN,
    };
    let listed: Vec<Listed<'_>> = timeline(jobs, from)
        .take_while(|(_, decision)| decision.due() <= until.instant())
        .map(|(i, decision)| Listed { named: &jobs[i], period: decision.period() })
        .take(count as usize)
        .collect();
    match stretch.format {
        TimelineFormat::Text => print_text(&listed, from, jobs.is_empty()),
        TimelineFormat::Json => print_json(&listed, from, zones),
        TimelineFormat::Ics => terminal::print(&ics::calendar(&listed, from)),
    }
    Ok(0)
}

/// A period of a job that will come.
pub(crate) struct Listed<'a> {
    pub named: &'a Named,
    pub period: PeriodId,
}

/// The zone of all jobs if they share one, for times without an offset.
fn common_zone(jobs: &[Named], zones: &Zones) -> Zone {
    let mut names = jobs.iter().map(|named| named.job.zone());
    match names.next() {
        Some(first) if names.all(|zone| zone == first) => first.clone(),
        _ => zones.utc(),
    }
}

/// The JSON of a list. The names are stable.
#[derive(Serialize)]
struct List {
    from: String,
    count: usize,
    decisions: Vec<NamedRecord>,
}

#[derive(Serialize)]
struct NamedRecord {
    job: String,
    suspended: bool,
    #[serde(flatten)]
    record: Record,
}

fn print_json(listed: &[Listed<'_>], from: UtcSecond, zones: &Zones) {
    let decisions = listed
        .iter()
        .map(|listed| NamedRecord {
            job: listed.named.name.clone(),
            suspended: listed.named.job.policy().suspend,
            record: Record::of(&listed.named.job.decide(listed.period), zones),
        })
        .collect();
    terminal::print_json(&List { from: from.to_string(), count: listed.len(), decisions });
}

fn print_text(listed: &[Listed<'_>], from: UtcSecond, no_jobs: bool) {
    if listed.is_empty() {
        note(if no_jobs { "the configuration has no jobs" } else { "nothing runs then" });
        return;
    }
    let green = Style::new().fg_color(Some(AnsiColor::Green.into()));
    let yellow = Style::new().fg_color(Some(AnsiColor::Yellow.into()));
    let mut table = Table::new(vec!["CHOSEN", "LOCAL", "", "JOB", "PERIOD"]);
    for Listed { named, period } in listed {
        let job = &named.job;
        let decision = job.decide(*period);
        let (chosen, local, distance) = match decision.choice() {
            Ok(chosen) => (
                Cell::styled(chosen.to_string(), green),
                moment::local(job.zone(), chosen),
                moment::distance(from, chosen),
            ),
            Err(_) => (Cell::styled("unschedulable", yellow), String::new(), String::new()),
        };
        let suspended = if job.policy().suspend { " (suspended)" } else { "" };
        let name = format!("{}{suspended}", named.name);
        table.row(vec![
            chosen,
            local.into(),
            distance.into(),
            name.into(),
            period.to_string().into(),
        ]);
    }
    terminal::print(&table.render());
}
