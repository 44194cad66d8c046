//! Whole UTC seconds and UTC instants with nanoseconds.

use super::DAY_SECONDS;
use super::civil::Date;
use crate::bounds::YEAR;
use core::fmt;
use core::str::FromStr;
use core::time::Duration;

/// An instant of UTC, to the second.
///
/// Its text is RFC3339 in UTC, `2026-01-05T09:00:00Z`. Any offset is read, the
/// instant is what counts:
///
/// ```
/// use kron_core::UtcSecond;
/// let paris: UtcSecond = "2026-01-05T10:00:00+01:00".parse()?;
/// assert_eq!(paris.to_string(), "2026-01-05T09:00:00Z");
/// # Ok::<(), kron_core::ParseTimeError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtcSecond(i64);

impl UtcSecond {
    /// 0001-01-01T00:00:00Z.
    pub const MIN: Self =
        Self(Date { year: YEAR.min, month: 1, day: 1 }.day_number() * DAY_SECONDS);
    /// 9999-12-31T23:59:59Z.
    pub const MAX: Self =
        Self((Date { year: YEAR.max, month: 12, day: 31 }.day_number() + 1) * DAY_SECONDS - 1);

    /// An instant from its distance to the Unix epoch.
    ///
    /// # Errors
    /// When it lies outside the years 1 to 9999.
    pub const fn new(unix_seconds: i64) -> Result<Self, OutOfRange> {
        if unix_seconds < Self::MIN.0 || unix_seconds > Self::MAX.0 {
            return Err(OutOfRange { unix_seconds });
        }
        Ok(Self(unix_seconds))
    }

    /// For values that are known to be in range: sums of checked ones.
    pub(crate) const fn new_unchecked(unix_seconds: i64) -> Self {
        debug_assert!(Self::new(unix_seconds).is_ok());
        Self(unix_seconds)
    }

    /// Seconds since the Unix epoch.
    #[must_use]
    pub const fn unix_seconds(self) -> i64 {
        self.0
    }

    /// The same instant, with zero nanoseconds.
    #[must_use]
    pub const fn instant(self) -> UtcInstant {
        UtcInstant { seconds: self.0, nanos: 0 }
    }

    /// The canonical text as ASCII bytes, without allocating.
    #[must_use]
    pub fn to_ascii(self) -> [u8; 20] {
        let mut text = [0; 20];
        self.write(&mut text);
        text
    }

    /// The canonical text, without allocating.
    pub(crate) fn write(self, out: &mut [u8; 20]) {
        let days = self.0.div_euclid(DAY_SECONDS);
        let second_of_day = self.0.rem_euclid(DAY_SECONDS) as u32;
        let date = Date::from_day_number(days);
        let year = date.year as u32;
        put_two(out, 0, year / 100);
        put_two(out, 2, year % 100);
        out[4] = b'-';
        put_two(out, 5, date.month.into());
        out[7] = b'-';
        put_two(out, 8, date.day.into());
        out[10] = b'T';
        put_two(out, 11, second_of_day / 3600);
        out[13] = b':';
        put_two(out, 14, second_of_day / 60 % 60);
        out[16] = b':';
        put_two(out, 17, second_of_day % 60);
        out[19] = b'Z';
    }
}

fn put_two(out: &mut [u8; 20], at: usize, value: u32) {
    out[at] = b'0' + (value / 10) as u8;
    out[at + 1] = b'0' + (value % 10) as u8;
}

impl fmt::Display for UtcSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; 20];
        self.write(&mut text);
        f.write_str(core::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for UtcSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for UtcSecond {
    type Err = ParseTimeError;

    fn from_str(text: &str) -> Result<Self, ParseTimeError> {
        let instant: UtcInstant = text.parse()?;
        if instant.nanos != 0 {
            return Err(ParseTimeError::Fraction);
        }
        Ok(Self(instant.seconds))
    }
}

/// An instant of UTC, to the nanosecond: window bounds, and `now`.
///
/// Its text is RFC3339 in UTC with as many digits of a second as it needs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtcInstant {
    seconds: i64,
    nanos: u32,
}

impl UtcInstant {
    /// The earliest instant.
    pub const MIN: Self = UtcSecond::MIN.instant();

    /// An instant from its distance to the Unix epoch; nanoseconds beyond a
    /// second carry over.
    ///
    /// # Errors
    /// When it lies outside the years 1 to 9999.
    pub const fn new(unix_seconds: i64, nanos: u32) -> Result<Self, OutOfRange> {
        let seconds = unix_seconds.saturating_add((nanos / 1_000_000_000) as i64);
        match UtcSecond::new(seconds) {
            Ok(second) => Ok(Self { seconds: second.0, nanos: nanos % 1_000_000_000 }),
            Err(error) => Err(error),
        }
    }

    /// Whole seconds since the Unix epoch, rounded down.
    #[must_use]
    pub const fn unix_seconds(self) -> i64 {
        self.seconds
    }

    /// Nanoseconds of the second, 0 to 999,999,999.
    #[must_use]
    pub const fn subsec_nanos(self) -> u32 {
        self.nanos
    }

    /// The second this instant lies in.
    #[must_use]
    pub const fn floor(self) -> UtcSecond {
        UtcSecond(self.seconds)
    }

    /// The first whole second at or after this instant.
    #[must_use]
    pub const fn ceil(self) -> UtcSecond {
        UtcSecond(self.seconds + (self.nanos > 0) as i64)
    }

    /// Time elapsed since `earlier`, or nothing if that lies ahead.
    #[must_use]
    pub fn since(self, earlier: Self) -> Option<Duration> {
        if self < earlier {
            return None;
        }
        let borrow = self.nanos < earlier.nanos;
        let seconds = (self.seconds - earlier.seconds) as u64 - u64::from(borrow);
        let nanos = self.nanos + u32::from(borrow) * 1_000_000_000 - earlier.nanos;
        Some(Duration::new(seconds, nanos))
    }

    /// This instant moved forward, stopping at the end of year 9999.
    #[must_use]
    pub fn saturating_add(self, by: Duration) -> Self {
        let nanos = self.nanos + by.subsec_nanos();
        let carry = i64::from(nanos >= 1_000_000_000);
        let seconds = i64::try_from(by.as_secs())
            .ok()
            .and_then(|by| self.seconds.checked_add(by)?.checked_add(carry))
            .filter(|&seconds| seconds <= UtcSecond::MAX.0);
        match seconds {
            Some(seconds) => Self { seconds, nanos: nanos % 1_000_000_000 },
            None => UtcSecond::MAX.instant(),
        }
    }

    /// This instant moved back, stopping at the beginning of year 1.
    #[must_use]
    pub fn saturating_sub(self, by: Duration) -> Self {
        let borrow = i64::from(self.nanos < by.subsec_nanos());
        let nanos = self.nanos + borrow as u32 * 1_000_000_000 - by.subsec_nanos();
        let seconds = i64::try_from(by.as_secs())
            .ok()
            .and_then(|by| self.seconds.checked_sub(by)?.checked_sub(borrow))
            .filter(|&seconds| seconds >= UtcSecond::MIN.0);
        match seconds {
            Some(seconds) => Self { seconds, nanos },
            None => Self::MIN,
        }
    }
}

impl From<UtcSecond> for UtcInstant {
    fn from(second: UtcSecond) -> Self {
        second.instant()
    }
}

impl fmt::Display for UtcInstant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; 20];
        UtcSecond(self.seconds).write(&mut text);
        let (seconds, _zulu) = text.split_at(19);
        f.write_str(core::str::from_utf8(seconds).map_err(|_| fmt::Error)?)?;
        if self.nanos > 0 {
            let (mut digits, mut fraction) = (9, self.nanos);
            while fraction % 10 == 0 {
                fraction /= 10;
                digits -= 1;
            }
            write!(f, ".{fraction:0digits$}")?;
        }
        f.write_str("Z")
    }
}

impl fmt::Debug for UtcInstant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for UtcInstant {
    type Err = ParseTimeError;

    fn from_str(text: &str) -> Result<Self, ParseTimeError> {
        // jiff reads a superset of RFC3339 (spaces, missing seconds, zone
        // annotations); what we print and document is RFC3339 and no more.
        if !looks_like_rfc3339(text.as_bytes()) {
            return Err(ParseTimeError::Syntax);
        }
        let timestamp: jiff::Timestamp = text.parse().map_err(|_| ParseTimeError::Syntax)?;
        let (seconds, nanos) = (timestamp.as_second(), timestamp.subsec_nanosecond());
        let (seconds, nanos) =
            if nanos < 0 { (seconds - 1, nanos + 1_000_000_000) } else { (seconds, nanos) };
        Self::new(seconds, nanos as u32).map_err(ParseTimeError::Range)
    }
}

fn looks_like_rfc3339(text: &[u8]) -> bool {
    let Some((head, mut tail)) = text.split_at_checked(19) else { return false };
    let shape = head.iter().zip(b"dddd-dd-ddTdd:dd:dd").all(|(&byte, &want)| match want {
        b'd' => byte.is_ascii_digit(),
        other => byte == other,
    });
    if let Some(fraction) = tail.strip_prefix(b".") {
        let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=9).contains(&digits) {
            return false;
        }
        tail = &fraction[digits..];
    }
    let offset = match tail {
        b"Z" => true,
        [b'+' | b'-', h1, h2, b':', m1, m2] => [h1, h2, m1, m2].iter().all(|b| b.is_ascii_digit()),
        _ => false,
    };
    shape && offset
}

/// An instant outside the years 1 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfRange {
    unix_seconds: i64,
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "instant {} (unix seconds) is outside the years {YEAR}", self.unix_seconds)
    }
}

impl core::error::Error for OutOfRange {}

/// Why a text is not an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseTimeError {
    /// Not RFC3339.
    Syntax,
    /// A fraction of a second where whole seconds are asked for.
    Fraction,
    /// RFC3339, but outside the years 1 to 9999 in UTC.
    Range(OutOfRange),
}

impl fmt::Display for ParseTimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax => f.write_str(
                "not an RFC3339 time, such as `2026-01-05T09:00:00Z` or `2026-01-05T10:00:00+01:00`",
            ),
            Self::Fraction => f.write_str("fractions of a second are not accepted here"),
            Self::Range(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ParseTimeError {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn text_and_back() {
        // (input, canonical instant or the error)
        let rows = [
            ("2026-01-05T09:00:00Z", "2026-01-05T09:00:00Z"),
            // CORE-14: the offset is notation, the instant is what counts.
            ("2026-01-05T10:00:00+01:00", "2026-01-05T09:00:00Z"),
            ("2026-01-04T23:30:00-09:30", "2026-01-05T09:00:00Z"),
            ("2026-03-05T11:29:29.5Z", "2026-03-05T11:29:29.5Z"),
            ("2026-03-05T11:29:29.000000001Z", "2026-03-05T11:29:29.000000001Z"),
            ("1969-12-31T23:59:59.25Z", "1969-12-31T23:59:59.25Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
            ("2026-01-05 09:00:00Z", "error"),
            ("2026-01-05T09:00Z", "error"),
            ("2026-01-05T09:00:00", "error"),
            ("2026-01-05T09:00:00.Z", "error"),
            ("2026-02-30T09:00:00Z", "error"),
            ("2026-01-05T24:00:00Z", "error"),
            ("2026-01-05T09:00:00Z[Europe/Paris]", "error"),
            ("0000-12-31T00:00:00Z", "error"),
            ("+2026-01-05T09:00:00Z", "error"),
            ("20260105T090000Z", "error"),
            ("", "error"),
            ("é026-01-05T09:00:00Z", "error"),
        ];
        for (input, expected) in rows {
            let got = input.parse::<UtcInstant>().map_or("error".to_string(), |t| t.to_string());
            assert_eq!(got, expected, "{input}");
        }
        assert_eq!("2026-01-05T09:00:00.5Z".parse::<UtcSecond>(), Err(ParseTimeError::Fraction));
    }

    #[test]
    fn arithmetic_saturates_and_inverts() {
        let half: UtcInstant = "2026-01-01T00:00:00.5Z".parse().unwrap();
        for nanos in [0, 1, 499_999_999, 500_000_000, 500_000_001, 999_999_999, 86_400_000_000_001]
        {
            let by = Duration::from_nanos(nanos);
            assert_eq!(half.saturating_add(by).saturating_sub(by), half);
            assert_eq!(half.saturating_add(by).since(half), Some(by));
            assert_eq!(half.since(half.saturating_add(by)).is_none(), nanos > 0);
        }
        assert_eq!(half.saturating_add(Duration::MAX), UtcSecond::MAX.instant());
        assert_eq!(half.saturating_sub(Duration::MAX), UtcInstant::MIN);
        assert_eq!(half.ceil().unix_seconds(), half.floor().unix_seconds() + 1);
    }
}
