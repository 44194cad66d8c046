//! Reads the configuration, and what is kept of jobs that are new in it, in a
//! thread of its own: the old configuration goes on meanwhile.
//!
//! Requests that come while one is being read are answered by one more reading
//! after it, however many they are.

use crate::exec::process;
use crate::failure_line;
use crate::mailbox::Mailbox;
use crate::store::{Store, StoreError, Warning};
use kron_core::line::{Level, Line};
use kron_core::{Identity, UtcInstant, Zones};
use kron_engine::Engine;
use kron_engine::commit::{Found, Rostered};
use kron_engine::event::Enrolment;
use kron_engine::kept::Active;
use kron_tab::Entry;
use kron_term::load::{self, Report};
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

/// What a reading came to.
#[derive(Debug)]
pub enum Reading {
    /// A configuration: its jobs.
    Configuration(Vec<Enrolment>),
    /// None.
    Rejected(Rejection),
}

/// Why a configuration is not used.
#[derive(Debug)]
pub struct Rejection {
    /// For the log.
    pub lines: Vec<Line>,
    /// For a person.
    pub text: String,
}

/// Reads all entries of files and directories, of the default directory if there are
/// none; and says what is wrong.
///
/// Reading leaves holes in memory between what is kept. It is done in a thread,
/// which has memory of its own, and what is kept is copied out of it.
pub fn entries(paths: &[PathBuf]) -> (Vec<Entry>, Report) {
    let read = || load::load(paths, &mut Zones::bundled());
    let loaded = thread::scope(|scope| match thread::Builder::new().spawn_scoped(scope, read) {
        Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        Err(_) => read(),
    });
    (loaded.entries.iter().map(copied).collect(), loaded.report)
}

/// An entry that shares no memory with another, and does not know where it
/// stands.
fn copied(entry: &Entry) -> Entry {
    let mut copy = entry.clone();
    copy.forget_places();
    if let Ok(identity) = Identity::new(entry.job.identity().as_str()) {
        copy.job.set_identity(identity);
    }
    copy
}

/// What was found about the jobs of a configuration.
#[derive(Debug)]
pub struct Enrolled {
    /// All of them.
    pub jobs: Vec<Enrolment>,
    /// Jobs that were configured once and are no longer, as far as the roster has
    /// heard; those that are known already among them.
    pub others: Vec<(Identity, Rostered)>,
    /// What there is to say.
    pub lines: Vec<Line>,
}

/// Looks up what is kept of jobs, and which of their executions are alive.
///
/// # Errors
/// When state must not be used.
pub fn enrol(
    entries: Vec<Entry>,
    store: &Store,
    known: &BTreeSet<Identity>,
    now: UtcInstant,
) -> Result<Enrolled, StoreError> {
    let is_new = |entry: &&Entry| !known.contains(entry.job.identity());
    let new: Vec<Identity> =
        entries.iter().filter(is_new).map(|entry| entry.job.identity().clone()).collect();
    let loaded = store.load(&new, now)?;
    // The engine tells of files moved aside, with the job they belong to.
    let warnings = loaded.warnings.iter().filter(|w| !matches!(w, Warning::Quarantined { .. }));
    let mut lines: Vec<Line> = warnings.map(failure_line::warning).collect();
    let mut found = loaded.found.into_iter();
    let mut jobs = Vec::with_capacity(entries.len());
    for entry in entries {
        let found = if known.contains(entry.job.identity()) {
            Found::default()
        } else {
            found.next().unwrap_or_default()
        };
        let active = found.kept.iter().flat_map(|kept| &kept.active);
        let identity = entry.job.identity();
        let alive = |active: &Active| match process::find(&active.process) {
            Ok(alive) => alive.map(|_| process::age(&active.process)),
            Err(error) => {
                let line = failure_line::system("look for a process", &error);
                let line = line.with("identity", identity).with("period_id", active.period);
                lines.push(line.with("pid", active.process.pid));
                // It may be alive: whoever adopts it looks again.
                Some(process::age(&active.process))
            }
        };
        let alive = active.map(alive).collect();
        jobs.push(Enrolment { entry, found, alive });
    }
    Ok(Enrolled { jobs, others: loaded.others, lines })
}

/// Reads on request.
#[derive(Debug)]
pub(super) struct Reader {
    paths: Vec<PathBuf>,
    store: Arc<Store>,
    mailbox: Arc<Mailbox<(Reading, Vec<Line>)>>,
    is_busy: bool,
    is_wanted: bool,
}

impl Reader {
    pub fn new(paths: Vec<PathBuf>, store: Arc<Store>) -> io::Result<Self> {
        let mailbox = Arc::new(Mailbox::new()?);
        Ok(Self { paths, store, mailbox, is_busy: false, is_wanted: false })
    }

    pub fn mailbox(&self) -> &Mailbox<(Reading, Vec<Line>)> {
        &self.mailbox
    }

    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Begins to read, or remembers to, if it is reading.
    pub fn begin(&mut self, engine: &mut Engine, now: UtcInstant) {
        if self.is_busy {
            self.is_wanted = true;
            return;
        }
        self.is_busy = true;
        self.is_wanted = false;
        engine.set_reading(true);
        let known: BTreeSet<Identity> = engine.identities().cloned().collect();
        let (paths, store) = (self.paths.clone(), Arc::clone(&self.store));
        let mailbox = Arc::clone(&self.mailbox);
        let work = move || mailbox.post(read(&paths, &store, &known, now));
        if let Err(error) = thread::Builder::new().name("read".into()).spawn(work) {
            let line = failure_line::system("read the configuration", &error);
            let text = error.to_string();
            let rejection = Rejection { lines: vec![rejected("SystemError", &text), line], text };
            self.mailbox.post((Reading::Rejected(rejection), Vec::new()));
        }
    }

    /// Whether another reading is wanted after this one.
    pub const fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// Takes what was read.
    pub fn take(&mut self) -> Option<(Reading, Vec<Line>)> {
        self.mailbox.take().pop()
    }

    /// The reading is dealt with. Returns whether another is wanted.
    pub fn finish(&mut self) -> bool {
        self.is_busy = false;
        std::mem::take(&mut self.is_wanted)
    }
}

/// All or nothing, however the daemon was started: what is running has been valid.
fn read(
    paths: &[PathBuf],
    store: &Store,
    known: &BTreeSet<Identity>,
    now: UtcInstant,
) -> (Reading, Vec<Line>) {
    let (entries, report) = entries(paths);
    if !report.is_empty() {
        let count = report.count();
        let mut lines = vec![rejected(
            "ConfigurationError",
            &format!(
                "{count} thing{} wrong; the configuration before stays in force",
                if count == 1 { " is" } else { "s are" }
            ),
        )];
        lines.extend(failure_line::configuration(&report));
        let text = kron_term::terminal::without_styles(&report.render());
        return (Reading::Rejected(Rejection { lines, text }), Vec::new());
    }
    let no_jobs = entries.is_empty().then(failure_line::no_jobs);
    match enrol(entries, store, known, now) {
        Ok(Enrolled { jobs, mut lines, .. }) => {
            lines.extend(no_jobs);
            (Reading::Configuration(jobs), lines)
        }
        Err(error) => {
            let text = error.to_string();
            let lines = failure_line::store(&error);
            let category = error.category();
            let lines = [rejected(category, &text)].into_iter().chain(lines).collect();
            (Reading::Rejected(Rejection { lines, text }), Vec::new())
        }
    }
}

fn rejected(category: &str, message: &str) -> Line {
    Line::new(Level::Error, "reload_rejected")
        .with("error_type", category)
        .with("operation", "reload")
        .with("message", message)
}
