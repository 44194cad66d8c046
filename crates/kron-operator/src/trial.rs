//! Whether the template of a `KronJob` can be used: what the API server said when it was asked
//! by a dry run, and when to ask it again. Pure.
//!
//! Only what the API server finds wrong with the Job itself makes a template invalid. What a
//! policy, a webhook or a quota denies now it may allow later.

use crate::api::{KronJobStatus, condition};
use crate::cluster::Fail;
use crate::conditions::INVALID_TEMPLATE;
use kron_core::UtcInstant;
use std::time::Duration;

/// First and longest pause before it is asked again.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));

/// What is known of the template of a generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Which generation.
    pub generation: i64,
    /// What was said.
    pub tried: Tried,
    /// How often in a row nothing certain was.
    pub attempts: u32,
    /// When to ask again.
    pub again_at: Option<UtcInstant>,
}

/// What was said of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tried {
    /// Nothing against it.
    Fine,
    /// It can never be used.
    Invalid(String),
    /// It cannot be used now.
    Denied(String),
}

impl Trial {
    /// By an answer.
    #[must_use]
    pub fn new(
        generation: i64,
        before: Option<&Self>,
        answer: Result<(), Fail>,
        now: UtcInstant,
    ) -> Self {
        let before = before.filter(|before| before.generation == generation);
        let attempts = before.map_or(0, |before| before.attempts).saturating_add(1);
        let certain = |tried| Self { generation, tried, attempts: 0, again_at: None };
        let tried = match answer {
            // That the name is taken is looked at last.
            Ok(()) | Err(Fail::Exists) => return certain(Tried::Fine),
            Err(Fail::Refused(why)) => {
                return certain(Tried::Invalid(format!("spec.jobTemplate: {why}")));
            }
            // It may have been nothing.
            Err(Fail::Silent(_)) if attempts == 1 => Tried::Fine,
            Err(fail) => Tried::Denied(format!("a Job could not be created now: {fail}")),
        };
        let tried = match before.map(|before| &before.tried) {
            // Until somebody says otherwise.
            Some(known @ Tried::Invalid(_)) if tried == Tried::Fine => known.clone(),
            _ => tried,
        };
        let doublings = 1_u32.checked_shl(attempts - 1).unwrap_or(u32::MAX);
        let pause = PAUSE.0.saturating_mul(doublings).min(PAUSE.1);
        Self { generation, tried, attempts, again_at: Some(now.saturating_add(pause)) }
    }

    /// What an earlier operator found out, so that a new one does not ask about all of them
    /// again: only about those that were not in order.
    #[must_use]
    pub fn before(generation: i64, status: &KronJobStatus) -> Option<Self> {
        if status.observed_generation != Some(generation) {
            return None;
        }
        let find = |type_: &str| status.conditions.iter().find(|found| found.type_ == type_);
        let invalid = find(condition::INVALID)?;
        let is_refused = invalid.status == "True" && invalid.reason == INVALID_TEMPLATE;
        let is_in_trouble = find(condition::ERROR).is_some_and(|found| found.status == "True");
        let (tried, again_at) = match (is_refused, is_in_trouble) {
            (true, _) => (Tried::Invalid(invalid.message.clone()), Some(UtcInstant::MIN)),
            (false, true) => return None,
            (false, false) => (Tried::Fine, None),
        };
        Some(Self { generation, tried, attempts: 0, again_at })
    }

    /// A Job was created: that is the best answer.
    pub fn passed(&mut self) {
        (self.tried, self.attempts, self.again_at) = (Tried::Fine, 0, None);
    }

    /// Whether it is time to ask again.
    #[must_use]
    pub fn is_due(&self, now: UtcInstant) -> bool {
        self.again_at.is_some_and(|at| at <= now)
    }

    /// Whether it can never be used.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        matches!(self.tried, Tried::Invalid(_))
    }
}
