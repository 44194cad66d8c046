//! `krond state`: a job's state file, shown or reset. Without a daemon the files
//! are looked at directly.

use super::{ask, text};
use crate::cli::{AskJob, State, StateCommand};
use crate::clock::Clock;
use crate::control::Request;
use crate::place;
use crate::store::{self, Store, StoreError};
use kron_core::{Identity, Seen, nearest};
use kron_engine::commit::{Batch, RosterLine, Snapshot};
use kron_engine::kept::Kept;
use kron_term::choice::Format;
use kron_term::failure::{FATAL, Failure, STATE, USER, note};
use kron_term::terminal;
use serde_json::{Value, json};
use std::time::Duration;

/// Shows or resets.
pub fn state(arguments: &State) -> Result<u8, Failure> {
    match &arguments.command {
        StateCommand::Show(arguments) => show(arguments),
        StateCommand::Reset(arguments) => reset(arguments),
    }
}

/// Whether nobody answers because there is no daemon.
fn is_not_running(failure: &Failure) -> bool {
    failure.message().starts_with("krond is not running")
}

fn show(arguments: &AskJob) -> Result<u8, Failure> {
    let request = Request::StateShow { job: arguments.job.clone() };
    let answer = match ask(&arguments.ask.place, &request, drop) {
        Err(failure) if is_not_running(&failure) => from_files(arguments)?,
        other => other?,
    };
    let Some(state) = answer["text"].as_str() else {
        return Err(Failure::new(USER, format!("`{}` has no state file yet", arguments.job))
            .hint("one is written when its first period has an outcome"));
    };
    if arguments.ask.format == Format::Text {
        note(text(&answer, "path"));
        terminal::print(state);
        return Ok(0);
    }
    let value: Value = serde_json::from_str(state)
        .map_err(|error| Failure::new(STATE, format!("{}: {error}", text(&answer, "path"))))?;
    terminal::print_json(&value);
    Ok(0)
}

/// The state file of an identity, read without a daemon.
fn from_files(arguments: &AskJob) -> Result<Value, Failure> {
    let (directory, identity) = offline(arguments)?;
    let path = store::file_of(&directory, &identity);
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(json!({ "path": path.display().to_string(), "text": text })),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(json!({ "text": null })),
        Err(error) => Err(Failure::file(STATE, &path, &error)),
    }
}

/// Without a daemon the roster says which jobs there are; an identity it does not know still
/// means something.
fn offline(arguments: &AskJob) -> Result<(std::path::PathBuf, Identity), Failure> {
    let directory = place::state_dir(&arguments.ask.place)
        .ok_or_else(|| Failure::new(USER, "no home directory, so no state is known"))?;
    let word = &*arguments.job;
    if word.contains(':') {
        let identity = Identity::new(word);
        let identity = identity.map_err(|error| Failure::new(USER, error.to_string()))?;
        return Ok((directory, identity));
    }
    let known = store::identities(&directory);
    let mut meant = known.iter().filter(|identity| name_of(identity) == word);
    let failure = |what: String| Failure::new(USER, format!("krond is not running, and {what}"));
    match (meant.next(), meant.next()) {
        (Some(one), None) => Ok((directory, one.clone())),
        (Some(one), Some(other)) => Err(failure(format!("there are several jobs `{word}`"))
            .hint(format!("name an identity, such as `{one}` or `{other}`"))),
        (None, _) => {
            let hint = match nearest(word, known.iter().map(name_of)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "name its identity, such as `/etc/krond.d/shop.kron:backup`".into(),
            };
            Err(failure(format!("its state knows no job `{word}`")).hint(hint))
        }
    }
}

/// What is behind the file in an identity.
fn name_of(identity: &Identity) -> &str {
    identity.as_str().rsplit(':').next().unwrap_or_default()
}

fn reset(arguments: &AskJob) -> Result<u8, Failure> {
    let request = Request::StateReset { job: arguments.job.clone() };
    match ask(&arguments.ask.place, &request, drop) {
        Err(failure) if is_not_running(&failure) => reset_files(arguments)?,
        other => drop(other?),
    }
    match arguments.ask.format {
        Format::Json => terminal::print_json(&json!({ "reset": true })),
        Format::Text => terminal::print(&format!(
            "the marks of `{}` are forgotten; nothing due before now runs\n",
            arguments.job
        )),
    }
    Ok(0)
}

/// What a daemon would do, done without one: the directory is locked meanwhile.
fn reset_files(arguments: &AskJob) -> Result<(), Failure> {
    let (directory, identity) = offline(arguments)?;
    let refused = |error: StoreError| Failure::new(STATE, error.to_string());
    if !directory.is_dir() {
        let message = format!("there is no state directory {}", directory.display());
        return Err(Failure::new(USER, message).hint("`--state-dir` names another"));
    }
    let now = Clock::default().moment().now;
    // Whoever resets a job does not choose how much of its history is kept.
    let options = store::Options { history: usize::MAX, ..store::Options::at(now) };
    let (store, warnings) = Store::open(&directory, options).map_err(refused)?;
    let loaded = store.load(std::slice::from_ref(&identity), now).map_err(refused)?;
    for warning in warnings.iter().chain(&loaded.warnings) {
        note(warning);
    }
    let found = loaded.found.into_iter().next().unwrap_or_default();
    // The roster has a mark, too, even if the file does not say whose schedule it is.
    let is_gone = found.roster.as_ref().is_some_and(|rostered| rostered.gone);
    let seen = found.roster.and_then(|rostered| rostered.seen);
    if found.kept.is_none() && seen.is_none() {
        return Err(Failure::new(USER, format!("there is no state of `{identity}`")));
    }
    // As the daemon does it; but without the definition nobody knows when a window
    // begins, so marks a year ahead stay, too.
    let year = now.saturating_add(kron_core::bounds::WINDOW.max);
    let kept = found.kept.map(|kept| {
        let ledger = kept.ledger.without_future(now, |period| period.nominal().instant() <= year);
        Kept { ledger, ..kept }
    });
    let lead = seen.map_or(Duration::ZERO, |seen| seen.lead);
    let marks = kept.as_ref().and_then(|kept| kept.ledger.seen(lead));
    let seen = marks.or(seen.map(|seen| Seen { not_before: now, ..seen }));
    let seen = seen.map(|seen| RosterLine::Seen { identity: identity.clone(), seen });
    // Who is seen is configured; one that is not is still gone when it returns.
    let gone = is_gone.then(|| RosterLine::Gone(identity.clone()));
    let snapshot = kept.map(|kept| Snapshot { identity, kept, finished: Vec::new() });
    let batch = Batch {
        jobs: snapshot.into_iter().collect(),
        roster: seen.into_iter().chain(gone).collect(),
    };
    store.commit(&batch).map(drop).map_err(|error| Failure::new(FATAL, error.to_string()))
}
