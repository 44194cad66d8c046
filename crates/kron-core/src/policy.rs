//! The fate of a period: one pure function (SPEC, Handling and Outcomes).
//!
//! [`judge`] takes a decision and what has been seen, and gives a [`Verdict`].
//! Daemon, operator, command line and simulator all ask it; none of them has a
//! rule of its own. Its order is: already handled, suspended, unschedulable,
//! wait for the chosen time, deadline, concurrency, start.
//!
//! Only this module can make a [`StartPermit`], and only a [`Closure`] made here can
//! close a period in a [`Ledger`](crate::Ledger).

use crate::decision::{Decision, Unschedulable};
use crate::identity::PeriodId;
use crate::ledger::Ledger;
use crate::mutant::{self, Mutant};
use crate::time::duration::Pretty;
use crate::time::{UtcInstant, UtcSecond};
use alloc::boxed::Box;
use core::fmt;
use core::time::Duration;

/// What may happen at a job's chosen time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PolicySpec {
    /// When an execution of the same job is still active.
    pub concurrency: Concurrency,
    /// Accepted lateness.
    pub deadline: Duration,
    /// Whether nothing happens at all for the time being.
    pub suspend: bool,
}

/// What to do while an execution of the same job is active.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Concurrency {
    /// Start another beside it.
    Allow,
    /// Skip the new one.
    #[default]
    Forbid,
    /// End it first.
    Replace,
}

impl Concurrency {
    pub(crate) const ALL: [Self; 3] = [Self::Allow, Self::Forbid, Self::Replace];

    /// The word of the syntax.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Forbid => "forbid",
            Self::Replace => "replace",
        }
    }
}

/// How a period ends. There is no fifth way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// An execution was started.
    Executed,
    /// Policy withheld it.
    Skipped,
    /// The deadline passed first.
    Missed,
    /// No allowed time was found.
    Unschedulable,
}

impl Outcome {
    /// All four.
    pub const ALL: [Self; 4] = [Self::Executed, Self::Skipped, Self::Missed, Self::Unschedulable];

    /// The word used in state files, logs and JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Executed => "executed",
            Self::Skipped => "skipped",
            Self::Missed => "missed",
            Self::Unschedulable => "unschedulable",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Everything a verdict depends on besides the decision.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// Which periods are closed.
    pub ledger: &'a Ledger,
    /// Periods of this job with an execution that is still active.
    pub active: &'a [PeriodId],
    /// Why the last attempt to start this period failed, if one did.
    pub obstacle: Option<&'a str>,
    /// The current time; sampled once for everything due at one wake-up.
    pub now: UtcInstant,
}

impl Situation<'_> {
    /// The same for a period that was in time at `judged`, and has waited since then until
    /// what it replaces is gone. That does not make it late; but with something else in its
    /// way, or the next one waiting behind it, it has to be in time still.
    #[must_use]
    pub fn having_waited(self, judged: UtcInstant, is_followed: bool) -> Self {
        let is_excused = self.obstacle.is_none() && !is_followed;
        let now = if is_excused { judged } else { self.now };
        Self { now, obstacle: self.obstacle.or(Some(UNENDED)), ..self }
    }
}

/// What is to be done with a period now.
#[derive(Debug)]
#[must_use]
pub enum Verdict<'j> {
    /// Nothing: it has its outcome.
    Handled,
    /// Nothing, and nothing is recorded.
    Suspended,
    /// Nothing before this instant.
    WaitUntil(UtcInstant),
    /// Record its outcome; nothing starts.
    Close(Closure),
    /// End the active executions, then ask the [`Replacement`] for the permit.
    Replace(Replacement<'j>),
    /// Start it.
    Start(StartPermit<'j>),
}

/// The end of a period, with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closure {
    period: PeriodId,
    chosen: Option<UtcSecond>,
    ending: Ending,
}

/// An outcome and what it is due to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// An execution was started.
    Executed,
    /// This many executions were active, and the policy is `forbid`.
    Skipped {
        /// Number of active executions.
        active: usize,
    },
    /// The deadline had passed.
    Missed {
        /// Lateness when judged.
        late: Duration,
        /// The deadline.
        deadline: Duration,
        /// What had kept it from starting in time, if that is known.
        obstacle: Option<Box<str>>,
    },
    /// No allowed time.
    Unschedulable(Unschedulable),
}

impl Closure {
    /// The end of a period of which an execution was found that nobody has recorded:
    /// it was started, whatever would be judged now. Nothing is started by it.
    #[must_use]
    pub const fn found(period: PeriodId, chosen: Option<UtcSecond>) -> Self {
        Self { period, chosen, ending: Ending::Executed }
    }

    /// The period that ends.
    #[must_use]
    pub const fn period(&self) -> PeriodId {
        self.period
    }

    /// Its chosen time, if there was one.
    #[must_use]
    pub const fn chosen(&self) -> Option<UtcSecond> {
        self.chosen
    }

    /// How it ends.
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        match self.ending {
            Ending::Executed => Outcome::Executed,
            Ending::Skipped { .. } => Outcome::Skipped,
            Ending::Missed { .. } => Outcome::Missed,
            Ending::Unschedulable(_) => Outcome::Unschedulable,
        }
    }

    /// The outcome with its particulars.
    #[must_use]
    pub const fn ending(&self) -> &Ending {
        &self.ending
    }

    /// Why nothing was executed; `None` if something was.
    #[must_use]
    pub fn reason(&self) -> Option<&dyn fmt::Display> {
        match &self.ending {
            Ending::Executed => None,
            ending => Some(ending),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Executed => f.write_str("started"),
            Self::Skipped { active: 1 } => {
                f.write_str("an execution is still active and concurrency is forbid")
            }
            Self::Skipped { active } => {
                write!(f, "{active} executions are still active and concurrency is forbid")
            }
            Self::Missed { late, deadline, obstacle } => {
                // To the millisecond, upwards: late it was.
                let millis = late.as_nanos().div_ceil(1_000_000);
                let late = Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX));
                let (late, deadline) = (Pretty(late), Pretty(*deadline));
                write!(f, "{late} after the chosen time, deadline {deadline}")?;
                match obstacle {
                    Some(obstacle) => write!(f, "; last attempt: {obstacle}"),
                    None => Ok(()),
                }
            }
            Self::Unschedulable(why) => why.fmt(f),
        }
    }
}

/// The right to start one execution of one period. Whoever holds it has been
/// through [`judge`]; it cannot be copied, and nothing else can be started.
///
/// ```compile_fail,E0451
/// use kron_core::{Decision, StartPermit, UtcSecond};
/// // Its fields are private: a permit cannot be made up.
/// fn forge(decision: Decision<'_>, chosen: UtcSecond) -> StartPermit<'_> {
///     StartPermit { decision, chosen }
/// }
/// ```
#[derive(Debug)]
#[must_use]
pub struct StartPermit<'j> {
    decision: Decision<'j>,
    chosen: UtcSecond,
}

impl<'j> StartPermit<'j> {
    /// What is to be started.
    #[must_use]
    pub const fn decision(&self) -> &Decision<'j> {
        &self.decision
    }

    /// When it was to be started.
    #[must_use]
    pub const fn chosen(&self) -> UtcSecond {
        self.chosen
    }

    /// The period's end as `executed`, to be made durable before anything runs.
    #[must_use]
    pub fn closure(&self) -> Closure {
        Closure {
            period: self.decision.period(),
            chosen: Some(self.chosen),
            ending: Ending::Executed,
        }
    }
}

/// A start that must wait until the executions it replaces are gone. The
/// deadline was met when it was judged; what counts after that is said by
/// [`Situation::having_waited`].
#[derive(Debug)]
#[must_use]
pub struct Replacement<'j> {
    permit: StartPermit<'j>,
}

/// What was in the way of a replacement that has waited for too long.
const UNENDED: &str = "what it was to replace had not ended";

impl<'j> Replacement<'j> {
    /// What is to be started.
    #[must_use]
    pub const fn decision(&self) -> &Decision<'j> {
        &self.permit.decision
    }

    /// The permit, once no execution of the job is active any more.
    ///
    /// # Errors
    /// With itself, while `active` is not empty.
    #[allow(clippy::result_large_err)]
    pub fn complete(self, active: &[PeriodId]) -> Result<StartPermit<'j>, Self> {
        if active.is_empty() { Ok(self.permit) } else { Err(self) }
    }
}

/// Judges a period.
pub fn judge<'j>(decision: &Decision<'j>, situation: Situation<'_>) -> Verdict<'j> {
    let Situation { ledger, active, obstacle, now } = situation;
    let policy = decision.job().policy();
    let close = |ending| {
        Verdict::Close(Closure { period: decision.period(), chosen: decision.chosen(), ending })
    };

    if ledger.is_closed(decision) || active.contains(&decision.period()) {
        return Verdict::Handled;
    }
    let misses = mutant::is(Mutant::SuspendMisses)
        && decision.chosen().is_some_and(|chosen| now >= policy.expiry(chosen));
    if policy.suspend && !mutant::is(Mutant::SuspendIgnored) && !misses {
        return Verdict::Suspended;
    }
    if now < decision.due() {
        return Verdict::WaitUntil(decision.due());
    }
    let chosen = match decision.choice() {
        Ok(chosen) => chosen,
        Err(why) => return close(Ending::Unschedulable(why)),
    };
    let replaces = policy.concurrency == Concurrency::Replace;
    let retried = obstacle.is_some()
        && (mutant::is(Mutant::RetryForever) || mutant::is(Mutant::ReplaceLate) && replaces);
    let expiry = policy.expiry(chosen);
    let included = mutant::is(Mutant::DeadlineLate) && now == expiry;
    if now >= expiry && !included && !retried {
        let late = now.since(chosen.instant()).unwrap_or_default();
        let obstacle = obstacle.map(Box::from);
        return close(Ending::Missed { late, deadline: policy.deadline, obstacle });
    }
    if mutant::is(Mutant::PutOff) && policy.deadline.is_zero() {
        return Verdict::WaitUntil(expiry);
    }
    let permit = StartPermit { decision: *decision, chosen };
    match policy.concurrency {
        Concurrency::Forbid if !active.is_empty() && !mutant::is(Mutant::ForbidIgnored) => {
            close(Ending::Skipped { active: active.len() })
        }
        Concurrency::Replace if !active.is_empty() && !mutant::is(Mutant::ReplaceAtOnce) => {
            Verdict::Replace(Replacement { permit })
        }
        _ => Verdict::Start(permit),
    }
}

impl PolicySpec {
    /// The first instant at which a period chosen at `chosen` is past its
    /// deadline. Without a deadline lateness is judged in whole seconds, so that
    /// a wake-up a few milliseconds after the chosen second is on time.
    #[must_use]
    pub fn expiry(&self, chosen: UtcSecond) -> UtcInstant {
        let accepted = if self.deadline.is_zero() {
            Duration::from_secs(1)
        } else {
            self.deadline.saturating_add(Duration::from_nanos(1))
        };
        chosen.instant().saturating_add(accepted)
    }
}
