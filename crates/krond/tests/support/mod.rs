//! State to write and look at, and faults to write it with.

#![allow(dead_code, reason = "each test file uses some of it")]

mod skip;

#[allow(unused_imports, reason = "not each of them has something to leave out")]
pub use skip::skip;

use kron_core::{Identity, Ledger, Outcome, PeriodId, Seen, UtcInstant, UtcSecond};
use kron_engine::commit::{Batch, RosterLine, Snapshot};
use kron_engine::kept::{Finished, Kept, Last};
use krond::store::{Fault, Options, Step, Store, StoreError, Warning};
use nix::errno::Errno;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

pub fn now() -> UtcInstant {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

pub fn identity(number: usize) -> Identity {
    Identity::new(&format!("/etc/krond.d/shop.kron:job-{number:06}")).unwrap()
}

/// The n-th minute of a day long ago.
pub fn period(number: usize) -> PeriodId {
    let start: UtcSecond = "2026-01-01T00:00:00Z".parse().unwrap();
    PeriodId::new(UtcSecond::new(start.unix_seconds() + 60 * number as i64).unwrap()).unwrap()
}

/// What is kept after the n-th period was executed.
pub fn kept(number: usize) -> Kept {
    let period = period(number);
    let definition = Some("a".repeat(64).parse().unwrap());
    let last = Last {
        period,
        outcome: Outcome::Executed,
        chosen: Some(period.nominal()),
        reason: None,
        started_at: Some(period.nominal().into()),
        exit_code: Some(0),
        seed_hash: Some("b".repeat(64).parse().unwrap()),
        distribution: Some("uniform".into()),
    };
    Kept {
        ledger: Ledger::restore(Some(period), vec![], Some(now()), definition),
        last: Some(Box::new(last)),
        active: vec![],
    }
}

pub fn finished(number: usize) -> Finished {
    let period = period(number);
    Finished {
        period,
        outcome: Outcome::Executed,
        chosen: Some(period.nominal()),
        completed_at: period.nominal().into(),
        exit_code: Some(0),
        signal: None,
        reason: None,
        started_at: Some(period.nominal().into()),
        seed_hash: Some("b".repeat(64).parse().unwrap()),
    }
}

/// One job that executed its n-th period.
pub fn snapshot(job: usize, number: usize) -> Snapshot {
    Snapshot { identity: identity(job), kept: kept(number), finished: vec![finished(number)] }
}

pub fn seen(job: usize) -> RosterLine {
    let definition = "a".repeat(64).parse().unwrap();
    let seen = Seen { not_before: now(), definition, lead: Duration::ZERO, through: None };
    RosterLine::Seen { identity: identity(job), seen }
}

/// Jobs `0..count` executed their n-th period; the first time they get a file.
pub fn batch(count: usize, number: usize) -> Batch {
    let jobs = (0..count).map(|job| snapshot(job, number)).collect();
    let roster = if number == 0 {
        (0..count).flat_map(|job| [seen(job), RosterLine::HasFile(identity(job))]).collect()
    } else {
        vec![]
    };
    Batch { jobs, roster }
}

/// A place for a state directory, which does not exist yet.
pub struct Place {
    root: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> PathBuf {
        self.root.path().join("krond")
    }

    pub fn open(&self) -> Store {
        let (store, warnings) = self.take(&Options::at(now()));
        assert_eq!(warnings, []);
        store
    }

    pub fn open_warned(&self) -> (Store, Vec<Warning>) {
        self.take(&Options::at(now()))
    }

    /// Opens it. A program that another test starts holds a copy of every lock of
    /// this process until it is executed, so a lock just given back may linger.
    fn take(&self, options: &Options) -> (Store, Vec<Warning>) {
        for _ in 0..500 {
            match Store::open(&self.path(), options.clone()) {
                Err(StoreError::Locked { .. }) => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                other => return other.unwrap(),
            }
        }
        panic!("{} stays locked", self.path().display());
    }

    pub fn options(&self, change: impl FnOnce(&mut Options)) -> Store {
        let mut options = Options::at(now());
        change(&mut options);
        self.take(&options).0
    }

    /// The names in the directory, in order, the lock, the roster and spare files aside.
    pub fn names(&self) -> Vec<String> {
        self.all_names(|name| !["lock", "roster"].contains(&name) && !name.starts_with("spare-"))
    }

    /// The names of spare files.
    pub fn spares(&self) -> Vec<String> {
        self.all_names(|name| name.starts_with("spare-"))
    }

    fn all_names(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path())
            .unwrap()
            .map(|item| item.unwrap().file_name().into_string().unwrap())
            .filter(|name| is_wanted(name))
            .collect();
        names.sort();
        names
    }
}

/// The bytes of every state file that has its final name.
pub fn contents(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(path)
        .unwrap()
        .map(|item| item.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}

/// What a disk or a system may answer (fault 16).
pub const ERRORS: [Errno; 5] =
    [Errno::ENOSPC, Errno::EDQUOT, Errno::EROFS, Errno::EIO, Errno::EMFILE];

/// Writes down every operation, and makes one of them fail.
#[derive(Default)]
pub struct Script {
    pub done: Mutex<Vec<(Step, String)>>,
    /// The n-th operation of those that `counts` fails with this errno.
    pub failing: Mutex<Option<(usize, i32)>>,
    pub only: Mutex<Option<Step>>,
}

impl Script {
    pub fn fail(&self, number: usize, errno: i32) {
        self.done.lock().unwrap().clear();
        *self.failing.lock().unwrap() = Some((number, errno));
    }
}

impl Fault for Script {
    fn before(&self, step: Step, name: &str) -> io::Result<()> {
        if self.only.lock().unwrap().is_some_and(|only| only != step) {
            return Ok(());
        }
        let mut done = self.done.lock().unwrap();
        done.push((step, name.into()));
        match *self.failing.lock().unwrap() {
            Some((number, errno)) if done.len() == number + 1 => {
                Err(io::Error::from_raw_os_error(errno))
            }
            _ => Ok(()),
        }
    }
}
