//! A thread that makes batches durable, one after the other.

use crate::mailbox::{Clerk, Mailbox};
use crate::store::{CommitError, Store, Warning};
use kron_engine::commit::{Batch, RosterLine};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// The thread.
pub(super) type Committer = Clerk<Box<Batch>, Done>;

/// What became of a batch.
#[derive(Debug)]
pub(super) struct Done {
    pub result: Result<Vec<Warning>, CommitError>,
    pub took: Duration,
}

/// Begins it.
pub(super) fn committer(store: Arc<Store>) -> io::Result<Committer> {
    Clerk::begin("commit", move |batches, done| {
        let mut notes = Vec::new();
        while let Some(batch) = next(batches, || note(&store, &mut notes, done)) {
            let begun = Instant::now();
            let result = store.publish(&batch);
            done.post(Done { result, took: begun.elapsed() });
            notes.extend(batch.roster);
        }
    })
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
