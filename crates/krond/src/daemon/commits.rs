//! A thread that makes batches durable, one after the other.

use crate::mailbox::Mailbox;
use crate::store::{CommitError, Store, Warning};
use kron_engine::commit::Batch;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
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
            while let Ok(batch) = receiver.recv() {
                let begun = Instant::now();
                let result = store.commit(&batch);
                done.post(Done { result, took: begun.elapsed() });
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
