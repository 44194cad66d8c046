//! Metrics in the text format of Prometheus, on request.
//!
//! Labels are from fixed sets: neither names of jobs nor anything else that
//! grows. A few counters do not need a library; the format is a line each.

use kron_core::UtcInstant;
use kron_engine::tally::{LATENESS_MILLIS, Tally};
use kron_engine::view::Gauges;
use std::fmt::Write;
use std::time::Duration;

/// What is measured outside the engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Commits {
    /// How many.
    pub count: u64,
    /// How long all of them took together.
    pub sum: Duration,
    /// By upper end of [`COMMIT_MILLIS`], the rest last.
    pub classes: [u64; COMMIT_MILLIS.len() + 1],
}

/// Upper ends of the classes of commit latency, in milliseconds.
pub const COMMIT_MILLIS: [u64; 10] = [1, 2, 5, 10, 20, 50, 100, 500, 1_000, 5_000];

impl Commits {
    /// Counts one.
    pub fn count(&mut self, took: Duration) {
        let millis = took.as_nanos().div_ceil(1_000_000);
        let class = COMMIT_MILLIS.iter().position(|end| millis <= u128::from(*end));
        self.classes[class.unwrap_or(COMMIT_MILLIS.len())] += 1;
        self.count += 1;
        self.sum += took;
    }
}

/// The whole page.
#[must_use]
pub fn page(tally: &Tally, gauges: &Gauges, commits: &Commits, started_at: UtcInstant) -> String {
    let mut page = Page(String::with_capacity(4096));
    page.head("kron_outcomes_total", "counter", "Periods by outcome and reason.");
    for (outcome, reason, count) in [
        ("executed", "", tally.executed),
        ("skipped", "active", tally.skipped),
        ("missed", "late", tally.missed_late),
        ("missed", "not_started", tally.missed_obstacle),
        ("unschedulable", "impossible", tally.unschedulable_impossible),
        ("unschedulable", "budget", tally.unschedulable_budget),
    ] {
        let labels = format!("{{outcome=\"{outcome}\",reason=\"{reason}\"}}");
        page.value("kron_outcomes_total", &labels, count);
    }
    page.counter(
        "kron_superseded_total",
        "Periods closed without a record: they passed while nobody looked, or waited when their job was changed or removed.",
        tally.superseded,
    );
    page.counter(
        "kron_start_failures_total",
        "Attempts to start that failed before the command ran.",
        tally.start_failures,
    );
    page.head("kron_exits_total", "counter", "Executions that ended, by how.");
    for (result, count) in [
        ("success", tally.succeeded),
        ("failure", tally.failed),
        ("replaced", tally.replaced),
        ("unseen", tally.unseen),
    ] {
        page.value("kron_exits_total", &format!("{{result=\"{result}\"}}"), count);
    }
    page.counter("kron_timeouts_total", "Executions ended by their timeout.", tally.timeouts);
    page.histogram(
        "kron_start_lateness_seconds",
        "From the chosen second until the command was released.",
        &LATENESS_MILLIS,
        &tally.lateness,
        tally.lateness_sum,
    );
    page.histogram(
        "kron_commit_seconds",
        "How long it took to make state durable.",
        &COMMIT_MILLIS,
        &commits.classes,
        commits.sum,
    );
    page.gauge("kron_jobs", "Configured jobs.", gauges.jobs as u64);
    page.gauge("kron_queue_length", "Jobs in line.", gauges.queued as u64);
    page.gauge("kron_running", "Executions that are active.", gauges.running as u64);
    let seconds = |at: UtcInstant| format!("{}.{:09}", at.unix_seconds(), at.subsec_nanos());
    if let Some(next) = gauges.next {
        page.gauge(
            "kron_next_wake_timestamp_seconds",
            "When something is due next.",
            seconds(next),
        );
    }
    page.gauge("kron_start_timestamp_seconds", "When the daemon started.", seconds(started_at));
    page.0
}

struct Page(String);

impl Page {
    // Writing to a string cannot fail.
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn value(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, "counter", help);
        self.value(name, "", value);
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl std::fmt::Display) {
        self.head(name, "gauge", help);
        self.value(name, "", value);
    }

    fn histogram(&mut self, name: &str, help: &str, ends: &[u64], counts: &[u64], sum: Duration) {
        self.head(name, "histogram", help);
        let mut total = 0;
        for (end, count) in ends.iter().zip(counts) {
            total += count;
            let end = Duration::from_millis(*end).as_secs_f64();
            self.value(name, &format!("_bucket{{le=\"{end}\"}}"), total);
        }
        total += counts.last().copied().unwrap_or(0);
        self.value(name, "_bucket{le=\"+Inf\"}", total);
        self.value(name, "_sum", sum.as_secs_f64());
        self.value(name, "_count", total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page() {
        let mut commits = Commits::default();
        commits.count(Duration::from_micros(900));
        commits.count(Duration::from_millis(7));
        commits.count(Duration::from_secs(60));
        let tally = Tally { executed: 3, missed_late: 1, ..Tally::default() };
        let gauges = Gauges { jobs: 2, queued: 2, running: 1, next: None };
        let page = page(&tally, &gauges, &commits, "2026-03-01T10:00:00Z".parse().unwrap());
        for line in [
            "kron_outcomes_total{outcome=\"executed\",reason=\"\"} 3",
            "kron_outcomes_total{outcome=\"missed\",reason=\"late\"} 1",
            "kron_commit_seconds_bucket{le=\"0.001\"} 1",
            "kron_commit_seconds_bucket{le=\"0.01\"} 2",
            "kron_commit_seconds_bucket{le=\"5\"} 2",
            "kron_commit_seconds_bucket{le=\"+Inf\"} 3",
            "kron_commit_seconds_count 3",
            "kron_running 1",
            "kron_start_timestamp_seconds 1772359200.000000000",
        ] {
            assert!(page.lines().any(|known| known == line), "{line}\n{page}");
        }
        assert!(!page.contains("kron_next_wake"), "{page}");
    }
}
