//! `krontab lint`: everything wrong with files, and what is seldom meant.

mod advice;
mod lookahead;
mod surroundings;

use crate::cli::{Format, Lint, Telling};
use crate::clock;
use crate::jobs;
use anstyle::{AnsiColor, Style};
use kron_core::{UtcSecond, Zones};
use kron_host::config::Refusal;
use kron_tab::{Entry, Tab};
use kron_term::diagnostic::{Finding, Page, Severity, refusal_json, render_refusal};
use kron_term::failure::{Failure, INVALID, USER, note};
use kron_term::sources::{self, Sheet};
use kron_term::{moment, terminal};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Stdout, Write};
use surroundings::Surroundings;

pub use advice::Adviser;

/// Findings of one kind that are shown one by one before they are counted.
const SHOWN_OF_A_KIND: usize = 10;

#[derive(Default)]
struct Tally {
    files: usize,
    entries: usize,
    errors: usize,
    warnings: usize,
    unreadable: bool,
}

pub(crate) fn lint(arguments: &Lint) -> Result<u8, Failure> {
    let mut zones = Zones::bundled();
    let mut report = Report::new(&arguments.telling, &zones)?;
    for path in jobs::paths(&arguments.paths)? {
        if arguments.paths.is_empty() && !path.exists() {
            return Err(jobs::no_configuration(&path, INVALID));
        }
        match sources::files(&path) {
            Ok(found) if found.is_empty() => {
                note(format_args!("no `.kron` files in {}", path.display()));
            }
            Err(refusal) => report.refused(&sources::printable(&path), &refusal),
            Ok(found) => {
                for file in found {
                    match sources::read(&file, arguments.installed.as_deref(), &mut zones) {
                        Err(refusal) => report.refused(&file.shown, &refusal),
                        Ok(sheet) => report.file(&sheet),
                    }
                }
            }
        }
    }
    Ok(report.finish())
}

/// Entries that the daemon of this user, who is not root, would refuse.
pub(crate) fn other_accounts(tab: &Tab) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !kron_host::places::is_system() {
        let mut surroundings = Surroundings::default();
        tab.entries.iter().for_each(|entry| surroundings.accounts(entry, true, &mut findings));
        findings.retain(|finding| finding.severity == Severity::Error);
    }
    findings
}

/// What there is to say about one entry, as of now.
pub(crate) fn advise(entry: &Entry, text: &str, now: UtcSecond) -> Vec<Finding> {
    let mut findings = Vec::new();
    Adviser::new(now).advise(entry, text, !kron_host::places::is_system(), &mut findings);
    findings
}

/// Tells what was found in files, and counts it.
pub struct Report<'a> {
    telling: &'a Telling,
    from: UtcSecond,
    adviser: Adviser,
    tally: Tally,
    json: JsonList,
    /// Things in the files that are not looked at, where there can be some.
    pub others: Option<usize>,
}

impl<'a> Report<'a> {
    /// Nothing found so far.
    ///
    /// # Errors
    /// When the time to look ahead from is none.
    pub fn new(telling: &'a Telling, zones: &Zones) -> Result<Self, Failure> {
        let now = clock::now();
        let from = match &telling.from {
            Some(text) => moment::parse(text, &zones.utc(), now)?,
            None => now,
        };
        let (adviser, tally, json) = (Adviser::new(from), Tally::default(), JsonList::new());
        Ok(Self { telling, from, adviser, tally, json, others: None })
    }

    /// Looks ahead for what is seldom meant.
    pub const fn adviser(&mut self) -> &mut Adviser {
        &mut self.adviser
    }

    fn is_json(&self) -> bool {
        self.telling.format == Format::Json
    }

    fn refused(&mut self, path: &str, refusal: &Refusal) {
        self.tally.files += 1;
        self.tally.errors += 1;
        self.tally.unreadable |= refusal.is_unreadable();
        if self.is_json() {
            self.json.push(&refusal_json(path, refusal));
        } else {
            terminal::print(&format!("{}\n", render_refusal(path, refusal)));
        }
    }

    fn file(&mut self, file: &Sheet) {
        let mut findings: Vec<Finding> =
            file.tab.problems.iter().cloned().map(Finding::error).collect();
        let text = String::from_utf8_lossy(&file.bytes);
        self.adviser.expect(file.tab.entries.iter().map(|entry| &entry.job));
        for entry in &file.tab.entries {
            self.adviser.advise(entry, &text, file.own, &mut findings);
        }
        self.findings(&file.shown, &file.bytes, file.tab.entries.len(), findings);
    }

    /// Tells what was found in a file that has so many jobs.
    pub fn findings(
        &mut self,
        shown: &str,
        bytes: &[u8],
        entries: usize,
        mut findings: Vec<Finding>,
    ) {
        self.tally.files += 1;
        self.tally.entries += entries;
        findings.sort_by_key(|finding| finding.problem.span);
        let count = |severity| findings.iter().filter(|f| f.severity == severity).count();
        self.tally.errors += count(Severity::Error);
        self.tally.warnings += count(Severity::Warning);
        if findings.is_empty() {
            return;
        }
        let page = Page::new(shown, bytes);
        if self.is_json() {
            for finding in &findings {
                self.json.push(&page.json(finding));
            }
            return;
        }
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        for finding in &findings {
            let seen = kinds.entry(finding.problem.code).or_default();
            *seen += 1;
            let hidden = finding.severity == Severity::Warning && *seen > SHOWN_OF_A_KIND;
            if !hidden || self.telling.all {
                terminal::print(&format!("{}\n", page.render(finding)));
            }
        }
        if self.telling.all {
            return;
        }
        let warned = |code: &str| {
            findings.iter().any(|f| f.problem.code == code && f.severity == Severity::Warning)
        };
        for (code, seen) in kinds {
            if seen > SHOWN_OF_A_KIND && warned(code) {
                let more = seen - SHOWN_OF_A_KIND;
                terminal::print(&format!(
                    "{shown}: {more} more of [{code}]; `--all` shows them\n\n"
                ));
            }
        }
    }

    /// Tells how many there were; the exit code.
    #[must_use]
    pub fn finish(self) -> u8 {
        let Tally { files, entries, errors, warnings, unreadable } = self.tally;
        let shortened = self.adviser.shortened();
        let denied = self.telling.deny_warnings && warnings > 0;
        if self.is_json() {
            let mut rest = json!({
                "valid": errors == 0 && !denied,
                "from": self.from.to_string(),
                "files": files,
                "entries": entries,
                "errors": errors,
                "warnings": warnings,
                "shortened": shortened,
            });
            if let Some(others) = self.others {
                rest["others"] = others.into();
            }
            self.json.finish(&rest);
        } else {
            if shortened > 0 {
                terminal::print(&format!(
                    "note: {} not looked ahead for a whole year, because there are so many\n",
                    counted(shortened, "constrained job was", "constrained jobs were"),
                ));
            }
            let others = match self.others {
                None | Some(0) => String::new(),
                Some(others) => format!(", {} passed over", counted(others, "other", "others")),
            };
            let summary = summary(files, entries, errors, warnings, denied);
            terminal::print(&format!("{summary}{others}\n"));
        }
        match (unreadable, errors > 0 || denied) {
            (true, _) => INVALID,
            (false, true) => USER,
            (false, false) => 0,
        }
    }
}

/// One object whose first member, `findings`, is written as it comes, a finding
/// a line: there may be hundreds of thousands.
struct JsonList {
    out: BufWriter<Stdout>,
    any: bool,
}

impl JsonList {
    fn new() -> Self {
        Self { out: BufWriter::new(io::stdout()), any: false }
    }

    fn push(&mut self, finding: &Value) {
        let before = if self.any { ",\n" } else { "{\"findings\": [\n" };
        terminal::note_failure(write!(self.out, "{before}{finding}"));
        self.any = true;
    }

    fn finish(mut self, rest: &Value) {
        let before = if self.any { "\n]" } else { "{\"findings\": []" };
        let rest = rest.to_string();
        let rest = rest.trim_start_matches('{');
        let written = writeln!(self.out, "{before},\n{rest}").and_then(|()| self.out.flush());
        terminal::note_failure(written);
    }
}

fn summary(files: usize, entries: usize, errors: usize, warnings: usize, denied: bool) -> String {
    let colour = |colour: AnsiColor| Style::new().bold().fg_color(Some(colour.into()));
    let (style, word) = if errors > 0 {
        (colour(AnsiColor::Red), counted(errors, "error", "errors"))
    } else if denied {
        (colour(AnsiColor::Red), "warnings are denied".into())
    } else {
        (colour(AnsiColor::Green), "valid".into())
    };
    let warnings = match warnings {
        0 => String::new(),
        n => format!(", {}", counted(n, "warning", "warnings")),
    };
    let place =
        format!("{} in {}", counted(entries, "job", "jobs"), counted(files, "file", "files"));
    format!("{style}{word}{style:#}{warnings}: {place}")
}

/// A number and its noun.
pub(crate) fn counted(n: usize, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}
