//! Many worlds at once: each thread takes the next seed.

use crate::figures::Figures;
use crate::law::Breach;
use crate::scenario::Scenario;
use crate::simulate;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use kron_core::Zones;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Failures after which it is pointless to go on.
const ENOUGH: usize = 5;

/// What to do.
#[derive(Clone, Copy, Debug)]
pub struct Orders {
    /// First seed.
    pub from: u64,
    /// The seed before which to stop.
    pub to: u64,
    /// How long to go on at most.
    pub length: Option<Duration>,
    /// Threads.
    pub threads: usize,
    /// What draws a world.
    pub draw: fn(u64, &mut Zones) -> Scenario,
    /// Whether to show progress on a terminal.
    pub shows: bool,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Report {
    /// In numbers.
    pub figures: Figures,
    /// Seeds that broke a law, in order.
    pub failures: Vec<(u64, Breach)>,
}

/// Runs them all.
#[must_use]
pub fn sail(orders: &Orders) -> Report {
    let began = Instant::now();
    let next = AtomicU64::new(orders.from);
    let is_over = AtomicBool::new(false);
    let report = Mutex::new(Report::default());
    let shows = orders.shows && std::io::stderr().is_terminal();
    let work = || {
        let mut zones = Zones::bundled();
        while !is_over.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= orders.to || orders.length.is_some_and(|length| began.elapsed() >= length) {
                break;
            }
            let scenario = (orders.draw)(seed, &mut zones);
            let (figures, result) = simulate(&scenario, &mut zones);
            let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
            report.figures += figures;
            if let Err(breach) = result {
                report.failures.push((seed, breach));
                is_over.fetch_or(report.failures.len() >= ENOUGH, Ordering::Relaxed);
            }
            if shows && report.figures.seeds.is_multiple_of(50) {
                let Figures { seeds, job_years, crashes, .. } = report.figures;
                let line = format!("\r{seeds} seeds, {job_years:.0} job-years, {crashes} crashes ");
                let _ = std::io::stderr().write_all(line.as_bytes());
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..orders.threads.max(1) {
            scope.spawn(work);
        }
        work();
    });
    if shows {
        eprintln!();
    }
    let mut report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
    report.failures.sort_by_key(|(seed, _)| *seed);
    report
}
