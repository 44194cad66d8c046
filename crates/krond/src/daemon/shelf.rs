//! A thread that reads state files for whoever asks about a job: the disk may be slow, and a
//! history long.

use crate::control::{Refusal, Request};
use crate::mailbox::Clerk;
use crate::store::Store;
use kron_core::Identity;
use kron_engine::kept::Finished;
use kron_term::failure::FATAL;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The thread: gets a client's question with the job that is meant, and gives it back with
/// what the files say.
pub(super) type Shelf = Clerk<(u32, Request, Identity), LookedUp>;

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

/// Begins it.
pub(super) fn shelf(store: Arc<Store>) -> io::Result<Shelf> {
    Clerk::begin("shelf", move |questions, answers| {
        for (client, request, identity) in questions {
            let found = match request {
                Request::StateShow { .. } => text(&store.path_of(&identity)),
                _ => history(&store, &identity),
            };
            answers.post(LookedUp { client, request, found });
        }
    })
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
