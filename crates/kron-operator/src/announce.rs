//! What an Event says of something that happened (OPR-07). Pure.

use crate::plan::{Created, Remark};
use kron_core::{Closure, Outcome};

/// An Event, but for whom it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// Whether somebody should look at it.
    pub is_warning: bool,
    /// What happened, in one word.
    pub reason: &'static str,
    /// What happened.
    pub note: String,
    /// The Job that it is about.
    pub job: Option<String>,
}

impl Announcement {
    /// Of this; not everything is worth an Event.
    #[must_use]
    pub fn of(remark: &Remark) -> Option<Self> {
        match remark {
            Remark::Outcome { end, job, .. } => Some(outcome(end, job.as_ref())),
            Remark::Superseded(count, at_least) => Some(superseded(*count, *at_least)),
            Remark::Barred(count) => Some(barred(*count)),
            Remark::Planned(_) | Remark::Finished(_) => None,
        }
    }
}

fn outcome(end: &Closure, job: Option<&Created>) -> Announcement {
    let period = end.period();
    let chosen = end.chosen().map_or(String::new(), |chosen| format!(", chosen {chosen}"));
    let what = match job {
        Some(Created { name, at }) => format!("created Job {name} at {}", at.floor()),
        None => end.reason().map(ToString::to_string).unwrap_or_default(),
    };
    let (is_warning, reason) = match end.outcome() {
        Outcome::Executed => (false, "Executed"),
        Outcome::Skipped => (false, "Skipped"),
        Outcome::Missed => (true, "Missed"),
        Outcome::Unschedulable => (true, "Unschedulable"),
    };
    let (note, job) = (format!("period {period}{chosen}: {what}"), job.map(|job| job.name.clone()));
    Announcement { is_warning, reason, note, job }
}

fn barred(count: u32) -> Announcement {
    let periods = if count == 1 { "period" } else { "periods" };
    let note = format!("{count} {periods} waited when the spec was changed, and will not run");
    Announcement { is_warning: false, reason: "Superseded", note, job: None }
}

fn superseded(count: u32, at_least: bool) -> Announcement {
    let more = if at_least { "at least " } else { "" };
    let periods = if count == 1 { "period" } else { "periods" };
    let note = format!(
        "{more}{count} {periods} passed while nobody looked or nothing was to run; only the latest \
         such period is judged"
    );
    Announcement { is_warning: false, reason: "Superseded", note, job: None }
}
