//! What a run costs the engine among many jobs (PERF-03): from the wake-up for a
//! due job to its place in line for the next period. With a queue that is
//! searched it would grow with the jobs.

use kron_core::{Identity, UtcInstant, Zones};
use kron_engine::Engine;
use kron_engine::commit::Found;
use kron_engine::event::{Effect, Enrolment, Event, Exit, Moment};
use kron_engine::kept::Process;
use kron_engine::settings::Settings;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::process::{Command, ExitCode};
use std::time::Duration;

const TIMES: u64 = 2_000;

/// Instructions of a run among so many jobs; two runs of different length, so
/// that making the jobs cancels out.
pub fn count(jobs: usize) -> Option<u64> {
    let counted = |times: u64| {
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(std::env::current_exe().ok()?)
            .args(["lives", &jobs.to_string(), &times.to_string()])
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stderr);
        let line = text.lines().find(|line| line.contains("Collected :"))?;
        line.rsplit(' ').next()?.parse::<u64>().ok()
    };
    let (once, twice) = (counted(TIMES)?, counted(2 * TIMES)?);
    Some((twice - once) / TIMES)
}

/// Lets jobs have their time, one after the other, `times` in all.
pub fn lives(jobs: &str, times: &str) -> ExitCode {
    let (Ok(jobs), Ok(times)) = (jobs.parse(), times.parse()) else {
        eprintln!("kron-bench: no number of jobs or times");
        return ExitCode::from(2);
    };
    Life::new(jobs).live(times);
    ExitCode::SUCCESS
}

/// Processor time of a run among so many jobs.
pub fn time(jobs: usize) -> Duration {
    const TIMES: usize = 20_000;
    let mut life = Life::new(jobs);
    let before = processor_time();
    life.live(TIMES);
    processor_time().saturating_sub(before) / TIMES as u32
}

fn processor_time() -> Duration {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return Duration::ZERO };
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Duration::from_micros(micros.unsigned_abs())
}

/// An engine, and what it wants done.
struct Life {
    engine: Engine,
    moment: Moment,
    effects: Vec<Effect>,
}

impl Life {
    /// Jobs that run daily at some second each.
    fn new(jobs: usize) -> Self {
        let mut zones = Zones::bundled();
        let text = b"0 0 * * * @win(after,86399s) name=j command=true\n";
        let tab = kron_tab::read("/etc/krond.d/bench.kron", text, &mut zones);
        let at = UtcInstant::new(1_772_366_400, 0).unwrap_or(UtcInstant::MIN);
        let moment = Moment { now: at, uptime: Duration::from_secs(1) };
        let mut engine = Engine::new(Settings::default(), zones, moment);
        let mut effects = Vec::new();
        let enrol = |number| {
            let mut entry = tab.entries.first()?.clone();
            entry.job.set_identity(Identity::new(&format!("/etc/krond.d/b.kron:j{number}")).ok()?);
            Some(Enrolment { entry, found: Found::default(), alive: Vec::new() })
        };
        let jobs = (0..jobs).filter_map(enrol).collect();
        engine.handle(Event::Reload(jobs), moment, &mut effects);
        Self { engine, moment, effects }
    }

    /// Lets jobs have their time, one after the other.
    fn live(&mut self, times: usize) {
        let Self { engine, moment, effects } = self;
        let mut ended = 0;
        loop {
            // What is due at the same second is looked at together; each start is
            // answered as a daemon would.
            while let Some(effect) = effects.pop() {
                let answer = match effect {
                    Effect::Prepare(preparation) => Event::Prepared {
                        run: preparation.run,
                        process: Process { pid: 1, start_ticks: None, boot_id: None },
                        user: None,
                        begun: Duration::ZERO,
                    },
                    Effect::Commit(_) => Event::Committed,
                    Effect::Release(run) => {
                        ended += 1;
                        Event::Exited { run, exit: Exit { code: Some(0), signal: None } }
                    }
                    Effect::WatchGroup(run) => Event::GroupGone(run),
                    _ => continue,
                };
                engine.handle(answer, *moment, effects);
            }
            if ended >= times {
                return;
            }
            let (Some(next), _) = engine.next_wake() else { return };
            let passed = next.since(moment.now).unwrap_or_default();
            *moment = Moment { now: next, uptime: moment.uptime + passed };
            engine.handle(Event::Tick, *moment, effects);
        }
    }
}
