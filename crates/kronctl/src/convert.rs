//! `kronctl convert`: a `CronJob` as a `KronJob`.
//!
//! What the schedule and the policy become is decided in `kron-import`, as for `krontab
//! import`. A `CronJob` without `startingDeadlineSeconds` is caught up at any time; a
//! `KronJob` has a deadline, so it gets the shortest time between two periods: a late
//! start never meets the one after it.

use crate::cli::Convert;
use crate::{manifest, schema};
use kron_core::Zones;
use kron_core::time::duration::Pretty;
use kron_import::timing;
use kron_import::yaml::{Kind, Node};
use kron_tab::Problem;
use kron_term::failure::{Failure, USER, note};
use kron_term::terminal;
use krontab::import::read_one;
use std::time::Duration;

/// Why both cannot be live: the names of their Jobs are `<name>-<minutes since 1970>`, so
/// that each would be in the other's way.
const BOTH: &str = "its Jobs have the names of the CronJob's: suspend or delete the CronJob before this is applied";

/// Parts of the metadata that an API server or `kubectl` wrote.
const WRITTEN: [&str; 6] =
    ["creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"];
/// The annotation in which `kubectl apply` keeps what was applied.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Converts the `CronJob`s of a file.
///
/// # Errors
/// When it cannot be read, or has none.
pub fn convert(arguments: &Convert, zones: &mut Zones) -> Result<u8, Failure> {
    let (shown, text) = read_one(&arguments.file)?;
    let (objects, mistake) = manifest::objects(&text);
    let mut out = String::new();
    let mut refused = false;
    let mut count = 0;
    for object in &objects {
        let name = manifest::name(object);
        if manifest::kind(object) != Some("CronJob") {
            let kind = manifest::kind(object).unwrap_or("something without a kind");
            note(format_args!("{shown}:{}: passed over: {kind} {name}", object.line));
            continue;
        }
        count += 1;
        let (kronjob, remarks) = match kronjob(object, arguments.window, zones) {
            Ok((kronjob, changes)) => (Some(kronjob), changes),
            Err(reasons) => (None, reasons),
        };
        // A remark ends with its line, whatever a key is called.
        let line = |remark: &String| remark.replace(char::is_control, " ");
        let remarks: Vec<String> = remarks.iter().map(line).collect();
        let place = format!("{shown}:{}: {name}", object.line);
        let Some(kronjob) = kronjob else {
            refused = true;
            for reason in remarks {
                Failure::new(USER, format!("{place}: {reason}")).report();
            }
            continue;
        };
        out += if out.is_empty() { "" } else { "---\n" };
        for change in remarks {
            note(format_args!("{place}: {change}"));
            out += &format!("# {change}\n");
        }
        out += &kronjob.to_string();
    }
    if let Some(mistake) = mistake {
        refused = true;
        let message = format!("{shown}:{}: this is not YAML that is understood", mistake.line);
        Failure::new(USER, format!("{message}: {}", mistake.text)).report();
    } else if count == 0 {
        return Err(Failure::new(USER, format!("there is no CronJob in {shown}")));
    }
    terminal::print(&out);
    Ok(if refused { USER } else { 0 })
}

/// The manifest, and how it differs; or why there is none.
///
/// # Errors
/// When it cannot be carried over.
pub fn kronjob(
    cronjob: &Node,
    window: Option<Duration>,
    zones: &mut Zones,
) -> Result<(Node, Vec<String>), Vec<String>> {
    let spec = cronjob.get("spec").ok_or_else(|| vec!["`spec` is missing".to_string()])?;
    let timing = timing(spec)?;
    let mut changes = timing.changes;
    if spec.get("schedule").and_then(Node::text).is_some_and(|text| text.contains("TZ=")) {
        changes.push("the zone before the schedule becomes `timezone`".into());
    }
    let metadata = metadata(cronjob, &mut changes);
    let mut pairs = vec![("schedule", Node::scalar(timing.cron, false))];
    if let Some(zone) = &timing.zone {
        let is_plain = zone.contains('/');
        pairs.push(("timezone", Node::scalar(zone, is_plain)));
    }
    let length = |length: Duration| Node::scalar(Pretty(length).to_string(), true);
    if let Some(window) = window {
        let mode = Node::scalar("after", true);
        pairs.push(("window", Node::map(vec![("mode", mode), ("duration", length(window))])));
    }
    let mut policy = vec![
        ("concurrency", Node::scalar(timing.concurrency, true)),
        ("deadline", length(Duration::from_secs(timing.deadline_seconds))),
    ];
    if timing.suspend {
        policy.push(("suspend", Node::scalar("true", true)));
    }
    pairs.push(("policy", Node::map(policy)));
    let schema = schema::spec();
    for key in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit", "jobTemplate"] {
        if let Some(value) = spec.get(key) {
            let mut value = value.clone();
            quote_fractions(&mut value, &schema["properties"][key]);
            pairs.push((key, value));
        }
    }
    let kronjob = Node::map(vec![
        ("apiVersion", Node::scalar("kron.io/v1alpha1", true)),
        ("kind", Node::scalar("KronJob", true)),
        ("metadata", metadata),
        ("spec", Node::map(pairs)),
    ]);
    // Nothing is handed out that has not been read back and found valid.
    let text = kronjob.to_string();
    let read = manifest::objects(&text).0;
    let checked = read.iter().map(|node| manifest::check(&text, node, None, &schema, zones));
    let reason = |Problem { message, expected, hint, .. }: Problem| {
        let hint = hint.map_or(String::new(), |hint| format!(" ({hint})"));
        let expected =
            if expected.is_empty() { String::new() } else { format!("; accepted is {expected}") };
        format!("{message}{expected}{hint}")
    };
    if !timing.suspend {
        changes.push(BOTH.into());
    }
    let reasons: Vec<String> = checked
        .flat_map(|manifest| manifest.findings)
        .map(|finding| reason(finding.problem))
        .collect();
    if reasons.is_empty() { Ok((kronjob, changes)) } else { Err(reasons) }
}

fn metadata(cronjob: &Node, changes: &mut Vec<String>) -> Node {
    let given = cronjob.get("metadata").map_or(&[][..], Node::pairs);
    let mut kept = Vec::new();
    for pair in given.iter().filter(|pair| pair.value.kind != Kind::Null) {
        match &*pair.key.text {
            "name" | "namespace" | "labels" => kept.push(pair.clone()),
            "annotations" => {
                let mut pair = pair.clone();
                if let Kind::Map(annotations) = &mut pair.value.kind {
                    annotations.retain(|pair| pair.key.text != LAST_APPLIED);
                }
                if !pair.value.pairs().is_empty() {
                    kept.push(pair);
                }
            }
            key if WRITTEN.contains(&key) => {}
            key => changes.push(format!("not carried over: `metadata.{key}`")),
        }
    }
    Node::new(Kind::Map(kept))
}

/// Puts amounts such as `0.5` into quotes. Kubernetes reads them in a `CronJob` as what
/// they are; in other resources an amount is a whole number or a text.
fn quote_fractions(node: &mut Node, schema: &serde_json::Value) {
    let is_amount = schema["x-kubernetes-int-or-string"] == true;
    match &mut node.kind {
        Kind::Scalar(scalar) => {
            scalar.is_plain &= !is_amount || !scalar.text.contains('.');
        }
        Kind::List(items) => {
            for item in items {
                quote_fractions(item, &schema["items"]);
            }
        }
        Kind::Map(pairs) => {
            for pair in pairs {
                let known = &schema["properties"][&*pair.key.text];
                let schema = if known.is_null() { &schema["additionalProperties"] } else { known };
                quote_fractions(&mut pair.value, schema);
            }
        }
        Kind::Null => {}
    }
}
