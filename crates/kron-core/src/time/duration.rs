//! Go's duration notation: `90m`, `1h30m`, `1.5h`, `250ms`.
//!
//! Written by hand because no crate reads exactly this grammar; a table made
//! with Go itself is the test. Signs are part of Go's grammar but negative
//! lengths make no sense anywhere in Kron, so they are refused.

use core::fmt;
use core::time::Duration;

/// The largest length Go can express, and so can we: about 292 years.
pub const MAX: Duration = Duration::from_nanos(i64::MAX as u64);

/// Units from large to small, with their nanoseconds.
const UNITS: [(&str, u64); 6] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Why a text is not a duration. The span counts bytes of the text given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DurationError {
    /// What is wrong.
    pub kind: DurationErrorKind,
    /// First byte at fault.
    pub start: usize,
    /// One past the last byte at fault.
    pub end: usize,
}

/// The ways in which a text can fail to be a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DurationErrorKind {
    /// Nothing there.
    Empty,
    /// A leading `-`.
    Negative,
    /// A leading `+`.
    Signed,
    /// A number was expected.
    MissingNumber,
    /// A number without a unit.
    MissingUnit,
    /// A unit that Go does not know.
    UnknownUnit,
    /// Longer than about 292 years.
    Overflow,
}

/// Reads a duration.
///
/// ```
/// use core::time::Duration;
/// use kron_core::time::duration;
/// assert_eq!(duration::parse("1h30m"), Ok(Duration::from_secs(5400)));
/// assert_eq!(duration::parse("1.5h"), Ok(Duration::from_secs(5400)));
/// assert!(duration::parse("-1s").is_err());
/// assert!(duration::parse("1d").is_err());
/// ```
///
/// # Errors
/// With the place and the kind of the first mistake.
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    use DurationErrorKind as Kind;
    let bytes = text.as_bytes();
    let error = |kind, start, end| Err(DurationError { kind, start, end });
    match bytes {
        [] => return error(Kind::Empty, 0, 0),
        [b'-', ..] => return error(Kind::Negative, 0, bytes.len()),
        [b'+', ..] => return error(Kind::Signed, 0, 1),
        [b'0'] => return Ok(Duration::ZERO),
        _ => {}
    }
    let mut total: u64 = 0;
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let whole_end = skip_digits(bytes, start);
        let (fraction_start, fraction_end) = match bytes.get(whole_end) {
            Some(b'.') => (whole_end + 1, skip_digits(bytes, whole_end + 1)),
            _ => (whole_end, whole_end),
        };
        if start == whole_end && fraction_start == fraction_end {
            return error(Kind::MissingNumber, start, fraction_end.max(char_end(text, start)));
        }
        at = fraction_end;
        while at < bytes.len() && !(bytes[at] == b'.' || bytes[at].is_ascii_digit()) {
            at += 1;
        }
        if at == fraction_end {
            return error(Kind::MissingUnit, start, at);
        }
        let Some(unit) = unit_nanos(&text[fraction_end..at]) else {
            return error(Kind::UnknownUnit, fraction_end, at);
        };
        let part = whole_nanos(&bytes[start..whole_end], unit)
            .and_then(|whole| {
                whole.checked_add(fraction_nanos(&bytes[fraction_start..fraction_end], unit))
            })
            .and_then(|part| total.checked_add(part))
            .filter(|&sum| i64::try_from(sum).is_ok());
        match part {
            Some(sum) => total = sum,
            None => return error(Kind::Overflow, 0, bytes.len()),
        }
    }
    Ok(Duration::from_nanos(total))
}

fn skip_digits(bytes: &[u8], from: usize) -> usize {
    from + bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn char_end(text: &str, start: usize) -> usize {
    start + text[start..].chars().next().map_or(0, char::len_utf8)
}

fn unit_nanos(unit: &str) -> Option<u64> {
    let i = match unit {
        "h" => 0,
        "m" => 1,
        "s" => 2,
        "ms" => 3,
        // Both the micro sign and the Greek letter are in use.
        "us" | "\u{b5}s" | "\u{3bc}s" => 4,
        "ns" => 5,
        _ => return None,
    };
    Some(UNITS[i].1)
}

fn whole_nanos(digits: &[u8], unit: u64) -> Option<u64> {
    digits
        .iter()
        .try_fold(0_u64, |sum, digit| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0')))?
        .checked_mul(unit)
}

/// Go reads as many digits of a fraction as fit its integers and scales them in
/// floating point; doing the same keeps the last nanosecond the same.
fn fraction_nanos(digits: &[u8], unit: u64) -> u64 {
    if digits.is_empty() {
        return 0;
    }
    let mut value: u64 = 0;
    let mut scale = 1.0_f64;
    for digit in digits {
        let next = value.checked_mul(10).and_then(|v| v.checked_add(u64::from(digit - b'0')));
        match next.filter(|&v| v <= 1 << 63) {
            Some(next) => value = next,
            None => break,
        }
        scale *= 10.0;
    }
    (value as f64 * (unit as f64 / scale)) as u64
}

/// Prints a duration in its shortest form of whole units: `1h30m`, `1s500ms`, `0s`.
#[derive(Clone, Copy, Debug)]
pub struct Pretty(pub Duration);

impl fmt::Display for Pretty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

impl Pretty {
    pub(crate) fn write(self, f: &mut impl fmt::Write) -> fmt::Result {
        // Whole seconds, which is nearly always, fit into a machine word.
        let mut rest = self.0.as_secs();
        for (name, seconds) in [("h", 3600), ("m", 60), ("s", 1)] {
            let count = rest / seconds;
            rest %= seconds;
            if count > 0 {
                write_number(f, count)?;
                f.write_str(name)?;
            }
        }
        let mut rest = u64::from(self.0.subsec_nanos());
        if rest == 0 && self.0.as_secs() == 0 {
            return f.write_str("0s");
        }
        for (name, nanos) in [("ms", 1_000_000), ("us", 1_000), ("ns", 1)] {
            let count = rest / nanos;
            rest %= nanos;
            if count > 0 {
                write_number(f, count)?;
                f.write_str(name)?;
            }
        }
        Ok(())
    }
}

fn write_number(f: &mut impl fmt::Write, number: u64) -> fmt::Result {
    if number < 10 {
        return f.write_char(char::from(b'0' + number as u8));
    }
    write_number(f, number / 10)?;
    f.write_char(char::from(b'0' + (number % 10) as u8))
}
