//! Many entries: woken when something is due and at no other time, in memory that
//! grows with them and no faster. How fast it is, `make bench-daemon` measures.

use crate::support::{Place, minute, ticks};
use std::fs;
use std::thread::sleep;
use std::time::Duration;

/// Entries that are not due for hours.
fn entries(count: usize) -> String {
    let mut text = String::new();
    for n in 0..count {
        text +=
            &format!("{} {} * * * @win(after,30m) name=j{n} command=/bin/true\n", n % 60, n % 8);
    }
    text
}

/// How often any thread of a process went to sleep.
fn sleeps(pid: i32) -> u64 {
    let mut sum = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
        let status = fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches")).unwrap();
        sum += line.split_whitespace().last().unwrap().parse::<u64>().unwrap();
    }
    sum
}

/// PERF-04, SCH-02.
#[test]
fn perf_04_sch_02_nothing_wakes_up_while_nothing_is_due() {
    let place = Place::with(&entries(2000));
    let daemon = place.start(0.0, &[]);
    daemon.ready();
    // What came with the start is over as soon as nothing changes.
    let pid = daemon.pid().as_raw();
    let mut before = sleeps(pid);
    crate::support::wait_for("calm", || {
        sleep(Duration::from_millis(200));
        let now = sleeps(pid);
        let is_calm = now == before;
        before = now;
        is_calm.then_some(())
    });
    sleep(Duration::from_secs(2));
    assert_eq!(sleeps(pid), before);
    daemon.stop();
}

/// PERF-05.
#[test]
fn perf_05_memory_grows_with_the_number_of_entries_and_no_faster() {
    let resident = |count: usize| {
        let place = Place::with(&entries(count));
        let daemon = place.start(0.0, &[]);
        crate::support::wait_for("all jobs", || {
            let status = place.ask(&["status", "--format", "json"]);
            (status.status == 0 && status.json()["jobs"] == count).then_some(())
        });
        let status = fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with("RssAnon")).unwrap();
        let kib: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        daemon.stop();
        kib
    };
    let (few, some, many) = (resident(1_000), resident(5_000), resident(25_000));
    let (first, second) = ((some - few) / 4_000.0, (many - some) / 20_000.0);
    // KiB of each entry that is added.
    assert!(second < 1.0, "{few}, {some}, {many} KiB: {second} KiB an entry");
    assert!(second < 1.5 * first.max(0.25), "{first} KiB an entry, then {second}");
}

/// PERF-02, SCH-01.
#[test]
fn perf_02_sch_01_a_job_among_thousands_is_not_a_second_late() {
    let mut jobs = entries(5000);
    jobs += "* 12 * * * name=a NOTE\n";
    let place = Place::with(&jobs);
    let daemon = place.start(-30.0, &[]);
    for n in 0..20 {
        daemon.clock(60.0 * n as f64 - 0.05);
        daemon.outcome("a", &minute(n), "executed");
    }
    // Without a deadline none would have been started a second late.
    for started in daemon.all("started", "a") {
        let late: f64 = started["late"].trim_end_matches("ms").parse().unwrap();
        assert!(late < 1000.0, "{}", started.line);
    }
    assert_eq!(daemon.all("started", "a").len(), 20);
    daemon.stop();
}

/// PERF-01: they are read, read again, and run when they are due.
#[test]
fn perf_01_thousands_of_entries_start_reload_and_run() {
    let mut jobs = entries(20_000);
    for n in 0..50 {
        jobs += &format!("0 12 * * * @policy(deadline=10s) name=due{n} NOTE\n");
    }
    let place = Place::with(&jobs);
    let daemon = place.start(-30.0, &[]);
    assert_eq!(&daemon.ready()["jobs"], "20050");
    place.jobs(&(jobs + "0 0 * * * name=new command=/bin/true\n"));
    place.ask(&["reload"]).exits(0).prints("reloaded: 20051 jobs");
    daemon.clock(-0.2);
    daemon.wait_nth("the last start", 50, |event| event.is("started"));
    daemon.stop();
    assert_eq!(place.record().len(), 50);
}

/// Found by a reader: it spun until the last job had ended.
/// LIF-12, PERF-04.
#[test]
fn lif_12_perf_04_a_stop_that_waits_costs_nothing() {
    let place = Place::with("0 12 * * * name=a command=\"/bin/sleep 1000\"\n");
    let daemon = place.start(-30.0, &[]);
    daemon.ready();
    daemon.clock(-0.2);
    let job = daemon.wait_of("started", "a").pid();
    let mut client = std::process::Command::new(env!("CARGO_BIN_EXE_krond"))
        .args(["stop", "--graceful", "--state-dir"])
        .arg(place.at("state"))
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    daemon.wait("stopping");
    let before = ticks(daemon.pid());
    sleep(Duration::from_secs(1));
    let spent = ticks(daemon.pid()) - before;
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(job), nix::sys::signal::Signal::SIGKILL)
        .unwrap();
    daemon.end().exits(0);
    assert!(client.wait().unwrap().success());
    assert!(spent < 20, "{spent} ticks in a second");
}
