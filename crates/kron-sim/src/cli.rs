//! The command line.

use crate::draw;
use crate::fact::Time;
use crate::figures::Figures;
use crate::law::Breach;
use crate::scenario::Scenario;
use crate::world::World;
use crate::{fleet, shrink, simulate};
use clap::{Parser, Subcommand};
use core::time::Duration;
use kron_core::Zones;
use kron_core::time::duration::Pretty;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  kron-sim --seed 17              one world, with everything that happens in it
  kron-sim run --seeds 0..1000    a thousand worlds
  kron-sim run --for 10m          as many as there is time for

Exit status: 0 if every law held, 1 if one was broken.";

/// Runs the daemon's mind in false worlds and checks that every law holds.
#[derive(Parser)]
#[command(name = "kron-sim", version, after_help = EXAMPLES, arg_required_else_help = true)]
struct Arguments {
    /// Replays one world and prints everything that happens
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// With --seed: the smallest scenario that breaks the same law
    #[arg(long, requires = "seed")]
    shrink: bool,
    /// Worlds of two hours in which something is edited, reset or damaged each minute
    #[arg(long, global = true)]
    dense: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Many worlds, on all processors
    Run {
        /// Seeds, the second not included
        #[arg(long, value_name = "FROM..TO", value_parser = seeds)]
        seeds: Option<(u64, u64)>,
        /// How long to go on
        #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
        length: Option<Duration>,
        /// Threads; as many as there are processors unless told otherwise
        #[arg(long, value_name = "COUNT")]
        threads: Option<usize>,
    },
    /// Each deliberate mistake, and the seeds it took to notice it
    #[cfg(feature = "mutants")]
    Mutants,
}

/// What draws a world from a seed.
type Draw = fn(u64, &mut Zones) -> Scenario;

fn seeds(text: &str) -> Result<(u64, u64), String> {
    let expected = || "expected two numbers, as in 0..1000".to_string();
    let (from, to) = text.split_once("..").ok_or_else(expected)?;
    Ok((from.parse().map_err(|_| expected())?, to.parse().map_err(|_| expected())?))
}

fn duration(text: &str) -> Result<Duration, String> {
    kron_core::time::duration::parse(text).map_err(|_| "expected a duration, as in 10m".into())
}

/// Does what the command line asks for.
#[must_use]
pub fn run() -> ExitCode {
    let arguments = Arguments::parse();
    let draw = if arguments.dense { draw::dense } else { draw::scenario };
    let result = match (arguments.seed, arguments.command) {
        (Some(seed), _) => replay(seed, draw, arguments.shrink),
        (None, Some(Command::Run { seeds, length, threads })) => many(seeds, draw, length, threads),
        #[cfg(feature = "mutants")]
        (None, Some(Command::Mutants)) => mutants(),
        (None, None) => Ok(true),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // Whoever reads may have had enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kron-sim: {error}");
            ExitCode::from(2)
        }
    }
}

fn replay(seed: u64, draw: Draw, smallest: bool) -> io::Result<bool> {
    let mut zones = Zones::bundled();
    let mut scenario = draw(seed, &mut zones);
    if smallest && let (_, Err(breach)) = simulate(&scenario, &mut zones) {
        scenario = shrink::shrink(&scenario, breach.law, &mut zones);
    }
    trace(&scenario, &mut zones)
}

/// Prints everything that happens in a world, and the verdict.
fn trace(scenario: &Scenario, zones: &mut Zones) -> io::Result<bool> {
    let mut out = BufWriter::new(io::stdout().lock());
    writeln!(out, "{scenario}")?;
    let mut failed = None;
    let (figures, result) = {
        let mut reader = |time: Time, fact: &crate::fact::Fact| {
            let at = Pretty(Duration::from_millis(time.true_time.as_millis() as u64));
            let wall = time.wall.to_string();
            let line = format!("{wall:<30} +{:<14} {fact}", at.to_string());
            if let Err(error) = writeln!(out, "{line}") {
                failed.get_or_insert(error);
            }
        };
        World::new(scenario, zones, Some(&mut reader)).run()
    };
    if let Some(error) = failed {
        return Err(error);
    }
    match &result {
        Ok(()) => writeln!(out, "\nevery law held\n{figures}")?,
        Err(breach) => writeln!(out, "\nBROKEN {breach}")?,
    }
    out.flush()?;
    Ok(result.is_ok())
}

fn many(
    seeds: Option<(u64, u64)>,
    draw: Draw,
    length: Option<Duration>,
    threads: Option<usize>,
) -> io::Result<bool> {
    let began = Instant::now();
    let (from, to) = seeds.unwrap_or((0, if length.is_some() { u64::MAX } else { 1000 }));
    let threads = threads.or_else(|| std::thread::available_parallelism().ok().map(Into::into));
    let threads = threads.unwrap_or(1);
    let orders = fleet::Orders { from, to, length, threads, draw, shows: true };
    let fleet::Report { figures, failures } = fleet::sail(&orders);
    let mut out = io::stdout().lock();
    tell(&mut out, &figures, began.elapsed())?;
    for (seed, breach) in &failures {
        report(&mut out, *seed, draw, breach)?;
    }
    Ok(failures.is_empty())
}

fn tell(out: &mut impl Write, figures: &Figures, took: Duration) -> io::Result<()> {
    write!(out, "{figures}")?;
    let rate = figures.job_years / took.as_secs_f64().max(0.001);
    writeln!(out, "{:>14.1}  seconds\n{rate:>14.1}  job-years a second", took.as_secs_f64())
}

fn report(out: &mut impl Write, seed: u64, draw: Draw, breach: &Breach) -> io::Result<()> {
    let mut zones = Zones::bundled();
    let scenario = draw(seed, &mut zones);
    let small = shrink::shrink(&scenario, breach.law, &mut zones);
    let again = simulate(&small, &mut zones).1.err();
    writeln!(out, "\nBROKEN by seed {seed}: {breach}")?;
    writeln!(out, "smallest scenario:\n{small}")?;
    if let Some(again) = again {
        writeln!(out, "there: {}", again.what)?;
    }
    writeln!(out, "replay: cargo run -p kron-sim -- --seed {seed} --shrink")
}

#[cfg(feature = "mutants")]
fn mutants() -> io::Result<bool> {
    let mut out = io::stdout().lock();
    let mut all = true;
    for row in crate::mutants::TABLE {
        let found = crate::mutants::hunt(row);
        all &= found.as_ref().is_some_and(|(_, breach)| row.laws.contains(&breach.law));
        let found = found.map_or("not noticed".into(), |(seeds, breach)| {
            format!("{seeds} of {} seeds, {}", row.seeds, breach.law)
        });
        writeln!(out, "{:<28} {found}", row.mutant.as_str())?;
    }
    Ok(all)
}
