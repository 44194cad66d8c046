//! Making a batch durable (STATE, Write Semantics).
//!
//! 1. Every state file is written beside its final name and fsynced, many at
//!    once; what the roster learns of jobs is appended and fsynced.
//! 2. Only if all of that went well, each file takes its final name.
//! 3. The directory is fsynced; that is when the batch is durable.
//! 4. When there is time, the roster learns which jobs got a file.
//!
//! A crash in between leaves each file either as it was or as it was to be. An
//! error anywhere ends the commit at once and for good: nothing is tried again
//! (after a failed fsync the kernel may have dropped the data and forgotten
//! that it had), and every later commit fails too.

use super::error::{CommitError, Warning};
use super::folder::Step;
use super::{Store, load, names, parallel};
use kron_core::Identity;
use kron_engine::commit::{Batch, RosterLine, Snapshot};
use kron_engine::state;
use std::collections::HashSet;
use std::io;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

/// Files being written at once.
pub(super) const WRITERS: usize = 16;

impl Store {
    /// Makes a batch durable; a job is at most once in it. When this returns,
    /// everything in it is on the disk.
    ///
    /// # Errors
    /// As [`Store::publish`].
    pub fn commit(&self, batch: &Batch) -> Result<Vec<Warning>, CommitError> {
        let warnings = self.publish(batch)?;
        self.note_files(&batch.roster)?;
        Ok(warnings)
    }

    /// Makes a batch durable, but for the lines that say which jobs have a file
    /// now: [`Store::note_files`] is to be called with them. Nothing waits for those,
    /// because the next load says it of every file that it finds.
    ///
    /// # Errors
    /// When any operation fails. Files may then be as they were or as they were
    /// to be, each whole. Nothing that depends on the batch may happen, and no
    /// later commit succeeds.
    pub fn publish(&self, batch: &Batch) -> Result<Vec<Warning>, CommitError> {
        self.once(|| self.try_publish(batch))
    }

    /// Notes which jobs have a file, durably; other lines are passed over. Not
    /// before there is a file for certain: the roster must not miss one that never
    /// was.
    ///
    /// # Errors
    /// When any operation fails; then no later commit succeeds.
    pub fn note_files(&self, lines: &[RosterLine]) -> Result<(), CommitError> {
        self.once(|| self.append(lines, true))
    }

    /// Whether something could not be written: nothing will be any more. Never waits.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    pub(super) fn fail(&self) {
        self.has_failed.store(true, Ordering::Release);
    }

    /// Does something unless anything has failed before; one after the other.
    fn once<T>(&self, work: impl FnOnce() -> Result<T, CommitError>) -> Result<T, CommitError> {
        let turn = self.turn.lock();
        // If anything below panics, that counts as a failure too.
        if turn.is_err() || self.has_failed() {
            self.fail();
            let error = io::Error::other("an earlier commit failed");
            return Err(self.of_directory(Step::Directory, error));
        }
        work().inspect_err(|_| self.fail())
    }

    fn try_publish(&self, batch: &Batch) -> Result<Vec<Warning>, CommitError> {
        self.folder.check_place().map_err(|error| self.of_directory(Step::Directory, error))?;
        let warnings = self.prepare(batch)?;
        let mut numbers = self.spares.numbers(batch.jobs.len());
        let mut kept = Vec::new();
        for snapshot in &batch.jobs {
            let name = names::state(&names::hash(&snapshot.identity));
            if let Some(number) = numbers.next() {
                let size = self
                    .folder
                    .keep(&name, &names::spare(number))
                    .map_err(|error| self.of_job(snapshot, &name, Step::Keep, error))?;
                kept.extend(size.map(|size| (number, size)));
            }
            self.folder
                .rename(&names::temporary(&name), &name)
                .map_err(|error| self.of_job(snapshot, &name, Step::Rename, error))?;
        }
        if !batch.jobs.is_empty() {
            let synced = self.folder.sync_directory();
            synced.map_err(|error| self.of_directory(Step::SyncDirectory, error))?;
        }
        self.spares.put(kept);
        Ok(warnings)
    }

    /// The first phase.
    fn prepare(&self, batch: &Batch) -> Result<Vec<Warning>, CommitError> {
        let first: HashSet<&Identity> = batch
            .roster
            .iter()
            .filter(|line| matches!(line, RosterLine::HasFile(_)))
            .map(RosterLine::identity)
            .collect();
        let stop = AtomicBool::new(false);
        // The roster, if it learns anything, is the work after the last job.
        let count = batch.jobs.len() + usize::from(first.len() < batch.roster.len());
        let results = parallel::collect(count, self.writers, |number| {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            let result = match batch.jobs.get(number) {
                Some(job) => self.write(job, first.contains(&job.identity)),
                None => self.append(&batch.roster, false).map(|()| None),
            };
            if result.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
            result.transpose()
        });
        results.into_iter().collect()
    }

    fn append(&self, lines: &[RosterLine], files: bool) -> Result<(), CommitError> {
        let is_file = |line: &&RosterLine| matches!(line, RosterLine::HasFile(_)) == files;
        if !lines.iter().any(|line| is_file(&line)) {
            return Ok(());
        }
        let mut roster = self.roster.lock().unwrap_or_else(PoisonError::into_inner);
        let appended = roster.append(&self.folder, lines.iter().filter(is_file));
        appended.map_err(|(step, error)| CommitError {
            identity: None,
            path: self.folder.path_of(names::ROSTER),
            step,
            error,
        })
    }

    /// Writes one state file beside its final name.
    fn write(&self, snapshot: &Snapshot, is_first: bool) -> Result<Option<Warning>, CommitError> {
        let Snapshot { identity, kept, finished } = snapshot;
        let name = names::state(&names::hash(identity));
        let old = if self.history == 0 { Ok(None) } else { self.old(&name, is_first) };
        let (old, mut detail) = match old {
            Ok(old) => (old.unwrap_or_default(), None),
            Err(detail) => (Vec::new(), Some(detail)),
        };
        let carried = if old.is_empty() {
            Vec::new()
        } else {
            state::raw_history(&old, self.history).unwrap_or_else(|error| {
                detail = Some(error.to_string());
                Vec::new()
            })
        };
        let added: Vec<String> = finished.iter().map(state::entry).collect();
        let history = carried.iter().copied().chain(added.iter().map(String::as_str));
        let bytes = state::encode(identity, kept, history, self.history);
        self.folder
            .write_beside(&names::temporary(&name), &bytes, self.spares.take().as_deref())
            .map_err(|(step, error)| self.of_job(snapshot, &name, step, error))?;
        Ok(detail.map(|detail| Warning::HistoryLost {
            identity: identity.clone(),
            path: self.folder.path_of(&name),
            detail,
        }))
    }

    /// The file that is about to be replaced, if there should be one.
    fn old(&self, name: &str, is_first: bool) -> Result<Option<Vec<u8>>, String> {
        match load::read_file(&self.folder, name) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(problem) => match &problem.reason {
                super::Reason::Failed { error, .. }
                    if is_first && error.kind() == io::ErrorKind::NotFound =>
                {
                    Ok(None)
                }
                _ => Err(problem.to_string()),
            },
        }
    }

    fn of_job(&self, of: &Snapshot, name: &str, step: Step, error: io::Error) -> CommitError {
        let identity = Some(of.identity.clone());
        CommitError { identity, path: self.folder.path_of(name), step, error }
    }

    fn of_directory(&self, step: Step, error: io::Error) -> CommitError {
        CommitError { identity: None, path: self.folder.path().into(), step, error }
    }
}
