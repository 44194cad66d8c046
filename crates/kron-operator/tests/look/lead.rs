//! Leading: what the lease says of those who led before, and requests about it that hang.

use crate::server::{MUTE, Refuses, Server};
use kron_operator::lease::{Candidate, Fence};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::time::timeout;

/// When another led before, as a lease says it that has been given back or is ours.
#[tokio::test]
async fn who_led_before() {
    let lease = |holder: &str, seconds: u32| {
        json!({
            "metadata": { "name": "lease", "resourceVersion": "1" },
            "spec": {
                "holderIdentity": holder, "leaseDurationSeconds": seconds,
                "acquireTime": "2026-03-02T10:00:00.000000Z",
                "renewTime": "2026-03-02T10:05:00.500000Z",
            },
        })
    };
    for (lease, expected) in [
        (Value::Null, None),
        (lease("", 1), Some("2026-03-02T10:05:01.5Z")),
        // It was this name, but another process.
        (lease("us", 15), Some("2026-03-02T10:05:15.5Z")),
    ] {
        let (server, client) = Server::start(Value::Null, Vec::new(), |_| None).await;
        server.state.lock().unwrap().lease = lease.clone();
        let fence = Fence::closed();
        let mut candidate = Candidate::new(client.clone(), "shop", "lease", "us");
        candidate.acquire(&fence, |_| ()).await;
        let from = "2026-03-02T10:00:00Z".parse().unwrap();
        let expected = expected.map(|to: &str| (from, to.parse().unwrap()));
        assert_eq!(fence.before(), expected, "{lease}");
        assert!(fence.holds());
        // Who comes next knows of this one, until the moment at which it gave the lease back.
        candidate.give_back(&fence, |_| ()).await;
        assert!(!fence.holds());
        let begun = kron_operator::tell::now();
        let next = Fence::closed();
        Candidate::new(client, "shop", "lease", "them").acquire(&next, |_| ()).await;
        let (from, to) = next.before().unwrap();
        let near = begun.saturating_sub(Duration::from_secs(2));
        assert!(from >= near && to > begun, "{from} {to}");
    }
}

/// Whether a lease is kept until this was asked for so many times.
async fn check_kept(refuses: Refuses, asked: &AtomicU32, times: u32) {
    let (_server, client) = Server::start(Value::Null, Vec::new(), refuses).await;
    let fence = Fence::closed();
    let mut candidate = Candidate::new(client, "shop", "lease", "us");
    candidate.acquire(&fence, |_| ()).await;
    let later = async {
        while asked.load(Ordering::Relaxed) < times {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let kept = async {
        tokio::select! {
            () = candidate.keep(&fence, |_| ()) => false,
            () = later => true,
        }
    };
    assert_eq!(timeout(Duration::from_secs(30), kept).await, Ok(true));
    assert!(fence.holds());
}

/// A renewal that conflicts with one of our own, of which nobody heard, costs nothing.
#[tokio::test]
async fn a_renewal_that_was_made_after_all() {
    static PUTS: AtomicU32 = AtomicU32::new(0);
    let refuses = |asked: &str| {
        let is_it = asked == "PUT /leases" && PUTS.fetch_add(1, Ordering::Relaxed) == 0;
        is_it.then_some(409)
    };
    check_kept(refuses, &PUTS, 2).await;
}

/// A request that hangs costs an attempt, not the lease: it goes on until the attempt after
/// that one.
#[tokio::test]
async fn a_request_that_hangs() {
    const HANGS: u32 = 2;
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let refuses = |asked: &str| {
        let is_it = asked == "GET /leases" && ASKED.fetch_add(1, Ordering::Relaxed) + 1 == HANGS;
        is_it.then_some(MUTE)
    };
    check_kept(refuses, &ASKED, HANGS + 2).await;
}
