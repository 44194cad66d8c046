//! Whether a `.kron` file can hold a field.
//!
//! The formats that are read allow more than an entry does: variables with
//! points in their names, users by number, scripts of several lines.

use crate::message::quoted;
use kron_core::time::duration;

/// Longest entry, in bytes; a little less than a file accepts, for its quotes.
const LONGEST: usize = 60_000;

/// Why fields cannot be written; nothing if they can.
pub(crate) fn reasons(fields: &[(&'static str, String)]) -> Vec<String> {
    let mut reasons: Vec<String> =
        fields.iter().filter_map(|(name, value)| reason(name, value)).collect();
    // Backslashes and quotes may have to be doubled.
    if fields.iter().map(|(_, value)| value.len() + quotes(value)).sum::<usize>() > LONGEST {
        reasons.push(format!("the entry would be longer than {LONGEST} bytes"));
    }
    reasons
}

fn quotes(value: &str) -> usize {
    value.bytes().filter(|b| matches!(b, b'"' | b'\\')).count()
}

fn reason(name: &str, value: &str) -> Option<String> {
    if value.contains(|c: char| c.is_control() && c != '\t') {
        return Some(format!(
            "`{name}` has a line break or another control character, which no entry can hold; \
             move it into a script"
        ));
    }
    match name {
        "env" => {
            let variable = value.split('=').next().unwrap_or_default();
            (!is_variable(variable))
                .then(|| format!("{} cannot be the name of a variable", quoted(variable)))
        }
        "user" | "group" => {
            (!is_account(value)).then(|| format!("{} is not the name of a {name}", quoted(value)))
        }
        "cwd" => {
            (!value.starts_with('/')).then(|| format!("{} is not an absolute path", quoted(value)))
        }
        "stdout" | "stderr" => {
            let detour = value.split('/').any(|part| part == "..") || value.ends_with('/');
            detour.then(|| format!("{} is not the plain path of a file", quoted(value)))
        }
        "timeout" => duration::parse(value)
            .is_err()
            .then(|| format!("{} is too long for a timeout", quoted(value))),
        _ => None,
    }
}

fn is_variable(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn is_account(name: &str) -> bool {
    let body = name.strip_suffix('$').unwrap_or(name);
    body.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && body.len() <= 255
        && body.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.@".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        for (name, value, fits) in [
            ("command", "a\tb", true),
            ("command", "a\nb", false),
            ("command", "a\u{85}b", false),
            ("env", "A_1=b=c", true),
            ("env", "a.b=c", false),
            ("env", "1=c", false),
            ("env", "=c", false),
            ("user", "www-data", true),
            ("user", "1000", false),
            ("user", "", false),
            ("group", "host$", true),
            ("cwd", "/", true),
            ("cwd", "~", false),
            ("stdout", "file:/var/log/x", true),
            ("stdout", "file:/var/../x", false),
            ("timeout", "90s", true),
            ("timeout", "99999999999999h", false),
        ] {
            let found = reasons(&[(name, value.into())]);
            assert_eq!(found.is_empty(), fits, "{name} {value}: {found:?}");
        }
        assert!(!reasons(&[("command", "\\".repeat(30_001))]).is_empty());
    }
}
