//! YAML documents as trees with places, and back to text.
//!
//! Built from the parser's events rather than by a library, for two reasons:
//! every node knows where it stands, and what aliases expand to is counted, so
//! that a small file cannot become a large tree.

mod print;

use crate::message::quoted;
use granit_parser::{Event, Parser, ScalarStyle};
use kron_core::Span;
use std::collections::{BTreeMap, BTreeSet};

/// Nodes of all documents of a file together, copies made by aliases included.
const NODES: usize = 200_000;

/// One node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The bytes of the file that it is made of; of a collection that is not in
    /// brackets, only where it begins.
    pub span: Span,
    /// The line on which it begins, from 1.
    pub line: usize,
    /// What it is.
    pub kind: Kind,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    Null,
    /// A text, or what a reader may take for a number or a truth.
    Scalar(Scalar),
    /// A list.
    List(Vec<Node>),
    /// A mapping, in the order of the file.
    Map(Vec<Pair>),
}

/// A single value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalar {
    /// Its text, without quotes and escapes.
    pub text: String,
    /// Whether it stands without quotes, so that its text says what it is.
    pub is_plain: bool,
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The key.
    pub key: Scalar,
    /// The bytes of the file that the key is made of.
    pub span: Span,
    /// The value.
    pub value: Node,
}

/// Why a file is not YAML, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The byte at which that is noticed.
    pub at: usize,
    /// Its line, from 1.
    pub line: usize,
    /// Why.
    pub text: String,
}

impl Node {
    /// A node that stands in no file.
    #[must_use]
    pub const fn new(kind: Kind) -> Self {
        Self { span: Span::new(0, 0), line: 0, kind }
    }

    /// A text that stands in no file, in quotes unless it says what it is.
    pub fn scalar(text: impl Into<String>, is_plain: bool) -> Self {
        Self::new(Kind::Scalar(Scalar { text: text.into(), is_plain }))
    }

    /// A mapping that stands in no file; keys need no quotes.
    #[must_use]
    pub fn map(pairs: Vec<(&str, Self)>) -> Self {
        let pair = |(key, value): (&str, Self)| Pair {
            key: Scalar { text: key.into(), is_plain: true },
            span: Span::new(0, 0),
            value,
        };
        Self::new(Kind::Map(pairs.into_iter().map(pair).collect()))
    }

    /// The value of a key that is there and not null.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.pair(key).map(|pair| &pair.value)
    }

    /// The same, with the key.
    #[must_use]
    pub fn pair(&self, key: &str) -> Option<&Pair> {
        self.pairs().iter().find(|pair| pair.key.text == key && pair.value.kind != Kind::Null)
    }

    /// The value at the end of a path of keys.
    #[must_use]
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// The text of a scalar.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Scalar(scalar) => Some(&scalar.text),
            _ => None,
        }
    }

    /// The items of a list.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        match &self.kind {
            Kind::List(items) => items,
            _ => &[],
        }
    }

    /// The pairs of a mapping.
    #[must_use]
    pub fn pairs(&self) -> &[Pair] {
        match &self.kind {
            Kind::Map(pairs) => pairs,
            _ => &[],
        }
    }

    /// The keys of a mapping whose values are not null.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        let pairs = self.pairs().iter().filter(|pair| pair.value.kind != Kind::Null);
        pairs.map(|pair| pair.key.text.as_str())
    }

    fn size(&self) -> usize {
        let items: usize = self.items().iter().map(Self::size).sum();
        1 + items + self.pairs().iter().map(|pair| pair.value.size()).sum::<usize>()
    }
}

/// The documents before the first mistake, and that mistake.
#[must_use]
pub fn documents(text: &str) -> (Vec<Node>, Option<Mistake>) {
    let mut builder = Builder::default();
    // A byte order mark is no mistake in YAML.
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mark = text.len() - bare.len();
    for event in Parser::new_from_str(bare) {
        let mistake = match event {
            Err(error) => {
                let marker = error.marker();
                let at = mark + marker.byte_offset().unwrap_or(bare.len());
                Some(Mistake { at, line: marker.line(), text: error.info() })
            }
            Ok((event, span)) => {
                let bytes = span.byte_range().unwrap_or_default();
                let place = Place {
                    span: Span::new(mark + bytes.start, mark + bytes.end),
                    line: span.start.line(),
                };
                let Place { span, line } = place;
                let mistake = |text| Mistake { at: span.start, line, text };
                builder.event(event, place).err().map(mistake)
            }
        };
        if mistake.is_some() {
            return (builder.documents, mistake);
        }
    }
    (builder.documents, None)
}

/// Where an event stands.
#[derive(Clone, Copy)]
struct Place {
    span: Span,
    line: usize,
}

impl Place {
    const fn node(self, kind: Kind) -> Node {
        Node { span: self.span, line: self.line, kind }
    }
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
    key: Option<(Scalar, Span)>,
}

impl Builder {
    fn event(&mut self, event: Event<'_>, place: Place) -> Result<(), String> {
        match event {
            Event::DocumentStart(..) => self.anchors.clear(),
            Event::Scalar(text, style, anchor, tag) => {
                // A tag has the last word.
                let is_plain = match tag.as_ref().and_then(|tag| tag.core_suffix()) {
                    Some(tag) => tag != "str",
                    None => style == ScalarStyle::Plain && tag.is_none(),
                };
                let null = is_plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                let scalar = Scalar { text: text.into_owned(), is_plain };
                self.count(1)?;
                let kind = if null { Kind::Null } else { Kind::Scalar(scalar) };
                self.finish(place.node(kind), anchor, null)?;
            }
            Event::SequenceStart(_, anchor, _) => {
                self.begin(place.node(Kind::List(Vec::new())), anchor)?;
            }
            Event::MappingStart(_, anchor, _) => {
                self.begin(place.node(Kind::Map(Vec::new())), anchor)?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(Open { mut node, anchor, .. }) = self.open.pop() {
                    merge(&mut node)?;
                    self.finish(node, anchor, false)?;
                }
            }
            Event::Alias(anchor) => {
                let found = self.anchors.get(&anchor).cloned();
                let mut node = found.ok_or("an alias stands inside what it refers to")?;
                self.count(node.size())?;
                (node.span, node.line) = (place.span, place.line);
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

    fn begin(&mut self, node: Node, anchor: usize) -> Result<(), String> {
        self.open.push(Open { node, anchor, keys: BTreeSet::new(), key: None });
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
                Some((key, span)) => pairs.push(Pair { key, span, value: node }),
                None => {
                    let Kind::Scalar(key) = node.kind else {
                        let what = if null { "nothing" } else { "a collection" };
                        return Err(format!("{what} cannot be a key"));
                    };
                    if key.text != "<<" && !open.keys.insert(key.text.clone()) {
                        return Err(format!("the key {} is given twice", quoted(&key.text)));
                    }
                    open.key = Some((key, node.span));
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
    if !pairs.iter().any(|pair| pair.key.text == "<<") {
        return Ok(());
    }
    let mut keys: BTreeSet<String> = pairs.iter().map(|pair| pair.key.text.clone()).collect();
    let (merged, own): (Vec<_>, Vec<_>) =
        core::mem::take(pairs).into_iter().partition(|pair| pair.key.text == "<<");
    *pairs = own;
    for Pair { value: from, .. } in merged {
        let maps = match from.kind {
            Kind::List(items) => items,
            _ => vec![from],
        };
        for map in maps {
            let Kind::Map(inherited) = map.kind else {
                return Err("`<<` must refer to a mapping".into());
            };
            pairs.extend(inherited.into_iter().filter(|pair| keys.insert(pair.key.text.clone())));
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
            Kind::Scalar(scalar) => scalar.text.clone(),
            Kind::List(items) => {
                format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(" "))
            }
            Kind::Map(pairs) => {
                let pairs = pairs.iter();
                let pairs = pairs.map(|pair| format!("{}={}", pair.key.text, show(&pair.value)));
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

    /// Every scalar and every key is where its place says.
    #[test]
    fn places() {
        for text in [
            "a: bé\nc: \"d e\"\nf:\n  - g\n  - {h: 'i'}\n",
            "\u{feff}a: b\n---\nc: [d, e]\n",
            "- a: b\n  c: d\n-   e\n",
        ] {
            let (documents, mistake) = documents(text);
            assert_eq!(mistake, None, "{text}");
            let mut open: Vec<&Node> = documents.iter().collect();
            let mut seen = 0;
            while let Some(node) = open.pop() {
                open.extend(node.items());
                open.extend(node.pairs().iter().map(|pair| &pair.value));
                let keys = node.pairs().iter().map(|pair| (pair.span, &*pair.key.text));
                for (span, expected) in keys.chain(node.text().map(|text| (node.span, text))) {
                    assert_eq!(span.slice(text).trim_matches(['\'', '"']), expected, "{text}");
                    seen += 1;
                }
            }
            assert!(seen >= 5, "{text}");
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
