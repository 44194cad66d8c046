//! What is wrong in a file, shown with its line and a caret, or as JSON.

use crate::terminal;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use kron_core::{PeriodId, Span};
use kron_host::config::{Reason, Refusal};
use kron_tab::{Key, Lines, Problem};
use serde_json::{Value, json};

/// Bytes of a line shown on either side of what is wrong.
const NEAR: usize = 400;

/// Longest list of what would be accepted that stands next to a better hint.
const LONGEST_LABEL: usize = 80;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// It can, but is perhaps not what was meant.
    Warning,
}

impl Severity {
    /// The word in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One thing to tell about a file.
#[derive(Clone, Debug)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What it is, and where.
    pub problem: Problem,
    /// The path of the field, where fields have one; for programs.
    pub path: Option<Box<str>>,
    /// The periods it speaks of, if any; for programs.
    pub periods: Vec<PeriodId>,
}

impl Finding {
    /// The file cannot be used because of this.
    #[must_use]
    pub const fn error(problem: Problem) -> Self {
        Self { severity: Severity::Error, problem, path: None, periods: Vec::new() }
    }

    /// This is perhaps not what was meant.
    #[must_use]
    pub const fn warning(problem: Problem) -> Self {
        Self { severity: Severity::Warning, problem, path: None, periods: Vec::new() }
    }
}

/// A file and where its lines are.
pub struct Page<'t> {
    path: &'t str,
    bytes: &'t [u8],
    lines: Lines<'t>,
    renderer: Renderer,
}

impl<'t> Page<'t> {
    /// `path` is how the file is called in messages.
    #[must_use]
    pub fn new(path: &'t str, bytes: &'t [u8]) -> Self {
        let renderer = Renderer::styled().term_width(terminal::width());
        Self { path, bytes, lines: Lines::new(bytes), renderer }
    }

    /// A finding for people, with styles.
    #[must_use]
    pub fn render(&self, finding: &Finding) -> String {
        let problem = &finding.problem;
        let level = match finding.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        // A long list says less than the hint below.
        let worth_it = problem.hint.is_none() || problem.expected.len() <= LONGEST_LABEL;
        let label = (!problem.expected.is_empty() && worth_it)
            .then(|| format!("expected {}", problem.expected));
        let mut group = level
            .primary_title(&*problem.message)
            .id(problem.code)
            .element(self.snippet(problem.span, AnnotationKind::Primary, label));
        if let Some(note) = &problem.note {
            let label = Some(note.message.to_string());
            group = group.element(self.snippet(note.span, AnnotationKind::Context, label));
        }
        if let Some(hint) = &problem.hint {
            group = group.element(Level::HELP.message(&**hint));
        }
        self.renderer.render(&[group]) + "\n"
    }

    fn snippet(
        &self,
        span: Span,
        kind: AnnotationKind,
        label: Option<String>,
    ) -> Snippet<'static, annotate_snippets::Annotation<'static>> {
        // The first line is enough to point at something, and of a long one what
        // is near.
        let start = span.start.min(self.bytes.len());
        let around = self.lines.around(Span::new(start, start));
        let first = around.start.max(start.saturating_sub(NEAR));
        let last = around.end.min(start.max(span.end.min(start + NEAR)) + NEAR);
        let text = |from: usize, to: usize| {
            String::from_utf8_lossy(&self.bytes[from..to.max(from)]).into_owned()
        };
        let cut = |at: usize| if at == around.start { "" } else { "…" };
        let line = format!("{}{}", cut(first), text(first, last));
        let from = cut(first).len() + text(first, start).len();
        let to = (from + text(start, span.end.min(last)).len()).min(line.len());
        Snippet::source(line)
            .path(self.path.to_string())
            .line_start(self.lines.position(start).line)
            .annotation(kind.span(from..to).label(label))
    }

    /// A finding for programs. The names are stable.
    #[must_use]
    pub fn json(&self, finding: &Finding) -> Value {
        let Problem { category, code, span, message, found, expected, hint, note, field } =
            &finding.problem;
        let (start, end) = (self.lines.position(span.start), self.lines.position(span.end));
        let mut value = json!({
            "severity": finding.severity.as_str(),
            "category": (finding.severity == Severity::Error).then(|| category.as_str()),
            "code": code,
            "path": self.path,
            "line": start.line,
            "column": start.column,
            "endLine": end.line,
            "endColumn": end.column,
            "message": message,
            "found": found,
            "expected": expected,
            "hint": hint,
            "field": finding.path.as_deref().or(field.map(Key::as_str)),
        });
        if let Some(note) = note {
            let at = self.lines.position(note.span.start);
            value["note"] =
                json!({ "line": at.line, "column": at.column, "message": note.message });
        }
        if !finding.periods.is_empty() {
            let periods: Vec<String> = finding.periods.iter().map(PeriodId::to_string).collect();
            value["periods"] = periods.into();
        }
        value
    }
}

/// A file that is refused before it is read, for people.
#[must_use]
pub fn render_refusal(path: &str, refusal: &Refusal) -> String {
    let mut group = Group::with_title(
        Level::ERROR.primary_title(format!("{path}: {refusal}")).id(refusal_code(refusal)),
    );
    if let Reason::Unsafe { hint, .. } = &refusal.reason {
        group = group.element(Level::HELP.message(hint));
    }
    Renderer::styled().render(&[group]) + "\n"
}

/// A file that is refused before it is read, for programs.
#[must_use]
pub fn refusal_json(path: &str, refusal: &Refusal) -> Value {
    let hint = match &refusal.reason {
        Reason::Unsafe { hint, .. } => Some(hint),
        Reason::Unreadable(_) => None,
    };
    json!({
        "severity": "error",
        "category": if refusal.is_unreadable() { "SystemError" } else { "ConfigurationError" },
        "code": refusal_code(refusal),
        "path": path,
        "line": null,
        "column": null,
        "endLine": null,
        "endColumn": null,
        "message": refusal.to_string(),
        "found": "",
        "expected": "",
        "hint": hint,
        "field": null,
    })
}

/// The stable name of a refusal, as in JSON.
#[must_use]
pub fn refusal_code(refusal: &Refusal) -> &'static str {
    if refusal.is_unreadable() { "unreadable" } else { "unsafe-file" }
}
