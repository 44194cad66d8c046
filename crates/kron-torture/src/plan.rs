//! What may happen in a life, and how often.

use crate::random::Random;
use crate::time::{MILLI, MINUTE, Nanos, SECOND};

/// Points of the loop at which a daemon can be told to die.
pub const POINTS: [&str; 6] = ["spawned", "ready", "committed", "released", "started", "exited"];
/// Steps of the store at which it can.
pub const STEPS: [&str; 8] =
    ["reuse", "create", "write", "sync", "close", "keep", "rename", "sync-directory"];

/// What becomes of the clock before a daemon is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approach {
    /// It moves on to shortly before something is due.
    Align,
    /// It goes on, so that what was cut short is found at once.
    AtOnce,
    Forward(Nanos),
    /// It is set back, for some lives.
    Back(Nanos),
}

impl Approach {
    pub const fn draw(random: &mut Random) -> Self {
        match random.between(0, 100) {
            0..48 => Self::Align,
            48..90 => Self::AtOnce,
            90..95 => Self::Forward(random.between(1_000, 90_000) * MILLI),
            95 => Self::Forward(random.between(2, 30) * MINUTE),
            _ => Self::Back(random.between(1, 600) * SECOND),
        }
    }
}

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Random,
    Around,
    Point,
    /// Stopped past a chosen second, then killed, at once or a moment after it
    /// was let go on.
    Stop,
    Term,
    /// The disk is full.
    Full,
    /// The disk cannot be written to from the start.
    ReadOnly,
}

impl Ending {
    /// With something due just ahead, mostly around it; otherwise mostly while the
    /// new daemon is looking at what the one before left.
    pub const fn draw(random: &mut Random, approach: Approach, has_volume: bool) -> Self {
        let (soon, around) = match approach {
            Approach::Align => (4, 56),
            _ => (52, 60),
        };
        let chance = random.between(0, 100);
        match chance {
            90..94 => Self::Stop,
            94..97 => Self::Term,
            97 | 98 if has_volume => Self::Full,
            99 if has_volume => Self::ReadOnly,
            _ if chance < soon => Self::Random,
            _ if chance < around => Self::Around,
            _ => Self::Point,
        }
    }
}

/// What may happen to a daemon before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trick {
    /// An edit, told by so many signals.
    Reload { signals: u32 },
    /// Signals without an edit.
    Burst { signals: u32 },
    /// The clock is set.
    Step(Nanos),
}

impl Trick {
    pub const fn draw(random: &mut Random) -> Self {
        match random.between(0, 10) {
            0..4 => Self::Reload { signals: 1 },
            4 => Self::Reload { signals: 40 },
            5 => Self::Burst { signals: 100 },
            6..9 => Self::Step(random.between(500, 70_000) * MILLI),
            _ => Self::Step(-random.between(1, 90) * SECOND),
        }
    }
}
