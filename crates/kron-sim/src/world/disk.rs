//! The false disk: files and names, each as it is and as it would be after the
//! power failed. A commit is a list of operations on it, as the real store's, which also
//! writes into files that it has replaced before; here at once.

use crate::rng::Rng;
use kron_core::Identity;
use kron_engine::commit::{Batch, RosterLine, Rostered};
use kron_engine::roster::{self, HEADER};
use kron_engine::state;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

const ROSTER: &str = "roster";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct File {
    content: Vec<u8>,
    synced: Vec<u8>,
}

/// One operation.
#[derive(Clone, Debug)]
pub enum Op {
    /// Writes a file beside its final name.
    Write(String, Vec<u8>),
    /// Makes what was written there durable.
    Sync(String),
    /// Gives a file its final name.
    Rename(String, String),
    /// Makes names durable.
    SyncNames,
    /// Appends to the roster.
    Append(Vec<u8>),
    /// Makes the roster durable.
    SyncRoster,
    /// Takes away what a crash has left.
    Clear,
    /// Takes away a last line of the roster that was cut short.
    CutRoster,
    /// Moves a damaged file aside.
    Aside(String),
}

/// What a start does first: leftovers go, and a last line cut short; what it finds is
/// durable before anything is built on it.
pub const TIDYING: [Op; 4] = [Op::Clear, Op::CutRoster, Op::SyncRoster, Op::SyncNames];

/// The state directory.
#[derive(Clone, Debug)]
pub struct Disk {
    files: HashMap<u64, File>,
    names: BTreeMap<String, u64>,
    durable: BTreeMap<String, u64>,
    next: u64,
    /// What somebody put in the place of what was written there.
    meddled: BTreeSet<String>,
    /// Names of files that were replaced: durably, and by the batch on its way.
    spares: (VecDeque<String>, Vec<String>),
}

impl Default for Disk {
    fn default() -> Self {
        let header = HEADER.as_bytes().to_vec();
        let roster = File { content: header.clone(), synced: header };
        let names = BTreeMap::from([(ROSTER.to_string(), 0)]);
        let files = HashMap::from([(0, roster)]);
        let (meddled, spares) = Default::default();
        Self { files, durable: names.clone(), names, next: 1, meddled, spares }
    }
}

/// What the names of files begin with that were replaced.
const SPARE: &str = "spare-";

fn temporary(name: &str) -> String {
    format!("{name}.tmp")
}

impl Disk {
    /// The operations of a batch, in the order of the store (STATE, Write
    /// Semantics), and the new contents of each file.
    #[must_use]
    pub fn operations(&self, batch: &Batch, history: usize) -> (Vec<Op>, Vec<(String, Vec<u8>)>) {
        let (mut ops, mut contents) = (Vec::new(), Vec::new());
        for snapshot in &batch.jobs {
            let name = snapshot.identity.as_str();
            let old = self.read(name).unwrap_or_default();
            let carried = state::raw_history(old, history).unwrap_or_default();
            let added: Vec<String> = snapshot.finished.iter().map(state::entry).collect();
            let entries = carried.into_iter().chain(added.iter().map(String::as_str));
            let bytes = state::encode(&snapshot.identity, &snapshot.kept, entries, history);
            ops.push(Op::Write(temporary(name), bytes.clone()));
            ops.push(Op::Sync(temporary(name)));
            contents.push((name.to_string(), bytes));
        }
        ops.extend(appending(&batch.roster, false));
        for snapshot in &batch.jobs {
            let name = snapshot.identity.as_str();
            ops.push(Op::Rename(temporary(name), name.into()));
        }
        if !batch.jobs.is_empty() {
            ops.push(Op::SyncNames);
        }
        ops.extend(appending(&batch.roster, true));
        (ops, contents)
    }

    /// Carries out an operation.
    pub fn apply(&mut self, op: Op) {
        match op {
            Op::Write(name, bytes) => {
                let spare = self.spares.0.pop_front().and_then(|spare| self.names.remove(&spare));
                if let Some(number) = spare
                    && let Some(file) = self.files.get_mut(&number)
                {
                    file.content = bytes;
                    self.names.insert(name, number);
                    return;
                }
                self.files.insert(self.next, File { content: bytes, synced: Vec::new() });
                self.names.insert(name, self.next);
                self.next += 1;
            }
            Op::Sync(name) => self.sync(&name),
            Op::Rename(from, to) => {
                if let Some(file) = self.names.remove(&from) {
                    self.meddled.remove(&to);
                    if let Some(old) = self.names.insert(to, file) {
                        let spare = format!("{SPARE}{old}");
                        self.names.insert(spare.clone(), old);
                        self.spares.1.push(spare);
                    }
                }
            }
            Op::SyncNames => {
                self.durable.clone_from(&self.names);
                let (spares, replaced) = &mut self.spares;
                spares.extend(replaced.drain(..));
            }
            Op::Append(bytes) => {
                if let Some(file) = self.file_mut(ROSTER) {
                    file.content.extend(bytes);
                }
            }
            Op::SyncRoster => self.sync(ROSTER),
            Op::Clear => {
                self.forget_spares();
                self.names.retain(|name, _| name.strip_suffix(".tmp").is_none());
            }
            Op::CutRoster => {
                if let Some(file) = self.file_mut(ROSTER) {
                    let end = file.content.iter().rposition(|byte| *byte == b'\n');
                    file.content.truncate(end.map_or(0, |end| end + 1));
                }
            }
            Op::Aside(name) => {
                self.names.remove(&name);
            }
        }
    }

    fn file_mut(&mut self, name: &str) -> Option<&mut File> {
        self.files.get_mut(self.names.get(name)?)
    }

    fn sync(&mut self, name: &str) {
        if let Some(file) = self.file_mut(name) {
            file.synced.clone_from(&file.content);
        }
    }

    /// What a file holds.
    #[must_use]
    pub fn read(&self, name: &str) -> Option<&[u8]> {
        Some(&self.files.get(self.names.get(name)?)?.content)
    }

    /// What it would hold if the power failed now, whatever the luck.
    #[must_use]
    pub fn read_durable(&self, name: &str) -> Option<&[u8]> {
        let file = self.files.get(self.durable.get(name)?)?;
        Some(&file.synced)
    }

    /// Replaces a file behind everybody's back, or takes it away.
    pub fn meddle(&mut self, name: &str, content: Option<Vec<u8>>) {
        self.names.remove(name);
        self.meddled.insert(name.into());
        if let Some(content) = content {
            self.files.insert(self.next, File { synced: content.clone(), content });
            self.names.insert(name.into(), self.next);
            self.next += 1;
        }
        self.durable.clone_from(&self.names);
    }

    /// Whether that happened to a file since it was written.
    #[must_use]
    pub fn is_meddled(&self, name: &str) -> bool {
        self.meddled.contains(name)
    }

    /// What was not made durable is lost, kept or torn.
    pub fn power_fails(&mut self, rng: &mut Rng) {
        self.forget_spares();
        let mut all: Vec<String> = self.names.keys().chain(self.durable.keys()).cloned().collect();
        all.sort_unstable();
        all.dedup();
        for name in all {
            let (new, old) = (self.names.get(&name).copied(), self.durable.get(&name).copied());
            if new != old && rng.percent(50) {
                match old {
                    Some(old) => self.names.insert(name, old),
                    None => self.names.remove(&name),
                };
            }
        }
        self.durable.clone_from(&self.names);
        let names = &self.names;
        self.files.retain(|number, _| names.values().any(|known| known == number));
        for number in self.names.values() {
            let Some(file) = self.files.get_mut(number) else { continue };
            if file.content != file.synced {
                match rng.below(3) {
                    0 => file.content.clone_from(&file.synced),
                    1 => {}
                    _ if !file.content.starts_with(&file.synced) => {
                        // Some of it is new, the rest is what was there before.
                        let new = rng.below(file.content.len() as u64 + 1) as usize;
                        file.content.truncate(new);
                        file.content.extend(file.synced.get(new..).unwrap_or_default());
                    }
                    _ => {
                        let kept = file.synced.len().min(file.content.len());
                        let torn = rng.below((file.content.len() - kept) as u64 + 1) as usize;
                        file.content.truncate(kept + torn);
                    }
                }
            }
            file.synced.clone_from(&file.content);
        }
    }

    /// Forgets files that have no name.
    pub fn sweep(&mut self) {
        let known: BTreeSet<u64> =
            self.names.values().chain(self.durable.values()).copied().collect();
        self.files.retain(|number, _| known.contains(number));
    }

    /// Whether their names survive makes no difference: nobody uses those of another daemon.
    fn forget_spares(&mut self) {
        self.spares = Default::default();
        self.names.retain(|name, _| !name.starts_with(SPARE));
        self.durable.retain(|name, _| !name.starts_with(SPARE));
    }

    /// What the roster says of every job.
    #[must_use]
    pub fn roster(&self) -> BTreeMap<Identity, Rostered> {
        let mut known: BTreeMap<Identity, Rostered> = BTreeMap::new();
        let bytes = self.read(ROSTER).unwrap_or_default();
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            if let Ok(roster::Line::Of(line)) = roster::read(line) {
                known.entry(line.identity().clone()).or_insert_with(Rostered::unknown).learn(&line);
            }
        }
        known
    }
}

/// The operations that tell the roster: of files, or of everything else.
#[must_use]
pub fn appending(lines: &[RosterLine], files: bool) -> Vec<Op> {
    let mut text = String::new();
    for line in lines.iter().filter(|line| matches!(line, RosterLine::HasFile(_)) == files) {
        roster::write(&mut text, line);
    }
    if text.is_empty() {
        return Vec::new();
    }
    vec![Op::Append(text.into_bytes()), Op::SyncRoster]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk_with(ops: Vec<Op>) -> Disk {
        let mut disk = Disk::default();
        for op in ops {
            disk.apply(op);
        }
        disk
    }

    fn write(name: &str, bytes: &[u8]) -> Op {
        Op::Write(name.into(), bytes.to_vec())
    }

    /// STA-16: the order of the store survives every failure of power whole.
    #[test]
    fn a_file_that_was_synced_and_renamed_is_old_or_new() {
        let steps = |content: &[u8]| {
            vec![
                write("a.tmp", content),
                Op::Sync("a.tmp".into()),
                Op::Rename("a.tmp".into(), "a".into()),
                Op::SyncNames,
            ]
        };
        // The third is written into the file of the first.
        for seed in 0..200 {
            for cut in 0..=4 {
                let mut disk = disk_with([steps(b"first"), steps(b"old")].concat());
                for op in steps(b"new").into_iter().take(cut) {
                    disk.apply(op);
                }
                disk.power_fails(&mut Rng::new(seed));
                let found = disk.read("a").unwrap();
                assert!(found == b"new" || (found == b"old" && cut < 4), "{cut} {found:?}");
            }
        }
    }

    /// Without the sync of the file, torn contents are seen: the disk is unkind.
    #[test]
    fn a_file_that_was_not_synced_may_be_torn() {
        let torn = (0..200).any(|seed| {
            let ops = [write("a.tmp", b"content"), Op::Rename("a.tmp".into(), "a".into())];
            let mut disk = disk_with(ops.to_vec());
            disk.apply(Op::SyncNames);
            disk.power_fails(&mut Rng::new(seed));
            disk.read("a").is_some_and(|found| found != b"content")
        });
        assert!(torn);
    }

    /// A roster that lost part of its last line is read without it.
    #[test]
    fn a_torn_roster_loses_its_last_line_only() {
        let id = |name: &str| Identity::new(name).unwrap();
        let mut disk = disk_with(appending(&[RosterLine::Gone(id("/a:a"))], false));
        disk.apply(Op::Append(b"{\"Gone\":\"/a".to_vec()));
        for op in TIDYING {
            disk.apply(op);
        }
        assert_eq!(disk.roster().len(), 1);
        disk.apply(Op::Append(b"{\"Gone\":\"/a:b\"}\n".to_vec()));
        assert_eq!(disk.roster().len(), 2);
    }
}
