//! Times as nanoseconds: of the machine's clock, or of a daemon's shifted one.

use kron_core::{PeriodId, UtcInstant, UtcSecond};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Nanoseconds since 1970, or between two times.
pub type Nanos = i64;

pub const MICRO: Nanos = 1_000;
pub const MILLI: Nanos = 1_000 * MICRO;
pub const SECOND: Nanos = 1_000 * MILLI;
pub const MINUTE: Nanos = 60 * SECOND;

pub fn now() -> Nanos {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.as_nanos() as Nanos
}

pub fn sleep(nanos: Nanos) {
    if let Ok(nanos) = u64::try_from(nanos) {
        thread::sleep(Duration::from_nanos(nanos));
    }
}

/// The nanosecond at which a second begins.
pub fn nanos(second: UtcSecond) -> Nanos {
    second.unix_seconds() * SECOND
}

/// A time of a state file or a log line.
pub fn read_instant(text: &str) -> Option<Nanos> {
    let instant: UtcInstant = text.parse().ok()?;
    Some(instant.unix_seconds() * SECOND + Nanos::from(instant.subsec_nanos()))
}

/// A period's name, by its nominal second.
pub fn read_period(text: &str) -> Option<i64> {
    let period: PeriodId = text.parse().ok()?;
    Some(period.nominal().unix_seconds())
}

/// A period's name.
pub fn period_name(period: i64) -> String {
    UtcSecond::new(period).map_or_else(|_| period.to_string(), |second| second.to_string())
}
