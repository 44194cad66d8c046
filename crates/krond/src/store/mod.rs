//! State on disk (STATE.md): the only place of the daemon that touches it.
//!
//! One directory, ours alone and locked for life; in it one file a job, named by
//! the hash of its identity, and the roster, which knows every job ever seen.
//! What is in the files is text that `kron_engine::state` and
//! `kron_engine::roster` write and read. When something is written, and what,
//! the engine decides.
//!
//! | file | holds |
//! |---|---|
//! | `lock` | the lock, and the number of the process that holds it |
//! | `roster` | every job ever seen, a line each time something changed |
//! | `<sha256 of the identity>.json` | the state of a job |
//! | `….json.tmp` | a commit that a crash cut short; removed at the next start |
//! | `spare-…` | a state file that was replaced, to be written into again |
//! | `….corrupt.<time>` | a damaged file, moved aside and never read again |

mod commit;
mod directory;
mod error;
mod folder;
mod load;
mod names;
mod parallel;
mod roster;
mod spares;

pub use error::{CommitError, Problem, Reason, StoreError, Warning};
pub use folder::{Fault, Step};
pub use load::Loaded;
pub use roster::identities;

use folder::Folder;
use kron_core::{Identity, UtcInstant};
use kron_engine::kept::Finished;
use kron_engine::state;
use roster::Roster;
use spares::Spares;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Where state lives unless told otherwise.
pub const DEFAULT_DIRECTORY: &str = "/var/lib/krond";

/// How state is kept.
#[derive(Clone)]
pub struct Options {
    /// Entries of the history kept for each job.
    pub history: usize,
    /// The time, for names of files that are moved aside.
    pub now: UtcInstant,
    /// Files being written at once.
    pub writers: usize,
    /// How old a file has to be that is written into again.
    pub spare_age: Duration,
    /// Makes operations fail, in tests.
    pub fault: Option<Arc<dyn Fault>>,
}

impl Options {
    /// The usual ones.
    #[must_use]
    pub fn at(now: UtcInstant) -> Self {
        let (writers, spare_age) = (commit::WRITERS, spares::AGE);
        Self { history: 100, now, writers, spare_age, fault: None }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { history, now, writers, .. } = self;
        write!(f, "Options {{ history: {history}, now: {now}, writers: {writers} }}")
    }
}

/// The state directory, held by this process alone.
pub struct Store {
    folder: Folder,
    history: usize,
    writers: usize,
    roster: Mutex<Roster>,
    spares: Spares,
    /// Held by whoever commits.
    turn: Mutex<()>,
    /// Whether a commit failed.
    has_failed: AtomicBool,
    /// Held for life.
    _lock: File,
}

impl Store {
    /// Takes possession of a state directory; makes it if there is none.
    ///
    /// # Errors
    /// When another process holds it, when it is not ours alone, or when
    /// anything about it fails.
    pub fn open(path: &Path, options: Options) -> Result<(Self, Vec<Warning>), StoreError> {
        let (folder, tightened) = directory::open(path, options.fault)?;
        let lock = directory::lock(&folder)?;
        directory::remove_leftovers(&folder)?;
        let mut warnings = Vec::from_iter(tightened);
        let roster = Roster::open(&folder, options.now, &mut warnings)?;
        // A daemon that died in a commit may have left names that a failure of power
        // would take back; what is found from here on stays.
        folder
            .sync_directory()
            .map_err(|error| Problem::failed(folder.path(), Step::SyncDirectory, error))?;
        let store = Self {
            folder,
            history: options.history,
            writers: options.writers.max(1),
            roster: Mutex::new(roster),
            spares: Spares::new(options.spare_age),
            turn: Mutex::default(),
            has_failed: AtomicBool::new(false),
            _lock: lock,
        };
        Ok((store, warnings))
    }

    /// The directory, absolute.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The state file of a job.
    #[must_use]
    pub fn path_of(&self, identity: &Identity) -> PathBuf {
        self.folder.path_of(&names::state(&names::hash(identity)))
    }

    /// The history of a job, oldest first; `None` if it has no state file.
    ///
    /// # Errors
    /// When the file cannot be read or is not understood.
    pub fn read_history(&self, identity: &Identity) -> Result<Option<Vec<Finished>>, Problem> {
        history_in(&self.folder, identity)
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store({})", self.path().display())
    }
}

/// The state file of a job in a directory.
#[must_use]
pub fn file_of(directory: &Path, identity: &Identity) -> PathBuf {
    directory.join(names::state(&names::hash(identity)))
}

/// The history of a job in a directory that a daemon may be using: files are
/// replaced whole, so reading needs no lock. Nothing is changed.
///
/// # Errors
/// When the directory or the file cannot be read or is not understood.
pub fn read_history(path: &Path, identity: &Identity) -> Result<Option<Vec<Finished>>, Problem> {
    use rustix::fs::{Mode, OFlags};
    let failed = |error: io::Error| Problem::failed(path, Step::Directory, error);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let handle = rustix::fs::open(path, flags, Mode::empty()).map_err(|e| failed(e.into()))?;
    history_in(&Folder::new(path.into(), handle, None).map_err(failed)?, identity)
}

fn history_in(folder: &Folder, identity: &Identity) -> Result<Option<Vec<Finished>>, Problem> {
    let name = names::state(&names::hash(identity));
    let bytes = match load::read_file(folder, &name) {
        Ok(bytes) => bytes,
        Err(Problem { reason: Reason::Failed { step: Step::Open, error }, .. })
            if error.kind() == io::ErrorKind::NotFound =>
        {
            return Ok(None);
        }
        Err(problem) => return Err(problem.of(identity)),
    };
    state::history(&bytes, usize::MAX).map(Some).map_err(|error| {
        let reason = Reason::State(error);
        Problem { path: folder.path_of(&name), identity: Some(identity.clone()), reason }
    })
}
