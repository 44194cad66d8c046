//! What a process uses, as the kernel counts it.

use std::fs;
use std::io;

/// Memory in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    /// Resident, shared pages counted in full.
    pub rss: u64,
    /// Resident, shared pages counted in part.
    pub pss: u64,
}

impl Memory {
    pub fn of(pid: u32) -> io::Result<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
        let field = |name: &str| field(&text, name).map_or(0, |kib| kib << 10);
        Ok(Self { rss: field("Rss:"), pss: field("Pss:") })
    }
}

/// Processor time and pauses of all threads so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    pub nanos: u64,
    pub wakes: u64,
}

impl Work {
    pub fn of(pid: u32) -> io::Result<Self> {
        let mut work = Self::default();
        for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
            let thread = thread?.path();
            // In nanoseconds, where `stat` has hundredths of a second.
            let time = fs::read_to_string(thread.join("schedstat"))?;
            work.nanos += time.split(' ').next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
            let status = fs::read_to_string(thread.join("status"))?;
            work.wakes += field(&status, "voluntary_ctxt_switches:").unwrap_or(0);
        }
        Ok(work)
    }

    pub fn since(self, before: Self) -> Self {
        Self { nanos: self.nanos - before.nanos, wakes: self.wakes - before.wakes }
    }
}

fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}
