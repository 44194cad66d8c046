//! The API server: every request that this program makes, but for watching.
//!
//! Nothing is decided here. A request that changes anything is sent only while this
//! process leads ([`Fence`]), which is looked at last of all; and it is given up after
//! `PATIENCE`. That is less than Jobs are held ([`HOLD`](crate::upkeep::HOLD)), also if what
//! was seen before is as old as it may be ([`PROMPT`](crate::plan::PROMPT)): so no request to
//! create one arrives when its name could be free again.

use crate::api::{Heard, KRONJOB_LABEL, KronJobStatus};
use crate::lease::Fence;
use http::Request as HttpRequest;
use k8s_openapi::api::batch::v1::Job;
use kron_core::UtcInstant;
use kube::api::{
    DeleteParams, DynamicObject, GetParams, ListParams, ObjectList, Patch, PatchParams, PostParams,
    Preconditions, PropagationPolicy,
};
use kube::core::{Request, Status};
use kube::{Client, Error};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most Jobs of one list; more come in further pages.
const PAGE: u32 = 500;

/// Requests, as they are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// Reading a `KronJob`.
    Get,
    /// Writing a status.
    Write,
    /// Listing Jobs, or reading one.
    Look,
    /// Creating a Job.
    Create,
    /// Asking whether a Job could be created.
    Try,
    /// Deleting a Job.
    Delete,
    /// Taking the finalizer off a Job.
    Release,
    /// Writing an Event.
    Tell,
}

impl Call {
    fn changes(self) -> bool {
        !matches!(self, Self::Get | Self::Look | Self::Try)
    }
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fail {
    /// What it was based on is not what is there any more.
    Conflict,
    /// Something of that name is there.
    Exists,
    /// What it was about is not there.
    Missing,
    /// The API server finds the object itself wrong, and will again.
    Refused(String),
    /// Somebody else has the name.
    Taken(String),
    /// It may succeed later: too many requests, a quota, a webhook.
    Later(String),
    /// It may succeed later, or may have succeeded: there was no answer, or one that does
    /// not tell.
    Silent(String),
    /// This process does not lead any more.
    Deposed,
}

impl fmt::Display for Fail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict => f.write_str("it was changed by somebody else"),
            Self::Exists => f.write_str("there is one of that name already"),
            Self::Missing => f.write_str("it does not exist"),
            Self::Refused(why) => write!(f, "refused: {why}"),
            Self::Taken(why) | Self::Later(why) | Self::Silent(why) => f.write_str(why),
            Self::Deposed => f.write_str("another replica leads"),
        }
    }
}

impl std::error::Error for Fail {}

impl From<Error> for Fail {
    fn from(error: Error) -> Self {
        match error {
            Error::Api(status) => {
                let why = status.message.clone();
                match (status.code, &*status.reason) {
                    (409, "AlreadyExists") => Self::Exists,
                    (409, _) => Self::Conflict,
                    (404, _) => Self::Missing,
                    (422, "Invalid") if is_validation(&status) => Self::Refused(why),
                    (500.., _) => Self::Silent(why),
                    _ => Self::Later(why),
                }
            }
            other => Self::Silent(reason(&other)),
        }
    }
}

/// Whether an object was found to be wrong by what the API server itself knows of its kind:
/// then it names fields. A policy or a webhook that denies something answers by the same code
/// or by 400, and may think otherwise tomorrow.
fn is_validation(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let is_denial = status.message.starts_with("admission webhook ");
    !is_denial && causes.into_iter().any(|cause| !cause.field.is_empty())
}

/// An error with its causes, of which the last usually says most.
fn reason(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// Access to the API server.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
    fence: Arc<Fence>,
    counts: Arc<dyn Fn(Call) + Send + Sync>,
}

impl Cluster {
    /// Access by this client.
    #[must_use]
    pub fn new(client: Client, fence: Arc<Fence>) -> Self {
        Self { client, fence, counts: Arc::new(|_| ()) }
    }

    /// The same with somebody who counts.
    #[must_use]
    pub fn counted(self, counts: Arc<dyn Fn(Call) + Send + Sync>) -> Self {
        Self { counts, ..self }
    }

    /// The client.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Whether this process may change anything.
    #[must_use]
    pub fn leads(&self) -> bool {
        self.fence.holds()
    }

    /// Whether it is one of several, of which one leads.
    #[must_use]
    pub fn is_elected(&self) -> bool {
        self.fence.is_elected()
    }

    /// When another led before this one, as far as the lease says.
    #[must_use]
    pub fn led_before(&self) -> Option<(UtcInstant, UtcInstant)> {
        self.fence.before()
    }

    async fn call<T: DeserializeOwned>(
        &self,
        call: Call,
        request: Result<HttpRequest<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<T, Fail> {
        let request = request.map_err(|error| Fail::Refused(error.to_string()))?;
        (self.counts)(call);
        if call.changes() && !self.fence.holds() {
            return Err(Fail::Deposed);
        }
        match timeout(PATIENCE, self.client.request(request)).await {
            Ok(answer) => Ok(answer?),
            Err(_) => Err(Fail::Silent(format!("no answer within {} s", PATIENCE.as_secs()))),
        }
    }

    /// A `KronJob` as it is now.
    ///
    /// # Errors
    /// When it cannot be read; that it does not exist is `None`.
    pub async fn kronjob(&self, namespace: &str, name: &str) -> Result<Option<Heard>, Fail> {
        let request = kronjobs(namespace).get(name, &GetParams::default());
        Ok(found(self.call::<DynamicObject>(Call::Get, request).await)?.map(Heard::from))
    }

    /// Writes a status, if the object is still what it was.
    ///
    /// # Errors
    /// [`Fail::Conflict`] if it is not.
    pub async fn write_status(
        &self,
        namespace: &str,
        name: &str,
        version: &str,
        status: &KronJobStatus,
    ) -> Result<Heard, Fail> {
        let patch = json!({ "metadata": { "resourceVersion": version }, "status": status });
        let (parameters, patch) = (PatchParams::default(), Patch::Merge(patch));
        let request = kronjobs(namespace).patch_subresource("status", name, &parameters, &patch);
        Ok(self.call::<DynamicObject>(Call::Write, request).await?.into())
    }

    /// The Jobs of a `KronJob` as they are now.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub async fn jobs(&self, namespace: &str, kronjob: &str) -> Result<Vec<Job>, Fail> {
        let mut parameters =
            ListParams::default().labels(&format!("{KRONJOB_LABEL}={kronjob}")).limit(PAGE);
        let mut jobs = Vec::new();
        loop {
            let request = jobs_of(namespace).list(&parameters);
            let page: ObjectList<Job> = self.call(Call::Look, request).await?;
            jobs.extend(page.items);
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => parameters = parameters.continue_token(&token),
                None => return Ok(jobs),
            }
        }
    }

    /// A Job as it is now.
    ///
    /// # Errors
    /// When it cannot be read; that it does not exist is `None`.
    pub async fn job(&self, namespace: &str, name: &str) -> Result<Option<Job>, Fail> {
        found(self.call(Call::Look, jobs_of(namespace).get(name, &GetParams::default())).await)
    }

    /// Creates a Job.
    ///
    /// # Errors
    /// [`Fail::Exists`] if there is one of its name.
    pub async fn create(&self, namespace: &str, job: &Value) -> Result<Job, Fail> {
        let request = jobs_of(namespace).create(&PostParams::default(), bytes(job)?);
        self.call(Call::Create, request).await
    }

    /// Asks whether a Job could be created.
    ///
    /// # Errors
    /// [`Fail::Refused`] if nobody ever could; anything else if not now.
    pub async fn try_create(&self, namespace: &str, job: &Value) -> Result<(), Fail> {
        let parameters = PostParams { dry_run: true, field_manager: None };
        let request = jobs_of(namespace).create(&parameters, bytes(job)?);
        self.call::<Value>(Call::Try, request).await.map(|_| ())
    }

    /// Deletes a Job; `true` for waiting until its pods are gone before it is.
    ///
    /// # Errors
    /// When it cannot be; not if it is gone already.
    pub async fn delete(
        &self,
        namespace: &str,
        name: &str,
        uid: &str,
        pods_first: bool,
    ) -> Result<(), Fail> {
        let policy =
            if pods_first { PropagationPolicy::Foreground } else { PropagationPolicy::Background };
        let parameters = DeleteParams {
            propagation_policy: Some(policy),
            preconditions: Some(Preconditions { uid: Some(uid.into()), resource_version: None }),
            ..DeleteParams::default()
        };
        let request = jobs_of(namespace).delete(name, &parameters);
        match self.call::<Value>(Call::Delete, request).await {
            // Another of that name is not what was to be deleted.
            Ok(_) | Err(Fail::Missing | Fail::Conflict) => Ok(()),
            Err(fail) => Err(fail),
        }
    }

    /// Takes our finalizer off a Job.
    ///
    /// # Errors
    /// When it cannot be; not if the Job is gone already.
    pub async fn release(&self, namespace: &str, name: &str, uid: &str) -> Result<(), Fail> {
        let patch = json!({
            "metadata": { "uid": uid, "$deleteFromPrimitiveList/finalizers": [crate::api::FINALIZER] }
        });
        let request =
            jobs_of(namespace).patch(name, &PatchParams::default(), &Patch::Strategic(patch));
        match self.call::<Value>(Call::Release, request).await {
            Ok(_) | Err(Fail::Missing | Fail::Conflict) => Ok(()),
            Err(fail) => Err(fail),
        }
    }

    /// Writes an Event.
    ///
    /// # Errors
    /// When it cannot be.
    pub async fn tell(&self, namespace: &str, event: &Value) -> Result<(), Fail> {
        let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
        let request = Request::new(path).create(&PostParams::default(), bytes(event)?);
        self.call::<Value>(Call::Tell, request).await.map(|_| ())
    }
}

fn kronjobs(namespace: &str) -> Request {
    Request::new(format!("/apis/kron.io/v1alpha1/namespaces/{namespace}/kronjobs"))
}

fn jobs_of(namespace: &str) -> Request {
    Request::new(format!("/apis/batch/v1/namespaces/{namespace}/jobs"))
}

fn bytes(value: &Value) -> Result<Vec<u8>, Fail> {
    serde_json::to_vec(value).map_err(|error| Fail::Refused(error.to_string()))
}

fn found<T>(result: Result<T, Fail>) -> Result<Option<T>, Fail> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Fail::Missing) => Ok(None),
        Err(fail) => Err(fail),
    }
}
