//! `krontab list`: the jobs of the configuration.

use crate::cli::{Format, List};
use crate::clock;
use crate::jobs;
use crate::show::entry_json;
use anstyle::{AnsiColor, Style};
use kron_core::{Job, UtcSecond, Zones};
use kron_term::failure::{Failure, note};
use kron_term::table::{Cell, Table};
use kron_term::{moment, terminal};
use serde_json::json;
use std::time::Duration;

pub fn list(arguments: &List) -> Result<u8, Failure> {
    let mut zones = Zones::bundled();
    let files = jobs::load(&arguments.source, &mut zones)?;
    let now = clock::now();
    let entries: Vec<_> = files.iter().flat_map(|file| &file.tab.entries).collect();
    if arguments.format == Format::Json {
        let jobs: Vec<_> = entries.iter().map(|entry| entry_json(entry)).collect();
        terminal::print_json(&json!({ "jobs": jobs }));
        return Ok(0);
    }
    if entries.is_empty() {
        note("the configuration has no jobs");
        return Ok(0);
    }
    let green = Style::new().fg_color(Some(AnsiColor::Green.into()));
    let mut table = Table::new(vec!["JOB", "NEXT", "SCHEDULE", "COMMAND"]);
    for entry in entries {
        let next = if entry.job.policy().suspend {
            "suspended".into()
        } else {
            next_run(&entry.job, now).map_or("-".into(), |at| moment::distance(now, at))
        };
        table.row(vec![
            entry.name().to_string().into(),
            Cell::styled(next, green),
            entry.job.schedule().to_string().into(),
            entry.command.to_string().into(),
        ]);
    }
    terminal::print(&table.render());
    Ok(0)
}

/// The next chosen time of a job, within a year.
pub fn next_run(job: &Job, now: UtcSecond) -> Option<UtcSecond> {
    const YEAR: Duration = Duration::from_secs(366 * 86_400);
    job.next_chosen(now, now.instant().saturating_add(YEAR).floor())
}
