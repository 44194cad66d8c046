//! Named points at which a test can have the daemon die as by `kill -9`.
//!
//! Points between two operations on files are steps of the store; the others
//! stand in the loop, where an effect is carried out: `spawned`, `ready`,
//! `committed`, `released`, `started`, `exited`. At the point `panic`, where the
//! engine is asked, it contradicts itself instead. Without the hidden option
//! `--crash-at` nothing of this does anything.

use crate::store::{Fault, Step};
use rustix::process::{Signal, getpid, kill_process};
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

static CHOSEN: OnceLock<Chosen> = OnceLock::new();

struct Chosen {
    point: String,
    /// How often the point is passed before.
    left: AtomicU32,
}

/// Chooses a point: `released`, or `rename:3` for the third time.
pub fn choose(text: &str) {
    let (point, time) = match text.split_once(':') {
        Some((point, time)) => (point, time.parse().unwrap_or(1)),
        None => (text, 1),
    };
    let _ = CHOSEN.set(Chosen { point: point.into(), left: AtomicU32::new(time) });
}

/// Dies here, if this is the point.
pub fn point(name: &str) {
    if let Some(chosen) = CHOSEN.get()
        && chosen.point == name
        && chosen.left.fetch_sub(1, Ordering::Relaxed) == 1
    {
        assert!(name != "panic", "a contradiction, for a test");
        let _ = kill_process(getpid(), Signal::KILL);
        // It comes at once, but perhaps not to this thread.
        std::thread::park();
    }
}

/// The steps of the store as points.
#[derive(Debug)]
pub struct InStore;

impl Fault for InStore {
    fn before(&self, step: Step, _: &str) -> io::Result<()> {
        point(match step {
            Step::Create => "create",
            Step::Write => "write",
            Step::Sync => "sync",
            Step::Close => "close",
            Step::Rename => "rename",
            Step::SyncDirectory => "sync-directory",
            Step::Directory | Step::Open | Step::Read | Step::Remove => return Ok(()),
        });
        Ok(())
    }
}
