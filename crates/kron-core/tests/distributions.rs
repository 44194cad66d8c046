//! Shapes: thousands of decisions against the exact distribution function,
//! which is worked out here from the contract's formulas. Identities are fixed,
//! so the result is the same in every run.

#![allow(
    clippy::disallowed_methods,
    reason = "an oracle of its own, on the platform's mathematics"
)]

mod support;

use support::{job_of, period};

const SAMPLES: usize = 20_000;

/// Chosen seconds, counted from the window's first, for many identities.
fn sample(schedule: &str) -> Vec<u64> {
    let at = period("2026-03-02T12:00:00Z");
    let mut seconds: Vec<u64> = (0..SAMPLES)
        .map(|i| {
            let job = job_of(&format!("shape/{i}"), schedule);
            let decision = job.decide(at);
            let first = decision.window().first().unix_seconds();
            (decision.chosen().unwrap().unix_seconds() - first) as u64
        })
        .collect();
    seconds.sort_unstable();
    seconds
}

/// Kolmogorov and Smirnov's test against `below(k)`, the exact probability of a
/// second earlier than `k`. Beyond 1.95/√n a true match has one chance in a
/// thousand; the samples are fixed, so it passes for good or not at all.
fn check(schedule: &str, below: impl Fn(f64) -> f64) {
    let seconds = sample(schedule);
    let n = support::job(schedule).decide(period("2026-03-02T12:00:00Z")).window().seconds();
    let mut worst: f64 = 0.0;
    for k in 1..n {
        let counted = seconds.partition_point(|second| *second < k) as f64 / SAMPLES as f64;
        worst = worst.max((counted - below(k as f64)).abs());
    }
    let limit = 1.95 / (SAMPLES as f64).sqrt();
    assert!(worst < limit, "{schedule}: off by {worst}, limit {limit}");
    // And the test can tell: a slightly different shape is refused.
    let mut shifted: f64 = 0.0;
    for k in 1..n {
        let counted = seconds.partition_point(|second| *second < k) as f64 / SAMPLES as f64;
        shifted = shifted.max((counted - below((k as f64 * 1.05).min(n as f64))).abs());
    }
    assert!(shifted > worst, "{schedule}: {shifted} {worst}");
}

#[test]
fn uniform() {
    check("0 12 * * * @win(after,2h)", |k| k / 7201.0);
    check("0 12 * * * @win(around,9s)", |k| k / 9.0);
}

/// SYN-25: skewed to the start, or to the end.
#[test]
fn skewed() {
    for shape in [0.5, 1.0, 1.5, 2.0, 4.0, 20.0] {
        check(&format!("0 12 * * * @win(after,1h) @dist(skewEarly,shape={shape})"), |k| {
            (k / 3601.0).powf(1.0 / shape)
        });
        check(&format!("0 12 * * * @win(around,1h) @dist(skewLate,shape={shape})"), |k| {
            1.0 - (1.0 - k / 3601.0).powf(1.0 / shape)
        });
    }
}

/// SYN-26
#[test]
fn exponential() {
    for lambda in [0.001_f64, 0.8, 1.0, 5.0, 100.0, 1000.0] {
        let early = move |x: f64| (1.0 - (-lambda * x).exp()) / (1.0 - (-lambda).exp());
        check(&format!("0 12 * * * @win(after,1h) @dist(exponential,lambda={lambda})"), |k| {
            early(k / 3601.0)
        });
        check(
            &format!("0 12 * * * @win(after,1h) @dist(exponential,lambda={lambda},dir=late)"),
            |k| 1.0 - early(1.0 - k / 3601.0),
        );
    }
}

/// The area under a bell from `a` to `b`, by Simpson's rule.
fn bell(mean: f64, sigma: f64, a: f64, b: f64) -> f64 {
    const STEPS: usize = 400;
    let density = |x: f64| (-0.5 * ((x - mean) / sigma).powi(2)).exp();
    // Nothing of it lies further away than this.
    let (a, b) = (a.max(mean - 12.0 * sigma), b.min(mean + 12.0 * sigma));
    if a >= b {
        return 0.0;
    }
    let h = (b - a) / STEPS as f64;
    (0..STEPS)
        .map(|i| {
            let x = a + i as f64 * h;
            (density(x) + 4.0 * density(x + h / 2.0) + density(x + h)) * h / 6.0
        })
        .sum()
}

/// SYN-22, SYN-23
#[test]
fn normal() {
    let n = 3601.0;
    for (parameters, mean, sigma) in [
        ("normal", n / 2.0, 600.0),
        ("normal,mu=start,sigma=10m", 0.5, 600.0),
        ("normal,mu=end,sigma=2h", n - 0.5, 7200.0),
        ("normal,mu=mid,sigma=5s", n / 2.0, 5.0),
        ("normal,mu=nominal,sigma=366h", 0.5, 366.0 * 3600.0),
    ] {
        let whole = bell(mean, sigma, 0.0, n);
        check(&format!("0 12 * * * @win(after,1h) @dist({parameters})"), |k| {
            bell(mean, sigma, 0.0, k) / whole
        });
    }
    let (mean, sigma) = (1800.5, 600.0);
    let whole = bell(mean, sigma, 0.0, n);
    check("0 12 * * * @win(around,1h) @dist(normal)", |k| bell(mean, sigma, 0.0, k) / whole);
    // Narrower than a second: the anchor's own second, or one of its neighbours.
    let seconds = sample("0 12 * * * @win(around,1h) @dist(normal,sigma=1ms)");
    assert_eq!((seconds[0], seconds[SAMPLES - 1]), (1800, 1800));
}

/// SYN-25: the mean leans the right way, and more so with a larger shape.
#[test]
fn skew_grows_with_its_shape() {
    let mean = |distribution: &str| {
        let seconds = sample(&format!("0 12 * * * @win(after,1h) @dist({distribution})"));
        seconds.iter().sum::<u64>() as f64 / SAMPLES as f64 / 3601.0
    };
    let early = [mean("skewEarly"), mean("skewEarly,shape=4")];
    let late = [mean("skewLate"), mean("skewLate,shape=4")];
    assert!(early[1] < early[0] && early[0] < 0.5, "{early:?}");
    assert!(late[1] > late[0] && late[0] > 0.5, "{late:?}");
}
