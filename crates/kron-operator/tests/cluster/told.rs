//! What the program says of itself, in its log and on its pages; and that it stops when it
//! does not lead any more.

use crate::bench::{Bench, wait};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kron_core::line::Level;
use kron_core::{EVENT, Record, UtcInstant, Zones, logfmt};
use kron_operator::cluster::Cluster;
use kron_operator::desk::key;
use kron_operator::lease::Fence;
use kron_operator::tell::{LogFormat, Note, Teller};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;

/// ERR-01's categories.
const CATEGORIES: [&str; 8] = [
    "ConfigurationError",
    "ValidationError",
    "SchedulingError",
    "ConstraintError",
    "ExecutionError",
    "PersistenceError",
    "SystemError",
    "IncompatibleStateError",
];

type Pairs<'a> = BTreeMap<&'a str, Cow<'a, str>>;

/// The lines of a log with their times.
fn lines(log: &str) -> impl Iterator<Item = (UtcInstant, Pairs<'_>)> {
    let lines = log.lines().filter(|line| line.contains(" level="));
    lines.map(|line| {
        let (at, rest) = line.split_once(' ').unwrap();
        let pairs = logfmt::pairs(rest).collect::<Result<Pairs<'_>, _>>();
        (at.parse().unwrap(), pairs.unwrap_or_else(|error| panic!("{error}: {line}")))
    })
}

/// OBS-04, OBS-05, ERR-01: decisions can be made again from the log alone, as `krontab verify`
/// does, and every error has its category and says what it is about.
pub fn the_log(bench: &Bench) {
    let log = bench.operator_log();
    let (mut decisions, mut zones) = (0, Zones::bundled());
    let mut operations: BTreeMap<String, u32> = BTreeMap::new();
    for (_, line) in lines(&log) {
        assert_eq!(line["component"], "kron-operator", "{line:?}");
        if line["event"] == EVENT {
            let record = Record::from_log_fields(|key| line.get(key).cloned()).unwrap();
            assert_eq!(record.verify(&mut zones).unwrap(), [], "{line:?}");
            decisions += 1;
        }
        if line["event"] != "error" {
            continue;
        }
        assert!(CATEGORIES.contains(&&*line["error_type"]), "{line:?}");
        assert!(["error", "warn"].contains(&&*line["level"]), "{line:?}");
        assert!(!line["message"].is_empty(), "{line:?}");
        assert_eq!(line.contains_key("job"), line.contains_key("identity"), "{line:?}");
        if ["no-minute", "no-zone"].iter().any(|name| line.get("job").is_some_and(|j| j == name)) {
            assert_eq!(line["error_type"], "ConfigurationError", "{line:?}");
        }
        let operation = line["operation"].to_string();
        if ["create job", "end jobs"].contains(&&*operation) {
            assert!(line["period_id"].parse::<kron_core::PeriodId>().is_ok(), "{line:?}");
        }
        *operations.entry(operation).or_default() += 1;
    }
    assert!(decisions > 20, "{decisions} decisions");
    for operation in ["create job", "end jobs", "read spec", "try the template"] {
        assert!(operations.contains_key(operation), "no {operation}: {operations:?}");
    }
}

/// OBS-06: what keeps it from starting is in the log, in the form that was asked for. (No
/// cluster is needed for that.)
#[test]
fn obs_06_a_start_that_fails_is_in_the_log() {
    let config = std::env::temp_dir().join(format!("kron-operator-{}.json", std::process::id()));
    let server = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "a",
        "clusters": [{ "name": "a", "cluster": { "server": "http://127.0.0.1:9" } }],
        "contexts": [{ "name": "a", "context": { "cluster": "a", "user": "a" } }],
        "users": [{ "name": "a", "user": {} }],
    });
    std::fs::write(&config, server.to_string()).unwrap();
    let config = config.to_str().unwrap();
    for (config, listen, error_type, operation) in [
        ("/nowhere", "127.0.0.1:0", "ConfigurationError", "tell which cluster is meant"),
        (config, "192.0.2.1:1", "SystemError", "serve metrics"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_kron-operator"))
            .args(["run", "--log-format", "json", "--listen", listen])
            .env("KUBECONFIG", config)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(4));
        let text = String::from_utf8(output.stderr).unwrap();
        let line: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        for (key, value) in [
            ("level", "error"),
            ("component", "kron-operator"),
            ("event", "error"),
            ("error_type", error_type),
            ("operation", operation),
        ] {
            assert_eq!(line[key], value, "{line}");
        }
        assert!(line["message"].as_str().is_some_and(|why| !why.is_empty()), "{line}");
        assert!(line["fatal"] == "true" || line["fatal"] == true, "{line}");
    }
    std::fs::remove_file(config).unwrap();
}

/// A server that refuses so many requests with this code and takes the rest; how many came.
async fn server(code: u16, refuses: usize) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, count) = (listener.local_addr().unwrap(), Arc::<AtomicUsize>::default());
    let seen = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            let seen = Arc::clone(&seen);
            let service = service_fn(move |request: http::Request<Incoming>| {
                let is_refused = seen.fetch_add(1, Ordering::SeqCst) < refuses;
                async move {
                    let _ = request.into_body().collect().await;
                    let status = json!({
                        "kind": "Status", "apiVersion": "v1", "metadata": {}, "message": "no",
                        "status": "Failure", "reason": "", "code": code,
                    });
                    let (code, body) = if is_refused { (code, status) } else { (201, json!({})) };
                    let body = Full::new(Bytes::from(body.to_string()));
                    http::Response::builder().status(code).body(body)
                }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(connection), service));
        }
    });
    (address, count)
}

/// OPR-07: an Event that is not taken is tried again, and not muted; one that is taken is not
/// written again; none is left at the end. (No cluster is needed for that.)
#[tokio::test(flavor = "multi_thread")]
async fn events_that_are_not_taken() {
    // Code and how often; requests by then for the same note once, twice and three times.
    for (code, refuses, expected) in [
        (500, 0, [1, 1, 1]),
        (500, 2, [3, 3, 3]),
        (500, 3, [3, 4, 4]),
        (403, 1, [1, 2, 2]),
        (403, 2, [1, 2, 3]),
    ] {
        let (address, count) = server(code, refuses).await;
        let config = kube::Config::new(format!("http://{address}").parse().unwrap());
        let client = kube::Client::try_from(config).unwrap();
        let cluster = Cluster::new(client, Arc::new(Fence::open()));
        let (teller, telling) = Teller::new(
            LogFormat::Text,
            Level::Error,
            cluster,
            "test".into(),
            Arc::default(),
            || async {},
        );
        tokio::spawn(telling);
        let note = Note {
            key: key("shop".into(), "a".into()),
            uid: "u".into(),
            is_warning: true,
            reason: "NotCreated",
            note: "why".into(),
            job: None,
        };
        for expected in expected {
            teller.note(note.clone());
            teller.finish().await;
            assert_eq!(count.load(Ordering::SeqCst), expected, "{code} {refuses}");
        }
        // Another object of that name has its own.
        let before = count.load(Ordering::SeqCst);
        teller.note(Note { uid: "v".into(), ..note });
        teller.finish().await;
        assert_eq!(count.load(Ordering::SeqCst), before + 1, "{code} {refuses}");
    }
}

/// What is served at a path: the code and the page.
fn get(address: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, page) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), page.to_string())
}

/// Where the program serves that was started last.
fn address(log: &str) -> Option<String> {
    let starts = lines(log).filter(|(_, line)| line["event"] == "starting");
    starts.last().map(|(_, line)| line["listen"].to_string())
}

/// The value of a series.
fn series(page: &str, name: &str) -> f64 {
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name}: {page}")).parse().unwrap()
}

/// Metrics, health and readiness, of one that works and of one that sees nothing.
pub fn the_pages(bench: &Bench) {
    let ours = address(&bench.operator_log()).unwrap();
    assert_eq!(get(&ours, "/healthz"), (200, "ok\n".into()));
    assert_eq!(get(&ours, "/readyz"), (200, "ok\n".into()));
    assert_eq!(get(&ours, "/elsewhere").0, 404);
    let (code, page) = get(&ours, "/metrics");
    assert_eq!(code, 200);
    for name in [
        "kron_outcomes_total{outcome=\"executed\"}",
        "kron_outcomes_total{outcome=\"skipped\"}",
        "kron_api_requests_total{kind=\"create\"}",
        "kron_api_requests_total{kind=\"status\"}",
        "kron_api_requests_total{kind=\"event\"}",
        "kron_failures_total",
        "kron_reconciles_total",
        "kron_kronjobs",
        "kron_active_jobs",
        "kron_leader",
        "kron_start_lateness_seconds_count",
        "kron_start_lateness_seconds_bucket{le=\"+Inf\"}",
    ] {
        assert!(series(&page, name) >= 1.0, "{name}: {page}");
    }
    let created = series(&page, "kron_start_lateness_seconds_count");
    assert!(created <= series(&page, "kron_api_requests_total{kind=\"create\"}"), "{page}");

    let nobody = bench.cluster.kubeconfig_for("nobody", &[]).unwrap();
    let log = bench.cluster.directory().join("nobody.log");
    let _child = Bench::spawn(&nobody, &log, &["--leader-elect=false"]);
    let theirs = wait("an address", || address(&std::fs::read_to_string(&log).ok()?));
    wait("a complaint", || std::fs::read_to_string(&log).ok()?.contains("forbidden").then_some(()));
    assert_eq!(get(&theirs, "/healthz").0, 200);
    let (code, why) = get(&theirs, "/readyz");
    assert_eq!((code, why.contains("not been listed yet")), (503, true), "{why}");
    assert!(series(&get(&theirs, "/metrics").1, "kron_kronjobs") < 1.0);
}

/// Fault 41: somebody else has the lease. The program ends, says so, changes nothing any more,
/// and leaves the lease alone.
pub fn a_lease_that_is_lost(bench: &mut Bench) {
    for number in 0..10 {
        let spec = json!({ "window": { "duration": "59s" } });
        bench.apply(&format!("busy-{number}"), &spec);
    }
    wait("a Job", || (0..10).any(|n| !bench.jobs(&format!("busy-{n}")).is_empty()).then_some(()));
    let lease = ["lease", "kron-operator", "-n", "kron-system"];
    let patch = json!({ "spec": { "holderIdentity": "somebody" } }).to_string();
    bench.kubectl(&[&["patch"], &lease[..], &["--type=merge", "-p", &patch]].concat());
    let status = wait("the end", || bench.ended());
    assert_eq!(status.code(), Some(3));
    let log = bench.operator_log();
    let (at, last) = lines(&log).last().unwrap();
    let of = |key: &str| last.get(key).map(|value| &**value);
    assert_eq!((of("level"), of("fatal")), (Some("error"), Some("true")), "{last:?}");
    assert_eq!(of("error_type"), Some("SystemError"), "{last:?}");
    assert!(last["message"].contains("the lease was lost"), "{last:?}");
    // Others go on to watch for as long as a request could be under way.
    std::thread::sleep(Duration::from_secs(10));
    // What was sent a moment before may be seen a moment after.
    let limit = at.saturating_add(Duration::from_millis(500));
    let late: Vec<Value> = bench.changes().filter(|change| received(change) > limit).collect();
    assert!(late.is_empty(), "{late:?}");
    assert_eq!(bench.get(&lease)["spec"]["holderIdentity"], "somebody");
}

fn received(request: &Value) -> UtcInstant {
    request["requestReceivedTimestamp"].as_str().unwrap().parse().unwrap()
}
