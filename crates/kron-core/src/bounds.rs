//! Every numeric range of the engine, declared once.
//!
//! Checks, error messages and test generators all read the constants below,
//! so a limit cannot be enforced with one number and documented with another.

use core::fmt;
use core::time::Duration;

/// An inclusive range of accepted values, with the word that messages use.
#[derive(Clone, Copy, Debug)]
pub struct Bounds<T> {
    /// What is bounded, in the vocabulary of the schedule syntax.
    pub what: &'static str,
    /// The smallest accepted value.
    pub min: T,
    /// The largest accepted value.
    pub max: T,
}

impl<T: Copy + PartialOrd> Bounds<T> {
    const fn new(what: &'static str, min: T, max: T) -> Self {
        Self { what, min, max }
    }

    /// Whether `value` lies inside. A NaN never does.
    #[must_use]
    pub fn contains(&self, value: T) -> bool {
        self.min <= value && value <= self.max
    }
}

impl<T: fmt::Display> fmt::Display for Bounds<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.min, self.max)
    }
}

/// First cron field.
pub const MINUTE: Bounds<u8> = Bounds::new("minute", 0, 59);
/// Second cron field, and the `hours` clause.
pub const HOUR: Bounds<u8> = Bounds::new("hour", 0, 23);
/// Third cron field, and the `dom` clause.
pub const DAY_OF_MONTH: Bounds<u8> = Bounds::new("day of month", 1, 31);
/// Fourth cron field, and the `months` clause.
pub const MONTH: Bounds<u8> = Bounds::new("month", 1, 12);
/// Fifth cron field, and the `dow` clause; 0 is Sunday.
pub const DAY_OF_WEEK: Bounds<u8> = Bounds::new("day of week", 0, 6);

/// Years of a `date` clause, and of every instant that can be written down.
pub const YEAR: Bounds<i32> = Bounds::new("year", 1, 9999);
/// Years in which a nominal time may lie: a window of [`WINDOW`]'s maximum on
/// either side still stays inside [`YEAR`].
pub const NOMINAL_YEAR: Bounds<i32> = Bounds::new("nominal year", 3, 9997);

/// Window durations.
pub const WINDOW: Bounds<Duration> =
    Bounds::new("window duration", Duration::ZERO, Duration::from_secs(366 * 86_400));
/// Standard deviations of `normal`. Below a millisecond every draw lands on the
/// same second; beyond a year no window can tell the curve from a straight line.
pub const SIGMA: Bounds<Duration> =
    Bounds::new("sigma", Duration::from_millis(1), Duration::from_secs(366 * 86_400));
/// Exponents of `skewEarly` and `skewLate`. Outside this range nearly all draws
/// fall on one end of any window.
pub const SHAPE: Bounds<f64> = Bounds::new("shape", 0.001, 1000.0);
/// Decay rates of `exponential`. Below, it is `uniform` to the last bit that
/// matters; above, only the first few thousandths of the window are reachable.
pub const LAMBDA: Bounds<f64> = Bounds::new("lambda", 0.001, 1000.0);

/// Length of an identity, in bytes: a long path, a colon and a name.
pub const IDENTITY_BYTES: Bounds<usize> = Bounds::new("identity length", 1, 8192);
/// Length of a salt, in bytes.
pub const SALT_BYTES: Bounds<usize> = Bounds::new("salt length", 0, 4096);
/// Length of a schedule (cron fields and modifiers), in bytes.
pub const SCHEDULE_BYTES: Bounds<usize> = Bounds::new("schedule length", 1, 65_536);

/// Draws made for one period before it is given up as unschedulable.
pub const SAMPLING_BUDGET: u16 = 4096;
/// Windows of one job that may be open at the same moment.
pub const OPEN_WINDOWS: usize = 1024;
/// Errors reported for one schedule; a line of garbage is not worth more.
pub const REPORTED_ERRORS: usize = 16;
/// Closed periods a ledger keeps one by one before it closes everything below
/// the first of them; twice what one definition can have open.
pub const HANDLED_AHEAD: usize = 2 * OPEN_WINDOWS;
/// Periods looked at when catching up after an absence; what lies further back
/// is closed uncounted.
pub const CATCH_UP_PERIODS: u32 = 4 * OPEN_WINDOWS as u32;
/// A wake-up this late means that nobody was paying attention: the finest step
/// a schedule has.
pub const STALL: Duration = Duration::from_secs(60);
