//! What happened, in numbers.

use core::fmt;

/// Counts over one or many worlds.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Figures {
    pub seeds: u64,
    pub job_years: f64,
    pub periods: u64,
    pub attempts: u64,
    pub runs: u64,
    pub adoptions: u64,
    pub starts: u64,
    pub crashes: u64,
    pub reboots: u64,
    pub commits: u64,
    pub commits_failed: u64,
    pub quarantined: u64,
    pub shutdowns: u64,
    pub clock_steps: u64,
    pub absences: u64,
    pub edits: u64,
    pub reloads: u64,
    pub rejected: u64,
    pub resets: u64,
    pub events: u64,
    pub wakes: u64,
}

impl Figures {
    fn rows(&self) -> [(&'static str, u64); 19] {
        [
            ("seeds", self.seeds),
            ("periods", self.periods),
            ("start attempts", self.attempts),
            ("runs", self.runs),
            ("adoptions", self.adoptions),
            ("daemon starts", self.starts),
            ("crashes", self.crashes),
            ("reboots", self.reboots),
            ("commits", self.commits),
            ("commits failed", self.commits_failed),
            ("files quarantined", self.quarantined),
            ("shutdowns", self.shutdowns),
            ("clock steps", self.clock_steps),
            ("absences", self.absences),
            ("edits", self.edits),
            ("reloads", self.reloads),
            ("configurations refused", self.rejected),
            ("events", self.events),
            ("wake-ups", self.wakes),
        ]
    }
}

impl core::ops::AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        self.seeds += other.seeds;
        self.job_years += other.job_years;
        self.periods += other.periods;
        self.attempts += other.attempts;
        self.runs += other.runs;
        self.adoptions += other.adoptions;
        self.starts += other.starts;
        self.crashes += other.crashes;
        self.reboots += other.reboots;
        self.commits += other.commits;
        self.commits_failed += other.commits_failed;
        self.quarantined += other.quarantined;
        self.shutdowns += other.shutdowns;
        self.clock_steps += other.clock_steps;
        self.absences += other.absences;
        self.edits += other.edits;
        self.reloads += other.reloads;
        self.rejected += other.rejected;
        self.resets += other.resets;
        self.events += other.events;
        self.wakes += other.wakes;
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>14.1}  simulated job-years", self.job_years)?;
        for (what, count) in self.rows() {
            writeln!(f, "{count:>14}  {what}")?;
        }
        Ok(())
    }
}
