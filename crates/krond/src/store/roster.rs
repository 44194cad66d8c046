//! The roster as a file: read once, then only appended to.
//!
//! Its lines are `kron_engine::roster`. What it says is held in memory between
//! opening the store and the first load only; commits add lines without knowing
//! the others.

use super::error::{Problem, Reason, Warning};
use super::folder::{Folder, Step, distrust};
use super::names::{self, ROSTER};
use kron_core::{Identity, UtcInstant};
use kron_engine::commit::{RosterLine, Rostered};
use kron_engine::roster::{self, HEADER, LINE_BYTES, Line};
use kron_engine::state::StateError;
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What the roster says of every job.
pub(super) type Known = HashMap<Identity, Rostered>;

pub(super) struct Roster {
    file: File,
    /// What it says, until something is appended or someone takes it.
    known: Option<Known>,
}

/// What reading a roster gave.
struct Contents {
    known: Known,
    lines: usize,
    /// Up to the end of the last whole line.
    good_bytes: u64,
    torn_bytes: u64,
    damage: Option<String>,
}

impl Roster {
    /// Opens the roster; makes an empty one if there is none. A last line that
    /// was cut short is dropped, other damage moves the file aside.
    pub fn open(
        folder: &Folder,
        now: UtcInstant,
        warnings: &mut Vec<Warning>,
    ) -> Result<Self, Problem> {
        let failed = |step| move |error| Problem::failed(folder.path_of(ROSTER), step, error);
        let file = match folder.open_append(ROSTER) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::fresh(folder),
            Err(error) => return Err(super::load::unopened(folder, ROSTER, error)),
        };
        let path = folder.path_of(ROSTER);
        let stat = rustix::fs::fstat(&file).map_err(|e| failed(Step::Open)(e.into()))?;
        distrust(&stat, &path)?;
        let contents = read(folder, &file)?;
        if let Some(detail) = contents.damage {
            let aside = names::quarantine(folder, ROSTER, now)?;
            warnings.push(Warning::RosterQuarantined { path: folder.path_of(&aside), detail });
            return Self::fresh(folder);
        }
        if contents.torn_bytes > 0 {
            let truncated = folder.truncate(&file, ROSTER, contents.good_bytes);
            truncated.map_err(failed(Step::Write))?;
            warnings.push(Warning::RosterTorn { path, bytes: contents.torn_bytes });
        }
        // What a daemon that died had appended may not be durable yet.
        folder.sync(&file, ROSTER).map_err(failed(Step::Sync))?;
        // Rewriting pays when it at least halves the file.
        let needed: usize = contents.known.values().map(lines_for).sum();
        if contents.lines > 1000 + 2 * needed {
            let mut known = contents.known;
            known.retain(|_, rostered| lines_for(rostered) > 0);
            return Self::rewrite(folder, known);
        }
        Ok(Self { file, known: Some(contents.known) })
    }

    fn fresh(folder: &Folder) -> Result<Self, Problem> {
        Self::rewrite(folder, Known::new())
    }

    /// Replaces the file by one that says the same in as few lines as possible.
    fn rewrite(folder: &Folder, known: Known) -> Result<Self, Problem> {
        let mut text = String::from(HEADER);
        for (identity, rostered) in &known {
            if lines_for(rostered) == 0 {
                continue;
            }
            if let Some(seen) = rostered.seen {
                let identity = identity.clone();
                roster::write(&mut text, &RosterLine::Seen { identity, seen });
            }
            if rostered.has_file {
                roster::write(&mut text, &RosterLine::HasFile(identity.clone()));
            }
            if rostered.gone {
                roster::write(&mut text, &RosterLine::Gone(identity.clone()));
            }
        }
        let failed = |step| move |error| Problem::failed(folder.path_of(ROSTER), step, error);
        let temporary = names::temporary(ROSTER);
        folder
            .write_beside(&temporary, text.as_bytes(), None)
            .map_err(|(step, e)| failed(step)(e))?;
        folder.rename(&temporary, ROSTER).map_err(failed(Step::Rename))?;
        folder.sync_directory().map_err(failed(Step::SyncDirectory))?;
        let file = folder.open_append(ROSTER).map_err(failed(Step::Open))?;
        Ok(Self { file, known: Some(known) })
    }

    /// What the roster says.
    pub fn take(&mut self, folder: &Folder) -> Result<Known, Problem> {
        match self.known.take() {
            Some(known) => Ok(known),
            None => read(folder, &self.file).map(|contents| contents.known),
        }
    }

    /// Appends lines and makes them durable.
    pub fn append<'l>(
        &mut self,
        folder: &Folder,
        lines: impl Iterator<Item = &'l RosterLine>,
    ) -> Result<(), (Step, io::Error)> {
        /// Bytes after which lines are written; a start may have one for every job.
        const CHUNK: usize = 256 << 10;
        let mut lines = lines.peekable();
        if lines.peek().is_none() {
            return Ok(());
        }
        self.known = None;
        let at = |step| move |error| (step, error);
        if self.file.metadata().map_err(at(Step::Open))?.nlink() == 0 {
            return Err((Step::Open, io::Error::other("the roster was removed")));
        }
        let mut text = String::new();
        while let Some(line) = lines.next() {
            roster::write(&mut text, line);
            if text.len() >= CHUNK || lines.peek().is_none() {
                folder.write(&self.file, ROSTER, text.as_bytes()).map_err(at(Step::Write))?;
                text.clear();
            }
        }
        folder.sync(&self.file, ROSTER).map_err(at(Step::Sync))
    }
}

/// How many lines a rewritten roster has for a job. One that is gone and never
/// had a file is not worth any: it comes back as a new one.
fn lines_for(rostered: &Rostered) -> usize {
    if rostered.gone && !rostered.has_file {
        return 0;
    }
    let Rostered { seen, has_file, gone } = rostered;
    usize::from(seen.is_some()) + usize::from(*has_file) + usize::from(*gone)
}

/// The jobs that a roster knows of, as far as it can be read, for somebody who asks. It is only
/// appended to, so reading it needs no lock.
pub fn identities(directory: &Path) -> BTreeSet<Identity> {
    let lines =
        File::open(directory.join(ROSTER)).ok().map(|file| BufReader::new(file).split(b'\n'));
    let lines = lines.into_iter().flatten().map_while(Result::ok);
    let identity = |line: Vec<u8>| match roster::read(&line) {
        Ok(Line::Of(line)) => Some(line.into_identity()),
        _ => None,
    };
    lines.filter_map(identity).collect()
}

/// Reads line by line, so that memory is bounded by the number of jobs.
fn read(folder: &Folder, mut file: &File) -> Result<Contents, Problem> {
    let failed = |step| move |error| Problem::failed(folder.path_of(ROSTER), step, error);
    folder.reading(ROSTER).map_err(failed(Step::Read))?;
    file.rewind().map_err(failed(Step::Read))?;
    let mut reader = BufReader::with_capacity(256 << 10, file);
    let mut contents =
        Contents { known: Known::new(), lines: 0, good_bytes: 0, torn_bytes: 0, damage: None };
    let mut line = Vec::new();
    loop {
        line.clear();
        let limit = LINE_BYTES as u64 + 1;
        let bytes = reader.by_ref().take(limit).read_until(b'\n', &mut line);
        let bytes = bytes.map_err(failed(Step::Read))? as u64;
        let Some(whole) = line.strip_suffix(b"\n") else {
            if bytes == limit {
                contents.damage = Some(format!("line {} is too long", contents.lines + 1));
            }
            contents.torn_bytes = bytes;
            break;
        };
        contents.lines += 1;
        contents.good_bytes += bytes;
        match roster::read(whole) {
            Ok(Line::Of(line)) if contents.lines > 1 => {
                match contents.known.get_mut(line.identity()) {
                    Some(rostered) => rostered.learn(&line),
                    None => {
                        let mut rostered = Rostered::unknown();
                        rostered.learn(&line);
                        contents.known.insert(line.into_identity(), rostered);
                    }
                }
            }
            Ok(Line::Header(version)) if contents.lines == 1 => {
                if &*version != "1" {
                    let reason = Reason::State(StateError::UnknownVersion(version));
                    let path = folder.path_of(ROSTER);
                    return Err(Problem { path, identity: None, reason });
                }
            }
            Ok(_) => contents.damage = Some(format!("line {}: no header", contents.lines)),
            Err(error) => contents.damage = Some(format!("line {}: {error}", contents.lines)),
        }
        if contents.damage.is_some() {
            break;
        }
    }
    // Even the header is missing: made durable before it got its name, so no crash.
    if contents.lines == 0 && contents.damage.is_none() {
        contents.damage = Some("no header".into());
    }
    Ok(contents)
}
