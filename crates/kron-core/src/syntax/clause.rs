//! Clauses of `@only` and `@avoid`.
//!
//! A malformed clause is a validation error, as the error model has it.

use super::cron::{Field, run};
use super::modifier::Argument;
use super::piece::Piece;
use crate::constraint::{Clauses, Constraints};
use crate::error::{Category, Code, DefinitionError, quoted};
use crate::suggest::nearest;
use crate::time::civil::Date;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

const KEYS: [&str; 7] = ["hours", "dow", "dom", "months", "between", "date", "dates"];

/// What `@only` and `@avoid` say; nothing if there are errors.
pub(super) fn constraints(
    only: Option<Argument<'_>>,
    avoid: Option<Argument<'_>>,
    errors: &mut Vec<DefinitionError>,
) -> Option<Constraints> {
    if only.is_none() && avoid.is_none() {
        return Some(Constraints::default());
    }
    let (mut wanted, mut unwanted) = (Clauses::default(), Clauses::default());
    read(only.flatten(), &mut wanted, errors);
    read(avoid.flatten(), &mut unwanted, errors);
    errors.is_empty().then(|| Constraints::new(wanted, unwanted))
}

/// Reads a semicolon-separated list of clauses.
fn read(body: Argument<'_>, clauses: &mut Clauses, errors: &mut Vec<DefinitionError>) {
    let Some(body) = body else { return };
    for piece in body.split(b';') {
        if let Err(error) = clause(clauses, piece) {
            errors.push(error);
        }
    }
}

fn malformed(code: Code, piece: Piece<'_>, message: String) -> DefinitionError {
    DefinitionError::validation(code, piece.span(), message).found(piece.text)
}

fn clause(clauses: &mut Clauses, clause: Piece<'_>) -> Result<(), DefinitionError> {
    let Some((key, value)) = clause.cut(b'=') else {
        return Err(no_key(clause));
    };
    if value.text.is_empty() && KEYS.contains(&key.text) {
        let message = format!("clause {} has no value", quoted(key.text));
        return Err(malformed(Code::MissingValue, clause, message).expect(example(key.text)));
    }
    match key.text {
        "hours" => {
            *clauses.hours.get_or_insert_default() |= ranges(&Field::HOUR, true, value)? as u32;
        }
        "dow" => {
            *clauses.days_of_week.get_or_insert_default() |=
                ranges(&Field::DAY_OF_WEEK, true, value)? as u8;
        }
        "dom" => {
            *clauses.days_of_month.get_or_insert_default() |=
                ranges(&Field::DAY_OF_MONTH, false, value)? as u32;
        }
        "months" => {
            *clauses.months.get_or_insert_default() |= ranges(&Field::MONTH, true, value)? as u16;
        }
        "between" => {
            let (first, last) = between(value)?;
            clauses.between.insert(first, last);
        }
        "date" => {
            let day = date(value)?.day_number();
            clauses.insert_dates(day..=day);
        }
        "dates" => {
            let (first, last) = dates(value)?;
            clauses.insert_dates(first.day_number()..=last.day_number());
        }
        _ => return Err(unknown_key(key)),
    }
    Ok(())
}

#[cold]
fn no_key(clause: Piece<'_>) -> DefinitionError {
    let message = match clause.text {
        "" => "an empty clause".into(),
        text => format!("clause {} has no `=`", quoted(text)),
    };
    malformed(Code::MalformedClause, clause, message).expect("a clause such as `hours=8-18`")
}

#[cold]
fn unknown_key(key: Piece<'_>) -> DefinitionError {
    let synonym = match key.text {
        "hour" => Some("hours"),
        "weekday" | "weekdays" | "day" | "days" => Some("dow"),
        "month" => Some("months"),
        "time" | "times" => Some("between"),
        text => nearest(text, KEYS.into_iter()),
    };
    let message = format!("unknown clause {}", quoted(key.text));
    malformed(Code::UnknownKey, key, message)
        .expect(KEYS.join(", "))
        .hint_if(synonym.map(|key| format!("did you mean `{key}`?")))
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
fn ranges(field: &Field, wraps: bool, list: Piece<'_>) -> Result<u64, DefinitionError> {
    let bounds = &field.bounds;
    let value = |piece: Piece<'_>| {
        field.value(piece).map_err(|error| error.in_category(Category::Validation))
    };
    let mut set = 0;
    for item in list.split(b',') {
        let (first, last) = match item.cut(b'-') {
            Some((first, last)) => (value(first)?, value(last)?),
            None => {
                let value = value(item)?;
                (value, value)
            }
        };
        if first <= last {
            set |= run(first, last);
        } else if wraps {
            set |= run(first, bounds.max) | run(bounds.min, last);
        } else {
            let message = format!("{} range {} runs backward", bounds.what, quoted(item.text));
            let instead = field.unwrapped(first, last, false);
            return Err(malformed(Code::ReversedRange, item, message)
                .expect("a range from low to high")
                .hint(format!("months differ in length; write `{instead}` if that is meant")));
        }
    }
    Ok(set)
}

/// `hh:mm-hh:mm`, as minutes of the day.
fn between(range: Piece<'_>) -> Result<(u16, u16), DefinitionError> {
    let Some((first, last)) = range.cut(b'-') else {
        let message = format!("{} is not a time range", quoted(range.text));
        return Err(
            malformed(Code::MalformedClause, range, message).expect("`between=08:00-20:00`")
        );
    };
    Ok((time_of_day(first)?, time_of_day(last)?))
}

fn time_of_day(time: Piece<'_>) -> Result<u16, DefinitionError> {
    let text = time.text;
    let error = |message: &str| {
        malformed(Code::MalformedClause, time, format!("{} {message}", quoted(text)))
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

fn date(date: Piece<'_>) -> Result<Date, DefinitionError> {
    let error = |message: &str| {
        malformed(Code::MalformedClause, date, format!("{} {message}", quoted(date.text)))
            .expect("a date as `yyyy-mm-dd`")
    };
    let bytes = date.text.as_bytes();
    let digits = |range: Range<usize>| {
        bytes[range].iter().try_fold(0, |sum, byte| {
            byte.is_ascii_digit().then(|| sum * 10 + i32::from(byte - b'0'))
        })
    };
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return Err(error("is not a date"));
    }
    let (Some(year), Some(month), Some(day)) = (digits(0..4), digits(5..7), digits(8..10)) else {
        return Err(error("is not a date"));
    };
    Date::new(year, month as u8, day as u8).ok_or_else(|| error("does not exist"))
}

fn dates(range: Piece<'_>) -> Result<(Date, Date), DefinitionError> {
    let text = range.text;
    let Some((first_text, last_text)) = text.split_once("..") else {
        let message = format!("{} is not a range of dates", quoted(text));
        return Err(malformed(Code::MalformedClause, range, message)
            .expect("`dates=2026-12-24..2026-12-31`"));
    };
    let first = date(Piece { text: first_text, at: range.at })?;
    let last = date(Piece { text: last_text, at: range.at + first_text.len() + 2 })?;
    if first > last {
        let message = format!("range of dates {} runs backward", quoted(text));
        return Err(malformed(Code::ReversedRange, range, message)
            .expect("the earlier date first")
            .hint(format!("did you mean `{last}..{first}`?")));
    }
    Ok((first, last))
}
