//! False processes: how they get ready, how long they run, what they ignore.

use crate::rng::Rng;
use core::time::Duration;
use kron_engine::kept;
use std::rc::Rc;

/// A process, at the gate or beyond.
#[derive(Clone, Debug)]
pub struct Process {
    /// Whose.
    pub identity: Rc<str>,
    /// Its number, unique in one boot only.
    pub pid: u32,
    /// Which boot.
    pub boot: u32,
    /// When it was made, in ticks since the boot.
    pub ticks: u64,
    /// The same in true time.
    pub made: Duration,
    /// Whether its command runs.
    pub is_released: bool,
    /// Whether its leader has ended.
    pub is_ended: bool,
    /// Whether someone else started it than the daemon that watches.
    pub is_adopted: bool,
    /// What it will do.
    pub habits: Habits,
    /// Which of the ends that were arranged for it counts.
    pub turn: u32,
    /// When it comes out of the kernel, once it was sent a signal.
    pub stuck_until: Option<Duration>,
    /// When the last of its group is gone, once its leader is.
    pub group_gone: Option<Duration>,
}

/// What a command does once it runs.
#[derive(Clone, Debug)]
pub struct Habits {
    /// How long.
    pub runs: Duration,
    /// Its exit code.
    pub code: i32,
    /// Whether it ignores SIGTERM.
    pub is_deaf: bool,
    /// How long after the first signal none ends it, not even SIGKILL.
    pub stuck: Duration,
    /// How long its children stay when it has gone.
    pub rest: Duration,
}

/// How a preparation goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preparation {
    /// It reaches the gate after this.
    Ready(Duration),
    /// It reaches the gate, and dies there.
    DiesAtGate(Duration),
    /// It fails after this.
    Fails {
        /// How long it took.
        after: Duration,
        /// Whether it may work later.
        is_transient: bool,
    },
    /// Nothing is heard of it.
    Hangs,
}

impl Preparation {
    /// How it goes this time.
    pub fn draw(rng: &mut Rng) -> Self {
        let quick = Duration::from_micros(rng.range(100, 20_000));
        let slow = rng.length(Duration::from_millis(20), Duration::from_secs(25));
        match rng.below(100) {
            0..80 => Self::Ready(quick),
            80..84 => Self::Ready(slow),
            84..86 => Self::Ready(rng.length(Duration::from_secs(8), Duration::from_secs(29))),
            86..88 => Self::Hangs,
            88..94 => Self::Fails { after: quick, is_transient: true },
            94..96 => Self::Fails { after: slow, is_transient: true },
            96..98 => Self::Fails { after: quick, is_transient: false },
            _ => Self::DiesAtGate(quick),
        }
    }
}

impl Habits {
    /// What a command does.
    pub fn draw(rng: &mut Rng) -> Self {
        let longest = *rng.pick(&[1, 60, 3600, 2 * 86_400]);
        Self {
            runs: rng.length(Duration::from_millis(1), Duration::from_secs(longest)),
            code: if rng.percent(80) { 0 } else { rng.below(200) as i32 },
            is_deaf: rng.percent(15),
            stuck: if rng.percent(4) {
                rng.length(Duration::from_secs(1), Duration::from_secs(3600))
            } else {
                Duration::ZERO
            },
            rest: if rng.percent(6) {
                rng.length(Duration::from_millis(1), Duration::from_secs(60))
            } else {
                Duration::ZERO
            },
        }
    }
}

impl Process {
    /// What a state file says of it.
    #[must_use]
    pub fn kept(&self) -> kept::Process {
        kept::Process {
            pid: self.pid,
            start_ticks: Some(self.ticks),
            boot_id: Some(format!("boot-{}", self.boot).into()),
        }
    }
}
