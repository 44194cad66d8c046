//! A daemon's configuration: every entry of every file, or everything wrong.
//!
//! A file may name users and groups, which must exist here and be ones that this
//! process may become; `krontab lint` only warns of that, because a file may be
//! written on one host for another.

use crate::diagnostic::{Finding, Page, refusal_code, render_refusal};
use crate::sources::{self, Found, Sheet, printable};
use annotate_snippets::{Group, Level, Renderer};
use kron_core::{Category, Zones};
use kron_host::config::{Reason, Refusal};
use kron_host::launch::{self, PlanError};
use kron_host::places;
use kron_tab::bounds::ENTRIES;
use kron_tab::{Entry, Key, Lines, Problem};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What paths turned out to hold.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The valid entries, file by file; their identities are unique.
    pub entries: Vec<Entry>,
    /// How many files there are, those that could not be used included.
    pub files: usize,
    /// Everything wrong with them.
    pub report: Report,
}

impl Loaded {
    /// The entries, if nothing is wrong with any file.
    ///
    /// # Errors
    /// Otherwise, what is wrong.
    pub fn all_or_nothing(self) -> Result<Vec<Entry>, Report> {
        if self.report.is_empty() { Ok(self.entries) } else { Err(self.report) }
    }
}

/// Everything wrong with a configuration.
#[derive(Debug, Default)]
pub struct Report {
    parts: Vec<Part>,
}

/// One file, or what stands above all files.
#[derive(Debug)]
enum Part {
    /// There is nothing to read.
    Nowhere { path: String, message: String, hint: String },
    /// A path cannot be used.
    Refused { path: String, refusal: Refusal },
    /// A file has mistakes; at least one.
    Mistakes { path: String, bytes: Vec<u8>, problems: Vec<Problem> },
}

/// One thing that is wrong, for a log line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong<'r> {
    /// The file; empty if there is none.
    pub path: &'r str,
    /// Its line, from 1, if it could be read.
    pub line: Option<usize>,
    /// The column, from 1, in characters.
    pub column: Option<usize>,
    /// The category of ERROR-MODEL, such as `ConfigurationError`.
    pub category: &'static str,
    /// A stable name, as in the JSON of `krontab lint`.
    pub code: &'static str,
    /// What is wrong, in one line.
    pub message: String,
    /// What to do about it.
    pub hint: Option<&'r str>,
}

/// Reads the configuration that is given, or else the default directory. That of
/// a user is made if it is not there yet; it is an empty configuration.
#[must_use]
pub fn load(given: &[PathBuf], zones: &mut Zones) -> Loaded {
    let mut loader = Loader::default();
    if given.is_empty() {
        match default_directory(places::config_dir(), places::is_system()) {
            Ok(directory) => loader.path(&directory, zones),
            Err(part) => loader.loaded.report.parts.push(part),
        }
    }
    for path in given {
        loader.path(path, zones);
    }
    loader.loaded
}

fn default_directory(known: Option<PathBuf>, system: bool) -> Result<PathBuf, Part> {
    let directory = known.ok_or_else(|| Part::Nowhere {
        path: String::new(),
        message: "no home directory, so no configuration is known".into(),
        hint: "set `HOME`, or name files or directories: `krond start PATH…`".into(),
    })?;
    if directory.exists() {
        return Ok(directory);
    }
    let hint = || {
        "add a job: `krontab add NAME 'SCHEDULE' -- COMMAND`, or name files or directories: \
         `krond start PATH…`"
            .into()
    };
    if system {
        return Err(Part::Nowhere {
            path: printable(&directory),
            message: "there is no such directory".into(),
            hint: hint(),
        });
    }
    match fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory) {
        Ok(()) => Ok(directory),
        Err(error) => Err(Part::Nowhere {
            path: printable(&directory),
            message: format!("cannot be created: {}", crate::failure::plain(&error)),
            hint: hint(),
        }),
    }
}

#[derive(Default)]
struct Loader {
    loaded: Loaded,
    /// Files met so far.
    paths: BTreeSet<PathBuf>,
    /// The same, by their place on the disk.
    places: BTreeMap<(u64, u64), PathBuf>,
    /// What users and groups were found to be.
    accounts: Accounts,
}

/// Why a user and a group cannot be taken on, each pair looked up once.
type Accounts = HashMap<(Option<Box<str>>, Option<Box<str>>), Option<PlanError>>;

impl Loader {
    fn path(&mut self, path: &Path, zones: &mut Zones) {
        match sources::files(path) {
            Ok(found) => found.iter().for_each(|file| self.file(file, zones)),
            Err(refusal) => {
                self.loaded.files += 1;
                self.refused(printable(path), refusal);
            }
        }
    }

    fn file(&mut self, found: &Found, zones: &mut Zones) {
        if !self.paths.insert(found.path.clone()) {
            return;
        }
        self.loaded.files += 1;
        // Under two names its jobs would be two of each. A file that is not there
        // is refused below.
        if let Ok(metadata) = fs::symlink_metadata(&found.path) {
            let place = (metadata.dev(), metadata.ino());
            if let Some(first) = self.places.get(&place) {
                let refusal = same_file(&found.path, first);
                self.refused(found.shown.clone(), refusal);
                return;
            }
            self.places.insert(place, found.path.clone());
        }
        match sources::read(found, None, zones) {
            Ok(sheet) => self.sheet(sheet),
            Err(refusal) => self.refused(found.shown.clone(), refusal),
        }
    }

    fn sheet(&mut self, sheet: Sheet) {
        let Sheet { shown, bytes, tab, .. } = sheet;
        let mut problems = tab.problems;
        let known = problems.len();
        let entries = &mut self.loaded.entries;
        for entry in tab.entries {
            if let Some(problem) = account_problem(&mut self.accounts, &entry) {
                problems.push(problem);
            } else if entries.len() == ENTRIES {
                problems.push(
                    Problem::new("too-many-entries", entry.schedule_span(), "too many entries")
                        .senseless()
                        .expect(format!("at most {ENTRIES} entries in all files")),
                );
                break;
            } else {
                entries.push(entry);
            }
        }
        if problems.is_empty() {
            return;
        }
        if problems.len() > known {
            problems.sort_by_key(|problem| problem.span);
        }
        self.loaded.report.parts.push(Part::Mistakes { path: shown, bytes, problems });
    }

    fn refused(&mut self, path: String, refusal: Refusal) {
        self.loaded.report.parts.push(Part::Refused { path, refusal });
    }
}

fn same_file(path: &Path, first: &Path) -> Refusal {
    let reason = Reason::Unsafe {
        message: format!("this is the same file as `{}`", printable(first)),
        hint: "name it once; a job's identity is its file's path and its name".into(),
    };
    Refusal { path: path.into(), reason }
}

/// What keeps an entry from running as the user and group it names.
fn account_problem(accounts: &mut Accounts, entry: &Entry) -> Option<Problem> {
    if entry.user.is_none() && entry.group.is_none() {
        return None;
    }
    let error = accounts
        .entry((entry.user.clone(), entry.group.clone()))
        .or_insert_with_key(|(user, group)| launch::ids(user.as_deref(), group.as_deref()).err())
        .as_ref()?;
    let group = match error {
        PlanError::UnknownGroup(_) => true,
        PlanError::NotPermitted(name) => entry.user.as_deref() != Some(name.as_str()),
        PlanError::UnknownUser(_) | PlanError::Database(_) => entry.user.is_none(),
    };
    let key = if group { Key::Group } else { Key::User };
    let (code, hint) = match error {
        PlanError::NotPermitted(_) => {
            ("other-account", "leave the field out; jobs of a user run as that user")
        }
        PlanError::UnknownUser(_) => ("unknown-account", "`getent passwd` lists the users"),
        PlanError::UnknownGroup(_) => ("unknown-account", "`getent group` lists the groups"),
        PlanError::Database(_) => ("account-database", "see what `getent passwd` says"),
    };
    let span = entry.place(key).unwrap_or(entry.schedule_span());
    let mut problem = Problem::new(code, span, error.to_string()).hint(hint);
    problem.field = Some(key);
    Some(problem)
}

impl Report {
    /// Whether nothing is wrong.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// How many things are wrong.
    #[must_use]
    pub fn count(&self) -> usize {
        let mistakes = |part: &Part| match part {
            Part::Mistakes { problems, .. } => problems.len(),
            Part::Nowhere { .. } | Part::Refused { .. } => 1,
        };
        self.parts.iter().map(mistakes).sum()
    }

    /// Everything for a person, as `krontab lint` shows it, with styles; for
    /// [`print_error`](crate::terminal::print_error).
    #[must_use]
    pub fn render(&self) -> String {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Nowhere { path, message, hint } => {
                    let title = match path.as_str() {
                        "" => message.clone(),
                        path => format!("{path}: {message}"),
                    };
                    let group = Group::with_title(Level::ERROR.primary_title(title))
                        .element(Level::HELP.message(hint));
                    out += &Renderer::styled().render(&[group]);
                    out += "\n\n";
                }
                Part::Refused { path, refusal } => {
                    out += &render_refusal(path, refusal);
                    out += "\n";
                }
                Part::Mistakes { path, bytes, problems } => {
                    let page = Page::new(path, bytes);
                    for problem in problems {
                        out += &page.render(&Finding::error(problem.clone()));
                        out += "\n";
                    }
                }
            }
        }
        out
    }

    /// Everything for a log, in the same order.
    #[must_use]
    pub fn list(&self) -> Vec<Wrong<'_>> {
        let mut list = Vec::with_capacity(self.count());
        for part in &self.parts {
            match part {
                Part::Nowhere { path, message, hint } => list.push(Wrong {
                    path,
                    line: None,
                    column: None,
                    category: Category::Configuration.as_str(),
                    code: "no-configuration",
                    message: message.clone(),
                    hint: Some(hint),
                }),
                Part::Refused { path, refusal } => list.push(Wrong {
                    path,
                    line: None,
                    column: None,
                    category: if refusal.is_unreadable() {
                        "SystemError"
                    } else {
                        Category::Configuration.as_str()
                    },
                    code: refusal_code(refusal),
                    message: refusal.to_string(),
                    hint: match &refusal.reason {
                        Reason::Unsafe { hint, .. } => Some(hint),
                        Reason::Unreadable(_) => None,
                    },
                }),
                Part::Mistakes { path, bytes, problems } => {
                    let lines = Lines::new(bytes);
                    list.extend(problems.iter().map(|problem| {
                        let at = lines.position(problem.span.start);
                        Wrong {
                            path,
                            line: Some(at.line),
                            column: Some(at.column),
                            category: problem.category.as_str(),
                            code: problem.code,
                            message: problem.message.to_string(),
                            hint: problem.hint.as_deref(),
                        }
                    }));
                }
            }
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::without_styles;

    fn directory() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    fn write(directory: &Path, name: &str, text: &str) -> PathBuf {
        let path = directory.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn names(loaded: &Loaded) -> Vec<&str> {
        loaded.entries.iter().map(Entry::name).collect()
    }

    const GOOD: &str = "0 0 * * * name=good command=/bin/true\n";

    #[test]
    fn a_file_given_twice_is_read_once() {
        let home = directory();
        let a = write(home.path(), "a.kron", GOOD);
        let given = [home.path().into(), a.clone(), home.path().join("./x/../a.kron")];
        let loaded = load(&given, &mut Zones::bundled());
        assert_eq!((names(&loaded), loaded.files), (vec!["good"], 1));
        assert!(loaded.all_or_nothing().is_ok());
    }

    #[test]
    fn a_file_under_two_names_is_refused() {
        let home = directory();
        let a = write(home.path(), "a.kron", GOOD);
        fs::hard_link(&a, home.path().join("b.kron")).unwrap();
        let report = load(&[home.path().into()], &mut Zones::bundled()).all_or_nothing();
        let report = report.unwrap_err();
        let list = report.list();
        assert_eq!(list.len(), 1);
        assert!(list[0].message.starts_with("this is the same file as"), "{list:?}");
    }

    /// ERR: all errors of all files, and what is valid beside them.
    #[test]
    fn everything_is_reported() {
        let home = directory();
        let a = write(
            home.path(),
            "a.kron",
            &format!("# first\n61 * * * * name=bad command=x\n{GOOD}"),
        );
        let b = write(home.path(), "b.kron", "0 0 * * * name=b command=x user=no-such-user-here\n");
        let missing = home.path().join("missing.kron");
        let given = [home.path().into(), missing.clone()];
        let loaded = load(&given, &mut Zones::bundled());
        assert_eq!((names(&loaded), loaded.files), (vec!["good"], 3));
        let shown = [a, b, missing].map(|path| path.display().to_string());
        let list = loaded.report.list();
        let rows: Vec<_> =
            list.iter().map(|w| (w.path, w.line, w.column, w.category, w.code)).collect();
        assert_eq!(
            rows,
            [
                (&*shown[0], Some(2), Some(1), "ConfigurationError", "out-of-range"),
                (&*shown[1], Some(1), Some(33), "ConfigurationError", "unknown-account"),
                (&*shown[2], None, None, "SystemError", "unreadable"),
            ]
        );
        assert_eq!(loaded.report.count(), 3);
        let text = without_styles(&loaded.report.render());
        for expected in [
            "61 * * * * name=bad",
            "error[unknown-account]: there is no user `no-such-user-here`",
            "help: `getent passwd` lists the users",
            "missing.kron: No such file or directory",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
    }

    #[test]
    fn the_default_directory() {
        let home = directory();
        let absent = home.path().join("config/krond");
        let shown = absent.display().to_string();
        let wrong = |result: Result<PathBuf, Part>| {
            let report = Report { parts: vec![result.unwrap_err()] };
            let text = without_styles(&report.render());
            let list = report.list();
            assert_eq!((list[0].code, list[0].line), ("no-configuration", None));
            assert!(text.contains(&list[0].message) && text.contains(list[0].hint.unwrap()));
            list[0].path.to_string()
        };
        assert_eq!(wrong(default_directory(None, false)), "");
        // The system's is nobody's to make but the administrator's.
        assert_eq!(wrong(default_directory(Some(absent.clone()), true)), shown);
        assert!(!absent.exists());
        assert_eq!(default_directory(Some(absent.clone()), false).unwrap(), absent);
        let loaded = load(&[absent], &mut Zones::bundled());
        assert!(loaded.report.is_empty() && loaded.entries.is_empty());
    }
}
