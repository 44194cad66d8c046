//! The jobs a command speaks of: files read, checked, and one job found.

use crate::cli::{Source, SourceOrSchedule};
use kron_core::{Job, Zones, nearest};
use kron_host::places;
use kron_tab::Entry;
use kron_term::diagnostic::{Finding, Page, render_refusal};
use kron_term::failure::{Failure, INVALID, USER};
use kron_term::sources::{self, Sheet, files, printable};
use kron_term::terminal;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The paths to look at: those given, or the default directory.
pub fn paths(given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    if !given.is_empty() {
        return Ok(given.to_vec());
    }
    let directory = places::config_dir()
        .ok_or_else(|| Failure::new(USER, "no home directory, so no configuration is known"))?;
    Ok(vec![directory])
}

/// There is nothing to read yet.
pub fn no_configuration(path: &Path, code: u8) -> Failure {
    Failure::new(code, format!("there is no configuration yet: no `{}`", path.display()))
        .hint("add a job: `krontab add NAME 'SCHEDULE' -- COMMAND`, or name a file: `--file PATH`")
}

/// Every file of a source, all of them valid; otherwise everything wrong with
/// them has been printed.
pub fn load(source: &Source, zones: &mut Zones) -> Result<Vec<Sheet>, Failure> {
    let mut loaded = Vec::new();
    let mut failed = false;
    // A file named twice is one file.
    let mut seen = BTreeSet::new();
    let missing = |path: &Path| source.file.is_empty() && !path.exists();
    for path in paths(&source.file)? {
        if missing(&path) {
            return Err(no_configuration(&path, USER));
        }
        let found = match files(&path) {
            Ok(found) => found,
            Err(refusal) => {
                failed = true;
                terminal::print_error(&render_refusal(&printable(&path), &refusal));
                continue;
            }
        };
        for file in found {
            if !seen.insert(file.path.clone()) {
                continue;
            }
            match sources::read(&file, source.installed.as_deref(), zones) {
                Ok(sheet) => {
                    failed |= !sheet.tab.problems.is_empty();
                    report(&sheet);
                    loaded.push(sheet);
                }
                Err(refusal) => {
                    failed = true;
                    terminal::print_error(&render_refusal(&file.shown, &refusal));
                }
            }
        }
    }
    if failed { Err(Failure::reported(INVALID)) } else { Ok(loaded) }
}

/// Prints the problems of a file to standard error.
pub fn report(file: &Sheet) {
    if file.tab.problems.is_empty() {
        return;
    }
    let page = Page::new(&file.shown, &file.bytes);
    for problem in &file.tab.problems {
        terminal::print_error(&format!("{}\n", page.render(&Finding::error(problem.clone()))));
    }
}

/// The entry that a name or an identity means.
pub fn find<'a>(files: &'a [Sheet], wanted: &str) -> Result<(&'a Sheet, &'a Entry), Failure> {
    let all = || files.iter().flat_map(|file| file.tab.entries.iter().map(move |e| (file, e)));
    let identity = |entry: &Entry| entry.job.identity().as_str() == wanted;
    let mut found: Vec<_> =
        all().filter(|(_, entry)| entry.name() == wanted || identity(entry)).collect();
    match (found.pop(), found.as_slice()) {
        (Some(one), []) => Ok(one),
        (Some(last), others) => {
            let identities = others.iter().chain([&last]).map(|(_, entry)| entry.job.identity());
            let list: Vec<String> = identities.map(|id| format!("\n  {id}")).collect();
            let message = format!("several jobs are called `{wanted}`");
            Err(Failure::new(USER, message).hint(format!("name one of them:{}", list.concat())))
        }
        (None, _) => {
            let near = nearest(wanted, all().map(|(_, entry)| entry.name()));
            let hint = match (near, all().count()) {
                (Some(near), _) => format!("did you mean `{near}`?"),
                (None, 0) => "the configuration has no jobs".into(),
                (None, _) => "`krontab list` shows the jobs there are".into(),
            };
            Err(Failure::new(USER, format!("there is no job `{wanted}`")).hint(hint))
        }
    }
}

/// A job and what it is called.
#[derive(Clone, Debug)]
pub struct Named {
    /// In the output.
    pub name: String,
    /// The job.
    pub job: Job,
}

impl AsRef<Job> for Named {
    fn as_ref(&self) -> &Job {
        &self.job
    }
}

/// The jobs that a command is about: a bare schedule, one job, or all.
pub fn select(
    source: &SourceOrSchedule,
    wanted: Option<&str>,
    zones: &mut Zones,
) -> Result<Vec<Named>, Failure> {
    if let (Some(schedule), Some(identity)) = (&source.schedule, &source.identity) {
        let job = bare(schedule, identity, zones)?;
        return Ok(vec![Named { name: identity.clone(), job }]);
    }
    let files = load(&source.source, zones)?;
    if let Some(wanted) = wanted {
        let (_, entry) = find(&files, wanted)?;
        return Ok(vec![Named { name: entry.name().to_string(), job: entry.job.clone() }]);
    }
    let entries = files.into_iter().flat_map(|file| file.tab.entries);
    Ok(entries.map(|entry| Named { name: entry.name().into(), job: entry.job }).collect())
}

/// A job from the command line alone.
fn bare(schedule: &str, identity: &str, zones: &mut Zones) -> Result<Job, Failure> {
    Job::parse(identity, schedule, zones).map_err(|errors| {
        report_schedule(schedule, &errors);
        Failure::reported(INVALID)
    })
}

/// Prints what is wrong with a schedule that stands in no file.
pub fn report_schedule(schedule: &str, errors: &kron_core::DefinitionErrors) {
    let page = Page::new("schedule", schedule.as_bytes());
    for error in errors.as_slice() {
        let problem = kron_tab::Problem::in_schedule(error, 0);
        terminal::print_error(&format!("{}\n", page.render(&Finding::error(problem))));
    }
}
