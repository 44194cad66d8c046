//! Instruction counts under callgrind: the same on a busy machine as on an
//! idle one. Two runs of different length, so that start-up cancels out.

use crate::rows::Row;
use std::process::{Command, ExitCode};

const TIMES: u64 = 4000;

/// Counts every row and prints a table.
pub fn report(rows: &[Row]) -> ExitCode {
    println!("instructions an answer, callgrind, mean of {TIMES}");
    println!("(valgrind has no SHA instructions: decisions are counted with the portable code)");
    println!("{:<24} {:<9} {:>12} {:>9}", "row", "who", "instructions", "ratio");
    for row in rows {
        let mut ours = None;
        for contender in &row.contenders {
            let counts = count(row.name, contender.name, TIMES).zip(count(
                row.name,
                contender.name,
                2 * TIMES,
            ));
            let Some((once, twice)) = counts else {
                eprintln!("kron-bench: valgrind did not run; install it to count instructions");
                return ExitCode::FAILURE;
            };
            let each = (twice - once) as f64 / TIMES as f64;
            let ratio = each / *ours.get_or_insert(each);
            println!("{:<24} {:<9} {each:>12.0} {ratio:>8.1}x", row.name, contender.name);
        }
    }
    ExitCode::SUCCESS
}

fn count(row: &str, contender: &str, times: u64) -> Option<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().ok()?)
        .args(["repeat", row, contender, &times.to_string()])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(' ').next()?.parse().ok()
}
