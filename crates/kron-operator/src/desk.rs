//! What is known of every `KronJob` and its Jobs, and when each is to be looked at next.
//!
//! Watches tell it what changed, [`reconcile`](crate::reconcile) what it has done. It holds
//! no copy of a Job but a [`Fact`], and no copy of a template but its text.

use crate::api::{Heard, KronJobSpec, KronJobStatus};
use crate::book::Book;
use crate::convert::{self, Invalid};
use crate::facts::{self, Fact};
use crate::obstacle::{Obstacle, before_expiry};
use crate::plan::{Remark, Replacing};
use crate::trial::Trial;
use k8s_openapi::api::batch::v1::Job as KubeJob;
use kron_core::{Job, UtcInstant, UtcSecond, Zones};
use kube::ResourceExt;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// A list that is older than a Job of ours cannot tell that it is gone.
const FRESH: Duration = Duration::from_secs(60);

/// For so long after a list of all Jobs nobody asks for some of them again.
const JUST_LISTED: Duration = Duration::from_secs(3);

/// So many writes without an answer are remembered of a `KronJob`.
const UNTOLD: usize = 2;

/// Limits where nobody knows any.
const KEEP_ALL: (u32, u32) = (u32::MAX, u32::MAX);

/// Makes a definition of a spec.
type Read<'a> = &'a mut dyn FnMut(&str, &str, &KronJobSpec) -> Result<Job, Invalid>;

/// Namespace and name.
pub type Key = (Arc<str>, Arc<str>);

/// A `KronJob`, without its template's tree.
#[derive(Clone, Debug)]
pub struct Held {
    /// Which object.
    pub uid: String,
    /// Its version.
    pub version: String,
    /// Generation of its spec.
    pub generation: i64,
    /// When it was created.
    pub created: Option<UtcInstant>,
    /// Whether it is being deleted.
    pub is_going: bool,
    /// Its definition, or what is wrong with it.
    pub job: Arc<Result<Job, Invalid>>,
    /// The template, as text.
    pub template: Arc<str>,
    /// How many finished Jobs are kept.
    pub limits: (u32, u32),
    /// Its status.
    pub status: KronJobStatus,
    /// Why that could not be read, if so; it is empty then.
    pub unreadable: Option<String>,
}

impl Held {
    fn new((namespace, name): &Key, heard: Heard, known: Option<&Self>, read: Read<'_>) -> Self {
        let Heard { metadata, spec, status } = heard;
        let uid = metadata.uid.unwrap_or_default();
        let generation = metadata.generation.unwrap_or_default();
        let known = known.filter(|known| known.uid == uid && known.generation == generation);
        let (job, template) = match (known, &spec) {
            (Some(known), _) => (Arc::clone(&known.job), Arc::clone(&known.template)),
            (None, Ok(spec)) => {
                (Arc::new(read(namespace, name, spec)), spec.job_template.to_string().into())
            }
            (None, Err(why)) => (Arc::new(Err(Invalid::unreadable(why))), "".into()),
        };
        let (status, unreadable) = match status {
            Ok(status) => (status, None),
            Err(why) => (KronJobStatus::default(), Some(why)),
        };
        Self {
            uid,
            version: metadata.resource_version.unwrap_or_default(),
            generation,
            created: metadata.creation_timestamp.as_ref().and_then(facts::instant),
            is_going: metadata.deletion_timestamp.is_some(),
            job,
            template,
            limits: spec.map_or(KEEP_ALL, |spec| limits(&spec)),
            status,
            unreadable,
        }
    }

    /// The template as a tree.
    #[must_use]
    pub fn template(&self) -> Value {
        serde_json::from_str(&self.template).unwrap_or_default()
    }

    /// Which object, with which spec.
    #[must_use]
    pub fn edition(&self) -> (String, i64) {
        (self.uid.clone(), self.generation)
    }

    /// Whether this is older than another version of the same object. Versions are numbers
    /// that grow; should they ever not be, neither is older.
    fn is_older(&self, other: &Self) -> bool {
        let number = |held: &Self| held.version.parse::<u64>().ok();
        self.uid == other.uid
            && matches!((number(self), number(other)), (Some(a), Some(b)) if a < b)
    }
}

/// What is known of one `KronJob`.
#[derive(Debug, Default)]
pub struct Entry {
    /// The object; `None` if only Jobs of it are left.
    pub held: Option<Held>,
    /// Its Jobs, those of an earlier object of the same name included.
    pub jobs: BTreeMap<String, Fact>,
    /// Since when somebody has looked at it without a break.
    pub since: Option<UtcInstant>,
    /// What keeps periods from being started.
    pub obstacles: Vec<Obstacle>,
    /// Periods that wait until others are ended.
    pub replacing: Vec<Replacing>,
    /// Why those could not be ended.
    pub unended: Option<String>,
    /// What was told of those that do not end.
    pub stuck: Option<String>,
    /// Until when it was told to be idle.
    pub idle: Option<UtcInstant>,
    /// What the API server says of the template.
    pub template: Option<Trial>,
    /// Why its status was lost, until a period has an outcome again.
    pub lost: Option<String>,
    /// What is to be told if a write was heard that had no answer; of several with the same
    /// base at most one was.
    pub untold: Vec<Untold>,
    /// Whether one of its Jobs is remembered that the last list did not have.
    pub has_ghost: bool,
    /// Jobs that were heard of since they were asked for.
    heard: Option<BTreeSet<String>>,
    /// When its alarm rang, until somebody is at it. An edit makes it nothing.
    pub rang: Option<UtcInstant>,
    /// The generation whose template the API server is being asked about.
    pub checking: Option<i64>,
    /// Failures in a row.
    pub failures: u32,
    /// Whether somebody is at it.
    pub is_busy: bool,
    /// Whether something has happened since.
    pub is_stale: bool,
    wake: Option<UtcInstant>,
}

/// What a status was to become, by a write that had no answer.
#[derive(Debug)]
pub struct Untold {
    /// The object that it was based on.
    pub uid: String,
    /// Its version.
    pub version: String,
    /// Its generation.
    pub generation: i64,
    /// The book as it was written.
    pub book: Book,
    /// What there is to tell of it.
    pub remarks: Vec<Remark>,
}

impl Untold {
    /// Whether it was heard, once that can be known.
    fn was_heard(&self, held: &Held, book: &Book) -> bool {
        self.uid == held.uid && self.book == *book
    }
}

/// Makes a definition of the spec of a `KronJob`, by its namespace and name.
pub type Reader = fn(&str, &str, &KronJobSpec, &mut Zones) -> Result<Job, Invalid>;

/// Everything that is known.
pub struct Desk {
    reader: Reader,
    entries: BTreeMap<Key, Entry>,
    alarms: BTreeSet<(UtcInstant, Key)>,
    zones: Option<Zones>,
    /// Keys seen since a list began.
    listed: Option<BTreeSet<Key>>,
    listed_jobs: Option<(BTreeSet<(Key, String)>, UtcInstant)>,
    /// When the last list began that is complete.
    listed_at: Option<UtcInstant>,
    /// Whether the API server drops parts of what is written.
    is_pruned: bool,
}

impl Default for Desk {
    fn default() -> Self {
        Self::reading(convert::job)
    }
}

impl Desk {
    /// A desk whose specs this reads; a test may put somebody else there.
    #[must_use]
    pub fn reading(reader: Reader) -> Self {
        Self {
            reader,
            entries: BTreeMap::new(),
            alarms: BTreeSet::new(),
            zones: None,
            listed: None,
            listed_jobs: None,
            listed_at: None,
            is_pruned: false,
        }
    }

    /// What is known of this one.
    pub fn entry(&mut self, key: &Key) -> Option<&mut Entry> {
        self.entries.get_mut(key)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.values().filter(|entry| entry.held.is_some()).count()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many Jobs are active.
    #[must_use]
    pub fn active(&self) -> usize {
        self.entries
            .values()
            .flat_map(|entry| entry.jobs.values())
            .filter(|f| f.is_active())
            .count()
    }

    /// All of them.
    #[must_use]
    pub fn keys(&self) -> Vec<Key> {
        self.entries.keys().cloned().collect()
    }

    /// A list of `KronJob`s begins.
    pub fn list_begins(&mut self) {
        self.listed = Some(BTreeSet::new());
    }

    /// A list of `KronJob`s is complete: what was not in it is gone.
    pub fn list_ends(&mut self) -> Vec<Key> {
        let Some(listed) = self.listed.take() else { return Vec::new() };
        let gone = |(key, entry): (&Key, &Entry)| {
            (entry.held.is_some() && !listed.contains(key)).then(|| key.clone())
        };
        let gone: Vec<Key> = self.entries.iter().filter_map(gone).collect();
        for key in &gone {
            self.forget(key);
        }
        gone
    }

    /// A `KronJob` as it is, or was; whether that is news.
    pub fn learn(&mut self, kronjob: impl Into<Heard>, now: UtcInstant) -> (Key, bool) {
        let heard: Heard = kronjob.into();
        let Heard { metadata, .. } = &heard;
        let name = metadata.name.clone().unwrap_or_default();
        let key = key(metadata.namespace.clone().unwrap_or_default(), name);
        if let Some(listed) = &mut self.listed {
            listed.insert(key.clone());
        }
        let (zones, reader) = (&mut self.zones, self.reader);
        let mut read = |namespace: &str, name: &str, spec: &KronJobSpec| {
            let zones_now = zones.get_or_insert_with(Zones::bundled);
            // One that breaks this is wrong; the others are not.
            let read = || reader(namespace, name, spec, zones_now);
            catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| {
                *zones = None;
                Err(Invalid::unreadable("an internal error; please report it"))
            })
        };
        let entry = self.entries.entry(key.clone()).or_default();
        let held = Held::new(&key, heard, entry.held.as_ref(), &mut read);
        let is_news = match &entry.held {
            Some(known) if held.is_older(known) || held.version == known.version => {
                return (key, false);
            }
            Some(known) => {
                let is_refused = entry.template.as_ref().is_some_and(|trial| {
                    trial.generation == known.generation && trial.is_invalid()
                });
                let is_another = known.uid != held.uid;
                if (rests(known) || is_refused) && !rests(&held) || is_another {
                    (entry.since, entry.rang) = (Some(now), None);
                }
                if is_another {
                    entry.obstacles.clear();
                    entry.template = Trial::before(held.generation, &held.status);
                    (entry.checking, entry.lost, entry.idle) = (None, None, None);
                }
                if is_another || known.generation != held.generation {
                    // What is under way is not stopped by an edit.
                    entry.obstacles.retain(|obstacle| obstacle.lands_until > Some(now));
                    for obstacle in &mut entry.obstacles {
                        (obstacle.attempts, obstacle.retry_at) = (0, now);
                    }
                    entry.replacing.clear();
                    entry.unended = None;
                    entry.failures = 0;
                    // Nothing is judged by a time before it.
                    entry.rang = None;
                }
                // Nobody but this program writes a status, and it knows what it wrote.
                known.uid != held.uid
                    || known.generation != held.generation
                    || known.is_going != held.is_going
                    || known.status != held.status
                    || known.unreadable != held.unreadable
            }
            None => {
                entry.since = entry.since.or(Some(now));
                entry.template = Trial::before(held.generation, &held.status);
                true
            }
        };
        entry.held = Some(held);
        (key, is_news)
    }

    /// What the API server says of a template; whether that changes anything.
    pub fn tried(&mut self, key: &Key, uid: &str, trial: Trial, now: UtcInstant) -> bool {
        let Some(entry) = self.entries.get_mut(key) else { return false };
        let is_current = |held: &Held| held.uid == uid && held.generation == trial.generation;
        if !entry.held.as_ref().is_some_and(is_current) {
            return false;
        }
        entry.checking = None;
        // What was not judged meanwhile was not attended.
        let was_invalid = entry.template.as_ref().is_some_and(Trial::is_invalid);
        if was_invalid && !trial.is_invalid() {
            (entry.since, entry.rang) = (Some(now), None);
        }
        let is_news = match &entry.template {
            Some(known) => (&known.tried, known.again_at) != (&trial.tried, trial.again_at),
            None => trial.again_at.is_some() || trial.is_invalid(),
        };
        entry.template = Some(trial);
        is_news
    }

    /// A `KronJob` is gone.
    pub fn forget(&mut self, key: &Key) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        entry.held = None;
        entry.obstacles.clear();
        entry.replacing.clear();
        (entry.unended, entry.stuck, entry.lost) = (None, None, None);
        entry.idle = None;
        entry.untold.clear();
        self.tidy(key);
    }

    /// Keeps what is to be told of a write that had no answer. Each is kept once, and few are:
    /// there may be no answer for days.
    pub fn keep_untold(&mut self, key: &Key, untold: Untold) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        let is_same = |known: &Untold| known.version == untold.version && known.book == untold.book;
        if entry.untold.len() < UNTOLD && !entry.untold.iter().any(is_same) {
            entry.untold.push(untold);
        }
    }

    /// What is to be told of a write that had no answer, now that the object is another and
    /// its book is this. If it is another book, the write was not heard and never will be.
    pub fn heard_of(&mut self, key: &Key, held: &Held, book: &Book) -> Option<Untold> {
        let entry = self.entries.get_mut(key)?;
        let known = entry.untold.extract_if(.., |untold| untold.version != held.version);
        known.filter(|untold| untold.was_heard(held, book)).last()
    }

    /// Drops an entry of which nothing is left.
    pub fn tidy(&mut self, key: &Key) {
        let Some(entry) = self.entries.get(key) else { return };
        if entry.held.is_none() && entry.jobs.is_empty() && !entry.is_busy {
            self.wake_at(key, None);
            self.entries.remove(key);
        }
    }

    /// A list of Jobs begins.
    pub fn job_list_begins(&mut self, now: UtcInstant) {
        self.listed_jobs = Some((BTreeSet::new(), now));
    }

    /// A list of Jobs is complete: what was not in it is gone, unless it is so new that the
    /// list may have begun before.
    pub fn job_list_ends(&mut self, now: UtcInstant) -> Vec<Key> {
        let Some((listed, begun)) = self.listed_jobs.take() else { return Vec::new() };
        self.listed_at = Some(begun);
        let mut changed = Vec::new();
        for (key, entry) in &mut self.entries {
            let before = entry.jobs.len();
            entry.jobs.retain(|name, fact| {
                let is_fresh = now.since(fact.created).is_none_or(|age| age < FRESH);
                let is_listed = listed.contains(&(key.clone(), name.clone()));
                entry.has_ghost |= is_fresh && !is_listed;
                is_fresh || is_listed
            });
            if entry.jobs.len() < before {
                changed.push(key.clone());
            }
        }
        changed
    }

    /// Whether all of its Jobs have been listed just now.
    #[must_use]
    pub fn is_live(&self, key: &Key, now: UtcInstant) -> bool {
        let age = self.listed_at.and_then(|at| now.since(at));
        let is_certain = self.entries.get(key).is_some_and(|entry| !entry.has_ghost);
        is_certain && age.is_some_and(|age| age < JUST_LISTED)
    }

    /// Whether it is this very object.
    #[must_use]
    pub fn is_of(&self, key: &Key, uid: &str) -> bool {
        let held = self.entries.get(key).and_then(|entry| entry.held.as_ref());
        held.is_some_and(|held| held.uid == uid)
    }

    /// This status was written, and that is the `KronJob` now. What the API server dropped of it,
    /// because its definition is older than this program, counts as written: it would be dropped
    /// again. Whether that is seen for the first time.
    pub fn learn_written(
        &mut self,
        mut written: Heard,
        status: KronJobStatus,
        now: UtcInstant,
    ) -> bool {
        let is_pruned = written.status.as_ref() != Ok(&status);
        let version = written.metadata.resource_version.clone();
        written.status = Ok(status.clone());
        let (key, _) = self.learn(written, now);
        let held = self.entries.get_mut(&key).and_then(|entry| entry.held.as_mut());
        // A write that changed nothing is no news, but that it was made is.
        if let Some(held) = held.filter(|held| Some(&held.version) == version.as_ref()) {
            held.status = status;
        }
        is_pruned && !std::mem::replace(&mut self.is_pruned, true)
    }

    /// A Job as it is.
    pub fn learn_job(&mut self, job: &KubeJob) -> Option<Key> {
        let key = key(job.namespace()?, facts::kronjob_of(job)?.to_string());
        let Some(fact) = Fact::of(job) else {
            // It may have been ours.
            let known = self.entries.get(&key)?.jobs.get(&job.name_any())?;
            return if Some(&known.uid) == job.metadata.uid.as_ref() {
                self.forget_job(job)
            } else {
                None
            };
        };
        if let Some((listed, _)) = &mut self.listed_jobs {
            listed.insert((key.clone(), fact.name.clone()));
        }
        let entry = self.entries.entry(key.clone()).or_default();
        if let Some(heard) = &mut entry.heard {
            heard.insert(fact.uid.clone());
        }
        if entry.jobs.get(&fact.name).is_some_and(|known| *known == fact || is_behind(&fact, known))
        {
            return None;
        }
        entry.jobs.insert(fact.name.clone(), fact);
        Some(key)
    }

    /// A Job is gone.
    pub fn forget_job(&mut self, job: &KubeJob) -> Option<Key> {
        let key = key(job.namespace()?, facts::kronjob_of(job)?.to_string());
        let entry = self.entries.get_mut(&key)?;
        let uid = job.metadata.uid.as_deref().unwrap_or_default();
        if let Some(heard) = &mut entry.heard {
            heard.insert(uid.into());
        }
        if entry.jobs.get(&job.name_any()).is_some_and(|known| known.uid == uid) {
            entry.jobs.remove(&job.name_any());
        }
        Some(key)
    }

    /// Whether the Jobs of a `KronJob` are being asked for.
    pub fn ask_jobs(&mut self, key: &Key, is_asking: bool) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.heard = is_asking.then(BTreeSet::new);
        }
    }

    /// The Jobs of a `KronJob` are these; but what was heard since they were asked for may be
    /// newer.
    pub fn learn_jobs(&mut self, key: &Key, jobs: &[KubeJob]) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        let heard = entry.heard.take().unwrap_or_default();
        let known = std::mem::take(&mut entry.jobs);
        for fact in jobs.iter().filter_map(Fact::of) {
            let fact = match known.get(&fact.name).filter(|known| known.uid == fact.uid) {
                Some(known) if is_behind(&fact, known) => known.clone(),
                None if heard.contains(&fact.uid) => continue,
                _ => fact,
            };
            entry.jobs.insert(fact.name.clone(), fact);
        }
        entry.has_ghost = false;
        for (name, fact) in known {
            if heard.contains(&fact.uid) && !entry.jobs.contains_key(&name) {
                entry.jobs.insert(name, fact);
                entry.has_ghost = true;
            }
        }
    }

    /// When to look at it next.
    pub fn wake_at(&mut self, key: &Key, at: Option<UtcInstant>) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        if let Some(before) = std::mem::replace(&mut entry.wake, at) {
            self.alarms.remove(&(before, key.clone()));
        }
        self.alarms.extend(at.map(|at| (at, key.clone())));
    }

    /// Has it looked at by then; earlier, if its next period is due before, or the deadline of
    /// one that is due comes near.
    pub fn wake_by(&mut self, key: &Key, at: UtcInstant, now: UtcInstant) {
        let held = self.entries.get(key).and_then(|entry| entry.held.as_ref());
        let claims = held.map(|held| claims(held, now)).unwrap_or_default();
        self.wake_at(key, claims.into_iter().chain([at]).min());
    }

    /// When something is to be looked at next.
    #[must_use]
    pub fn next_wake(&self) -> Option<UtcInstant> {
        self.alarms.first().map(|(at, _)| *at)
    }

    /// What is to be looked at now.
    pub fn due(&mut self, now: UtcInstant) -> Vec<Key> {
        let mut due = Vec::new();
        while let Some((at, _)) = self.alarms.first()
            && *at <= now
            && let Some((_, key)) = self.alarms.pop_first()
        {
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.wake = None;
            }
            due.push(key);
        }
        due
    }
}

/// When what is claimed asks for another look: at its second, or before it is too late.
fn claims(held: &Held, now: UtcInstant) -> Vec<UtcInstant> {
    let KronJobStatus { next_period, pending, .. } = &held.status;
    let chosen = next_period
        .iter()
        .chain(pending)
        .filter_map(|claim| claim.chosen_time.as_ref()?.parse::<UtcSecond>().ok());
    let asks = |chosen: UtcSecond| {
        if chosen.instant() > now {
            return Some(chosen.instant());
        }
        let expiry = held.job.as_ref().as_ref().ok()?.policy().expiry(chosen);
        (expiry > now).then(|| before_expiry(expiry, now))
    };
    chosen.filter_map(asks).collect()
}

fn limits(spec: &KronJobSpec) -> (u32, u32) {
    (spec.successful_jobs_history_limit, spec.failed_jobs_history_limit)
}

/// The key of these.
#[must_use]
pub fn key(namespace: String, name: String) -> Key {
    (namespace.into(), name.into())
}

/// Whether nothing of it is judged: it is suspended, or invalid.
fn rests(held: &Held) -> bool {
    held.job.as_ref().as_ref().map_or(true, |job| job.policy().suspend)
}

/// Whether a Job was told of as it was before: nothing that has finished, been deleted or
/// been let go of is ever not so again.
fn is_behind(fact: &Fact, known: &Fact) -> bool {
    fact.uid == known.uid
        && ((!known.is_active() && fact.is_active())
            || (known.is_going && !fact.is_going)
            || (!known.is_held && fact.is_held))
}
