//! Named points at which a test can have the daemon die as by `kill -9`, and
//! steps that it can make fail.
//!
//! Points between two operations on files are steps of the store; the others
//! stand in the loop, where an effect is carried out: `spawned`, `ready`,
//! `committed`, `released`, `started`, `exited`. At the point `panic`, where the
//! engine is asked, it contradicts itself instead. Steps that can fail are those
//! of the store and those of a start: `gate`, `pipe`, `fork`, `pidfd`, `observe`,
//! `companion`, `plan`, `watch`. Without the hidden options `--crash-at` and
//! `--fail-at` nothing of this does anything.

use crate::store::{Fault, Step};
use nix::errno::Errno;
use rustix::process::{Signal, getpid, kill_process};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

static CHOSEN: OnceLock<Chosen> = OnceLock::new();
static FAILING: OnceLock<(Chosen, Errno)> = OnceLock::new();

struct Chosen {
    point: String,
    /// How often the point is passed before.
    left: AtomicU32,
}

impl Chosen {
    /// Reads `released`, or `rename:3` for the third time.
    fn read(text: &str) -> Self {
        let (point, time) = match text.split_once(':') {
            Some((point, time)) => (point, time.parse().unwrap_or(1)),
            None => (text, 1),
        };
        Self { point: point.into(), left: AtomicU32::new(time) }
    }

    /// Whether it is this point, for the time that was chosen.
    fn is_now(&self, name: &str) -> bool {
        self.point == name && self.left.fetch_sub(1, Ordering::Relaxed) == 1
    }
}

/// Errors that a step can be made to fail with.
const ERRORS: [(&str, Errno); 10] = [
    ("ENOSPC", Errno::ENOSPC),
    ("EDQUOT", Errno::EDQUOT),
    ("EROFS", Errno::EROFS),
    ("EIO", Errno::EIO),
    ("EMFILE", Errno::EMFILE),
    ("ENFILE", Errno::ENFILE),
    ("EAGAIN", Errno::EAGAIN),
    ("ENOMEM", Errno::ENOMEM),
    ("EPERM", Errno::EPERM),
    ("ENOENT", Errno::ENOENT),
];

/// A step that is to fail, and with what.
#[derive(Clone, Debug)]
pub struct Failure {
    step: String,
    errno: Errno,
}

/// Reads `rename=ENOSPC`, or `rename:3=ENOSPC` for the third time.
pub fn failure(text: &str) -> Result<Failure, String> {
    let (step, name) = text.split_once('=').ok_or("STEP[:N]=ERRNO")?;
    let known = ERRORS.iter().find(|(known, _)| *known == name);
    let (_, errno) = known.ok_or_else(|| format!("no error {name}"))?;
    Ok(Failure { step: step.into(), errno: *errno })
}

/// Chooses a point and a step that fails, if any; for the store, what asks them.
pub fn choose(point: Option<&str>, failure: Option<&Failure>) -> Option<Arc<dyn Fault>> {
    if let Some(point) = point {
        let _ = CHOSEN.set(Chosen::read(point));
    }
    if let Some(failure) = failure {
        let _ = FAILING.set((Chosen::read(&failure.step), failure.errno));
    }
    (point.is_some() || failure.is_some()).then(|| Arc::new(InStore) as Arc<dyn Fault>)
}

/// Dies here, if this is the point.
pub fn point(name: &str) {
    if CHOSEN.get().is_some_and(|chosen| chosen.is_now(name)) {
        assert!(name != "panic", "a contradiction, for a test");
        let _ = kill_process(getpid(), Signal::KILL);
        // It comes at once, but perhaps not to this thread.
        std::thread::park();
    }
}

/// Fails, if this is the step.
///
/// # Errors
/// That is what it is for.
pub fn step(name: &str) -> io::Result<()> {
    match FAILING.get() {
        Some((chosen, errno)) if chosen.is_now(name) => Err((*errno).into()),
        _ => Ok(()),
    }
}

/// The steps of the store, as points and as steps that fail.
struct InStore;

impl Fault for InStore {
    fn before(&self, step: Step, _: &str) -> io::Result<()> {
        let name = match step {
            Step::Create => "create",
            Step::Write => "write",
            Step::Sync => "sync",
            Step::Close => "close",
            Step::Rename => "rename",
            Step::Keep => "keep",
            Step::Reuse => "reuse",
            Step::SyncDirectory => "sync-directory",
            Step::Directory | Step::MakeDirectory => "directory",
            Step::Open => "open",
            Step::Read => "read",
            Step::Remove => "remove",
        };
        point(name);
        self::step(name)
    }
}
