//! What keeps periods from being started, and when another attempt is made.
//!
//! Pure. The pause is that of the `KronJob`: whatever is in the way of one of its periods, a
//! full quota say, is in the way of all. One attempt at a time is made for those that wait; if
//! it succeeds, the others follow at once. A period's first attempt waits for nobody, and
//! nobody for a period whose name is taken.

use kron_core::{PeriodId, UtcInstant};
use std::time::Duration;

/// First and longest pause after a failure.
pub const PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));
/// Towards the end of a deadline pauses are shorter, but not shorter than this.
const SHORT: Duration = Duration::from_secs(1);

/// Why a period could not be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// Which one.
    pub period: PeriodId,
    /// Why.
    pub why: String,
    /// Whether it is in the way of no other.
    pub is_own: bool,
    /// How often in a row something was tried.
    pub attempts: u32,
    /// When to try again.
    pub retry_at: UtcInstant,
    /// Until when a request that had no answer may still be heard.
    pub lands_until: Option<UtcInstant>,
}

/// An attempt that failed.
#[derive(Clone, Debug)]
pub struct Failed {
    /// Of which period.
    pub period: PeriodId,
    /// Why.
    pub why: String,
    /// Whether that is in the way of no other.
    pub is_own: bool,
    /// Until when it may still be heard.
    pub lands_until: Option<UtcInstant>,
    /// From when on the period is too late.
    pub expiry: UtcInstant,
}

/// Takes down an attempt that failed. The latest is the last of them.
pub fn failed(obstacles: &mut Vec<Obstacle>, failed: Failed, now: UtcInstant) {
    let Failed { period, why, is_own, lands_until, expiry } = failed;
    let is_akin = |known: &&Obstacle| known.period == period || !(is_own || known.is_own);
    let before = obstacles.iter().filter(is_akin).map(|known| known.attempts).max();
    let attempts = before.unwrap_or_default().saturating_add(1);
    // One that was sent before may still be under way.
    let known = obstacles.iter().find(|known| known.period == period);
    let lands_until = lands_until.max(known.and_then(|known| known.lands_until));
    let retry_at = now.saturating_add(pause(attempts)).min(before_expiry(expiry, now));
    obstacles.retain(|known| known.period != period);
    obstacles.push(Obstacle { period, why, is_own, attempts, retry_at, lands_until });
}

/// An attempt succeeded: nothing is known to be in the way of the others.
pub fn passed(obstacles: &mut Vec<Obstacle>, period: PeriodId, now: UtcInstant) {
    obstacles.retain(|known| known.period != period);
    for known in obstacles.iter_mut().filter(|known| !known.is_own) {
        (known.attempts, known.retry_at) = (0, known.retry_at.min(now));
    }
}

/// When a period that was tried is tried again.
#[must_use]
pub fn again_at(obstacles: &[Obstacle], obstacle: &Obstacle) -> UtcInstant {
    let latest = obstacles.iter().rfind(|known| !known.is_own);
    latest.filter(|_| !obstacle.is_own).unwrap_or(obstacle).retry_at
}

/// When to try again at the latest, so that the last attempt is not long before the end.
#[must_use]
pub fn before_expiry(expiry: UtcInstant, now: UtcInstant) -> UtcInstant {
    let left = expiry.since(now).unwrap_or_default();
    now.saturating_add((left / 2).max(SHORT))
}

/// The pause after so many failures in a row.
#[must_use]
pub fn pause(failures: u32) -> Duration {
    let doubled =
        PAUSE.0.saturating_mul(1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX));
    doubled.min(PAUSE.1)
}
