//! A thread that looks for what is left of process groups.
//!
//! That is a look at everything that runs on the machine, so the loop does not take it, and
//! what was asked for meanwhile is looked for together. If nobody can say who is left, nobody
//! says that none is: somebody looks again.

use crate::exec::group::survivors;
use crate::mailbox::Mailbox;
use kron_engine::event::RunId;
use kron_engine::kept::Process;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

/// Before another look, after one that failed.
const PAUSE: Duration = Duration::from_secs(1);

/// Hands groups to the thread, and hears who is left of them.
#[derive(Debug)]
pub(super) struct Searcher {
    asked: Sender<Asked>,
    mailbox: Arc<Mailbox<Search>>,
}

#[derive(Debug)]
struct Asked {
    run: RunId,
    process: Process,
    is_urgent: bool,
}

/// What came of a look.
#[derive(Debug)]
pub(super) enum Search {
    /// One that is left of the group of this run, or nobody.
    Found(RunId, Option<OwnedFd>),
    /// It cannot be told yet.
    Failed(RunId, io::Error),
}

impl Searcher {
    pub fn new() -> io::Result<Self> {
        let mailbox = Arc::new(Mailbox::new()?);
        let (asked, receiver) = mpsc::channel();
        let found = Arc::clone(&mailbox);
        thread::Builder::new().name("search".into()).spawn(move || serve(&receiver, &found))?;
        Ok(Self { asked, mailbox })
    }

    /// Has the group of a run looked for.
    pub fn look(&self, run: RunId, process: Process) {
        // The thread lives as long as this does.
        let _ = self.asked.send(Asked { run, process, is_urgent: true });
    }

    /// The same after a pause, because what was found was of no use.
    pub fn look_again(&self, run: RunId, process: Process) {
        let _ = self.asked.send(Asked { run, process, is_urgent: false });
    }

    pub fn mailbox(&self) -> &Mailbox<Search> {
        &self.mailbox
    }
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
