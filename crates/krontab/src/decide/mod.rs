//! `krontab decide`: JSON lines in, decisions out.
//!
//! Whatever has come in is answered before more is waited for, so that
//! another program can talk to it line by line.

mod definition;
mod known;

use known::Known;
use kron_core::syntax::Spec;
use kron_core::{DefinitionErrors, Identity, Job, PeriodId, Zones};
use kron_term::failure::{FATAL, Failure, INVALID, plain};
use kron_term::terminal::unless_closed;
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;
use std::io::{self, Read, Write};

/// Longest line, in bytes.
const LINE: usize = 1 << 20;

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    identity: Cow<'a, str>,
    #[serde(borrow)]
    schedule: Cow<'a, str>,
    #[serde(borrow)]
    nominal: Cow<'a, str>,
}

pub fn decide() -> Result<u8, Failure> {
    let mut decider = Decider::new();
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut buffer: Vec<u8> = Vec::new();
    let mut answers = String::new();
    let mut block = vec![0; 1 << 16];
    loop {
        let length = match input.read(&mut block) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                return Err(Failure::new(INVALID, format!("standard input: {}", plain(&error))));
            }
        };
        buffer.extend_from_slice(&block[..length]);
        let mut from = 0;
        while let Some(end) = buffer[from..].iter().position(|&b| b == b'\n') {
            decider.answer(&buffer[from..from + end], &mut answers);
            from += end + 1;
        }
        buffer.drain(..from);
        if buffer.len() > LINE {
            decider.skip(&mut buffer, &mut answers);
        }
        if send(&mut output, &mut answers)? {
            return Ok(0);
        }
    }
    if !buffer.is_empty() {
        decider.answer(&buffer, &mut answers);
        send(&mut output, &mut answers)?;
    }
    Ok(0)
}

/// Writes what has been answered; whether the reader has gone away.
fn send(output: &mut impl Write, answers: &mut String) -> Result<bool, Failure> {
    let written = output.write_all(answers.as_bytes()).and_then(|()| output.flush());
    answers.clear();
    let closed = written.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::BrokenPipe);
    unless_closed(written)
        .map(|()| closed)
        .map_err(|error| Failure::new(FATAL, format!("standard output: {}", plain(&error))))
}

struct Decider {
    zones: Zones,
    known: Known,
    line: usize,
    /// Inside a line that is too long.
    skipping: bool,
}

impl Decider {
    fn new() -> Self {
        Self { zones: Zones::bundled(), known: Known::new(), line: 0, skipping: false }
    }

    /// Gives up on a line that does not end.
    fn skip(&mut self, buffer: &mut Vec<u8>, out: &mut String) {
        if !self.skipping {
            self.too_long(1, out);
        }
        self.skipping = true;
        buffer.clear();
    }

    fn too_long(&self, ahead: usize, out: &mut String) {
        self.refuse(&json!({ "error": format!("line is longer than {LINE} bytes") }), ahead, out);
    }

    fn answer(&mut self, line: &[u8], out: &mut String) {
        self.line += 1;
        if line.len() > LINE {
            return self.too_long(0, out);
        }
        if std::mem::take(&mut self.skipping) || line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        if let Err(error) = self.decide(line, out) {
            self.refuse(&error, 0, out);
        }
    }

    fn refuse(&self, error: &serde_json::Value, ahead: usize, out: &mut String) {
        let mut error = error.clone();
        error["line"] = (self.line + ahead).into();
        out.push_str(&error.to_string());
        out.push('\n');
    }

    fn decide(&mut self, line: &[u8], out: &mut String) -> Result<(), serde_json::Value> {
        let request: Request<'_> = serde_json::from_slice(line).map_err(|error| {
            let text = error.to_string();
            let text = text.split(" at line ").next().unwrap_or(&text).to_string();
            json!({ "error": format!("not a request: {text}") })
        })?;
        let period: PeriodId = request.nominal.parse().map_err(
            |error| json!({ "error": format!("nominal: {error}"), "nominal": request.nominal }),
        )?;
        let identity = Identity::new(&request.identity)
            .map_err(|error| json!({ "error": format!("identity: {error}") }))?;
        if let Some(known) = self.known.get(&request.schedule) {
            known.answer(identity, period, self.zones.version(), out);
            return Ok(());
        }
        let job = Spec::parse(&request.schedule)
            .and_then(|spec| Job::new(identity, spec, &mut self.zones))
            .map_err(|_| self.mistakes(&request))?;
        definition::answer_once(&job.decide(period), self.zones.version(), out);
        self.known.offer(&request.schedule, job);
        Ok(())
    }
}

impl Decider {
    /// Everything wrong with a request's definition, its zone included.
    fn mistakes(&mut self, request: &Request<'_>) -> serde_json::Value {
        match Job::parse(&request.identity, &request.schedule, &mut self.zones) {
            Err(errors) => definition(&errors),
            // It has just failed; the same text cannot be right now.
            Ok(_) => json!({ "error": "the schedule could not be read" }),
        }
    }
}

/// What is wrong with a schedule, the first mistake first.
fn definition(errors: &DefinitionErrors) -> serde_json::Value {
    let all: Vec<_> = errors
        .as_slice()
        .iter()
        .map(|error| {
            json!({
                "category": error.category().as_str(),
                "code": error.code().as_str(),
                "start": error.span().start,
                "end": error.span().end,
                "message": error.to_string(),
                "expected": error.expected(),
                "hint": error.suggestion(),
            })
        })
        .collect();
    json!({ "error": errors.to_string(), "errors": all })
}
