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
            words.extend(word.take());
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
    words.extend(word);
    Ok(words)
}

/// Words joined so that [`split`], and a shell, give them back.
#[must_use]
pub fn join<W: AsRef<str>>(words: &[W]) -> String {
    let mut out = String::new();
    for (i, word) in words.iter().enumerate() {
        if i > 0 {
            out.push(' ');
        }
        push_quoted(&mut out, word.as_ref());
    }
    out
}

fn push_quoted(out: &mut String, word: &str) {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./:=@%+,".contains(&b);
    if !word.is_empty() && word.bytes().all(plain) {
        out.push_str(word);
    } else {
        out.push('\'');
        out.push_str(&word.replace('\'', r"'\''"));
        out.push('\'');
    }
}
