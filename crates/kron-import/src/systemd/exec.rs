//! Command lines of service units: prefixes, quoting, variables.

use super::specifier::Specifiers;
use crate::message::quoted;
use kron_tab::words;

/// One command of a service.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    pub words: Vec<String>,
    /// `-`: a failure counts as success.
    pub ignores_failure: bool,
    /// `+`, `!`, `!!`: with more rights than the unit's user has.
    pub privileged: bool,
    /// `@`: under another name than its own.
    pub renamed: bool,
}

/// Variables whose values are known.
pub(super) type Variables = [(String, String)];

/// Reads the value of `ExecStart=` and the like: one command or several.
pub(super) fn commands(
    text: &str,
    specifiers: &Specifiers<'_>,
    variables: &Variables,
) -> Result<Vec<Command>, String> {
    let mut commands = Vec::new();
    let mut current: Vec<Word> = Vec::new();
    for word in words(text)? {
        if word.bare && word.text == ";" {
            commands.push(command(core::mem::take(&mut current), specifiers, variables)?);
        } else {
            current.push(word);
        }
    }
    if !current.is_empty() {
        commands.push(command(current, specifiers, variables)?);
    }
    Ok(commands)
}

fn command(
    words: Vec<Word>,
    specifiers: &Specifiers<'_>,
    variables: &Variables,
) -> Result<Command, String> {
    let mut command = Command::default();
    let mut expands = true;
    let mut words = words.into_iter();
    let first = words.next().map(|word| word.text).unwrap_or_default();
    let path = first.trim_start_matches(['-', '@', ':', '+', '!', '|']);
    for prefix in first[..first.len() - path.len()].chars() {
        match prefix {
            '-' => command.ignores_failure = true,
            '@' => command.renamed = true,
            ':' => expands = false,
            '|' => return Err("the prefix `|` is not supported".into()),
            _ => command.privileged = true,
        }
    }
    if path.is_empty() {
        return Err("a command is missing".into());
    }
    command.words.push(specifiers.expand(path)?);
    if command.renamed {
        words.next();
    }
    for word in words {
        let text = specifiers.expand(&word.text)?;
        if expands {
            substitute(&text, variables, &mut command.words)?;
        } else {
            command.words.push(text);
        }
    }
    Ok(command)
}

/// Expands `$NAME`, a word of its own that is split, and `${NAME}` anywhere.
fn substitute(text: &str, variables: &Variables, out: &mut Vec<String>) -> Result<(), String> {
    let value = |name: &str| {
        let found = variables.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).ok_or_else(|| {
            format!(
                "the variable {} is not set in the unit, so its value is not known",
                quoted(name)
            )
        })
    };
    if let Some(name) = text.strip_prefix('$')
        && !name.is_empty()
        && !name.starts_with(['$', '{'])
    {
        let words = words(value(name)?)?;
        out.extend(words.into_iter().map(|word| word.text));
        return Ok(());
    }
    let mut expanded = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        expanded.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            expanded.push('$');
            rest = after;
        } else if let Some((name, after)) = rest.strip_prefix('{').and_then(|r| r.split_once('}')) {
            if name.contains(':') {
                return Err(format!("{} is not supported", quoted(text)));
            }
            expanded.push_str(value(name)?);
            rest = after;
        } else {
            expanded.push('$');
        }
    }
    expanded.push_str(rest);
    out.push(expanded);
    Ok(())
}

/// One word, and whether it was written without quotes and escapes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub text: String,
    pub bare: bool,
}

/// Splits a value as systemd does: at blanks, with quotes and C escapes.
pub(super) fn words(text: &str) -> Result<Vec<Word>, String> {
    let mut out = Vec::new();
    let mut word: Option<Word> = None;
    let mut quote = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, ' ' | '\t' | '\n' | '\r') => out.extend(word.take()),
            (_, '\\') => {
                let word = word.get_or_insert_with(empty);
                word.bare = false;
                escape(&mut chars, &mut word.text)
                    .ok_or_else(|| format!("there is a bad escape in {}", quoted(text)))?;
            }
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_with(empty).bare = false;
            }
            _ => word.get_or_insert_with(empty).text.push(c),
        }
    }
    if quote.is_some() {
        return Err(format!("a quote is not closed in {}", quoted(text)));
    }
    out.extend(word);
    Ok(out)
}

fn empty() -> Word {
    Word { text: String::new(), bare: true }
}

fn escape(chars: &mut impl Iterator<Item = char>, out: &mut String) -> Option<()> {
    let c = chars.next()?;
    out.push(match c {
        'a' => '\x07',
        'b' => '\x08',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        's' => ' ',
        '\\' | '"' | '\'' | ';' => c,
        _ => {
            let mut number = |first: Option<char>, digits: usize, radix: u32| {
                let mut value = first.map_or(Some(0), |c| c.to_digit(radix))?;
                for _ in 0..digits {
                    value = value * radix + chars.next()?.to_digit(radix)?;
                }
                Some(value)
            };
            let value = match c {
                // A byte above 127 would be part of a longer character.
                'x' => number(None, 2, 16).filter(|&byte| byte < 128),
                'u' => number(None, 4, 16),
                'U' => number(None, 8, 16),
                '0'..='3' => number(Some(c), 2, 8).filter(|&byte| byte < 128),
                _ => None,
            };
            char::from_u32(value?)?
        }
    });
    Some(())
}

/// The text that runs commands one after the other, as long as they succeed.
pub(super) fn chain(commands: &[Command]) -> String {
    let texts: Vec<String> = commands
        .iter()
        .map(|command| {
            let text = words::join(&command.words);
            if command.ignores_failure { format!("{{ {text} || :; }}") } else { text }
        })
        .collect();
    texts.join(" && ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines() {
        let unit = "a@b.service";
        let specifiers = Specifiers { unit, system: true, user: "root", home: None };
        let variables = [("A".to_string(), "x 'y z'".to_string()), ("E".into(), String::new())];
        for (text, expected) in [
            ("/bin/x -a \"b c\" 'd'", "/bin/x -a 'b c' d"),
            ("-/bin/x", "{ /bin/x || :; }"),
            ("@/bin/x argv0 y", "/bin/x y"),
            ("/bin/x $A ${A} a${E}b $E", "/bin/x x 'y z' 'x '\\''y z'\\''' ab"),
            (":/bin/x $A", "/bin/x '$A'"),
            ("/bin/x $$A a$$", "/bin/x '$A' 'a$'"),
            ("/bin/x a$A", "/bin/x 'a$A'"),
            ("/bin/x %i 100%%", "/bin/x b 100%"),
            ("/bin/x a ; /bin/y b", "/bin/x a && /bin/y b"),
            ("/bin/x a \\; b", "/bin/x a ';' b"),
            (r#"/bin/x "a\x41\u0042\101\s""#, "/bin/x 'aABA '"),
            ("/bin/x $B", "refused: the variable `B` is not set"),
            ("/bin/x ${A:-b}", "refused: `${A:-b}` is not supported"),
            ("/bin/x %H", "refused: the specifier `%H` is not known"),
            ("/bin/x \"a", "refused: a quote is not closed"),
            ("/bin/x \\q", "refused: there is a bad escape"),
            ("/bin/x \\", "refused: there is a bad escape"),
            ("-", "refused: a command is missing"),
            ("|x", "refused: the prefix `|`"),
            ("/bin/x $", "/bin/x '$'"),
            ("/bin/x ${", "/bin/x '${'"),
        ] {
            let found = commands(text, &specifiers, &variables);
            let found = found.map_or_else(|reason| format!("refused: {reason}"), |all| chain(&all));
            if expected.starts_with("refused") {
                assert!(found.starts_with(expected), "{text}: {found}");
            } else {
                assert_eq!(found, expected, "{text}");
            }
        }
    }
}
