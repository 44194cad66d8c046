//! Speed of the programs: `krontab` on large inputs, as a user would run it.
//!
//! Processor time of the child, so that other work on the machine counts for
//! little; the least of a few runs. `krontab` must have been built in the same
//! profile: `cargo build --release -p krontab`.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

const RUNS: usize = 5;
const LINES: usize = 300_000;
const ENTRIES: usize = 100_000;
const ZONES: [&str; 4] = ["UTC", "Europe/Paris", "America/New_York", "Asia/Tokyo"];

/// Prints the report.
pub fn report() -> ExitCode {
    let Some(krontab) = program() else {
        eprintln!("kron-bench: build krontab first: cargo build --release -p krontab");
        return ExitCode::from(2);
    };
    let directory = std::env::temp_dir().join(format!("kron-bench.{}", std::process::id()));
    let made = fs::create_dir(&directory).and_then(|()| rows(&krontab, &directory));
    let _ = fs::remove_dir_all(&directory);
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kron-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn program() -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.with_file_name("krontab");
    path.is_file().then_some(path)
}

fn rows(krontab: &Path, directory: &Path) -> std::io::Result<()> {
    println!("{:<58} {:>9} {:>14}", "krontab", "cpu", "a second");
    for (what, schedule) in [
        ("decide, one schedule, many identities", one as fn(usize) -> String),
        ("decide, each schedule another, one modifier", plain),
        ("decide, each schedule another, six modifiers", full),
    ] {
        let input = directory.join("requests");
        fs::write(&input, requests(schedule))?;
        let time = least(|| run(krontab, &["decide"], &input))?;
        let rate = LINES as f64 / time.as_secs_f64();
        println!("{what:<58} {:>6} ms {rate:>14.0}", time.as_millis());
    }
    let empty = directory.join("empty");
    fs::write(&empty, "")?;
    let file = directory.join("jobs.kron");
    for (what, constraint) in [
        ("lint, 100,000 entries", ""),
        ("lint, 100,000 entries with constraints", " @only(dow=MON-FRI;hours=0-22)"),
    ] {
        fs::write(&file, entries(constraint))?;
        let path = file.to_string_lossy().into_owned();
        let time = least(|| run(krontab, &["lint", "--from", "2026-03-01", &path], &empty))?;
        println!("{what:<58} {:>6} ms", time.as_millis());
    }
    let start = least(|| run(krontab, &["--version"], &empty))?;
    let schedule = "0 10 * * * @tz(Europe/Paris) @win(around,90m)";
    let given = ["--schedule", schedule, "--identity", "x", "--from", "2026-03-01"];
    let next = [&["next", "--count", "1000"], &given[..]].concat();
    let time = least(|| run(krontab, &next, &empty))?;
    let beyond = time.saturating_sub(start).as_micros();
    println!("{:<58} {beyond:>6} µs", "next --count 1000, beyond process start");
    Ok(())
}

fn least(mut run: impl FnMut() -> std::io::Result<Duration>) -> std::io::Result<Duration> {
    let mut least = Duration::MAX;
    for _ in 0..RUNS {
        least = least.min(run()?);
    }
    Ok(least)
}

/// Processor time of one run.
fn run(program: &Path, arguments: &[&str], input: &Path) -> std::io::Result<Duration> {
    let before = children()?;
    let status = Command::new(program)
        .args(arguments)
        .stdin(File::open(input)?)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if !status.success() {
        return Err(std::io::Error::other(format!("{arguments:?} failed")));
    }
    Ok(children()?.saturating_sub(before))
}

/// Processor time of all children that have ended.
fn children() -> std::io::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(micros.unsigned_abs()))
}

fn requests(schedule: fn(usize) -> String) -> String {
    let mut text = String::new();
    for i in 0..LINES {
        let (schedule, day) = (schedule(i), i % 28 + 1);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            r#"{{"identity":"/etc/krond.d/shop.kron:job-{i}","schedule":"{schedule}","nominal":"2026-03-{day:02}T10:00:00Z"}}"#
        );
    }
    text
}

fn one(_: usize) -> String {
    "0 10 * * * @tz(Europe/Paris) @win(around,90m) @dist(skewLate,shape=2.5) \
     @seed(daily,salt=msgs) @only(dow=MON-FRI;between=08:00-20:00)"
        .into()
}

fn plain(i: usize) -> String {
    format!("{} {} * * * @win(after,{}m)", i % 60, i / 60 % 24, i / 1440 + 1)
}

fn full(i: usize) -> String {
    format!(
        "{} {} * * * @tz({}) @win(after,{}m) @dist(skewLate,shape=2.5) @seed(daily,salt=s{i}) \
         @policy(deadline=10m) @only(dow=MON-FRI;hours=0-22)",
        i % 60,
        i / 60 % 24,
        ZONES[i % ZONES.len()],
        i / 1440 + 1
    )
}

fn entries(constraint: &str) -> String {
    let mut text = String::new();
    for i in 0..ENTRIES {
        let _ = writeln!(
            text,
            "{} {} * * * @tz({}) @win(after,{}m){constraint} @policy(deadline=10m) \
             name=job-{i} user=root env=A=b command=\"/bin/true {i}\"",
            i % 60,
            i / 60 % 20 + 4,
            ZONES[i % ZONES.len()],
            i % 200 + 1
        );
    }
    text
}
