//! `krontab edit`: a file in an editor, replaced only once it is valid.

use crate::change::{self, Draft};
use crate::cli::Edit;
use crate::diagnostic::{Finding, Page};
use crate::failure::{FATAL, Failure, INVALID, USER};
use crate::terminal;
use kron_core::Zones;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, BufRead, IsTerminal, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a new file begins with.
const TEMPLATE: &str = "\
# One job a line: schedule, then fields. `#` begins a comment line.
#
#   0 0 * * * @win(after,3h) name=backup command=\"/usr/local/bin/backup --full\"
#   |         |              |           |
#   cron      some time from name        what to run
#   fields    midnight to 3
";

pub fn edit(arguments: &Edit) -> Result<u8, Failure> {
    let path = change::target(arguments.file.as_deref())?;
    // The lock is not held while a person thinks; what is on disk is compared
    // again before it is replaced.
    let before = Draft::peek(&path)?.text;
    let begin = if before.is_empty() { TEMPLATE } else { &before };
    let copy = Copy::new(&path, begin)
        .map_err(|error| Failure::file(FATAL, &std::env::temp_dir(), &error))?;
    loop {
        run_editor(&copy.file)?;
        let text = read_back(&copy.file)?;
        if text.as_deref() == Ok(begin) {
            terminal::print("nothing changed\n");
            return Ok(0);
        }
        if let Some(text) = check(&path, &text) {
            return install(&path, &before, &text, copy);
        }
        if !again()? {
            return Err(Failure::new(INVALID, "not valid, so nothing was written"));
        }
    }
}

/// The text if it is valid; otherwise what is wrong has been printed.
fn check(path: &Path, text: &Result<String, Vec<u8>>) -> Option<String> {
    let bytes = match text {
        Ok(text) => text.as_bytes(),
        Err(bytes) => bytes,
    };
    let shown = path.to_string_lossy();
    let tab = kron_tab::read(&shown, bytes, &mut Zones::bundled());
    let page = Page::new(&shown, bytes);
    for problem in &tab.problems {
        terminal::print_error(&format!("{}\n", page.render(&Finding::error(problem.clone()))));
    }
    if tab.problems.is_empty() { text.clone().ok() } else { None }
}

fn install(path: &Path, before: &str, text: &str, copy: Copy) -> Result<u8, Failure> {
    let draft = Draft::open(path)?;
    if draft.text != before {
        let kept = copy.keep();
        return Err(Failure::new(USER, format!("{} was changed meanwhile", path.display()))
            .hint(format!("your version is kept in {}", kept.display())));
    }
    if let Err(failure) = draft.write(text) {
        let kept = copy.keep();
        return Err(failure.hint(format!("your version is kept in {}", kept.display())));
    }
    terminal::print(&format!("wrote {}\n", path.display()));
    Ok(0)
}

fn read_back(file: &Path) -> Result<Result<String, Vec<u8>>, Failure> {
    let bytes = fs::read(file).map_err(|error| Failure::file(INVALID, file, &error))?;
    Ok(String::from_utf8(bytes).map_err(std::string::FromUtf8Error::into_bytes))
}

/// Runs the editor of the user on a file.
fn run_editor(file: &Path) -> Result<(), Failure> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".into());
    // An editor may come with arguments; a shell reads them as the user wrote them.
    let status = Command::new("/bin/sh")
        .args(["-c", &format!("{editor} \"$1\""), "krontab"])
        .arg(file)
        .status()
        .map_err(|error| Failure::file(USER, Path::new(&editor), &error))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(USER, format!("the editor `{editor}` failed, so nothing was written"))
        .hint("choose another with the environment variable EDITOR"))
}

/// Whether to go on editing. Without a person to ask, no.
fn again() -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Ok(false);
    }
    loop {
        terminal::print_error("(e)dit again, or (q)uit without saving? ");
        let mut answer = String::new();
        let read = io::stdin().lock().read_line(&mut answer);
        match (read, answer.trim()) {
            (Ok(0) | Err(_), _) | (_, "q" | "quit") => return Ok(false),
            (_, "e" | "edit" | "") => return Ok(true),
            _ => {}
        }
    }
}

/// A private copy of the file, in a directory that nobody else can enter.
struct Copy {
    directory: PathBuf,
    file: PathBuf,
    kept: bool,
}

impl Copy {
    fn new(path: &Path, text: &str) -> io::Result<Self> {
        let base = std::env::temp_dir();
        let mut attempt = 0_u32;
        let directory = loop {
            let directory = base.join(format!("krontab.{}.{attempt}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&directory) {
                Ok(()) => break directory,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => {
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        };
        let file = directory.join(path.file_name().unwrap_or_default());
        let copy = Self { directory, file, kept: false };
        let mut out =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&copy.file)?;
        out.write_all(text.as_bytes())?;
        Ok(copy)
    }

    /// Leaves the copy where it is.
    fn keep(mut self) -> PathBuf {
        self.kept = true;
        self.file.clone()
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        if !self.kept {
            // It is in a temporary directory; what cannot be removed stays there.
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}
