//! The five cron fields.

use super::names::{MONTHS, WEEKDAYS};
use super::piece::Piece;
use crate::bounds::{Bounds, DAY_OF_MONTH, DAY_OF_WEEK, HOUR, MINUTE, MONTH};
use crate::calendar::{Cron, Stars};
use crate::error::{Code, DefinitionError, Span, quoted};
use crate::suggest::nearest;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// What a field accepts.
pub(super) struct Field {
    pub bounds: Bounds<u8>,
    /// Names of the values, from the least one up.
    pub names: &'static [&'static str],
}

impl Field {
    pub const MINUTE: Self = Self { bounds: MINUTE, names: &[] };
    pub const HOUR: Self = Self { bounds: HOUR, names: &[] };
    pub const DAY_OF_MONTH: Self = Self { bounds: DAY_OF_MONTH, names: &[] };
    pub const MONTH: Self = Self { bounds: MONTH, names: &MONTHS };
    pub const DAY_OF_WEEK: Self = Self { bounds: DAY_OF_WEEK, names: &WEEKDAYS };

    const ALL: [Self; 5] =
        [Self::MINUTE, Self::HOUR, Self::DAY_OF_MONTH, Self::MONTH, Self::DAY_OF_WEEK];

    /// What messages say is accepted as a single value.
    pub fn accepted(&self) -> String {
        match self.names {
            [] => self.bounds.to_string(),
            [first, .., last] => format!("{} or {first}-{last}", self.bounds),
            [only] => (*only).into(),
        }
    }

    /// A single value, a number or a name.
    pub fn value(&self, piece: Piece<'_>) -> Result<u8, DefinitionError> {
        let value = match number(piece.text) {
            Some(number) => Some(number).filter(|&number| self.bounds.contains(number)),
            None => self.named(piece.text),
        };
        value.ok_or_else(|| self.not_a_value(piece))
    }

    /// The value with a name, which has three letters in any case.
    fn named(&self, text: &str) -> Option<u8> {
        let name = <[u8; 3]>::try_from(text.as_bytes()).ok()?.map(|b| b.to_ascii_uppercase());
        let i = self.names.iter().position(|known| known.as_bytes() == name)?;
        Some(self.bounds.min + i as u8)
    }

    #[cold]
    fn not_a_value(&self, piece: Piece<'_>) -> DefinitionError {
        let (what, text) = (self.bounds.what, piece.text);
        let error = |code, message: String| {
            DefinitionError::configuration(code, piece.span(), message)
                .found(text)
                .expect(self.accepted())
        };
        if text.is_empty() {
            error(Code::InvalidField, format!("a {what} is missing here"))
        } else if number(text).is_some() {
            error(Code::OutOfRange, format!("{what} {} is out of range", quoted(text)))
                .hint_if(self.range_hint(text))
        } else {
            error(Code::InvalidField, format!("{} is not a {what}", quoted(text)))
                .hint_if(self.word_hint(text))
        }
    }

    fn range_hint(&self, text: &str) -> Option<String> {
        let hint = match (self.bounds.what, text.trim_start_matches('0')) {
            ("day of week", "7") => "Sunday is `0` or `SUN`",
            ("hour", "24") => "midnight is hour `0`",
            ("minute", "60") => "the full hour is minute `0`",
            ("day of month" | "month", "") => "counting begins at `1`",
            _ => return None,
        };
        Some(hint.into())
    }

    fn word_hint(&self, text: &str) -> Option<String> {
        if text.starts_with(['L', 'W']) || text.ends_with(['L', 'W']) || text.contains('#') {
            return Some("`L`, `W` and `#` are not part of standard cron".into());
        }
        if text.contains('?') {
            return Some("write `*`".into());
        }
        if text.contains('=') {
            return Some("clauses are separated by `;`".into());
        }
        if text.starts_with(['-', '+']) {
            return Some("signs are not accepted".into());
        }
        let short = text.get(..3).filter(|_| text.is_ascii());
        let known = self.names.iter().copied();
        short
            .and_then(|short| known.clone().find(|name| name.eq_ignore_ascii_case(short)))
            .or_else(|| nearest(text, known))
            .map(|name| format!("did you mean `{name}`?"))
    }

    fn show(&self, value: u8, named: bool) -> String {
        match self.names.get(usize::from(value - self.bounds.min)) {
            Some(name) if named => (*name).into(),
            _ => value.to_string(),
        }
    }

    /// A range that runs backward, split at the end of the field.
    pub fn unwrapped(&self, first: u8, last: u8, named: bool) -> String {
        let show = |a: u8, b: u8| {
            if a == b {
                self.show(a, named)
            } else {
                format!("{}-{}", self.show(a, named), self.show(b, named))
            }
        };
        format!("{},{}", show(first, self.bounds.max), show(self.bounds.min, last))
    }

    /// One item of a list: `*`, `*/s`, `n`, `n-m`, `n-m/s`.
    fn item(&self, item: Piece<'_>) -> Result<u64, DefinitionError> {
        let (range, step) = match item.cut(b'/') {
            Some((range, step)) => (range, Some(step)),
            None => (item, None),
        };
        let (first, last) = if range.text == "*" {
            (self.bounds.min, self.bounds.max)
        } else {
            let (first, last, single) = self.range(range)?;
            if step.is_some() && single {
                return Err(self.step_on_a_number(item, range));
            }
            (first, last)
        };
        match step {
            Some(step) => Ok(every(first, last, self.step(step, last - first)?)),
            None => Ok(run(first, last)),
        }
    }

    /// First and last value of `n` or `n-m`, and whether it is the former.
    fn range(&self, range: Piece<'_>) -> Result<(u8, u8, bool), DefinitionError> {
        let Some((first_text, last_text)) = range.cut(b'-') else {
            let value = self.value(range)?;
            return Ok((value, value, true));
        };
        let (first, last) = (self.value(first_text)?, self.value(last_text)?);
        if first <= last {
            return Ok((first, last, false));
        }
        let named = !first_text.text.starts_with(|c: char| c.is_ascii_digit());
        let message = format!("{} range {} runs backward", self.bounds.what, quoted(range.text));
        Err(DefinitionError::configuration(Code::ReversedRange, range.span(), message)
            .found(range.text)
            .expect("a range from low to high")
            .hint(format!("ranges don't wrap; write `{}`", self.unwrapped(first, last, named))))
    }

    fn step_on_a_number(&self, item: Piece<'_>, range: Piece<'_>) -> DefinitionError {
        let (text, range) = (item.text, range.text);
        let step = &text[range.len() + 1..];
        DefinitionError::configuration(
            Code::InvalidStep,
            item.span(),
            format!("{} is a step on a single {}", quoted(text), self.bounds.what),
        )
        .found(text)
        .expect("`*/s` or `n-m/s`")
        .hint(format!("write `{range}-{}/{step}`", self.bounds.max))
    }

    fn step(&self, step: Piece<'_>, width: u8) -> Result<u8, DefinitionError> {
        let text = step.text;
        let error = |message: String| {
            DefinitionError::configuration(Code::InvalidStep, step.span(), message)
                .found(text)
                .expect(format!("a step of 1-{}", width.max(1)))
        };
        match number(text) {
            None => Err(error(format!("{} is not a step", quoted(text)))),
            Some(0) => Err(error("a step of `0` never advances".into())),
            Some(step) if step == 1 || step <= width => Ok(step),
            Some(_) => Err(error(format!(
                "step {} is larger than the {} range it steps over",
                quoted(text),
                self.bounds.what
            ))
            .hint("only the first value would match: write that value alone")),
        }
    }

    /// The whole field: a set, and whether its text begins with `*`.
    fn parse(&self, field: Piece<'_>, errors: &mut Vec<DefinitionError>) -> (u64, bool) {
        if field.text == "*" {
            return (run(self.bounds.min, self.bounds.max), true);
        }
        let mut set = 0;
        for item in field.split(b',') {
            match self.item(item) {
                Ok(values) => set |= values,
                Err(error) => errors.push(error),
            }
        }
        (set, field.text.starts_with('*'))
    }
}

/// A number without sign; one too large for the type is the largest, which no
/// field and no step accepts either.
fn number(text: &str) -> Option<u8> {
    if text.is_empty() {
        return None;
    }
    text.bytes().try_fold(0_u8, |sum, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then(|| sum.saturating_mul(10).saturating_add(digit))
    })
}

/// The set of all values from `first` to `last`.
pub(super) const fn run(first: u8, last: u8) -> u64 {
    (2 << last) - (1 << first)
}

/// The set of every `step`-th value from `first` to `last`.
pub(super) fn every(first: u8, last: u8, step: u8) -> u64 {
    if step == 1 {
        return run(first, last);
    }
    (first..=last).step_by(step.into()).fold(0, |set, value| set | 1 << value)
}

/// The five fields, each with its place. Nothing if any has an error.
pub(super) fn parse(fields: &[Piece<'_>; 5], errors: &mut Vec<DefinitionError>) -> Option<Cron> {
    let errors_before = errors.len();
    let mut sets = [(0, false); 5];
    for ((set, field), &piece) in sets.iter_mut().zip(&Field::ALL).zip(fields) {
        *set = field.parse(piece, errors);
    }
    if errors.len() > errors_before {
        return None;
    }
    let [minute, hour, day_of_month, month, day_of_week] = sets;
    let cron = Cron {
        minutes: minute.0,
        hours: hour.0 as u32,
        days_of_month: day_of_month.0 as u32,
        months: month.0 as u16,
        days_of_week: day_of_week.0 as u8,
        stars: Stars {
            minute: minute.1,
            hour: hour.1,
            day_of_month: day_of_month.1,
            day_of_week: day_of_week.1,
        },
    };
    if cron.can_match() {
        return Some(cron);
    }
    let [_, _, day, month, _] = fields;
    errors.push(
        DefinitionError::configuration(
            Code::NeverMatches,
            Span::new(day.at, month.end()),
            "this day and month never occur together".into(),
        )
        .found(format!("{} {}", day.text, month.text))
        .expect("a day that at least one of the months has")
        .hint("no year has such a date, so the job would never run"),
    );
    None
}
