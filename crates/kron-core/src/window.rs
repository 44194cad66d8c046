//! The window of a period: from when to when a time may be chosen
//! (SPEC, Window Semantics).

use crate::identity::PeriodId;
use crate::mutant::{self, Mutant};
use crate::time::{UtcInstant, UtcSecond, duration};
use core::fmt;
use core::time::Duration;

/// Where the window lies relative to the nominal time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// From the nominal time on.
    #[default]
    After,
    /// Half before, half after.
    Around,
}

impl Mode {
    pub(crate) const ALL: [Self; 2] = [Self::After, Self::Around];

    /// The word of the syntax.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::After => "after",
            Self::Around => "around",
        }
    }
}

/// Mode and duration of a job's windows; the duration is checked by
/// [`Job`](crate::Job).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WindowSpec {
    /// Before, after or around.
    pub mode: Mode,
    /// Length of the window, elapsed time.
    pub duration: Duration,
}

impl WindowSpec {
    /// The window of one period.
    #[must_use]
    pub fn of(&self, period: PeriodId) -> Window {
        let nominal = period.nominal().instant();
        match self.mode {
            Mode::Around if mutant::is(Mutant::WindowShift) => {
                Window { start: nominal, end: nominal.saturating_add(self.duration) }
            }
            Mode::After => Window { start: nominal, end: nominal.saturating_add(self.duration) },
            Mode::Around => Window {
                start: nominal.saturating_sub(self.lead()),
                end: nominal.saturating_add(self.lead()),
            },
        }
    }

    /// How long before the nominal time the window opens. Half of an odd
    /// number of nanoseconds is rounded down, on both sides alike.
    #[must_use]
    pub fn lead(&self) -> Duration {
        match self.mode {
            Mode::After => Duration::ZERO,
            Mode::Around => self.duration / 2,
        }
    }

    /// How long after the nominal time the window closes.
    #[must_use]
    pub fn trail(&self) -> Duration {
        match self.mode {
            Mode::After => self.duration,
            Mode::Around => self.duration / 2,
        }
    }
}

impl fmt::Display for WindowSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.mode.as_str(), duration::Pretty(self.duration))
    }
}

/// The window of one period. Both bounds belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    start: UtcInstant,
    end: UtcInstant,
}

impl Window {
    /// The earliest instant that may be chosen.
    #[must_use]
    pub const fn start(&self) -> UtcInstant {
        self.start
    }

    /// The latest instant that may be chosen.
    #[must_use]
    pub const fn end(&self) -> UtcInstant {
        self.end
    }

    /// The first candidate: the first whole second inside.
    #[must_use]
    pub const fn first(&self) -> UtcSecond {
        self.start.ceil()
    }

    /// The last candidate: the last whole second inside.
    #[must_use]
    pub const fn last(&self) -> UtcSecond {
        self.end.floor()
    }

    /// Number of candidates; at least one, the nominal time itself.
    #[must_use]
    pub const fn seconds(&self) -> u64 {
        (self.last().unix_seconds() - self.first().unix_seconds() + 1) as u64
    }
}
