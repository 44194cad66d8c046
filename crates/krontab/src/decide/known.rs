//! Definitions that came up more than once.
//!
//! A small table, each schedule with one place in it. A schedule is kept when
//! it comes up a second time, so that a stream in which each is different pays
//! next to nothing for it.

use super::definition::Definition;
use kron_core::Job;

/// Places in the table.
const PLACES: usize = 1024;

pub struct Known {
    places: Vec<Place>,
    /// Hash of the schedule asked for last.
    asked: u64,
}

#[derive(Default)]
struct Place {
    /// Of the schedule seen here last.
    hash: u64,
    /// That schedule and its definition, if it was kept.
    kept: Option<(Box<str>, Definition)>,
}

impl Known {
    pub fn new() -> Self {
        let places = std::iter::repeat_with(Place::default).take(PLACES).collect();
        Self { places, asked: 0 }
    }

    /// The definition of a schedule, if it is kept.
    pub fn get(&mut self, schedule: &str) -> Option<&mut Definition> {
        self.asked = hash(schedule.as_bytes());
        let place = &mut self.places[(self.asked as usize) % PLACES];
        let (known, definition) = place.kept.as_mut().filter(|_| place.hash == self.asked)?;
        (**known == *schedule).then_some(definition)
    }

    /// Takes note of a schedule just asked for, and keeps it the second time.
    pub fn offer(&mut self, schedule: &str, job: Job) {
        let kept = |job| Some((schedule.into(), Definition::new(job)));
        let place = &mut self.places[(self.asked as usize) % PLACES];
        let again = place.hash == self.asked;
        *place = Place { hash: self.asked, kept: if again { kept(job) } else { None } };
    }
}

/// A quick hash, eight bytes at a time. Two schedules with the same one only
/// take turns in their place.
fn hash(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(FACTOR).rotate_left(29);
    let (words, rest) = bytes.as_chunks::<8>();
    let hash = words.iter().fold(bytes.len() as u64, |h, word| mix(h, u64::from_le_bytes(*word)));
    let hash = rest.iter().fold(hash, |h, byte| mix(h, u64::from(*byte)));
    hash ^ hash >> 32
}
