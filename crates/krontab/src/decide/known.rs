//! Definitions that came up more than once.
//!
//! A small table, each schedule with one place in it. A schedule is kept when
//! it comes up a second time, so that a stream in which each is different pays
//! next to nothing for it.

use super::definition::Definition;
use kron_core::Job;
use std::hash::{BuildHasher, RandomState};

/// Places in the table.
const PLACES: usize = 1024;

pub struct Known {
    hasher: RandomState,
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
        Self { hasher: RandomState::new(), places, asked: 0 }
    }

    /// The definition of a schedule, if it is kept.
    pub fn get(&mut self, schedule: &str) -> Option<&mut Definition> {
        self.asked = self.hasher.hash_one(schedule);
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
