//! `kronctl validate`: everything wrong with manifests, and what is seldom meant.

use crate::cli::Validate;
use crate::manifest::{self, Manifest};
use crate::schema;
use kron_core::{Span, Zones};
use kron_import::yaml::Node;
use kron_term::diagnostic::Finding;
use kron_term::failure::{Failure, USER};
use krontab::import::read_one;
use krontab::lint::{Adviser, Report};

/// Checks files.
///
/// # Errors
/// When one cannot be read.
pub fn validate(arguments: &Validate, zones: &mut Zones) -> Result<u8, Failure> {
    let files = arguments.files.iter().map(|path| read_one(path)).collect::<Result<Vec<_>, _>>()?;
    let schema = schema::spec();
    let mut report = Report::new(&arguments.telling, zones)?;
    let (mut others, mut all) = (0, 0);
    for (shown, text) in &files {
        let (objects, mistake) = manifest::objects(text);
        all += objects.len() + usize::from(mistake.is_some());
        let mut findings: Vec<Finding> = mistake.iter().map(manifest::not_yaml).collect();
        let (ours, theirs): (Vec<Node>, Vec<Node>) =
            objects.into_iter().partition(manifest::is_ours);
        others += theirs.len();
        let read: Vec<(Node, Manifest)> = ours
            .into_iter()
            .map(|node| {
                let manifest = manifest::check(text, &node, None, &schema, zones);
                (node, manifest)
            })
            .collect();
        let adviser = report.adviser();
        adviser.expect(read.iter().filter_map(|(_, manifest)| manifest.job.as_ref()));
        let count = read.len();
        for (node, manifest) in read {
            advise(adviser, &node, &manifest, &mut findings);
            findings.extend(manifest.findings);
        }
        report.findings(shown, text.as_bytes(), count, findings);
    }
    if all == 0 {
        return Err(Failure::new(USER, "there is nothing in it: no object to validate"));
    }
    report.others = Some(others);
    Ok(report.finish())
}

/// What lint says of such a schedule, at the fields that it is about.
fn advise(adviser: &mut Adviser, node: &Node, manifest: &Manifest, findings: &mut Vec<Finding>) {
    let Some(job) = &manifest.job else { return };
    let field = |modifier: &str| match modifier {
        "@win" => "spec.window.duration",
        "@policy" => "spec.policy.deadline",
        "@only" => "spec.constraints.only",
        "@avoid" => "spec.constraints.avoid",
        _ => "spec.schedule",
    };
    let place = |path: &str| -> Span {
        let (span, _) = manifest::locate(node, path);
        span
    };
    let schedule = place("spec.schedule");
    let first = findings.len();
    adviser.timing(job, schedule, |modifier| place(field(modifier)), findings);
    for finding in &mut findings[first..] {
        let problem = &mut finding.problem;
        problem.message = format!("{}: {}", manifest.name, problem.message).into();
        problem.hint = problem
            .hint
            .take()
            .map(|hint| hint.replace("`@policy(deadline=1h)`", "`policy.deadline: 1h`").into());
    }
}
