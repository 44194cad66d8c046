//! An entry in the making, and what becomes of it.
//!
//! The formats fill in drafts; here a draft is checked against the engine, told
//! from duplicates, named, and given its verdict.

use crate::message::{duration, quoted};
use crate::model::{Entry, Item, Verdict};
use crate::names::{self, Names, Wish};
use kron_core::syntax::Spec;
use kron_core::{Zones, bounds};
use std::collections::BTreeSet;

/// Everything known so far about one thing that asked to be run.
#[derive(Default)]
pub(crate) struct Draft {
    pub file: usize,
    pub line: usize,
    pub source: String,
    /// What the name is made from, and what may tell it from others.
    pub base: String,
    pub hints: Vec<String>,
    /// Five fields.
    pub cron: String,
    /// Nothing means UTC.
    pub zone: Option<String>,
    pub window_seconds: u64,
    /// Nothing means Kron's default, `forbid`.
    pub concurrency: Option<&'static str>,
    pub deadline_seconds: u64,
    pub suspend: bool,
    /// Weekdays for an `@only` clause.
    pub only_weekdays: Option<String>,
    pub fields: Vec<(&'static str, String)>,
    pub changes: Vec<String>,
    pub reasons: Vec<String>,
}

impl Draft {
    /// Puts the schedule into a zone, unless that is UTC.
    pub fn in_zone(&mut self, name: &str) {
        self.zone = (!is_utc(name)).then(|| name.into());
    }

    pub fn field(&mut self, name: &'static str, value: impl Into<String>) {
        self.fields.push((name, value.into()));
    }

    pub fn change(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.changes.contains(&text) {
            self.changes.push(text);
        }
    }

    pub fn refuse(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.reasons.contains(&text) {
            self.reasons.push(text);
        }
    }

    pub fn schedule(&self) -> String {
        let mut out = self.cron.clone();
        let mut add = |text: String| {
            out.push(' ');
            out.push_str(&text);
        };
        if let Some(zone) = &self.zone {
            add(format!("@tz({zone})"));
        }
        if self.window_seconds > 0 {
            add(format!("@win(after,{})", duration(self.window_seconds)));
        }
        let mut policy = Vec::new();
        policy.extend(self.concurrency.map(|value| format!("concurrency={value}")));
        if self.deadline_seconds > 0 {
            policy.push(format!("deadline={}", duration(self.deadline_seconds)));
        }
        if self.suspend {
            policy.push("suspend=true".into());
        }
        if !policy.is_empty() {
            add(format!("@policy({})", policy.join(",")));
        }
        if let Some(weekdays) = &self.only_weekdays {
            add(format!("@only(dow={weekdays})"));
        }
        out
    }

    /// Whether a file can hold the entry: it is printed, and read again.
    fn check(&mut self, zones: &mut Zones) {
        for (name, value) in &self.fields {
            if value.contains(|c: char| c.is_control() && c != '\t') {
                let reason = format!(
                    "`{name}` has a line break or another control character, which no entry can \
                     hold; move it into a script"
                );
                self.reasons.push(reason);
            }
        }
        if !self.reasons.is_empty() {
            return;
        }
        let (schedule, fields) = (self.schedule(), self.fields.clone());
        let line = Entry { name: "import".into(), schedule, fields }.line().to_string();
        for problem in kron_tab::read("/import.kron", line.as_bytes(), zones).problems {
            let hint = problem.hint.map(|hint| format!(": {hint}")).unwrap_or_default();
            self.refuse(format!("{}{hint}", problem.message));
        }
    }

    fn content(&self) -> String {
        let mut out = self.schedule();
        for (name, value) in &self.fields {
            out.push('\n');
            out.push_str(name);
            out.push('=');
            out.push_str(value);
        }
        out
    }
}

/// Whether a zone is UTC by another name.
fn is_utc(zone: &str) -> bool {
    matches!(
        zone,
        "UTC" | "UCT" | "Universal" | "Zulu" | "Etc/UTC" | "Etc/UCT" | "Etc/Universal" | "Etc/Zulu"
    )
}

/// Gives each draft its verdict.
pub(crate) fn finish(mut drafts: Vec<Draft>, names: &mut Names, zones: &mut Zones) -> Vec<Item> {
    let mut seen = BTreeSet::new();
    for draft in &mut drafts {
        draft.check(zones);
        if draft.reasons.is_empty() && !seen.insert((draft.base.clone(), draft.content())) {
            draft.refuse("this is a duplicate: an entry before it is the same to the letter");
        }
    }
    let wish = |draft: &Draft| Wish {
        base: draft.base.clone(),
        hints: draft.hints.clone(),
        content: draft.content(),
    };
    let wishes: Vec<Wish> =
        drafts.iter().filter(|draft| draft.reasons.is_empty()).map(wish).collect();
    let mut assigned = names::assign(&wishes, names).into_iter();
    drafts.into_iter().map(|draft| item(draft, &mut assigned)).collect()
}

fn item(draft: Draft, assigned: &mut impl Iterator<Item = String>) -> Item {
    let schedule = draft.schedule();
    let Draft { file, line, source, fields, changes, reasons, .. } = draft;
    let verdict = match reasons.is_empty().then(|| assigned.next()).flatten() {
        None => Verdict::Refused { reasons },
        Some(name) => {
            let entry = Entry { name, schedule, fields };
            if changes.is_empty() {
                Verdict::Exact(entry)
            } else {
                Verdict::Changed { entry, changes }
            }
        }
    };
    Item { file, line, source, verdict }
}

/// The shortest time from one period of a cron expression to the next: a
/// deadline of that length lets a late start never meet the following one. At
/// most as long as a deadline can usefully be.
pub(crate) fn least_gap_seconds(cron: &str) -> u64 {
    // What does not parse is reported by the check that follows.
    Spec::parse(cron)
        .map_or(0, |spec| spec.cron().value.least_gap().min(bounds::WINDOW.max).as_secs())
}

/// Says what was not carried over, in one line.
pub(crate) fn not_carried_over(what: &[String]) -> Option<String> {
    const SHOWN: usize = 12;
    if what.is_empty() {
        return None;
    }
    let mut shown: Vec<String> = what.iter().take(SHOWN).map(|text| quoted(text)).collect();
    if what.len() > SHOWN {
        shown.push(format!("and {} more", what.len() - SHOWN));
    }
    Some(format!("not carried over: {}", shown.join(", ")))
}
