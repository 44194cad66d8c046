//! A record as the pairs of a log line.
//!
//! The event is called [`EVENT`]; its keys are those of the JSON in snake case,
//! flat. What a record does not have is left out.

use super::{ConstraintsRecord, DistributionRecord, Record};
use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// The value of the key `event` in a line that carries a record.
pub const EVENT: &str = "decision";

/// Why a log line has no record, although it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncompleteLine {
    /// A key is missing.
    Missing(&'static str),
    /// A key's value is not what it should be.
    Invalid(&'static str),
}

impl fmt::Display for IncompleteLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(key) => write!(f, "the line has no `{key}`"),
            Self::Invalid(key) => write!(f, "the line's `{key}` is malformed"),
        }
    }
}

impl core::error::Error for IncompleteLine {}

impl Record {
    /// The pairs of a log line, in a fixed order.
    #[must_use]
    pub fn log_fields(&self) -> Vec<(&'static str, Cow<'static, str>)> {
        self.clone().into_log_fields()
    }

    /// The same, of a record that is needed for nothing else.
    #[must_use]
    pub fn into_log_fields(self) -> Vec<(&'static str, Cow<'static, str>)> {
        let mut fields: Vec<(&'static str, Cow<'static, str>)> = Vec::with_capacity(26);
        let mut text = |key, value: String| fields.push((key, Cow::Owned(value)));
        text("identity", self.identity);
        text("period_id", self.period_id);
        if let Some(chosen) = self.chosen_time {
            text("chosen_time", chosen);
        }
        text("nominal_time", self.nominal_time);
        text("window_start", self.window_start);
        text("window_end", self.window_end);
        text("schedule", self.schedule);
        text("timezone", self.timezone);
        text("mode", self.mode);
        text("distribution", self.distribution.name);
        if !self.distribution.params.is_empty() {
            let mut params = String::new();
            for (key, value) in &self.distribution.params {
                let comma = if params.is_empty() { "" } else { "," };
                params.extend([comma, key, "=", value]);
            }
            text("params", params);
        }
        text("seed_strategy", self.seed_strategy);
        text("salt", self.salt);
        text("period_key", self.period_key);
        text("seed_hash", self.seed_hash);
        let ConstraintsRecord { only, avoid } = self.constraints;
        for (key, clauses) in [("only", only), ("avoid", avoid)] {
            if let Some(clauses) = clauses {
                text(key, clauses);
            }
        }
        text("attempts", self.attempts.to_string());
        text("max_attempts", self.max_attempts.to_string());
        text("unschedulable", self.unschedulable.to_string());
        if let Some(reason) = self.reason {
            text("reason", reason);
        }
        text("algorithm", self.algorithm);
        text("tzdb", self.tzdb);
        fields
    }

    /// A record from the pairs of a log line.
    ///
    /// # Errors
    /// When a pair is missing or malformed.
    pub fn from_log_fields<'a>(
        get: impl Fn(&str) -> Option<Cow<'a, str>>,
    ) -> Result<Self, IncompleteLine> {
        let optional = |key: &'static str| get(key).map(Cow::into_owned);
        let text = |key: &'static str| optional(key).ok_or(IncompleteLine::Missing(key));
        let number =
            |key: &'static str| text(key)?.parse().map_err(|_| IncompleteLine::Invalid(key));
        let mut params = BTreeMap::new();
        for pair in optional("params").unwrap_or_default().split(',').filter(|p| !p.is_empty()) {
            let (key, value) = pair.split_once('=').ok_or(IncompleteLine::Invalid("params"))?;
            params.insert(key.into(), value.into());
        }
        Ok(Self {
            algorithm: text("algorithm")?,
            tzdb: text("tzdb")?,
            identity: text("identity")?,
            schedule: text("schedule")?,
            period_id: text("period_id")?,
            nominal_time: text("nominal_time")?,
            window_start: text("window_start")?,
            window_end: text("window_end")?,
            chosen_time: optional("chosen_time"),
            timezone: text("timezone")?,
            mode: text("mode")?,
            distribution: DistributionRecord { name: text("distribution")?, params },
            seed_strategy: text("seed_strategy")?,
            salt: text("salt")?,
            period_key: text("period_key")?,
            seed_hash: text("seed_hash")?,
            constraints: ConstraintsRecord { only: optional("only"), avoid: optional("avoid") },
            attempts: number("attempts")?,
            max_attempts: number("max_attempts")?,
            unschedulable: match &*text("unschedulable")? {
                "true" => true,
                "false" => false,
                _ => return Err(IncompleteLine::Invalid("unschedulable")),
            },
            reason: optional("reason"),
        })
    }
}
