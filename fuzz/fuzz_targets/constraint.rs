//! Any text between the parentheses of `@only` and `@avoid`: the allowed
//! seconds of a long window are those that are not refused, run by run.
#![no_main]

use kron_core::Job;
use kron_fuzz::with_zones;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|clauses: &str| {
    let (only, avoid) = clauses.split_once('|').unwrap_or((clauses, "hours=3"));
    // Two days, with a change of offset in the middle.
    let schedule =
        format!("0 0 28 3 * @tz(Europe/Paris) @win(after,48h) @only({only}) @avoid({avoid})");
    let Ok(job) = with_zones(|zones| Job::parse("fuzz", &schedule, zones)) else {
        return;
    };
    let period = "2026-03-27T23:00:00Z".parse().expect("a period");
    let runs = job.allowed_runs(period);
    assert!(runs.windows(2).all(|pair| pair[0].1.unix_seconds() + 1 < pair[1].0.unix_seconds()));
    let (decision, rejected) = job.decide_explained(period);
    let allowed = |at| runs.iter().any(|(first, last)| (*first..=*last).contains(&at));
    assert!(rejected.iter().all(|refused| !allowed(refused.candidate)));
    assert!(decision.chosen().is_none_or(allowed));
    let acceptance = job.acceptance(period);
    assert_eq!(acceptance.is_impossible(), runs.is_empty());
    assert!((0.0..=1.0).contains(&acceptance.per_draw()));
    assert!((0.0..=1.0).contains(&acceptance.unschedulable()));
});
