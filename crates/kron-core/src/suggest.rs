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
    let length = text.chars().count();
    known
        .filter_map(|word| {
            let limit = (word.len() / 3).max(1);
            // Each letter too many or too few is a mistake by itself.
            let distance = (word.len().abs_diff(length) <= limit).then(|| distance(text, word))?;
            (distance <= limit).then_some((distance, word))
        })
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, word)| word)
}

/// Edit distance over letters, ignoring ASCII case; two letters swapped count
/// as one mistake.
fn distance(a: &str, b: &str) -> usize {
    let letters = |text: &str| text.chars().map(|c| c.to_ascii_lowercase()).collect::<Vec<char>>();
    let (a, b) = (letters(a), letters(b));
    // Three rows of the table: the one being filled, and the two before it.
    let mut before_last = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = Vec::from([i + 1]);
        for j in 0..b.len() {
            let substituted = last[j] + usize::from(a[i] != b[j]);
            let mut least = substituted.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                let swapped: &Vec<usize> = &before_last;
                least = least.min(swapped[j - 1] + 1);
            }
            row.push(least);
        }
        before_last = core::mem::replace(&mut last, row);
    }
    last[b.len()]
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
            ("unifrom", Some("uniform")),
            ("nomral", Some("normal")),
            ("poisson", None),
            ("", None),
        ] {
            assert_eq!(nearest(text, known.into_iter()), expected, "{text}");
        }
    }
}
