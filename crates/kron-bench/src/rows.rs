//! What is measured: each row one question, asked of us and of the peers that
//! can answer it.

use chrono::{DateTime, TimeZone, Utc};
use chrono_tz::Tz;
use kron_core::{Job, PeriodId, UtcSecond, Zones};
use std::hint::black_box;
use std::str::FromStr;

/// One question.
pub struct Row {
    /// Short name, unique.
    pub name: &'static str,
    /// Nanoseconds that we have promised ourselves.
    pub target_nanos: f64,
    /// Ourselves first.
    pub contenders: Vec<Contender>,
}

/// One who answers.
pub struct Contender {
    /// Name of the library.
    pub name: &'static str,
    answer: Box<dyn FnMut(i64) -> i64>,
}

impl Contender {
    fn new(name: &'static str, answer: impl FnMut(i64) -> i64 + 'static) -> Self {
        Self { name, answer: Box::new(answer) }
    }

    /// Asks `times` times, from instants spread over twenty years, in an order
    /// that no branch predictor learns.
    pub fn repeat(&mut self, times: u64) -> i64 {
        const START: i64 = 1_735_689_600; // 2025-01-01
        const YEARS: u64 = 20 * 365 * 86_400;
        let mut sum = 0_i64;
        for i in 0..times {
            let at = START + (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) % YEARS) as i64;
            sum = sum.wrapping_add((self.answer)(black_box(at)));
        }
        sum
    }
}

/// All rows.
pub fn rows() -> Vec<Row> {
    vec![
        next("next-minutes-utc", "*/5 * * * *", "UTC", 60.0),
        next("next-daily-utc", "0 10 * * *", "UTC", 60.0),
        next("next-weekdays-utc", "15 9 * * MON-FRI", "UTC", 60.0),
        next("next-monthly-utc", "0 3 1 * *", "UTC", 60.0),
        next("next-minutes-paris", "*/5 * * * *", "Europe/Paris", 120.0),
        next("next-daily-paris", "0 10 * * *", "Europe/Paris", 120.0),
        next("next-weekdays-paris", "15 9 * * MON-FRI", "Europe/Paris", 120.0),
        next("next-leap-day-utc", "0 3 29 2 *", "UTC", 200.0),
        next("next-leap-day-paris", "0 3 29 2 *", "Europe/Paris", 200.0),
        previous("prev-daily-paris", "0 10 * * *", "Europe/Paris", 120.0),
        decision("decide-uniform-utc", "0 10 * * * @win(after,2h)", 250.0),
        decision(
            "decide-paris-accepted",
            "0 10 * * * @tz(Europe/Paris) @win(around,2h) @only(hours=0-23;dow=SUN-SAT)",
            400.0,
        ),
        decision("decide-skew-utc", "0 10 * * * @win(after,2h) @dist(skewLate)", f64::NAN),
        decision("decide-normal-utc", "0 10 * * * @win(after,2h) @dist(normal)", f64::NAN),
        decision(
            "decide-exponential-utc",
            "0 10 * * * @win(after,2h) @dist(exponential)",
            f64::NAN,
        ),
        rejections(),
        parse("parse-cron", "0 10 * * *"),
        parse("parse-window", "0 10 * * * @win(after,2h)"),
        parse("parse-weekdays-zone", "15 9 * * MON-FRI @tz(Europe/Paris)"),
        parse("parse-full-line", FULL_LINE),
    ]
}

fn zones_and_job(schedule: &str) -> Job {
    let mut zones = Zones::bundled();
    match Job::parse("/etc/krond.d/system.kron:backup", schedule, &mut zones) {
        Ok(job) => job,
        Err(errors) => fail(&errors),
    }
}

fn fail(error: &dyn std::fmt::Display) -> ! {
    eprintln!("kron-bench: {error}");
    std::process::exit(1)
}

fn ok<T, E: std::fmt::Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| fail(&error))
}

fn second(at: i64) -> UtcSecond {
    ok(UtcSecond::new(at))
}

fn period(at: i64) -> PeriodId {
    ok(PeriodId::new(second(at - at % 60)))
}

fn next(name: &'static str, cron: &'static str, zone: &'static str, target_nanos: f64) -> Row {
    let job = zones_and_job(&format!("{cron} @tz({zone})"));
    let mut contenders = vec![Contender::new("kron", move |at| {
        job.next_period(second(at)).map_or(0, |period| period.nominal().unix_seconds())
    })];
    // This crate wants seconds, and counts weekdays from 1; names mean the same.
    let theirs = ok(cron::Schedule::from_str(&format!("0 {cron}")));
    let tz: Tz = ok(zone.parse::<Tz>());
    contenders.push(Contender::new("cron", move |at| {
        let from = tz.from_utc_datetime(&utc(at).naive_utc());
        theirs.after(&from).next().map_or(0, |next| next.timestamp())
    }));
    let theirs = ok(croner::Cron::from_str(cron));
    contenders.push(Contender::new("croner", move |at| {
        let from = tz.from_utc_datetime(&utc(at).naive_utc());
        theirs.find_next_occurrence(&from, false).map_or(0, |next| next.timestamp())
    }));
    // UTC only.
    if zone == "UTC" {
        let theirs = saffron::Cron::from_str(cron)
            .unwrap_or_else(|_| fail(&"saffron refuses the expression"));
        contenders.push(Contender::new("saffron", move |at| {
            theirs.next_after(utc(at)).map_or(0, |next| next.timestamp())
        }));
    }
    Row { name, target_nanos, contenders }
}

fn utc(at: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(at, 0).unwrap_or_default()
}

fn previous(name: &'static str, cron: &'static str, zone: &'static str, target_nanos: f64) -> Row {
    let job = zones_and_job(&format!("{cron} @tz({zone})"));
    let kron = Contender::new("kron", move |at| {
        job.prev_period(second(at)).map_or(0, |period| period.nominal().unix_seconds())
    });
    Row { name, target_nanos, contenders: vec![kron] }
}

fn decision(name: &'static str, schedule: &'static str, target_nanos: f64) -> Row {
    let job = zones_and_job(schedule);
    let kron = Contender::new("kron", move |at| {
        job.decide(period(at)).chosen().map_or(0, UtcSecond::unix_seconds)
    });
    Row { name, target_nanos, contenders: vec![kron] }
}

/// Periods whose first 64 draws are all refused, found beforehand.
fn rejections() -> Row {
    let schedule =
        "0 * * * * @tz(Europe/Paris) @win(after,2h) @only(between=10:30-10:30;dow=SUN-SAT)";
    let job = zones_and_job(schedule);
    let mut periods = Vec::new();
    let mut at = second(1_735_689_600);
    while periods.len() < 32 {
        let Some(period) = job.next_period(at) else { break };
        at = period.nominal();
        if job.decide(period).attempts() == 65 {
            periods.push(period);
        }
    }
    let kron = Contender::new("kron", move |at| {
        let period = periods[at as usize % periods.len()];
        job.decide(period).chosen().map_or(0, UtcSecond::unix_seconds)
    });
    Row { name: "decide-64-rejected", target_nanos: 1500.0, contenders: vec![kron] }
}

/// A line with all seven modifiers.
const FULL_LINE: &str = "0 10 * * * @tz(Europe/Paris) @win(around,90m) \
    @dist(skewLate,shape=2.5) @seed(daily,salt=msgs) @policy(concurrency=forbid,deadline=10m) \
    @only(dow=MON-FRI;between=08:00-20:00) @avoid(hours=12;date=2026-12-25)";

fn parse(name: &'static str, schedule: &'static str) -> Row {
    let mut zones = Zones::bundled();
    let kron = Contender::new("kron", move |at| {
        let job = Job::parse("/etc/krond.d/system.kron:backup", black_box(schedule), &mut zones);
        at + i64::from(job.is_ok())
    });
    Row { name, target_nanos: f64::NAN, contenders: vec![kron] }
}
