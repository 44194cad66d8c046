//! `kron-torture soak`: thousands of jobs a minute on the machine's own clock, for
//! an hour, and every run accounted for.

mod account;
mod ear;
mod sample;
mod slices;

use crate::daemon::PATIENCE;
use crate::time::{Nanos, SECOND, now, sleep};
use account::{Account, audit};
use ear::Ear;
use kron_core::time::duration;
use kron_core::{Job, Zones};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sample::{Sample, Scope};
use slices::Slices;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// From one look to the next.
const EACH: Nanos = 10 * SECOND;
/// Rows of the table.
const SLICES: i64 = 12;

#[derive(Clone, Debug, clap::Args)]
pub struct Soak {
    /// How long
    #[arg(long = "for", default_value = "1h", value_name = "DURATION", value_parser = length)]
    length: Duration,

    /// How many jobs, each of which runs every minute
    #[arg(long, default_value_t = 3000, value_name = "N")]
    jobs: usize,

    /// The daemon; by default the one beside this program
    #[arg(long, value_name = "PATH")]
    krond: Option<PathBuf>,
}

fn length(text: &str) -> Result<Duration, String> {
    duration::parse(text).map_err(|_| String::from("not a duration; `1h` and `90s` are"))
}

impl Soak {
    /// `false` if something grew or is unaccounted for, or there was no time to tell.
    pub fn run(&self) -> io::Result<bool> {
        let krond = match &self.krond {
            Some(path) => path.canonicalize()?,
            None => std::env::current_exe()?.with_file_name("krond"),
        };
        let place = tempfile::Builder::new().prefix("soak.").tempdir()?;
        let (text, jobs) = write_jobs(self.jobs, place.path())?;
        fs::write(place.path().join("jobs.kron"), text)?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut daemon = start(&krond, place.path(), port)?;
        let account = Arc::new(Mutex::new(Account::new(jobs)));
        let ear = Ear::open(&mut daemon, Arc::clone(&account))?;
        let pid = Pid::from_raw(daemon.id() as i32);
        let watched = self.watch(&mut daemon, port, &account);
        let end = now();
        kill(pid, Signal::SIGTERM)?;
        let ended = daemon.wait()?;
        ear.close();
        let slices = watched?;
        // What was released may still be on its way to its line.
        sleep(SECOND / 2);
        let record = fs::read_to_string(place.path().join("record")).unwrap_or_default();
        let account = account.lock().unwrap_or_else(PoisonError::into_inner);
        let audit = audit(&account, &record, end - 2 * SECOND);
        print!("{}", audit.table());
        let (verdict, is_flat) = slices.verdict();
        print!("{verdict}");
        if !ended.success() {
            println!("the daemon ended with {ended}");
        }
        let is_clean = audit.is_clean() && is_flat && ended.success();
        if !is_clean {
            println!("kept: {}", place.keep().display());
        }
        Ok(is_clean)
    }

    /// Looks at the daemon until the time is over.
    fn watch(&self, daemon: &mut Child, port: u16, account: &Mutex<Account>) -> io::Result<Slices> {
        let begun = now();
        let length = self.length.as_nanos() as Nanos;
        let scope = Scope { pid: daemon.id(), port };
        let mut slices = Slices::new((length / SLICES).max(EACH));
        println!("{}", Slices::HEADER);
        while now() < begun + length {
            sleep(EACH.min(begun + length - now()));
            if let Some(status) = daemon.try_wait()? {
                return Err(io::Error::other(format!("the daemon ended: {status}")));
            }
            let sample = Sample::take(scope)?;
            let late = account.lock().unwrap_or_else(PoisonError::into_inner).take_late();
            progress(now() - begun, length, &sample, late.len());
            if let Some(row) = slices.add(now() - begun, sample, late) {
                println!("{row}");
                io::stdout().flush()?;
            }
        }
        Ok(slices)
    }
}

fn progress(passed: Nanos, length: Nanos, sample: &Sample, runs: usize) {
    let mut err = io::stderr();
    if err.is_terminal() {
        let (passed, length) = (passed / SECOND, length / SECOND);
        let line = format!("{passed} of {length} s, {runs} runs in 10 s, {sample}");
        let _ = write!(err, "\r{line}\x1b[K\r").and_then(|()| err.flush());
    }
}

fn start(krond: &Path, place: &Path, port: u16) -> io::Result<Child> {
    let mut command = Command::new(krond);
    command.arg("start").arg(place.join("jobs.kron"));
    command.arg("--state-dir").arg(place.join("state"));
    // Short, so that files have their final size soon, and with them what it takes to
    // write many of them at once.
    command.args(["--history", "10"]);
    command.args(["--grace", "2s", "--shutdown", "terminate", "--shutdown-limit", "30s"]);
    command.arg("--metrics").arg(format!("127.0.0.1:{port}"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn()?;
    let until = now() + PATIENCE;
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        if now() > until {
            return Err(io::Error::other("krond does not serve its metrics"));
        }
        sleep(SECOND / 20);
    }
    Ok(child)
}

/// The jobs as a file, and as they are.
fn write_jobs(count: usize, place: &Path) -> io::Result<(String, Vec<Job>)> {
    let mut zones = Zones::bundled();
    let (mut text, mut jobs) = (String::new(), Vec::new());
    let program = std::env::current_exe()?;
    let (program, here) = (program.display(), place.display());
    for number in 0..count {
        // Of a hundred jobs: long ones that are skipped or replaced each other
        // minute, ones that take longer than they may, ones that write to a file.
        let (policy, fields, millis) = match number % 100 {
            0 | 1 => ("forbid,deadline=30s", String::new(), 90_000),
            2 | 3 => ("replace,deadline=30s", String::new(), 90_000),
            4..8 => ("forbid,deadline=30s", "timeout=1s".into(), 5_000),
            8..16 => ("allow,deadline=30s", format!("stdout=file:{here}/out.%H"), 0),
            16..30 => ("replace,deadline=30s", String::new(), 100),
            30..40 => ("allow,deadline=0s", String::new(), 0),
            _ => ("forbid,deadline=30s", String::new(), 0),
        };
        let schedule = format!("* * * * * @win(after,59s) @policy(concurrency={policy})");
        let mark = format!("{program} mark {here}/record - {millis}");
        text += &format!("{schedule} name=j{number} {fields} command=\"{mark}\"\n");
        let identity = format!("{here}/jobs.kron:j{number}");
        let job = Job::parse(&identity, &schedule, &mut zones);
        jobs.push(job.map_err(|errors| io::Error::other(format!("{schedule}: {errors:?}")))?);
    }
    Ok((text, jobs))
}
