//! Generators of valid schedules, made from the same bounds that the engine
//! checks.

use kron_core::bounds::{Bounds, DAY_OF_MONTH, DAY_OF_WEEK, HOUR, LAMBDA, MINUTE, MONTH, SHAPE};
use proptest::prelude::*;
use proptest::sample::select;

pub const ZONES: [&str; 14] = [
    "UTC",
    "Europe/Paris",
    "Europe/London",
    "America/New_York",
    "America/Los_Angeles",
    "America/Sao_Paulo",
    "America/St_Johns",
    "Australia/Lord_Howe",
    "Asia/Tokyo",
    "Asia/Kathmandu",
    "Pacific/Apia",
    "Pacific/Chatham",
    "Africa/Casablanca",
    "America/Havana",
];

fn item(bounds: Bounds<u8>) -> impl Strategy<Value = String> {
    let value = bounds.min..=bounds.max;
    prop_oneof![
        4 => value.clone().prop_map(|value| value.to_string()),
        2 => (value.clone(), value.clone())
            .prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b))),
        1 => (value.clone(), value, any::<u8>()).prop_map(|(a, b, step)| {
            let (first, last) = (a.min(b), a.max(b));
            format!("{first}-{last}/{}", 1 + step % (last - first).max(1))
        }),
        1 => (1..=bounds.max - bounds.min).prop_map(|step| format!("*/{step}")),
    ]
}

/// A cron field.
fn field(bounds: Bounds<u8>) -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just("*".to_string()),
        5 => item(bounds),
        2 => prop::collection::vec(item(bounds), 2..4).prop_map(|items| items.join(",")),
    ]
}

/// Five fields that match some date.
pub fn cron() -> impl Strategy<Value = String> {
    let day = prop_oneof![3 => field(DAY_OF_MONTH), 1 => (1..=28_u8).prop_map(|d| d.to_string())];
    (field(MINUTE), field(HOUR), day, field(MONTH), field(DAY_OF_WEEK))
        .prop_map(|(minute, hour, day, month, weekday)| {
            format!("{minute} {hour} {day} {month} {weekday}")
        })
        .prop_filter("matches a date", |cron| kron_core::syntax::Spec::parse(cron).is_ok())
}

/// Five fields and a zone.
pub fn cron_in_a_zone() -> impl Strategy<Value = String> {
    (cron(), select(&ZONES[..])).prop_map(|(cron, zone)| format!("{cron} @tz({zone})"))
}

fn duration(seconds: std::ops::Range<u64>) -> impl Strategy<Value = String> {
    (seconds, prop_oneof![4 => Just(0_u32), 1 => 0..1_000_000_000_u32])
        .prop_map(|(s, nanos)| if nanos == 0 { format!("{s}s") } else { format!("{s}s{nanos}ns") })
}

fn float(bounds: Bounds<f64>) -> impl Strategy<Value = String> {
    // Evenly over the magnitudes, and the ends.
    prop_oneof![
        8 => (0.001..1.0_f64, 0..4_i32)
            .prop_map(|(x, magnitude)| (x * f64::from(10_i32.pow(magnitude as u32))).clamp(0.001, 1000.0).to_string()),
        1 => Just(bounds.min.to_string()),
        1 => Just(bounds.max.to_string()),
    ]
}

pub fn distribution() -> impl Strategy<Value = String> {
    let mu = select(&["nominal", "start", "mid", "end"][..]);
    prop_oneof![
        Just("uniform".to_string()),
        Just("normal".to_string()),
        (mu, 1..100_000_000_u64).prop_map(|(mu, ms)| format!("normal,mu={mu},sigma={ms}ms")),
        float(SHAPE).prop_map(|shape| format!("skewEarly,shape={shape}")),
        float(SHAPE).prop_map(|shape| format!("skewLate,shape={shape}")),
        (float(LAMBDA), select(&["early", "late"][..]))
            .prop_map(|(lambda, dir)| format!("exponential,lambda={lambda},dir={dir}")),
    ]
}

fn salt() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(r#""""#.to_string()),
        "[a-z][a-z0-9._-]{0,8}",
        // Anything printable, in quotes.
        prop::collection::vec(any::<char>().prop_filter("printable", |c| !c.is_control()), 0..6)
            .prop_map(|characters| {
                let text: String = characters.into_iter().collect();
                format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""))
            }),
    ]
}

fn clause() -> impl Strategy<Value = String> {
    let number = |bounds: Bounds<u8>| bounds.min..=bounds.max;
    let dates = (2024..2030_i32, 1..=12_u8, 1..=28_u8);
    prop_oneof![
        (number(HOUR), number(HOUR)).prop_map(|(a, b)| format!("hours={a}-{b}")),
        (number(HOUR), number(HOUR)).prop_map(|(a, b)| format!("hours={a},{b}")),
        (number(DAY_OF_WEEK), number(DAY_OF_WEEK)).prop_map(|(a, b)| format!("dow={a}-{b}")),
        (number(DAY_OF_MONTH), number(DAY_OF_MONTH)).prop_map(|(a, b)| format!(
            "dom={}-{}",
            a.min(b),
            a.max(b)
        )),
        (number(MONTH), number(MONTH)).prop_map(|(a, b)| format!("months={a}-{b}")),
        (0..24_u8, 0..60_u8, 0..24_u8, 0..60_u8)
            .prop_map(|(a, b, c, d)| format!("between={a:02}:{b:02}-{c:02}:{d:02}")),
        dates.clone().prop_map(|(y, m, d)| format!("date={y}-{m:02}-{d:02}")),
        (dates, 0..3_i32).prop_map(|((y, m, d), more)| format!(
            "dates={y}-{m:02}-{d:02}..{}-{m:02}-{d:02}",
            y + more
        )),
    ]
}

fn clauses() -> impl Strategy<Value = String> {
    prop::collection::vec(clause(), 1..4).prop_map(|clauses| clauses.join(";"))
}

/// Modifiers, each at most once, in random order.
pub fn modifiers() -> impl Strategy<Value = Vec<String>> {
    let mode = select(&["after", "around"][..]);
    let length = prop_oneof![2 => duration(0..10), 4 => duration(10..20_000), 1 => duration(20_000..400_000)];
    let policy = (select(&["allow", "forbid", "replace"][..]), duration(0..100_000), any::<bool>());
    (
        prop::option::of(select(&ZONES[..]).prop_map(|zone| format!("@tz({zone})"))),
        prop::option::weighted(0.8, (mode, length).prop_map(|(m, d)| format!("@win({m},{d})"))),
        prop::option::of(distribution().prop_map(|d| format!("@dist({d})"))),
        prop::option::of(
            (select(&["stable", "daily", "weekly"][..]), prop::option::of(salt())).prop_map(
                |(strategy, salt)| match salt {
                    Some(salt) => format!("@seed({strategy},salt={salt})"),
                    None => format!("@seed({strategy})"),
                },
            ),
        ),
        prop::option::of(
            policy
                .prop_map(|(c, d, s)| format!("@policy(concurrency={c},deadline={d},suspend={s})")),
        ),
        prop::option::weighted(0.3, clauses().prop_map(|c| format!("@only({c})"))),
        prop::option::weighted(0.3, clauses().prop_map(|c| format!("@avoid({c})"))),
    )
        .prop_map(|(a, b, c, d, e, f, g)| [a, b, c, d, e, f, g].into_iter().flatten().collect())
        .prop_shuffle()
}

/// A whole valid schedule.
pub fn schedule() -> impl Strategy<Value = String> {
    (cron(), modifiers())
        .prop_map(|(cron, modifiers)| format!("{cron} {}", modifiers.join(" ")))
        .prop_filter("not too many windows open", |text| {
            kron_core::syntax::Spec::parse(text).is_ok()
        })
}
