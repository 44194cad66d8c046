//! OPR-09: the same scenarios through krond's engine and through plans. Each period has
//! the same outcome in both, and as many are passed over.

use crate::krond::script as engine;
use crate::krond::{PATH, instant};
use crate::script::{World, tidy};
use std::collections::BTreeMap;

const SCHEDULES: [&str; 6] = [
    "* * * * *",
    "*/2 * * * * @win(after,6m)",
    "*/3 * * * * @win(around,10m)",
    "*/5 * * * * @win(after,4m) @avoid(hours=10)",
    "*/4 * * * * @win(around,7m) @dist(normal)",
    "0,1,2 10 * * * @win(after,5m) @dist(skewLate,shape=3) @seed(daily)",
];
const CONCURRENCY: [&str; 3] = ["allow", "forbid", "replace"];
const DEADLINES: [&str; 3] = ["0s", "20s", "5m"];
// Nothing ends in the very moment in which something is due.
const RUNS: [(&str, &str); 4] =
    [("500ms", "0s"), ("95.5s", "0s"), ("forever", "0s"), ("forever", "20.5s")];

/// What happens: `JOB` is the definition, `SUSPENDED` the same suspended, `OTHER` another.
const EVENTS: [&str; 8] = [
    "",
    "10:02:20.25 crash
     10:06:40.25 start",
    "10:02:20.25 crash
     10:02:45.25 start
     10:05:05.25 crash
     10:05:25.25 start",
    "10:02:20.25 SUSPENDED
     10:06:40.25 JOB",
    "10:03:10.25 OTHER",
    "10:03:10.25 OTHER
     10:05:30.25 JOB",
    "10:02:20.25 crash
     10:04:00.25 OTHER
     10:06:40.25 start",
    "10:01:20.25 SUSPENDED
     10:02:20.25 crash
     10:05:40.25 start
     10:07:00.25 JOB",
];

/// Outcomes of periods, and how many were passed over.
type Story = (BTreeMap<String, String>, u64);

#[test]
fn same_outcomes_as_krond() {
    let mut outcomes = BTreeMap::new();
    for schedule in SCHEDULES {
        for concurrency in CONCURRENCY {
            for deadline in DEADLINES {
                for (run, lingers) in RUNS {
                    for events in EVENTS {
                        // How long it takes to end something is each adapter's own, and a
                        // crash shows it.
                        if lingers != "0s" && events.contains("crash") {
                            continue;
                        }
                        let job = format!(
                            "{schedule} @policy(concurrency={concurrency},deadline={deadline}"
                        );
                        let ours = plans(&job, run, lingers, events);
                        let theirs = krond(&job, run, lingers, events);
                        assert_eq!(ours, theirs, "{job}) run={run} lingers={lingers}\n{events}");
                        for outcome in ours.0.into_values() {
                            *outcomes.entry(outcome).or_insert(0_u32) += 1;
                        }
                    }
                }
            }
        }
    }
    // Each has been seen often enough for this to mean something.
    assert!(outcomes.len() == 4 && outcomes.values().all(|count| *count > 100), "{outcomes:?}");
}

/// An event as a script has it.
fn lines(job: &str, events: &str, edit: impl Fn(&str, &str) -> Vec<String>) -> Vec<String> {
    let other = job.replace("@policy", "@seed(weekly,salt=other) @policy");
    let other = if job.contains("@seed") { job.replace("daily", "weekly") } else { other };
    let mut all = Vec::new();
    for line in tidy(events) {
        let (at, what) = line.split_once(' ').expect("a time");
        match what {
            "SUSPENDED" => all.extend(edit(at, &format!("{job},suspend=true)"))),
            "JOB" => all.extend(edit(at, &format!("{job})"))),
            "OTHER" => all.extend(edit(at, &format!("{other})"))),
            _ => all.push(line),
        }
    }
    all.push("10:20:00.25 end".into());
    all
}

fn plans(job: &str, run: &str, lingers: &str, events: &str) -> Story {
    let mut world = World::new("09:58:00.25");
    world.identity = format!("{PATH}:a");
    // How long it takes to end what is replaced is each adapter's own.
    world.cluster.holds = false;
    let setup = [
        format!("job {job})"),
        format!("runs {run}"),
        format!("lingers {lingers}"),
        "start".into(),
    ];
    for line in setup {
        world.act(&line);
    }
    for line in lines(job, events, |at, job| vec![format!("{at} job {job}")]) {
        world.act(&line);
    }
    let recorded = world.cluster.recorded.iter();
    let outcomes = recorded.map(|(period, outcome)| (period.to_string(), outcome.clone()));
    let passed = world.log.iter().filter_map(|line| line.split_once(" superseded "));
    (outcomes.collect(), passed.map(|(_, count)| count.parse::<u64>().expect("a number")).sum())
}

fn krond(job: &str, run: &str, lingers: &str, events: &str) -> Story {
    let mut world = crate::krond::World::new(instant("09:58:00.25"));
    // It is asked to end, does not, and is killed after the grace period.
    let (set, ignores) = match lingers {
        "0s" => ("set grace=5s".into(), ""),
        _ => (format!("set grace={lingers}"), " ignores=term"),
    };
    let proc = format!("proc a run={run}{ignores}");
    for line in [set, format!("job a {job})"), proc, "start".into()] {
        engine::act(&mut world, &line);
    }
    for line in lines(job, events, |at, job| vec![format!("{at} job a {job}"), "reload".into()]) {
        // Nobody reloads what is not there.
        if line != "reload" || world.is_up() {
            engine::act(&mut world, &line);
        }
    }
    let outcomes = world.laws.outcomes().iter();
    let outcomes = outcomes.map(|((_, period), outcome)| (period.clone(), outcome.clone()));
    let passed = world.lines.iter().filter(|(_, line)| line.event == "superseded");
    let count = |line: &kron_core::line::Line| {
        line.get("count").expect("a count").parse::<u64>().expect("a number")
    };
    (outcomes.collect(), passed.map(|(_, line)| count(line)).sum())
}
