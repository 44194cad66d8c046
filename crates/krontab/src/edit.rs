//! `krontab edit`: a file in an editor, replaced only once it is valid.

use crate::change::{self, Draft, RELOAD};
use crate::cli::Edit;
use kron_core::Zones;
use kron_term::failure::{FATAL, Failure, INVALID, USER};
use kron_term::terminal;
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
        let text = fs::read(&copy.file).map_err(|e| Failure::file(INVALID, &copy.file, &e))?;
        if text == begin.as_bytes() {
            terminal::print("nothing changed\n");
            return Ok(0);
        }
        if change::check(&path, &text, &mut Zones::bundled()).is_some() {
            return install(&path, &before, &text).map_err(|failure| copy.kept_by(failure));
        }
        match again() {
            Answer::Again => {}
            Answer::Quit => return Err(Failure::new(INVALID, "not valid, so nothing was written")),
            Answer::Nobody => {
                let failure = Failure::new(INVALID, "not valid, so nothing was written");
                return Err(copy.kept_by(failure));
            }
        }
    }
}

fn install(path: &Path, before: &str, text: &[u8]) -> Result<u8, Failure> {
    let draft = Draft::open(path)?;
    if draft.text != before {
        return Err(Failure::new(USER, format!("{} was changed meanwhile", path.display())));
    }
    // It has been read as a file, so it is UTF-8.
    draft.write(&String::from_utf8_lossy(text))?;
    terminal::print(&format!("wrote {}\n{RELOAD}", path.display()));
    Ok(0)
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

/// What to do with a text that is not valid.
enum Answer {
    Again,
    Quit,
    /// There is nobody to ask.
    Nobody,
}

fn again() -> Answer {
    if !io::stdin().is_terminal() {
        return Answer::Nobody;
    }
    loop {
        terminal::print_error("(e)dit again, or (q)uit without saving? ");
        let mut answer = String::new();
        let read = io::stdin().lock().read_line(&mut answer);
        match (read, answer.trim()) {
            (Ok(0) | Err(_), _) => {
                terminal::print_error("\n");
                return Answer::Nobody;
            }
            (_, "q" | "quit") => return Answer::Quit,
            (_, "e" | "edit" | "") => return Answer::Again,
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

    /// Leaves the copy where it is, and says so with the failure.
    fn kept_by(mut self, failure: Failure) -> Failure {
        self.kept = true;
        failure.hint(format!("your version is kept in {}", self.file.display()))
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
