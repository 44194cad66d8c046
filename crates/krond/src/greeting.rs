//! What the daemon says first to somebody who starts it on a terminal: its jobs,
//! when each runs next, and how long until then.

use anstyle::{AnsiColor, Style};
use kron_core::{UtcSecond, Zone};
use kron_term::moment::{local, two_units};
use kron_term::sources::printable;
use kron_term::table::{Cell, Table};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// Jobs that are shown one by one.
const ROWS: usize = 20;
/// Columns between two columns.
const GAP: usize = 2;
/// Fewest columns in which a path or a name says something.
const LEAST: usize = 12;

/// A job, as far as a greeting needs to know it.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// Its name.
    pub name: &'a str,
    /// The path of its file.
    pub file: &'a str,
    /// Its next chosen time, if there is one.
    pub next: Option<UtcSecond>,
    /// Its zone.
    pub zone: &'a Zone,
    /// Whether it is suspended.
    pub suspended: bool,
}

impl<'a> Job<'a> {
    /// Soonest first; then what never runs, and what is suspended.
    fn rank(&self) -> (bool, Reverse<bool>, Option<UtcSecond>, &'a str, &'a str) {
        (self.suspended, Reverse(self.next.is_some()), self.next, self.name, self.file)
    }
}

/// What somebody has to type to reach this daemon, as it was started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// The directory of the programs with its `/`, if they are not found without.
    pub programs: String,
    /// The flags by which a client finds it, with a blank before them, if it needs any.
    pub flags: String,
    /// The same for where its jobs are written.
    pub file: String,
}

/// The greeting, with styles, for a terminal of this width.
///
/// ```
/// use krond::greeting::{Job, Way, greeting};
/// let mut zones = kron_core::Zones::bundled();
/// let zone = zones.utc();
/// let next = Some("2026-03-03T10:21:09Z".parse()?);
/// let file = "/etc/krond.d/shop.kron";
/// let jobs = [Job { name: "backup", file, next, zone: &zone, suspended: false }];
/// let text = greeting(&jobs, "2026-03-02T10:25:00Z".parse()?, 100, &Way::default());
/// assert!(text.contains("Tue 2026-03-03 10:21:09 +00:00"), "{text}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn greeting(jobs: &[Job<'_>], now: UtcSecond, width: usize, way: &Way) -> String {
    let bold = Style::new().bold();
    let Way { programs, flags, file } = way;
    let log = "The log, in UTC:\n\n";
    if jobs.is_empty() {
        return format!(
            "{bold}No jobs yet.{bold:#} Add one, and tell krond:\n\n  \
             {programs}krontab add hello '*/5 * * * * @win(after,2m)'{file} -- /bin/echo hello\n  \
             {programs}krond reload{flags}\n\n{log}"
        );
    }
    let mut out = format!("{bold}{}{bold:#}\n\n", summary(jobs));
    let mut first: Vec<&Job<'_>> = jobs.iter().collect();
    if first.len() > ROWS {
        // Of a hundred thousand only so many need to be in order.
        first.select_nth_unstable_by_key(ROWS, |job| job.rank());
        first.truncate(ROWS);
    }
    first.sort_unstable_by_key(|job| job.rank());
    out += &table(&first, now, width);
    if jobs.len() > ROWS {
        // A string can always be written to.
        let _ = writeln!(
            out,
            "… and {} more ({programs}krond jobs{flags})",
            grouped(jobs.len() - ROWS)
        );
    }
    if !flags.is_empty() {
        let _ = writeln!(out, "\nAsk this krond by naming it: {programs}krond why JOB{flags}");
    }
    out.push('\n');
    out += log;
    out
}

fn summary(jobs: &[Job<'_>]) -> String {
    let counted =
        |n: usize, one: &str| format!("{} {one}{}", grouped(n), if n == 1 { "" } else { "s" });
    let files: BTreeSet<&str> = jobs.iter().map(|job| job.file).collect();
    let text = format!("{} in {}", counted(jobs.len(), "job"), counted(files.len(), "file"));
    match jobs.iter().filter(|job| job.suspended).count() {
        0 => text,
        n => format!("{text}, {} suspended", grouped(n)),
    }
}

fn table(jobs: &[&Job<'_>], now: UtcSecond, width: usize) -> String {
    let rows: Vec<(String, String, Cell)> = jobs
        .iter()
        .map(|job| {
            let next = job.next.map_or_else(|| "none".into(), |next| local(job.zone, next));
            (next, wait(job, now), left(job, now))
        })
        .collect();
    let length = |text: &str| text.chars().count();
    let longest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
    let fixed = longest(&mut rows.iter().map(|row| length(&row.0))).max("NEXT".len())
        + longest(&mut rows.iter().map(|row| length(&row.1))).max("IN".len())
        + 2 * GAP;
    let room = width.saturating_sub(fixed);
    let names = longest(&mut jobs.iter().map(|job| length(job.name))).max("NAME".len());
    // Where both do not fit, the name matters more than the file.
    let files = room.saturating_sub(names + GAP);
    let with_files = files >= LEAST;
    let names = names.min(room.max(LEAST));
    let mut heading = vec!["NAME", "NEXT", "IN"];
    if with_files {
        heading.push("FILE");
    }
    let mut table = Table::new(heading);
    for (job, (next, _, left)) in jobs.iter().zip(rows) {
        let mut row = vec![head(job.name, names).into(), next.into(), left];
        if with_files {
            row.push(tail(&printable(Path::new(job.file)), files).into());
        }
        table.row(row);
    }
    table.render()
}

/// How long until it runs.
fn wait(job: &Job<'_>, now: UtcSecond) -> String {
    match job.next {
        _ if job.suspended => "suspended".into(),
        None => String::new(),
        Some(next) if next <= now => "now".into(),
        Some(next) => two_units(next.unix_seconds().abs_diff(now.unix_seconds())),
    }
}

fn left(job: &Job<'_>, now: UtcSecond) -> Cell {
    let yellow = job.suspended.then(|| AnsiColor::Yellow.into());
    Cell::styled(wait(job, now), Style::new().fg_color(yellow))
}

/// The beginning of a text that has to fit.
fn head(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.into();
    }
    text.chars().take(columns.saturating_sub(1)).chain(['…']).collect()
}

/// The end of a path that has to fit.
fn tail(text: &str, columns: usize) -> String {
    let length = text.chars().count();
    if length <= columns {
        return text.into();
    }
    ['…'].into_iter().chain(text.chars().skip(length + 1 - columns)).collect()
}

/// A number as people write large ones: `99,980`.
fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use kron_core::Zones;
    use kron_term::terminal::without_styles;

    fn at(text: &str) -> UtcSecond {
        text.parse().unwrap()
    }

    fn check(jobs: &[Job<'_>], width: usize, expected: &str) {
        let text =
            without_styles(&greeting(jobs, at("2026-03-02T10:25:00Z"), width, &Way::default()));
        assert_eq!(text, expected, "\n{text}");
    }

    fn job<'a>(name: &'a str, file: &'a str, next: Option<&str>, zone: &'a Zone) -> Job<'a> {
        Job { name, file, next: next.map(at), zone, suspended: false }
    }

    #[test]
    fn jobs_by_time() {
        let mut zones = Zones::bundled();
        let (utc, paris) = (zones.utc(), zones.get("Europe/Paris").unwrap());
        let (shop, mail) = ("/etc/krond.d/shop.kron", "/etc/krond.d/mail.kron");
        let mut held = job("held", mail, Some("2026-03-02T10:30:00Z"), &utc);
        held.suspended = true;
        let jobs = [
            held,
            job("backup", shop, Some("2026-03-03T10:21:09Z"), &utc),
            job("never", shop, None, &utc),
            job("report", mail, Some("2026-03-02T10:25:00Z"), &paris),
        ];
        check(
            &jobs,
            100,
            "\
4 jobs in 2 files, 1 suspended

NAME    NEXT                            IN         FILE
report  Mon 2026-03-02 11:25:00 +01:00  now        /etc/krond.d/mail.kron
backup  Tue 2026-03-03 10:21:09 +00:00  23h 56m    /etc/krond.d/shop.kron
never   none                                       /etc/krond.d/shop.kron
held    Mon 2026-03-02 10:30:00 +00:00  suspended  /etc/krond.d/mail.kron

The log, in UTC:

",
        );
        check(
            &jobs[1..2],
            61,
            "\
1 job in 1 file

NAME    NEXT                            IN       FILE
backup  Tue 2026-03-03 10:21:09 +00:00  23h 56m  …d/shop.kron

The log, in UTC:

",
        );
        check(
            &jobs[1..2],
            40,
            "\
1 job in 1 file

NAME    NEXT                            IN
backup  Tue 2026-03-03 10:21:09 +00:00  23h 56m

The log, in UTC:

",
        );
    }

    #[test]
    fn many_jobs() {
        let utc = Zones::bundled().utc();
        let names: Vec<String> = (0..100_000).map(|i| format!("job-{i:05}")).collect();
        let start = at("2026-03-02T10:25:00Z").unix_seconds();
        // The last comes first.
        let jobs: Vec<Job<'_>> = names
            .iter()
            .zip(1..)
            .map(|(name, i)| Job {
                next: UtcSecond::new(start + 60 * (100_001 - i)).ok(),
                ..job(name, "/etc/krond.d/many.kron", None, &utc)
            })
            .collect();
        let text =
            without_styles(&greeting(&jobs, at("2026-03-02T10:25:00Z"), 80, &Way::default()));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "100,000 jobs in 1 file");
        assert!(lines[3].starts_with("job-99999  Mon 2026-03-02 10:26:00 +00:00  1m"), "{text}");
        assert!(lines[22].starts_with("job-99980  Mon 2026-03-02 10:45:00 +00:00  20m"), "{text}");
        assert_eq!(lines[23..], ["… and 99,980 more (krond jobs)", "", "The log, in UTC:", ""]);
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn no_jobs() {
        let text = without_styles(&greeting(&[], at("2026-03-02T10:25:00Z"), 80, &Way::default()));
        assert!(text.starts_with("No jobs yet. Add one, and tell krond:\n"), "{text}");
        assert!(text.contains("  krontab add hello "), "{text}");
    }

    /// Who was started beside the usual place is not found without its name, and reads other
    /// files.
    #[test]
    fn ways() {
        let way = Way {
            programs: "target/debug/".into(),
            flags: " --state-dir here".into(),
            file: " --file there/jobs.kron".into(),
        };
        let zone = Zones::bundled().utc();
        let jobs = [job("a", "/etc/krond.d/a.kron", None, &zone)];
        let text = greeting(&jobs, at("2026-03-02T10:25:00Z"), 80, &way);
        assert!(text.contains(": target/debug/krond why JOB --state-dir here\n\n"), "{text}");
        let text = greeting(&[], at("2026-03-02T10:25:00Z"), 80, &way);
        assert!(text.contains("  target/debug/krond reload --state-dir here\n"), "{text}");
        let add = "  target/debug/krontab add hello '*/5 * * * * @win(after,2m)' --file \
                   there/jobs.kron -- /bin/echo hello\n";
        assert!(text.contains(add), "{text}");
    }
}
