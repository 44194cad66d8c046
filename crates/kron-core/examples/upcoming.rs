//! The next chosen times of a few schedules, and why.
//!
//! ```sh
//! cargo run --example upcoming
//! cargo run --example upcoming -- '0 10 * * * @win(around,45m)' 2026-03-01T00:00:00Z
//! ```

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "an adapter, not the engine"
)]

use kron_core::{Job, UtcSecond, Zones};
use std::error::Error;

const EXAMPLES: [(&str, &str); 4] = [
    ("backup", "0 0 * * * @win(after,3h) @seed(stable,salt=backup)"),
    ("lights", "0 18 * * * @tz(America/Los_Angeles) @win(around,20m) @dist(skewLate,shape=1.4)"),
    ("invoices", "0 10 * * * @tz(Europe/Paris) @win(around,90m) @dist(normal) @only(dow=MON-FRI)"),
    ("report", "0 3 1 * * @win(after,8h) @dist(exponential,lambda=3)"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let from = match arguments.get(1) {
        Some(text) => text.parse()?,
        None => now()?,
    };
    let mut zones = Zones::bundled();
    println!("from {from}, tz database {}", zones.version());
    match arguments.first() {
        Some(schedule) => show("example", schedule, from, &mut zones)?,
        None => {
            for (name, schedule) in EXAMPLES {
                show(name, schedule, from, &mut zones)?;
            }
        }
    }
    Ok(())
}

/// The engine has no clock; whoever uses it does.
fn now() -> Result<UtcSecond, Box<dyn Error>> {
    let elapsed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    Ok(UtcSecond::new(i64::try_from(elapsed.as_secs())?)?)
}

fn show(
    name: &str,
    schedule: &str,
    from: UtcSecond,
    zones: &mut Zones,
) -> Result<(), Box<dyn Error>> {
    let job = Job::parse(name, schedule, zones)?;
    println!("\n{name}: {}", job.schedule());
    println!("  {:<20}  {:<20}  {:>8}  seed", "nominal", "chosen", "offset");
    let mut at = from;
    for _ in 0..4 {
        let Some(period) = job.next_period(at) else { break };
        at = period.nominal();
        let decision = job.decide(period);
        let seed = &decision.seed_hash().to_string()[..16];
        match decision.choice() {
            Ok(chosen) => {
                let offset = chosen.unix_seconds() - period.nominal().unix_seconds();
                println!("  {period}  {chosen}  {offset:>+7}s  {seed}…");
            }
            Err(why) => println!("  {period}  unschedulable: {why}"),
        }
    }
    Ok(())
}
