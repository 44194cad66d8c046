//! A proxy between an operator and the API server, which does to requests what networks,
//! servers and machines do to them: loses them or their answers, delays and doubles them,
//! and kills whoever sent them.

use futures::{StreamExt, stream};
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, BodyStream, Full, StreamBody};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::time::sleep;

/// What a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    Watch,
    Read,
    Create,
    Try,
    Status,
    Release,
    Delete,
    Event,
    Lease,
}

impl Call {
    fn of(request: &Request<Incoming>) -> Self {
        let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
        match *request.method() {
            _ if path.contains("/leases") => Self::Lease,
            Method::GET if query.contains("watch=true") => Self::Watch,
            Method::GET => Self::Read,
            Method::POST if path.contains("/events") => Self::Event,
            Method::POST if query.contains("dryRun") => Self::Try,
            Method::POST => Self::Create,
            Method::DELETE => Self::Delete,
            _ if path.ends_with("/status") => Self::Status,
            _ => Self::Release,
        }
    }
}

/// What is done to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    Pass,
    /// It never arrives.
    Lose,
    /// It arrives; its answer does not.
    Mute,
    /// It arrives later.
    Late(Duration),
    /// It arrives again later.
    Twice(Duration),
    /// It is answered with this code.
    Refuse(u16),
    /// Its sender is killed before it arrives…
    KillBefore,
    /// …or before the answer does.
    KillAfter,
    /// A watch breaks off.
    Cut(Duration),
    /// A watch is told that it is too old.
    Gone,
}

/// Who decides about each request.
pub type Judge = Arc<dyn Fn(Call) -> Fate + Send + Sync>;
/// Kills the sender.
pub type Kill = Arc<dyn Fn() + Send + Sync>;

type Answer = Response<UnsyncBoxBody<Bytes, Error>>;
type Error = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone)]
struct Proxy {
    upstream: Client,
    judge: Judge,
    kill: Kill,
}

/// A client by a file.
pub async fn client(kubeconfig: &Path) -> Client {
    let config = Kubeconfig::read_from(kubeconfig).unwrap();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(config, &options).await.unwrap();
    Client::try_from(config).unwrap()
}

/// Serves until the runtime ends; where.
pub async fn start(kubeconfig: &Path, judge: Judge, kill: Kill) -> SocketAddr {
    let proxy = Proxy { upstream: client(kubeconfig).await, judge, kill };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            let proxy = proxy.clone();
            let service = service_fn(move |request| proxy.clone().serve(request));
            // An error closes the connection, which is what its sender is to see.
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(connection), service));
        }
    });
    address
}

impl Proxy {
    async fn serve(self, request: Request<Incoming>) -> Result<Answer, Error> {
        let call = Call::of(&request);
        let (parts, body) = request.into_parts();
        let sent = Sent {
            method: parts.method,
            uri: parts.uri.path_and_query().ok_or("no path")?.to_string(),
            kind: parts.headers.get(http::header::CONTENT_TYPE).cloned(),
            body: body.collect().await?.to_bytes(),
        };
        match (self.judge)(call) {
            Fate::Pass => self.forward(&sent).await,
            Fate::Lose => Err("lost".into()),
            Fate::Mute => {
                self.forward(&sent).await?.into_body().collect().await?;
                Err("lost".into())
            }
            Fate::Late(by) => {
                // Whoever sent it may have given up by then; it arrives all the same.
                let (proxy, sent) = (self.clone(), sent.clone());
                tokio::spawn(async move {
                    sleep(by).await;
                    proxy.forward(&sent).await
                })
                .await?
            }
            Fate::Twice(by) => {
                let (proxy, again) = (self.clone(), sent.clone());
                tokio::spawn(async move {
                    sleep(by).await;
                    let _ = proxy.forward(&again).await;
                });
                self.forward(&sent).await
            }
            Fate::Refuse(code) => {
                let status = json!({
                    "kind": "Status", "apiVersion": "v1", "status": "Failure",
                    "code": code, "reason": "", "message": "injected", "metadata": {},
                });
                answer(code, status.to_string())
            }
            Fate::KillBefore => {
                (self.kill)();
                Err("killed".into())
            }
            Fate::KillAfter => {
                self.forward(&sent).await?.into_body().collect().await?;
                (self.kill)();
                Err("killed".into())
            }
            Fate::Cut(after) => {
                let (parts, body) = self.forward(&sent).await?.into_parts();
                let frames = BodyStream::new(body)
                    .take_until(Box::pin(sleep(after)))
                    .chain(stream::iter([Err("cut".into())]));
                Ok(Response::from_parts(parts, StreamBody::new(frames).boxed_unsync()))
            }
            Fate::Gone => {
                let event = json!({ "type": "ERROR", "object": {
                    "kind": "Status", "apiVersion": "v1", "status": "Failure", "metadata": {},
                    "code": 410, "reason": "Expired", "message": "too old resource version",
                } });
                answer(200, format!("{event}\n"))
            }
        }
    }

    async fn forward(&self, sent: &Sent) -> Result<Answer, Error> {
        let mut request = Request::builder().method(&sent.method).uri(&sent.uri);
        if let Some(kind) = &sent.kind {
            request = request.header(http::header::CONTENT_TYPE, kind);
        }
        let request = request.body(Body::from(sent.body.clone()))?;
        let (mut parts, body) = self.upstream.send(request).await?.into_parts();
        parts.headers.remove(http::header::TRANSFER_ENCODING);
        parts.version = http::Version::HTTP_11;
        Ok(Response::from_parts(parts, body.map_err(Error::from).boxed_unsync()))
    }
}

#[derive(Clone)]
struct Sent {
    method: Method,
    uri: String,
    kind: Option<http::HeaderValue>,
    body: Bytes,
}

fn answer(code: u16, text: String) -> Result<Answer, Error> {
    let body = Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed_unsync();
    let kind = (http::header::CONTENT_TYPE, "application/json");
    Ok(Response::builder().status(code).header(kind.0, kind.1).body(body)?)
}
