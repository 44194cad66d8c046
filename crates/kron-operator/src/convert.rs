//! From a `KronJob` to a [`Job`] (OPR-01): the structured fields are put together to the
//! text of the common syntax, and that is read by the one parser there is. What it finds
//! wrong is told by the name of the field.
//!
//! Pure.

use crate::api::{
    Concurrency, Constraints, Distribution, KronJobSpec, Policy, Seed, SeedName, Window,
};
use kron_core::{Category, DefinitionError, Job, PeriodId, Span, Zones};
use serde::Serialize;
use std::fmt;
use std::ops::Range;

/// What the seed of a `KronJob`'s decisions knows it by.
#[must_use]
pub fn identity(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

/// The name of the Job of a period. Nobody can create a second one of that name.
#[must_use]
pub fn job_name(kronjob: &str, period: PeriodId) -> String {
    format!("{kronjob}-{}", period.nominal().unix_seconds().div_euclid(60))
}

/// A period without the characters that labels cannot hold.
#[must_use]
pub fn period_label(period: PeriodId) -> String {
    period.to_string().replace(['-', ':'], "")
}

/// Why a spec cannot be used: everything that is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// One for each mistake, in the order of the fields.
    pub problems: Vec<Problem>,
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Path of the field, such as `spec.window.duration`.
    pub field: String,
    /// The stable name of the mistake.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What would be accepted.
    pub expected: String,
    /// What was probably meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Not understood, or senseless.
    #[serde(skip)]
    pub category: Category,
    /// The part of the field's value that is at fault.
    #[serde(skip)]
    pub fault: Range<usize>,
}

impl Invalid {
    /// One that nobody understands.
    #[must_use]
    pub fn unreadable(why: &str) -> Self {
        let problem = Problem {
            field: "spec".into(),
            code: "unreadable",
            message: format!("it cannot be read: {why}"),
            expected: "what `kubectl explain kronjob.spec` says".into(),
            hint: None,
            category: Category::Configuration,
            fault: 0..0,
        };
        Self { problems: vec![problem] }
    }

    /// What it is called: not understood, if any of it is not.
    #[must_use]
    pub fn category(&self) -> Category {
        let is_misread = |problem: &Problem| problem.category == Category::Configuration;
        if self.problems.iter().any(is_misread) {
            Category::Configuration
        } else {
            Category::Validation
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)?;
        if !self.expected.is_empty() {
            write!(f, "; accepted is {}", self.expected)?;
        }
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.problems.iter().enumerate() {
            if number > 0 {
                f.write_str("; ")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Invalid {}

/// A schedule in the common syntax, and which field each part of it came from.
#[derive(Clone, Debug, Default)]
pub struct Text {
    schedule: String,
    parts: Vec<(Range<usize>, String)>,
    /// Parts that would be read as something else than what they are.
    misfits: Vec<Problem>,
}

impl Text {
    /// The schedule.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.schedule
    }

    fn word(&mut self, text: &str) {
        self.schedule.push_str(text);
    }

    /// The value of a field, which must not have characters that end it.
    fn value(&mut self, field: impl Into<String>, value: &str, ends: &[char]) {
        let field = field.into();
        let is_end = |c: char| ends.contains(&c) || c.is_control() || "()@\"\\".contains(c);
        if let Some(bad) = value.chars().find(|c| is_end(*c)) {
            self.misfits.push(Problem {
                field: field.clone(),
                code: "unexpected-character",
                message: format!("{bad:?} cannot be part of it"),
                expected: "the value alone, as in the documentation".into(),
                hint: (bad == '@').then(|| {
                    "modifiers are fields of their own: timezone, window, distribution, seed, \
                     policy, constraints"
                        .into()
                }),
                category: Category::Configuration,
                fault: {
                    let at = value.find(bad).unwrap_or(0).saturating_sub(key_length(&field, value));
                    at..at + bad.len_utf8()
                },
            });
        }
        self.plain(field, value);
    }

    /// The value of a field, whatever it is.
    fn plain(&mut self, field: String, value: &str) {
        let start = self.schedule.len();
        self.schedule.push_str(value);
        self.parts.push((start..self.schedule.len(), field));
    }

    /// The part that a place in the text belongs to: the one that it is in, or else the
    /// next one, because a modifier and its keys come before the value.
    fn part(&self, start: usize) -> (Range<usize>, &str) {
        let part = self.parts.iter().find(|(range, _)| start <= range.end);
        let part = part.or(self.parts.last());
        part.map_or((0..0, "spec.schedule"), |(range, field)| (range.clone(), field))
    }

    fn problem(&self, error: &DefinitionError) -> Problem {
        let Span { start, end } = error.span();
        let (range, field) = self.part(start);
        let key = key_length(field, self.schedule.get(range.clone()).unwrap_or_default());
        let length = range.len() - key;
        let within = |at: usize| at.saturating_sub(range.start + key).min(length);
        let fault = within(start)..within(end);
        Problem {
            field: field.to_string(),
            category: error.category(),
            // A place before the value is about all of it.
            fault: if fault.is_empty() && start < range.start + key { 0..length } else { fault },
            code: error.code().as_str(),
            message: error.to_string(),
            expected: error.expected().to_string(),
            hint: error.suggestion().map(String::from),
        }
    }
}

/// How much of a part is not the field's value: of a parameter it has the key as well.
fn key_length(field: &str, part: &str) -> usize {
    match (part.split_once('='), field.rsplit_once('.')) {
        (Some((key, _)), Some((_, last))) if key == last => key.len() + 1,
        _ => 0,
    }
}

/// The schedule of a spec as the common syntax has it.
#[must_use]
pub fn schedule(spec: &KronJobSpec) -> Text {
    let mut text = Text::default();
    let fields = spec.schedule.trim();
    if is_macro(fields) {
        // The parser knows what to write in its place.
        text.plain("spec.schedule".into(), fields);
    } else {
        text.value("spec.schedule", fields, &[]);
    }
    text.word(" @tz(");
    text.value("spec.timezone", &spec.timezone, &[' ', ',']);
    let Window { mode, duration } = &spec.window;
    text.word(&format!(") @win({},", word(mode)));
    text.value("spec.window.duration", duration, &[' ', ',']);
    text.word(")");
    distribution(&mut text, &spec.distribution);
    seed(&mut text, &spec.seed);
    policy(&mut text, &spec.policy);
    constraints(&mut text, &spec.constraints);
    text
}

/// Whether it is something like `@daily` or `@every 5m`.
fn is_macro(fields: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == ' ';
    fields.strip_prefix('@').is_some_and(|name| name.chars().all(is_plain))
}

/// The word of the syntax, which is that of the field.
fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

fn distribution(text: &mut Text, distribution: &Distribution) {
    let Distribution { name, mu, sigma, shape, lambda, dir } = distribution;
    text.word(" @dist(");
    text.value("spec.distribution.name", &word(name), &[]);
    let parameters = [
        ("mu", mu.as_ref().map(word)),
        ("sigma", sigma.clone()),
        ("shape", shape.map(|shape| shape.to_string())),
        ("lambda", lambda.map(|lambda| lambda.to_string())),
        ("dir", dir.as_ref().map(word)),
    ];
    for (key, value) in parameters {
        if let Some(value) = value {
            text.word(",");
            // The key belongs to the field as well: it may be the one that is wrong.
            text.value(format!("spec.distribution.{key}"), &format!("{key}={value}"), &[' ', ',']);
        }
    }
    text.word(")");
}

fn seed(text: &mut Text, seed: &Seed) {
    let Seed { strategy, salt } = seed;
    if *strategy == SeedName::Stable && salt.is_empty() {
        return;
    }
    text.word(" @seed(");
    text.word(&word(strategy));
    if !salt.is_empty() {
        text.word(",salt=");
        let salt = format!("\"{}\"", salt.replace('\\', "\\\\").replace('"', "\\\""));
        text.plain("spec.seed.salt".into(), &salt);
    }
    text.word(")");
}

fn policy(text: &mut Text, policy: &Policy) {
    let Policy { concurrency, deadline, suspend } = policy;
    text.word(" @policy(");
    if *concurrency != Concurrency::Forbid {
        text.word(&format!("concurrency={},", word(concurrency)));
    }
    if *suspend {
        text.word("suspend=true,");
    }
    text.word("deadline=");
    text.value("spec.policy.deadline", deadline, &[' ', ',']);
    text.word(")");
}

fn constraints(text: &mut Text, constraints: &Constraints) {
    for (kind, clauses) in [("only", &constraints.only), ("avoid", &constraints.avoid)] {
        for (number, clause) in clauses.iter().enumerate() {
            text.word(&if number == 0 { format!(" @{kind}(") } else { ";".into() });
            text.value(format!("spec.constraints.{kind}[{number}]"), clause, &[]);
        }
        if !clauses.is_empty() {
            text.word(")");
        }
    }
}

/// The job that a `KronJob` stands for.
///
/// # Errors
/// With everything that is wrong.
pub fn job(
    namespace: &str,
    name: &str,
    spec: &KronJobSpec,
    zones: &mut Zones,
) -> Result<Job, Invalid> {
    let text = schedule(spec);
    if !text.misfits.is_empty() {
        return Err(Invalid { problems: text.misfits });
    }
    Job::parse(&identity(namespace, name), text.as_str(), zones).map_err(|errors| Invalid {
        problems: errors.as_slice().iter().map(|error| text.problem(error)).collect(),
    })
}
