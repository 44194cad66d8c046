//! Constraints: which seconds may be chosen (SPEC, Constraint Semantics).
//!
//! A second is judged by the wall clock of the job's zone. `only` holds when
//! every kind of clause it names holds, `avoid` when any clause does; clauses
//! of one kind add up. Both therefore split into a set of minutes of the day
//! and a set of days, which is what [`Constraints`] precomputes.

use crate::bounds::{DAY_OF_MONTH, DAY_OF_WEEK, HOUR, MONTH};
use crate::mutant::{self, Mutant};
use crate::time::DAY_SECONDS;
use crate::time::civil::{Date, weekday};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::RangeInclusive;

pub(crate) const DAY_MINUTES: u16 = 1440;

/// A set of minutes of the day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MinuteSet([u64; 23]);

impl MinuteSet {
    pub const EMPTY: Self = Self([0; 23]);

    /// From `first` to `last`, both included, over midnight if need be.
    pub fn insert(&mut self, first: u16, last: u16) {
        if first <= last {
            self.insert_run(first, last);
        } else {
            self.insert_run(first, DAY_MINUTES - 1);
            self.insert_run(0, last);
        }
    }

    fn insert_run(&mut self, first: u16, last: u16) {
        let (first_word, last_word) = (usize::from(first / 64), usize::from(last / 64));
        let (from, to) = (u64::MAX << (first % 64), u64::MAX >> (63 - last % 64));
        if first_word == last_word {
            self.0[first_word] |= from & to;
        } else {
            self.0[first_word] |= from;
            self.0[first_word + 1..last_word].fill(u64::MAX);
            self.0[last_word] |= to;
        }
    }

    pub fn contains(&self, minute: u16) -> bool {
        self.0[usize::from(minute / 64)] >> (minute % 64) & 1 == 1
    }

    pub fn is_empty(&self) -> bool {
        self.0 == [0; 23]
    }

    fn hours(mut hours: u32) -> Self {
        let mut set = Self::EMPTY;
        while hours != 0 {
            let first = hours.trailing_zeros();
            let end = first + (hours >> first).trailing_ones();
            set.insert_run(first as u16 * 60, end as u16 * 60 - 1);
            hours = hours >> end << end;
        }
        set
    }

    fn intersect(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word &= other;
        }
    }

    fn subtract(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word &= !other;
        }
    }

    /// The first run of minutes at or after `from`, first and last.
    pub fn run_at_or_after(&self, from: u16) -> Option<(u16, u16)> {
        let first = self.find(from, 0)?;
        let last = self.find(first, u64::MAX).map_or(DAY_MINUTES - 1, |gap| gap - 1);
        Some((first, last))
    }

    /// The first minute at or after `from` that is in the set flipped by `flip`.
    fn find(&self, from: u16, flip: u64) -> Option<u16> {
        let mut word = usize::from(from / 64);
        let mut bits = (self.0.get(word)? ^ flip) >> (from % 64) << (from % 64);
        while bits == 0 {
            word += 1;
            bits = self.0.get(word)? ^ flip;
        }
        let minute = word as u16 * 64 + bits.trailing_zeros() as u16;
        (minute < DAY_MINUTES).then_some(minute)
    }

    /// Runs in cyclic order, a run over midnight in one piece.
    fn cyclic_runs(&self) -> Vec<(u16, u16)> {
        let mut runs = Vec::new();
        let mut from = 0;
        while let Some((first, last)) = self.run_at_or_after(from) {
            runs.push((first, last));
            from = last + 1;
        }
        join_over_the_end(&mut runs, 0, DAY_MINUTES - 1);
        runs
    }
}

/// If the first run begins at the least value and the last ends at the
/// greatest, they are one run on a circle.
fn join_over_the_end<T: Copy + PartialEq>(runs: &mut Vec<(T, T)>, least: T, greatest: T) {
    if let [(first, end), .., (start, last)] = runs[..]
        && first == least
        && last == greatest
    {
        runs.remove(0);
        runs.pop();
        runs.push((start, end));
    }
}

/// What `only` or `avoid` names: for each kind of clause the union of its
/// values, `None` or empty where the kind does not occur.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clauses {
    pub(crate) hours: Option<u32>,
    pub(crate) days_of_week: Option<u8>,
    pub(crate) days_of_month: Option<u32>,
    pub(crate) months: Option<u16>,
    pub(crate) between: MinuteSet,
    /// Day numbers, sorted, neither overlapping nor adjacent.
    pub(crate) dates: Vec<RangeInclusive<i64>>,
}

/// The kinds of clauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClauseKind {
    /// `hours=`
    Hours,
    /// `dow=`
    DayOfWeek,
    /// `dom=`
    DayOfMonth,
    /// `months=`
    Months,
    /// `between=`
    Between,
    /// `date=` and `dates=`
    Dates,
}

impl ClauseKind {
    /// Every kind, in canonical order.
    pub const ALL: [Self; 6] =
        [Self::Hours, Self::DayOfWeek, Self::DayOfMonth, Self::Months, Self::Between, Self::Dates];
}

/// A modifier that is not there.
static NO_CLAUSES: Clauses = empty_clauses();

const fn empty_clauses() -> Clauses {
    Clauses {
        hours: None,
        days_of_week: None,
        days_of_month: None,
        months: None,
        between: MinuteSet::EMPTY,
        dates: Vec::new(),
    }
}

impl Default for Clauses {
    fn default() -> Self {
        empty_clauses()
    }
}

impl Clauses {
    /// Whether a kind of clause occurs.
    #[must_use]
    pub fn names(&self, kind: ClauseKind) -> bool {
        match kind {
            ClauseKind::Hours => self.hours.is_some(),
            ClauseKind::DayOfWeek => self.days_of_week.is_some(),
            ClauseKind::DayOfMonth => self.days_of_month.is_some(),
            ClauseKind::Months => self.months.is_some(),
            ClauseKind::Between => !self.between.is_empty(),
            ClauseKind::Dates => !self.dates.is_empty(),
        }
    }

    /// Whether nothing is named at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        ClauseKind::ALL.into_iter().all(|kind| !self.names(kind))
    }

    /// Whether a kind of clause occurs and holds at a local second.
    fn holds(&self, kind: ClauseKind, local: i64) -> bool {
        let day = local.div_euclid(DAY_SECONDS);
        let minute = (local.rem_euclid(DAY_SECONDS) / 60) as u16;
        let date = Date::from_day_number(day);
        match kind {
            ClauseKind::Hours => self.hours.is_some_and(|set| set >> (minute / 60) & 1 == 1),
            ClauseKind::DayOfWeek => {
                self.days_of_week.is_some_and(|set| set >> weekday(day) & 1 == 1)
            }
            ClauseKind::DayOfMonth => {
                self.days_of_month.is_some_and(|set| set >> date.day & 1 == 1)
            }
            ClauseKind::Months => self.months.is_some_and(|set| set >> date.month & 1 == 1),
            ClauseKind::Between => self.between.contains(minute),
            ClauseKind::Dates => self.dates.iter().any(|range| range.contains(&day)),
        }
    }

    pub(crate) fn insert_dates(&mut self, dates: RangeInclusive<i64>) {
        self.dates.push(dates);
        self.dates.sort_by_key(|range| *range.start());
        self.dates.dedup_by(|next, kept| {
            let touches = *next.start() <= *kept.end() + 1;
            if touches {
                *kept = *kept.start()..=*kept.end().max(next.end());
            }
            touches
        });
    }

    /// One kind of clause, as text: `dow=MON-FRI`.
    #[must_use]
    pub fn clause(&self, kind: ClauseKind) -> ClauseText<'_> {
        ClauseText { clauses: self, kind }
    }
}

impl fmt::Display for Clauses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

impl Clauses {
    /// Adds the text to a string; cheaper than formatting it.
    pub fn push_to(&self, out: &mut String) {
        // Writing to a string cannot fail.
        let _ = self.write(out);
    }

    pub(crate) fn write(&self, f: &mut impl fmt::Write) -> fmt::Result {
        let mut separator = "";
        for kind in ClauseKind::ALL.into_iter().filter(|&kind| self.names(kind)) {
            f.write_str(separator)?;
            self.clause(kind).write(f)?;
            separator = ";";
        }
        Ok(())
    }
}

/// Prints one kind of clause in canonical form.
#[derive(Clone, Copy, Debug)]
pub struct ClauseText<'a> {
    clauses: &'a Clauses,
    kind: ClauseKind,
}

impl fmt::Display for ClauseText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

impl ClauseText<'_> {
    fn write(self, f: &mut impl fmt::Write) -> fmt::Result {
        use crate::syntax::names::{MONTHS, WEEKDAYS};
        let clauses = self.clauses;
        match self.kind {
            ClauseKind::Hours => {
                let set = u64::from(clauses.hours.unwrap_or_default());
                write_ranges(f, "hours=", set, HOUR.min, HOUR.max, true, None)
            }
            ClauseKind::DayOfWeek => {
                let set = u64::from(clauses.days_of_week.unwrap_or_default());
                write_ranges(
                    f,
                    "dow=",
                    set,
                    DAY_OF_WEEK.min,
                    DAY_OF_WEEK.max,
                    true,
                    Some(&WEEKDAYS),
                )
            }
            ClauseKind::DayOfMonth => {
                let set = u64::from(clauses.days_of_month.unwrap_or_default());
                write_ranges(f, "dom=", set, DAY_OF_MONTH.min, DAY_OF_MONTH.max, false, None)
            }
            ClauseKind::Months => {
                let set = u64::from(clauses.months.unwrap_or_default());
                write_ranges(f, "months=", set, MONTH.min, MONTH.max, true, Some(&MONTHS))
            }
            ClauseKind::Between => {
                let mut separator = "";
                for (first, last) in clauses.between.cyclic_runs() {
                    let (h1, m1, h2, m2) = (first / 60, first % 60, last / 60, last % 60);
                    write!(f, "{separator}between={h1:02}:{m1:02}-{h2:02}:{m2:02}")?;
                    separator = ";";
                }
                Ok(())
            }
            ClauseKind::Dates => {
                let mut separator = "";
                for range in &clauses.dates {
                    let (first, last) = (
                        Date::from_day_number(*range.start()),
                        Date::from_day_number(*range.end()),
                    );
                    if first == last {
                        write!(f, "{separator}date={first}")?;
                    } else {
                        write!(f, "{separator}dates={first}..{last}")?;
                    }
                    separator = ";";
                }
                Ok(())
            }
        }
    }
}

/// Writes a set as a list of values and ranges. On a circle a run over the end
/// is one range, unless the set is everything.
fn write_ranges(
    f: &mut impl fmt::Write,
    prefix: &str,
    set: u64,
    least: u8,
    greatest: u8,
    circle: bool,
    names: Option<&[&str]>,
) -> fmt::Result {
    let mut runs = crate::syntax::print::runs(set);
    if circle {
        join_over_the_end(&mut runs, least, greatest);
    }
    f.write_str(prefix)?;
    crate::syntax::print::write_runs(f, &runs, least, names)
}

/// The constraints of a job: what it says, and what follows from it. A job
/// without any, which is most of them, pays a pointer for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Constraints(Option<Box<Allowed>>);

/// The allowed seconds: a set of days and a set of minutes of any such day,
/// with the clauses that they follow from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Allowed {
    only: Clauses,
    avoid: Clauses,
    pub minutes: MinuteSet,
    days_of_week: u8,
    days_of_month: u32,
    months: u16,
    /// Whether a date must be looked at at all, beyond its weekday.
    any_date: bool,
}

impl Constraints {
    /// Constraints from what a schedule names.
    #[must_use]
    pub fn new(only: Clauses, avoid: Clauses) -> Self {
        if only.is_empty() && avoid.is_empty() {
            return Self::default();
        }
        let avoided = if mutant::is(Mutant::AvoidIgnored) { &NO_CLAUSES } else { &avoid };
        let mut minutes = MinuteSet::EMPTY;
        minutes.insert_run(0, DAY_MINUTES - 1);
        if let Some(hours) = only.hours {
            minutes.intersect(&MinuteSet::hours(hours));
        }
        if !only.between.is_empty() {
            minutes.intersect(&only.between);
        }
        if let Some(hours) = avoided.hours {
            minutes.subtract(&MinuteSet::hours(hours));
        }
        minutes.subtract(&avoided.between);
        let days_of_month =
            only.days_of_month.unwrap_or(u32::MAX) & !avoided.days_of_month.unwrap_or_default();
        let months = only.months.unwrap_or(u16::MAX) & !avoided.months.unwrap_or_default();
        let days_of_week =
            only.days_of_week.unwrap_or(0x7F) & !avoided.days_of_week.unwrap_or_default();
        Self(Some(Box::new(Allowed {
            only,
            avoid,
            minutes,
            days_of_week,
            days_of_month,
            months,
            any_date: days_of_month == u32::MAX && months == u16::MAX,
        })))
    }

    /// What `only` names.
    #[must_use]
    pub fn only(&self) -> &Clauses {
        self.0.as_ref().map_or(&NO_CLAUSES, |allowed| &allowed.only)
    }

    /// What `avoid` names.
    #[must_use]
    pub fn avoid(&self) -> &Clauses {
        self.0.as_ref().map_or(&NO_CLAUSES, |allowed| &allowed.avoid)
    }

    /// Whether every second is allowed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn allowed(&self) -> Option<&Allowed> {
        self.0.as_deref()
    }

    /// The clause that forbids a local second, if any; `only` is asked first.
    pub(crate) fn violated(&self, local: i64) -> Option<Violation> {
        let (only, avoid) = (self.only(), self.avoid());
        let broken =
            ClauseKind::ALL.into_iter().find(|&kind| only.names(kind) && !only.holds(kind, local));
        if let Some(kind) = broken {
            return Some(Violation { rule: Rule::Only, kind });
        }
        ClauseKind::ALL
            .into_iter()
            .find(|&kind| avoid.holds(kind, local))
            .map(|kind| Violation { rule: Rule::Avoid, kind })
    }

    /// The clause a violation speaks of, as text: `only(dow=MON-FRI)`.
    #[must_use]
    pub fn describe(&self, violation: Violation) -> impl fmt::Display + '_ {
        let clauses = match violation.rule {
            Rule::Only => self.only(),
            Rule::Avoid => self.avoid(),
        };
        Described { rule: violation.rule, clause: clauses.clause(violation.kind) }
    }
}

struct Described<'a> {
    rule: Rule,
    clause: ClauseText<'a>,
}

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.rule.as_str(), self.clause)
    }
}

impl Allowed {
    /// Whether some second of a day may be allowed.
    #[inline]
    pub fn day(&self, day: i64) -> bool {
        if self.days_of_week >> weekday(day) & 1 == 0 {
            return false;
        }
        if !self.any_date {
            let date = Date::from_day_number(day);
            if self.days_of_month >> date.day & 1 == 0 || self.months >> date.month & 1 == 0 {
                return false;
            }
        }
        let (only, avoid) = (&self.only.dates, &self.avoid.dates);
        (only.is_empty() || contains(only, day)) && !contains(avoid, day)
    }

    /// Whether a local second is allowed.
    #[inline]
    pub fn second(&self, local: i64) -> bool {
        let day = local.div_euclid(DAY_SECONDS);
        let minute = ((local - day * DAY_SECONDS) as u32 / 60) as u16;
        self.minutes.contains(minute) && self.day(day)
    }
}

/// Binary search in sorted, disjoint ranges.
fn contains(ranges: &[RangeInclusive<i64>], day: i64) -> bool {
    let after = ranges.partition_point(|range| *range.start() <= day);
    after > 0 && ranges[after - 1].contains(&day)
}

/// Which of the two modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// `@only`
    Only,
    /// `@avoid`
    Avoid,
}

impl Rule {
    /// The word of the syntax.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Only => "only",
            Self::Avoid => "avoid",
        }
    }
}

/// Why a second is not allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Violation {
    /// The modifier.
    pub rule: Rule,
    /// The kind of clause in it.
    pub kind: ClauseKind,
}
