//! A command without a shell: from text to words.
//!
//! Quotes and backslashes as in a shell, and nothing else: no variables, no
//! patterns, no comments. Written here because the published splitter takes
//! a `#` for a comment, and would drop the rest of a command without a word.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Why a text cannot be divided into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitError {
    /// A `'` or `"` that is never closed.
    Unclosed(char),
    /// A backslash with nothing behind it.
    TrailingBackslash,
}

impl fmt::Display for SplitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unclosed(quote) => write!(f, "a `{quote}` in the command is never closed"),
            Self::TrailingBackslash => f.write_str("the command ends with a backslash"),
        }
    }
}

impl core::error::Error for SplitError {}

/// Divides a command into words.
///
/// ```
/// let words = kron_tab::words::split(r#"tar -cf 'my files.tar' "a b" c\ d"#)?;
/// assert_eq!(words, ["tar", "-cf", "my files.tar", "a b", "c d"]);
/// # Ok::<(), kron_tab::words::SplitError>(())
/// ```
///
/// # Errors
/// When a quote or an escape is not complete.
pub fn split(text: &str) -> Result<Vec<String>, SplitError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if matches!(c, ' ' | '\t') {
            words.extend(word.take().map(exact));
            continue;
        }
        let word = word.get_or_insert_default();
        match c {
            '\\' => word.push(chars.next().ok_or(SplitError::TrailingBackslash)?),
            '\'' => loop {
                match chars.next().ok_or(SplitError::Unclosed('\''))? {
                    '\'' => break,
                    c => word.push(c),
                }
            },
            '"' => loop {
                match chars.next().ok_or(SplitError::Unclosed('"'))? {
                    '"' => break,
                    '\\' => match chars.next().ok_or(SplitError::Unclosed('"'))? {
                        c @ ('"' | '\\' | '$' | '`') => word.push(c),
                        c => word.extend(['\\', c]),
                    },
                    c => word.push(c),
                }
            },
            c => word.push(c),
        }
    }
    words.extend(word.map(exact));
    words.shrink_to_fit();
    Ok(words)
}

/// Words are kept as long as their job, many of them.
fn exact(mut word: String) -> String {
    word.shrink_to_fit();
    word
}

/// Words joined so that [`split`], and a shell, give them back.
///
/// ```
/// use kron_tab::words::join;
/// assert_eq!(join(&["echo", "a b", "it's", ""]), r"echo 'a b' 'it'\''s' ''");
/// assert_eq!(join(&["a=b", "c=d"]), "'a=b' c=d");
/// ```
#[must_use]
pub fn join<W: AsRef<str>>(words: &[W]) -> String {
    let mut out = String::new();
    for (i, word) in words.iter().map(AsRef::as_ref).enumerate() {
        match i {
            // A shell would take it for an assignment.
            0 if word.contains('=') => push_quoted(&mut out, word),
            0 => out.push_str(&quote(word)),
            _ => {
                out.push(' ');
                out.push_str(&quote(word));
            }
        }
    }
    out
}

/// One word, in single quotes where it needs them.
#[must_use]
pub fn quote(word: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./:=@%+,".contains(&b);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.into();
    }
    let mut out = String::new();
    push_quoted(&mut out, word);
    out
}

fn push_quoted(out: &mut String, word: &str) {
    out.push('\'');
    out.push_str(&word.replace('\'', r"'\''"));
    out.push('\'');
}
