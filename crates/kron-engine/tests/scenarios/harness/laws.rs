//! What holds in every scenario, whatever it is about.

use kron_core::line::{Level, Line};
use kron_core::{PeriodId, Record, UtcInstant, Zones};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

type Key = (String, String);

/// Everything seen so far, over all lives of the daemon.
#[derive(Default)]
pub struct Laws {
    decided: BTreeMap<Key, Option<String>>,
    outcomes: BTreeMap<Key, String>,
    released: BTreeSet<Key>,
    started: BTreeSet<Key>,
}

impl Laws {
    pub fn outcomes(&self) -> &BTreeMap<Key, String> {
        &self.outcomes
    }

    pub fn released(&self) -> &BTreeSet<Key> {
        &self.released
    }

    /// At most one release of a period, ever.
    pub fn release(&mut self, identity: &str, period: PeriodId) {
        let key = (identity.to_string(), period.to_string());
        assert!(self.released.insert(key.clone()), "{key:?} runs twice");
        let outcome = self.outcomes.get(&key);
        assert!(outcome.is_none(), "{key:?} runs after {outcome:?}");
    }

    /// Nothing is prepared before its time or without a decision.
    pub fn prepare(&self, identity: &str, period: PeriodId, chosen: UtcInstant, now: UtcInstant) {
        let key = (identity.to_string(), period.to_string());
        assert!(now >= chosen, "{key:?} is prepared before {chosen}, at {now}");
        let decided = self.decided.get(&key);
        assert_eq!(decided, Some(&Some(chosen.to_string())), "{key:?} has no decision");
    }

    pub fn line(&mut self, line: &Line, zones: &mut Zones) {
        let get = |key: &str| line.get(key).map(Cow::Borrowed);
        let text =
            |key: &str| line.get(key).unwrap_or_else(|| panic!("no `{key}`: {line:?}")).to_string();
        let known = |key: &str| line.get(key).is_some();
        match line.event {
            "decision" => {
                let record = Record::from_log_fields(get).unwrap_or_else(|e| panic!("{e:?}"));
                assert_eq!(record.verify(zones).expect("verifiable"), [], "{line:?}");
                let key = (text("identity"), text("period_id"));
                self.decided.insert(key, record.chosen_time);
            }
            "outcome" => {
                let key = (text("identity"), text("period_id"));
                let outcome = text("outcome");
                assert_eq!(text("nominal_time"), text("period_id"));
                assert_eq!(known("chosen_time"), outcome != "unschedulable", "{line:?}");
                assert_eq!(known("reason"), outcome != "executed", "{line:?}");
                assert!(known("seed_hash") && known("job"), "{line:?}");
                assert!(!known("error_type"), "an outcome is no error: {line:?}");
                let level = if outcome == "unschedulable" { Level::Warn } else { Level::Info };
                assert_eq!(line.level, level, "{line:?}");
                let decided = self.decided.get(&key).unwrap_or_else(|| {
                    panic!("an outcome without a decision: {line:?}");
                });
                assert_eq!(decided.as_deref(), line.get("chosen_time"), "{line:?}");
                if outcome == "executed" {
                    assert!(!self.outcomes.contains_key(&key), "{line:?}");
                }
                let before = self.outcomes.insert(key, outcome);
                assert!(before.is_none(), "a second outcome after {before:?}: {line:?}");
            }
            "started" => {
                let key = (text("identity"), text("period_id"));
                assert!(self.released.contains(&key), "{line:?}");
                assert!(self.started.insert(key), "{line:?}");
                assert!(known("pid") && known("seed_hash"), "{line:?}");
            }
            "error" | "quarantined" => {
                for key in ["identity", "error_type", "operation", "message"] {
                    assert!(known(key), "no `{key}`: {line:?}");
                }
                assert_eq!(line.level, Level::Error, "{line:?}");
            }
            _ => {}
        }
    }
}
