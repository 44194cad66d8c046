//! Speed of the engine, beside other cron libraries in the same run.
//!
//! `kron-bench` times every row and prints nanoseconds and ratios;
//! `kron-bench instructions` counts instructions under callgrind, which does
//! not care how busy the machine is; `kron-bench repeat ROW CONTENDER N` runs
//! one contender N times and is what callgrind is pointed at;
//! `kron-bench programs` runs `krontab` on large inputs; `kron-bench daemon`
//! runs `krond` beside other daemons, `kron-bench daemon alone` without them,
//! `kron-bench daemon herd` only with many jobs at once.

mod daemon;
mod instructions;
mod programs;
mod rows;
mod timing;

use daemon::What;
use rows::rows;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => timing::report(&mut rows()),
        ["instructions"] => instructions::report(&rows()),
        ["programs"] => programs::report(),
        ["daemon"] => daemon::report(What::All),
        ["daemon", "alone"] => daemon::report(What::Alone),
        ["daemon", "herd"] => daemon::report(What::Herd),
        ["daemon", "instructions"] => daemon::instructions(),
        ["lives", jobs, times] => daemon::lives(jobs, times),
        ["repeat", row, contender, times] => repeat(row, contender, times),
        _ => {
            eprintln!(
                "usage: kron-bench [instructions | programs | daemon [alone | herd | instructions] | \
                 repeat ROW CONTENDER TIMES | lives JOBS TIMES]"
            );
            ExitCode::from(2)
        }
    }
}

fn repeat(row: &str, contender: &str, times: &str) -> ExitCode {
    let mut rows = rows();
    let contender = rows
        .iter_mut()
        .find(|known| known.name == row)
        .and_then(|row| row.contenders.iter_mut().find(|known| known.name == contender));
    let (Some(contender), Ok(times)) = (contender, times.parse()) else {
        eprintln!("kron-bench: no such row, contender or number");
        return ExitCode::from(2);
    };
    std::hint::black_box(contender.repeat(times));
    ExitCode::SUCCESS
}
