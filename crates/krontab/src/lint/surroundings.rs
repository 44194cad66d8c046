//! Whether this host has what an entry names: its program, user and group.

use kron_core::Span;
use kron_host::launch::{self, DEFAULT_PATH, NoProgram, PlanError};
use kron_tab::{Command, Entry, Key, Problem};
use kron_term::diagnostic::Finding;
use std::collections::HashMap;
use std::path::Path;

/// Looks things up once.
#[derive(Default)]
pub struct Surroundings {
    programs: HashMap<Box<str>, Option<NoProgram>>,
    accounts: HashMap<Box<str>, Option<PlanError>>,
}

impl Surroundings {
    /// `own` says that only a daemon of this user would read the file.
    pub fn check(&mut self, entry: &Entry, own: bool, findings: &mut Vec<Finding>) {
        self.program(entry, findings);
        self.accounts(entry, own, findings);
    }

    /// Its user and group.
    pub fn accounts(&mut self, entry: &Entry, own: bool, findings: &mut Vec<Finding>) {
        for (key, name) in [(Key::User, &entry.user), (Key::Group, &entry.group)] {
            if let (Some(name), Some(span)) = (name, entry.place(key)) {
                self.account(key, name, span, own, findings);
            }
        }
    }

    fn program(&mut self, entry: &Entry, findings: &mut Vec<Finding>) {
        let Command::Direct(words) = &entry.command else { return };
        let (Some(word), Some(span)) = (words.first(), entry.place(Key::Command)) else { return };
        let path = entry.env.iter().find(|variable| &*variable.name == "PATH");
        let path = path.map_or(DEFAULT_PATH, |variable| &variable.value);
        let cwd = entry.cwd.as_deref().map(Path::new);
        let error = if path == DEFAULT_PATH && (cwd.is_none() || word.starts_with('/')) {
            if !self.programs.contains_key(word.as_str()) {
                let found = launch::find_program(word, path, None).err();
                self.programs.insert(word.as_str().into(), found);
            }
            self.programs.get(word.as_str()).cloned().flatten()
        } else {
            launch::find_program(word, path, cwd).err()
        };
        if let Some(error) = error {
            let problem = Problem::new("no-program", span, error.to_string());
            let hint = match error {
                NoProgram::NotFound(word) if word.contains(' ') => {
                    "this is one word; each argument is a word of its own, and a text for a \
                     shell needs `shell=true`"
                        .into()
                }
                NoProgram::NotFound(word) if word.starts_with('~') => {
                    "`~` is not expanded; write the whole path".into()
                }
                NoProgram::NotFound(word) if !word.contains('/') => {
                    format!("looked for in {path}; write the whole path, or set `env=PATH=…`")
                }
                NoProgram::NotFound(_) => "not on this host, at least".into(),
                NoProgram::NotExecutable(path) if path.is_dir() => "it is a directory".into(),
                NoProgram::NotExecutable(path) => format!("`chmod +x {}`", path.display()),
            };
            findings.push(Finding::warning(problem.hint(hint)));
        }
    }

    fn account(
        &mut self,
        key: Key,
        name: &str,
        span: Span,
        own: bool,
        findings: &mut Vec<Finding>,
    ) {
        let slot = format!("{} {name}", key.as_str());
        let error = self.accounts.entry(slot.into()).or_insert_with(|| {
            let (user, group) =
                if key == Key::User { (Some(name), None) } else { (None, Some(name)) };
            launch::ids(user, group).err()
        });
        let problem = |error: &PlanError| Problem::new("unknown-account", span, error.to_string());
        match error {
            Some(error @ PlanError::NotPermitted(_)) if own => {
                findings.push(Finding::error(
                    Problem { code: "other-account", ..problem(error) }
                        .hint("leave the field out; jobs of a user run as that user"),
                ));
            }
            None | Some(PlanError::Database(_) | PlanError::NotPermitted(_)) => {}
            Some(error) => findings.push(Finding::warning(
                problem(error).hint("not on this host, at least; such a job does not run"),
            )),
        }
    }
}
