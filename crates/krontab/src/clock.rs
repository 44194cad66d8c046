//! The only place of the command line that reads the clock.

use kron_core::UtcSecond;
use std::time::SystemTime;

/// The present second.
#[must_use]
pub fn now() -> UtcSecond {
    let seconds = match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        Err(before) => -i64::try_from(before.duration().as_secs()).unwrap_or(i64::MAX),
    };
    UtcSecond::new(seconds).unwrap_or(UtcSecond::MAX)
}
