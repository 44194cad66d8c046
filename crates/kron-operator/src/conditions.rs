//! Whether a `KronJob` works, as its conditions say it (OPR-06, OPR-07). Pure.

use crate::api::condition::{ERROR, INVALID, READY, UNSCHEDULABLE};
use crate::book::Book;
use crate::tell::cut;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use kron_core::{Job, PeriodId, UtcInstant};

/// Reason of a spec whose template the API server refuses.
pub const INVALID_TEMPLATE: &str = "InvalidTemplate";
/// Something is wrong: in one word, and in full.
pub type Trouble = (&'static str, String);

/// Longest message of a condition that the API server takes.
const LONGEST: usize = 32768;

/// What there is to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// The spec cannot be used: a reason in one word, and in full.
    Invalid(&'static str, String),
    /// It can.
    Valid {
        /// Whether nothing is created for the time being.
        is_suspended: bool,
        /// Whether there is a period to come.
        has_next: bool,
        /// What keeps periods from being started, or did.
        error: Option<Trouble>,
        /// Why the latest period had no allowed time.
        unschedulable: Option<String>,
    },
}

impl Health {
    /// Of a `KronJob` with this book and definition.
    #[must_use]
    pub fn of(book: &Book, job: &Job, error: Option<Trouble>) -> Self {
        let last = book.last.as_ref().filter(|last| last.outcome == "unschedulable");
        // What an edit has cured is over.
        let last = last.filter(|last| last.period_id.parse().is_ok_and(|p| is_hopeless(job, p)));
        let unschedulable = last.map(|last| {
            let reason = last.reason.as_deref().unwrap_or_default();
            format!("period {}: {reason}", last.period_id)
        });
        let is_suspended = job.policy().suspend;
        Self::Valid { is_suspended, has_next: book.next.is_some(), error, unschedulable }
    }

    /// The conditions; what has not changed keeps its time.
    #[must_use]
    pub fn conditions(
        &self,
        old: &[Condition],
        generation: i64,
        now: UtcInstant,
    ) -> Vec<Condition> {
        let no = |type_, reason| (type_, false, reason, String::new());
        let rows = match self {
            Self::Invalid(reason, message) => [
                (READY, false, *reason, "the spec cannot be used".to_string()),
                (INVALID, true, *reason, message.clone()),
                no(ERROR, "NotScheduled"),
                no(UNSCHEDULABLE, "NotScheduled"),
            ],
            Self::Valid { is_suspended, has_next, error, unschedulable } => {
                let ready = match (is_suspended, has_next) {
                    (true, _) => (READY, true, "Suspended", "nothing is created".to_string()),
                    (false, true) => (READY, true, "Scheduled", String::new()),
                    (false, false) => {
                        (READY, true, "NoPeriod", "the schedule has no period to come".to_string())
                    }
                };
                let error = match error {
                    Some((reason, why)) => (ERROR, true, *reason, why.clone()),
                    None => no(ERROR, "Working"),
                };
                let unschedulable = match unschedulable {
                    Some(why) => (UNSCHEDULABLE, true, "NoAllowedTime", why.clone()),
                    None if !is_suspended && !has_next => (
                        UNSCHEDULABLE,
                        true,
                        "NoPeriod",
                        "the schedule has no period to come".to_string(),
                    ),
                    None => no(UNSCHEDULABLE, "Scheduled"),
                };
                [ready, no(INVALID, "Valid"), error, unschedulable]
            }
        };
        rows.into_iter()
            .map(|(type_, is_true, reason, message)| {
                let status = if is_true { "True" } else { "False" };
                let known = old.iter().find(|known| known.type_ == type_ && known.status == status);
                Condition {
                    type_: type_.into(),
                    status: status.into(),
                    reason: reason.into(),
                    message: cut(&message, LONGEST).into(),
                    observed_generation: Some(generation),
                    last_transition_time: known
                        .map_or_else(|| time(now), |known| known.last_transition_time.clone()),
                }
            })
            .collect()
    }
}

/// Whether a period of this job has no allowed time.
fn is_hopeless(job: &Job, period: PeriodId) -> bool {
    job.prev_period(period.nominal()) == Some(period) && job.decide(period).choice().is_err()
}

fn time(at: UtcInstant) -> Time {
    Time(Timestamp::from_second(at.unix_seconds()).unwrap_or(Timestamp::UNIX_EPOCH))
}
