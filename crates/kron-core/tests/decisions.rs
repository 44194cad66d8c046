//! Decisions: properties that hold for every job and every period.

mod support;

use kron_core::bounds::SAMPLING_BUDGET;
use kron_core::{Decision, Job, Mode, PeriodId, Record, Unschedulable, UtcSecond, Zones};
use proptest::prelude::*;
use support::allowed::Judge;
use support::{job, job_of, period, strategy};

/// A schedule and one of its periods, in years with every kind of change.
fn job_and_period() -> impl Strategy<Value = (String, i64)> {
    (strategy::schedule(), 1_262_304_000_i64..2_500_000_000)
}

fn some_period(job: &Job, at: i64) -> PeriodId {
    job.next_period(UtcSecond::new(at).unwrap()).unwrap()
}

/// Everything in a decision, to compare two.
fn whole(decision: &Decision<'_>) -> Record {
    Record::of(decision, &Zones::bundled())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// CORE-05, CORE-18, CORE-31, CORE-32, CORE-33, CORE-34: the chosen second is
    /// whole, inside the window, and allowed there, by the clock on the wall.
    #[test]
    fn chosen_time_is_inside_and_allowed((schedule, at) in job_and_period()) {
        let job = job(&schedule);
        let decision = job.decide(some_period(&job, at));
        let judge = Judge::new(&schedule, &job);
        match decision.choice() {
            Ok(chosen) => {
                prop_assert!(decision.window().start() <= chosen.instant());
                prop_assert!(chosen.instant() <= decision.window().end());
                prop_assert!(judge.allows(chosen), "{} {}", schedule, chosen);
            }
            Err(Unschedulable::Impossible) => prop_assert_eq!(decision.attempts(), 0),
            Err(Unschedulable::BudgetExhausted) => {
                prop_assert_eq!(decision.attempts(), SAMPLING_BUDGET);
            }
        }
    }

    /// CORE-22, CORE-23: the same inputs give the same decision, however often
    /// and in whatever order it is asked for.
    #[test]
    fn order_and_repetition_do_not_matter(
        (schedule, at) in job_and_period(),
        order in Just((0..12_usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let job = job(&schedule);
        let mut periods = vec![some_period(&job, at)];
        while periods.len() < 12 && let Some(next) = job.next_period(periods[periods.len() - 1].nominal()) {
            periods.push(next);
        }
        let in_order: Vec<Record> = periods.iter().map(|p| whole(&job.decide(*p))).collect();
        // CORE-02: nothing is remembered; a job made anew agrees as well.
        let fresh = job_of("test", &job.schedule().to_string());
        for i in order.into_iter().filter(|i| *i < periods.len()) {
            prop_assert_eq!(&whole(&job.decide(periods[i])), &in_order[i]);
            let again = whole(&fresh.decide(periods[i]));
            prop_assert_eq!(&again, &in_order[i]);
        }
    }

    /// CORE-15, CORE-16, CORE-17: window arithmetic, in elapsed nanoseconds.
    #[test]
    fn windows(at in 0_i64..4_000_000_000, nanos in 0_u64..31_622_400_000_000_000, after: bool) {
        let mode = if after { "after" } else { "around" };
        let job = job(&format!("0 0 1 1 * @win({mode},{nanos}ns)"));
        let nominal = i128::from(at - at % 60) * 1_000_000_000;
        let decision = job.decide(PeriodId::new(UtcSecond::new(at - at % 60).unwrap()).unwrap());
        let (start, end) = (decision.window().start(), decision.window().end());
        let total = |t: kron_core::UtcInstant| {
            i128::from(t.unix_seconds()) * 1_000_000_000 + i128::from(t.subsec_nanos())
        };
        let nanos = i128::from(nanos);
        let (lead, trail) = if after { (0, nanos) } else { (nanos / 2, nanos / 2) };
        prop_assert_eq!(total(start), nominal - lead);
        prop_assert_eq!(total(end), nominal + trail);
        prop_assert_eq!(job.window().mode == Mode::After, after);
    }

    /// CORE-33, CORE-34, SYN-36, SYN-37, SYN-38, SYN-39, SYN-40: the allowed seconds of
    /// a window are those that a reading of the clauses, second by second, allows.
    #[test]
    fn allowed_seconds(
        (schedule, at) in job_and_period()
            .prop_filter("constrained", |(s, _)| s.contains("@only") || s.contains("@avoid")),
    ) {
        let job = job(&schedule);
        prop_assume!(job.window().duration.as_secs() < 20_000);
        let period = some_period(&job, at);
        let window = *job.decide(period).window();
        let judge = Judge::new(&schedule, &job);
        let mut expected: Vec<(i64, i64)> = Vec::new();
        for second in window.first().unix_seconds()..=window.last().unix_seconds() {
            if judge.allows(UtcSecond::new(second).unwrap()) {
                match expected.last_mut() {
                    Some(run) if run.1 + 1 == second => run.1 = second,
                    _ => expected.push((second, second)),
                }
            }
        }
        let runs: Vec<(i64, i64)> = job
            .allowed_runs(period)
            .into_iter()
            .map(|(first, last)| (first.unix_seconds(), last.unix_seconds()))
            .collect();
        prop_assert_eq!(&runs, &expected, "{} {}", schedule, period);
        // CORE-38: impossible exactly if there is none.
        let impossible = job.decide(period).choice() == Err(Unschedulable::Impossible);
        prop_assert_eq!(impossible, expected.is_empty());
        let acceptance = job.acceptance(period);
        let seconds: i64 = expected.iter().map(|(first, last)| last - first + 1).sum();
        prop_assert_eq!(acceptance.allowed_seconds(), seconds as u64);
        prop_assert_eq!(acceptance.is_impossible(), impossible);
    }
}

/// CORE-25, CORE-26, CORE-27: the key of the seed.
#[test]
fn period_keys() {
    let check = |schedule: &str, nominal: &str, key: &str| {
        let job = job(schedule);
        let decision = job.decide(period(nominal));
        assert_eq!(decision.period_key().as_str(), key, "{schedule} {nominal}");
    };
    check("0 0 * * *", "2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z");
    check("0 0 * * * @seed(daily) @tz(Asia/Tokyo)", "2026-03-01T23:30:00Z", "2026-03-02");
    check("0 0 * * * @seed(daily)", "2026-03-01T23:30:00Z", "2026-03-01");
    check("0 0 * * * @seed(weekly)", "2027-01-01T00:00:00Z", "2026-W53");
    check("0 0 * * * @seed(weekly)", "2027-01-04T00:00:00Z", "2027-W01");
    check("0 0 * * * @seed(weekly) @tz(Asia/Tokyo)", "2027-01-03T15:00:00Z", "2027-W01");
    check("0 0 * * * @seed(weekly)", "2026-12-31T00:00:00Z", "2026-W53");
    // Two periods of one local day share their draws, two days do not.
    let job = job("0 * * * * @win(after,1h) @seed(daily) @tz(America/Los_Angeles)");
    let seed = |nominal: &str| *job.decide(period(nominal)).seed_hash();
    assert_eq!(seed("2026-03-02T08:00:00Z"), seed("2026-03-03T07:00:00Z"));
    assert_ne!(seed("2026-03-02T07:00:00Z"), seed("2026-03-02T08:00:00Z"));
}

/// CORE-13: the period id is the nominal time in UTC.
#[test]
fn period_id_of_a_paris_morning() {
    let job = job("0 10 * * * @tz(Europe/Paris)");
    let next = job.next_period(support::second("2026-01-05T00:00:00Z")).unwrap();
    assert_eq!(next.to_string(), "2026-01-05T09:00:00Z");
    assert_eq!(next, "2026-01-05T10:00:00+01:00".parse().unwrap()); // CORE-14
}

/// How far a window reaches to either side of the nominal time.
#[test]
fn leads_and_trails() {
    let sides = |window: &str| {
        let job = job(&format!("0 0 * * * @win({window})"));
        (job.window().lead().as_secs(), job.window().trail().as_secs())
    };
    assert_eq!(sides("after,2h"), (0, 7200));
    assert_eq!(sides("around,2h"), (3600, 3600));
}

/// CORE-15, CORE-16, CORE-17 and a DST change inside: elapsed time.
#[test]
fn window_rows() {
    let check = |schedule: &str, nominal: &str, start: &str, end: &str| {
        let job = job(schedule);
        let decision = job.decide(period(nominal));
        let window = decision.window();
        assert_eq!(
            (window.start().to_string(), window.end().to_string()),
            (start.into(), end.into())
        );
    };
    check(
        "0 0 * * * @win(after,2h)",
        "2026-03-01T00:00:00Z",
        "2026-03-01T00:00:00Z",
        "2026-03-01T02:00:00Z",
    );
    check(
        "0 0 * * * @win(around,45m)",
        "2026-03-01T10:00:00Z",
        "2026-03-01T09:37:30Z",
        "2026-03-01T10:22:30Z",
    );
    check(
        "0 0 * * * @win(around,1s)",
        "2026-03-01T10:00:00Z",
        "2026-03-01T09:59:59.5Z",
        "2026-03-01T10:00:00.5Z",
    );
    check(
        "0 1 * * * @tz(Europe/Paris) @win(after,3h)",
        "2026-03-29T00:00:00Z",
        "2026-03-29T00:00:00Z",
        "2026-03-29T03:00:00Z",
    );
}

/// CORE-18, CORE-20: both ends of a window can be chosen.
#[test]
fn both_bounds_are_reachable() {
    let mut seen = std::collections::BTreeSet::new();
    for i in 0..200 {
        let job = job_of(&format!("bounds/{i}"), "0 0 * * * @win(around,4s)");
        seen.insert(job.decide(period("2026-03-01T00:00:00Z")).chosen().unwrap().to_string());
    }
    let expected = [
        "2026-02-28T23:59:58Z",
        "2026-02-28T23:59:59Z",
        "2026-03-01T00:00:00Z",
        "2026-03-01T00:00:01Z",
        "2026-03-01T00:00:02Z",
    ];
    assert!(seen.iter().map(String::as_str).eq(expected), "{seen:?}");
}

/// CORE-19: without a window the chosen time is the nominal time.
#[test]
fn no_window_no_choice() {
    for distribution in
        ["uniform", "normal", "skewEarly,shape=9", "skewLate", "exponential,lambda=50,dir=late"]
    {
        for window in ["after,0s", "around,0s", "after,999ms", "around,1.9s"] {
            for salt in ["a", "b", "c"] {
                let schedule = format!(
                    "0 0 * * * @win({window}) @dist({distribution}) @seed(stable,salt={salt})"
                );
                let job = job(&schedule);
                let decision = job.decide(period("2026-03-01T00:00:00Z"));
                assert_eq!(
                    decision.chosen(),
                    Some(support::second("2026-03-01T00:00:00Z")),
                    "{schedule}"
                );
                assert_eq!(decision.attempts(), 0);
            }
        }
    }
}

/// CORE-35: constraints judge candidates, not the nominal time.
#[test]
fn a_window_that_begins_in_an_avoided_hour() {
    for i in 0..100 {
        let job = job_of(&format!("late/{i}"), "0 6 * * * @win(after,2h) @avoid(hours=0-6)");
        let chosen = job.decide(period("2026-03-02T06:00:00Z")).chosen().unwrap();
        assert!(chosen >= support::second("2026-03-02T07:00:00Z"), "{chosen}");
    }
}

/// CORE-36, CORE-37, CORE-30: the accepted candidate is the first allowed one
/// of the stream, and the stream is the one that the description gives.
#[test]
fn first_allowed_draw_of_the_stream() {
    let schedule = "0 0 * * * @win(after,2h) @only(between=00:10-00:12)";
    let judge_job = job(schedule);
    let judge = Judge::new(schedule, &judge_job);
    let at = period("2026-03-02T00:00:00Z");
    let mut most = 0;
    for i in 0..300 {
        let job = job_of(&format!("stream/{i}"), schedule);
        let (decision, rejected) = job.decide_explained(at);
        // The stream, from the seed hash alone.
        let hash = decision.seed_hash().as_bytes();
        let mut state = u64::from_be_bytes(hash[..8].try_into().unwrap());
        let mut candidates = std::iter::repeat_with(|| {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            let u = ((z ^ (z >> 31)) >> 11) as f64 / 9_007_199_254_740_992.0;
            let second = (u * 7201.0).floor() as i64;
            UtcSecond::new(at.nominal().unix_seconds() + second).unwrap()
        });
        for (i, refused) in rejected.iter().enumerate() {
            assert_eq!(Some(refused.candidate), candidates.next());
            assert_eq!(usize::from(refused.attempt), i + 1);
            assert!(!judge.allows(refused.candidate));
            let clause = job.constraints().describe(refused.violation).to_string();
            assert_eq!(clause, "only(between=00:10-00:12)");
        }
        assert_eq!(decision.chosen(), candidates.next());
        assert!(judge.allows(decision.chosen().unwrap()));
        assert_eq!(usize::from(decision.attempts()), rejected.len() + 1);
        most = most.max(decision.attempts());
    }
    assert!(most > 100, "{most}");
}

/// Each kind of clause is named when it refuses.
#[test]
fn the_clause_that_refused() {
    let check = |modifier: &str, clause: &str| {
        let schedule = format!("0 10 * * * @win(after,48h) {modifier}");
        let at = period("2026-12-24T10:00:00Z");
        let found = (0..50).find_map(|i| {
            let job = job_of(&format!("clause/{i}"), &schedule);
            let (_, rejected) = job.decide_explained(at);
            rejected
                .first()
                .map(|refused| job.constraints().describe(refused.violation).to_string())
        });
        assert_eq!(found.as_deref(), Some(clause), "{schedule}");
    };
    check("@only(hours=8-18)", "only(hours=8-18)");
    check("@only(dow=FRI)", "only(dow=FRI)");
    check("@only(dom=25)", "only(dom=25)");
    check("@only(date=2026-12-25)", "only(date=2026-12-25)");
    check("@only(between=22:00-04:00)", "only(between=22:00-04:00)");
    check("@avoid(hours=8-18)", "avoid(hours=8-18)");
    check("@avoid(dow=THU)", "avoid(dow=THU)");
    check("@avoid(dom=25)", "avoid(dom=25)");
    check("@avoid(dates=2026-12-25..2026-12-26)", "avoid(dates=2026-12-25..2026-12-26)");
    check("@avoid(between=10:00-12:00)", "avoid(between=10:00-12:00)");
}

/// Around a change of offset each second is judged by its own local time.
#[test]
fn the_second_of_a_change() {
    // 00:59:59Z is 01:59:59 in Paris, 01:00:00Z is 03:00:00.
    let schedule = "0 3 * * * @tz(Europe/Paris) @win(around,2s) @only(hours=3)";
    let mut seen = std::collections::BTreeSet::new();
    for i in 0..100 {
        let job = job_of(&format!("change/{i}"), schedule);
        seen.insert(job.decide(period("2026-03-29T01:00:00Z")).chosen().unwrap().to_string());
    }
    let seen: Vec<String> = seen.into_iter().collect();
    assert_eq!(seen, ["2026-03-29T01:00:00Z", "2026-03-29T01:00:01Z"]);
}

/// CORE-38: a Sunday job that may only run on Mondays. No time, no error.
#[test]
fn unschedulable() {
    let job = job("0 10 * * SUN @win(after,2h) @only(dow=MON)");
    let decision = job.decide(period("2026-03-01T10:00:00Z"));
    assert_eq!(decision.choice(), Err(Unschedulable::Impossible));
    assert_eq!(decision.due(), decision.window().start());
}

/// CORE-03, SYN-14: the host's own zone has no influence. The engine cannot
/// read the environment; run under several values, it must agree with itself.
#[test]
#[allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the test, not the engine")]
fn host_zone_has_no_influence() {
    if let Ok(schedule) = std::env::var("KRON_TEST_SCHEDULE") {
        let job = job(&schedule);
        println!("decided {}", job.decide(period("2026-07-02T10:00:00Z")).chosen().unwrap());
        println!("next {}", job.next_period(support::second("2026-07-02T10:00:00Z")).unwrap());
        return;
    }
    let run = |zone: &str| {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "host_zone_has_no_influence", "--nocapture"])
            .env("TZ", zone)
            .env("KRON_TEST_SCHEDULE", "0 10 * * * @win(after,2h) @only(hours=10-11)")
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<String> = text
            .lines()
            .filter(|l| l.starts_with("decided") || l.starts_with("next"))
            .map(String::from)
            .collect();
        assert_eq!(lines.len(), 2, "{text}");
        lines
    };
    let utc = run("UTC");
    assert_eq!(utc[1], "next 2026-07-03T10:00:00Z");
    assert_eq!(run("Asia/Tokyo"), utc);
    assert_eq!(run("America/Los_Angeles"), utc);
}
