//! An API server that has one `KronJob`, as far as a look at it needs one. It remembers what it
//! was asked, and refuses or breaks off what it is told to.

use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kron_operator::tell::now;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

/// What it does with a request: an answer by this code instead of its own, or none at all.
pub type Refuses = fn(&str) -> Option<u16>;

/// The code of no answer.
pub const MUTE: u16 = 0;

/// The server.
pub struct Server {
    pub state: Mutex<State>,
    refuses: Refuses,
}

/// What it has.
#[derive(Default)]
pub struct State {
    pub kronjob: Value,
    pub jobs: Vec<Value>,
    pub events: Vec<Value>,
    /// What it was asked, each in a few words.
    pub asked: Vec<String>,
    pub lease: Value,
    /// By its definition claims have no schedule and no generation.
    pub prunes: bool,
}

impl Server {
    /// Serves; a client of it.
    pub async fn start(
        kronjob: Value,
        jobs: Vec<Value>,
        refuses: Refuses,
    ) -> (Arc<Self>, kube::Client) {
        let state = Mutex::new(State { kronjob, jobs, ..State::default() });
        let server = Arc::new(Self { state, refuses });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let ours = Arc::clone(&server);
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let server = Arc::clone(&ours);
                let service = service_fn(move |request: Request<Incoming>| {
                    let server = Arc::clone(&server);
                    async move {
                        let (parts, body) = request.into_parts();
                        let body = body.collect().await?.to_bytes();
                        let body = serde_json::from_slice(&body).unwrap_or_default();
                        let path = parts.uri.to_string();
                        let (code, answer) = server.answer(&parts.method, &path, body);
                        if code == MUTE {
                            std::future::pending::<()>().await;
                        }
                        let answer = Full::new(Bytes::from(answer.to_string()));
                        let response = Response::builder().status(code).body(answer).unwrap();
                        Ok::<_, hyper::Error>(response)
                    }
                });
                tokio::spawn(
                    http1::Builder::new().serve_connection(TokioIo::new(connection), service),
                );
            }
        });
        let client = kube::Client::try_from(kube::Config::new(url.parse().unwrap())).unwrap();
        (server, client)
    }

    /// How often it was asked for this.
    pub fn count(&self, what: &str) -> usize {
        self.state.lock().unwrap().asked.iter().filter(|asked| *asked == what).count()
    }

    fn answer(&self, method: &Method, path: &str, body: Value) -> (u16, Value) {
        let kind = ["/status", "/kronjobs", "/jobs", "/leases", "/events"]
            .into_iter()
            .find(|kind| path.contains(kind))
            .unwrap_or("/");
        let asked = format!("{method} {kind}");
        let mut state = self.state.lock().unwrap();
        state.asked.push(asked.clone());
        if let Some(code) = (self.refuses)(&asked) {
            return (code, failure(code, "no"));
        }
        let last = path.split(['/', '?']).rfind(|part| !part.contains('='));
        let is_it = |job: &Value| job["metadata"]["name"] == last.unwrap_or_default();
        match &*asked {
            "GET /kronjobs" => (200, state.kronjob.clone()),
            "PATCH /status" => state.patch_status(&body),
            "GET /jobs" => (200, json!({ "metadata": {}, "items": state.jobs })),
            "POST /jobs" => (201, state.create(body)),
            "PATCH /jobs" => {
                let job = state.jobs.iter_mut().find(|job| is_it(job)).unwrap();
                job["metadata"]["finalizers"] = Value::Null;
                (200, job.clone())
            }
            "DELETE /jobs" => {
                state.jobs.retain(|job| !is_it(job));
                (200, json!({}))
            }
            "POST /events" => {
                state.events.push(body);
                (201, json!({}))
            }
            "GET /leases" if state.lease.is_null() => (404, failure(404, "NotFound")),
            "GET /leases" => (200, state.lease.clone()),
            "POST /leases" | "PUT /leases" => {
                state.lease = body;
                (200, state.lease.clone())
            }
            other => panic!("unknown: {other} {path}"),
        }
    }
}

impl State {
    fn patch_status(&mut self, patch: &Value) -> (u16, Value) {
        let version = self.kronjob["metadata"]["resourceVersion"].clone();
        if patch["metadata"]["resourceVersion"] != version {
            return (409, failure(409, "Conflict"));
        }
        let mut status = patch["status"].clone();
        status.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        if self.prunes {
            let claims = status["pending"].as_array_mut().into_iter().flatten();
            for claim in claims.filter_map(Value::as_object_mut) {
                claim.retain(|key, _| key != "schedule" && key != "generation");
            }
            if let Some(next) = status["nextPeriod"].as_object_mut() {
                next.retain(|key, _| key != "schedule" && key != "generation");
            }
            status.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        }
        if self.kronjob["status"] == status {
            return (200, self.kronjob.clone());
        }
        self.kronjob["status"] = status;
        let version: u64 = version.as_str().unwrap().parse().unwrap();
        self.kronjob["metadata"]["resourceVersion"] = (version + 1).to_string().into();
        (200, self.kronjob.clone())
    }

    fn create(&mut self, mut job: Value) -> Value {
        job["metadata"]["uid"] = format!("j{}", self.jobs.len()).into();
        job["metadata"]["creationTimestamp"] = now().floor().to_string().into();
        self.jobs.push(job.clone());
        job
    }
}

fn failure(code: u16, reason: &str) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "message": "no",
        "status": "Failure", "reason": reason, "code": code,
    })
}
