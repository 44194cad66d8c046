//! Random numbers that depend on nothing but a seed.
//!
//! Every question about a world has a generator of its own, made from the seed
//! and the names of what is asked about. So leaving something out of a scenario
//! does not change the answers to everything behind it, and failures shrink.

use core::time::Duration;

/// A generator: `SplitMix64`.
#[derive(Clone, Debug)]
pub struct Rng(u64);

const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

impl Rng {
    /// The generator of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The generator of one question.
    #[must_use]
    pub fn of(seed: u64, parts: &[u64]) -> Self {
        let mut rng = Self(seed);
        for part in parts {
            rng.0 ^= part.wrapping_mul(STEP);
            rng.0 = rng.next();
        }
        rng
    }

    /// A number for a text, to ask about it.
    #[must_use]
    pub fn number(text: &str) -> u64 {
        text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
        })
    }

    /// The next number.
    #[allow(clippy::should_implement_trait, reason = "it never ends")]
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub const fn below(&mut self, end: u64) -> u64 {
        ((self.next() as u128 * end as u128) >> 64) as u64
    }

    /// A number of a range, both ends included.
    pub const fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// Whether something happens that does so in so many of a hundred cases.
    pub const fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of several.
    ///
    /// # Panics
    /// If there is none.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len() as u64) as usize]
    }

    /// A length, each order of magnitude as likely as the others.
    pub fn length(&mut self, low: Duration, high: Duration) -> Duration {
        let (low, high) = (low.as_nanos().max(1) as u64, high.as_nanos() as u64);
        let (from, to) = (low.ilog2(), high.ilog2());
        let order = self.range(u64::from(from), u64::from(to));
        let floor = 1_u64 << order;
        Duration::from_nanos((floor + self.below(floor)).clamp(low, high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_questions_have_the_same_answers() {
        let ask = |parts: &[u64]| Rng::of(7, parts).next();
        assert_eq!(ask(&[1, 2]), ask(&[1, 2]));
        assert_ne!(ask(&[1, 2]), ask(&[2, 1]));
        assert_ne!(ask(&[]), ask(&[0]));
    }

    #[test]
    fn numbers_stay_in_their_ranges() {
        let mut rng = Rng::new(1);
        let (low, high) = (Duration::from_millis(1), Duration::from_secs(86_400));
        for _ in 0..10_000 {
            assert!((3..=5).contains(&rng.range(3, 5)));
            assert!((low..=high).contains(&rng.length(low, high)));
        }
    }
}
