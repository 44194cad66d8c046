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

    /// Whether nothing grew from the first third to the last. A run that was too short to
    /// tell has shown nothing.
    pub fn verdict(&self) -> (String, bool) {
        let warm = &self.done[self.cold..];
        let third = warm.len() / 3;
        if third == 0 {
            return ("too short to tell whether anything grows\n".into(), false);
        }
        let first = Slice::join(&warm[..third]).sum();
        let last = Slice::join(&warm[warm.len() - third..]).sum();
        let mut text = format!("{:<20} {:>9} {:>9} {:>9}\n", "", "first ⅓", "last ⅓", "allowed");
        let mut is_flat = true;
        for (says, value, most) in ALLOWED {
            let (first, last) = (value(&first), value(&last));
            let most = most(first);
            let grew = last > most;
            is_flat &= !grew;
            let remark = if grew { "  grew" } else { "" };
            text += &format!("{says:<20} {first:>9} {last:>9} {most:>9}{remark}\n");
        }
        text += if is_flat { "flat\n" } else { "not flat\n" };
        (text, is_flat)
    }
}

/// What is looked at, and how much it may be in the last third by what it was in the first.
type Allowed = (&'static str, fn(&Sum) -> u64, fn(u64) -> u64);

const ALLOWED: [Allowed; 8] = [
    ("rss, KiB", |sum| sum.rss_kib, |first| first * 11 / 10 + 2_048),
    ("descriptors", |sum| sum.descriptors, |first| first * 5 / 4 + 16),
    ("threads", |sum| sum.threads, |first| first + 2),
    ("zombies", |sum| sum.zombies, |first| first + 16),
    ("jobs in the queue", |sum| sum.queue, |first| first + 16),
    ("running", |sum| sum.running, |first| first * 5 / 4 + 16),
    // What else the machine does is in these.
    ("late p50, ms", |sum| sum.p50 as u64, |first| first * 2 + 50),
    ("late p99, ms", |sum| sum.p99 as u64, |first| first * 2 + 100),
];

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

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples of so many minutes, of which the last third is as given.
    fn verdict(minutes: Nanos, change: fn(&mut Sample, &mut Vec<f64>)) -> (String, bool) {
        let length = minutes * MINUTE;
        let mut slices = Slices::new(length / 12);
        for passed in (1..=length / (10 * SECOND)).map(|n| n * 10 * SECOND) {
            let mut sample = Sample {
                descriptors: 200,
                rss_kib: 10_000,
                threads: 8,
                zombies: 2,
                queue: 3_000,
                running: 100,
            };
            let mut late = vec![100.0; 500];
            late.extend([200.0; 20]);
            if passed > length * 2 / 3 {
                change(&mut sample, &mut late);
            }
            slices.add(passed, sample, late);
        }
        slices.verdict()
    }

    #[test]
    fn what_grows_is_told() {
        type Change = fn(&mut Sample, &mut Vec<f64>);
        let rows: [(&str, Change); 8] = [
            ("rss", |sample, _| sample.rss_kib = 13_200),
            ("descriptors", |sample, _| sample.descriptors = 270),
            ("threads", |sample, _| sample.threads = 11),
            ("zombies", |sample, _| sample.zombies = 19),
            ("queue", |sample, _| sample.queue = 3_017),
            ("running", |sample, _| sample.running = 142),
            // The middle, and the worst of a hundred.
            ("p50", |_, late| late[..300].fill(251.0)),
            ("p99", |_, late| late[500..].fill(501.0)),
        ];
        for (what, change) in rows {
            let (text, is_flat) = verdict(60, change);
            assert!(!is_flat, "{text}");
            let grew: Vec<&str> = text.lines().filter(|line| line.ends_with("grew")).collect();
            assert!(matches!(grew[..], [line] if line.contains(what)), "{what}: {text}");
        }
        let (text, is_flat) = verdict(60, |_, _| {});
        assert!(is_flat && text.ends_with("\nflat\n"), "{text}");
        let (text, is_flat) = verdict(60, |sample, late| {
            (sample.rss_kib, sample.running) = (13_048, 141);
            late[..500].fill(250.0);
        });
        assert!(is_flat, "{text}");
    }

    #[test]
    fn too_short_is_no_verdict() {
        let (text, is_flat) = verdict(3, |_, _| {});
        assert!(!is_flat && text.contains("too short"), "{text}");
    }
}
