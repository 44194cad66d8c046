//! A random sleep before a command: what people write who have no window.
//!
//! Found at the start, or after guards such as `[ -x … ] &&`, and only if
//! something follows. Anything else is left as it is, and still sleeps.

/// A random sleep, and the command without it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Jitter {
    /// The sleep.
    pub text: String,
    pub longest_seconds: u64,
    /// Whether it needs `$RANDOM`, which not every shell has.
    pub needs_bash: bool,
    /// The command without the sleep.
    pub rest: String,
}

/// What `$RANDOM` gives at most.
const RANDOM_MAX: u64 = 32_767;
/// A wait of more than this is no jitter.
const LONGEST_SECONDS: u64 = 366 * 86_400;

/// Looks for a random sleep.
pub(super) fn find(command: &str) -> Option<Jitter> {
    let mut at = 0;
    let mut before = "";
    loop {
        let (length, after) = segment(&command[at..])?;
        let text = command[at..at + length].trim();
        let next = at + length + after.len();
        if let Some((longest_seconds, needs_bash)) = sleep(text) {
            let rest = command[next..].trim();
            if rest.is_empty() || longest_seconds > LONGEST_SECONDS {
                return None;
            }
            let guards = command[..at - before.len()].trim();
            let rest = match (guards, before, after) {
                ("", ..) => rest.into(),
                (_, "&&", "&&") => format!("{guards} && {rest}"),
                _ => format!("{guards}; {rest}"),
            };
            return Some(Jitter { text: text.into(), longest_seconds, needs_bash, rest });
        }
        let is_guard = ["[ ", "test ", "command -v "].iter().any(|start| text.starts_with(start));
        if !is_guard || text.contains("||") {
            return None;
        }
        (at, before) = (next, after);
    }
}

/// The length of the text up to the first `&&` or `;` outside of quotes and
/// parentheses, and which it is.
fn segment(text: &str) -> Option<(usize, &'static str)> {
    let mut quote = None;
    let mut depth = 0_usize;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"' | '`') => quote = Some(c),
            (None | Some('"' | '`'), '\\') => drop(chars.next()),
            (None, '(' | '{' | '[') => depth += 1,
            (None, ')' | '}' | ']') => depth = depth.saturating_sub(1),
            (None, ';') if depth == 0 => return Some((at, ";")),
            (None, '&') if depth == 0 => {
                return text[at..].starts_with("&&").then_some((at, "&&"));
            }
            (None, '|') if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// The longest time that a random sleep takes, and whether it needs `$RANDOM`.
fn sleep(text: &str) -> Option<(u64, bool)> {
    let dense: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    if let Some(program) = one_of(&dense, &["perl-e", "perl-le", "/usr/bin/perl-e"]) {
        let body = strip_quotes(program)?.trim_end_matches(';');
        let body = body.strip_prefix("sleep")?;
        let body = unwrap(body);
        let body = unwrap(body.strip_prefix("int").unwrap_or(body));
        return Some((number(unwrap(body.strip_prefix("rand")?))?, false));
    }
    if dense.starts_with("python") || dense.starts_with("/usr/bin/python") {
        let (_, body) = dense.split_once("-c")?;
        let body = strip_quotes(body)?.trim_end_matches(';');
        let (_, body) = body.split_once("time.sleep(")?;
        let body = body.strip_suffix(')')?;
        let seconds = if let Some(n) = body.strip_prefix("random.random()*") {
            number(n)?
        } else {
            let ends = one_of(body, &["random.randint(", "random.uniform("])?.strip_suffix(')')?;
            number(ends.split_once(',')?.1)?
        };
        return Some((seconds, false));
    }
    let argument = one_of(text, &["sleep ", "/bin/sleep ", "/usr/bin/sleep "])?;
    let argument: String = argument.chars().filter(|c| !c.is_whitespace()).collect();
    let (argument, unit) = match argument.strip_suffix(['s', 'm', 'h']) {
        Some(rest) if rest.ends_with([')', ']', '`', '}']) => {
            let unit = if argument.ends_with('m') { 60 } else { 3600 };
            (rest, if argument.ends_with('s') { 1 } else { unit })
        }
        _ => (argument.as_str(), 1),
    };
    if is_random(argument) && argument.starts_with('$') {
        return Some((RANDOM_MAX.checked_mul(unit)?, true));
    }
    let inside = |open: &str, close: &str| argument.strip_prefix(open)?.strip_suffix(close);
    let arithmetic = inside("$((", "))").or_else(|| inside("$[", "]"));
    let output = inside("$(", ")").or_else(|| inside("`", "`"));
    if let Some(range) = output.and_then(|output| output.strip_prefix("shuf")) {
        let range = range.replace("-n1", "");
        let (_, last) = range.strip_prefix("-i")?.split_once('-')?;
        return Some((number(last)?.checked_mul(unit)?, false));
    }
    let remainder = arithmetic.or_else(|| output?.strip_prefix("expr"))?;
    let (random, modulus) = remainder.split_once('%')?;
    let longest = number(modulus)?.checked_sub(1)?.min(RANDOM_MAX);
    is_random(random.trim_end_matches('\\')).then_some(())?;
    Some((longest.checked_mul(unit)?, true))
}

fn is_random(text: &str) -> bool {
    matches!(text, "RANDOM" | "$RANDOM" | "${RANDOM}")
}

fn one_of<'a>(text: &'a str, starts: &[&str]) -> Option<&'a str> {
    starts.iter().find_map(|start| text.strip_prefix(start))
}

fn strip_quotes(text: &str) -> Option<&str> {
    ['\'', '"'].iter().find_map(|&quote| text.strip_prefix(quote)?.strip_suffix(quote))
}

/// Without parentheses around it.
fn unwrap(text: &str) -> &str {
    text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text)
}

fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeps() {
        for (command, expected) in [
            ("sleep $RANDOM; x", "32767 bash x"),
            ("sleep ${RANDOM} && x", "32767 bash x"),
            ("sleep $((RANDOM % 3600)); x", "3599 bash x"),
            ("sleep $(( $RANDOM % 1800 )) && x && y", "1799 bash x && y"),
            ("sleep $[ RANDOM % 60 ]m; x", "3540 bash x"),
            ("sleep `expr $RANDOM % 90`; x", "89 bash x"),
            (r"sleep $(expr $RANDOM \% 90); x", "89 bash x"),
            ("sleep $(shuf -i 0-600 -n 1); x", "600 any x"),
            ("sleep $(shuf -n1 -i 1-10)m; x", "600 any x"),
            ("perl -e 'sleep int(rand(3600))' && x", "3600 any x"),
            ("perl -e \"sleep int rand 60\"; x", "60 any x"),
            (
                "python3 -c 'import random, time; time.sleep(random.random() * 3600)' && x",
                "3600 any x",
            ),
            (
                r"test -x /usr/bin/y -a \! -d /run/z && perl -e 'sleep int(rand(43200))' && y -q",
                r"43200 any test -x /usr/bin/y -a \! -d /run/z && y -q",
            ),
            ("[ -x /y ] && sleep $((RANDOM%9)); y", "8 bash [ -x /y ]; y"),
            ("sleep 30 && x", ""),
            ("sleep $RANDOM", ""),
            ("sleep $RANDOM;", ""),
            ("sleep $RANDOM | x; y", ""),
            ("sleep $RANDOM & x", ""),
            ("x; sleep $RANDOM; y", ""),
            ("[ -x /y ] || exit 0; sleep $RANDOM; y", ""),
            ("sleep $((RANDOM % 0)); y", ""),
            ("sleep $((RANDOM % 99999999999999999999)); y", ""),
            ("(sleep $RANDOM; x)", ""),
            ("'", ""),
            ("\\", ""),
        ] {
            let found = find(command).map(|jitter| {
                let shell = if jitter.needs_bash { "bash" } else { "any" };
                format!("{} {shell} {}", jitter.longest_seconds, jitter.rest)
            });
            assert_eq!(found.unwrap_or_default(), expected, "{command}");
        }
    }
}
