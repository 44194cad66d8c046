//! `krontab add`, `set` and `remove`: one entry changes, nothing else does.
//!
//! The new file is read and checked before it takes the place of the old one.

use crate::cli::{Add, Remove, Set, Source, Target};
use crate::lint::{advise, other_accounts};
use crate::{clock, jobs, list};
use kron_core::syntax::Spec;
use kron_core::{Zones, nearest, quoted};
use kron_host::{config, places, replace};
use kron_tab::{Key, Line, Tab, edit, words};
use kron_term::diagnostic::{Finding, Page};
use kron_term::failure::{FATAL, Failure, INVALID, USER, warn};
use kron_term::{moment, terminal};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The file that new jobs go to.
pub const DEFAULT_FILE: &str = "jobs.kron";

pub fn add(arguments: &Add) -> Result<u8, Failure> {
    let Add { name, schedule: text, fields, .. } = arguments;
    if !text.trim().contains([' ', '\t']) && fields.iter().any(|field| !field.contains('=')) {
        let whole: Vec<&str> =
            fields.iter().take_while(|f| !f.contains('=')).map(String::as_str).collect();
        return Err(Failure::new(INVALID, "the schedule must be one argument").hint(format!(
            "put it into quotes: `krontab add {name} '{text} {}' …`",
            whole.join(" ")
        )));
    }
    if arguments.command.is_empty() && !fields.iter().any(|field| field.starts_with("command=")) {
        return Err(Failure::new(INVALID, "there is no command").hint(format!(
            "put it behind `--`: `krontab add {name} '{text}' -- /bin/echo hello`"
        )));
    }
    let path = target(arguments.target.file.as_deref())?;
    let mut line = Line { schedule: schedule(&arguments.schedule)?, fields: Vec::new() };
    line.set(Key::Name, one_line("the name", &arguments.name)?);
    apply(&mut line, &arguments.fields, &arguments.command)?;
    let mut draft = Draft::read(&path, !arguments.target.dry_run)?;
    if edit::find(&draft.text, &arguments.name).is_some() {
        let message = format!("there is a job `{}` already in {}", arguments.name, path.display());
        return Err(Failure::new(USER, message)
            .hint(format!("change it: `krontab set {} FIELD=VALUE`", arguments.name)));
    }
    let text = edit::append(&draft.text, &line);
    let tab = draft.check(&text)?;
    let added = format!("added `{}` to {}", arguments.name, path.display());
    draft.finish(&text, &tab, &arguments.name, &line, arguments.target.dry_run, &added)
}

pub fn set(arguments: &Set) -> Result<u8, Failure> {
    if arguments.fields.is_empty() && arguments.unset.is_empty() && arguments.command.is_empty() {
        return Err(Failure::new(INVALID, "nothing to set")
            .hint("name a field and its value, such as `user=www-data`"));
    }
    let (path, name) = locate(&arguments.job, &arguments.target)?;
    let mut draft = Draft::read(&path, !arguments.target.dry_run)?;
    let (mut line, range) = edit::find(&draft.text, &name)
        .ok_or_else(|| Failure::new(USER, format!("there is no job `{name}`")))?;
    for word in &arguments.unset {
        let key = key(word)?;
        if !line.unset(key) {
            return Err(Failure::new(USER, format!("`{name}` has no field `{word}`")));
        }
    }
    apply(&mut line, &arguments.fields, &arguments.command)?;
    let text = edit::replace(&draft.text, range, &line);
    let tab = draft.check(&text)?;
    let renamed =
        line.fields.iter().find(|(key, _)| *key == Key::Name).map(|(_, name)| name.clone());
    let new_name = renamed.unwrap_or_else(|| name.clone());
    if new_name != name {
        warn("a job's name is part of its identity: under another name it chooses other times");
    }
    let changed = format!("changed `{name}` in {}", path.display());
    draft.finish(&text, &tab, &new_name, &line, arguments.target.dry_run, &changed)
}

pub fn remove(arguments: &Remove) -> Result<u8, Failure> {
    let (path, name) = locate(&arguments.job, &arguments.target)?;
    let mut draft = Draft::read(&path, !arguments.target.dry_run)?;
    let (line, range) = edit::find(&draft.text, &name)
        .ok_or_else(|| Failure::new(USER, format!("there is no job `{name}`")))?;
    let text = edit::remove(&draft.text, range);
    draft.check(&text)?;
    if arguments.target.dry_run {
        terminal::print(&format!("would remove: {line}\n"));
        return Ok(0);
    }
    draft.write(&text)?;
    terminal::print(&format!("removed `{name}` from {}; it was:\n{line}\n", path.display()));
    terminal::print(RELOAD);
    Ok(0)
}

/// What is said after a file was written: nobody reads it unasked.
pub const RELOAD: &str = "a running krond has to be told: krond reload\n";

/// The file to change: the one given, or the default one.
pub fn target(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let path = match given {
        Some(path) => path.to_path_buf(),
        None => places::config_dir()
            .ok_or_else(|| Failure::new(USER, "no home directory, so no configuration is known"))?
            .join(DEFAULT_FILE),
    };
    places::clean(&path).map_err(|error| Failure::file(INVALID, &path, &error))
}

/// The file that a job stands in, and its name.
fn locate(job: &str, target: &Target) -> Result<(PathBuf, String), Failure> {
    if let Some(found) = target.file.as_deref().and_then(|file| locate_in(file, job)) {
        return Ok(found);
    }
    let source = Source { file: target.file.iter().cloned().collect(), installed: None };
    let files = jobs::load(&source, &mut Zones::bundled())?;
    let (_, entry) = jobs::find(&files, job)?;
    let identity = entry.job.identity().as_str();
    let path = &identity[..identity.len() - entry.name().len() - 1];
    Ok((path.into(), entry.name().to_string()))
}

/// The same, if it is in this file; the entry may be the one that is wrong with it, and is to be
/// mended.
fn locate_in(file: &Path, job: &str) -> Option<(PathBuf, String)> {
    let path = places::clean(file).ok()?;
    let bytes = config::read(&path).ok()?.bytes;
    let text = std::str::from_utf8(&bytes).ok()?;
    let prefix = format!("{}:", path.display());
    let name = job.strip_prefix(&prefix).unwrap_or(job).to_string();
    edit::find(text, &name).map(|_| (path, name))
}

fn key(word: &str) -> Result<Key, Failure> {
    Key::find(word).ok_or_else(|| {
        let hint = Key::suggest(word).or_else(|| {
            nearest(word, ["schedule"].into_iter()).map(|key| format!("did you mean `{key}`?"))
        });
        Failure::new(INVALID, format!("unknown field {}", quoted(word))).hint_if(hint)
    })
}

/// A schedule and nothing else: no comment, no fields.
fn schedule(text: &str) -> Result<String, Failure> {
    let text = one_line("the schedule", text)?.trim();
    Spec::parse(text).map_err(|errors| {
        jobs::report_schedule(text, &errors);
        Failure::new(INVALID, "nothing was written")
    })?;
    Ok(text.into())
}

/// Sets fields given as `key=value`, and the command given in words.
fn apply(line: &mut Line, fields: &[String], command: &[String]) -> Result<(), Failure> {
    let mut seen: Vec<&str> = Vec::new();
    for field in fields {
        // Of `env=NAME=value` the name is what may not come twice.
        let parts = if field.starts_with("env=") { 2 } else { 1 };
        let subject =
            field.match_indices('=').nth(parts - 1).map_or(&**field, |(at, _)| &field[..at]);
        if seen.contains(&subject) {
            return Err(Failure::new(INVALID, format!("`{subject}` is given twice")));
        }
        seen.push(subject);
        let Some((word, value)) = field.split_once('=') else {
            return Err(Failure::new(INVALID, format!("{} is not `field=value`", quoted(field)))
                .hint("a command with arguments goes behind `--`"));
        };
        let value = one_line(&format!("`{word}`"), value)?;
        if word == "schedule" {
            line.schedule = schedule(value)?;
            continue;
        }
        match key(word)? {
            Key::Env => line.set_env(value),
            key => line.set(key, value),
        }
    }
    if !command.is_empty() {
        if fields.iter().any(|field| field.starts_with("command=")) {
            return Err(Failure::new(INVALID, "the command is given twice")
                .hint("either `command=…` or words behind `--`"));
        }
        let is_shell = line.fields.iter().any(|(key, value)| *key == Key::Shell && value == "true");
        let text = match command {
            // One word for a shell is what the shell is to read.
            [text] if is_shell => text.clone(),
            words => words::join(words),
        };
        line.set(Key::Command, one_line("the command", &text)?);
    }
    Ok(())
}

/// A file has one entry a line; no value may bring a line of its own.
fn one_line<'a>(what: &str, text: &'a str) -> Result<&'a str, Failure> {
    if text.chars().any(|c| c.is_control() && c != '\t') {
        return Err(Failure::new(
            INVALID,
            format!("{what} has a control character: {}", quoted(text)),
        ));
    }
    Ok(text)
}

/// The file that is locked while another in its directory is changed.
const LOCK: &str = ".krontab.lock";

/// Keeps two changes of one directory apart. Others cannot open the file, and so
/// cannot lock it; it is gone when the change is made.
struct Lock {
    _file: Flock<File>,
    path: PathBuf,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Still locked: whoever has opened it meanwhile will find it gone, and
        // begin again.
        let _ = fs::remove_file(&self.path);
    }
}

impl Lock {
    fn take(path: &Path) -> Result<Self, Failure> {
        /// Nobody needs longer, unless to be in the way.
        const PATIENCE: Duration = Duration::from_secs(10);
        let directory = path.parent().unwrap_or(path);
        let failed = |error: &io::Error| Failure::file(FATAL, directory, error);
        DirBuilder::new().recursive(true).mode(0o755).create(directory).map_err(|e| failed(&e))?;
        let path = directory.join(LOCK);
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            match Self::attempt(&path).map_err(|error| failed(&error))? {
                Some(lock) => return Ok(lock),
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        }
        let message = format!("{} is locked by another program", directory.display());
        Err(Failure::new(FATAL, message).hint("is another `krontab` at work?"))
    }

    fn attempt(path: &Path) -> io::Result<Option<Self>> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.custom_flags(OFlag::O_NOFOLLOW.bits()).open(path)?;
        let file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(file) => file,
            Err((_, Errno::EWOULDBLOCK)) => return Ok(None),
            Err((_, errno)) => return Err(errno.into()),
        };
        // It must still be the file that others would open.
        let same = fs::metadata(path).is_ok_and(|now| {
            file.metadata().is_ok_and(|ours| (now.dev(), now.ino()) == (ours.dev(), ours.ino()))
        });
        Ok(same.then(|| Self { _file: file, path: path.into() }))
    }
}

/// Reads a text that is to become a file; if it may not, says why.
pub fn check(path: &Path, bytes: &[u8], zones: &mut Zones) -> Option<Tab> {
    let path = path.to_string_lossy();
    let tab = kron_tab::read(&path, bytes, zones);
    let problems = tab.problems.iter().cloned().map(Finding::error);
    let findings: Vec<Finding> = problems.chain(other_accounts(&tab)).collect();
    let page = Page::new(&path, bytes);
    for finding in &findings {
        terminal::print_error(&format!("{}\n", page.render(finding)));
    }
    findings.is_empty().then_some(tab)
}

/// A file about to be changed.
pub struct Draft {
    path: PathBuf,
    pub text: String,
    zones: Zones,
    /// Held until the change is made, against another `krontab`.
    _lock: Option<Lock>,
}

impl Draft {
    /// Reads the file, or begins a new one, to be changed: the directory is
    /// locked, and made if need be. The place must be safe.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        Self::read(path, true)
    }

    /// The same for one that will not be changed.
    pub fn peek(path: &Path) -> Result<Self, Failure> {
        Self::read(path, false)
    }

    fn read(path: &Path, change: bool) -> Result<Self, Failure> {
        let refused = |refusal: config::Refusal| {
            terminal::print_error(&kron_term::diagnostic::render_refusal(
                &path.display().to_string(),
                &refusal,
            ));
            Failure::reported(INVALID)
        };
        if fs::symlink_metadata(path).is_err() {
            config::check_new(path).map_err(refused)?;
        }
        let lock = if change { Some(Lock::take(path)?) } else { None };
        let exists = fs::symlink_metadata(path).is_ok();
        let bytes = if exists { config::read(path).map_err(refused)?.bytes } else { Vec::new() };
        let text = String::from_utf8(bytes).map_err(|_| {
            Failure::new(INVALID, format!("{}: file is not valid UTF-8", path.display()))
        })?;
        Ok(Self { path: path.into(), text, zones: Zones::bundled(), _lock: lock })
    }

    /// Reads what would be written; if anything is wrong, says so.
    pub fn check(&mut self, text: &str) -> Result<Tab, Failure> {
        check(&self.path, text.as_bytes(), &mut self.zones)
            .ok_or_else(|| Failure::new(INVALID, "nothing was written"))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn write(&self, text: &str) -> Result<(), Failure> {
        replace::replace(&self.path, text.as_bytes())
            .map_err(|error| Failure::file(FATAL, &self.path, &error))
    }

    fn finish(
        &self,
        text: &str,
        tab: &Tab,
        name: &str,
        line: &Line,
        dry_run: bool,
        done: &str,
    ) -> Result<u8, Failure> {
        let now = clock::now();
        let entry = tab.entries.iter().find(|entry| entry.name() == name);
        if let Some(entry) = entry {
            let path = self.path.to_string_lossy();
            let page = Page::new(&path, text.as_bytes());
            let findings = advise(entry, text, now);
            for finding in &findings {
                terminal::print_error(&format!("{}\n", page.render(finding)));
            }
        }
        if dry_run {
            terminal::print(&format!("{line}\n"));
        } else {
            self.write(text)?;
            terminal::print(&format!("{done}\n"));
        }
        if let Some(entry) = entry {
            let text = match list::next_run(&entry.job, now) {
                _ if entry.job.policy().suspend => "suspended; it does not run".into(),
                None => "it does not run within a year".into(),
                Some(at) => {
                    format!("first run: {}", moment::in_full(entry.job.zone(), at, now))
                }
            };
            terminal::print(&format!("{text}\n"));
        }
        if !dry_run {
            terminal::print(RELOAD);
        }
        Ok(0)
    }
}
