//! A `KronJob` in a file, with everything wrong with it: against the definition of the
//! resource first, and if nothing is, by the operator's own reading of it.

use crate::schema::{self, finding};
use kron_core::{Category, Job, Span, Zones, quoted};
use kron_import::yaml::{self, Kind, Mistake, Node};
use kron_operator::api::KronJobSpec;
use kron_operator::convert::{self, identity};
use kron_tab::Problem;
use kron_term::diagnostic::Finding;
use serde_json::{Map, Value};
use std::ops::Range;

/// Longest name: its Jobs add the period to it.
pub const NAME: usize = 52;
/// Longest name of a namespace, as of every label of a host's name.
const LABEL: usize = 63;
/// What manifests say they are.
const API_VERSION: &str = "kron.io/v1alpha1";
const KIND: &str = "KronJob";
/// The namespace of those that name none.
const NAMESPACE: &str = "default";

/// The objects of a file, those in lists included, and where it stops being YAML.
#[must_use]
pub fn objects(text: &str) -> (Vec<Node>, Option<Mistake>) {
    let (documents, mistake) = yaml::documents(text);
    let mut objects = Vec::new();
    for document in documents {
        flatten(document, &mut objects);
    }
    (objects, mistake)
}

fn flatten(node: Node, objects: &mut Vec<Node>) {
    let is_list = kind(&node).is_some_and(|kind| kind.ends_with("List"));
    match (node.kind, is_list) {
        (Kind::Null, _) => {}
        (Kind::Map(pairs), true) => {
            for pair in pairs.into_iter().filter(|pair| pair.key.text == "items") {
                if let Kind::List(items) = pair.value.kind {
                    for item in items {
                        flatten(item, objects);
                    }
                }
            }
        }
        (kind, _) => objects.push(Node { kind, ..node }),
    }
}

/// What an object says it is.
#[must_use]
pub fn kind(node: &Node) -> Option<&str> {
    node.get("kind").and_then(Node::text)
}

/// The name of an object.
#[must_use]
pub fn name(node: &Node) -> &str {
    node.at(&["metadata", "name"]).and_then(Node::text).unwrap_or_default()
}

/// Whether an object is a `KronJob`, or was meant to be one.
#[must_use]
pub fn is_ours(node: &Node) -> bool {
    let version = node.get("apiVersion").and_then(Node::text).unwrap_or_default();
    kind(node).is_none_or(|kind| kind == KIND) || version.starts_with("kron.io/")
}

/// Why a file is not YAML.
#[must_use]
pub fn not_yaml(mistake: &Mistake) -> Finding {
    let span = Span::new(mistake.at, mistake.at);
    let message = format!("this is not YAML that is understood: {}", mistake.text);
    Finding::error(Problem::new("invalid-yaml", span, message))
}

/// A `KronJob` as it was read.
#[derive(Debug)]
pub struct Manifest {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Whether nobody said which namespace.
    pub is_assumed: bool,
    /// What it stands for, if nothing is wrong with it.
    pub job: Option<Job>,
    /// What is wrong with it.
    pub findings: Vec<Finding>,
}

/// Reads and checks an object. `given` is the namespace that it is taken to be in.
pub fn check(
    text: &str,
    node: &Node,
    given: Option<&str>,
    spec_schema: &Value,
    zones: &mut Zones,
) -> Manifest {
    let mut findings = Vec::new();
    head(node, &mut findings);
    let own = node.at(&["metadata", "namespace"]).and_then(Node::text);
    if let (Some(given), Some(own)) = (given, own)
        && given != own
    {
        let (span, _) = locate(node, "metadata.namespace");
        let message = format!("{} is not {}", quoted(own), quoted(given));
        let hint = "the namespace is part of the identity; leave `--namespace` out";
        let problem = Problem::new("other-namespace", span, message).found(own).hint(hint);
        findings.push(finding("metadata.namespace", problem.senseless()));
    }
    let (name, namespace) = (name(node), given.or(own));
    if let Some(pair) = node.pair("spec") {
        schema::check(&pair.value, pair.span, spec_schema, "spec", &mut findings);
    }
    let mut manifest = Manifest {
        name: name.into(),
        namespace: namespace.unwrap_or(NAMESPACE).into(),
        is_assumed: namespace.is_none(),
        job: None,
        findings,
    };
    if let (true, Some(spec)) = (manifest.findings.is_empty(), node.get("spec")) {
        match job(&manifest, spec, zones) {
            Ok(job) => manifest.job = Some(job),
            Err(problems) => {
                let deep = problems.iter().map(|problem| deep(text, node, problem));
                manifest.findings.extend(deep);
            }
        }
    }
    manifest
}

fn job(manifest: &Manifest, spec: &Node, zones: &mut Zones) -> Result<Job, Vec<convert::Problem>> {
    let spec: KronJobSpec = serde_json::from_value(schema::value(spec)).map_err(|error| {
        // The schema has let it pass, so this is one that it does not know.
        vec![convert::Problem {
            field: "spec".into(),
            code: "invalid-value",
            message: error.to_string(),
            expected: String::new(),
            hint: None,
            category: Category::Configuration,
            fault: 0..0,
        }]
    })?;
    convert::job(&manifest.namespace, &manifest.name, &spec, zones)
        .map_err(|invalid| invalid.problems)
}

/// What is around the spec.
fn head(node: &Node, findings: &mut Vec<Finding>) {
    let root = Span::new(node.span.start, node.span.start);
    if !matches!(node.kind, Kind::Map(_)) {
        let problem = Problem::new("wrong-type", node.span, "this is no manifest");
        findings.push(Finding::error(problem.expect("a mapping with `kind: KronJob`")));
        return;
    }
    let known = ["apiVersion", "kind", "metadata", "spec", "status"];
    let known: Map<String, Value> =
        known.map(|key| (key.into(), Value::Null)).into_iter().collect();
    for pair in node.pairs().iter().filter(|pair| !known.contains_key(&pair.key.text)) {
        let key = &pair.key.text;
        findings.push(finding(key, schema::unknown_field(key, pair.span, &known, "")));
    }
    for (key, wanted) in [("apiVersion", API_VERSION), ("kind", KIND)] {
        match node.pair(key) {
            None => findings.push(finding(key, missing(root).expect(format!("`{wanted}`")))),
            Some(pair) if pair.value.text() != Some(wanted) => {
                let text = pair.value.text().unwrap_or_default();
                let span = schema::place(&pair.value, pair.span);
                let problem =
                    Problem::new("unknown-name", span, format!("unknown name {}", quoted(text)));
                findings.push(finding(key, problem.found(text).expect(format!("`{wanted}`"))));
            }
            Some(_) => {}
        }
    }
    if node.get("spec").is_none() {
        findings.push(finding("spec", missing(root).expect("a mapping")));
    }
    metadata(node, root, findings);
}

fn missing(at: Span) -> Problem {
    Problem::new("missing-field", at, "this is missing")
}

fn metadata(node: &Node, root: Span, findings: &mut Vec<Finding>) {
    let Some(pair) = node.pair("metadata") else {
        findings.push(finding("metadata", missing(root).expect("a mapping with a `name`")));
        return;
    };
    for key in ["name", "namespace"] {
        let path = format!("metadata.{key}");
        let mut found = |problem| findings.push(finding(&path, problem));
        match pair.value.pair(key) {
            None if key == "name" => found(missing(pair.span).expect("a text")),
            None => {}
            Some(pair) => {
                let span = schema::place(&pair.value, pair.span);
                match schema::value(&pair.value) {
                    Value::String(name) => {
                        let problem = match key {
                            "name" => name_problem(&name, span),
                            _ => namespace_problem(&name, span),
                        };
                        problem.into_iter().for_each(found);
                    }
                    _ => {
                        let string = serde_json::json!({ "type": "string" });
                        schema::check(&pair.value, pair.span, &string, &path, findings);
                    }
                }
            }
        }
    }
}

/// What the API server would not take as a name, and what Jobs need.
fn name_problem(name: &str, at: Span) -> Option<Problem> {
    let long = too_long(name, NAME, at);
    let long =
        long.map(|long| long.expect(format!("at most {NAME}: its Jobs add the period to it")));
    let is_good = name.split('.').all(is_label);
    let expected = "lower-case letters and digits, with `-` and `.` inside";
    long.or_else(|| (!is_good).then(|| no_name(name, at).expect(expected)))
}

/// What it would not take as a namespace.
fn namespace_problem(name: &str, at: Span) -> Option<Problem> {
    let long = too_long(name, LABEL, at).map(|long| long.expect(format!("at most {LABEL}")));
    let expected = "lower-case letters and digits, with `-` inside";
    long.or_else(|| (!is_label(name)).then(|| no_name(name, at).expect(expected)))
}

fn too_long(name: &str, longest: usize, at: Span) -> Option<Problem> {
    let count = name.chars().count();
    let message = format!("this has {count} characters");
    (count > longest).then(|| Problem::new("too-long", at, message).found(name))
}

fn no_name(name: &str, at: Span) -> Problem {
    Problem::new("invalid-value", at, format!("{} is not a name", quoted(name))).found(name)
}

fn is_label(part: &str) -> bool {
    let is_inside = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = part.as_bytes();
    bytes.iter().all(|b| is_inside(*b) || *b == b'-')
        && bytes.first().is_some_and(|b| is_inside(*b))
        && bytes.last().is_some_and(|b| is_inside(*b))
}

/// What the operator says, at its place in the file.
fn deep(text: &str, root: &Node, found: &convert::Problem) -> Finding {
    let (span, node) = locate(root, &found.field);
    let span = node.map_or(span, |node| fault(text, node, &found.field, &found.fault));
    let problem = Problem {
        category: found.category,
        ..Problem::new(found.code, span, found.message.as_str())
            .found(span.slice(text))
            .expect(found.expected.as_str())
            .hint_if(found.hint.clone())
    };
    finding(&found.field, problem)
}

/// The part of a value that is at fault, if it is written in the file as it is.
fn fault(text: &str, node: &Node, path: &str, fault: &Range<usize>) -> Span {
    let value = node.text().unwrap_or_default();
    // The one field that the operator trims.
    let value = if path == "spec.schedule" { value.trim() } else { value };
    let raw = node.span.slice(text);
    match raw.find(value).filter(|_| fault.end <= value.len() && !value.is_empty()) {
        Some(at) => {
            let start = node.span.start + at;
            Span::new(start + fault.start, start + fault.end)
        }
        None => node.span,
    }
}

/// Where a path such as `spec.constraints.only[1]` leads: its scalar, or else the key
/// nearest to it.
#[must_use]
pub fn locate<'n>(root: &'n Node, path: &str) -> (Span, Option<&'n Node>) {
    let mut at = Span::new(root.span.start, root.span.start);
    let mut node = root;
    for step in path.split('.') {
        let (key, indexes) = step.split_once('[').unwrap_or((step, ""));
        let Some(pair) = node.pair(key) else { return (at, None) };
        (at, node) = (pair.span, &pair.value);
        for index in indexes.split(['[', ']']).filter_map(|index| index.parse::<usize>().ok()) {
            let Some(item) = node.items().get(index) else { return (at, None) };
            (at, node) = (item.span, item);
        }
    }
    if node.text().is_some() { (node.span, Some(node)) } else { (at, None) }
}

impl Manifest {
    /// What its seed knows it by.
    #[must_use]
    pub fn identity(&self) -> String {
        identity(&self.namespace, &self.name)
    }
}
