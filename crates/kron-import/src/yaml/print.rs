//! A tree as a document. What stood without quotes stays so, whatever a reader
//! takes it for; everything else gets quotes, or is a block if it has lines.

use super::{Kind, Node, Pair, Scalar};
use std::fmt::{self, Write};

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        match &self.kind {
            Kind::Map(pairs) if !pairs.is_empty() => map(&mut out, pairs, 0, true),
            Kind::List(items) if !items.is_empty() => list(&mut out, items, 0),
            // A block needs more indentation than what it is in.
            kind => single(&mut out, kind, 1),
        }
        f.write_str(&out)
    }
}

fn indent(out: &mut String, depth: usize) {
    out.extend(std::iter::repeat_n(' ', 2 * depth));
}

fn map(out: &mut String, pairs: &[Pair], depth: usize, mut is_new_line: bool) {
    for Pair { key, value, .. } in pairs {
        if is_new_line {
            indent(out, depth);
        }
        is_new_line = true;
        inline(out, key);
        out.push(':');
        behind(out, value, depth + 1);
    }
}

fn list(out: &mut String, items: &[Node], depth: usize) {
    for item in items {
        indent(out, depth);
        out.push('-');
        match &item.kind {
            Kind::Map(pairs) if !pairs.is_empty() => {
                out.push(' ');
                map(out, pairs, depth + 1, false);
            }
            _ => behind(out, item, depth + 1),
        }
    }
}

/// A value behind `key:` or `-`.
fn behind(out: &mut String, node: &Node, depth: usize) {
    match &node.kind {
        Kind::Map(pairs) if !pairs.is_empty() => {
            out.push('\n');
            map(out, pairs, depth, true);
        }
        Kind::List(items) if !items.is_empty() => {
            out.push('\n');
            list(out, items, depth);
        }
        kind => {
            out.push(' ');
            single(out, kind, depth);
        }
    }
}

/// What has nothing in it, to the end of its line.
fn single(out: &mut String, kind: &Kind, depth: usize) {
    match kind {
        Kind::Null => out.push_str("null"),
        Kind::Map(_) => out.push_str("{}"),
        Kind::List(_) => out.push_str("[]"),
        Kind::Scalar(scalar) if is_block(&scalar.text) => return block(out, &scalar.text, depth),
        Kind::Scalar(scalar) => inline(out, scalar),
    }
    out.push('\n');
}

/// Whether a character has to be escaped.
fn is_odd(c: char) -> bool {
    c.is_control() || matches!(c, '\u{feff}' | '\u{2028}' | '\u{2029}')
}

/// Whether a text is best written line by line.
fn is_block(text: &str) -> bool {
    let text = text.trim_end_matches('\n');
    text.contains('\n')
        && !text.starts_with([' ', '\t', '\n'])
        && !text.contains(|c: char| is_odd(c) && !matches!(c, '\n' | '\t'))
}

fn block(out: &mut String, text: &str, depth: usize) {
    let body = text.trim_end_matches('\n');
    let ends = &text[body.len()..];
    out.push_str(match ends.len() {
        0 => "|-\n",
        1 => "|\n",
        _ => "|+\n",
    });
    for line in body.split('\n') {
        if !line.is_empty() {
            indent(out, depth);
            out.push_str(line);
        }
        out.push('\n');
    }
    out.push_str(ends.get(1..).unwrap_or_default());
}

/// A scalar in its line.
fn inline(out: &mut String, scalar: &Scalar) {
    let Scalar { text, is_plain } = scalar;
    if *is_plain && !text.is_empty() && !text.contains(is_odd) {
        out.push_str(text);
        return;
    }
    out.push('"');
    for c in text.chars() {
        // Writing to a string cannot fail.
        let _ = match c {
            '"' | '\\' => write!(out, "\\{c}"),
            '\n' => write!(out, "\\n"),
            '\t' => write!(out, "\\t"),
            c if is_odd(c) => write!(out, "\\u{:04x}", u32::from(c)),
            c => write!(out, "{c}"),
        };
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::super::documents;
    use super::*;

    /// A tree without its places.
    fn bare(node: &Node) -> Node {
        Node::new(match &node.kind {
            Kind::List(items) => Kind::List(items.iter().map(bare).collect()),
            Kind::Map(pairs) => {
                let pair = |pair: &Pair| Pair {
                    span: kron_core::Span::default(),
                    value: bare(&pair.value),
                    ..pair.clone()
                };
                Kind::Map(pairs.iter().map(pair).collect())
            }
            other => other.clone(),
        })
    }

    /// What is written is read as what it was, and written again as it is.
    #[track_caller]
    fn check(node: &Node) {
        let text = node.to_string();
        let (read, mistake) = documents(&text);
        assert_eq!(mistake, None, "{text}");
        let read: Vec<Node> = read.iter().map(bare).collect();
        assert_eq!(read, [bare(node)], "{text}");
        assert_eq!(read[0].to_string(), text);
    }

    #[test]
    fn documents_stay_what_they_are() {
        for (text, expected) in [
            ("a: 1", "a: 1\n"),
            (
                "{a: {b: [c, {d: e, f: g}, [h]]}, i: []}",
                "a:\n  b:\n    - c\n    - d: e\n      f: g\n    -\n      - h\ni: []\n",
            ),
            (
                "a: 'yes'\nb: yes\nc: 0777\nd: \"\"\ne: ~\nf: {}",
                "a: \"yes\"\nb: yes\nc: 0777\nd: \"\"\ne: null\nf: {}\n",
            ),
            (
                "a: |\n  x\n\n   y\nb: |-\n  x\n  y\nc: |+\n  x\n  y\n\n",
                "a: |\n  x\n\n   y\nb: |-\n  x\n  y\nc: |+\n  x\n  y\n\n",
            ),
            ("a: >\n  x\n  y", "a: \"x y\\n\"\n"),
            ("a: plain\n  on two lines", "a: plain on two lines\n"),
            ("a: !!str 5\nb: !!int '6'", "a: \"5\"\nb: 6\n"),
            ("'on': x\noff: y", "\"on\": x\noff: y\n"),
            ("- - a\n  - b\n- c", "-\n  - a\n  - b\n- c\n"),
            ("x: &a {p: 1}\ny: {<<: *a, q: 2}", "x:\n  p: 1\ny:\n  q: 2\n  p: 1\n"),
        ] {
            let (read, mistake) = documents(text);
            assert_eq!(mistake, None, "{text}");
            assert_eq!(read[0].to_string(), expected, "{text}");
            if !text.contains("!!") {
                check(&read[0]);
            }
        }
    }

    #[test]
    fn any_text_stays_what_it_is() {
        for text in [
            "",
            " ",
            "x",
            "yes",
            "12",
            "1_000",
            "~",
            "null",
            "a: b",
            "a #b",
            "#",
            "- a",
            "-",
            "?",
            "&a",
            "*a",
            "!a",
            "%a",
            "@a",
            "`a",
            "'",
            "\"",
            "\\",
            "a\\nb",
            "{",
            "[",
            "]",
            "|",
            ">",
            "\t",
            "\n",
            "\n\n",
            "a\n",
            "a\nb",
            "a\nb\n",
            "a\nb\n\n\n",
            "\na",
            " a\nb",
            "a\n b",
            "a\n\tb",
            "\ta\nb",
            "a\r\nb",
            "a\u{7}b",
            "\u{85}",
            "\u{2028}",
            "\u{feff}",
            "é 雪 🎲",
            "---\na",
            "a\n---\nb",
            "a\n\n\nb",
            "a \nb ",
            "# a\nb",
            "a: b\nc: d",
            "\u{7f}",
        ] {
            for item in
                [Node::scalar(text, false), Node::new(Kind::List(vec![Node::scalar(text, false)]))]
            {
                check(&Node::map(vec![("k", item.clone()), ("l", Node::map(vec![("m", item)]))]));
            }
        }
    }
}
