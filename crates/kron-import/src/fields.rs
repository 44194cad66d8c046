//! Five cron fields of another dialect, in Kron's.
//!
//! Kron reads what all crons agree on. What only some accept (`7` for Sunday,
//! `5/15`, steps beyond the end, `~`, `?`) is rewritten here, so that the same
//! minutes match; what has no equal is an error with the reason.
//!
//! A leading `*` is more than notation: it makes two day fields an "and", and it
//! decides what happens when the clock changes. Rewriting keeps it, or says so.

use crate::message::quoted;
use kron_core::bounds::{Bounds, DAY_OF_MONTH, DAY_OF_WEEK, HOUR, MINUTE, MONTH};

/// Whose cron the fields were written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Vixie's cron and its heirs: Debian's cron, cronie.
    Vixie,
    /// The Go library of Kubernetes.
    Robfig,
}

/// Fields that Kron reads.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Converted {
    pub cron: String,
    /// From `~`.
    pub window_seconds: u64,
    pub changes: Vec<String>,
    /// Whether a field lost its leading `*`, so that the schedule became one
    /// of fixed times. It matters only where clocks change.
    pub became_fixed: bool,
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const FIELDS: [(Bounds<u8>, &[&str]); 5] =
    [(MINUTE, &[]), (HOUR, &[]), (DAY_OF_MONTH, &[]), (MONTH, &MONTHS), (DAY_OF_WEEK, &WEEKDAYS)];

/// The five fields that a name such as `@daily` stands for.
pub(crate) fn named(name: &str) -> Option<&'static str> {
    Some(match name {
        "@hourly" => "0 * * * *",
        "@daily" | "@midnight" => "0 0 * * *",
        "@weekly" => "0 0 * * 0",
        "@monthly" => "0 0 1 * *",
        "@yearly" | "@annually" => "0 0 1 1 *",
        _ => return None,
    })
}

/// Rewrites five fields.
pub(crate) fn convert(fields: [&str; 5], dialect: Dialect) -> Result<Converted, Vec<String>> {
    let mut out = Converted::default();
    let mut texts = fields.map(String::from);
    let mut reasons = Vec::new();
    if dialect == Dialect::Vixie && fields.iter().any(|field| field.contains('~')) {
        match random(fields) {
            Ok((minute, hour, seconds)) => {
                out.changes.push(format!(
                    "`~` draws once, when cron reads the file; here each period draws \
                     from a window of {}",
                    crate::message::duration(seconds)
                ));
                out.window_seconds = seconds;
                (texts[0], texts[1]) = (minute, hour);
            }
            Err(reason) => return Err(vec![reason]),
        }
    }
    let mut converted: [Field; 5] = Default::default();
    for (i, (field, text)) in converted.iter_mut().zip(&texts).enumerate() {
        match Field::convert(i, text, dialect) {
            Ok(found) => *field = found,
            Err(reason) => reasons.push(reason),
        }
    }
    if !reasons.is_empty() {
        return Err(reasons);
    }
    combine_days(&mut converted, dialect)?;
    let [minute, hour, ..] = &converted;
    let was_fixed = !minute.star_before && !hour.star_before;
    let is_fixed = !minute.text.starts_with('*') && !hour.text.starts_with('*');
    out.became_fixed = is_fixed && !was_fixed;
    for field in &mut converted {
        out.changes.append(&mut field.changes);
    }
    out.cron = converted.map(|field| field.text).join(" ");
    Ok(out)
}

/// Sees to it that the two day fields combine as they did.
fn combine_days(fields: &mut [Field; 5], dialect: Dialect) -> Result<(), Vec<String>> {
    let [_, _, dom, _, dow] = fields;
    match dialect {
        Dialect::Vixie => {
            let and = dom.star_before || dow.star_before;
            let still = dom.text.starts_with('*') || dow.text.starts_with('*');
            if and && !still {
                return Err(vec![
                    "day of month and day of week must both match here, which cannot be \
                     written without a leading `*`; use `@only(dow=…)`"
                        .into(),
                ]);
            }
        }
        // Here a step takes the star's meaning away, and the days are an "or".
        Dialect::Robfig => {
            if !dom.star_before && !dow.star_before {
                for (field, range) in [(dom, "1-31"), (dow, "0-6")] {
                    if let Some(step) = field.text.strip_prefix('*') {
                        field.text = format!("{range}{step}");
                    }
                }
            }
        }
    }
    Ok(())
}

#[derive(Default)]
struct Field {
    text: String,
    /// Whether the original counted as unrestricted.
    star_before: bool,
    changes: Vec<String>,
}

impl Field {
    fn convert(index: usize, text: &str, dialect: Dialect) -> Result<Self, String> {
        let mut field = Self::default();
        let mut items = Vec::new();
        for (i, item) in text.split(',').enumerate() {
            let item = Item::convert(index, item, text, dialect)?;
            field.star_before |= match dialect {
                Dialect::Vixie => i == 0 && item.star,
                Dialect::Robfig => item.star && item.step == 1,
            };
            field.changes.extend(item.change);
            items.push(item.text);
        }
        // A star anywhere is a star there; Kron looks at the first only.
        if dialect == Dialect::Robfig && field.star_before {
            items = vec!["*".into()];
        }
        field.text = items.join(",");
        Ok(field)
    }
}

struct Item {
    text: String,
    star: bool,
    step: u32,
    change: Option<String>,
}

impl Item {
    fn convert(index: usize, item: &str, field: &str, dialect: Dialect) -> Result<Self, String> {
        let (bounds, _) = FIELDS[index];
        let is_weekday = index == 4;
        let top = if is_weekday && dialect == Dialect::Vixie { 7 } else { bounds.max };
        let (range, step_text) = match item.split_once('/') {
            Some((range, step)) => (range, Some(step)),
            None => (item, None),
        };
        let step = match step_text {
            None => 1,
            Some(text) => step(text)
                .ok_or_else(|| format!("{} is not a step, in {}", quoted(text), quoted(field)))?,
        };
        let fits = |first: u8, last: u8| step == 1 || step <= u32::from(last - first);
        if range == "*" || (range == "?" && dialect == Dialect::Robfig) {
            let text = match step_text {
                None => "*".into(),
                Some(_) if fits(bounds.min, bounds.max) => format!("*/{step}"),
                Some(_) => bounds.min.to_string(),
            };
            return Ok(Self { text, star: true, step, change: None });
        }
        let (first, last) = match range.split_once('-') {
            None => {
                let first = value(index, range, top, field)?;
                (first, if step_text.is_some() { top } else { first })
            }
            Some((first, last)) => {
                (value(index, first, top, field)?, value(index, last, top, field)?)
            }
        };
        if first > last {
            return Err(format!(
                "{} range {} runs backward; cron refuses it, or never runs it",
                bounds.what,
                quoted(range)
            ));
        }
        let text = if is_weekday && last == 7 {
            let stepped = (first..=last).step_by(usize::try_from(step).unwrap_or(8));
            list(stepped.fold(0, |set, day| set | 1 << (day % 7)))
        } else if step_text.is_none() {
            range.into()
        } else if fits(first, last) {
            format!("{first}-{last}/{step}")
        } else {
            first.to_string()
        };
        let alone = step_text.is_some() && !range.contains('-');
        let change = (alone && dialect == Dialect::Vixie).then(|| {
            format!(
                "{} is taken for `{text}`; some crons ignore the step or refuse it",
                quoted(item)
            )
        });
        Ok(Self { text, star: false, step, change })
    }
}

fn step(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|&step: &u32| digits && step > 0)
}

/// A number or a name.
fn value(index: usize, text: &str, top: u8, field: &str) -> Result<u8, String> {
    let (bounds, names) = FIELDS[index];
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        let number = text.parse().ok().filter(|&number| bounds.min <= number && number <= top);
        return number.ok_or_else(|| {
            format!("{} {} is out of range {}-{top}", bounds.what, quoted(text), bounds.min)
        });
    }
    let named = names.iter().position(|name| name.eq_ignore_ascii_case(text));
    named.map(|i| bounds.min + i as u8).ok_or_else(|| {
        let hint = if text.starts_with('H') {
            "; `H` is Jenkins' hash: choose a number, or `*` with `@win`"
        } else if text.contains(['L', 'W', '#', '?']) && text.len() < 4 {
            "; `L`, `W`, `#` and `?` are not part of standard cron"
        } else {
            ""
        };
        format!("{} is not a {}, in {}{hint}", quoted(text), bounds.what, quoted(field))
    })
}

/// A set of weekdays or the like, as a list of ranges.
pub(crate) fn list(set: u64) -> String {
    let mut parts = Vec::new();
    let mut n = 0;
    while n < 64 {
        if set >> n & 1 == 0 {
            n += 1;
            continue;
        }
        let first = n;
        while n < 64 && set >> n & 1 == 1 {
            n += 1;
        }
        let last = n - 1;
        parts.push(if first == last { first.to_string() } else { format!("{first}-{last}") });
    }
    parts.join(",")
}

/// Random minutes and hours: where the window begins, and how long it is.
fn random(fields: [&str; 5]) -> Result<(String, String, u64), String> {
    let reason = |text: &str| {
        format!("{} cannot become a window; give a time, and a window with `@win`", quoted(text))
    };
    let [minute, hour, rest @ ..] = fields;
    if let Some(field) = rest.iter().find(|field| field.contains('~')) {
        return Err(reason(field));
    }
    let ends = |index: usize, text: &str| {
        let (bounds, _) = FIELDS[index];
        let end = |text: &str, default: u8| match text {
            "" => Ok(default),
            _ => value(index, text, bounds.max, fields[index]),
        };
        let (first, last) = text.split_once('~').ok_or_else(|| reason(text))?;
        let (first, last) = (end(first, bounds.min)?, end(last, bounds.max)?);
        (first <= last).then_some((first, last)).ok_or_else(|| reason(text))
    };
    let (minute_first, minute_width) = if minute.contains('~') {
        let (first, last) = ends(0, minute)?;
        (first.to_string(), u64::from(last - first) * 60)
    } else {
        (minute.to_string(), 0)
    };
    if !hour.contains('~') {
        return Ok((minute_first, hour.into(), minute_width));
    }
    // Several minutes of a random hour are not one window.
    value(0, &minute_first, MINUTE.max, minute).map_err(|_| reason(hour))?;
    let (first, last) = ends(1, hour)?;
    Ok((minute_first, first.to_string(), minute_width + u64::from(last - first) * 3600))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(dialect: Dialect, text: &str, expected: &str) {
        let fields: Vec<&str> = text.split(' ').collect();
        let found = match convert(fields.try_into().unwrap(), dialect) {
            Ok(Converted { cron, window_seconds, changes, became_fixed }) => {
                let mut out = cron;
                if window_seconds > 0 {
                    out = format!("{out} +{window_seconds}");
                }
                if became_fixed {
                    out += " fixed";
                }
                if !changes.is_empty() {
                    out += " changed";
                }
                out
            }
            Err(reasons) => format!("refused: {}", reasons[0]),
        };
        assert!(found.starts_with(expected), "{text}: {found}, not {expected}");
    }

    #[test]
    fn vixie() {
        for (text, expected) in [
            ("*/5 * * * *", "*/5 * * * *"),
            ("09,39 * * * *", "09,39 * * * *"),
            ("0 0 * * 7", "0 0 * * 0"),
            ("0 0 * * 5-7", "0 0 * * 0,5-6"),
            ("0 0 * * 1-7", "0 0 * * 0-6"),
            ("0 0 * * 1-7/2", "0 0 * * 0-1,3,5"),
            ("0 0 * * fri,7", "0 0 * * fri,0"),
            ("0 0 * * Mon-Fri", "0 0 * * Mon-Fri"),
            ("5/15 * * * *", "5-59/15 * * * * changed"),
            ("50/15 * * * *", "50 * * * * changed"),
            ("*/60 * * * *", "0 * * * *"),
            ("*/60 3 * * *", "0 3 * * * fixed"),
            ("*/60 */24 * * *", "0 0 * * * fixed"),
            ("0 0 */31 * *", "0 0 1 * *"),
            ("0 0 */31 * 1", "refused: day of month and day of week"),
            ("0 0 13 * */7", "refused: day of month and day of week"),
            ("0 0 */2 * 1", "0 0 */2 * 1"),
            ("0-30/40 * * * *", "0 * * * *"),
            ("30-10 * * * *", "refused: minute range `30-10` runs backward"),
            ("0 0 * * fri-sun", "refused: day of week range `fri-sun` runs backward"),
            ("0~59 * * * *", "0 * * * * +3540 changed"),
            ("~ 4 * * *", "0 4 * * * +3540 changed"),
            ("10~20 4 * * 7", "10 4 * * 0 +600 changed"),
            ("0 1~5 * * *", "0 1 * * * +14400 changed"),
            ("0~59 1~5 * * *", "0 1 * * * +17940 changed"),
            ("*/5 1~5 * * *", "refused: `1~5` cannot become a window"),
            ("0 0 1~9 * *", "refused: `1~9` cannot become a window"),
            ("0,3~9 0 * * *", "refused: `0,3` is not a minute"),
            ("H 4 * * *", "refused: `H` is not a minute, in `H`; `H` is Jenkins' hash"),
            ("0 0 L * *", "refused: `L` is not a day of month"),
            ("60 * * * *", "refused: minute `60` is out of range 0-59"),
            ("0 0 * * 8", "refused: day of week `8` is out of range 0-7"),
            ("*/0 * * * *", "refused: `0` is not a step"),
            ("*/x * * * *", "refused: `x` is not a step"),
            (", * * * *", "refused: `` is not a minute"),
            ("? * * * *", "refused: `?` is not a minute"),
            ("4294967296 * * * *", "refused: minute `4294967296` is out of range"),
            ("*/4294967296 * * * *", "refused: `4294967296` is not a step"),
        ] {
            check(Dialect::Vixie, text, expected);
        }
    }

    #[test]
    fn robfig() {
        for (text, expected) in [
            ("5/15 * * * *", "5-59/15 * * * *"),
            ("0 0 ? * MON", "0 0 * * MON"),
            ("0 0 */2 * *", "0 0 */2 * *"),
            ("0 0 */2 * MON", "0 0 1-31/2 * MON"),
            ("0 0 */2 * */3", "0 0 1-31/2 * 0-6/3"),
            ("0 0 5,* * MON", "0 0 * * MON"),
            ("0 0 * * 7", "refused: day of week `7` is out of range 0-6"),
            ("0 0 * * 4/2", "0 0 * * 4-6/2"),
            ("*/90 * * * *", "0 * * * *"),
            ("0~5 * * * *", "refused: `0~5` is not a minute"),
        ] {
            check(Dialect::Robfig, text, expected);
        }
    }
}
