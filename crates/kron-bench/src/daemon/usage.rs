//! What a process uses, as the kernel counts it.

use std::fs;
use std::io;

/// Bytes of resident memory that belong to a process alone: not the program,
/// whose pages all of its processes share.
pub fn memory(pid: u32) -> io::Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    Ok(field(&text, "Pss_Anon:").map_or(0, |kib| kib << 10))
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
