//! The audit log of the API server.

use kron_core::UtcInstant;
use serde_json::Value;
use std::error::Error;
use std::path::Path;

pub struct Audit(Vec<Value>);

impl Audit {
    /// All that is there; a line that is being written is left out.
    pub fn read(path: &Path) -> Result<Self, Box<dyn Error>> {
        let text = std::fs::read_to_string(path)?;
        Ok(Self(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()))
    }

    /// Requests by which Jobs were created.
    pub fn created(&self) -> Vec<&Value> {
        let is_creation = |line: &&Value| {
            line["verb"] == "create"
                && line["objectRef"]["resource"] == "jobs"
                && line["responseStatus"]["code"] == 201
                && !line["requestURI"].as_str().unwrap_or_default().contains("dryRun")
        };
        self.0.iter().filter(is_creation).collect()
    }

    /// How many milliseconds after a second each Job was there, in order.
    pub fn late(&self, due: i64) -> Vec<f64> {
        let mut late: Vec<f64> = self
            .created()
            .into_iter()
            .filter_map(|line| {
                let at = time(line, "stageTimestamp")?;
                Some((at.unix_seconds() - due) as f64 * 1e3 + f64::from(at.subsec_nanos()) / 1e6)
            })
            .collect();
        late.sort_by(f64::total_cmp);
        late
    }

    /// Requests of whoever created the Jobs, but for watches and leases.
    pub fn requests_since(&self, second: i64) -> usize {
        let Some(user) = self.created().first().map(|line| line["user"]["username"].clone()) else {
            return 0;
        };
        let counts = |line: &&Value| {
            line["user"]["username"] == user
                && line["verb"] != "watch"
                && line["objectRef"]["resource"] != "leases"
                && time(line, "requestReceivedTimestamp")
                    .is_some_and(|at| at.unix_seconds() >= second)
        };
        self.0.iter().filter(counts).count()
    }
}

fn time(line: &Value, key: &str) -> Option<UtcInstant> {
    line[key].as_str()?.parse().ok()
}
