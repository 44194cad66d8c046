//! YAML documents as trees with line numbers.
//!
//! Built from the parser's events rather than by a library, for two reasons:
//! every node knows its line, and what aliases expand to is counted, so that a
//! small file cannot become a large tree.

use crate::message::quoted;
use granit_parser::{Event, Parser, ScalarStyle};
use std::collections::{BTreeMap, BTreeSet};

/// Nodes of all documents of a file together, copies made by aliases included.
const NODES: usize = 200_000;

/// One node, with the line on which it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub line: usize,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Scalar(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// Why a file is not YAML, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mistake {
    pub line: usize,
    pub text: String,
}

impl Node {
    /// The value of a key that is there and not null.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Kind::Map(pairs) = &self.kind else { return None };
        let found = pairs.iter().find(|(known, _)| known == key)?;
        (found.1.kind != Kind::Null).then_some(&found.1)
    }

    /// The value at the end of a path of keys.
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Scalar(text) => Some(text),
            _ => None,
        }
    }

    pub fn items(&self) -> &[Self] {
        match &self.kind {
            Kind::List(items) => items,
            _ => &[],
        }
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        let pairs = match &self.kind {
            Kind::Map(pairs) => pairs.as_slice(),
            _ => &[],
        };
        pairs.iter().filter(|(_, node)| node.kind != Kind::Null).map(|(key, _)| key.as_str())
    }

    fn size(&self) -> usize {
        1 + match &self.kind {
            Kind::List(items) => items.iter().map(Self::size).sum(),
            Kind::Map(pairs) => pairs.iter().map(|(_, node)| node.size()).sum(),
            _ => 0_usize,
        }
    }
}

/// The documents before the first mistake, and that mistake.
pub(super) fn documents(text: &str) -> (Vec<Node>, Option<Mistake>) {
    let mut builder = Builder::default();
    // A byte order mark is no mistake in YAML.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for event in Parser::new_from_str(text) {
        let mistake = match event {
            Err(error) => Some(Mistake { line: error.marker().line(), text: error.info().clone() }),
            Ok((event, span)) => {
                let line = span.start.line();
                builder.event(event, line).err().map(|text| Mistake { line, text })
            }
        };
        if mistake.is_some() {
            return (builder.documents, mistake);
        }
    }
    (builder.documents, None)
}

#[derive(Default)]
struct Builder {
    documents: Vec<Node>,
    /// Collections that are not closed yet.
    open: Vec<Open>,
    anchors: BTreeMap<usize, Node>,
    nodes: usize,
}

struct Open {
    node: Node,
    anchor: usize,
    /// In a mapping, the keys so far, and the one that waits for its value.
    keys: BTreeSet<String>,
    key: Option<String>,
}

impl Builder {
    fn event(&mut self, event: Event<'_>, line: usize) -> Result<(), String> {
        match event {
            Event::DocumentStart(..) => self.anchors.clear(),
            Event::Scalar(text, style, anchor, _) => {
                let plain = style == ScalarStyle::Plain;
                let null = plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                let kind = if null { Kind::Null } else { Kind::Scalar(text.into_owned()) };
                self.count(1)?;
                self.finish(Node { line, kind }, anchor, null)?;
            }
            Event::SequenceStart(_, anchor, _) => {
                self.begin(line, Kind::List(Vec::new()), anchor)?;
            }
            Event::MappingStart(_, anchor, _) => self.begin(line, Kind::Map(Vec::new()), anchor)?,
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(Open { mut node, anchor, .. }) = self.open.pop() {
                    merge(&mut node)?;
                    self.finish(node, anchor, false)?;
                }
            }
            Event::Alias(anchor) => {
                let found = self.anchors.get(&anchor).cloned();
                let node = found.ok_or("an alias stands inside what it refers to")?;
                self.count(node.size())?;
                self.finish(node, 0, false)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn count(&mut self, nodes: usize) -> Result<(), String> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > NODES {
            return Err(format!("there are more than {NODES} values, aliases expanded"));
        }
        Ok(())
    }

    fn begin(&mut self, line: usize, kind: Kind, anchor: usize) -> Result<(), String> {
        self.open.push(Open {
            node: Node { line, kind },
            anchor,
            keys: BTreeSet::new(),
            key: None,
        });
        self.count(1)
    }

    /// Puts a complete node where it belongs.
    fn finish(&mut self, node: Node, anchor: usize, null: bool) -> Result<(), String> {
        if anchor > 0 {
            self.count(node.size())?;
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.documents.push(node);
            return Ok(());
        };
        match &mut open.node.kind {
            Kind::List(items) => items.push(node),
            Kind::Map(pairs) => match open.key.take() {
                Some(key) => pairs.push((key, node)),
                None => {
                    let Kind::Scalar(key) = node.kind else {
                        let what = if null { "nothing" } else { "a collection" };
                        return Err(format!("{what} cannot be a key"));
                    };
                    if key != "<<" && !open.keys.insert(key.clone()) {
                        return Err(format!("the key {} is given twice", quoted(&key)));
                    }
                    open.key = Some(key);
                }
            },
            Kind::Null | Kind::Scalar(_) => {}
        }
        Ok(())
    }
}

/// Adds what `<<` refers to; keys that are there already win.
fn merge(node: &mut Node) -> Result<(), String> {
    let Kind::Map(pairs) = &mut node.kind else { return Ok(()) };
    if !pairs.iter().any(|(key, _)| key == "<<") {
        return Ok(());
    }
    let mut keys: BTreeSet<String> = pairs.iter().map(|(key, _)| key.clone()).collect();
    let (merged, own): (Vec<_>, Vec<_>) =
        core::mem::take(pairs).into_iter().partition(|(key, _)| key == "<<");
    *pairs = own;
    for (_, from) in merged {
        let maps = match from.kind {
            Kind::List(items) => items,
            _ => vec![from],
        };
        for map in maps {
            let Kind::Map(inherited) = map.kind else {
                return Err("`<<` must refer to a mapping".into());
            };
            for (key, value) in inherited {
                if keys.insert(key.clone()) {
                    pairs.push((key, value));
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(node: &Node) -> String {
        match &node.kind {
            Kind::Null => "null".into(),
            Kind::Scalar(text) => text.clone(),
            Kind::List(items) => {
                format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(" "))
            }
            Kind::Map(pairs) => {
                let pairs = pairs.iter().map(|(key, node)| format!("{key}={}", show(node)));
                format!("{{{}}}", pairs.collect::<Vec<_>>().join(" "))
            }
        }
    }

    #[test]
    fn trees() {
        for (text, expected) in [
            ("a: 1\nb: [x, 'y', null]", "{a=1 b=[x y null]}"),
            ("a\n---\nb", "a b"),
            ("x: &a {p: 1}\ny: *a", "{x={p=1} y={p=1}}"),
            ("x: &a {p: 1, q: 2}\ny:\n  <<: *a\n  p: 3", "{x={p=1 q=2} y={p=3 q=2}}"),
            ("", ""),
            ("a: 1\na: 2", "line 2: the key `a` is given twice"),
            ("? [a]\n: b", "line 1: a collection cannot be a key"),
            ("a\n---\n\"b", "a line"),
            ("x: &a [*a]", "line 1: an alias stands inside what it refers to"),
        ] {
            let (documents, mistake) = documents(text);
            let mut found: Vec<String> = documents.iter().map(show).collect();
            found.extend(mistake.map(|mistake| format!("line {}: {}", mistake.line, mistake.text)));
            let found = found.join(" ");
            if expected.ends_with("line") {
                assert!(found.starts_with(expected), "{text}: {found}");
            } else {
                assert_eq!(found, expected, "{text}");
            }
        }
    }

    /// Ten levels of ten aliases each would be ten thousand million values; one
    /// level of five hundred, a million.
    #[test]
    fn alias_bombs() {
        let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for i in 1..10 {
            let aliases = vec![format!("*a{}", i - 1); 10].join(", ");
            text = format!("{text}a{i}: &a{i} [{aliases}]\n");
        }
        let wide = format!("a: &a [{}1]\nb: [{}1]\n", "x, ".repeat(2000), "*a, ".repeat(500));
        for text in [text, wide] {
            let (documents, mistake) = documents(&text);
            assert!(documents.is_empty());
            assert!(mistake.unwrap().text.starts_with("there are more than 200000 values"));
        }
    }
}
