//! Names of entries: from what they run, never from where they stand.
//!
//! Entries that would be named alike are told apart by an argument that only one
//! of them has, else by a short hash of schedule and fields. All of such a group
//! are renamed, so that the order of lines decides nothing.

use std::collections::{BTreeMap, BTreeSet};

/// The longest name a `.kron` file accepts, in bytes.
const LONGEST: usize = 100;
/// What a program's name and an argument may contribute.
const LONGEST_BASE: usize = 72;
const LONGEST_HINT: usize = 20;

/// Names that are taken.
///
/// Keep one over several calls, and put names into it that exist already, to
/// avoid collisions with them.
#[derive(Clone, Debug, Default)]
pub struct Names(BTreeSet<String>);

impl Names {
    /// No names yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(BTreeSet::new())
    }

    /// Takes a name; false if it was taken already.
    pub fn insert(&mut self, name: &str) -> bool {
        self.0.insert(name.into())
    }

    /// Whether a name is taken.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}

/// What an entry's name is made from.
pub(crate) struct Wish {
    /// The name, if it is free and nobody else wants it.
    pub base: String,
    /// Arguments that may tell it from others.
    pub hints: Vec<String>,
    /// All that the entry is; a hash of it is the last resort.
    pub content: String,
}

/// A name for each wish, in their order; the wishes' contents differ.
pub(crate) fn assign(wishes: &[Wish], names: &mut Names) -> Vec<String> {
    let bases: Vec<String> = wishes.iter().map(|wish| base(&wish.base)).collect();
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, base) in bases.iter().enumerate() {
        groups.entry(base).or_default().push(i);
    }
    let mut chosen = vec![String::new(); wishes.len()];
    // Whoever is alone has the first right to its name.
    for (base, group) in &groups {
        if let [i] = group[..]
            && names.insert(base)
        {
            chosen[i] = (*base).into();
        }
    }
    for (base, group) in &groups {
        let hints: Vec<Vec<String>> = group.iter().map(|&i| hints(&wishes[i])).collect();
        let mut owners: BTreeMap<&String, usize> = BTreeMap::new();
        for hint in hints.iter().flatten() {
            *owners.entry(hint).or_default() += 1;
        }
        for (at, &i) in group.iter().enumerate() {
            if !chosen[i].is_empty() {
                continue;
            }
            let hinted = hints[at].iter().filter(|hint| owners.get(hint) == Some(&1));
            let hashed = (0..u32::MAX).map(|salt| hash(&wishes[i].content, salt));
            let suffixes = hinted.take(4).cloned().chain(hashed);
            for name in suffixes.map(|suffix| format!("{base}-{suffix}")) {
                if names.insert(&name) {
                    chosen[i] = name;
                    break;
                }
            }
        }
    }
    chosen
}

fn base(text: &str) -> String {
    let slug = slug(text, LONGEST_BASE);
    if slug.is_empty() { "job".into() } else { slug }
}

/// The arguments as parts of names, each once.
fn hints(wish: &Wish) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let slugs = wish.hints.iter().map(|hint| slug(hint, LONGEST_HINT).replace('/', "-"));
    slugs.filter(|hint| !hint.is_empty() && seen.insert(hint.clone())).collect()
}

/// Text in the alphabet of names; possibly nothing is left.
pub(crate) fn slug(text: &str, longest: usize) -> String {
    let mut out = String::new();
    for c in text.chars().take(4 * LONGEST) {
        let c = c.to_ascii_lowercase();
        if c.is_ascii_lowercase() || c.is_ascii_digit() || "./_".contains(c) {
            out.push(c);
        } else if !out.ends_with('-') {
            out.push('-');
        }
    }
    out.truncate(longest.min(LONGEST));
    out.trim_matches(|c: char| !c.is_ascii_alphanumeric()).into()
}

/// Six letters and digits, the same on every machine: FNV-1a.
fn hash(content: &str, salt: u32) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in content.bytes().chain(salt.to_be_bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    (0..6)
        .map(|i| {
            let digit = (hash >> (8 * i + 12)) % 36;
            char::from_digit(digit as u32, 36).unwrap_or('0')
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(rows: &[(&str, &[&str])]) -> Vec<String> {
        let wish = |(i, &(base, hints)): (usize, &(&str, &[&str]))| Wish {
            base: base.into(),
            hints: hints.iter().map(|&hint| hint.into()).collect(),
            content: format!("{i}"),
        };
        assign(&rows.iter().enumerate().map(wish).collect::<Vec<_>>(), &mut Names::new())
    }

    #[test]
    fn told_apart() {
        for (rows, expected) in [
            (&[("A B!", &[][..])][..], &["a-b"][..]),
            (&[("", &[])], &["job"]),
            (&[("x", &["/srv/home"]), ("x", &["etc"])], &["x-srv-home", "x-etc"]),
            (&[("x", &["a", "b"]), ("x", &["a", "c"])], &["x-b", "x-c"]),
            (&[("x", &["a", "a"]), ("x", &["b"])], &["x-a", "x-b"]),
            (&[("x", &["a"]), ("x", &["b"]), ("x-a", &[])], &["x-8zhz1g", "x-b", "x-a"]),
        ] {
            assert_eq!(names(rows), expected);
        }
    }

    #[test]
    fn slugs_are_names() {
        for (text, expected) in
            [("-.x_/", "x"), ("É", ""), ("a  b", "a-b"), ("ns/Job@1", "ns/job-1"), ("..", "")]
        {
            assert_eq!(slug(text, 50), expected);
        }
    }
}
