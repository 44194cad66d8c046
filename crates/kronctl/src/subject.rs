//! The `KronJob`s that a command is about, from a file or from the cluster.

use crate::cli::Place;
use crate::cluster::{self, Reached};
use crate::manifest::{self, Manifest};
use crate::schema;
use kron_core::{Zones, nearest};
use kron_import::yaml::Node;
use kron_operator::api::KronJob;
use kron_operator::convert;
use kron_term::diagnostic::{Finding, Page};
use kron_term::failure::{Failure, INVALID, USER, note};
use kron_term::terminal;
use krontab::Named;
use krontab::import::read_one;
use kube::ResourceExt;
use std::path::Path;

/// Names listed where none is near.
const LISTED: usize = 10;

/// A `KronJob` that can be used.
#[derive(Debug)]
pub struct Subject {
    /// Its name, without the namespace.
    pub name: String,
    /// Its definition, called by its identity.
    pub named: Named,
}

/// The one that is meant.
///
/// # Errors
/// When there is none, or more than one, or it is not valid.
pub fn one(name: Option<&str>, place: &Place, zones: &mut Zones) -> Result<Subject, Failure> {
    let mut subjects = all(name, place, zones)?;
    match (subjects.pop(), subjects.as_slice()) {
        (Some(one), []) => Ok(one),
        (last, others) => {
            let names = others.iter().chain(&last).map(|subject| &*subject.name);
            let names: Vec<&str> = names.collect();
            Err(Failure::new(USER, format!("there are {} KronJobs", names.len()))
                .hint(format!("name one of them: {}", names.join(", "))))
        }
    }
}

/// Those that are meant: one, or all there are.
///
/// # Errors
/// When there is none of that name, or one is not valid.
pub fn all(name: Option<&str>, place: &Place, zones: &mut Zones) -> Result<Vec<Subject>, Failure> {
    match &place.file {
        Some(path) => in_file(path, name, place.namespace.as_deref(), zones),
        None => {
            let kronjobs = cluster::ask(place, async |reached: &Reached| match name {
                Some(name) => reached.kronjob(name).await.map(|kronjob| vec![kronjob]),
                None => reached.kronjobs().await,
            })?;
            kronjobs.iter().map(|kronjob| of(kronjob, zones)).collect()
        }
    }
}

/// Those of [`all`] that can be used, and the exit code: of a namespace, one that cannot be is
/// told of and does not keep the others from being shown.
///
/// # Errors
/// When none can.
pub fn usable(
    name: Option<&str>,
    place: &Place,
    zones: &mut Zones,
) -> Result<(Vec<Subject>, u8), Failure> {
    if name.is_some() || place.file.is_some() {
        return all(name, place, zones).map(|subjects| (subjects, 0));
    }
    let kronjobs = cluster::ask(place, async |reached: &Reached| reached.kronjobs().await)?;
    let mut subjects = Vec::new();
    let mut code = 0;
    for kronjob in &kronjobs {
        match of(kronjob, zones) {
            Ok(subject) => subjects.push(subject),
            Err(failure) => {
                failure.report();
                code = failure.code;
            }
        }
    }
    if subjects.is_empty() && code != 0 {
        return Err(Failure::reported(code));
    }
    Ok((subjects, code))
}

/// One that is in the cluster.
///
/// # Errors
/// When its spec cannot be used.
pub fn of(kronjob: &KronJob, zones: &mut Zones) -> Result<Subject, Failure> {
    let (namespace, name) = (kronjob.namespace().unwrap_or_default(), kronjob.name_any());
    let identity = convert::identity(&namespace, &name);
    match convert::job(&namespace, &name, &kronjob.spec, zones) {
        Ok(job) => Ok(Subject { name, named: Named { name: identity, job } }),
        Err(invalid) => {
            let problems: Vec<String> =
                invalid.problems.iter().map(|problem| format!("\n  {problem}")).collect();
            let message = format!("`{identity}` cannot be used:{}", problems.concat());
            Err(Failure::new(INVALID, message))
        }
    }
}

fn in_file(
    path: &Path,
    name: Option<&str>,
    namespace: Option<&str>,
    zones: &mut Zones,
) -> Result<Vec<Subject>, Failure> {
    let (shown, text) = read_one(path)?;
    let (objects, mistake) = manifest::objects(&text);
    let ours: Vec<Node> = objects.into_iter().filter(manifest::is_ours).collect();
    let meant: Vec<&Node> =
        ours.iter().filter(|node| name.is_none_or(|name| manifest::name(node) == name)).collect();
    if meant.is_empty() && mistake.is_none() {
        let names: Vec<&str> = ours.iter().map(manifest::name).collect();
        return Err(none(name, &names, &shown));
    }
    let schema = schema::spec();
    let page = Page::new(&shown, text.as_bytes());
    let tell = |finding: &Finding| terminal::print_error(&format!("{}\n", page.render(finding)));
    let mut is_broken = mistake.is_some();
    if let Some(mistake) = &mistake {
        tell(&manifest::not_yaml(mistake));
    }
    let mut subjects = Vec::new();
    for node in meant {
        let read = manifest::check(&text, node, namespace, &schema, zones);
        read.findings.iter().for_each(tell);
        let identity = read.identity();
        let Manifest { name, is_assumed, job: Some(job), .. } = read else {
            is_broken = true;
            continue;
        };
        if is_assumed {
            note(format_args!(
                "`{name}` names no namespace, so it is taken to be `{identity}`; \
                 `--namespace` says another"
            ));
        }
        subjects.push(Subject { name, named: Named { name: identity, job } });
    }
    if is_broken { Err(Failure::reported(INVALID)) } else { Ok(subjects) }
}

/// There is no such one.
#[must_use]
pub fn none(name: Option<&str>, names: &[&str], place: &str) -> Failure {
    let Some(name) = name else {
        return Failure::new(USER, format!("there is no KronJob in {place}"));
    };
    let failure = Failure::new(USER, format!("there is no KronJob `{name}` in {place}"));
    match (nearest(name, names.iter().copied()), names) {
        (Some(near), _) => failure.hint(format!("did you mean `{near}`?")),
        (None, []) => failure.hint("there are none at all"),
        (None, names) => {
            let more = if names.len() > LISTED { ", …" } else { "" };
            let names: Vec<&str> = names.iter().copied().take(LISTED).collect();
            failure.hint(format!("there are: {}{more}", names.join(", ")))
        }
    }
}
