//! The five cron fields.

use super::names::{MONTHS, WEEKDAYS};
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
    pub fn value(&self, text: &str, at: usize) -> Result<u8, DefinitionError> {
        let span = Span::new(at, at + text.len());
        let what = self.bounds.what;
        let error = |code, message: String| {
            DefinitionError::configuration(code, span, message).found(text).expect(self.accepted())
        };
        if text.is_empty() {
            return Err(error(Code::InvalidField, format!("a {what} is missing here")));
        }
        if text.bytes().all(|b| b.is_ascii_digit()) {
            // Anything too long for a number is out of range as well.
            let value = text.parse::<u8>().ok().filter(|&value| self.bounds.contains(value));
            return value.ok_or_else(|| {
                error(Code::OutOfRange, format!("{what} {} is out of range", quoted(text)))
                    .hint_if(self.range_hint(text))
            });
        }
        let named = self.names.iter().position(|name| name.eq_ignore_ascii_case(text));
        if let Some(i) = named {
            return Ok(self.bounds.min + i as u8);
        }
        Err(error(Code::InvalidField, format!("{} is not a {what}", quoted(text)))
            .hint_if(self.word_hint(text)))
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
    fn item(&self, text: &str, at: usize) -> Result<u64, DefinitionError> {
        let (range, step) = match text.split_once('/') {
            Some((range, step)) => (range, Some((step, at + range.len() + 1))),
            None => (text, None),
        };
        let (first, last) = if range == "*" {
            (self.bounds.min, self.bounds.max)
        } else {
            let (first, last) = self.range(range, at)?;
            if step.is_some() && !range.contains('-') {
                return Err(self.step_on_a_number(text, range, at));
            }
            (first, last)
        };
        let step = match step {
            Some((step, at)) => self.step(step, at, last - first)?,
            None => 1,
        };
        Ok((first..=last).step_by(step.into()).fold(0, |set, value| set | 1 << value))
    }

    fn range(&self, text: &str, at: usize) -> Result<(u8, u8), DefinitionError> {
        let Some((first_text, last_text)) = text.split_once('-') else {
            let value = self.value(text, at)?;
            return Ok((value, value));
        };
        let first = self.value(first_text, at)?;
        let last = self.value(last_text, at + first_text.len() + 1)?;
        if first > last {
            let span = Span::new(at, at + text.len());
            let named = !first_text.starts_with(|c: char| c.is_ascii_digit());
            let message = format!("{} range {} runs backward", self.bounds.what, quoted(text));
            return Err(DefinitionError::configuration(Code::ReversedRange, span, message)
                .found(text)
                .expect("a range from low to high")
                .hint(format!(
                    "ranges don't wrap; write `{}`",
                    self.unwrapped(first, last, named)
                )));
        }
        Ok((first, last))
    }

    fn step_on_a_number(&self, text: &str, range: &str, at: usize) -> DefinitionError {
        let span = Span::new(at, at + text.len());
        let step = &text[range.len() + 1..];
        DefinitionError::configuration(
            Code::InvalidStep,
            span,
            format!("{} is a step on a single {}", quoted(text), self.bounds.what),
        )
        .found(text)
        .expect("`*/s` or `n-m/s`")
        .hint(format!("write `{range}-{}/{step}`", self.bounds.max))
    }

    fn step(&self, text: &str, at: usize, width: u8) -> Result<u8, DefinitionError> {
        let span = Span::new(at, at + text.len());
        let error = |message: String| {
            DefinitionError::configuration(Code::InvalidStep, span, message)
                .found(text)
                .expect(format!("a step of 1-{}", width.max(1)))
        };
        if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
            return Err(error(format!("{} is not a step", quoted(text))));
        }
        match text.parse::<u32>() {
            Ok(0) => Err(error("a step of `0` never advances".into())),
            Ok(step) if step == 1 || step <= width.into() => Ok(step as u8),
            _ => Err(error(format!(
                "step {} is larger than the {} range it steps over",
                quoted(text),
                self.bounds.what
            ))
            .hint("only the first value would match: write that value alone")),
        }
    }

    /// The whole field: a set, and whether its text begins with `*`.
    fn parse(&self, text: &str, at: usize, errors: &mut Vec<DefinitionError>) -> (u64, bool) {
        let mut set = 0;
        let mut start = at;
        for item in text.split(',') {
            match self.item(item, start) {
                Ok(values) => set |= values,
                Err(error) => errors.push(error),
            }
            start += item.len() + 1;
        }
        (set, text.starts_with('*'))
    }
}

/// The five fields, each with its place. Nothing if any has an error.
pub(super) fn parse(
    fields: &[(&str, usize); 5],
    errors: &mut Vec<DefinitionError>,
) -> Option<Cron> {
    let errors_before = errors.len();
    let mut sets = [(0, false); 5];
    for ((set, field), &(text, at)) in sets.iter_mut().zip(&Field::ALL).zip(fields) {
        *set = field.parse(text, at, errors);
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
    let (first, last) = (fields[2].1, fields[3].1 + fields[3].0.len());
    errors.push(
        DefinitionError::configuration(
            Code::NeverMatches,
            Span::new(first, last),
            "this day and month never occur together".into(),
        )
        .found(format!("{} {}", fields[2].0, fields[3].0))
        .expect("a day that at least one of the months has")
        .hint("no year has such a date, so the job would never run"),
    );
    None
}
