//! A thread that makes batches durable, one after the other.

use crate::mailbox::Mailbox;
use crate::store::{CommitError, Store, Warning};
use kron_engine::commit::{Batch, RosterLine};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// Hands batches to the thread, and hears what became of them.
#[derive(Debug)]
pub(super) struct Committer {
    batches: Sender<Box<Batch>>,
    mailbox: Arc<Mailbox<Done>>,
}

/// What became of a batch.
#[derive(Debug)]
pub(super) struct Done {
    pub result: Result<Vec<Warning>, CommitError>,
    pub took: Duration,
}

impl Committer {
    pub fn new(store: Arc<Store>) -> io::Result<Self> {
        let mailbox = Arc::new(Mailbox::new()?);
        let (batches, receiver) = mpsc::channel::<Box<Batch>>();
        let done = Arc::clone(&mailbox);
        let work = move || {
            let mut notes = Vec::new();
            while let Some(batch) = next(&receiver, || note(&store, &mut notes, &done)) {
                let begun = Instant::now();
                let result = store.publish(&batch);
                done.post(Done { result, took: begun.elapsed() });
                notes.extend(batch.roster);
            }
        };
        thread::Builder::new().name("commit".into()).spawn(work)?;
        Ok(Self { batches, mailbox })
    }

    /// Begins to make a batch durable.
    pub fn begin(&self, batch: Box<Batch>) {
        // The thread lives as long as this does.
        let _ = self.batches.send(batch);
    }

    pub fn mailbox(&self) -> &Mailbox<Done> {
        &self.mailbox
    }
}

/// The next batch; if it has to be waited for, there is time for `pause`.
fn next(batches: &Receiver<Box<Batch>>, pause: impl FnOnce()) -> Option<Box<Batch>> {
    match batches.try_recv() {
        Ok(batch) => Some(batch),
        Err(_) => {
            pause();
            batches.recv().ok()
        }
    }
}

/// Writes down which jobs got a file. If that fails, it is as if a batch had.
fn note(store: &Store, notes: &mut Vec<RosterLine>, done: &Mailbox<Done>) {
    let begun = Instant::now();
    if let Err(error) = store.note_files(&std::mem::take(notes)) {
        done.post(Done { result: Err(error), took: begun.elapsed() });
    }
}
