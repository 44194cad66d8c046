//! False processes: what they will do is known beforehand.

use super::duration;
use core::time::Duration;

/// How the processes of a job behave. Times are uptimes.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// From preparation to READY; `None` for never.
    pub ready: Option<Duration>,
    /// How much of that nobody had begun with it.
    pub queued: Duration,
    /// There is no READY but this: message, and whether it is transient.
    pub fail: Option<bool>,
    /// How long the command runs; `None` for ever.
    pub run: Option<Duration>,
    pub code: i32,
    /// It reports READY and dies before the gate opens.
    pub dies_at_gate: bool,
    pub ignores_term: bool,
    pub ignores_kill: bool,
    /// How long the rest of the group outlives its leader; `None` for ever.
    pub rest: Option<Duration>,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            ready: Some(Duration::ZERO),
            queued: Duration::ZERO,
            fail: None,
            run: Some(Duration::from_secs(1)),
            code: 0,
            dies_at_gate: false,
            ignores_term: false,
            ignores_kill: false,
            rest: Some(Duration::ZERO),
        }
    }
}

impl Behaviour {
    /// Words such as `ready=2s run=forever code=3 ignores=term`.
    pub fn parse(words: &str) -> Self {
        let mut behaviour = Self::default();
        let length = |text: &str| (text != "forever").then(|| duration(text));
        for word in words.split_whitespace() {
            match word.split_once('=').unwrap_or((word, "")) {
                ("ready", "never") => behaviour.ready = None,
                ("ready", text) => behaviour.ready = Some(duration(text)),
                ("queued", text) => behaviour.queued = duration(text),
                ("fail", "transient") => behaviour.fail = Some(true),
                ("fail", "permanent") => behaviour.fail = Some(false),
                ("run", text) => behaviour.run = length(text),
                ("code", text) => behaviour.code = text.parse().expect("a number"),
                ("dies", "gate") => behaviour.dies_at_gate = true,
                ("ignores", "term") => behaviour.ignores_term = true,
                ("ignores", "kill") => {
                    behaviour.ignores_term = true;
                    behaviour.ignores_kill = true;
                }
                ("rest", text) => behaviour.rest = length(text),
                _ => panic!("unknown: {word}"),
            }
        }
        behaviour
    }
}

/// A process and its group.
#[derive(Clone, Debug)]
pub struct FalseProcess {
    pub identity: String,
    pub behaviour: Behaviour,
    pub is_released: bool,
    /// How the leader ended.
    pub ended: Option<(Option<i32>, Option<i32>)>,
    /// When nothing of the group is left.
    pub group_gone: Option<Duration>,
    /// The uptime at which it was made.
    pub begun: Duration,
    /// Whether an earlier daemon started it.
    pub is_adopted: bool,
}
