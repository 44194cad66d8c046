//! Wall-clock time. The machine may be busy, so contenders take turns, and the
//! best and the median of many short rounds are shown.

use crate::rows::{Contender, Row};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const ROUNDS: usize = 15;
const ROUND_LENGTH: Duration = Duration::from_millis(10);

/// Times every row and prints a table. Fails if a peer is faster anywhere.
pub fn report(rows: &mut [Row]) -> ExitCode {
    println!("{ROUNDS} rounds of {ROUND_LENGTH:?} each, contenders in turn; nanoseconds an answer");
    println!(
        "{:<24} {:<9} {:>9} {:>9} {:>7} {:>9}",
        "row", "who", "best", "median", "target", "ratio"
    );
    let mut slower = false;
    for row in rows {
        let times: Vec<u64> = row.contenders.iter_mut().map(calibrate).collect();
        let mut nanos = vec![Vec::new(); row.contenders.len()];
        for _ in 0..ROUNDS {
            for ((contender, &times), nanos) in
                row.contenders.iter_mut().zip(&times).zip(&mut nanos)
            {
                nanos.push(time(contender, times).as_nanos() as f64 / times as f64);
            }
        }
        let ours = best(&nanos[0]);
        for (contender, nanos) in row.contenders.iter().zip(&nanos) {
            let target = if contender.name == "kron" && row.target_nanos.is_finite() {
                format!("{:.0}", row.target_nanos)
            } else {
                String::new()
            };
            let ratio = best(nanos) / ours;
            slower |= ratio < 1.0;
            println!(
                "{:<24} {:<9} {:>9.1} {:>9.1} {target:>7} {:>8.1}x",
                row.name,
                contender.name,
                best(nanos),
                median(nanos),
                ratio
            );
        }
    }
    if slower {
        println!("a peer was faster in at least one row");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn time(contender: &mut Contender, times: u64) -> Duration {
    let start = Instant::now();
    std::hint::black_box(contender.repeat(times));
    start.elapsed()
}

/// How often to ask so that a round has its length.
fn calibrate(contender: &mut Contender) -> u64 {
    let mut times = 16;
    loop {
        let taken = time(contender, times);
        if taken * 4 >= ROUND_LENGTH {
            let per_answer = taken.as_nanos().max(1) / u128::from(times);
            return (ROUND_LENGTH.as_nanos() / per_answer.max(1)).max(1) as u64;
        }
        times *= 4;
    }
}

fn best(nanos: &[f64]) -> f64 {
    nanos.iter().copied().fold(f64::INFINITY, f64::min)
}

fn median(nanos: &[f64]) -> f64 {
    let mut sorted = nanos.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
