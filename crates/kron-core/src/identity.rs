//! Who a job is, and which of its periods is meant.

use crate::bounds::{IDENTITY_BYTES, NOMINAL_YEAR};
use crate::time::civil::Date;
use crate::time::{DAY_SECONDS, ParseTimeError, UtcSecond};
use alloc::sync::Arc;
use core::fmt;
use core::str::FromStr;

/// The stable name of a schedule entry; it seeds every decision.
///
/// For the daemon `<absolute path of the file>:<name>`, for the operator
/// `<namespace>/<name>`. It is not empty, not longer than 8192 bytes, and has no
/// control characters: a line feed separates the inputs of the seed hash. A
/// daemon names each of its jobs in many places, so clones share the text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity(Arc<str>);

impl Identity {
    /// A checked identity.
    ///
    /// # Errors
    /// When it is empty, too long, or has control characters.
    pub fn new(text: &str) -> Result<Self, InvalidIdentity> {
        if !IDENTITY_BYTES.contains(text.len()) {
            return Err(InvalidIdentity::Length(text.len()));
        }
        // Plain printable text is settled byte by byte.
        if text.bytes().all(|b| matches!(b, b' '..=b'~')) {
            return Ok(Self(text.into()));
        }
        match text.char_indices().find(|(_, c)| c.is_control()) {
            Some((at, _)) => Err(InvalidIdentity::ControlCharacter { at }),
            None => Ok(Self(text.into())),
        }
    }

    /// The identity as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a text cannot be an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidIdentity {
    /// Empty, or longer than accepted; the length in bytes.
    Length(usize),
    /// A control character, at this byte.
    ControlCharacter {
        /// Byte offset.
        at: usize,
    },
}

impl fmt::Display for InvalidIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(0) => f.write_str("identity is empty"),
            Self::Length(length) => {
                write!(
                    f,
                    "identity is {length} bytes long, at most {} are accepted",
                    IDENTITY_BYTES.max
                )
            }
            Self::ControlCharacter { at } => {
                write!(f, "identity has a control character at byte {at}")
            }
        }
    }
}

impl core::error::Error for InvalidIdentity {}

/// A period: one scheduling opportunity, identified by its nominal time.
///
/// Its canonical text is the nominal time as RFC3339 in UTC. Any offset is read;
/// the same instant is the same period.
///
/// ```
/// use kron_core::PeriodId;
/// let a: PeriodId = "2026-01-05T10:00:00+01:00".parse()?;
/// let b: PeriodId = "2026-01-05T09:00:00Z".parse()?;
/// assert_eq!(a, b);
/// assert_eq!(a.to_string(), "2026-01-05T09:00:00Z");
/// # Ok::<(), kron_core::InvalidPeriod>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeriodId(UtcSecond);

impl PeriodId {
    /// The period anchored at a nominal time.
    ///
    /// # Errors
    /// When it lies outside the years 3 to 9997: the longest window around it
    /// must still be expressible.
    pub fn new(nominal: UtcSecond) -> Result<Self, InvalidPeriod> {
        let year = Date::from_day_number(nominal.unix_seconds().div_euclid(DAY_SECONDS)).year;
        if NOMINAL_YEAR.contains(year) {
            Ok(Self(nominal))
        } else {
            Err(InvalidPeriod::Range(nominal))
        }
    }

    /// For nominal times that the calendar produced, which are in range.
    pub(crate) fn from_calendar(nominal: UtcSecond) -> Self {
        debug_assert!(Self::new(nominal).is_ok());
        Self(nominal)
    }

    /// The nominal time.
    #[must_use]
    pub const fn nominal(self) -> UtcSecond {
        self.0
    }
}

impl fmt::Display for PeriodId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for PeriodId {
    type Err = InvalidPeriod;

    fn from_str(text: &str) -> Result<Self, InvalidPeriod> {
        Self::new(text.parse().map_err(InvalidPeriod::Time)?)
    }
}

/// Why a text or an instant is not a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidPeriod {
    /// Not an instant at all.
    Time(ParseTimeError),
    /// An instant too near the ends of the calendar.
    Range(UtcSecond),
}

impl fmt::Display for InvalidPeriod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(error) => error.fmt(f),
            Self::Range(nominal) => {
                write!(f, "nominal time {nominal} is outside the years {NOMINAL_YEAR}")
            }
        }
    }
}

impl core::error::Error for InvalidPeriod {}
