//! The canonical text of a schedule: one spelling for each meaning.
//!
//! Modifiers in a fixed order, defaults left out, sets as sorted ranges.
//! Reading it back gives the same job, and printing that gives the same text.

use super::cron::{every, run};
use super::names::{MONTHS, WEEKDAYS};
use crate::bounds::{Bounds, DAY_OF_MONTH, DAY_OF_WEEK, HOUR, MINUTE, MONTH};
use crate::calendar::Cron;
use crate::distribution::{Anchor, DEFAULT_LAMBDA, DEFAULT_SHAPE, Direction, Distribution};
use crate::job::Job;
use crate::policy::PolicySpec;
use crate::seed::SeedStrategy;
use crate::time::duration::Pretty;
use crate::window::WindowSpec;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

impl Cron {
    fn write(&self, f: &mut impl fmt::Write) -> fmt::Result {
        write_field(f, self.minutes, self.stars.minute, &MINUTE, None)?;
        f.write_str(" ")?;
        write_field(f, self.hours.into(), self.stars.hour, &HOUR, None)?;
        f.write_str(" ")?;
        write_field(f, self.days_of_month.into(), self.stars.day_of_month, &DAY_OF_MONTH, None)?;
        f.write_str(" ")?;
        // A star means nothing special in the month field.
        let every_month = self.months == run(MONTH.min, MONTH.max) as u16;
        write_field(f, self.months.into(), every_month, &MONTH, Some(&MONTHS))?;
        f.write_str(" ")?;
        let weekdays = self.days_of_week.into();
        write_field(f, weekdays, self.stars.day_of_week, &DAY_OF_WEEK, Some(&WEEKDAYS))
    }
}

fn write_field(
    f: &mut impl fmt::Write,
    mut set: u64,
    star: bool,
    bounds: &Bounds<u8>,
    names: Option<&[&str]>,
) -> fmt::Result {
    if star {
        // The parser made the set from at least one `*/s`; take the densest.
        let steps = 1..=bounds.max - bounds.min;
        let step = steps.clone().find(|&step| every(bounds.min, bounds.max, step) & !set == 0);
        let step = step.unwrap_or(1);
        f.write_str("*")?;
        if step > 1 {
            f.write_str("/")?;
            write_number(f, step)?;
        }
        set &= !every(bounds.min, bounds.max, step);
        if set == 0 {
            return Ok(());
        }
        f.write_str(",")?;
    } else if names.is_none()
        && let Some((first, last, step)) = progression(set)
    {
        return write!(f, "{first}-{last}/{step}");
    }
    write_runs(f, &runs(set), bounds.min, names)
}

/// A set of at least three values with a constant step of two or more.
fn progression(set: u64) -> Option<(u32, u32, u32)> {
    let (first, last) = (set.trailing_zeros(), set.ilog2());
    let count = set.count_ones();
    if count < 3 || (last - first) % (count - 1) != 0 {
        return None;
    }
    let step = (last - first) / (count - 1);
    let regular = (0..count).all(|i| set >> (first + i * step) & 1 == 1);
    (step >= 2 && regular).then_some((first, last, step))
}

/// Runs of consecutive values, first and last.
pub(crate) fn runs(mut set: u64) -> Vec<(u8, u8)> {
    let mut runs = Vec::new();
    while set != 0 {
        let first = set.trailing_zeros();
        let length = (set >> first).trailing_ones();
        runs.push((first as u8, (first + length - 1) as u8));
        set &= !(((1_u128 << length) - 1) << first) as u64;
    }
    runs
}

/// A small number; a good deal cheaper than the general way.
fn write_number(f: &mut impl fmt::Write, number: u8) -> fmt::Result {
    let digits = [b'0' + number / 100, b'0' + number / 10 % 10, b'0' + number % 10];
    let start = usize::from(number < 100) + usize::from(number < 10);
    f.write_str(core::str::from_utf8(&digits[start..]).map_err(|_| fmt::Error)?)
}

/// Runs as a list: `1,3-5`. Names are counted from `least`.
pub(crate) fn write_runs(
    f: &mut impl fmt::Write,
    runs: &[(u8, u8)],
    least: u8,
    names: Option<&[&str]>,
) -> fmt::Result {
    let mut separator = "";
    for &(first, last) in runs {
        f.write_str(separator)?;
        separator = ",";
        write_value(f, first, least, names)?;
        if last != first {
            f.write_str("-")?;
            write_value(f, last, least, names)?;
        }
    }
    Ok(())
}

fn write_value(
    f: &mut impl fmt::Write,
    value: u8,
    least: u8,
    names: Option<&[&str]>,
) -> fmt::Result {
    match names {
        Some(names) => f.write_str(names[usize::from(value - least)]),
        None => write_number(f, value),
    }
}

/// The canonical schedule of a job: cron fields and modifiers, no identity.
#[derive(Clone, Copy, Debug)]
pub struct Schedule<'a> {
    job: &'a Job,
    policy: bool,
}

impl<'a> Schedule<'a> {
    pub(crate) const fn whole(job: &'a Job) -> Self {
        Self { job, policy: true }
    }

    /// Without the policy, which decides whether a job runs but not when.
    pub(crate) const fn timing(job: &'a Job) -> Self {
        Self { job, policy: false }
    }
}

impl fmt::Display for Schedule<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

impl Schedule<'_> {
    /// Adds the text to a string; cheaper than formatting it.
    pub fn push_to(&self, out: &mut String) {
        // Writing to a string cannot fail.
        let _ = self.write(out);
    }

    fn write(&self, f: &mut impl fmt::Write) -> fmt::Result {
        let job = self.job;
        job.cron().write(f)?;
        if job.zone().name() != "UTC" {
            write_all(f, [" @tz(", job.zone().name(), ")"])?;
        }
        let window = job.window();
        if *window != WindowSpec::default() {
            write_all(f, [" @win(", window.mode.as_str(), ","])?;
            Pretty(window.duration).write(f)?;
            f.write_str(")")?;
        }
        write_distribution(f, job.distribution(), window)?;
        write_seed(f, job.seed_strategy(), job.salt())?;
        if self.policy {
            write_policy(f, job.policy())?;
        }
        for (rule, clauses) in
            [(" @only(", job.constraints().only()), (" @avoid(", job.constraints().avoid())]
        {
            if !clauses.is_empty() {
                f.write_str(rule)?;
                clauses.write(f)?;
                f.write_str(")")?;
            }
        }
        Ok(())
    }
}

fn write_all<const N: usize>(f: &mut impl fmt::Write, parts: [&str; N]) -> fmt::Result {
    parts.into_iter().try_for_each(|part| f.write_str(part))
}

fn write_distribution(
    f: &mut impl fmt::Write,
    distribution: &Distribution,
    window: &WindowSpec,
) -> fmt::Result {
    if *distribution == Distribution::Uniform {
        return Ok(());
    }
    write_all(f, [" @dist(", distribution.name()])?;
    match *distribution {
        Distribution::Uniform => {}
        Distribution::Normal { mu, sigma } => {
            if mu != Anchor::default_for(window.mode) {
                write_all(f, [",mu=", mu.as_str()])?;
            }
            if sigma != Distribution::default_sigma(window) {
                f.write_str(",sigma=")?;
                Pretty(sigma).write(f)?;
            }
        }
        Distribution::SkewEarly { shape } | Distribution::SkewLate { shape } => {
            if shape != DEFAULT_SHAPE {
                write!(f, ",shape={shape}")?;
            }
        }
        Distribution::Exponential { lambda, direction } => {
            if lambda != DEFAULT_LAMBDA {
                write!(f, ",lambda={lambda}")?;
            }
            if direction != Direction::default() {
                write_all(f, [",dir=", direction.as_str()])?;
            }
        }
    }
    f.write_str(")")
}

fn write_seed(f: &mut impl fmt::Write, strategy: SeedStrategy, salt: &str) -> fmt::Result {
    if strategy == SeedStrategy::default() && salt.is_empty() {
        return Ok(());
    }
    write_all(f, [" @seed(", strategy.as_str()])?;
    if !salt.is_empty() {
        f.write_str(",salt=")?;
        write_quoted(f, salt)?;
    }
    f.write_str(")")
}

/// A string as the syntax takes it: bare if it can be, else in quotes.
fn write_quoted(f: &mut impl fmt::Write, text: &str) -> fmt::Result {
    let bare = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/' | b':');
    if text.bytes().all(bare) {
        return f.write_str(text);
    }
    f.write_str("\"")?;
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            f.write_str("\\")?;
        }
        f.write_char(c)?;
    }
    f.write_str("\"")
}

fn write_policy(f: &mut impl fmt::Write, policy: &PolicySpec) -> fmt::Result {
    let default = PolicySpec::default();
    if *policy == default {
        return Ok(());
    }
    let mut separator = " @policy(";
    if policy.concurrency != default.concurrency {
        write_all(f, [separator, "concurrency=", policy.concurrency.as_str()])?;
        separator = ",";
    }
    if policy.deadline != default.deadline {
        write_all(f, [separator, "deadline="])?;
        Pretty(policy.deadline).write(f)?;
        separator = ",";
    }
    if policy.suspend != default.suspend {
        write!(f, "{separator}suspend={}", policy.suspend)?;
    }
    f.write_str(")")
}
