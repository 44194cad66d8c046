//! Crontabs: a user's, and the system's with its user column.
//!
//! `line` tells what a line is, `percent` where the command ends and its input
//! begins, `jitter` finds a random sleep before it. Here the variables are kept
//! that hold for what follows, and a line becomes a draft.
//!
//! The reference is Debian's cron; what cronie adds is understood as well.

mod jitter;
mod line;
mod percent;

use crate::draft::Draft;
use crate::fields::{self, Dialect};
use crate::message::quoted;
use crate::model::{File, Host, Remark};
use crate::program::program;
use kron_tab::words;
use line::{Line, Request};

/// What cron gives to commands when the crontab says nothing.
const DEFAULT_PATH: &str = "/usr/bin:/bin";
const DEFAULT_SHELL: &str = "/bin/sh";
/// More variables than this in one crontab are a mistake.
const VARIABLES: usize = 1000;
/// Variables that tell cron something, or that it does not let one set.
const FOR_CRON: [&str; 9] = [
    "CRON_TZ",
    "MAILTO",
    "MAILFROM",
    "CONTENT_TYPE",
    "CONTENT_TRANSFER_ENCODING",
    "RANDOM_DELAY",
    "SHELL",
    "LOGNAME",
    "USER",
];

/// Reads crontabs; `with_user` if they have a user column.
pub(crate) fn read(
    files: &[File<'_>],
    host: &Host<'_>,
    with_user: bool,
) -> (Vec<Draft>, Vec<Remark>) {
    let mut drafts = Vec::new();
    let mut remarks = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let mut reader = Reader {
            host,
            with_user,
            file: number,
            variables: Vec::new(),
            too_many: false,
            remarks,
        };
        let before = drafts.len();
        let mut mailed = false;
        for (i, text) in file.text.lines().enumerate() {
            match line::read(text, with_user) {
                Line::Blank => {}
                Line::Variable { name, value } => reader.set(i + 1, name, value),
                Line::Request(request) => {
                    mailed |= reader.variable("MAILTO").is_none();
                    drafts.push(reader.draft(i + 1, text.trim(), &request));
                }
            }
        }
        if mailed {
            let owner = if with_user { "the user of each entry" } else { "the owner" };
            let text = format!(
                "cron mails output to {owner}, as no `MAILTO` says otherwise; Kron does not"
            );
            reader.remark(None, text);
        }
        let last = file.text.lines().count();
        if drafts.len() > before && !file.text.ends_with('\n') {
            reader.remark(Some(last), "the last line has no line break, so cron ignores it".into());
        }
        if file.text.contains("\r\n") {
            reader.remark(None, "the lines end in carriage returns, which are dropped here".into());
        }
        remarks = reader.remarks;
    }
    (drafts, remarks)
}

struct Reader<'a> {
    host: &'a Host<'a>,
    with_user: bool,
    file: usize,
    /// In the order in which they were first set.
    variables: Vec<(String, String)>,
    /// Whether some were left out of them.
    too_many: bool,
    remarks: Vec<Remark>,
}

impl Reader<'_> {
    fn remark(&mut self, line: Option<usize>, text: String) {
        self.remarks.push(Remark { file: self.file, line, text });
    }

    fn variable(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    fn set(&mut self, line: usize, name: String, value: String) {
        let text = match name.as_str() {
            "LOGNAME" | "USER" => Some(format!("cron does not let `{name}` be set; ignored")),
            "TZ" => Some("`TZ` reaches the commands, but does not move the schedule".into()),
            "MAILFROM" | "CONTENT_TYPE" | "CONTENT_TRANSFER_ENCODING" => {
                Some(format!("`{name}` is about mail, which Kron does not send; ignored"))
            }
            _ if value.contains('$') => {
                Some(format!("the `$` in `{name}` is not expanded, neither by cron nor by Kron"))
            }
            _ => None,
        };
        if let Some(text) = text {
            self.remark(Some(line), text);
        }
        let known = self.variables.iter().position(|(known, _)| *known == name);
        match known {
            Some(at) => self.variables[at].1 = value,
            None if self.variables.len() < VARIABLES => self.variables.push((name, value)),
            None => self.too_many = true,
        }
    }

    fn draft(&mut self, line: usize, source: &str, request: &Request<'_>) -> Draft {
        let (file, source) = (self.file, source.to_string());
        let mut draft =
            Draft { file, line, source, concurrency: Some("allow"), ..Draft::default() };
        if request.quiet {
            self.remark(Some(line), "the `-` that keeps a run out of the log is dropped".into());
        }
        let when = request.when.clone().and_then(|when| {
            let fields: Vec<&str> = when.split_ascii_whitespace().collect();
            let fields = fields.try_into().map_err(|_| vec!["five fields are needed".into()])?;
            fields::convert(fields, Dialect::Vixie)
        });
        match when {
            Err(reasons) => draft.reasons = reasons,
            Ok(when) => {
                draft.in_zone(self.variable("CRON_TZ").unwrap_or(self.host.zone));
                draft.cron = when.cron;
                draft.window_seconds = when.window_seconds;
                draft.changes = when.changes;
                if when.became_fixed && draft.zone.is_some() {
                    draft.change(
                        "on a day when the clock changes it runs as a fixed time: \
                         once, even if the hour is skipped or repeated",
                    );
                }
            }
        }
        if self.too_many {
            draft.refuse(format!("there are more than {VARIABLES} variables before it"));
        }
        self.delay(&mut draft);
        self.wrong_kind(&mut draft, request);
        self.command(&mut draft, request.command);
        self.surroundings(&mut draft, request.user);
        draft
    }

    /// cronie's delay of everything that follows.
    fn delay(&self, draft: &mut Draft) {
        let Some(text) = self.variable("RANDOM_DELAY") else { return };
        match text.parse::<u32>() {
            Ok(0) => {}
            Ok(minutes) => {
                draft.window_seconds += u64::from(minutes) * 60;
                draft.change(format!(
                    "`RANDOM_DELAY={minutes}` becomes a window; cronie draws the delay once, \
                     Kron for each period"
                ));
            }
            Err(_) => draft.refuse(format!("`RANDOM_DELAY` is not a number: {}", quoted(text))),
        }
    }

    /// A user column where none belongs, or a command where one does.
    fn wrong_kind(&self, draft: &mut Draft, request: &Request<'_>) {
        let known = |name: &str| (self.host.home)(name).is_some();
        match request.user {
            Some(user) if !known(user) => draft.change(format!(
                "there is no user {} here; is this a user's crontab, which has no such column?",
                quoted(user)
            )),
            None => {
                let mut words = request.command.split_ascii_whitespace();
                let first = words.next().unwrap_or_default();
                // No programs have these names; `mail` and `sync` are users, too.
                let user = ["root", "www-data", "nobody", self.host.user].contains(&first);
                if words.next().is_some() && user {
                    draft.refuse(format!(
                        "{} is a user; is this a system crontab, which names one in \
                         each line? `krontab import system-crontab` reads those",
                        quoted(first)
                    ));
                }
            }
            Some(_) => {}
        }
    }

    fn command(&self, draft: &mut Draft, text: &str) {
        let shell = self.variable("SHELL").unwrap_or(DEFAULT_SHELL);
        // A delay with a bare `%` has never worked: cron ends the command there.
        // What was meant is plain all the same.
        let meant =
            jitter::find(text).filter(|jitter| percent::split(&jitter.text).input.is_some());
        let text = meant.as_ref().map_or(text, |jitter| &jitter.rest);
        if let Some(jitter) = &meant {
            draft.window_seconds += jitter.longest_seconds;
            draft.change(format!(
                "{} becomes a window; cron ended the command at its `%`, which is not escaped",
                quoted(&jitter.text)
            ));
        }
        let percent::Split { command, input } = percent::split(text);
        let mut command = command.trim().to_string();
        if let Some(jitter) = jitter::find(&command) {
            draft.window_seconds += jitter.longest_seconds;
            let blank = if jitter.needs_bash && shell == DEFAULT_SHELL {
                "; where `/bin/sh` has no `$RANDOM`, it did not wait at all"
            } else {
                ""
            };
            draft.change(format!("{} becomes a window{blank}", quoted(&jitter.text)));
            command = jitter.rest;
        }
        if command.is_empty() {
            draft.refuse("there is no command");
        }
        if !shell.starts_with('/') {
            draft.refuse(format!("the shell {} is not an absolute path", quoted(shell)));
        }
        let found = program(&command);
        (draft.base, draft.hints) = (found.name, found.arguments);
        let piped = input.map(|lines| {
            draft.change("the text after `%` is piped into the command by the shell");
            percent::piped(&command, &lines, shell)
        });
        match piped {
            Some(piped) => {
                draft.field("command", piped);
                draft.field("shell", "true");
            }
            None if shell == DEFAULT_SHELL => {
                draft.field("command", command);
                draft.field("shell", "true");
            }
            None => draft.field("command", words::join(&[shell, "-c", &command])),
        }
    }

    /// User, directory and environment.
    fn surroundings(&self, draft: &mut Draft, column: Option<&str>) {
        let user = column.unwrap_or(self.host.user);
        if self.with_user || self.host.system {
            draft.field("user", user);
        }
        let home = self.variable("HOME").map(String::from).or_else(|| (self.host.home)(user));
        match &home {
            Some(home) => draft.field("cwd", home.as_str()),
            None => draft.change(format!(
                "the home directory of {} is not known, so `cwd` is not set to it",
                quoted(user)
            )),
        }
        let mut env = |name: &str, value: &str| draft.field("env", format!("{name}={value}"));
        if self.variable("PATH").is_none() {
            env("PATH", DEFAULT_PATH);
        }
        if let Some(shell) = self.variable("SHELL").filter(|shell| *shell != DEFAULT_SHELL) {
            env("SHELL", shell);
        }
        for (name, value) in &self.variables {
            if !FOR_CRON.contains(&name.as_str()) {
                env(name, value);
            }
        }
        if let Some(mailto) = self.variable("MAILTO").filter(|mailto| !mailto.is_empty()) {
            draft.change(format!("output is not mailed to {}", quoted(mailto)));
        }
    }
}
