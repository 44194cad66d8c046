//! What the documents show is what the programs print.
//!
//! A page is Markdown. A block ```` ```kron file=NAME ```` is a file; in a block
//! ```` ```console ```` each line that begins with `$ ` is a command for a shell,
//! and the lines below are its output, standard error included, and `[exit N]` if
//! it fails. `[..]` in a line stands for anything. A page starts in an empty
//! directory; the blocks of a page follow one another. A command that ends in `&`
//! goes on, until the page ends at the latest.
//!
//! With `UPDATE=1` outputs are written anew; read them before you keep them.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The pages of a directory.
///
/// # Panics
/// When it cannot be read.
#[must_use]
pub fn pages_of(directory: &Path) -> Vec<PathBuf> {
    let mut pages = crate::files(directory).unwrap();
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    pages
}

/// Runs pages with a program on the search path; returns how many commands there
/// were.
///
/// # Panics
/// When something is printed that a page does not show.
#[must_use]
pub fn check(pages: &[PathBuf], program: &Path) -> usize {
    let mut wrong = Vec::new();
    let mut commands = 0;
    for path in pages {
        let text = fs::read_to_string(path).unwrap();
        let page = Page::run(&text, program);
        commands += page.commands;
        wrong.extend(page.wrong.iter().map(|text| format!("{}\n{text}", path.display())));
        if std::env::var_os("UPDATE").is_some() {
            fs::write(path, &page.output).unwrap();
        } else if page.wrong.is_empty() {
            assert_eq!(page.output, text, "{} was not read as it is", path.display());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    commands
}

/// A page run from top to bottom.
struct Page {
    directory: tempfile::TempDir,
    path: String,
    output: String,
    commands: usize,
    wrong: Vec<String>,
    /// Process groups of commands that may go on.
    background: Vec<u32>,
}

impl Drop for Page {
    fn drop(&mut self) {
        for group in &self.background {
            let mut kill = Command::new("/bin/kill");
            kill.args(["-KILL", "--", &format!("-{group}")]);
            // Mostly there is nobody left.
            let _ = kill.stdout(Stdio::null()).stderr(Stdio::null()).status();
        }
    }
}

impl Page {
    fn run(text: &str, program: &Path) -> Self {
        let mut page = Self {
            directory: tempfile::tempdir().unwrap(),
            path: format!("{}:/usr/bin:/bin", program.parent().unwrap().display()),
            output: String::new(),
            commands: 0,
            wrong: Vec::new(),
            background: Vec::new(),
        };
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            page.output += &format!("{line}\n");
            if let Some(info) = line.strip_prefix("```").filter(|info| !info.is_empty()) {
                let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
                match info.split_once(" file=") {
                    Some((_, name)) => page.file(name, &body),
                    None if info == "console" => page.console(&body),
                    None => page.copy(&body),
                }
                page.output += "```\n";
            }
        }
        page
    }

    fn copy(&mut self, body: &[&str]) {
        for line in body {
            self.output += &format!("{line}\n");
        }
    }

    fn file(&mut self, name: &str, body: &[&str]) {
        self.copy(body);
        fs::write(self.directory.path().join(name), body.join("\n") + "\n").unwrap();
    }

    fn console(&mut self, body: &[&str]) {
        let mut rest = body;
        while let Some((command, after)) = rest.split_first() {
            let command =
                command.strip_prefix("$ ").unwrap_or_else(|| panic!("no `$ `: {command}"));
            let end = after.iter().position(|l| l.starts_with("$ ")).unwrap_or(after.len());
            let (expected, next) = after.split_at(end);
            self.command(command, expected);
            rest = next;
        }
    }

    fn command(&mut self, command: &str, expected: &[&str]) {
        self.commands += 1;
        let actual = self.shell(command);
        let actual: Vec<&str> = actual.lines().collect();
        let same = actual.len() == expected.len()
            && actual.iter().zip(expected).all(|(line, pattern)| matches(line, pattern));
        self.output += &format!("$ {command}\n");
        if same {
            // Patterns stay patterns.
            self.copy(expected);
        } else {
            let show = |lines: &[&str]| lines.join("\n");
            self.wrong.push(format!(
                "$ {command}\n--- expected\n{}\n--- printed\n{}\n",
                show(expected),
                show(&actual)
            ));
            // A pattern that still fits stays, the rest is written as it is.
            let fits =
                |pattern: &&&str, line: &str| pattern.contains("[..]") && matches(line, pattern);
            let kept: Vec<&str> = actual
                .iter()
                .map(|line| *expected.iter().find(|pattern| fits(pattern, line)).unwrap_or(line))
                .collect();
            self.copy(&kept);
        }
    }

    fn shell(&mut self, command: &str) -> String {
        let child = Command::new("/bin/sh")
            .args(["-c", &format!("exec 2>&1\n{command}")])
            .current_dir(self.directory.path())
            .env_clear()
            .envs([("PATH", self.path.as_str()), ("LANG", "C.UTF-8")])
            .env("HOME", self.directory.path())
            .env("XDG_CONFIG_HOME", self.directory.path().join("config"))
            .env("XDG_STATE_HOME", self.directory.path().join("state"))
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        if command.ends_with('&') {
            self.background.push(child.id());
        }
        let output = child.wait_with_output().unwrap();
        let mut text = String::from_utf8(output.stdout).unwrap().replace('\r', "");
        // What depends on the machine.
        text = text.replace(self.directory.path().to_str().unwrap(), "/tmp/here");
        match output.status.code() {
            Some(0) => {}
            code => text += &format!("[exit {}]\n", code.unwrap()),
        }
        text
    }
}

/// Whether a line fits a pattern, in which `[..]` stands for anything.
fn matches(line: &str, pattern: &str) -> bool {
    let mut parts = pattern.split("[..]");
    let first = parts.next().unwrap();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns() {
        for (line, pattern, expected) in [
            ("abc", "abc", true),
            ("abc", "ab", false),
            ("ab", "abc", false),
            ("abc", "a[..]c", true),
            ("abc", "[..]", true),
            ("a1b2c", "a[..]b[..]c", true),
            ("a1c", "a[..]b[..]c", false),
            ("ac", "a[..]d", false),
        ] {
            assert_eq!(matches(line, pattern), expected, "{line} {pattern}");
        }
    }
}
