//! "Did you mean": the nearest of a list of known words.
//!
//! Written here because the usual crate for it needs `std`, and this library
//! must not.

use alloc::vec::Vec;

/// The known word that `text` was probably meant to be, if one is near enough:
/// at most a third of its letters wrong, letter case aside.
#[must_use]
pub fn nearest<'a>(text: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Nobody mistypes a name of this length; and it bounds the work.
    if text.len() > 64 {
        return None;
    }
    let text: Vec<char> = text.chars().map(|c| c.to_ascii_lowercase()).collect();
    let mut table = Table::default();
    let mut best: Option<(usize, &'a str)> = None;
    for word in known {
        let limit = (word.len() / 3).max(1);
        // Of words that are equally near, the first.
        let limit = match best {
            Some((0, _)) => break,
            Some((distance, _)) => limit.min(distance - 1),
            None => limit,
        };
        // Each letter too many or too few is a mistake by itself.
        if word.len().abs_diff(text.len()) > limit {
            continue;
        }
        if let Some(distance) = table.distance(&text, word, limit) {
            best = Some((distance, word));
        }
    }
    best.map(|(_, word)| word)
}

/// Three rows of a table of distances: the one being filled, and the two before
/// it. Kept, because a name is compared with hundreds.
#[derive(Default)]
struct Table {
    word: Vec<char>,
    row: Vec<usize>,
    last: Vec<usize>,
    before_last: Vec<usize>,
}

impl Table {
    /// Edit distance over letters, ignoring ASCII case, if it is within a limit; two
    /// letters swapped count as one mistake. `a` is in lower case.
    fn distance(&mut self, a: &[char], b: &str, limit: usize) -> Option<usize> {
        let Self { word: b_letters, row, last, before_last } = self;
        b_letters.clear();
        b_letters.extend(b.chars().map(|c| c.to_ascii_lowercase()));
        let b = b_letters.as_slice();
        last.clear();
        last.extend(0..=b.len());
        before_last.clear();
        let mut last_least = 0;
        for i in 0..a.len() {
            row.clear();
            row.push(i + 1);
            let mut row_least = i + 1;
            for j in 0..b.len() {
                let substituted = last[j] + usize::from(a[i] != b[j]);
                let mut least = substituted.min(last[j + 1] + 1).min(row[j] + 1);
                if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                    least = least.min(before_last[j - 1] + 1);
                }
                row.push(least);
                row_least = row_least.min(least);
            }
            // What follows comes from this row, or by a swap from the one before it.
            if row_least > limit && last_least >= limit {
                return None;
            }
            last_least = row_least;
            core::mem::swap(before_last, last);
            core::mem::swap(last, row);
        }
        last.last().copied().filter(|distance| *distance <= limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use proptest::prelude::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let known = ["uniform", "normal", "skewEarly", "skewLate", "exponential"];
        for (text, expected) in [
            ("uniformm", Some("uniform")),
            ("skewearly", Some("skewEarly")),
            ("skewlat", Some("skewLate")),
            ("exponental", Some("exponential")),
            ("unifrom", Some("uniform")),
            ("nomral", Some("normal")),
            ("poisson", None),
            ("nroaml", Some("normal")),
            ("nroalm", None),
            ("", None),
        ] {
            assert_eq!(nearest(text, known.into_iter()), expected, "{text}");
        }
    }

    /// Edit distance as it is defined, without a limit.
    fn slow(a: &[char], b: &[char]) -> usize {
        let mut table = Vec::from([(0..=b.len()).collect::<Vec<usize>>()]);
        for i in 0..a.len() {
            let mut row = Vec::from([i + 1]);
            for j in 0..b.len() {
                let mut least = (table[i][j] + usize::from(a[i] != b[j]))
                    .min(table[i][j + 1] + 1)
                    .min(row[j] + 1);
                if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                    least = least.min(table[i - 1][j - 1] + 1);
                }
                row.push(least);
            }
            table.push(row);
        }
        table[a.len()][b.len()]
    }

    proptest! {
        /// Giving up early and keeping the table changes nothing.
        #[test]
        fn limits(words in proptest::collection::vec("[abc]{0,7}", 1..5), text in "[abc]{0,7}") {
            let letters = |word: &str| word.chars().collect::<Vec<char>>();
            let mut table = Table::default();
            for word in &words {
                let expected = slow(&letters(&text), &letters(word));
                for limit in 0..8 {
                    let found = table.distance(&letters(&text), word, limit);
                    prop_assert_eq!(found, Some(expected).filter(|d| *d <= limit));
                }
            }
            let expected = words
                .iter()
                .map(|word| (slow(&letters(&text), &letters(word)), word))
                .filter(|(distance, word)| *distance <= (word.len() / 3).max(1))
                .min_by_key(|(distance, _)| *distance)
                .map(|(_, word)| word.as_str());
            prop_assert_eq!(nearest(&text, words.iter().map(String::as_str)), expected);
        }
    }
}
