//! Metrics in the text format of Prometheus. Labels are from fixed sets.

use crate::cluster::Call;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper ends of the classes of lateness, in milliseconds.
const LATENESS: [u64; 11] = [10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 60_000];
const OUTCOMES: [&str; 4] = ["executed", "skipped", "missed", "unschedulable"];
const CALLS: [(Call, &str); 8] = [
    (Call::Get, "get"),
    (Call::Write, "status"),
    (Call::Look, "list"),
    (Call::Create, "create"),
    (Call::Try, "dry_run"),
    (Call::Delete, "delete"),
    (Call::Release, "release"),
    (Call::Tell, "event"),
];

/// What is counted.
#[derive(Debug, Default)]
pub struct Meter {
    outcomes: [AtomicU64; OUTCOMES.len()],
    calls: [AtomicU64; CALLS.len()],
    superseded: AtomicU64,
    failures: AtomicU64,
    lost_events: AtomicU64,
    reconciles: AtomicU64,
    lateness: [AtomicU64; LATENESS.len() + 1],
    lateness_micros: AtomicU64,
}

impl Meter {
    /// A request is sent.
    pub fn call(&self, call: Call) {
        if let Some(place) = CALLS.iter().position(|(known, _)| *known == call) {
            self.calls[place].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A period has its outcome.
    pub fn outcome(&self, outcome: &str) {
        if let Some(place) = OUTCOMES.iter().position(|known| *known == outcome) {
            self.outcomes[place].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Periods were passed over.
    pub fn superseded(&self, count: u32) {
        self.superseded.fetch_add(count.into(), Ordering::Relaxed);
    }

    /// Something failed, and is tried again.
    pub fn failure(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// An Event could not be written.
    pub fn lost_event(&self) {
        self.lost_events.fetch_add(1, Ordering::Relaxed);
    }

    /// A `KronJob` was looked at.
    pub fn reconcile(&self) {
        self.reconciles.fetch_add(1, Ordering::Relaxed);
    }

    /// A Job was created so much after its chosen time.
    pub fn late(&self, late: Duration) {
        let place = LATENESS.iter().position(|end| late.as_millis() <= u128::from(*end));
        self.lateness[place.unwrap_or(LATENESS.len())].fetch_add(1, Ordering::Relaxed);
        self.lateness_micros.fetch_add(late.as_micros() as u64, Ordering::Relaxed);
    }

    /// The page. `objects` and `active` are counted elsewhere.
    #[must_use]
    pub fn page(&self, objects: usize, active: usize, leads: bool) -> String {
        let mut page = String::with_capacity(4096);
        let get = |value: &AtomicU64| value.load(Ordering::Relaxed);
        head(&mut page, "kron_outcomes_total", "counter", "Periods by outcome.");
        for (name, count) in OUTCOMES.iter().zip(&self.outcomes) {
            let _ = writeln!(page, "kron_outcomes_total{{outcome=\"{name}\"}} {}", get(count));
        }
        head(
            &mut page,
            "kron_api_requests_total",
            "counter",
            "Requests to the API server, by kind.",
        );
        for ((_, name), count) in CALLS.iter().zip(&self.calls) {
            let _ = writeln!(page, "kron_api_requests_total{{kind=\"{name}\"}} {}", get(count));
        }
        for (name, kind, help, value) in [
            (
                "kron_superseded_total",
                "counter",
                "Periods that passed unattended, or waited when the spec was changed.",
                get(&self.superseded),
            ),
            (
                "kron_failures_total",
                "counter",
                "Requests that failed and are tried again.",
                get(&self.failures),
            ),
            (
                "kron_events_lost_total",
                "counter",
                "Events that could not be written.",
                get(&self.lost_events),
            ),
            ("kron_reconciles_total", "counter", "Looks at a KronJob.", get(&self.reconciles)),
            ("kron_kronjobs", "gauge", "KronJobs known.", objects as u64),
            ("kron_active_jobs", "gauge", "Jobs that have not finished.", active as u64),
            ("kron_leader", "gauge", "Whether this replica leads.", u64::from(leads)),
        ] {
            head(&mut page, name, kind, help);
            let _ = writeln!(page, "{name} {value}");
        }
        let name = "kron_start_lateness_seconds";
        head(&mut page, name, "histogram", "From the chosen second until the Job was created.");
        let mut sum = 0;
        for (end, count) in LATENESS.iter().zip(&self.lateness) {
            sum += get(count);
            let _ = writeln!(page, "{name}_bucket{{le=\"{}\"}} {sum}", *end as f64 / 1000.0);
        }
        sum += get(&self.lateness[LATENESS.len()]);
        let _ = writeln!(page, "{name}_bucket{{le=\"+Inf\"}} {sum}");
        let _ = writeln!(page, "{name}_sum {}", get(&self.lateness_micros) as f64 / 1e6);
        let _ = writeln!(page, "{name}_count {sum}");
        page
    }
}

fn head(page: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(page, "# HELP {name} {help}\n# TYPE {name} {kind}");
}
