//! What is known of jobs: their state files and the roster (STATE, State
//! Corruption Handling).
//!
//! Every file is looked at before anything is changed: if one of them must not
//! be used, the daemon does not start, and nothing has been moved.

use super::error::{Problem, Reason, StoreError, Warning};
use super::folder::{Folder, Step, distrust, is_distrusted};
use super::{Store, names, parallel};
use kron_core::{Identity, UtcInstant};
use kron_engine::commit::{Found, RosterLine, Rostered};
use kron_engine::kept::Kept;
use kron_engine::state::{self, FILE_BYTES, StateError};
use std::collections::HashSet;
use std::io::{self, Read};
use std::sync::PoisonError;

/// Reading is mostly the processor's work, on a cold disk waiting.
const READERS: usize = 8;

/// What was found.
#[derive(Debug, Default)]
pub struct Loaded {
    /// For each identity, in order.
    pub found: Vec<Found>,
    /// Jobs that the roster takes to be configured and nobody asked for.
    pub others: Vec<(Identity, Rostered)>,
    /// What is to be told about it.
    pub warnings: Vec<Warning>,
}

impl Store {
    /// Looks up jobs. Damaged state files are moved aside, with the time `now`
    /// in their new names.
    ///
    /// # Errors
    /// When a file cannot be read, must not be trusted or is not understood: all
    /// such files. When one could not be moved aside or noted, no later commit
    /// succeeds.
    pub fn load(&self, identities: &[Identity], now: UtcInstant) -> Result<Loaded, StoreError> {
        let present = self.present()?;
        let mut loaded =
            Loaded { found: vec![Found::default(); identities.len()], ..Loaded::default() };
        let mut problems = Vec::new();
        let mut damaged = Vec::new();
        if !present.is_empty() {
            let read = parallel::collect(identities.len(), READERS, |place| {
                let hash = names::hash(&identities[place]);
                let is_there = present.contains(&hash);
                is_there.then(|| {
                    (place, read_state(&self.folder, &names::state(&hash), &identities[place]))
                })
            });
            for (place, result) in read {
                match result {
                    Ok(kept) => loaded.found[place].kept = Some(kept),
                    Err(Problem { reason: Reason::State(error), .. }) if error.is_damage() => {
                        damaged.push((place, error));
                    }
                    Err(problem) => problems.push(problem),
                }
            }
        }
        if !problems.is_empty() {
            problems.sort_by(|a, b| a.identity.cmp(&b.identity));
            return Err(StoreError::Refused(problems));
        }
        // From here on something may be written.
        self.put_right(identities, damaged, &mut loaded, now).inspect_err(|_| self.fail())?;
        Ok(loaded)
    }

    /// Moves damaged files aside, and brings the roster up to date.
    fn put_right(
        &self,
        identities: &[Identity],
        damaged: Vec<(usize, StateError)>,
        loaded: &mut Loaded,
        now: UtcInstant,
    ) -> Result<(), Problem> {
        // The roster first: if this is as far as it goes, there was a file all the same.
        for (place, _) in &damaged {
            loaded.found[*place].quarantined = Some(Box::default());
        }
        loaded.others = self.consult_roster(identities, &mut loaded.found)?;
        for (place, error) in damaged {
            let identity = &identities[place];
            let name = names::state(&names::hash(identity));
            let aside = names::quarantine(&self.folder, &name, now).map_err(|p| p.of(identity))?;
            let path = self.folder.path_of(&aside);
            loaded.found[place].quarantined = Some(path.display().to_string().into());
            let (identity, detail) = (identity.clone(), error.to_string());
            loaded.warnings.push(Warning::Quarantined { identity, path, detail });
        }
        Ok(())
    }

    fn present(&self) -> Result<HashSet<names::Hash>, Problem> {
        let mut present = HashSet::new();
        self.folder
            .list(|name| present.extend(names::state_hash(name.to_bytes())))
            .map_err(|error| Problem::failed(self.folder.path(), Step::Directory, error))?;
        Ok(present)
    }

    /// Adds what the roster says, and tells it of files it does not know: a crash
    /// came between the file and its line, or the roster was lost.
    /// Returns the others it takes to be configured.
    fn consult_roster(
        &self,
        identities: &[Identity],
        found: &mut [Found],
    ) -> Result<Vec<(Identity, Rostered)>, Problem> {
        let mut roster = self.roster.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = roster.take(&self.folder)?;
        let mut news = Vec::new();
        for (identity, found) in identities.iter().zip(found) {
            found.roster = known.remove(identity);
            let had_file = found.roster.as_ref().is_some_and(|rostered| rostered.has_file);
            if !had_file && (found.kept.is_some() || found.quarantined.is_some()) {
                news.push(RosterLine::HasFile(identity.clone()));
                if let Some(rostered) = &mut found.roster {
                    rostered.has_file = true;
                }
            }
        }
        roster.append(&self.folder, news.iter()).map_err(|(step, error)| {
            Problem::failed(self.folder.path_of(names::ROSTER), step, error)
        })?;
        known.retain(|_, rostered| !rostered.gone);
        Ok(known.into_iter().collect())
    }
}

fn read_state(folder: &Folder, name: &str, identity: &Identity) -> Result<Kept, Problem> {
    let bytes = read_file(folder, name).map_err(|problem| problem.of(identity))?;
    state::decode(&bytes, identity).map_err(|error| {
        let path = folder.path_of(name);
        Problem { path, identity: Some(identity.clone()), reason: Reason::State(error) }
    })
}

/// Reads a file of ours that nobody else can have written.
pub(super) fn read_file(folder: &Folder, name: &str) -> Result<Vec<u8>, Problem> {
    let failed = |step, error| Problem::failed(folder.path_of(name), step, error);
    let file = folder.open(name).map_err(|error| unopened(folder, name, error))?;
    let stat = rustix::fs::fstat(&file).map_err(|error| failed(Step::Open, error.into()))?;
    if !rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file() {
        let hint = "state is read from regular files".into();
        return Err(Problem::not_safe(folder.path_of(name), "this is not a file", hint));
    }
    if is_distrusted(&stat) {
        distrust(&stat, &folder.path_of(name))?;
    }
    let size = stat.st_size as u64;
    if size > FILE_BYTES as u64 {
        let reason = Reason::State(StateError::TooLarge { bytes: size });
        return Err(Problem { path: folder.path_of(name), identity: None, reason });
    }
    folder.reading(name).map_err(|error| failed(Step::Read, error))?;
    let mut bytes = Vec::with_capacity(size as usize + 1);
    let limited = file.take(FILE_BYTES as u64 + 1).read_to_end(&mut bytes);
    limited.map_err(|error| failed(Step::Read, error))?;
    Ok(bytes)
}

/// Why a file could not be opened.
pub(super) fn unopened(folder: &Folder, name: &str, error: io::Error) -> Problem {
    let path = folder.path_of(name);
    if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        let hint = "links are not followed; put the file itself here".into();
        return Problem::not_safe(path, "this is a symbolic link", hint);
    }
    Problem::failed(path, Step::Open, error)
}
