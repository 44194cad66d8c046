//! Nominal times: a cron expression resolved in a time zone (SPEC, Periods).
//!
//! [`Cron`] is the expression as bit sets. [`days`] answers "which local
//! minute comes next" on the plain calendar; [`nominal`] carries that over to
//! UTC, gaps and folds of local time included.

mod changes;
mod days;
mod gap;
mod nominal;
mod open;

pub use changes::{ChangeKind, ClockChange};

use crate::bounds;

/// Five cron fields, as sets.
///
/// Bit *n* of a set stands for the value *n*. A set is never empty and has no
/// bit outside its field's range; the parser sees to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cron {
    pub(crate) minutes: u64,
    pub(crate) hours: u32,
    pub(crate) days_of_month: u32,
    pub(crate) months: u16,
    pub(crate) days_of_week: u8,
    pub(crate) stars: Stars,
}

/// Which fields were written with a leading `*`. That is more than notation: it
/// decides how the two day fields combine, and what happens on a DST day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct Stars {
    pub minute: bool,
    pub hour: bool,
    pub day_of_month: bool,
    pub day_of_week: bool,
}

impl Cron {
    /// Whether this is a fixed time of day: neither the minute nor the hour
    /// field begins with `*`. Such a time survives a gap in local time and is
    /// not repeated in a fold; any other schedule follows the clock on the wall.
    #[must_use]
    pub const fn is_fixed_time(&self) -> bool {
        !self.stars.minute && !self.stars.hour
    }

    /// Whether one matching day field is enough: both are restricted.
    #[must_use]
    pub const fn either_day_matches(&self) -> bool {
        !self.stars.day_of_month && !self.stars.day_of_week
    }

    /// Whether no hour of the day is left out.
    #[must_use]
    pub const fn every_hour(&self) -> bool {
        self.hours.count_ones() == 24
    }

    /// Matches on a matching day.
    #[must_use]
    pub const fn times_per_day(&self) -> u32 {
        self.minutes.count_ones() * self.hours.count_ones()
    }

    /// Whether any date of any year matches. `30 2` as day and month does not,
    /// unless a weekday may match instead.
    #[must_use]
    pub(crate) fn can_match(&self) -> bool {
        self.either_day_matches()
            || (bounds::MONTH.min..=bounds::MONTH.max)
                .filter(|month| self.months >> month & 1 == 1)
                .any(|month| {
                    let longest = crate::time::civil::days_in_month(2000, month);
                    u64::from(self.days_of_month) & ((2_u64 << longest) - 1) != 0
                })
    }
}
