//! When the helper was started, and what that says.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Nanoseconds since 1970.
pub type Nanos = i64;

pub const SECOND: Nanos = 1_000_000_000;
pub const MINUTE: Nanos = 60 * SECOND;

pub fn now() -> Nanos {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as Nanos)
}

pub fn sleep_until(time: Nanos) {
    thread::sleep(Duration::from_nanos(u64::try_from(time - now()).unwrap_or(0)));
}

/// The file the helper appends to.
#[derive(Clone, Debug)]
pub struct Marks(pub PathBuf);

impl Marks {
    pub fn new(path: &Path) -> io::Result<Self> {
        File::create(path)?;
        Ok(Self(path.into()))
    }

    pub fn clear(&self) -> io::Result<()> {
        File::create(&self.0).map(drop)
    }

    /// Waits until there are so many marks, in order of time; fewer after a
    /// while.
    pub fn wait(&self, count: usize, most: Duration) -> io::Result<Vec<Nanos>> {
        // Looking costs time that the daemon may need, so not too often.
        let pause = if count > 1 { 50 } else { 5 };
        let end = Instant::now() + most;
        loop {
            let text = fs::read_to_string(&self.0)?;
            let mut marks: Vec<Nanos> = text.lines().filter_map(|line| line.parse().ok()).collect();
            if marks.len() >= count || Instant::now() >= end {
                marks.sort_unstable();
                return Ok(marks);
            }
            thread::sleep(Duration::from_millis(pause));
        }
    }
}

/// Of sorted numbers, the one that `part` of them do not exceed.
pub fn quantile(sorted: &[f64], part: f64) -> f64 {
    let rank = (part * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or(f64::NAN)
}

pub fn sorted(mut numbers: Vec<f64>) -> Vec<f64> {
    numbers.sort_by(f64::total_cmp);
    numbers
}

/// How late the starts of one herd were, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Herd {
    pub first: f64,
    pub half: f64,
    pub most: f64,
    pub last: f64,
}

impl Herd {
    pub fn of(marks: &[Nanos], due: Nanos) -> Self {
        let late = sorted(marks.iter().map(|mark| millis(mark - due)).collect());
        Self {
            first: quantile(&late, 0.0),
            half: quantile(&late, 0.5),
            most: quantile(&late, 0.99),
            last: quantile(&late, 1.0),
        }
    }

    /// Of several herds, the one whose last start is the median.
    pub fn median(mut herds: Vec<Self>) -> Option<Self> {
        herds.sort_by(|a, b| a.last.total_cmp(&b.last));
        herds.get(herds.len().checked_sub(1)? / 2).copied()
    }
}

pub fn millis(nanos: Nanos) -> f64 {
    nanos as f64 / 1e6
}
