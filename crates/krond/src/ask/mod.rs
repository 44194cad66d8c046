//! The commands that talk to a running daemon: ask, and show the answer.

mod history;
mod jobs;
mod state;
mod status;
mod why;

pub use history::history;
pub use jobs::jobs;
pub use state::state;
pub use status::{reload, status, stop};
pub use why::why;

use crate::cli::Place;
use crate::control::Request;
use crate::control::client::{Conversation, NoAnswer};
use crate::place;
use kron_term::failure::{FATAL, Failure, USER, plain};
use serde_json::Value;
use std::path::PathBuf;

/// Where the daemon listens.
fn socket(place: &Place) -> Result<PathBuf, Failure> {
    match (&place.socket, place::state_dir(place)) {
        (Some(_), directory) => Ok(place::socket(place, &directory.unwrap_or_default())),
        (None, Some(directory)) => Ok(place::socket(place, &directory)),
        (None, None) => Err(Failure::new(USER, "no home directory, so no daemon is known")
            .hint("name its state directory: `--state-dir DIR`")),
    }
}

fn begin(place: &Place, request: &Request) -> Result<Conversation, Failure> {
    let socket = socket(place)?;
    Conversation::begin(&socket, request).map_err(|error| explain(&error, &socket))
}

fn ask(place: &Place, request: &Request, row: impl FnMut(Value)) -> Result<Value, Failure> {
    let socket = socket(place)?;
    begin(place, request)?.finish(row).map_err(|error| explain(&error, &socket))
}

fn explain(error: &NoAnswer, socket: &std::path::Path) -> Failure {
    use std::io::ErrorKind::{ConnectionRefused, NotFound, PermissionDenied};
    match error {
        NoAnswer::NotRunning(error) => match error.kind() {
            NotFound | ConnectionRefused => Failure::new(
                USER,
                format!("krond is not running: nobody listens at {}", socket.display()),
            )
            .hint("`krond start` runs it; `--state-dir` or `--socket` finds another"),
            PermissionDenied => Failure::new(
                USER,
                format!(
                    "{} is not yours: only root and the daemon's own user may ask",
                    socket.display()
                ),
            ),
            _ => Failure::file(FATAL, socket, error),
        },
        NoAnswer::Refused(refusal) => {
            Failure::new(refusal.code, refusal.message.trim_end()).hint_if(refusal.hint.clone())
        }
        NoAnswer::Died => Failure::new(FATAL, "krond ended before it answered")
            .hint("its log says why; what it was asked may have been done or not"),
        NoAnswer::Closed => Failure::new(USER, "krond does not answer")
            .hint("only root and the daemon's own user are heard"),
        NoAnswer::Silent => Failure::new(FATAL, "krond listens, and does not answer")
            .hint("is its process stopped, or the machine overloaded?"),
        NoAnswer::BrokenOff(error) => {
            let why = plain(error);
            Failure::new(FATAL, format!("the conversation with krond broke off: {why}"))
        }
    }
}

/// A text of an answer, or nothing.
fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}
