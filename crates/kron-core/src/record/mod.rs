//! A decision as data: logged now, recomputed later (SPEC, Observability).
//!
//! A [`Record`] holds the inputs of a decision (identity, schedule, nominal
//! time, algorithm, tz database) next to everything that followed from them.
//! [`Record::verify`] decides again from the inputs alone and compares.

mod log;

pub use log::{EVENT, IncompleteLine};

use crate::bounds::SAMPLING_BUDGET;
use crate::constraint::Clauses;
use crate::decision::Decision;
use crate::error::DefinitionErrors;
use crate::identity::InvalidPeriod;
use crate::job::Job;
use crate::time::Zones;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};

/// The name of the frozen algorithms of this library: seed hash, generator,
/// distributions and rounding. It changes when a decision would.
pub const ALGORITHM: &str = "kron/1";

/// Everything about one decision, self-contained. The names of its fields, in
/// camel case, are those of the JSON that Kron writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// [`ALGORITHM`] of the library that decided.
    pub algorithm: String,
    /// Release of the tz database used.
    pub tzdb: String,
    /// Identity of the job.
    pub identity: String,
    /// Canonical schedule, modifiers included.
    pub schedule: String,
    /// The period.
    pub period_id: String,
    /// Its nominal time; the same instant.
    pub nominal_time: String,
    /// First instant of the window.
    pub window_start: String,
    /// Last instant of the window.
    pub window_end: String,
    /// The chosen time, or nothing if unschedulable.
    pub chosen_time: Option<String>,
    /// IANA name of the zone.
    pub timezone: String,
    /// `after` or `around`.
    pub mode: String,
    /// The distribution.
    pub distribution: DistributionRecord,
    /// `stable`, `daily` or `weekly`.
    pub seed_strategy: String,
    /// The salt, possibly empty.
    pub salt: String,
    /// The period as the seed sees it.
    pub period_key: String,
    /// The seed.
    pub seed_hash: String,
    /// What restricted the choice.
    pub constraints: ConstraintsRecord,
    /// Draws made.
    pub attempts: u16,
    /// Draws allowed.
    pub max_attempts: u16,
    /// Whether there is no chosen time.
    pub unschedulable: bool,
    /// Why not.
    pub reason: Option<String>,
}

/// A distribution's name and all its parameters, defaults included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DistributionRecord {
    /// Name, as in the syntax.
    pub name: String,
    /// Parameters, written as in the syntax.
    pub params: BTreeMap<String, String>,
}

/// Clauses as text, canonical; nothing where the modifier is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConstraintsRecord {
    /// Clauses of `@only`.
    pub only: Option<String>,
    /// Clauses of `@avoid`.
    pub avoid: Option<String>,
}

impl Record {
    /// The record of a decision; `zones` is where its job got its zone.
    #[must_use]
    pub fn of(decision: &Decision<'_>, zones: &Zones) -> Self {
        let job = decision.job();
        let mut params = BTreeMap::new();
        job.distribution().for_each_param(|key, value| {
            params.insert(key.to_string(), value.to_string());
        });
        let clauses = |clauses: &Clauses| (!clauses.is_empty()).then(|| clauses.to_string());
        Self {
            algorithm: ALGORITHM.into(),
            tzdb: zones.version().into(),
            identity: job.identity().to_string(),
            schedule: job.schedule().to_string(),
            period_id: decision.period().to_string(),
            nominal_time: decision.period().nominal().to_string(),
            window_start: decision.window().start().to_string(),
            window_end: decision.window().end().to_string(),
            chosen_time: decision.chosen().map(|chosen| chosen.to_string()),
            timezone: job.zone().name().into(),
            mode: job.window().mode.as_str().into(),
            distribution: DistributionRecord { name: job.distribution().name().into(), params },
            seed_strategy: job.seed_strategy().as_str().into(),
            salt: job.salt().into(),
            period_key: decision.period_key().to_string(),
            seed_hash: decision.seed_hash().to_string(),
            constraints: ConstraintsRecord {
                only: clauses(job.constraints().only()),
                avoid: clauses(job.constraints().avoid()),
            },
            attempts: decision.attempts(),
            max_attempts: SAMPLING_BUDGET,
            unschedulable: decision.chosen().is_none(),
            reason: decision.choice().err().map(|why| why.to_string()),
        }
    }

    /// Decides again from the recorded inputs and compares everything.
    ///
    /// ```
    /// use kron_core::{Job, Record, Zones};
    /// let mut zones = Zones::bundled();
    /// let job = Job::parse("a", "0 10 * * * @win(around,45m)", &mut zones)?;
    /// let decision = job.decide("2026-03-02T10:00:00Z".parse()?);
    /// let mut record = Record::of(&decision, &zones);
    /// assert_eq!(record.verify(&mut zones)?, []);
    /// record.chosen_time = Some("2026-03-02T10:00:00Z".into());
    /// assert_eq!(record.verify(&mut zones)?[0].field, "chosenTime");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the inputs cannot be read, or were made by another algorithm.
    pub fn verify(&self, zones: &mut Zones) -> Result<Vec<Difference>, Unverifiable> {
        if self.algorithm != ALGORITHM {
            return Err(Unverifiable::Algorithm(self.algorithm.clone()));
        }
        let job =
            Job::parse(&self.identity, &self.schedule, zones).map_err(Unverifiable::Definition)?;
        let period = self.period_id.parse().map_err(Unverifiable::Period)?;
        let again = Self::of(&job.decide(period), zones);
        let mut differences: Vec<Difference> = self
            .fields()
            .into_iter()
            .zip(again.fields())
            .filter(|(recorded, recomputed)| recorded != recomputed)
            .map(|((field, recorded), (_, recomputed))| Difference { field, recorded, recomputed })
            .collect();
        // Another tz database is no difference by itself, but explains others.
        if !differences.is_empty() && self.tzdb != again.tzdb {
            differences.push(Difference {
                field: "tzdb",
                recorded: self.tzdb.clone(),
                recomputed: again.tzdb,
            });
        }
        Ok(differences)
    }

    /// What is compared, by name.
    fn fields(&self) -> [(&'static str, String); 18] {
        let option = |value: &Option<String>| value.clone().unwrap_or_default();
        [
            ("schedule", self.schedule.clone()),
            ("periodId", self.period_id.clone()),
            ("nominalTime", self.nominal_time.clone()),
            ("windowStart", self.window_start.clone()),
            ("windowEnd", self.window_end.clone()),
            ("chosenTime", option(&self.chosen_time)),
            ("timezone", self.timezone.clone()),
            ("mode", self.mode.clone()),
            ("distribution", format!("{} {:?}", self.distribution.name, self.distribution.params)),
            ("seedStrategy", self.seed_strategy.clone()),
            ("salt", self.salt.clone()),
            ("periodKey", self.period_key.clone()),
            ("seedHash", self.seed_hash.clone()),
            (
                "constraints",
                format!("{};{}", option(&self.constraints.only), option(&self.constraints.avoid)),
            ),
            ("attempts", self.attempts.to_string()),
            ("maxAttempts", self.max_attempts.to_string()),
            ("unschedulable", self.unschedulable.to_string()),
            ("reason", option(&self.reason)),
        ]
    }
}

/// A field that came out otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its name, as in JSON.
    pub field: &'static str,
    /// What the record says.
    pub recorded: String,
    /// What follows from the record's inputs.
    pub recomputed: String,
}

/// Why a record cannot be recomputed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unverifiable {
    /// Made by algorithms that this library does not have.
    Algorithm(String),
    /// Its identity or schedule does not parse.
    Definition(DefinitionErrors),
    /// Its period does not parse.
    Period(InvalidPeriod),
}

impl fmt::Display for Unverifiable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Algorithm(name) => write!(f, "algorithm `{name}` is not `{ALGORITHM}`"),
            Self::Definition(errors) => write!(f, "definition does not parse: {errors}"),
            Self::Period(error) => write!(f, "period does not parse: {error}"),
        }
    }
}

impl core::error::Error for Unverifiable {}
