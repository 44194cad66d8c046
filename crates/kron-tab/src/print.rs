//! The canonical line of an entry.
//!
//! Schedule first, then the fields in a fixed order, each quoted only where it
//! must be. Reading a line back gives the same entry.

use crate::entry::{Command, Entry};
use crate::key::Key;
use crate::output::Output;
use crate::words;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use kron_core::time::duration::Pretty;

/// An entry as text in parts: a schedule and fields, not yet checked. To check
/// one, print it and read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Cron fields and modifiers.
    pub schedule: String,
    /// Fields, without quotes.
    pub fields: Vec<(Key, String)>,
}

impl Line {
    /// Sets a field, in the place of the one that was there.
    pub fn set(&mut self, key: Key, value: impl Into<String>) {
        let value = value.into();
        match self.fields.iter_mut().find(|(known, _)| *known == key && key != Key::Env) {
            Some((_, old)) => *old = value,
            None => self.fields.push((key, value)),
        }
    }

    /// Sets one environment variable, `K=V`.
    pub fn set_env(&mut self, variable: &str) {
        let name = |text: &str| text.split('=').next().unwrap_or_default().to_owned();
        let wanted = name(variable);
        match self.fields.iter_mut().find(|(key, old)| *key == Key::Env && name(old) == wanted) {
            Some((_, old)) => variable.clone_into(old),
            None => self.fields.push((Key::Env, variable.to_owned())),
        }
    }

    /// Takes a field away, all of its kind; whether there was one.
    pub fn unset(&mut self, key: Key) -> bool {
        let before = self.fields.len();
        self.fields.retain(|(known, _)| *known != key);
        self.fields.len() < before
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.schedule)?;
        let mut fields: Vec<&(Key, String)> = self.fields.iter().collect();
        fields.sort_by_key(|(key, _)| *key);
        for (key, value) in fields {
            write!(f, " {}={}", key.as_str(), Value(value))?;
        }
        Ok(())
    }
}

/// A value as the format takes it: bare if it can be, else in quotes.
#[derive(Clone, Copy, Debug)]
pub struct Value<'a>(pub &'a str);

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bare = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '\'');
        if !self.0.is_empty() && self.0.chars().all(bare) {
            return f.write_str(self.0);
        }
        f.write_str("\"")?;
        for c in self.0.chars() {
            if matches!(c, '"' | '\\') {
                f.write_str("\\")?;
            }
            fmt::Write::write_char(f, c)?;
        }
        f.write_str("\"")
    }
}

impl Entry {
    /// The canonical line; what is default is left out.
    #[must_use]
    pub fn line(&self) -> Line {
        let mut line = Line { schedule: self.job.schedule().to_string(), fields: Vec::new() };
        let mut put = |key: Key, value: Option<String>| {
            line.fields.extend(value.map(|value| (key, value)));
        };
        let text = |value: &Option<alloc::boxed::Box<str>>| value.as_deref().map(str::to_owned);
        put(Key::Name, Some(self.name().to_string()));
        put(Key::Description, text(&self.description));
        put(Key::User, text(&self.user));
        put(Key::Group, text(&self.group));
        put(Key::Cwd, text(&self.cwd));
        for variable in &self.env {
            put(Key::Env, Some(format!("{}={}", variable.name, variable.value)));
        }
        put(Key::Umask, self.umask.map(|mask| format!("{mask:03o}")));
        put(Key::Timeout, self.timeout.map(|length| Pretty(length).to_string()));
        let output = |output: &Output| (*output != Output::Inherit).then(|| output.to_string());
        put(Key::Stdout, output(&self.stdout));
        put(Key::Stderr, output(&self.stderr));
        let limits = &self.limits;
        put(Key::LimitNofile, limits.nofile.map(|n| n.to_string()));
        put(Key::LimitNproc, limits.nproc.map(|n| n.to_string()));
        put(Key::LimitMemory, limits.memory.map(size));
        put(Key::LimitCpu, limits.cpu.map(|seconds| format!("{seconds}s")));
        put(Key::LimitFsize, limits.fsize.map(size));
        put(Key::LimitCore, limits.core.map(size));
        if let Command::Shell(_) = self.command {
            put(Key::Shell, Some("true".into()));
        }
        put(Key::Command, Some(self.command.to_string()));
        line
    }
}

impl fmt::Display for Command {
    /// The value of the field `command`, before quoting.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct(words) => f.write_str(&words::join(words)),
            Self::Shell(text) => f.write_str(text),
        }
    }
}

fn size(bytes: u64) -> String {
    for (unit, shift) in [("G", 30), ("M", 20), ("K", 10)] {
        if bytes > 0 && bytes.trailing_zeros() >= shift {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    bytes.to_string()
}
