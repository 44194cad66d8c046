//! systemd's lengths of time: `90`, `1h 30min`, `2.5 days`, `infinity`.

/// Units, with their length in microseconds.
const UNITS: [(&[&str], u64); 9] = [
    (&["usec", "us", "µs", "μs"], 1),
    (&["msec", "ms"], 1_000),
    (&["seconds", "second", "sec", "s", ""], 1_000_000),
    (&["minutes", "minute", "min", "m"], 60_000_000),
    (&["hours", "hour", "hr", "h"], 3_600_000_000),
    (&["days", "day", "d"], 86_400_000_000),
    (&["weeks", "week", "w"], 604_800_000_000),
    (&["months", "month", "M"], 2_629_800_000_000),
    (&["years", "year", "y"], 31_557_600_000_000),
];

/// A length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Span {
    /// Whole seconds, rounded down.
    Seconds(u64),
    Infinite,
}

/// Reads a length of time.
pub(super) fn parse(text: &str) -> Option<Span> {
    let mut rest = text.trim();
    if rest == "infinity" {
        return Some(Span::Infinite);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = 0_u64;
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let whole: u64 = rest.get(..digits)?.parse().ok()?;
        rest = rest.get(digits..)?;
        let mut fraction = "";
        if let Some(after) = rest.strip_prefix('.') {
            let length = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            (fraction, rest) = (after.get(..length)?, after.get(length..)?);
        }
        rest = rest.trim_start();
        let length = rest.find(|c: char| c.is_ascii_digit() || c.is_whitespace());
        let (name, after) = rest.split_at(length.unwrap_or(rest.len()));
        let (_, unit) = UNITS.iter().find(|(names, _)| names.contains(&name))?;
        // Six digits are as fine as the result can show.
        let fraction = fraction.get(..6).unwrap_or(fraction);
        let scale = 10_u64.pow(fraction.len() as u32);
        let part: u64 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
        let micros = whole.checked_mul(*unit)?.checked_add(part.checked_mul(*unit)? / scale)?;
        total = total.checked_add(micros)?;
        rest = after.trim_start();
    }
    Some(Span::Seconds(total / 1_000_000))
}

#[cfg(test)]
mod tests {
    use super::Span::{Infinite, Seconds};
    use super::parse;

    #[test]
    fn spans() {
        for (text, expected) in [
            ("90", Some(Seconds(90))),
            ("1h 30min", Some(Seconds(5400))),
            ("1h30m", Some(Seconds(5400))),
            ("2.5 days", Some(Seconds(216_000))),
            ("60m", Some(Seconds(3600))),
            ("500ms", Some(Seconds(0))),
            ("infinity", Some(Infinite)),
            ("1 fortnight", None),
            ("", None),
            ("h", None),
            ("-1", None),
            ("99999999999999999999", None),
            ("9999999y", None),
            ("1.é", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
