//! Durations against Go's own parser.

use core::time::Duration;
use kron_core::time::duration::{self, DurationErrorKind as Kind, Pretty};

/// SYN-16: Go's grammar, unit by unit, to the nanosecond; signs are refused.
#[test]
fn agrees_with_go() {
    let mut rows = 0;
    for line in include_str!("data/duration/go.tsv").lines().filter(|line| !line.starts_with('#')) {
        let (input, expected) = line.rsplit_once('\t').unwrap();
        let input: String = serde_json::from_str(input).unwrap();
        // Go's sum of two parts of 2^63 ns each wraps to nothing; ours is too long.
        let wraps = input.matches("9223372036854775808ns").count() == 2;
        let expected = expected.parse::<i64>().ok().filter(|_| !wraps);
        let signed = input.starts_with(['-', '+']);
        let got = duration::parse(&input).ok();
        let expected = expected.filter(|_| !signed).map(|n| Duration::from_nanos(n as u64));
        assert_eq!(got, expected, "{line}");
        // Printing and reading again gives the same length.
        if let Some(length) = got {
            assert_eq!(duration::parse(&Pretty(length).to_string()), Ok(length), "{line}");
        }
        rows += 1;
    }
    assert!(rows >= 2800, "{rows}");
}

/// FAULTS 6: what is wrong, and where.
#[test]
fn errors_have_a_kind_and_a_place() {
    for (text, kind, start, end) in [
        ("", Kind::Empty, 0, 0),
        ("-1s", Kind::Negative, 0, 3),
        ("+1s", Kind::Signed, 0, 1),
        ("s", Kind::MissingNumber, 0, 1),
        ("1h.m", Kind::MissingNumber, 2, 3),
        ("1h30", Kind::MissingUnit, 2, 4),
        ("3d", Kind::UnknownUnit, 1, 2),
        ("1h2è3s", Kind::UnknownUnit, 3, 5),
        ("9999999h", Kind::Overflow, 0, 8),
        ("99999999999999999999999s", Kind::Overflow, 0, 24),
        ("é", Kind::MissingNumber, 0, 2),
    ] {
        let error = duration::parse(text).unwrap_err();
        assert_eq!((error.kind, error.start, error.end), (kind, start, end), "{text}");
    }
}

#[test]
fn canonical_forms() {
    for (input, expected) in [
        ("0", "0s"),
        ("90m", "1h30m"),
        ("1.5h", "1h30m"),
        ("0.5s", "500ms"),
        ("61s", "1m1s"),
        ("1us1ns", "1us1ns"),
        ("2562047h47m16.854775807s", "2562047h47m16s854ms775us807ns"),
    ] {
        assert_eq!(Pretty(duration::parse(input).unwrap()).to_string(), expected, "{input}");
    }
}
