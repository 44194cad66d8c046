//! The `%` of crontabs: what comes before the first is the command, what
//! follows is its standard input, where each further one is a line break. `\%`
//! is a percent sign, and in a command `\\` is a backslash.

use kron_tab::words;

/// A command, and the lines of its input if it has one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Split {
    pub command: String,
    pub input: Option<Vec<String>>,
}

/// Splits the last column of a crontab.
pub(super) fn split(text: &str) -> Split {
    let mut command = String::new();
    let mut chars = text.chars().peekable();
    let mut has_input = false;
    while let Some(c) = chars.next() {
        match c {
            '%' => {
                has_input = true;
                break;
            }
            // A backslash protects the two characters that mean something here,
            // and stays before all others, for the shell.
            '\\' => match chars.next() {
                Some(c @ ('%' | '\\')) => command.push(c),
                other => command.extend(core::iter::once('\\').chain(other)),
            },
            _ => command.push(c),
        }
    }
    // In the input only `\%` is special. Nothing after the `%` is no input.
    has_input &= chars.peek().is_some();
    let mut lines = vec![String::new()];
    while let Some(c) = chars.next() {
        if c == '%' {
            lines.push(String::new());
            continue;
        }
        let c = if c == '\\' { chars.next_if_eq(&'%').unwrap_or(c) } else { c };
        if let Some(line) = lines.last_mut() {
            line.push(c);
        }
    }
    // A last empty line is only the end of the one before it.
    if lines.len() > 1 && lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    Split { command, input: has_input.then_some(lines) }
}

/// The same for `/bin/sh`, without `%`.
pub(super) fn piped(command: &str, lines: &[String], shell: &str) -> String {
    let lines: Vec<String> = lines.iter().map(|line| words::quote(line)).collect();
    let lines = lines.join(" ");
    // Braces only around what cannot swallow the closing one.
    let simple =
        shell == "/bin/sh" && !command.contains('#') && !command.ends_with(['\\', ';', '&']);
    if simple {
        format!(r"printf '%s\n' {lines} | {{ {command}; }}")
    } else {
        format!(r"printf '%s\n' {lines} | {}", words::join(&[shell, "-c", command]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input() {
        for (text, command, expected) in [
            ("date", "date", ""),
            (r"date +\%d", "date +%d", ""),
            (r"a \\% b", r"a \", r"printf '%s\n' ' b' | /bin/sh -c 'a \'"),
            (r"sed s/\\./\n/", r"sed s/\./\n/", ""),
            (r"x \", r"x \", ""),
            (r"cat%a\%b\\c", "cat", r"printf '%s\n' 'a%b\\c' | { cat; }"),
            ("mail x%hello%it's", "mail x", r"printf '%s\n' hello 'it'\''s' | { mail x; }"),
            ("cat%", "cat", ""),
            ("cat%%", "cat", r"printf '%s\n' '' | { cat; }"),
            ("cat%a%", "cat", r"printf '%s\n' a | { cat; }"),
            ("cat%a%%b", "cat", r"printf '%s\n' a '' b | { cat; }"),
            ("cat #x%a", "cat #x", r"printf '%s\n' a | /bin/sh -c 'cat #x'"),
            ("cat &%a", "cat &", r"printf '%s\n' a | /bin/sh -c 'cat &'"),
        ] {
            let split = split(text);
            assert_eq!(split.command, command);
            let found = split.input.map(|lines| piped(command, &lines, "/bin/sh"));
            assert_eq!(found.unwrap_or_default(), expected, "{text}");
        }
        let bash = piped("cat", &["a".into()], "/bin/bash");
        assert_eq!(bash, r"printf '%s\n' a | /bin/bash -c cat");
    }
}
