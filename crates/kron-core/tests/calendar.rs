//! Nominal times against three oracles: cronsim's answers on a corpus of DST
//! cases, a minute-by-minute walk over years, and hand-written rows.

mod support;

use kron_core::{Job, UtcSecond, Zones};
use proptest::prelude::*;
use support::walk::walk;
use support::{job, second};

/// The next three nominal times.
fn next_three(job: &Job, after: UtcSecond) -> Vec<UtcSecond> {
    let first = job.next_period(after);
    std::iter::successors(first, |period| job.next_period(period.nominal()))
        .take(3)
        .map(kron_core::PeriodId::nominal)
        .collect()
}

/// Rows of zone, expression, instant, the three nominal times that follow it.
fn check_corpus(text: &str, least_rows: usize) {
    let mut zones = Zones::bundled();
    let mut rows = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [zone, cron, after, expected, ..] = columns[..] else { panic!("{line}") };
        let job = Job::parse("x", &format!("{cron} @tz({zone})"), &mut zones)
            .unwrap_or_else(|errors| panic!("{line}: {errors}"));
        let expected: Vec<UtcSecond> = expected.split(' ').map(second).collect();
        let after = second(after);
        assert_eq!(next_three(&job, after), expected, "{line}");
        // CORE-11: prev is the greatest at or before, next the smallest after.
        for pair in expected.windows(2) {
            let before = UtcSecond::new(pair[1].unix_seconds() - 1).unwrap();
            assert_eq!(job.prev_period(pair[1]).unwrap().nominal(), pair[1], "{line}");
            assert_eq!(job.prev_period(before).unwrap().nominal(), pair[0], "{line}");
        }
        rows += 1;
    }
    assert!(rows >= least_rows, "only {rows} rows");
}

/// SYN-11, CORE-04, CORE-11: standard cron, both DST days of 21 zones.
#[test]
fn agrees_with_cronsim() {
    check_corpus(include_str!("data/cron/cronsim.tsv"), 20_000);
}

/// CORE-04: where cronsim departs from the rule, the rule's own answer.
#[test]
fn follows_the_rule_where_cronsim_does_not() {
    check_corpus(include_str!("data/cron/cronsim-differs.tsv"), 300);
}

/// CORE-11, SYN-11: every minute of three years, in zones with odd changes.
#[test]
fn agrees_with_a_minute_by_minute_walk() {
    let zones = [
        ("UTC", "2026-01-01T00:00:00Z"),
        ("Europe/Paris", "2026-01-01T00:00:00Z"),
        ("America/New_York", "2026-01-01T00:00:00Z"),
        ("Australia/Lord_Howe", "2026-01-01T00:00:00Z"),
        ("America/St_Johns", "2009-01-01T00:00:00Z"),
        ("Pacific/Apia", "2010-06-01T00:00:00Z"),
        ("Africa/Casablanca", "2023-01-01T00:00:00Z"),
        // A day repeated: the date line moved.
        ("Pacific/Kwajalein", "1992-01-01T00:00:00Z"),
        ("America/Juneau", "1866-06-01T00:00:00Z"),
        // Beyond the table of transitions, where the rules repeat.
        ("Europe/Paris", "2499-01-01T00:00:00Z"),
        ("America/New_York", "2899-06-01T00:00:00Z"),
    ];
    let expressions = [
        "*/7 * * * *",
        "30 2 * * *",
        "0,30 1-3 * * *",
        "0 0 * * *",
        "59 23 * * SUN",
        "*/30 2 * * *",
        "15 */2 13 * FRI",
        "0 12 */2 * MON",
        "5 4 1-7 3,10,11 *",
    ];
    for (zone, from) in zones {
        for cron in expressions {
            let job = job(&format!("{cron} @tz({zone})"));
            let from = second(from);
            let expected = walk(&job, from, 460);
            assert!(expected.len() > 8, "{cron} in {zone}");
            let mut at = from;
            let mut forward = Vec::new();
            while let Some(next) = job.next_period(at).map(kron_core::PeriodId::nominal)
                && next <= *expected.last().unwrap()
            {
                forward.push(next);
                at = next;
            }
            assert!(
                forward == expected,
                "{cron} in {zone}: {:?}",
                first_difference(&forward, &expected)
            );
            let mut backward = Vec::new();
            let mut at = *expected.last().unwrap();
            while let Some(previous) = job.prev_period(at).map(kron_core::PeriodId::nominal)
                && previous > from
            {
                backward.push(previous);
                at = UtcSecond::new(previous.unix_seconds() - 1).unwrap();
            }
            backward.reverse();
            assert!(
                backward == expected,
                "{cron} in {zone}: {:?}",
                first_difference(&backward, &expected)
            );
        }
    }
}

fn first_difference(
    a: &[UtcSecond],
    b: &[UtcSecond],
) -> Option<(Option<UtcSecond>, Option<UtcSecond>)> {
    (0..a.len().max(b.len())).map(|i| (a.get(i).copied(), b.get(i).copied())).find(|(a, b)| a != b)
}

/// `(schedule, after, next nominal times)`
#[test]
fn hand_written_rows() {
    let check = |schedule: &str, after: &str, expected: &str| {
        let got: Vec<String> =
            next_three(&job(schedule), second(after)).iter().map(ToString::to_string).collect();
        let expected: Vec<&str> = expected.split(' ').collect();
        assert_eq!(got[..expected.len()], expected, "{schedule} after {after}");
    };
    // CORE-04: winter and summer.
    check("0 10 * * * @tz(Europe/Paris)", "2026-01-14T23:00:00Z", "2026-01-15T09:00:00Z");
    check("0 10 * * * @tz(Europe/Paris)", "2026-07-14T23:00:00Z", "2026-07-15T08:00:00Z");
    // A gap: fixed times move to its end, once; others are gone.
    check(
        "30 2 * * * @tz(Europe/Paris)",
        "2026-03-28T12:00:00Z",
        "2026-03-29T01:00:00Z 2026-03-30T00:30:00Z",
    );
    check(
        "0,30 2,3 * * * @tz(Europe/Paris)",
        "2026-03-29T00:00:00Z",
        "2026-03-29T01:00:00Z 2026-03-29T01:30:00Z",
    );
    check(
        "30 * * * * @tz(Europe/Paris)",
        "2026-03-29T00:00:00Z",
        "2026-03-29T00:30:00Z 2026-03-29T01:30:00Z",
    );
    // A fold: fixed times once, others twice.
    check(
        "30 2 * * * @tz(Europe/Paris)",
        "2026-10-24T12:00:00Z",
        "2026-10-25T00:30:00Z 2026-10-26T01:30:00Z",
    );
    check(
        "*/30 2 * * * @tz(Europe/Paris)",
        "2026-10-24T12:00:00Z",
        "2026-10-25T00:00:00Z 2026-10-25T00:30:00Z 2026-10-25T01:00:00Z",
    );
    // From inside the second pass, a fixed time of the first is over.
    check("30 2 * * * @tz(Europe/Paris)", "2026-10-25T01:10:00Z", "2026-10-26T01:30:00Z");
    // SYN-11: either day field, unless one begins with a star.
    check(
        "0 0 13 * FRI",
        "2026-03-01T00:00:00Z",
        "2026-03-06T00:00:00Z 2026-03-13T00:00:00Z 2026-03-20T00:00:00Z",
    );
    check(
        "0 0 */2 * MON",
        "2026-03-01T00:00:00Z",
        "2026-03-09T00:00:00Z 2026-03-23T00:00:00Z 2026-04-13T00:00:00Z",
    );
    // Far ahead the rules repeat, also across the end of a cycle.
    check(
        "0 12 1 7 * @tz(Europe/Paris)",
        "2499-12-31T00:00:00Z",
        "2500-07-01T10:00:00Z 2501-07-01T10:00:00Z",
    );
    check("0 12 1 1 * @tz(Europe/Paris)", "2899-07-01T00:00:00Z", "2900-01-01T11:00:00Z");
    check("*/30 12 1 7 * @tz(Australia/Lord_Howe)", "2499-12-31T00:00:00Z", "2500-07-01T01:30:00Z");
    // Leap days, over a century that has none, and on a given weekday.
    check("0 3 29 2 *", "2096-03-01T00:00:00Z", "2104-02-29T03:00:00Z");
    check("0 0 29 2 */6", "2026-01-01T00:00:00Z", "2032-02-29T00:00:00Z 2048-02-29T00:00:00Z");
}

/// CORE-12: nominal times are strictly increasing, so none is two periods.
/// FAULTS 5: no search is long, even where nothing is found.
#[test]
fn ends_of_time() {
    let daily = job("0 0 * * *");
    assert_eq!(daily.next_period(UtcSecond::MAX), None);
    assert_eq!(daily.prev_period(UtcSecond::MIN), None);
    let first = daily.next_period(UtcSecond::MIN).unwrap();
    let last = daily.prev_period(UtcSecond::MAX).unwrap();
    assert_eq!(first.to_string(), "0003-01-02T00:00:00Z");
    assert_eq!(last.to_string(), "9997-12-31T00:00:00Z");
    assert_eq!(
        daily.prev_period(UtcSecond::new(first.nominal().unix_seconds() - 1).unwrap()),
        None
    );
    assert_eq!(daily.next_period(last.nominal()), None);
    // The limits are in UTC; the local date may be a day off on either side.
    for zone in ["Pacific/Kiritimati", "Pacific/Pago_Pago"] {
        for cron in ["0 0 * * *", "0 0 1-31 * *", "*/30 * * * *"] {
            let job = job(&format!("{cron} @tz({zone})"));
            let last = job.prev_period(UtcSecond::MAX).unwrap();
            let before = UtcSecond::new(last.nominal().unix_seconds() - 1).unwrap();
            assert_eq!(job.next_period(before), Some(last), "{cron} {zone}");
            assert_eq!(job.next_period(last.nominal()), None, "{cron} {zone}");
            let first = job.next_period(UtcSecond::MIN).unwrap();
            assert_eq!(job.prev_period(first.nominal()), Some(first), "{cron} {zone}");
            let before = UtcSecond::new(first.nominal().unix_seconds() - 1).unwrap();
            assert_eq!(job.prev_period(before), None, "{cron} {zone}");
        }
    }
    // At two o'clock on the wall, on the second Sunday of March: that does not
    // exist in New York, so of `*/6` (Sunday and Saturday) only Saturdays remain.
    let job = job("*/30 2 8-14 3 */6 @tz(America/New_York)");
    let next = job.next_period(second("2026-01-01T00:00:00Z"));
    assert_eq!(next.unwrap().to_string(), "2026-03-14T06:00:00Z");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// CORE-11: whatever the instant, prev ≤ t < next, and nothing in between.
    #[test]
    fn neighbours_enclose_every_instant(
        schedule in support::strategy::cron_in_a_zone(),
        at in -60_000_000_000_i64..250_000_000_000,
    ) {
        let job = job(&schedule);
        let at = UtcSecond::new(at).unwrap();
        if let (Some(previous), Some(next)) = (job.prev_period(at), job.next_period(at)) {
            prop_assert!(previous.nominal() <= at && at < next.nominal(), "{schedule} {at}");
            prop_assert_eq!(job.next_period(previous.nominal()), Some(next), "{} {}", schedule, at);
            let last = UtcSecond::new(next.nominal().unix_seconds() - 1).unwrap();
            prop_assert_eq!(job.prev_period(last), Some(previous), "{} {}", schedule, at);
            prop_assert_eq!(job.prev_period(next.nominal()), Some(next));
        }
    }
}
