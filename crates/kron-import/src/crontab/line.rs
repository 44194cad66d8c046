//! What a line of a crontab is.

use crate::fields::named;
use crate::message::quoted;

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Nothing, or a comment.
    Blank,
    /// A variable for what follows.
    Variable { name: String, value: String },
    /// Something to run.
    Request(Request<'a>),
}

/// Something to run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request<'a> {
    /// Whether a `-` asks for silence in the log.
    pub quiet: bool,
    /// The five fields, or why there are none.
    pub when: Result<String, Vec<String>>,
    /// The user column, where there is one.
    pub user: Option<&'a str>,
    /// The rest.
    pub command: &'a str,
}

const BLANK: [char; 2] = [' ', '\t'];

/// Reads a line; `with_user` if it has a user column.
pub(super) fn read(text: &str, with_user: bool) -> Line<'_> {
    let text = text.trim_start_matches(BLANK);
    if text.is_empty() || text.starts_with('#') {
        return Line::Blank;
    }
    if let Some((name, value)) = variable(text) {
        return Line::Variable { name, value };
    }
    let (quiet, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest.trim_start_matches(BLANK)),
        None => (false, text),
    };
    let (mut when, mut rest) = if text.starts_with('@') {
        let (name, rest) = word(text);
        (macro_fields(name), rest)
    } else {
        let mut fields = Vec::new();
        let mut rest = text;
        while fields.len() < 5 && !rest.is_empty() {
            let (field, after) = word(rest);
            fields.push(field);
            rest = after;
        }
        let count = fields.len();
        let when = (count == 5).then(|| fields.join(" "));
        (when.ok_or_else(|| vec![format!("this has {count} of five fields")]), rest)
    };
    let mut user = None;
    if with_user {
        let (name, after) = word(rest);
        if when.is_ok() {
            when = check_user(name).and(when);
        }
        (user, rest) = (Some(name), after);
    }
    if when.is_ok() {
        when = check_command(rest).and(when);
    }
    Line::Request(Request { quiet, when, user, command: rest })
}

fn word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(BLANK).unwrap_or((text, ""));
    (word, rest.trim_start_matches(BLANK))
}

fn macro_fields(name: &str) -> Result<String, Vec<String>> {
    if name == "@reboot" {
        return Err(vec![
            "`@reboot` is not a time: Kron has no event for starting up; use a service of the \
             system, such as a systemd unit"
                .into(),
        ]);
    }
    let fields = named(name).ok_or_else(|| vec![format!("{} is not known", quoted(name))]);
    fields.map(String::from)
}

/// Whether a word could be a cron field, so that there are more than five.
fn looks_like_a_field(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_digit() || "*/,-?".contains(c))
}

fn check_user(name: &str) -> Result<(), Vec<String>> {
    let number = name.bytes().all(|b| b.is_ascii_digit());
    let reason = if looks_like_a_field(name) && !number {
        format!("{} is in the place of the user; six fields are not standard cron", quoted(name))
    } else if name.contains([':', '/']) {
        format!("{} names more than a user, which is not supported", quoted(name))
    } else if name.is_empty() {
        "the user is missing".into()
    } else {
        return Ok(());
    };
    Err(vec![reason])
}

fn check_command(text: &str) -> Result<(), Vec<String>> {
    let (first, _) = word(text);
    let reason = if looks_like_a_field(first) {
        format!(
            "{} is in the place of the command; six fields are not standard cron",
            quoted(first)
        )
    } else if matches!(first, "-n" | "-q" | "-s") {
        format!("the flag {} before a command is not supported", quoted(first))
    } else {
        return Ok(());
    };
    Err(vec![reason])
}

/// `NAME = value`, either one possibly in quotes, read as Vixie's cron does.
fn variable(text: &str) -> Option<(String, String)> {
    let (name, rest) = match text.strip_prefix(['"', '\'']) {
        Some(quoted) => quoted.split_once(text.chars().next()?)?,
        None => text.split_at(text.find([' ', '\t', '='])?),
    };
    let value = rest.trim_start_matches(BLANK).strip_prefix('=')?.trim_matches(BLANK);
    if name.is_empty() {
        return None;
    }
    let unquoted = ['"', '\''].iter().find_map(|&quote| {
        let inner = value.strip_prefix(quote)?.strip_suffix(quote)?;
        Some(inner)
    });
    Some((name.into(), unquoted.unwrap_or(value).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, with_user: bool, expected: &str) {
        let found = match read(text, with_user) {
            Line::Blank => "blank".into(),
            Line::Variable { name, value } => format!("{name}={value}"),
            Line::Request(Request { quiet, when, user, command }) => format!(
                "{}{} | {} | {command}",
                if quiet { "quiet " } else { "" },
                when.unwrap_or_else(|reasons| reasons.join("; ")),
                user.unwrap_or("-")
            ),
        };
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn lines() {
        for (text, expected) in [
            ("", "blank"),
            ("  # x", "blank"),
            ("A=b", "A=b"),
            ("  A = 'b c' ", "A=b c"),
            ("'A' = \"b\"", "A=b"),
            ("A=\"b'", "A=\"b'"),
            ("A=", "A="),
            ("A=\"", "A=\""),
            ("MAILTO=\"\"", "MAILTO="),
            ("0 1 * * *\tFOO=bar x # y", "0 1 * * * | - | FOO=bar x # y"),
            ("- 0 1 * * * x", "quiet 0 1 * * * | - | x"),
            ("-*/5 1 * * * x", "quiet */5 1 * * * | - | x"),
            ("@daily x", "0 0 * * * | - | x"),
            ("@fortnightly x", "`@fortnightly` is not known | - | x"),
            ("0 1 * *", "this has 4 of five fields | - | "),
            (
                "0 0 1 * * * x",
                "`*` is in the place of the command; six fields are not standard cron | - | * x",
            ),
            ("0 0 1 * * -q x", "the flag `-q` before a command is not supported | - | -q x"),
            ("'", "this has 1 of five fields | - | "),
        ] {
            check(text, false, expected);
        }
        for (text, expected) in [
            ("0 1 * * * root  x y", "0 1 * * * | root | x y"),
            ("@weekly root x", "0 0 * * 0 | root | x"),
            ("0 1 * * *", "the user is missing |  | "),
        ] {
            check(text, true, expected);
        }
    }
}
