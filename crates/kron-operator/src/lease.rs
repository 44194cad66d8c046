//! Which replica leads: a Lease in the operator's own namespace.
//!
//! A crate exists for this, but it tells a process that it leads and later that it does
//! not; a request that changes anything has to know it at the moment it is sent, by a clock
//! that runs while the process is stopped. So the [`Fence`] has a time until which others
//! cannot have taken over, counted from before the renewal was asked for.

use crate::cluster::Fail;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kron_core::UtcInstant;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How long others wait after the last renewal.
const DURATION: Duration = Duration::from_secs(15);
/// How long a leader relies on a renewal.
const RELIED_ON: Duration = Duration::from_secs(10);
/// How often it is renewed, or looked at.
const EVERY: Duration = Duration::from_secs(2);
/// How long an attempt may take: one that hangs must leave time for others.
const ATTEMPT: Duration = Duration::from_secs(4);

/// From when to when somebody led.
pub type Term = (UtcInstant, UtcInstant);

/// Time since the machine was started, in which it may have slept: while it did, another
/// may have taken over.
fn uptime() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Until when this process may change anything.
#[derive(Debug)]
pub struct Fence {
    until: Mutex<Option<Duration>>,
    before: Mutex<Option<Term>>,
    /// Whether nobody else is there to lead.
    is_open: bool,
}

impl Fence {
    /// A fence that is closed until the lease is had.
    #[must_use]
    pub fn closed() -> Self {
        Self { until: Mutex::new(None), before: Mutex::new(None), is_open: false }
    }

    /// No fence: there is only one replica, or a test wants two leaders.
    #[must_use]
    pub fn open() -> Self {
        Self { until: Mutex::new(None), before: Mutex::new(None), is_open: true }
    }

    /// Whether nobody else can lead at this moment.
    #[must_use]
    pub fn holds(&self) -> bool {
        let until = *self.until.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_open || until.is_some_and(|until| uptime() < until)
    }

    /// Whether one of several replicas leads.
    #[must_use]
    pub fn is_elected(&self) -> bool {
        !self.is_open
    }

    /// When somebody led before, as far as the lease said when it was taken.
    #[must_use]
    pub fn before(&self) -> Option<Term> {
        *self.before.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn extend(&self, until: Option<Duration>) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }
}

/// The lease, and who wants it.
pub struct Candidate {
    api: Api<Lease>,
    name: String,
    identity: String,
    /// The lease as it was seen last, and when it was seen to change.
    seen: Option<(Lease, Duration)>,
    /// When somebody led before.
    before: Option<Term>,
    /// Whether this one has led.
    has_led: bool,
}

impl Candidate {
    /// Somebody of this identity, which no other replica has.
    #[must_use]
    pub fn new(client: Client, namespace: &str, name: &str, identity: &str) -> Self {
        let api = Api::namespaced(client, namespace);
        Self {
            api,
            name: name.into(),
            identity: identity.into(),
            seen: None,
            before: None,
            has_led: false,
        }
    }

    /// Waits until this replica leads. `say` hears what keeps it from asking.
    pub async fn acquire(&mut self, fence: &Fence, say: impl Fn(&Fail)) {
        loop {
            let asked = uptime();
            // There is nothing to lose yet.
            match timeout(RELIED_ON, self.ask()).await {
                Ok(Ok(true)) => {
                    *fence.before.lock().unwrap_or_else(PoisonError::into_inner) = self.before;
                    return fence.extend(Some(asked + RELIED_ON));
                }
                Ok(Ok(false)) => {}
                Ok(Err(fail)) => say(&fail),
                Err(_) => say(&Fail::Silent("no answer about the lease".into())),
            }
            sleep(EVERY).await;
        }
    }

    /// Keeps the lease; returns when it is lost.
    pub async fn keep(&mut self, fence: &Fence, say: impl Fn(&Fail)) {
        let mut pause = EVERY;
        while fence.holds() {
            sleep(pause).await;
            pause = EVERY;
            let asked = uptime();
            match timeout(ATTEMPT, self.ask()).await {
                Ok(Ok(true)) => fence.extend(Some(asked + RELIED_ON)),
                Ok(Ok(false)) => break,
                // It may succeed before the time is over.
                Ok(Err(fail)) => say(&fail),
                Err(_) => {
                    say(&Fail::Silent("no answer about the lease".into()));
                    pause = Duration::ZERO;
                }
            }
        }
        fence.extend(None);
    }

    /// Gives the lease back, so that another replica need not wait. `say` hears what keeps it
    /// from that.
    pub async fn give_back(&mut self, fence: &Fence, say: impl Fn(&Fail)) {
        fence.extend(None);
        let Some((mut lease, _)) = self.seen.take() else { return };
        if let Some(spec) = &mut lease.spec
            && spec.holder_identity.as_deref() == Some(&self.identity)
        {
            spec.holder_identity = Some(String::new());
            spec.lease_duration_seconds = Some(1);
            spec.renew_time = Some(MicroTime(Timestamp::now()));
            let parameters = PostParams::default();
            match timeout(EVERY, self.api.replace(&self.name, &parameters, &lease)).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => say(&error.into()),
                Err(_) => say(&Fail::Silent("no answer about the lease".into())),
            }
        }
    }

    /// Takes or renews the lease, unless it is another's.
    async fn ask(&mut self) -> Result<bool, Fail> {
        let current = self.api.get_opt(&self.name).await.map_err(Fail::from)?;
        let now = uptime();
        let Some(mut lease) = current else {
            let lease = self.claim(Lease::default(), 0);
            return match self.api.create(&PostParams::default(), &lease).await {
                Ok(lease) => Ok(self.has(lease, now)),
                Err(error) => match Fail::from(error) {
                    Fail::Exists => Ok(false),
                    fail => Err(fail),
                },
            };
        };
        let spec = lease.spec.clone().unwrap_or_default();
        let holder = spec.holder_identity.as_deref().unwrap_or_default();
        let is_ours = holder == self.identity;
        // Another's clock is not ours: a lease has run out when it has not changed for as
        // long as its holder promised to change it.
        let since = match &self.seen {
            Some((known, since))
                if known.metadata.resource_version == lease.metadata.resource_version =>
            {
                *since
            }
            _ => now,
        };
        let promised = spec.lease_duration_seconds.map_or(DURATION, |seconds| {
            Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
        });
        let has_run_out = now.saturating_sub(since) >= promised;
        if !is_ours && !holder.is_empty() && !has_run_out {
            self.seen = Some((lease, since));
            return Ok(false);
        }
        let transitions = spec.lease_transitions.unwrap_or_default() + i32::from(!is_ours);
        // One that ran before under this name was another process. But ours may also be the
        // answer that never came.
        if !self.has_led && (!is_ours || self.before.is_none()) {
            self.before = term(&spec);
        }
        if is_ours && self.has_led {
            let spec = lease.spec.get_or_insert_default();
            spec.renew_time = Some(MicroTime(Timestamp::now()));
        } else {
            lease = self.claim(lease, transitions);
        }
        match self.api.replace(&self.name, &PostParams::default(), &lease).await {
            Ok(lease) => Ok(self.has(lease, now)),
            Err(error) => match Fail::from(error) {
                // Somebody else was quicker. If it is ours, that was a request of our own that had
                // no answer: the next attempt shows it.
                Fail::Conflict if !(is_ours && self.has_led) => Ok(false),
                fail => Err(fail),
            },
        }
    }

    fn has(&mut self, lease: Lease, now: Duration) -> bool {
        self.seen = Some((lease, now));
        self.has_led = true;
        true
    }

    fn claim(&self, lease: Lease, transitions: i32) -> Lease {
        let now = MicroTime(Timestamp::now());
        let metadata = ObjectMeta { name: Some(self.name.clone()), ..lease.metadata };
        let spec = LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(DURATION.as_secs() as i32),
            acquire_time: Some(now.clone()),
            renew_time: Some(now),
            lease_transitions: Some(transitions),
            ..lease.spec.unwrap_or_default()
        };
        Lease { metadata, spec: Some(spec) }
    }
}

/// From when to when a lease was held, by the clocks of those who held it.
fn term(spec: &LeaseSpec) -> Option<Term> {
    let instant = |time: &MicroTime| {
        let nanos = u32::try_from(time.0.subsec_nanosecond()).ok()?;
        UtcInstant::new(time.0.as_second(), nanos).ok()
    };
    let renewed = instant(spec.renew_time.as_ref()?)?;
    let seconds = u64::try_from(spec.lease_duration_seconds?).ok()?;
    let to = renewed.saturating_add(Duration::from_secs(seconds));
    Some((instant(spec.acquire_time.as_ref()?)?, to))
}
