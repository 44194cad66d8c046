//! The loop: hears what changed, waits for what is due, and has each looked at.
//!
//! One task for each `KronJob` at a time. Everything that is due when the alarm rings is
//! judged by one time.

use crate::alarm::Alarm;
use crate::api::{KRONJOB_LABEL, KronJob};
use crate::desk::Key;
use crate::pulse::Pulse;
use crate::reconcile::{Context, check_template, reconcile};
use crate::tell::now;
use futures::StreamExt;
use k8s_openapi::api::batch::v1::Job;
use kron_core::line::{Level, Line};
use kron_core::{Attention, Lapse, UtcInstant};
use kube::Api;
use kube::api::{ApiResource, DynamicObject};
use kube::runtime::WatchStreamExt;
use kube::runtime::utils::{Backoff, ResetTimerBackoff};
use kube::runtime::watcher::{self, Event, watcher};
use std::fmt::Display;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// How long the loop sleeps at most: a clock that was set is told by the alarm, this is for
/// machines that slept.
const LONGEST: Duration = Duration::from_secs(60);

/// Runs until `stop` is ready. What it is at, `pulse` shows.
///
/// # Errors
/// When the system has no timer.
pub async fn run(
    context: Arc<Context>,
    namespace: Option<&str>,
    pulse: &Pulse,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let client = context.cluster.client();
    // Not the type itself: one object that it does not take would end the list of all.
    let kind = ApiResource::erase::<KronJob>(&());
    let (kronjobs, jobs): (Api<DynamicObject>, Api<Job>) = match namespace {
        Some(namespace) => (
            Api::namespaced_with(client.clone(), namespace, &kind),
            Api::namespaced(client, namespace),
        ),
        None => (Api::all_with(client.clone(), &kind), Api::all(client)),
    };
    let kronjobs = watcher(kronjobs, watcher::Config::default()).backoff(pauses());
    let jobs = watcher(jobs, watcher::Config::default().labels(KRONJOB_LABEL)).backoff(pauses());
    let (mut kronjobs, mut jobs) = (Box::pin(kronjobs), Box::pin(jobs));
    let (done, mut told) = unbounded_channel();
    let mut office = Office {
        context: Arc::clone(&context),
        done,
        running: 0,
        attention: Attention::begin(now()),
        has: (false, false),
    };
    let mut alarm = Alarm::new()?;
    let mut stop = std::pin::pin!(stop);
    loop {
        let is_synced = office.has == (true, true);
        pulse.turn(is_synced, Instant::now());
        let next = if is_synced { context.desk().next_wake() } else { None };
        let latest = now().saturating_add(LONGEST);
        let planned = next.map_or(latest, |next| next.min(latest));
        let before = alarm.at();
        if alarm.set(planned)? {
            office.rang(before.map_or(planned, |before| before.min(planned)));
            continue;
        }
        tokio::select! {
            biased;
            () = &mut stop => break,
            () = alarm.rang() => office.rang(planned),
            Some(told) = told.recv() => match told {
                Told::Finished(key) => office.finished(&key),
                Told::Refused(key) => office.look(&key, None),
            },
            Some(event) = kronjobs.next() => office.kronjob(event),
            Some(event) = jobs.next() => office.job(event),
        }
    }
    // Those at work are let finish, for as long as a request may take.
    let limit = tokio::time::Instant::now() + Duration::from_secs(10);
    while office.running > 0
        && let Ok(Some(told)) = tokio::time::timeout_at(limit, told.recv()).await
    {
        office.running -= usize::from(matches!(told, Told::Finished(_)));
    }
    Ok(())
}

/// Pauses between attempts to watch. What is due may have a deadline of seconds, and this is one
/// client: it does not wait for half a minute, as is usual for those of which there are many.
struct Pauses(Duration);

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

fn pauses() -> ResetTimerBackoff<Pauses> {
    ResetTimerBackoff::new(Pauses(FIRST_PAUSE), Duration::from_secs(60))
}

impl Iterator for Pauses {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let longer = (self.0 * 2).min(LONGEST_PAUSE);
        Some(std::mem::replace(&mut self.0, longer))
    }
}

impl Backoff for Pauses {
    fn reset(&mut self) {
        self.0 = FIRST_PAUSE;
    }
}

/// Whether there is no such kind of object.
fn is_unknown(error: &watcher::Error) -> bool {
    use watcher::Error::{InitialListFailed, WatchFailed, WatchStartFailed};
    let (InitialListFailed(error) | WatchStartFailed(error) | WatchFailed(error)) = error else {
        return false;
    };
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

/// What those who look at a `KronJob` tell.
enum Told {
    /// They are done.
    Finished(Key),
    /// The API server refuses its template.
    Refused(Key),
}

struct Office {
    context: Arc<Context>,
    done: UnboundedSender<Told>,
    running: usize,
    attention: Attention,
    /// Whether the first lists are complete.
    has: (bool, bool),
}

impl Office {
    fn kronjob(&mut self, event: Result<Event<DynamicObject>, watcher::Error>) {
        let context = Arc::clone(&self.context);
        let mut desk = context.desk();
        match event {
            Ok(Event::Init) => desk.list_begins(),
            Ok(Event::InitApply(kronjob) | Event::Apply(kronjob)) => {
                let (key, is_news) = desk.learn(kronjob, now());
                drop(desk);
                if is_news {
                    self.look(&key, None);
                }
            }
            Ok(Event::InitDone) => {
                let gone = desk.list_ends();
                drop(desk);
                for key in gone {
                    self.look(&key, None);
                }
                self.have(|has| has.0 = true);
            }
            Ok(Event::Delete(kronjob)) => {
                let (key, _) = desk.learn(kronjob, now());
                desk.forget(&key);
                drop(desk);
                self.look(&key, None);
            }
            Err(error) if is_unknown(&error) => self.complain(
                Level::Error,
                "watch KronJobs",
                &"the cluster has no KronJobs: `kron-operator crd | kubectl apply --server-side -f -` \
                  installs their definition",
            ),
            Err(error) => self.complain(Level::Warn, "watch KronJobs", &error),
        }
    }

    fn job(&mut self, event: Result<Event<Job>, watcher::Error>) {
        let is_complete = matches!(event, Ok(Event::InitDone));
        for key in self.job_changed(event) {
            self.look(&key, None);
        }
        if is_complete {
            self.have(|has| has.1 = true);
        }
    }

    /// The `KronJob`s that a Job's event is about.
    fn job_changed(&self, event: Result<Event<Job>, watcher::Error>) -> Vec<Key> {
        let mut desk = self.context.desk();
        let key = match event {
            Ok(Event::Init) => {
                desk.job_list_begins(now());
                None
            }
            Ok(Event::InitApply(job) | Event::Apply(job)) => desk.learn_job(&job),
            Ok(Event::InitDone) => return desk.job_list_ends(now()),
            Ok(Event::Delete(job)) => desk.forget_job(&job),
            Err(error) => {
                self.complain(Level::Warn, "watch Jobs", &error);
                None
            }
        };
        key.into_iter().collect()
    }

    /// When both first lists are complete, everything is looked at.
    fn have(&mut self, set: impl FnOnce(&mut (bool, bool))) {
        let before = self.has;
        set(&mut self.has);
        if before != self.has && self.has == (true, true) {
            self.attention = Attention::begin(now());
            let keys = self.context.desk().keys();
            let line = Line::new(Level::Info, "ready").with("jobs", keys.len());
            self.context.teller.log(&line.with("algorithm", kron_core::ALGORITHM));
            for key in keys {
                if let Some(entry) = self.context.desk().entry(&key) {
                    entry.since = Some(self.attention.since());
                    // Until all have been looked at, it may take a while.
                    entry.rang = entry.since;
                }
                self.look(&key, None);
            }
        }
    }

    /// The alarm rang, or the clock was set.
    fn rang(&mut self, planned: UtcInstant) {
        let now = now();
        let lapse = self.attention.wake(Some(planned), now);
        if let Some(lapse) = lapse {
            let (direction, by) = match lapse {
                Lapse::Backward(by) => ("backward", by),
                Lapse::Forward(by) => ("forward", by),
            };
            let line = Line::new(Level::Warn, "clock_jump")
                .with("direction", direction)
                .with("by", format!("{:.3}s", by.as_secs_f64()));
            self.context.teller.log(&line);
            let since = self.attention.since();
            let keys = self.context.desk().keys();
            for key in &keys {
                if let Some(entry) = self.context.desk().entry(key) {
                    entry.since = match lapse {
                        Lapse::Backward(_) => Some(since),
                        Lapse::Forward(_) => entry.since.max(Some(since)),
                    };
                }
            }
            if matches!(lapse, Lapse::Backward(_)) {
                for key in keys {
                    self.look(&key, None);
                }
            }
        }
        let due = self.context.desk().due(now);
        for key in due {
            self.look(&key, Some(now));
        }
    }

    /// Has it looked at, unless somebody is at it: then again afterwards.
    fn look(&mut self, key: &Key, fired: Option<UtcInstant>) {
        if self.has != (true, true) {
            return;
        }
        {
            let mut desk = self.context.desk();
            let Some(entry) = desk.entry(key) else { return };
            if entry.is_busy {
                entry.is_stale = true;
                entry.rang = entry.rang.or(fired);
                return;
            }
            entry.rang = fired.or(entry.rang);
            entry.is_busy = true;
            entry.is_stale = false;
        }
        self.running += 1;
        let (context, key, done) = (Arc::clone(&self.context), key.clone(), self.done.clone());
        tokio::spawn(async move {
            reconcile(&context, &key, fired.is_some()).await;
            let _ = done.send(Told::Finished(key.clone()));
            if check_template(&context, &key).await {
                let _ = done.send(Told::Refused(key));
            }
        });
    }

    fn finished(&mut self, key: &Key) {
        self.running -= 1;
        let mut desk = self.context.desk();
        let Some(entry) = desk.entry(key) else { return };
        entry.is_busy = false;
        let (is_stale, rang) = (std::mem::take(&mut entry.is_stale), entry.rang.take());
        desk.tidy(key);
        drop(desk);
        if is_stale {
            self.look(key, rang);
        }
    }

    fn complain(&self, level: Level, operation: &str, error: &dyn Display) {
        let line = Line::new(level, "error")
            .with("error_type", "SystemError")
            .with("operation", operation)
            .with("message", error);
        self.context.teller.log(&line);
    }
}
