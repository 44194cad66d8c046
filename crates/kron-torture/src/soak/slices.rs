//! Samples by slices of time, and whether the last third is as the first.

use super::sample::Sample;
use crate::time::{MINUTE, Nanos, SECOND};

/// So long it takes until long jobs begin to be skipped and replaced.
const WARM_UP: Nanos = 3 * MINUTE;

#[derive(Debug)]
pub struct Slices {
    length: Nanos,
    done: Vec<Slice>,
    /// Slices that were over before everything had warmed up.
    cold: usize,
    open: Slice,
}

#[derive(Debug, Default)]
struct Slice {
    samples: Vec<Sample>,
    /// Milliseconds.
    late: Vec<f64>,
}

/// What a slice comes to.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    runs: usize,
    p50: f64,
    p99: f64,
    max: f64,
    rss_kib: u64,
    descriptors: u64,
    threads: u64,
    zombies: u64,
    queue: u64,
    running: u64,
}

impl Slices {
    pub const HEADER: &str = "     until     runs  late p50  late p99  late max      rss  \
                              descriptors  threads  zombies  queue  running";

    pub const fn new(length: Nanos) -> Self {
        let open = Slice { samples: Vec::new(), late: Vec::new() };
        Self { length, done: Vec::new(), cold: 0, open }
    }

    /// Adds a sample, and the lateness of the runs since the one before. A row, if
    /// a slice is over with it.
    pub fn add(&mut self, passed: Nanos, sample: Sample, late: Vec<f64>) -> Option<String> {
        self.open.samples.push(sample);
        self.open.late.extend(late);
        if passed < self.length * (self.done.len() as Nanos + 1) - SECOND {
            return None;
        }
        let slice = std::mem::take(&mut self.open);
        let sum = slice.sum();
        self.done.push(slice);
        self.cold += usize::from(passed <= WARM_UP);
        Some(sum.row(passed))
    }

    /// Whether nothing grew from the first third to the last.
    pub fn verdict(&self) -> (String, bool) {
        let warm = &self.done[self.cold..];
        let third = warm.len() / 3;
        if third == 0 {
            return ("flat: too short to tell\n".into(), true);
        }
        let first = Slice::join(&warm[..third]).sum();
        let last = Slice::join(&warm[warm.len() - third..]).sum();
        let rows = [
            ("rss, KiB", first.rss_kib, last.rss_kib, first.rss_kib * 11 / 10 + 2_048),
            ("descriptors", first.descriptors, last.descriptors, first.descriptors * 5 / 4 + 16),
            ("threads", first.threads, last.threads, first.threads + 2),
            ("zombies", first.zombies, last.zombies, first.zombies + 16),
            ("jobs in the queue", first.queue, last.queue, first.queue + 16),
            ("running", first.running, last.running, first.running * 5 / 4 + 16),
            ("late p99, ms", first.p99 as u64, last.p99 as u64, first.p99 as u64 * 2 + 100),
        ];
        let mut text = format!("{:<20} {:>9} {:>9}\n", "", "first ⅓", "last ⅓");
        let mut is_flat = true;
        for (says, first, last, most) in rows {
            let grew = last > most;
            is_flat &= !grew;
            let remark = if grew { "  grew" } else { "" };
            text += &format!("{says:<20} {first:>9} {last:>9}{remark}\n");
        }
        text += if is_flat { "flat\n" } else { "not flat\n" };
        (text, is_flat)
    }
}

impl Slice {
    fn join(slices: &[Self]) -> Self {
        let mut all = Self::default();
        for slice in slices {
            all.samples.extend(&slice.samples);
            all.late.extend(&slice.late);
        }
        all
    }

    /// Medians of what goes up and down, the worst of what should not.
    fn sum(&self) -> Sum {
        let mut late = self.late.clone();
        late.sort_by(f64::total_cmp);
        let part = |part: f64| {
            let place = (late.len() as f64 * part) as usize;
            late.get(place.min(late.len().saturating_sub(1))).copied().unwrap_or(0.0)
        };
        let median = |of: fn(&Sample) -> u64| {
            let mut all: Vec<u64> = self.samples.iter().map(of).collect();
            all.sort_unstable();
            all.get(all.len() / 2).copied().unwrap_or(0)
        };
        Sum {
            runs: late.len(),
            p50: part(0.5),
            p99: part(0.99),
            max: part(1.0),
            rss_kib: median(|sample| sample.rss_kib),
            descriptors: median(|sample| sample.descriptors),
            threads: median(|sample| sample.threads),
            zombies: self.samples.iter().map(|sample| sample.zombies).max().unwrap_or(0),
            queue: median(|sample| sample.queue),
            running: median(|sample| sample.running),
        }
    }
}

impl Sum {
    fn row(&self, passed: Nanos) -> String {
        let Self { runs, p50, p99, max, rss_kib, descriptors, threads, zombies, queue, running } =
            self;
        let (minutes, seconds) = (passed / SECOND / 60, passed / SECOND % 60);
        format!(
            "{minutes:>6}m{seconds:02}s {runs:>8} {p50:>6.1} ms {p99:>6.1} ms {max:>6.1} ms \
             {rss_kib:>5} KiB {descriptors:>12} {threads:>8} {zombies:>8} {queue:>6} {running:>8}"
        )
    }
}
