//! Instants, calendar dates, durations and time zones (SPEC, Time Model).
//!
//! Everything is compared as UTC. A [`UtcSecond`] is what decisions are made
//! of; a [`UtcInstant`] adds nanoseconds, for window bounds and for the `now`
//! that adapters hand in. Nothing here reads a clock.

pub mod civil;
pub mod duration;
mod instant;
pub mod local;
pub mod zone;

pub use instant::{OutOfRange, ParseTimeError, UtcInstant, UtcSecond};
pub use zone::{Bundled, Database, UnknownZone, Zone, Zones};

/// Seconds in a day without a leap second, which UTC arithmetic here ignores.
pub(crate) const DAY_SECONDS: i64 = 86_400;
