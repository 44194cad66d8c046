//! What a service runs, and with what around it.

use super::exec::{self, Command};
use super::span::{self, Span};
use super::specifier::Specifiers;
use super::unit::{Setting, Unit, is_false};
use crate::draft::{Draft, not_carried_over};
use crate::message::{duration, quoted};
use crate::model::Host;
use crate::program::program_of;
use kron_tab::words;

const SERVICE: &str = "Service";

/// Settings of `[Service]` that are read below.
const READ: [&str; 16] = [
    "Type",
    "ExecCondition",
    "ExecStart",
    "ExecStartPre",
    "ExecStartPost",
    "User",
    "Group",
    "WorkingDirectory",
    "Environment",
    "EnvironmentFile",
    "UMask",
    "TimeoutStartSec",
    "TimeoutSec",
    "RuntimeMaxSec",
    "StandardOutput",
    "StandardError",
];
/// Settings that a run from a timer does not depend on.
const WITHOUT_EFFECT: [&str; 13] = [
    "Description",
    "Documentation",
    "After",
    "Before",
    "DefaultDependencies",
    "SourcePath",
    "RefuseManualStart",
    "RefuseManualStop",
    "SyslogIdentifier",
    "GuessMainPID",
    "PIDFile",
    "NotifyAccess",
    "CollectMode",
];

/// Settings without which the command would be another, or run with rights that
/// it was not meant to have.
const REFUSED: [&str; 7] = [
    "DynamicUser",
    "RootDirectory",
    "RootImage",
    "StandardInput",
    "StandardInputText",
    "StandardInputData",
    "OpenFile",
];

/// Fills in what is run by a service whose text is known.
pub(super) fn read(service: &Unit, unit: &str, host: &Host<'_>, draft: &mut Draft) {
    let manager = if host.system { "root" } else { host.user };
    let home = (host.home)(manager).or_else(|| (manager == "root").then(|| "/root".into()));
    let specifiers = Specifiers { unit, system: host.system, user: manager, home };
    let reader = Reader { service, specifiers, host };
    reader.commands(draft);
    reader.identity(draft);
    reader.directory(draft);
    reader.environment(draft);
    reader.limits(draft);
    reader.output(draft);
    reader.rest(draft);
}

struct Reader<'a> {
    service: &'a Unit,
    specifiers: Specifiers<'a>,
    host: &'a Host<'a>,
}

impl Reader<'_> {
    /// The last value of a key, expanded; a reason goes to the draft.
    fn value(&self, key: &str, draft: &mut Draft) -> Option<String> {
        let value = self.service.last(SERVICE, key)?;
        self.specifiers.expand(value).map_err(|reason| draft.refuse(reason)).ok()
    }

    fn variables(&self, draft: &mut Draft) -> Vec<(String, String)> {
        let mut variables: Vec<(String, String)> = Vec::new();
        for setting in self.service.all(SERVICE, "Environment") {
            let words = exec::words(&setting.value).unwrap_or_else(|reason| {
                draft.refuse(reason);
                Vec::new()
            });
            for word in words {
                match self.specifiers.expand(&word.text) {
                    Err(reason) => draft.refuse(reason),
                    Ok(text) => match text.split_once('=') {
                        Some((name, value)) => {
                            variables.retain(|(known, _)| known != name);
                            variables.push((name.into(), value.into()));
                        }
                        None => draft.refuse(format!("{} is not a variable", quoted(&text))),
                    },
                }
            }
        }
        variables
    }

    fn commands(&self, draft: &mut Draft) {
        let variables = self.variables(draft);
        let mut all: Vec<Command> = Vec::new();
        let mut main = 0;
        for key in ["ExecCondition", "ExecStartPre", "ExecStart", "ExecStartPost"] {
            for setting in self.service.all(SERVICE, key) {
                match exec::commands(&setting.value, &self.specifiers, &variables) {
                    Err(reason) => draft.refuse(reason),
                    Ok(commands) => {
                        main += if key == "ExecStart" { commands.len() } else { 0 };
                        all.extend(commands);
                    }
                }
            }
        }
        if !draft.reasons.is_empty() {
            return;
        }
        if main == 0 {
            draft.refuse("the service has no `ExecStart`");
        }
        let has_user = self.service.last(SERVICE, "User").is_some_and(|user| user != "root");
        if has_user && all.iter().any(|command| command.privileged) {
            draft.refuse(
                "one of its commands runs with more rights than `User=` has (`+` or `!`), \
                 and an entry has one user only",
            );
        }
        if all.iter().any(|command| command.renamed) {
            draft.change("the name after `@` is not given to the program");
        }
        if let [command] = &all[..] {
            if command.ignores_failure {
                draft.change("a failure counts as one, in spite of the `-`");
            }
            draft.field("command", words::join(&command.words));
            draft.hints = program_of(&command.words).arguments;
        } else {
            draft.change("several commands become one text for `/bin/sh`, joined by `&&`");
            draft.field("command", exec::chain(&all));
            draft.field("shell", "true");
        }
        if !self.service.all(SERVICE, "ExecCondition").is_empty() {
            draft.change("an `ExecCondition` that does not hold counts as a failure");
        }
        let oneshot = self.service.last(SERVICE, "Type") == Some("oneshot");
        if !oneshot && !self.service.all(SERVICE, "ExecStartPost").is_empty() {
            draft
                .change("`ExecStartPost` runs when the command has ended, not when it has started");
        }
        match self.service.last(SERVICE, "Type") {
            Some("forking") => {
                draft.change("`Type=forking`: the run ends with its first process");
            }
            Some("dbus") => draft.change("`Type=dbus`: the run ends with its process"),
            _ => {}
        }
    }

    fn identity(&self, draft: &mut Draft) {
        if let Some(user) = self.value("User", draft)
            && (user != "root" || !self.host.system)
        {
            draft.field("user", user);
        }
        if let Some(group) = self.value("Group", draft) {
            draft.field("group", group);
        }
    }

    fn directory(&self, draft: &mut Draft) {
        let user = self.service.last(SERVICE, "User");
        let default = if self.host.system { "/" } else { "~" };
        let value = self.value("WorkingDirectory", draft).unwrap_or_else(|| default.into());
        let path = value.strip_prefix('-').unwrap_or(&value);
        if path.len() < value.len() {
            draft.change(format!("{} must exist, in spite of the `-`", quoted(path)));
        }
        let manager = if self.host.system { "root" } else { self.host.user };
        let home = (path == "~").then(|| (self.host.home)(user.unwrap_or(manager)));
        match home {
            Some(Some(home)) => draft.field("cwd", home),
            Some(None) => {
                draft.change("the home directory is not known, so `cwd` is not set to it");
            }
            None => draft.field("cwd", path),
        }
    }

    fn environment(&self, draft: &mut Draft) {
        let variables = self.variables(draft);
        for (name, value) in variables {
            draft.field("env", format!("{name}={value}"));
        }
        for setting in self.service.all(SERVICE, "EnvironmentFile") {
            draft.change(format!("the variables of {} are not read", quoted(&setting.value)));
        }
    }

    fn limits(&self, draft: &mut Draft) {
        if let Some(umask) = self.value("UMask", draft) {
            match u16::from_str_radix(&umask, 8).ok().filter(|&mask| mask <= 0o777) {
                Some(mask) => draft.field("umask", format!("{mask:03o}")),
                None => draft.refuse(format!("`UMask` is not a mask: {}", quoted(&umask))),
            }
        }
        let oneshot = self.service.last(SERVICE, "Type") == Some("oneshot");
        let keys: &[&str] =
            if oneshot { &["TimeoutStartSec", "TimeoutSec"] } else { &["RuntimeMaxSec"] };
        let Some((key, text)) =
            keys.iter().find_map(|key| Some((*key, self.service.last(SERVICE, key)?)))
        else {
            return;
        };
        match span::parse(text) {
            None => draft.refuse(format!("`{key}` is not a length of time: {}", quoted(text))),
            Some(Span::Seconds(seconds)) if seconds > 0 => {
                draft.field("timeout", duration(seconds));
            }
            Some(_) => {}
        }
    }

    fn output(&self, draft: &mut Draft) {
        for (key, field) in [("StandardOutput", "stdout"), ("StandardError", "stderr")] {
            let Some(value) = self.value(key, draft) else { continue };
            let (kind, path) = value.split_once(':').unwrap_or((&value, ""));
            match kind {
                "inherit" => {}
                "null" => draft.field(field, "discard"),
                "journal" | "syslog" | "kmsg" => draft.field(field, "syslog"),
                "append" | "file" | "truncate" if path.starts_with('/') => {
                    if kind != "append" {
                        draft.change(format!("{} is appended to, not overwritten", quoted(path)));
                    }
                    draft.field(field, format!("file:{}", path.replace('%', "%%")));
                }
                _ => {
                    draft
                        .change(format!("not carried over: {}", quoted(&format!("{key}={value}"))));
                }
            }
        }
    }

    /// Everything else does something that Kron does not.
    fn rest(&self, draft: &mut Draft) {
        for key in REFUSED {
            let value = self.service.last(SERVICE, key);
            if let Some(value) = value.filter(|value| !is_false(value) && *value != "null") {
                draft.refuse(format!(
                    "without {} it would not be the same command",
                    quoted(&format!("{key}={value}"))
                ));
            }
        }
        let oneshot = self.service.last(SERVICE, "Type") == Some("oneshot");
        let lost = |setting: &&Setting| {
            let key = setting.key.as_str();
            let known = setting.section == SERVICE && READ.contains(&key);
            let unused = match key {
                "TimeoutStartSec" | "TimeoutSec" => !oneshot,
                "RuntimeMaxSec" => oneshot,
                _ => false,
            };
            let counts = setting.section == SERVICE || setting.section == "Unit";
            counts
                && !setting.value.is_empty()
                && !is_false(&setting.value)
                && !WITHOUT_EFFECT.contains(&key)
                && !key.starts_with("X-")
                && !REFUSED.contains(&key)
                && (!known || (unused && key == "TimeoutSec"))
        };
        let lost: Vec<String> = self
            .service
            .settings
            .iter()
            .filter(lost)
            .map(|setting| format!("{}={}", setting.key, setting.value))
            .collect();
        draft.changes.extend(not_carried_over(&lost));
    }
}
