//! The text of the roster: every job ever seen, one JSON object a line, only
//! ever appended to.
//!
//! ```text
//! {"Roster":"1"}
//! {"Seen":"/etc/krond.d/shop.kron:invoices","NotBefore":"2026-03-01T08:00:00Z","DefinitionHash":"…"}
//! {"Seen":"/etc/krond.d/shop.kron:report","NotBefore":"…","DefinitionHash":"…","Lead":3600,"HandledThrough":"…"}
//! {"HasFile":"/etc/krond.d/shop.kron:invoices"}
//! {"Gone":"/etc/krond.d/shop.kron:invoices"}
//! ```
//!
//! `Lead` is left out if nothing runs ahead of its nominal time, and `HandledThrough` if
//! nothing had. It exists so that a hundred thousand new jobs are one write, and so that a
//! state file that vanished is missed. This is text and nothing else; the file
//! is the daemon's `store`.

use crate::commit::{RosterLine, Rostered};
use crate::json::{Object, Style};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use core::time::Duration;
use kron_core::{Identity, Seen};
use serde::Deserialize;

/// The first line of every roster.
pub const HEADER: &str = "{\"Roster\":\"1\"}\n";
/// The longest line: an identity with every byte of it escaped, and the rest.
pub const LINE_BYTES: usize = 64 << 10;

/// Appends a line.
pub fn write(out: &mut String, line: &RosterLine) {
    let mut object = Object::begin(out, Style::Compact);
    match line {
        RosterLine::Seen { identity, seen } => {
            object.text("Seen", identity.as_str());
            object.plain("NotBefore", seen.not_before);
            object.plain("DefinitionHash", seen.definition);
            if !seen.lead.is_zero() {
                object.key("Lead").push_str(&seen.lead.as_secs().to_string());
            }
            if let Some(through) = seen.through {
                object.plain("HandledThrough", through);
            }
        }
        RosterLine::HasFile(identity) => object.text("HasFile", identity.as_str()),
        RosterLine::Gone(identity) => object.text("Gone", identity.as_str()),
    }
    object.end();
    out.push('\n');
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct LineText<'a> {
    #[serde(borrow, default)]
    roster: Option<Quoted<'a>>,
    #[serde(borrow, default)]
    seen: Option<Quoted<'a>>,
    #[serde(borrow, default)]
    not_before: Option<Quoted<'a>>,
    #[serde(borrow, default)]
    definition_hash: Option<Quoted<'a>>,
    #[serde(default)]
    lead: Option<u32>,
    #[serde(borrow, default)]
    handled_through: Option<Quoted<'a>>,
    #[serde(borrow, default)]
    has_file: Option<Quoted<'a>>,
    #[serde(borrow, default)]
    gone: Option<Quoted<'a>>,
}

#[derive(Deserialize)]
struct Quoted<'a>(#[serde(borrow)] Cow<'a, str>);

/// A line, read.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// The first one; its version.
    Header(Box<str>),
    /// Any other one.
    Of(RosterLine),
}

/// Reads a line, without its line feed.
///
/// # Errors
/// What is wrong with it, as a text.
pub fn read(bytes: &[u8]) -> Result<Line, String> {
    if let Some(line) = read_plain_seen(bytes) {
        return Ok(Line::Of(line));
    }
    let line: LineText<'_> = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let identity = |text: Quoted<'_>| Identity::new(&text.0).map_err(|error| error.to_string());
    Ok(Line::Of(match line {
        LineText {
            seen: Some(seen),
            not_before: Some(not_before),
            definition_hash: Some(definition),
            lead,
            handled_through,
            roster: None,
            has_file: None,
            gone: None,
        } => {
            let through = handled_through.map(|text| text.0.parse()).transpose();
            let seen_as = Seen {
                not_before: not_before.0.parse().map_err(|e| format!("`NotBefore`: {e}"))?,
                definition: definition.0.parse().map_err(|e| format!("`DefinitionHash`: {e}"))?,
                lead: Duration::from_secs(lead.unwrap_or(0).into()),
                through: through.map_err(|e| format!("`HandledThrough`: {e}"))?,
            };
            RosterLine::Seen { identity: identity(seen)?, seen: seen_as }
        }
        LineText {
            has_file: Some(id),
            roster: None,
            seen: None,
            not_before: None,
            definition_hash: None,
            lead: None,
            handled_through: None,
            gone: None,
        } => RosterLine::HasFile(identity(id)?),
        LineText {
            gone: Some(id),
            roster: None,
            seen: None,
            not_before: None,
            definition_hash: None,
            lead: None,
            handled_through: None,
            has_file: None,
        } => RosterLine::Gone(identity(id)?),
        LineText {
            roster: Some(version),
            seen: None,
            not_before: None,
            definition_hash: None,
            lead: None,
            handled_through: None,
            has_file: None,
            gone: None,
        } => return Ok(Line::Header(version.0.into())),
        _ => return Err("neither `Seen`, `HasFile` nor `Gone`".to_string()),
    }))
}

/// The usual line, just as it is written and with nothing escaped, in a fraction
/// of the time; anything else is left to the real reader.
fn read_plain_seen(bytes: &[u8]) -> Option<RosterLine> {
    let text = core::str::from_utf8(bytes).ok()?;
    let (identity, text) = text.strip_prefix("{\"Seen\":\"")?.split_once('"')?;
    let (not_before, text) = text.strip_prefix(",\"NotBefore\":\"")?.split_once('"')?;
    let (definition, text) = text.strip_prefix(",\"DefinitionHash\":\"")?.split_once('"')?;
    let lead = match text.strip_prefix(",\"Lead\":") {
        Some(text) => text.strip_suffix('}')?.parse::<u32>().ok()?,
        None if text == "}" => 0,
        None => return None,
    };
    if identity.contains('\\') {
        return None;
    }
    Some(RosterLine::Seen {
        identity: Identity::new(identity).ok()?,
        seen: Seen {
            not_before: not_before.parse().ok()?,
            definition: definition.parse().ok()?,
            lead: Duration::from_secs(lead.into()),
            through: None,
        },
    })
}

impl Rostered {
    /// What is known of a job before its first line.
    #[must_use]
    pub const fn unknown() -> Self {
        Self { seen: None, has_file: false, gone: false }
    }

    /// Takes note of a line about this job.
    pub fn learn(&mut self, line: &RosterLine) {
        match line {
            RosterLine::Seen { seen, .. } => {
                self.seen = Some(*seen);
                self.gone = false;
            }
            RosterLine::HasFile(_) => self.has_file = true,
            RosterLine::Gone(_) => self.gone = true,
        }
    }
}

impl RosterLine {
    /// Which job it is about, by value.
    #[must_use]
    pub fn into_identity(self) -> Identity {
        match self {
            Self::Seen { identity, .. } | Self::HasFile(identity) | Self::Gone(identity) => {
                identity
            }
        }
    }

    /// Which job it is about.
    #[must_use]
    pub const fn identity(&self) -> &Identity {
        match self {
            Self::Seen { identity, .. } | Self::HasFile(identity) | Self::Gone(identity) => {
                identity
            }
        }
    }
}
