//! A thread that reads state files for whoever asks about a job: the disk may be slow, and a
//! history long.

use crate::control::{Refusal, Request};
use crate::mailbox::Mailbox;
use crate::store::Store;
use kron_core::Identity;
use kron_engine::kept::Finished;
use kron_term::failure::FATAL;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;

/// Hands questions to the thread, and gets them back with what the files say.
#[derive(Debug)]
pub(super) struct Shelf {
    asked: Sender<(u32, Request, Identity)>,
    mailbox: Arc<Mailbox<LookedUp>>,
}

/// A client's question, and what was found for it.
#[derive(Debug)]
pub(super) struct LookedUp {
    pub client: u32,
    pub request: Request,
    pub found: Result<Found, Refusal>,
}

/// What a state file says.
#[derive(Debug)]
pub(super) enum Found {
    /// Its history, the oldest first.
    History(Vec<Finished>),
    /// All of it, if there is one, and where.
    Text(String, Option<String>),
}

impl Shelf {
    pub fn new(store: Arc<Store>) -> io::Result<Self> {
        let mailbox = Arc::new(Mailbox::new()?);
        let (asked, receiver) = mpsc::channel::<(u32, Request, Identity)>();
        let answers = Arc::clone(&mailbox);
        let work = move || {
            for (client, request, identity) in receiver {
                let found = match request {
                    Request::StateShow { .. } => text(&store.path_of(&identity)),
                    _ => history(&store, &identity),
                };
                answers.post(LookedUp { client, request, found });
            }
        };
        thread::Builder::new().name("shelf".into()).spawn(work)?;
        Ok(Self { asked, mailbox })
    }

    /// Has the state file of a job read for a question.
    pub fn look_up(&self, client: u32, request: Request, identity: Identity) {
        // The thread lives as long as this does.
        let _ = self.asked.send((client, request, identity));
    }

    pub fn mailbox(&self) -> &Mailbox<LookedUp> {
        &self.mailbox
    }
}

fn history(store: &Store, identity: &Identity) -> Result<Found, Refusal> {
    match store.read_history(identity) {
        Ok(history) => Ok(Found::History(history.unwrap_or_default())),
        Err(problem) => Err(Refusal::new(FATAL, problem.to_string())),
    }
}

fn text(path: &Path) -> Result<Found, Refusal> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(Refusal::new(FATAL, format!("{}: {error}", path.display()))),
    };
    Ok(Found::Text(path.display().to_string(), text))
}
