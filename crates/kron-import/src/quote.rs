//! Words as text that is split into the same words again.
//!
//! Single quotes alone, with `\'` between them: Kron's `command` and every
//! POSIX shell read that alike, so one form serves both.

/// One word.
pub(crate) fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.into();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Several words, as one command. A shell must not take the first of them for
/// an assignment, so a `=` in it is quoted as well.
pub(crate) fn words<S: AsRef<str>>(words: &[S]) -> String {
    let mut out = String::new();
    for text in words {
        let text = text.as_ref();
        let quoted = word(text);
        if out.is_empty() && text.contains('=') && !quoted.starts_with('\'') {
            out = format!("'{text}'");
            continue;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&quoted);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting() {
        for (input, expected) in [
            (&["ls", "-l", "/tmp"][..], "ls -l /tmp"),
            (&["echo", "a b", ""], "echo 'a b' ''"),
            (&["echo", "it's"], r"echo 'it'\''s'"),
            (&["a=b", "c=d"], "'a=b' c=d"),
            (&["echo", "$HOME", "~", "*"], "echo '$HOME' '~' '*'"),
        ] {
            assert_eq!(words(input), expected);
        }
    }
}
