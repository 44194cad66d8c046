//! A job: a checked definition, ready to be decided (SPEC, Inputs).

use crate::calendar::Cron;
use crate::constraint::Constraints;
use crate::distribution::Distribution;
use crate::error::{Code, DefinitionError, DefinitionErrors, Span, quoted};
use crate::identity::{Identity, PeriodId};
use crate::policy::PolicySpec;
use crate::seed::SeedStrategy;
use crate::syntax::{Draft, Schedule, Spec};
use crate::time::zone::UnknownZone;
use crate::time::{UtcSecond, Zone, Zones};
use crate::window::WindowSpec;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::ToString;

/// A job definition. It can only be made from a valid schedule, so every
/// question about it has an answer.
///
/// ```
/// use kron_core::{Job, Zones};
/// let mut zones = Zones::bundled();
/// let job = Job::parse("prod/db-backup", "0 0 * * * @win(after,1h)", &mut zones)?;
/// let period = job.next_period("2026-02-28T12:00:00Z".parse()?).unwrap();
/// assert_eq!(period.to_string(), "2026-03-01T00:00:00Z");
/// let decision = job.decide(period);
/// assert_eq!(decision.chosen().unwrap().to_string(), "2026-03-01T00:58:29Z");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    identity: Identity,
    cron: Cron,
    zone: Zone,
    window: WindowSpec,
    distribution: Distribution,
    seed_strategy: SeedStrategy,
    salt: Box<str>,
    policy: PolicySpec,
    constraints: Constraints,
}

impl Job {
    /// A job from its identity and its schedule.
    ///
    /// # Errors
    /// With everything that is wrong, in the order of the text.
    pub fn parse(
        identity: &str,
        schedule: &str,
        zones: &mut Zones,
    ) -> Result<Self, DefinitionErrors> {
        let mut draft = Draft::parse(schedule);
        let identity = Identity::new(identity).map_err(|error| {
            let span = Span::default();
            draft.errors.push(
                DefinitionError::configuration(Code::InvalidIdentity, span, error.to_string())
                    .found(identity.chars().take(80).collect::<alloc::string::String>())
                    .expect("1 to 8192 bytes without control characters"),
            );
        });
        let zone = match &draft.zone {
            None => Some(zones.utc()),
            Some(name) => zones
                .get(name.value)
                .map_err(|error| draft.errors.push(unknown_zone(name.value, name.span, error)))
                .ok(),
        };
        match (draft.spec.take(), zone, identity) {
            (Some(spec), Some(zone), Ok(identity)) if draft.errors.is_empty() => {
                Ok(Self::assemble(identity, spec, zone))
            }
            _ => Err(draft.into_errors()),
        }
    }

    /// A job from a schedule that has been read already.
    ///
    /// # Errors
    /// When the schedule names a zone that the database does not have.
    pub fn new(
        identity: Identity,
        spec: Spec,
        zones: &mut Zones,
    ) -> Result<Self, DefinitionErrors> {
        let zone = match spec.zone() {
            None => zones.utc(),
            Some(name) => zones.get(name.value).map_err(|error| {
                DefinitionErrors::one(unknown_zone(name.value, name.span, error))
            })?,
        };
        Ok(Self::assemble(identity, spec, zone))
    }

    fn assemble(identity: Identity, spec: Spec, zone: Zone) -> Self {
        let cron = spec.cron().value;
        let (window, distribution) = (*spec.window(), *spec.distribution());
        let (seed_strategy, policy) = (spec.seed_strategy(), *spec.policy());
        let (salt, constraints) = spec.into_salt_and_constraints();
        Self {
            identity,
            cron,
            zone,
            window,
            distribution,
            seed_strategy,
            salt,
            policy,
            constraints,
        }
    }

    /// Puts the definition under another identity, and so gives it other seeds.
    pub fn set_identity(&mut self, identity: Identity) {
        self.identity = identity;
    }

    /// Who this is.
    #[must_use]
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The cron fields.
    #[must_use]
    pub const fn cron(&self) -> &Cron {
        &self.cron
    }

    /// The time zone of schedule and constraints.
    #[must_use]
    pub const fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Mode and duration of the windows.
    #[must_use]
    pub const fn window(&self) -> &WindowSpec {
        &self.window
    }

    /// The distribution, complete with its parameters.
    #[must_use]
    pub const fn distribution(&self) -> &Distribution {
        &self.distribution
    }

    /// What makes periods share their draws.
    #[must_use]
    pub const fn seed_strategy(&self) -> SeedStrategy {
        self.seed_strategy
    }

    /// The salt, possibly empty.
    #[must_use]
    pub const fn salt(&self) -> &str {
        &self.salt
    }

    /// Concurrency, deadline and suspension.
    #[must_use]
    pub const fn policy(&self) -> &PolicySpec {
        &self.policy
    }

    /// What `only` and `avoid` say.
    #[must_use]
    pub const fn constraints(&self) -> &Constraints {
        &self.constraints
    }

    /// The canonical text of the schedule; parsing it gives an equal job.
    #[must_use]
    pub const fn schedule(&self) -> Schedule<'_> {
        Schedule::whole(self)
    }

    /// The canonical text of what decides *when* a job runs: the schedule
    /// without its policy.
    #[must_use]
    pub const fn timing(&self) -> Schedule<'_> {
        Schedule::timing(self)
    }

    /// The first period whose nominal time is later than `after`.
    #[must_use]
    pub fn next_period(&self, after: UtcSecond) -> Option<PeriodId> {
        self.cron.next_nominal(&self.zone, after).map(PeriodId::from_calendar)
    }

    /// The last period whose nominal time is at or before `at`.
    #[must_use]
    pub fn prev_period(&self, at: UtcSecond) -> Option<PeriodId> {
        self.cron.prev_nominal(&self.zone, at).map(PeriodId::from_calendar)
    }
}

fn unknown_zone(name: &str, span: Span, error: UnknownZone) -> DefinitionError {
    let message = format!("{} is {error}", quoted(name));
    let offset = ["+", "-", "UTC+", "UTC-", "GMT+", "GMT-"];
    let hint = match name {
        "Local" | "local" | "localtime" => {
            Some("name the zone; the host's own is never used".into())
        }
        name if offset.iter().any(|start| name.starts_with(start)) => {
            Some("offsets have no rules for summer time; name a place".into())
        }
        name if is_abbreviation(name) => Some(match place_of(name) {
            Some(place) => format!("abbreviations are ambiguous; perhaps `{place}` is meant"),
            None => "abbreviations are ambiguous; name a place".into(),
        }),
        _ => error.suggestion.map(|name| format!("did you mean `{name}`?")),
    };
    DefinitionError::configuration(Code::UnknownZone, span, message)
        .found(name.chars().take(80).collect::<alloc::string::String>())
        .expect("an IANA name such as `Europe/Paris`")
        .hint_if(hint)
}

/// Letters such as `PST`, which are nobody's name for a zone.
fn is_abbreviation(name: &str) -> bool {
    (3..=5).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_uppercase())
}

/// A place that is usually meant by an abbreviation.
fn place_of(abbreviation: &str) -> Option<&'static str> {
    Some(match abbreviation {
        "PST" | "PDT" => "America/Los_Angeles",
        "MDT" => "America/Denver",
        "CST" | "CDT" => "America/Chicago",
        "EDT" => "America/New_York",
        "BST" => "Europe/London",
        "CEST" => "Europe/Berlin",
        "EEST" => "Europe/Helsinki",
        "MSK" => "Europe/Moscow",
        "IST" => "Asia/Kolkata",
        "JST" => "Asia/Tokyo",
        "AEST" | "AEDT" => "Australia/Sydney",
        _ => return None,
    })
}
