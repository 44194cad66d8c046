//! "Did you mean": the nearest of a list of known words.
//!
//! Written here because the usual crate for it needs `std`, and this library
//! must not.

use alloc::vec::Vec;

/// The known word that `text` was probably meant to be, if one is near enough:
/// at most a third of its letters wrong, letter case aside.
pub(crate) fn nearest<'a>(text: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Nobody mistypes a name of this length; and it bounds the work.
    if text.len() > 64 {
        return None;
    }
    known
        .map(|word| (distance(text, word), word))
        .filter(|&(distance, word)| distance <= (word.len() / 3).max(1))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, word)| word)
}

/// Levenshtein distance over letters, ignoring ASCII case.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(!from.eq_ignore_ascii_case(to));
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let known = ["uniform", "normal", "skewEarly", "skewLate", "exponential"];
        for (text, expected) in [
            ("uniformm", Some("uniform")),
            ("skewearly", Some("skewEarly")),
            ("skewlat", Some("skewLate")),
            ("exponental", Some("exponential")),
            ("poisson", None),
            ("", None),
        ] {
            assert_eq!(nearest(text, known.into_iter()), expected, "{text}");
        }
    }
}
