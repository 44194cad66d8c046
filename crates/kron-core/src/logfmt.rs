//! Log lines as `key=value` pairs, to be written and to be read back.
//!
//! A value is bare if it can be, otherwise in double quotes, with everything
//! escaped that could end it or begin a new line: no value can forge a pair
//! or a line.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt::{self, Write};

/// A value as it stands in a log line.
///
/// ```
/// use kron_core::logfmt::Value;
/// assert_eq!(Value("a=b\n").to_string(), r#""a=b\n""#);
/// assert_eq!(Value("plain").to_string(), "plain");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Value<'a>(pub &'a str);

impl Value<'_> {
    /// Appends it to a line.
    ///
    /// # Errors
    /// When `out` cannot be written to; a string always can.
    pub fn write(self, out: &mut impl Write) -> fmt::Result {
        let bare = |b: u8| b.is_ascii_graphic() && !matches!(b, b'"' | b'\\' | b'=');
        if !self.0.is_empty() && self.0.bytes().all(bare) {
            return out.write_str(self.0);
        }
        out.write_char('"')?;
        let mut rest = self.0;
        // Most have nothing to escape, and bytes are looked at faster.
        if rest.bytes().all(|b| bare(b) || matches!(b, b' ' | b'=')) {
            out.write_str(rest)?;
            rest = "";
        }
        while let Some(at) = rest.find(must_be_escaped) {
            let (plain, from) = rest.split_at(at);
            out.write_str(plain)?;
            let mut chars = from.chars();
            match chars.next() {
                Some(c @ ('"' | '\\')) => write!(out, "\\{c}")?,
                Some('\n') => out.write_str("\\n")?,
                Some('\r') => out.write_str("\\r")?,
                Some('\t') => out.write_str("\\t")?,
                Some(c) => write!(out, "\\u{{{:x}}}", u32::from(c))?,
                None => {}
            }
            rest = chars.as_str();
        }
        out.write_str(rest)?;
        out.write_char('"')
    }
}

/// What ends a value, commands a terminal, or ends a line or turns its direction
/// on some.
fn must_be_escaped(c: char) -> bool {
    matches!(c, '"' | '\\' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}') || c.is_control()
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

/// A place where a line stops being pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedLine {
    /// Byte offset.
    pub at: usize,
}

impl fmt::Display for MalformedLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no `key=value` at byte {}", self.at)
    }
}

impl core::error::Error for MalformedLine {}

/// The pairs of a line, in order. A first word without `=`, the time, is passed
/// over.
pub fn pairs(line: &str) -> impl Iterator<Item = Result<(&str, Cow<'_, str>), MalformedLine>> {
    let mut at = line.len() - line.trim_start_matches(' ').len();
    let first = line[at..].split(' ').next().unwrap_or_default();
    if !first.contains('=') {
        at += first.len();
    }
    core::iter::from_fn(move || {
        let rest = line.get(at..)?.trim_start_matches(' ');
        at = line.len() - rest.len();
        if rest.is_empty() {
            return None;
        }
        match pair(rest) {
            Some((key, value, length)) => {
                at += length;
                Some(Ok((key, value)))
            }
            None => {
                let error = MalformedLine { at };
                at = line.len();
                Some(Err(error))
            }
        }
    })
}

/// A pair at the beginning of a text, and its length.
fn pair(text: &str) -> Option<(&str, Cow<'_, str>, usize)> {
    let (key, rest) = text.split_once('=')?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    if key.is_empty() || !key.bytes().all(plain) {
        return None;
    }
    if let Some(body) = rest.strip_prefix('"') {
        let (value, length) = unquote(body)?;
        let after = &body[length..];
        let ends = after.is_empty() || after.starts_with(' ');
        return ends.then_some((key, value, key.len() + 2 + length));
    }
    let value = rest.split(' ').next()?;
    let bare = !value.contains(['"', '\\', '=']);
    bare.then_some((key, Cow::Borrowed(value), key.len() + 1 + value.len()))
}

/// A quoted value without its opening quote; and where its closing quote ends.
fn unquote(body: &str) -> Option<(Cow<'_, str>, usize)> {
    let end = body.find(['"', '\\'])?;
    if body[end..].starts_with('"') {
        return Some((Cow::Borrowed(&body[..end]), end + 1));
    }
    let mut value = String::from(&body[..end]);
    let mut chars = body[end..].char_indices();
    while let Some((i, c)) = chars.next() {
        match c {
            '"' => return Some((Cow::Owned(value), end + i + 1)),
            '\\' => match chars.next()?.1 {
                c @ ('"' | '\\') => value.push(c),
                'n' => value.push('\n'),
                'r' => value.push('\r'),
                't' => value.push('\t'),
                'u' => {
                    let digits = body[end + i..].strip_prefix("\\u{")?.split('}').next()?;
                    value.push(u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)?);
                    // The braces and what is in them.
                    chars.nth(digits.len() + 1)?;
                }
                _ => return None,
            },
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn read(line: &str) -> Result<Vec<(String, String)>, MalformedLine> {
        pairs(line).map(|pair| pair.map(|(k, v)| (k.to_string(), v.into_owned()))).collect()
    }

    #[test]
    fn lines() {
        let pair = |k: &str, v: &str| (k.to_string(), v.to_string());
        for (line, expected) in [
            ("", Ok(Vec::new())),
            ("2026-03-01T00:00:00.000000000Z level=info", Ok(Vec::from([pair("level", "info")]))),
            (r#"a="b \"c\" = d" e="#, Ok(Vec::from([pair("a", "b \"c\" = d"), pair("e", "")]))),
            (r#"a="\u{1b}[0m\n""#, Ok(Vec::from([pair("a", "\u{1b}[0m\n")]))),
            (r#"a="x"#, Err(MalformedLine { at: 0 })),
            (r#"a="x"y"#, Err(MalformedLine { at: 0 })),
            ("t a=b nonsense", Err(MalformedLine { at: 6 })),
            (r#"a="\u{}""#, Err(MalformedLine { at: 0 })),
            (r#"a="\u{110000}""#, Err(MalformedLine { at: 0 })),
        ] {
            assert_eq!(read(line), expected, "{line}");
        }
    }

    /// No value ends its line, its pair or its quotes.
    #[test]
    fn values() {
        for (value, expected) in [
            ("plain:1/x", "plain:1/x"),
            ("", "\"\""),
            ("a b", "\"a b\""),
            ("a=b", "\"a=b\""),
            ("a\"b", "\"a\\\"b\""),
            ("a\\b", "\"a\\\\b\""),
            ("a\nlevel=error", "\"a\\nlevel=error\""),
            ("\r\t", "\"\\r\\t\""),
            ("\u{1b}[0m\u{85}", "\"\\u{1b}[0m\\u{85}\""),
            ("\u{2028}\u{202e}", "\"\\u{2028}\\u{202e}\""),
            ("é", "\"é\""),
        ] {
            assert_eq!(Value(value).to_string(), expected, "{value:?}");
        }
    }

    proptest! {
        /// OBS-04: what is written is read back, and stays one line.
        #[test]
        fn round_trip(a in "\\PC{0,20}", b in proptest::collection::vec(any::<char>(), 0..20)) {
            let b: String = b.into_iter().collect();
            let line = format!("2026 a={} b={}", Value(&a), Value(&b));
            prop_assert!(!line.contains(['\n', '\r']) && !line.chars().any(char::is_control));
            prop_assert_eq!(read(&line).unwrap(), [("a".to_string(), a), ("b".to_string(), b)]);
        }

        #[test]
        fn any_line(line in any::<String>()) {
            let _ = read(&line);
        }
    }
}
