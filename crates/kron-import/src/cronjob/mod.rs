//! Kubernetes `CronJob` manifests.
//!
//! `pod` says what the container runs. Here a manifest is found, and its
//! schedule read.

mod pod;

use crate::draft::{Draft, least_gap_seconds};
use crate::fields::{self, Dialect};
use crate::message::{duration, quoted};
use crate::model::{File, Remark};
use crate::yaml::{self, Node};

/// Settings of `CronJob.spec` that are read, or only about its history.
const READ: [&str; 8] = [
    "schedule",
    "timeZone",
    "concurrencyPolicy",
    "startingDeadlineSeconds",
    "suspend",
    "jobTemplate",
    "successfulJobsHistoryLimit",
    "failedJobsHistoryLimit",
];

/// What a manifest without a zone means.
const WITHOUT_ZONE: &str =
    "without `timeZone` the controller's own zone counts; it is taken for UTC";

/// When a `CronJob` runs, in Kron's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Five fields.
    pub cron: String,
    /// IANA name of the zone; nothing is UTC.
    pub zone: Option<String>,
    /// `allow`, `forbid` or `replace`.
    pub concurrency: &'static str,
    /// How late a run may begin.
    pub deadline_seconds: u64,
    /// Whether nothing runs for the time being.
    pub suspend: bool,
    /// The ways in which that differs.
    pub changes: Vec<String>,
}

/// Reads the schedule and the policy of a `CronJob`'s spec; what it runs does not
/// matter.
///
/// # Errors
/// When they cannot be carried over, for at least one reason.
pub fn timing(spec: &Node) -> Result<Timing, Vec<String>> {
    let mut reader = Reader::default();
    let mut draft = Draft::default();
    reader.schedule(spec, &mut draft);
    if draft.reasons.is_empty() {
        Reader::policy(spec, &mut draft);
    }
    if reader.without_zone {
        draft.change(WITHOUT_ZONE);
    }
    unknown(spec).for_each(|text| draft.change(text));
    if !draft.reasons.is_empty() {
        return Err(draft.reasons);
    }
    Ok(Timing {
        concurrency: draft.concurrency.unwrap_or("forbid"),
        cron: draft.cron,
        zone: draft.zone,
        deadline_seconds: draft.deadline_seconds,
        suspend: draft.suspend,
        changes: draft.changes,
    })
}

/// What is said of settings that nobody here knows.
fn unknown(spec: &Node) -> impl Iterator<Item = String> {
    let unknown = spec.keys().filter(|key| !READ.contains(key));
    unknown.map(|key| format!("not carried over: `spec.{key}`"))
}

/// Reads manifests.
pub(crate) fn read(files: &[File<'_>]) -> (Vec<Draft>, Vec<Remark>) {
    let mut reader = Reader::default();
    for (number, file) in files.iter().enumerate() {
        reader.file = number;
        let (documents, mistake) = yaml::documents(file.text);
        for document in &documents {
            reader.document(document);
        }
        if core::mem::take(&mut reader.without_zone) {
            let text = WITHOUT_ZONE.into();
            reader.remarks.push(Remark { file: number, line: None, text });
        }
        if let Some(yaml::Mistake { line, text, .. }) = mistake {
            let source = file.text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
            let mut draft = Draft {
                file: number,
                line: line.max(1),
                source: source.trim().into(),
                ..Draft::default()
            };
            draft.refuse(format!("this is not YAML that is understood: {text}"));
            reader.drafts.push(draft);
        }
    }
    (reader.drafts, reader.remarks)
}

#[derive(Default)]
struct Reader {
    file: usize,
    drafts: Vec<Draft>,
    remarks: Vec<Remark>,
    /// Whether a manifest of this file gave no zone.
    without_zone: bool,
}

impl Reader {
    fn remark(&mut self, line: usize, text: String) {
        self.remarks.push(Remark { file: self.file, line: Some(line), text });
    }

    fn document(&mut self, node: &Node) {
        match node.get("kind").and_then(Node::text) {
            Some("CronJob") => {
                let draft = self.cronjob(node);
                self.drafts.push(draft);
            }
            Some(kind) if kind == "List" || kind == "CronJobList" => {
                for item in node.get("items").map_or(&[][..], Node::items) {
                    self.document(item);
                }
            }
            Some(kind) => {
                self.remark(node.line, format!("{} is not a CronJob; skipped", quoted(kind)));
            }
            None if node.kind == yaml::Kind::Null => {}
            None => self.remark(node.line, "a document without `kind`; skipped".into()),
        }
    }

    fn cronjob(&mut self, node: &Node) -> Draft {
        let text = |path: &[&str]| node.at(path).and_then(Node::text);
        let name = text(&["metadata", "name"]).unwrap_or_default();
        let base = match text(&["metadata", "namespace"]) {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name.into(),
        };
        let mut draft = Draft {
            file: self.file,
            line: node.line,
            source: format!("CronJob {base}"),
            base,
            ..Draft::default()
        };
        if name.is_empty() {
            draft.refuse("`metadata.name` is missing");
        }
        let Some(spec) = node.get("spec") else {
            draft.refuse("`spec` is missing");
            return draft;
        };
        self.schedule(spec, &mut draft);
        if draft.reasons.is_empty() {
            Self::policy(spec, &mut draft);
        }
        pod::read(spec, &mut draft);
        unknown(spec).for_each(|text| draft.change(text));
        draft
    }

    fn schedule(&mut self, spec: &Node, draft: &mut Draft) {
        let Some(text) = spec.get("schedule").and_then(Node::text) else {
            return draft.refuse("`spec.schedule` is missing");
        };
        let mut zone = spec.get("timeZone").and_then(Node::text);
        let mut text = text.trim();
        for prefix in ["CRON_TZ=", "TZ="] {
            if let Some(rest) = text.strip_prefix(prefix) {
                let (name, rest) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
                (zone, text) = (Some(name), rest.trim());
                break;
            }
        }
        match zone {
            Some(zone) => draft.in_zone(zone),
            None => self.without_zone = true,
        }
        if text.starts_with("@every") {
            return draft.refuse(format!(
                "{} counts from the start of the controller, and Kron only knows the calendar",
                quoted(text)
            ));
        }
        let text = if text.starts_with('@') {
            match fields::named(&text.to_ascii_lowercase()) {
                Some(fields) => fields,
                None => return draft.refuse(format!("{} is not known", quoted(text))),
            }
        } else {
            text
        };
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let count = words.len();
        let Ok(words) = words.try_into() else {
            return draft.refuse(format!("{} has {count} fields, not five", quoted(text)));
        };
        match fields::convert(words, Dialect::Robfig) {
            Ok(converted) => {
                draft.cron = converted.cron;
                draft.changes.extend(converted.changes);
            }
            Err(reasons) => draft.reasons.extend(reasons),
        }
    }

    fn policy(spec: &Node, draft: &mut Draft) {
        draft.concurrency = match spec.get("concurrencyPolicy").and_then(Node::text) {
            None | Some("Allow") => Some("allow"),
            Some("Forbid") => None,
            Some("Replace") => Some("replace"),
            Some(other) => {
                return draft.refuse(format!("{} is not a concurrency policy", quoted(other)));
            }
        };
        draft.suspend = spec.get("suspend").and_then(Node::text) == Some("true");
        match spec.get("startingDeadlineSeconds").and_then(Node::text) {
            Some(text) => match text.parse::<u32>() {
                Ok(seconds) => draft.deadline_seconds = seconds.into(),
                Err(_) => draft.refuse(format!(
                    "`startingDeadlineSeconds` is not a number of seconds: {}",
                    quoted(text)
                )),
            },
            None => {
                draft.deadline_seconds = least_gap_seconds(&draft.cron);
                draft.change(format!(
                    "without `startingDeadlineSeconds` the last missed run is caught up at any \
                     time; here a start may be {} late",
                    duration(draft.deadline_seconds)
                ));
            }
        }
    }
}
