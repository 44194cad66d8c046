//! An instant as the clock on the wall shows it, for people.
//!
//! Nothing is decided with it: decisions compare UTC.

use super::civil::{Date, weekday};
use super::zone::Zone;
use super::{DAY_SECONDS, UtcSecond};
use core::fmt;

/// An instant together with the offset of a zone then.
///
/// ```
/// let paris = kron_core::Zones::bundled().get("Europe/Paris")?;
/// let local = paris.local_time("2026-03-29T01:00:00Z".parse()?);
/// assert_eq!(local.to_string(), "2026-03-29 03:00:00 +02:00");
/// assert_eq!(local.weekday(), "Sun");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalTime {
    instant: UtcSecond,
    offset: i64,
}

impl LocalTime {
    /// The instant itself.
    #[must_use]
    pub const fn instant(self) -> UtcSecond {
        self.instant
    }

    /// The local calendar date.
    #[must_use]
    pub const fn date(self) -> Date {
        Date::from_day_number(self.local().div_euclid(DAY_SECONDS))
    }

    /// Hour, minute and second.
    #[must_use]
    pub const fn time_of_day(self) -> (u8, u8, u8) {
        let second = self.local().rem_euclid(DAY_SECONDS);
        ((second / 3600) as u8, (second / 60 % 60) as u8, (second % 60) as u8)
    }

    /// Three letters: `Mon`.
    #[must_use]
    pub fn weekday(self) -> &'static str {
        const NAMES: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
        NAMES[usize::from(weekday(self.local().div_euclid(DAY_SECONDS)))]
    }

    const fn local(self) -> i64 {
        self.instant.unix_seconds() + self.offset
    }
}

impl fmt::Display for LocalTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hour, minute, second) = self.time_of_day();
        let sign = if self.offset < 0 { '-' } else { '+' };
        let offset = self.offset.unsigned_abs();
        write!(f, "{} {hour:02}:{minute:02}:{second:02} {sign}", self.date())?;
        write!(f, "{:02}:{:02}", offset / 3600, offset / 60 % 60)?;
        match offset % 60 {
            0 => Ok(()),
            seconds => write!(f, ":{seconds:02}"),
        }
    }
}

impl Zone {
    /// The local time of an instant.
    #[must_use]
    pub fn local_time(&self, at: UtcSecond) -> LocalTime {
        LocalTime { instant: at, offset: self.offset_seconds(at) }
    }

    /// The first instant at which the wall clock shows this time, or the end of
    /// the gap it was skipped in.
    #[must_use]
    pub fn first_instant_of(&self, date: Date, second_of_day: u32) -> Option<UtcSecond> {
        let local = date.day_number() * DAY_SECONDS + i64::from(second_of_day);
        // No zone is further from UTC than this; and no fold is longer.
        let mut stretch = self.stretch(local - 2 * DAY_SECONDS);
        while local >= stretch.local_end() {
            stretch = self.stretch_after(&stretch)?;
        }
        UtcSecond::new(stretch.start.max(local - stretch.offset)).ok()
    }
}
