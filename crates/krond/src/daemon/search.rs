//! A thread that looks for what is left of process groups.
//!
//! That is a look at everything that runs on the machine, so the loop does not take it, and
//! what was asked for meanwhile is looked for together. If nobody can say who is left, nobody
//! says that none is: somebody looks again.

use crate::exec::group::survivors;
use crate::mailbox::{Clerk, Mailbox};
use kron_engine::event::RunId;
use kron_engine::kept::Process;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

/// Before another look, after one that failed.
const PAUSE: Duration = Duration::from_secs(1);

/// The thread.
pub(super) type Searcher = Clerk<Asked, Search>;

/// A group to be looked for: that of a run.
#[derive(Debug)]
pub(super) struct Asked {
    pub run: RunId,
    pub process: Process,
    /// Whether at once, and not after a pause, because what was found was of no use.
    pub is_urgent: bool,
}

/// What came of a look.
#[derive(Debug)]
pub(super) enum Search {
    /// One that is left of the group of this run, or nobody.
    Found(RunId, Option<OwnedFd>),
    /// It cannot be told yet.
    Failed(RunId, io::Error),
}

/// Begins it.
pub(super) fn searcher() -> io::Result<Searcher> {
    Clerk::begin("search", serve)
}

fn serve(asked: &Receiver<Asked>, found: &Mailbox<Search>) {
    while let Ok(first) = asked.recv() {
        if !first.is_urgent {
            thread::sleep(PAUSE);
        }
        let mut open = BTreeMap::from([(first.run, first.process)]);
        let mut has_failed = false;
        loop {
            open.extend(asked.try_iter().map(|asked| (asked.run, asked.process)));
            match survivors(open.values()) {
                Ok(left) => {
                    for (run, left) in open.into_keys().zip(left) {
                        found.post(Search::Found(run, left));
                    }
                    break;
                }
                Err(error) => {
                    if let Some(run) = open.keys().next().filter(|_| !has_failed) {
                        found.post(Search::Failed(*run, error));
                    }
                    has_failed = true;
                    thread::sleep(PAUSE);
                }
            }
        }
    }
}
