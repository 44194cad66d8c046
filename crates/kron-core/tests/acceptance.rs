//! The exact chance of an allowed second.

#![allow(
    clippy::disallowed_methods,
    reason = "an oracle of its own, on the platform's mathematics"
)]

mod support;

use support::{job, job_of, period};

/// `(schedule, allowed seconds, of, probability of one draw)`
#[test]
fn rows() {
    let check = |schedule: &str, nominal: &str, allowed: u64, of: u64, per_draw: f64| {
        let acceptance = job(schedule).acceptance(period(nominal));
        assert_eq!(acceptance.allowed_seconds(), allowed, "{schedule}");
        assert_eq!(acceptance.candidate_seconds(), of, "{schedule}");
        let error = (acceptance.per_draw() - per_draw).abs();
        assert!(error < 1e-14, "{schedule}: {} vs {per_draw}", acceptance.per_draw());
        let failing = (1.0 - per_draw).powi(4096);
        assert!((acceptance.unschedulable() - failing).abs() < 1e-9, "{schedule}");
    };
    let at = "2026-03-02T10:00:00Z";
    check("0 10 * * * @win(after,2h)", at, 7201, 7201, 1.0);
    check("0 10 * * * @win(after,2h) @only(hours=10-12)", at, 7201, 7201, 1.0);
    check("0 10 * * * @win(after,2h) @only(hours=11)", at, 3600, 7201, 3600.0 / 7201.0);
    check("0 10 * * * @win(after,2h) @avoid(hours=11)", at, 3601, 7201, 3601.0 / 7201.0);
    check("0 10 * * * @win(after,2h) @only(hours=9)", at, 0, 7201, 0.0);
    check("0 10 * * * @win(after,0s) @only(hours=10)", at, 1, 1, 1.0);
    // A minute in a fortnight: a real chance of finding none in 4096 draws.
    check(
        "0 10 * * * @win(after,336h) @only(date=2026-03-09;between=12:00-12:00)",
        at,
        60,
        1_209_601,
        60.0 / 1_209_601.0,
    );
    // The first hour of a window that leans to its start.
    let x: f64 = 3600.0 / 7201.0;
    check("0 10 * * * @win(after,2h) @dist(skewEarly) @only(hours=10)", at, 3600, 7201, x.sqrt());
    check(
        "0 10 * * * @win(after,2h) @dist(skewLate,shape=3) @only(hours=10)",
        at,
        3600,
        7201,
        1.0 - (1.0 - x).cbrt(),
    );
    // A day with 23 hours: the hour that does not exist allows nothing.
    check(
        "0 0 * * * @tz(Europe/Paris) @win(after,22h) @only(hours=2)",
        "2026-03-28T23:00:00Z",
        0,
        79_201,
        0.0,
    );
    // A day with 25: it comes twice.
    check(
        "0 0 * * * @tz(Europe/Paris) @win(after,24h) @only(hours=2)",
        "2026-10-24T22:00:00Z",
        7200,
        86_401,
        7200.0 / 86_401.0,
    );
}

/// The share of draws that are accepted, counted over many seeds.
#[test]
fn counted_draws_agree() {
    let at = period("2026-03-02T10:00:00Z");
    for distribution in
        ["uniform", "normal", "skewEarly,shape=3", "skewLate", "exponential,lambda=3"]
    {
        let schedule =
            format!("0 10 * * * @win(after,2h) @dist({distribution}) @only(between=10:20-10:40)");
        let expected = job(&schedule).acceptance(at).per_draw();
        let draws: u64 = (0..4000)
            .map(|i| u64::from(job_of(&format!("draws/{i}"), &schedule).decide(at).attempts()))
            .sum();
        let counted = 4000.0 / draws as f64;
        // Four standard deviations of the estimate.
        let tolerance = 4.0 * expected * ((1.0 - expected) / 4000.0).sqrt();
        assert!((counted - expected).abs() < tolerance, "{distribution}: {counted} vs {expected}");
    }
}

/// The chance of an unschedulable period, counted over many seeds.
#[test]
fn counted_unschedulable_periods_agree() {
    let at = period("2026-03-02T10:00:00Z");
    // Half a minute's worth of uniform draws in about two days.
    let schedule =
        "0 10 * * * @win(after,48h) @dist(uniform) @only(date=2026-03-03;between=12:00-12:00)";
    let expected = job(schedule).acceptance(at).unschedulable();
    assert!((0.2..0.3).contains(&expected), "{expected}");
    let failed = (0..2000)
        .filter(|i| job_of(&format!("failing/{i}"), schedule).decide(at).chosen().is_none())
        .count();
    let counted = failed as f64 / 2000.0;
    let tolerance = 4.0 * (expected * (1.0 - expected) / 2000.0).sqrt();
    assert!((counted - expected).abs() < tolerance, "{counted} vs {expected}");
}
