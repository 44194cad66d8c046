//! Clauses of `@only` and `@avoid`.
//!
//! A malformed clause is a validation error, as the error model has it.

use super::cron::Field;
use super::modifier::Argument;
use crate::constraint::Clauses;
use crate::error::{Category, Code, DefinitionError, Span, quoted};
use crate::suggest::nearest;
use crate::time::civil::Date;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

const KEYS: [&str; 7] = ["hours", "dow", "dom", "months", "between", "date", "dates"];

/// Reads a semicolon-separated list of clauses; nothing if any is wrong.
pub(super) fn clauses(
    argument: Option<Argument<'_>>,
    errors: &mut Vec<DefinitionError>,
) -> Option<Clauses> {
    let mut clauses = Clauses::default();
    let Some(body) = argument else {
        return Some(clauses);
    };
    let body = body?;
    let before = errors.len();
    let mut at = body.at;
    for text in body.text.split(';') {
        if let Err(error) = clause(&mut clauses, text, at) {
            errors.push(error);
        }
        at += text.len() + 1;
    }
    (errors.len() == before).then_some(clauses)
}

fn malformed(code: Code, at: usize, text: &str, message: String) -> DefinitionError {
    DefinitionError::validation(code, Span::new(at, at + text.len()), message).found(text)
}

fn clause(clauses: &mut Clauses, text: &str, at: usize) -> Result<(), DefinitionError> {
    if text.is_empty() {
        return Err(malformed(Code::MalformedClause, at, text, "an empty clause".into())
            .expect("a clause such as `hours=8-18`"));
    }
    let Some((key, value)) = text.split_once('=') else {
        let message = format!("clause {} has no `=`", quoted(text));
        return Err(malformed(Code::MalformedClause, at, text, message)
            .expect("a clause such as `hours=8-18`"));
    };
    if !KEYS.contains(&key) {
        let synonym = match key {
            "hour" => Some("hours"),
            "weekday" | "weekdays" | "day" | "days" => Some("dow"),
            "month" => Some("months"),
            "time" | "times" => Some("between"),
            _ => nearest(key, KEYS.into_iter()),
        };
        let message = format!("unknown clause {}", quoted(key));
        return Err(malformed(Code::UnknownKey, at, key, message)
            .expect(KEYS.join(", "))
            .hint_if(synonym.map(|key| format!("did you mean `{key}`?"))));
    }
    let value_at = at + key.len() + 1;
    if value.is_empty() {
        let message = format!("clause {} has no value", quoted(key));
        return Err(malformed(Code::MissingValue, at, text, message).expect(example(key)));
    }
    let ranges = |field: &Field, wraps: bool| ranges(field, wraps, value, value_at);
    match key {
        "hours" => {
            *clauses.hours.get_or_insert_default() |= ranges(&Field::HOUR, true)? as u32;
        }
        "dow" => {
            *clauses.days_of_week.get_or_insert_default() |=
                ranges(&Field::DAY_OF_WEEK, true)? as u8;
        }
        "dom" => {
            *clauses.days_of_month.get_or_insert_default() |=
                ranges(&Field::DAY_OF_MONTH, false)? as u32;
        }
        "months" => {
            *clauses.months.get_or_insert_default() |= ranges(&Field::MONTH, true)? as u16;
        }
        "between" => {
            let (first, last) = between(value, value_at)?;
            clauses.between.insert(first, last);
        }
        "date" => {
            let day = date(value, value_at)?.day_number();
            clauses.insert_dates(day..=day);
        }
        _ => {
            let (first, last) = dates(value, value_at)?;
            clauses.insert_dates(first.day_number()..=last.day_number());
        }
    }
    Ok(())
}

fn example(key: &str) -> &'static str {
    match key {
        "hours" => "`hours=8-18`",
        "dow" => "`dow=MON-FRI`",
        "dom" => "`dom=1-7,15`",
        "months" => "`months=JAN-MAR`",
        "between" => "`between=08:00-20:00`",
        "date" => "`date=2026-12-25`",
        _ => "`dates=2026-12-24..2026-12-31`",
    }
}

/// A list of values and ranges, such as `1-5,7,9-12`.
fn ranges(field: &Field, wraps: bool, text: &str, at: usize) -> Result<u64, DefinitionError> {
    let bounds = &field.bounds;
    let mut set = 0;
    let mut start = at;
    for item in text.split(',') {
        let value = |text: &str, at: usize| {
            field.value(text, at).map_err(|error| error.in_category(Category::Validation))
        };
        let (first, last) = match item.split_once('-') {
            Some((first, last)) => (value(first, start)?, value(last, start + first.len() + 1)?),
            None => {
                let value = value(item, start)?;
                (value, value)
            }
        };
        if first <= last {
            set |= (first..=last).fold(0, |set, value| set | 1_u64 << value);
        } else if wraps {
            set |= (first..=bounds.max).chain(bounds.min..=last).fold(0, |set, v| set | 1_u64 << v);
        } else {
            let message = format!("{} range {} runs backward", bounds.what, quoted(item));
            let instead = field.unwrapped(first, last, false);
            return Err(malformed(Code::ReversedRange, start, item, message)
                .expect("a range from low to high")
                .hint(format!("months differ in length; write `{instead}` if that is meant")));
        }
        start += item.len() + 1;
    }
    Ok(set)
}

/// `hh:mm-hh:mm`, as minutes of the day.
fn between(text: &str, at: usize) -> Result<(u16, u16), DefinitionError> {
    let Some((first, last)) = text.split_once('-') else {
        let message = format!("{} is not a time range", quoted(text));
        return Err(
            malformed(Code::MalformedClause, at, text, message).expect("`between=08:00-20:00`")
        );
    };
    Ok((time_of_day(first, at)?, time_of_day(last, at + first.len() + 1)?))
}

fn time_of_day(text: &str, at: usize) -> Result<u16, DefinitionError> {
    let error = |message: &str| {
        malformed(Code::MalformedClause, at, text, format!("{} {message}", quoted(text)))
            .expect("a time from `00:00` to `23:59`")
    };
    let &[h1 @ b'0'..=b'9', h2 @ b'0'..=b'9', b':', m1 @ b'0'..=b'9', m2 @ b'0'..=b'9'] =
        text.as_bytes()
    else {
        let padded = format!("0{text}");
        let hint = time_of_day_text(&padded).then(|| format!("did you mean `{padded}`?"));
        return Err(error("is not a time of day").hint_if(hint));
    };
    let number = |tens: u8, ones: u8| u16::from(tens - b'0') * 10 + u16::from(ones - b'0');
    let (hour, minute) = (number(h1, h2), number(m1, m2));
    if hour > 23 || minute > 59 {
        let hint = (text == "24:00").then(|| "the day ends with minute `23:59`".into());
        return Err(error("does not exist").hint_if(hint));
    }
    Ok(hour * 60 + minute)
}

fn time_of_day_text(text: &str) -> bool {
    matches!(text.as_bytes(), [b'0', b'0'..=b'9', b':', b'0'..=b'5', b'0'..=b'9'])
}

fn date(text: &str, at: usize) -> Result<Date, DefinitionError> {
    let error = |message: &str| {
        malformed(Code::MalformedClause, at, text, format!("{} {message}", quoted(text)))
            .expect("a date as `yyyy-mm-dd`")
    };
    let digits = |range: core::ops::Range<usize>| {
        text.get(range)
            .filter(|part| part.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|part| part.parse::<i32>().ok())
    };
    let dashes = text.len() == 10 && text.as_bytes()[4] == b'-' && text.as_bytes()[7] == b'-';
    let (true, Some(year), Some(month), Some(day)) =
        (dashes, digits(0..4), digits(5..7), digits(8..10))
    else {
        return Err(error("is not a date"));
    };
    Date::new(year, month as u8, day as u8).ok_or_else(|| error("does not exist"))
}

fn dates(text: &str, at: usize) -> Result<(Date, Date), DefinitionError> {
    let Some((first_text, last_text)) = text.split_once("..") else {
        let message = format!("{} is not a range of dates", quoted(text));
        return Err(malformed(Code::MalformedClause, at, text, message)
            .expect("`dates=2026-12-24..2026-12-31`"));
    };
    let first = date(first_text, at)?;
    let last = date(last_text, at + first_text.len() + 2)?;
    if first > last {
        let message = format!("range of dates {} runs backward", quoted(text));
        return Err(malformed(Code::ReversedRange, at, text, message)
            .expect("the earlier date first")
            .hint(format!("did you mean `{last}..{first}`?")));
    }
    Ok((first, last))
}
