//! `krontab explain`: why a job runs at the second it does.

use crate::cli::{Explain, Format, Question};
use crate::jobs::{self, Named};
use crate::{clock, picture};
use anstyle::{AnsiColor, Style};
use kron_core::bounds::SAMPLING_BUDGET;
use kron_core::time::duration::Pretty;
use kron_core::{Decision, Job, Record, Rejected, UtcSecond, Zones, timeline};
use kron_term::failure::{Failure, USER};
use kron_term::{moment, terminal};
use serde::Serialize;
use std::fmt::Write;

/// Refused candidates shown one by one.
const SHOWN: usize = 12;

pub(crate) fn explain(arguments: &Explain) -> Result<u8, Failure> {
    let mut zones = Zones::bundled();
    let jobs = jobs::select(&arguments.source, arguments.job.as_deref(), &mut zones)?;
    match jobs.first() {
        Some(named) => show(named, &arguments.question, &zones),
        None => Err(Failure::new(USER, "the configuration has no jobs")),
    }
}

/// Explains a period of a job.
///
/// # Errors
/// When there is no such time, or no such period.
pub fn show(named: &Named, question: &Question, zones: &Zones) -> Result<u8, Failure> {
    let now = clock::now();
    let period = match &question.at {
        Some(text) => {
            let at = moment::parse(text, named.job.zone(), now)?;
            named.job.period_of_day(text, at).or_else(|| named.job.period_at(at))
        }
        None => {
            let jobs = std::slice::from_ref(named);
            timeline(jobs, now).next().map(|(_, decision)| decision.period())
        }
    };
    let period =
        period.ok_or_else(|| Failure::new(USER, format!("`{}` has no period then", named.name)))?;
    let (decision, rejected) = named.job.decide_explained(period);
    match question.format {
        Format::Text => terminal::print(&page(named, &decision, &rejected, now, zones)),
        Format::Json => terminal::print_json(&Explained::new(named, &decision, &rejected, zones)),
    }
    Ok(0)
}

/// The JSON of an explanation: a decision, and how it came about.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Explained {
    job: String,
    suspended: bool,
    #[serde(flatten)]
    record: Record,
    nominal_local: String,
    chosen_local: Option<String>,
    rejected: Vec<RejectedRecord>,
}

#[derive(Serialize)]
struct RejectedRecord {
    attempt: u16,
    candidate: String,
    clause: String,
}

impl Explained {
    fn new(named: &Named, decision: &Decision<'_>, rejected: &[Rejected], zones: &Zones) -> Self {
        let job = &named.job;
        let local = |at: UtcSecond| job.zone().local_time(at).to_string();
        Self {
            job: named.name.clone(),
            suspended: job.policy().suspend,
            record: Record::of(decision, zones),
            nominal_local: local(decision.period().nominal()),
            chosen_local: decision.chosen().map(local),
            rejected: rejected
                .iter()
                .map(|refused| RejectedRecord {
                    attempt: refused.attempt,
                    candidate: refused.candidate.to_string(),
                    clause: job.constraints().describe(refused.violation).to_string(),
                })
                .collect(),
        }
    }
}

const BOLD: Style = Style::new().bold();
const KEY: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Cyan)));

struct Page<'a> {
    job: &'a Job,
    out: String,
}

impl Page<'_> {
    fn line(&mut self, key: &str, value: impl std::fmt::Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.out, "{KEY}{key:<13}{KEY:#} {value}");
    }

    /// An instant, in UTC and local.
    fn instant(&self, at: UtcSecond) -> String {
        let zone = self.job.zone();
        if zone.name() == "UTC" {
            return format!("{at} ({})", zone.local_time(at).weekday());
        }
        format!("{at}  {} {zone}", moment::local(zone, at))
    }
}

fn page(
    named: &Named,
    decision: &Decision<'_>,
    rejected: &[Rejected],
    now: UtcSecond,
    zones: &Zones,
) -> String {
    let job = &named.job;
    let mut page = Page { job, out: String::new() };
    let _ = writeln!(page.out, "{BOLD}{}{BOLD:#}  {}\n", named.name, job.schedule());
    let nominal = decision.period().nominal();
    page.line("identity", job.identity());
    page.line("cron", format_args!("{} in {} (tzdb {})", job.cron(), job.zone(), zones.version()));
    page.line("period", page.instant(nominal));
    let window = decision.window();
    page.line(
        "window",
        format_args!(
            "{} to {}  ({} {}, {} s)",
            window.start(),
            window.end(),
            job.window().mode.as_str(),
            Pretty(job.window().duration),
            window.seconds()
        ),
    );
    let key = decision.period_key();
    page.line(
        "seed",
        format_args!(
            "{} with period key {key}, salt {:?}",
            job.seed_strategy().as_str(),
            job.salt()
        ),
    );
    page.line("seed hash", format_args!("{}", decision.seed_hash()));
    page.line("distribution", distribution(job));
    for (rule, clauses) in
        [("only", job.constraints().only()), ("avoid", job.constraints().avoid())]
    {
        if !clauses.is_empty() {
            page.line(rule, clauses);
        }
    }
    draws(&mut page, decision, rejected);
    match decision.choice() {
        Ok(chosen) => {
            let style = BOLD.fg_color(Some(AnsiColor::Green.into()));
            let text = format!("{style}{}{style:#}", page.instant(chosen));
            page.line("chosen", format_args!("{text}  {}", moment::distance(now, chosen)));
        }
        Err(reason) => {
            let style = BOLD.fg_color(Some(AnsiColor::Yellow.into()));
            page.line("chosen", format_args!("{style}none: unschedulable{style:#}, {reason}"));
        }
    }
    let policy = job.policy();
    page.line(
        "policy",
        format_args!(
            "concurrency={} deadline={} suspend={}",
            policy.concurrency.as_str(),
            Pretty(policy.deadline),
            policy.suspend
        ),
    );
    if let Some(picture) = picture::draw(decision, terminal::width()) {
        page.out.push('\n');
        page.out += &picture;
    }
    page.out
}

fn distribution(job: &Job) -> String {
    let mut text = job.distribution().name().to_string();
    job.distribution().for_each_param(|key, value| {
        let _ = write!(text, " {key}={value}");
    });
    text
}

/// The draws, with what became of each.
fn draws(page: &mut Page<'_>, decision: &Decision<'_>, rejected: &[Rejected]) {
    let attempts = decision.attempts();
    let text = match (attempts, decision.chosen()) {
        (0, Some(_)) => "none: the window has a single second".to_string(),
        (0, None) => "none: no second of the window is allowed".to_string(),
        _ => format!("{attempts} of at most {SAMPLING_BUDGET}"),
    };
    page.line("draws", text);
    let constraints = page.job.constraints();
    for refused in rejected.iter().take(SHOWN) {
        let clause = constraints.describe(refused.violation);
        let at = page.instant(refused.candidate);
        page.line("", format_args!("{:>4}  {at}  refused by {clause}", refused.attempt));
    }
    if rejected.len() > SHOWN {
        page.line("", format_args!("      … {} more refused", rejected.len() - SHOWN));
    }
}
