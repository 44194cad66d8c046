//! What is allowed but seldom meant.

use super::lookahead::{Lookahead, Outlook, is_constrained};
use super::surroundings::Surroundings;
use kron_core::time::duration::Pretty;
use kron_core::{ChangeKind, ClockChange, Job, PeriodId, Span, UtcSecond};
use kron_tab::{Command, Entry, Key, Problem};
use kron_term::diagnostic::Finding;
use kron_term::moment::two_units;
use std::time::Duration;

const YEAR: Duration = Duration::from_secs(365 * 86_400);
/// A job that runs this seldom is missed when it is lost.
const RARE: Duration = Duration::from_secs(7 * 86_400);
/// Constraints that accept less than this share of draws leave little.
const LITTLE: f64 = 0.05;
/// Dates listed in a message.
const LISTED: usize = 8;

/// Looks at entries one by one and remembers what it has looked up.
pub struct Adviser {
    from: UtcSecond,
    until: UtcSecond,
    lookahead: Lookahead,
    surroundings: Surroundings,
}

impl Adviser {
    /// Says which jobs are coming: those with constraints share what can be looked at.
    pub fn expect<'j>(&mut self, jobs: impl Iterator<Item = &'j Job>) {
        self.lookahead.expect(jobs.filter(|job| is_constrained(job)).count());
    }

    pub(super) fn new(from: UtcSecond) -> Self {
        let until = from.instant().saturating_add(YEAR).floor();
        Self {
            from,
            until,
            lookahead: Lookahead::new(from, until),
            surroundings: Surroundings::default(),
        }
    }

    /// How many jobs were not looked at for the whole year.
    pub(super) const fn shortened(&self) -> usize {
        self.lookahead.shortened()
    }

    /// `own` says that only a daemon of this user would read the file.
    pub(super) fn advise(
        &mut self,
        entry: &Entry,
        text: &str,
        own: bool,
        findings: &mut Vec<Finding>,
    ) {
        let schedule = entry.schedule_span();
        let place = |modifier: &str| modifier_span(text, schedule, modifier);
        self.timing(&entry.job, schedule, place, findings);
        findings.extend(shell_words(entry).map(Finding::warning));
        self.surroundings.check(entry, own, findings);
    }

    /// What there is to say about when a job runs. `place` knows where a modifier
    /// such as `@win` is written.
    pub fn timing(
        &mut self,
        job: &Job,
        schedule: Span,
        place: impl Fn(&str) -> Span,
        findings: &mut Vec<Finding>,
    ) {
        let gap = job.cron().least_gap();
        let overlap = overlap(job, gap, place("@win"));
        let overlap = overlap.or_else(|| self.overlap_at_a_change(job, place("@win")));
        findings.extend(overlap.map(Finding::warning));
        findings.extend(lost_by_restart(job, gap, place("@policy")).map(Finding::warning));
        findings.extend(self.clock_changes(job, schedule).map(Finding::warning));
        let constraint = if job.constraints().only().is_empty() { "@avoid" } else { "@only" };
        if let Some(outlook) = self.lookahead.look(job) {
            findings.extend(little_left(&outlook, place(constraint)).map(Finding::warning));
            findings.extend(unschedulable(job, outlook, place(constraint)));
        }
    }

    fn overlap_at_a_change(&self, job: &Job, span: Span) -> Option<Problem> {
        let (first, second) = job.overlap_at_a_change(self.from, self.until)?;
        let date = job.zone().local_time(first.nominal()).date();
        let window = Pretty(job.window().duration);
        let message = format!("windows of {window} overlap on {date}, when the clock is changed");
        Some(
            Problem::new("overlapping-windows", span, message).hint(format!(
                "the periods {first} and {second} are nearer to each other than usual"
            )),
        )
    }

    fn clock_changes(&self, job: &Job, span: Span) -> Option<Problem> {
        // Every hour of every day: nothing is lost that is not there anyway.
        if job.cron().every_hour() {
            return None;
        }
        let changes: Vec<ClockChange> = job.clock_changes(self.from, self.until).collect();
        let first = changes.first()?;
        let fixed = job.cron().is_fixed_time();
        let one = |change: &ClockChange| {
            let date = change.date;
            let (hour, minute) = change.first;
            let what = match (change.kind, fixed) {
                (ChangeKind::Gap, true) => "does not exist (counts as right after the jump)",
                (ChangeKind::Gap, false) => "does not exist (does not run)",
                (ChangeKind::Fold, true) => "comes twice (runs the first time)",
                (ChangeKind::Fold, false) => "comes twice (runs both times)",
            };
            let more = match change.times {
                1 => String::new(),
                times => format!(" (and {} more)", times - 1),
            };
            format!("on {date} {hour:02}:{minute:02}{more} {what}")
        };
        let listed: Vec<String> = changes.iter().take(LISTED).map(one).collect();
        let (hour, minute) = first.first;
        let message = format!(
            "the clock of {} skips or repeats {hour:02}:{minute:02} within a year",
            job.zone().name()
        );
        Some(Problem::new("clock-change", span, message).hint(listed.join("; ")))
    }
}

/// Where a modifier stands in a schedule, or the schedule if it is not there.
fn modifier_span(text: &str, schedule: Span, modifier: &str) -> Span {
    let written = schedule.slice(text);
    let Some(at) = written.find(&format!("{modifier}(")) else { return schedule };
    let length = written[at..].find(')').map_or(written.len() - at, |length| length + 1);
    Span::new(schedule.start + at, schedule.start + at + length)
}

fn overlap(job: &Job, gap: Duration, span: Span) -> Option<Problem> {
    let window = job.window().duration;
    (window > gap).then(|| {
        let message =
            format!("windows of {} overlap: periods come every {}", Pretty(window), Pretty(gap));
        Problem::new("overlapping-windows", span, message).hint(format!(
            "runs of neighbouring periods may come close together or out of order; \
             a window of at most {} avoids that",
            Pretty(gap)
        ))
    })
}

fn lost_by_restart(job: &Job, gap: Duration, span: Span) -> Option<Problem> {
    let policy = job.policy();
    (policy.deadline.is_zero() && !policy.suspend && gap >= RARE).then(|| {
        let message = format!(
            "this runs no more often than every {}, and a restart at the chosen second loses the run",
            two_units(gap.as_secs())
        );
        Problem::new("lost-by-restart", span, message).hint(
            "give it a deadline, within which a missed run is caught up: `@policy(deadline=1h)`",
        )
    })
}

fn little_left(outlook: &Outlook, span: Span) -> Option<Problem> {
    let worst = outlook.worst?;
    (worst.per_draw < LITTLE).then(|| {
        let message = format!(
            "constraints leave {} of the window of {}; \
             it stays without a time with probability {:.3e}",
            percent(worst.per_draw),
            worst.period,
            worst.unschedulable
        );
        Problem::new("little-left", span, message)
            .hint("widen the window, or move it to where the constraints allow more")
    })
}

fn percent(share: f64) -> String {
    if share >= 0.001 { format!("{:.1} %", share * 100.0) } else { format!("{share:.2e}") }
}

fn unschedulable(job: &Job, outlook: Outlook, span: Span) -> Option<Finding> {
    if outlook.unschedulable.is_empty() {
        return None;
    }
    let (count, seen) = (outlook.unschedulable.len(), outlook.seen);
    let date = |period: &PeriodId| job.zone().local_time(period.nominal()).date().to_string();
    let mut dates: Vec<String> = outlook.unschedulable.iter().map(date).collect();
    dates.dedup();
    let more = dates.len().saturating_sub(LISTED);
    dates.truncate(LISTED);
    let more = if more > 0 { format!(" and {more} more days") } else { String::new() };
    let (message, hint) = if count == seen {
        (
            format!("no period until {} can run: all {seen} are unschedulable", outlook.until),
            "the constraints allow no second of the windows".to_string(),
        )
    } else {
        (
            format!("{count} of {seen} periods until {} will be unschedulable", outlook.until),
            format!("{}{more}", dates.join(", ")),
        )
    };
    let mut finding =
        Finding::warning(Problem::new("unschedulable-periods", span, message).hint(hint));
    finding.periods = outlook.unschedulable;
    Some(finding)
}

/// Words that only a shell understands, in a command that goes to none.
fn shell_words(entry: &Entry) -> Option<Problem> {
    const OPERATORS: [&str; 11] = ["|", "||", "&", "&&", ";", ">", ">>", "<", "2>", "2>&1", "&>"];
    let Command::Direct(words) = &entry.command else { return None };
    let expands = |word: &str| {
        let variable = |at: usize| {
            word[at + 1..].starts_with(|c: char| c.is_ascii_alphabetic() || "_({".contains(c))
        };
        word.match_indices('$').any(|(at, _)| variable(at)) || word.contains('`')
    };
    // An interpreter given a program text expands it itself.
    if words.get(1).is_some_and(|word| matches!(word.as_str(), "-c" | "-e" | "-lc")) {
        return None;
    }
    let word = words.iter().find(|word| OPERATORS.contains(&word.as_str()) || expands(word))?;
    let message = format!("`{word}` is passed to the command as it is");
    Some(
        Problem::new("no-shell", entry.place(Key::Command)?, message)
            .hint("with `shell=true` the command goes to `/bin/sh -c`"),
    )
}
