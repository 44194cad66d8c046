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
use alloc::vec::Vec;
use core::fmt;

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
    f: &mut fmt::Formatter<'_>,
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
            write!(f, "/{step}")?;
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

/// Runs as a list: `1,3-5`. Names are counted from `least`.
pub(crate) fn write_runs(
    f: &mut fmt::Formatter<'_>,
    runs: &[(u8, u8)],
    least: u8,
    names: Option<&[&str]>,
) -> fmt::Result {
    let value = |f: &mut fmt::Formatter<'_>, value: u8| match names {
        Some(names) => f.write_str(names[usize::from(value - least)]),
        None => write!(f, "{value}"),
    };
    let mut separator = "";
    for &(first, last) in runs {
        f.write_str(separator)?;
        separator = ",";
        value(f, first)?;
        if last != first {
            f.write_str("-")?;
            value(f, last)?;
        }
    }
    Ok(())
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
        let job = self.job;
        write!(f, "{}", job.cron())?;
        if job.zone().name() != "UTC" {
            write!(f, " @tz({})", job.zone())?;
        }
        if *job.window() != WindowSpec::default() {
            write!(f, " @win({})", job.window())?;
        }
        write_distribution(f, job.distribution(), job.window())?;
        write_seed(f, job.seed_strategy(), job.salt())?;
        if self.policy {
            write_policy(f, job.policy())?;
        }
        for (rule, clauses) in
            [("only", job.constraints().only()), ("avoid", job.constraints().avoid())]
        {
            if !clauses.is_empty() {
                write!(f, " @{rule}({clauses})")?;
            }
        }
        Ok(())
    }
}

fn write_distribution(
    f: &mut fmt::Formatter<'_>,
    distribution: &Distribution,
    window: &WindowSpec,
) -> fmt::Result {
    if *distribution == Distribution::Uniform {
        return Ok(());
    }
    write!(f, " @dist({}", distribution.name())?;
    match *distribution {
        Distribution::Uniform => {}
        Distribution::Normal { mu, sigma } => {
            if mu != Anchor::default_for(window.mode) {
                write!(f, ",mu={}", mu.as_str())?;
            }
            if sigma != Distribution::default_sigma(window) {
                write!(f, ",sigma={}", Pretty(sigma))?;
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
                write!(f, ",dir={}", direction.as_str())?;
            }
        }
    }
    f.write_str(")")
}

fn write_seed(f: &mut fmt::Formatter<'_>, strategy: SeedStrategy, salt: &str) -> fmt::Result {
    if strategy == SeedStrategy::default() && salt.is_empty() {
        return Ok(());
    }
    write!(f, " @seed({}", strategy.as_str())?;
    if !salt.is_empty() {
        write!(f, ",salt={}", Quoted(salt))?;
    }
    f.write_str(")")
}

/// A string as the syntax takes it: bare if it can be, else in quotes.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bare =
            |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/' | b':');
        if self.0.bytes().all(bare) {
            return f.write_str(self.0);
        }
        f.write_str("\"")?;
        for c in self.0.chars() {
            if matches!(c, '"' | '\\') {
                f.write_str("\\")?;
            }
            fmt::Write::write_char(f, c)?;
        }
        f.write_str("\"")
    }
}

fn write_policy(f: &mut fmt::Formatter<'_>, policy: &PolicySpec) -> fmt::Result {
    let default = PolicySpec::default();
    if *policy == default {
        return Ok(());
    }
    let mut separator = " @policy(";
    if policy.concurrency != default.concurrency {
        write!(f, "{separator}concurrency={}", policy.concurrency.as_str())?;
        separator = ",";
    }
    if policy.deadline != default.deadline {
        write!(f, "{separator}deadline={}", Pretty(policy.deadline))?;
        separator = ",";
    }
    if policy.suspend != default.suspend {
        write!(f, "{separator}suspend={}", policy.suspend)?;
    }
    f.write_str(")")
}
