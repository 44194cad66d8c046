//! Which periods of a job are closed (SPEC, Idempotency Semantics).
//!
//! Three marks say so: every period up to `handled_through`, each period in
//! `handled_ahead`, and every period due before `not_before`. A closed period
//! stays closed: no method takes a mark back, whatever the clock or the
//! definition does. An adapter keeps the marks durable; the rules are here.

use crate::agenda::Superseded;
use crate::bounds::HANDLED_AHEAD;
use crate::decision::Decision;
use crate::identity::PeriodId;
use crate::job::Job;
use crate::mutant::{self, Mutant};
use crate::policy::Closure;
use crate::seed::{InvalidSeedHash, SeedHash};
use crate::time::{UtcInstant, UtcSecond};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;
use core::time::Duration;
use sha2::{Digest, Sha256};

/// The marks of one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    handled_through: Option<PeriodId>,
    /// Sorted, and all later than `handled_through`.
    handled_ahead: Vec<PeriodId>,
    not_before: UtcInstant,
    definition: Option<DefinitionHash>,
}

/// What is known of a job besides its marks, and is kept apart from them: when its
/// definition was taken up, and how far runs until then could reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Nothing due before this may run: here it was seen first, edited or reset.
    pub not_before: UtcInstant,
    /// The definition in force since.
    pub definition: DefinitionHash,
    /// How long before its nominal time that definition may run a period, in whole seconds.
    pub lead: Duration,
    /// The last period that was closed by then, where it lies later: a definition from
    /// before ran it ahead of its nominal time.
    pub through: Option<PeriodId>,
}

impl Seen {
    /// The same once it is noticed, at `now`, that the job is not configured any more: nothing
    /// runs ahead from here on, but until now it may have.
    #[must_use]
    pub fn departed(self, now: UtcInstant) -> Self {
        let ahead = minute(now.max(self.not_before).saturating_add(self.lead));
        Self { lead: Duration::ZERO, through: self.through.max(ahead), ..self }
    }
}

/// A fingerprint of what decides when a job runs: its schedule and modifiers,
/// except the policy. When it changes, so may every decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DefinitionHash(SeedHash);

impl DefinitionHash {
    /// That of no job: whatever comes after it is a change.
    pub const UNKNOWN: Self = Self(SeedHash::from_digest([0; 32]));

    /// The fingerprint of a job.
    #[must_use]
    pub fn of(job: &Job) -> Self {
        struct Hasher(Sha256);
        impl fmt::Write for Hasher {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                self.0.update(text.as_bytes());
                Ok(())
            }
        }
        let mut hasher = Hasher(Sha256::new());
        // Writing to a hash cannot fail.
        let _ = fmt::Write::write_fmt(&mut hasher, format_args!("{}", job.timing()));
        Self(SeedHash::from_digest(hasher.0.finalize().into()))
    }
}

impl fmt::Display for DefinitionHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for DefinitionHash {
    type Err = InvalidSeedHash;

    fn from_str(text: &str) -> Result<Self, InvalidSeedHash> {
        text.parse().map(Self)
    }
}

impl Ledger {
    /// The ledger of a job never seen before: it does not run for the past.
    #[must_use]
    pub fn first_sight(job: &Job, now: UtcInstant) -> Self {
        Self {
            handled_through: None,
            handled_ahead: Vec::new(),
            not_before: if mutant::is(Mutant::NewFires) { UtcInstant::MIN } else { now },
            definition: Some(DefinitionHash::of(job)),
        }
    }

    /// The ledger of a job whose marks are lost. What was due before `latest` may have run,
    /// and does not run again, neither by this definition nor by a later one; nor does what
    /// may have run by an earlier one, as far as it was `seen`.
    #[must_use]
    pub fn of_lost(job: &Job, latest: UtcInstant, seen: Option<Seen>) -> Self {
        let definition = DefinitionHash::of(job);
        let over = latest.saturating_sub(job.window().trail());
        let through = match seen {
            None => minute(over),
            Some(seen) if seen.definition == definition => {
                minute(over.max(seen.not_before.min(latest))).max(seen.through)
            }
            // When the one before chose its times nobody knows any more.
            Some(seen) => minute(latest.saturating_add(seen.lead)).max(seen.through),
        };
        let mut ledger = Self::restore(through, Vec::new(), Some(latest), Some(definition));
        let mut at = through.map_or(over.floor(), PeriodId::nominal);
        // These windows are all open, so there are not many.
        while let Some(period) = job.next_period(at)
            && job.window().of(period).start() <= latest
        {
            if job.decide(period).due() < latest {
                ledger.mark(period);
            }
            at = period.nominal();
        }
        ledger
    }

    /// What to remember of the job apart from these marks, should they be lost; `lead` is
    /// that of its window.
    #[must_use]
    pub fn seen(&self, lead: Duration) -> Option<Seen> {
        let last = self.handled_ahead.last().copied().or(self.handled_through);
        let part = u64::from(lead.subsec_nanos() > 0);
        Some(Seen {
            not_before: self.not_before,
            definition: self.definition?,
            lead: Duration::from_secs(lead.as_secs() + part),
            through: last.filter(|last| last.nominal().instant() > self.not_before),
        })
    }

    /// A ledger from marks that were kept.
    #[must_use]
    pub fn restore(
        handled_through: Option<PeriodId>,
        mut handled_ahead: Vec<PeriodId>,
        not_before: Option<UtcInstant>,
        definition: Option<DefinitionHash>,
    ) -> Self {
        if mutant::is(Mutant::AheadForgotten) {
            handled_ahead.clear();
        }
        handled_ahead.sort_unstable();
        handled_ahead.dedup();
        let mut ledger = Self {
            handled_through,
            handled_ahead,
            not_before: not_before.unwrap_or(UtcInstant::MIN),
            definition,
        };
        ledger.prune();
        ledger
    }

    /// Every period up to and including this one is closed.
    #[must_use]
    pub const fn handled_through(&self) -> Option<PeriodId> {
        self.handled_through
    }

    /// Periods closed beyond that, in order.
    #[must_use]
    pub fn handled_ahead(&self) -> &[PeriodId] {
        &self.handled_ahead
    }

    /// No period due before this instant may run.
    #[must_use]
    pub const fn not_before(&self) -> UtcInstant {
        self.not_before
    }

    /// The definition the marks were last used with.
    #[must_use]
    pub const fn definition(&self) -> Option<DefinitionHash> {
        self.definition
    }

    /// Whether a period has been marked by itself or by one after it.
    #[must_use]
    pub fn is_marked(&self, period: PeriodId) -> bool {
        self.handled_through.is_some_and(|through| period <= through)
            || self.handled_ahead.binary_search(&period).is_ok()
    }

    /// Whether a period is closed.
    #[must_use]
    pub fn is_closed(&self, decision: &Decision<'_>) -> bool {
        self.is_marked(decision.period()) || decision.due() < self.not_before
    }

    /// Takes note of the definition in use. If it changed, nothing due before
    /// now may run any more: an edit never fires a job by itself. Returns
    /// whether it changed.
    pub fn adopt_definition(&mut self, job: &Job, now: UtcInstant) -> bool {
        let definition = DefinitionHash::of(job);
        let changed = self.definition.is_some_and(|known| known != definition);
        if changed && !mutant::is(Mutant::EditFires) {
            self.bar_past(now);
        }
        self.definition = Some(definition);
        changed
    }

    /// From here on nothing due before `now` may run: the job was away, and comes
    /// back without a past.
    pub fn bar_past(&mut self, now: UtcInstant) {
        self.not_before = self.not_before.max(now);
    }

    /// The same without marks beyond `now`, which a clock that was wrong once left;
    /// nothing due before `now` may run. Marks up to now stay, because another
    /// definition could choose a later time for a period that has run; those ahead
    /// stay where `has_begun` says that the window may have.
    #[must_use]
    pub fn without_future(&self, now: UtcInstant, has_begun: impl Fn(PeriodId) -> bool) -> Self {
        // Not the last period before now: marks of earlier definitions count as well.
        let through = self.handled_through.min(minute(now));
        let ahead = self.handled_ahead.iter().copied().filter(|p| has_begun(*p)).collect();
        Self::restore(through, ahead, Some(now), self.definition)
    }

    /// [`without_future`](Self::without_future) by the definition in use: what it knows
    /// of as begun stays closed, also where `handled_through` had reached beyond it. The
    /// chosen time may lie ahead, and the period would run a second time. So do those that
    /// are `recorded` as handled last or as running, as they do when a state is read.
    #[must_use]
    pub fn reset(&self, job: &Job, now: UtcInstant, recorded: &[PeriodId]) -> Self {
        if mutant::is(Mutant::ResetReopens) {
            return Self::restore(None, Vec::new(), None, self.definition);
        }
        let has_begun = |period| job.window().of(period).start() <= now;
        let mut ledger = self.without_future(now, has_begun);
        let mut at = ledger.handled_through.map(PeriodId::nominal);
        // These windows are all open now, so there are not many.
        while let Some(period) = at.and_then(|at| job.next_period(at))
            && Some(period) <= self.handled_through
            && has_begun(period)
        {
            ledger.mark(period);
            at = Some(period.nominal());
        }
        for period in recorded {
            ledger.mark(*period);
        }
        ledger
    }

    /// Closes a period for good.
    pub fn close(&mut self, job: &Job, closure: &Closure, now: UtcInstant) {
        self.mark(closure.period());
        self.settle(job, now);
    }

    /// Closes the periods that a catch-up passes over.
    pub fn supersede(&mut self, job: &Job, superseded: &Superseded, now: UtcInstant) {
        if superseded.is_empty() {
            return;
        }
        for period in superseded.marks() {
            self.mark(*period);
        }
        if let Some(through) = superseded.through() {
            self.handled_through = self.handled_through.max(Some(through));
        }
        self.settle(job, now);
    }

    /// Until when nothing can run because a mark lies in the future: the clock
    /// was wrong once, or is wrong now.
    #[must_use]
    pub fn idle_until(&self, now: UtcInstant) -> Option<UtcInstant> {
        let through = self.handled_through.map_or(UtcInstant::MIN, |p| p.nominal().instant());
        Some(through.max(self.not_before)).filter(|until| *until > now)
    }

    fn mark(&mut self, period: PeriodId) {
        if let Err(place) = self.handled_ahead.binary_search(&period) {
            self.handled_ahead.insert(place, period);
        }
        self.prune();
    }

    /// Moves `handled_through` up over every period that is closed, but not
    /// beyond now: a later definition may have periods of its own up to there.
    fn settle(&mut self, job: &Job, now: UtcInstant) {
        let now = now.floor();
        // All windows that end before `not_before` are closed by it.
        let dead_end = self.not_before.saturating_sub(job.window().trail()).floor();
        let dead = job.prev_period(dead_end).and_then(|p| {
            let ended = job.window().of(p).end() < self.not_before;
            if ended { Some(p) } else { job.prev_period(before(p)) }
        });
        self.handled_through = self.handled_through.max(dead);
        let Some(mut through) = self.handled_through else { return };
        while let Some(next) = job.next_period(through.nominal())
            && next.nominal() <= now
            && (self.handled_ahead.binary_search(&next).is_ok()
                || self.is_closed(&job.decide(next)))
        {
            through = next;
        }
        self.handled_through = Some(through);
        self.prune();
    }

    /// Drops marks that `handled_through` covers. If there are still too many, it
    /// moves up: closing more than necessary is always safe, growing is not.
    fn prune(&mut self) {
        if let Some(excess) = self.handled_ahead.len().checked_sub(HANDLED_AHEAD + 1) {
            self.handled_through = self.handled_through.max(Some(self.handled_ahead[excess]));
        }
        if let Some(through) = self.handled_through {
            self.handled_ahead.retain(|period| *period > through);
        }
    }
}

/// The second before a period's nominal time, which always exists.
fn before(period: PeriodId) -> UtcSecond {
    UtcSecond::new_unchecked(period.nominal().unix_seconds() - 1)
}

/// The minute of an instant, which may be a period of any definition.
fn minute(of: UtcInstant) -> Option<PeriodId> {
    let minute = UtcSecond::new(of.floor().unix_seconds().div_euclid(60) * 60).ok()?;
    PeriodId::new(minute).ok()
}
