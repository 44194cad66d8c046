//! What the tests share: the one place that builds jobs, and generators.
#![allow(dead_code, reason = "each test file uses its own part")]

pub mod allowed;
pub mod strategy;
pub mod walk;

use kron_core::{Job, PeriodId, UtcInstant, UtcSecond, Zones};

/// A job that must parse.
pub fn job(schedule: &str) -> Job {
    job_of("test", schedule)
}

pub fn job_of(identity: &str, schedule: &str) -> Job {
    thread_local! {
        static ZONES: std::cell::RefCell<Zones> = std::cell::RefCell::new(Zones::bundled());
    }
    ZONES
        .with_borrow_mut(|zones| Job::parse(identity, schedule, zones))
        .unwrap_or_else(|errors| panic!("{schedule}: {errors}"))
}

pub fn second(text: &str) -> UtcSecond {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub fn instant(text: &str) -> UtcInstant {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub fn period(text: &str) -> PeriodId {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}
