//! Where the output of a run goes.

use crate::problem::Problem;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::fmt::{self, Write};
use kron_core::time::local::LocalTime;
use kron_core::{Span, quoted};

/// What happens to standard output or standard error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// It goes where the daemon's goes.
    #[default]
    Inherit,
    /// It is thrown away.
    Discard,
    /// It goes to the system log.
    Syslog,
    /// It is appended to a file.
    File(PathTemplate),
}

impl Output {
    const ACCEPTED: &str = "`inherit`, `discard`, `syslog` or `file:/path`";

    pub(crate) fn parse(text: &str, key: &str, span: Span) -> Result<Self, Problem> {
        match text {
            "inherit" => return Ok(Self::Inherit),
            "discard" => return Ok(Self::Discard),
            "syslog" => return Ok(Self::Syslog),
            _ => {}
        }
        let problem = |message: String| {
            Problem::new("invalid-value", span, message).found(text).expect(Self::ACCEPTED)
        };
        if let Some(path) = text.strip_prefix("file:") {
            return PathTemplate::parse(path, span).map(Self::File);
        }
        let hint = match text {
            "/dev/null" | "null" | "none" => Some("write `discard`".into()),
            "journal" | "journald" | "log" => Some("write `syslog`".into()),
            text if text.starts_with('/') => Some(format!("write `file:{text}`")),
            text => kron_core::nearest(text, ["inherit", "discard", "syslog"].into_iter())
                .map(|word| format!("did you mean `{word}`?")),
        };
        Err(problem(format!("{} is not a value of `{key}`", quoted(text))).hint_if(hint))
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inherit => f.write_str("inherit"),
            Self::Discard => f.write_str("discard"),
            Self::Syslog => f.write_str("syslog"),
            Self::File(path) => write!(f, "file:{path}"),
        }
    }
}

/// An absolute path that may contain tokens of the chosen time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathTemplate(Box<str>);

impl PathTemplate {
    /// The tokens, with what they become.
    pub const TOKENS: [(char, &str); 9] = [
        ('Y', "year, four digits"),
        ('m', "month, 01-12"),
        ('d', "day of the month, 01-31"),
        ('H', "hour, 00-23"),
        ('M', "minute, 00-59"),
        ('S', "second, 00-59"),
        ('F', "date, as 2026-03-01"),
        ('s', "seconds since 1970"),
        ('%', "a percent sign"),
    ];

    fn parse(path: &str, span: Span) -> Result<Self, Problem> {
        let problem = |message: String| {
            Problem::new("invalid-path", span, message).found(path).expect("an absolute path")
        };
        if !path.starts_with('/') {
            return Err(problem(format!("path {} is not absolute", quoted(path))));
        }
        if path.split('/').any(|part| part == "..") {
            return Err(problem(format!("path {} contains `..`", quoted(path)))
                .hint("write the path without detours"));
        }
        if path.ends_with('/') {
            return Err(problem(format!("path {} is a directory", quoted(path)))
                .expect("the path of a file"));
        }
        let mut chars = path.chars();
        while let Some(c) = chars.by_ref().find(|&c| c == '%').map(|_| chars.next()) {
            let known = |c: char| Self::TOKENS.iter().any(|(token, _)| *token == c);
            if !c.is_some_and(known) {
                let token: String = core::iter::once('%').chain(c).collect();
                let mut known = String::new();
                for (token, _) in Self::TOKENS {
                    known.extend([' ', '%', token]);
                }
                return Err(problem(format!("unknown token {} in a path", quoted(&token)))
                    .expect(known.trim_start())
                    .hint("write a percent sign as `%%`"));
            }
        }
        Ok(Self(path.into()))
    }

    /// The path as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path for a run chosen at this time.
    #[must_use]
    pub fn render(&self, chosen: LocalTime) -> String {
        let mut out = String::with_capacity(self.0.len() + 16);
        let mut chars = self.0.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            let date = chosen.date();
            let (hour, minute, second) = chosen.time_of_day();
            // Writing to a string cannot fail.
            let _ = match chars.next() {
                Some('Y') => write!(out, "{:04}", date.year),
                Some('m') => write!(out, "{:02}", date.month),
                Some('d') => write!(out, "{:02}", date.day),
                Some('H') => write!(out, "{hour:02}"),
                Some('M') => write!(out, "{minute:02}"),
                Some('S') => write!(out, "{second:02}"),
                Some('F') => write!(out, "{date}"),
                Some('s') => write!(out, "{}", chosen.instant().unix_seconds()),
                // Nothing else passed the check.
                _ => write!(out, "%"),
            };
        }
        out
    }
}

impl fmt::Display for PathTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
