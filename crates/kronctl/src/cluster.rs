//! The cluster: every request, each with a time limit, and what their failures mean.
//!
//! Nothing is changed. Everything else here is without a runtime; it lives only as long
//! as the questions.

use crate::cli::Place;
use crate::subject;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::events::v1::Event;
use kron_operator::api::{KRONJOB_LABEL, KronJob};
use kron_term::failure::{FATAL, Failure, INVALID, USER};
use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, Error, ResourceExt};
use std::time::Duration;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// A cluster that can be asked.
pub struct Reached {
    client: Client,
    namespace: String,
    server: String,
}

/// Asks a cluster.
///
/// # Errors
/// When none is known, or what the question fails with.
pub fn ask<T>(
    place: &Place,
    question: impl AsyncFnOnce(&Reached) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::new(FATAL, format!("cannot ask anybody: {error}")))?;
    runtime.block_on(async { question(&Reached::new(place).await?).await })
}

impl Reached {
    async fn new(place: &Place) -> Result<Self, Failure> {
        let mut config = config(place).await?;
        config.connect_timeout = Some(PATIENCE);
        config.read_timeout = Some(PATIENCE);
        let server = config.cluster_url.to_string();
        let namespace = place.namespace.clone().unwrap_or(config.default_namespace.clone());
        let client = Client::try_from(config)
            .map_err(|error| Failure::new(INVALID, format!("kubeconfig: {}", innermost(&error))))?;
        Ok(Self { client, namespace, server })
    }

    /// A `KronJob`.
    ///
    /// # Errors
    /// When it is not there, or cannot be read.
    pub async fn kronjob(&self, name: &str) -> Result<KronJob, Failure> {
        let api: Api<KronJob> = Api::namespaced(self.client.clone(), &self.namespace);
        if let Some(found) = self.patient(api.get_opt(name)).await? {
            return Ok(found);
        }
        let others = self.kronjobs().await?;
        let names: Vec<String> = others.iter().map(ResourceExt::name_any).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Err(subject::none(Some(name), &names, &format!("namespace `{}`", self.namespace)))
    }

    /// All of the namespace.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub async fn kronjobs(&self) -> Result<Vec<KronJob>, Failure> {
        let api: Api<KronJob> = Api::namespaced(self.client.clone(), &self.namespace);
        Ok(self.patient(api.list(&ListParams::default())).await?.items)
    }

    /// The Jobs of a `KronJob`.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub async fn jobs(&self, kronjob: &str) -> Result<Vec<Job>, Failure> {
        let api: Api<Job> = Api::namespaced(self.client.clone(), &self.namespace);
        let ours = ListParams::default().labels(&format!("{KRONJOB_LABEL}={kronjob}"));
        Ok(self.patient(api.list(&ours)).await?.items)
    }

    /// The Events about a `KronJob`, and not about one of the same name before it.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub async fn events(&self, uid: &str) -> Result<Vec<Event>, Failure> {
        let api: Api<Event> = Api::namespaced(self.client.clone(), &self.namespace);
        let about = format!("regarding.kind=KronJob,regarding.uid={uid}");
        Ok(self.patient(api.list(&ListParams::default().fields(&about))).await?.items)
    }

    async fn patient<T>(
        &self,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Failure> {
        match tokio::time::timeout(PATIENCE, request).await {
            Ok(answer) => answer.map_err(|error| self.failure(&error)),
            Err(_) => Err(self.unreachable(&format!("no answer within {} s", PATIENCE.as_secs()))),
        }
    }

    fn unreachable(&self, why: &str) -> Failure {
        Failure::new(USER, format!("cannot reach the cluster at {}: {why}", self.server))
            .hint("`--context` or `--kubeconfig` names another; `-f FILE` needs none")
    }

    fn failure(&self, error: &Error) -> Failure {
        let Error::Api(status) = error else {
            return match error {
                Error::SerdeError(error) => {
                    Failure::new(FATAL, format!("the cluster answers oddly: {error}"))
                }
                _ => self.unreachable(&innermost(error)),
            };
        };
        match status.code {
            404 => Failure::new(USER, format!("{} has no KronJobs", self.server))
                .hint("`kron-operator crd | kubectl apply --server-side -f -` installs them"),
            401 => Failure::new(USER, format!("{} does not know who you are", self.server))
                .hint("`kubectl auth whoami` says whom it takes you for"),
            _ => Failure::new(USER, status.message.clone()),
        }
    }
}

async fn config(place: &Place) -> Result<Config, Failure> {
    let options = KubeConfigOptions { context: place.context.clone(), ..Default::default() };
    let invalid = |error: &dyn std::error::Error| {
        Failure::new(INVALID, format!("kubeconfig: {}", innermost(error)))
    };
    if let Some(path) = &place.kubeconfig {
        let file = Kubeconfig::read_from(path).map_err(|error| {
            Failure::new(INVALID, format!("{}: {}", path.display(), innermost(&error)))
        })?;
        return Config::from_custom_kubeconfig(file, &options).await.map_err(|e| invalid(&e));
    }
    if place.context.is_some() {
        return Config::from_kubeconfig(&options).await.map_err(|error| invalid(&error));
    }
    match Config::infer().await {
        Ok(config) => Ok(config),
        // A file that is there is to be mended; that there is none is another matter.
        Err(_) => match Kubeconfig::read() {
            Ok(_) => Config::from_kubeconfig(&options).await.map_err(|error| invalid(&error)),
            Err(error) => {
                let path = std::env::var("KUBECONFIG").unwrap_or("~/.kube/config".into());
                let message = format!("no cluster is known: {path}: {}", innermost(&error));
                Err(Failure::new(INVALID, message)
                    .hint("`--kubeconfig PATH` or $KUBECONFIG names one; `-f FILE` needs none"))
            }
        },
    }
}

/// The cause that says most.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(cause) = error.source() {
        error = cause;
    }
    // Without the number of the system's error.
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).into()
}
