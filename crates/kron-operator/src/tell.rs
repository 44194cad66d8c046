//! Telling what happened: log lines as krond writes them, and Events in the cluster
//! (OPR-07, OBS). The only place that writes either.

use crate::cluster::{Cluster, Fail};
use crate::desk::Key;
use crate::meter::Meter;
use clap::ValueEnum;
use kron_core::line::{Level, Line};
use kron_core::{UtcInstant, UtcSecond};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// Who says all this.
pub const COMPONENT: &str = "kron-operator";
/// The same Event is not written again for so long.
const REPEAT: Duration = Duration::from_secs(600);
/// How often old ones are forgotten.
const TIDY: Duration = Duration::from_secs(60);
/// Events that wait to be written; more are dropped, the log has them.
const WAITING: usize = 10_000;
/// Pauses between attempts to write one: all others wait that long, too.
const AGAIN: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(1)];
/// How long what waits may take at the end.
const FINISH: Duration = Duration::from_secs(2);
/// Lines about the same operation that is nobody's in particular are written no more often.
const SELDOM: Duration = Duration::from_secs(60);
/// Longest note of an Event that the API server takes.
const LONGEST: usize = 1024;

/// How lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Pairs, one event a line
    #[default]
    Text,
    /// An object a line, with the same keys
    Json,
}

/// An Event about a `KronJob`.
#[derive(Clone, Debug)]
pub struct Note {
    /// Which one.
    pub key: Key,
    /// Which object.
    pub uid: String,
    /// Whether somebody should look at it.
    pub is_warning: bool,
    /// What happened, in one word.
    pub reason: &'static str,
    /// What happened.
    pub note: String,
    /// The Job that it is about.
    pub job: Option<String>,
}

/// Writes lines, and hands Events to somebody who writes them when there is time.
pub struct Teller {
    voice: Arc<Voice>,
    notes: UnboundedSender<Note>,
    /// Events that wait, and one that is being written.
    waiting: Arc<AtomicUsize>,
    told: Arc<Mutex<Told>>,
}

/// Writes lines.
struct Voice {
    format: LogFormat,
    level: Level,
    meter: Arc<Meter>,
    /// When a line about an operation was written last, and how many were not since.
    seldom: Mutex<BTreeMap<&'static str, (Instant, u32)>>,
}

impl Voice {
    fn log(&self, line: &Line) {
        if line.level >= self.level {
            log(self.format, line);
        }
    }

    /// Writes a line about an operation that failed, unless there was one a short while ago.
    fn warn(&self, key: &Key, operation: &'static str, fields: &[(&'static str, &dyn Display)]) {
        let mut seldom = self.seldom.lock().unwrap_or_else(PoisonError::into_inner);
        let known = seldom.get_mut(operation);
        let held_back = match known {
            Some((at, held_back)) if at.elapsed() < SELDOM => {
                *held_back += 1;
                return;
            }
            known => known.map_or(0, |(_, held_back)| *held_back),
        };
        seldom.insert(operation, (Instant::now(), 0));
        drop(seldom);
        let (namespace, name) = key;
        let mut line = Line::new(Level::Warn, "error")
            .with("identity", format!("{namespace}/{name}"))
            .with("job", name)
            .with("error_type", "SystemError")
            .with("operation", operation);
        for (key, value) in fields {
            line = line.with(key, value);
        }
        self.log(&line.with_some("held_back", (held_back > 0).then_some(held_back)));
    }

    /// An Event is in the log alone.
    fn lost(&self, note: &Note, why: &dyn Display) {
        self.meter.lost_event();
        self.warn(&note.key, "write an Event", &[("reason", &note.reason), ("message", why)]);
    }
}

/// What was told when, and when what is old was forgotten last.
#[derive(Default)]
struct Told {
    notes: HashMap<(String, &'static str, String), Instant>,
    tidied: Option<Instant>,
}

impl Told {
    /// Takes down that something is told now; whether it was a short while ago.
    fn has(&mut self, note: &Note) -> bool {
        // Each is looked at once in a while, not for every note.
        if self.tidied.is_none_or(|at| at.elapsed() > TIDY) {
            self.notes.retain(|_, at| at.elapsed() < REPEAT);
            self.tidied = Some(Instant::now());
        }
        let known = self.notes.get(&subject(note)).is_some_and(|at| at.elapsed() < REPEAT);
        if !known {
            self.notes.insert(subject(note), Instant::now());
        }
        known
    }

    /// It was not told after all.
    fn forget(&mut self, note: &Note) {
        self.notes.remove(&subject(note));
    }
}

/// The same of another object of that name is something else.
fn subject(note: &Note) -> (String, &'static str, String) {
    (note.uid.clone(), note.reason, note.note.clone())
}

impl Teller {
    /// A teller, and the task that writes Events.
    pub fn new(
        format: LogFormat,
        level: Level,
        cluster: Cluster,
        instance: String,
        meter: Arc<Meter>,
        quiet: impl AsyncFn() + Send + Sync + 'static,
    ) -> (Self, impl Future<Output = ()>) {
        let (notes, mut receiver) = unbounded_channel::<Note>();
        let waiting = Arc::new(AtomicUsize::new(0));
        let told: Arc<Mutex<Told>> = Arc::default();
        let voice = Arc::new(Voice { format, level, meter, seldom: Mutex::default() });
        let (left, untold, ours) = (Arc::clone(&waiting), Arc::clone(&told), Arc::clone(&voice));
        let work = async move {
            while let Some(note) = receiver.recv().await {
                quiet().await;
                if let Err(fail) = write(&cluster, &note, &instance).await {
                    // It is in the log; and when it happens again, it is tried again.
                    untold.lock().unwrap_or_else(PoisonError::into_inner).forget(&note);
                    if fail != Fail::Deposed {
                        ours.lost(&note, &fail);
                    }
                }
                left.fetch_sub(1, Ordering::Relaxed);
            }
        };
        (Self { voice, notes, waiting, told }, work)
    }

    /// Waits until all Events are written, but not for long.
    pub async fn finish(&self) {
        let limit = Instant::now() + FINISH;
        while self.waiting.load(Ordering::Relaxed) > 0 && Instant::now() < limit {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Writes a line.
    pub fn log(&self, line: &Line) {
        self.voice.log(line);
    }

    /// Writes a line about an operation that failed, unless there was one a short while ago.
    pub fn warn(
        &self,
        key: &Key,
        operation: &'static str,
        fields: &[(&'static str, &dyn Display)],
    ) {
        self.voice.warn(key, operation, fields);
    }

    /// Has an Event written, unless the same was a short while ago.
    pub fn note(&self, note: Note) {
        if self.told.lock().unwrap_or_else(PoisonError::into_inner).has(&note) {
            return;
        }
        if self.waiting.fetch_add(1, Ordering::Relaxed) > WAITING {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            self.told.lock().unwrap_or_else(PoisonError::into_inner).forget(&note);
            self.voice.lost(&note, &"too many others wait");
            return;
        }
        let _ = self.notes.send(note);
    }
}

/// Writes an Event, if need be in several attempts.
async fn write(cluster: &Cluster, note: &Note, instance: &str) -> Result<(), Fail> {
    let event = event(note, instance);
    let mut pauses = AGAIN.into_iter();
    loop {
        match (cluster.tell(&note.key.0, &event).await, pauses.next()) {
            // One that had no answer was heard.
            (Ok(()) | Err(Fail::Exists), _) => return Ok(()),
            (Err(Fail::Silent(_)), Some(pause)) => tokio::time::sleep(pause).await,
            (Err(fail), _) => return Err(fail),
        }
    }
}

/// Writes a line.
pub fn log(format: LogFormat, line: &Line) {
    let mut text = String::with_capacity(256);
    match format {
        LogFormat::Text => line.push_text(&mut text, now(), COMPONENT),
        LogFormat::Json => line.push_json(&mut text, now(), COMPONENT),
    }
    // Whoever does not read the log does not stop what it is about.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// The time.
#[must_use]
pub fn now() -> UtcInstant {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    UtcInstant::new(time.tv_sec, time.tv_nsec as u32).unwrap_or(UtcInstant::MIN)
}

/// As much of a text as fits into so many bytes.
pub(crate) fn cut(text: &str, longest: usize) -> &str {
    let end = (0..=longest.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

fn event(note: &Note, instance: &str) -> Value {
    let at = now();
    let text = cut(&note.note, LONGEST);
    let (namespace, name) = (&*note.key.0, &*note.key.1);
    let nanos = i128::from(at.unix_seconds()) * 1_000_000_000 + i128::from(at.subsec_nanos());
    let related = note.job.as_ref().map(|job| {
        json!({ "apiVersion": "batch/v1", "kind": "Job", "namespace": namespace, "name": job })
    });
    json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": { "namespace": namespace, "name": format!("{name}.{nanos:x}") },
        "eventTime": micros(at),
        "reportingController": "kron.io/kron-operator",
        "reportingInstance": instance,
        "action": "Schedule",
        "reason": note.reason,
        "note": text,
        "type": if note.is_warning { "Warning" } else { "Normal" },
        "regarding": {
            "apiVersion": "kron.io/v1alpha1",
            "kind": "KronJob",
            "namespace": namespace,
            "name": name,
            "uid": note.uid,
        },
        "related": related,
    })
}

/// A time with six digits, as Events have it.
fn micros(at: UtcInstant) -> String {
    let second: UtcSecond = at.floor();
    let text = second.to_string();
    format!("{}.{:06}Z", text.trim_end_matches('Z'), at.subsec_nanos() / 1000)
}
