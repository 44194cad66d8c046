//! Makes a scenario that breaks a law smaller, as long as it breaks the same law.

use crate::law::Law;
use crate::scenario::Scenario;
use crate::simulate;
use core::time::Duration;
use kron_core::Zones;

/// Simulations that are worth spending.
const TRIES: usize = 600;

/// The smallest scenario found that breaks the law too.
#[must_use]
pub fn shrink(scenario: &Scenario, law: Law, zones: &mut Zones) -> Scenario {
    let mut tries = 0;
    let mut breaks = |scenario: &Scenario| {
        tries += 1;
        tries <= TRIES && simulate(scenario, zones).1.is_err_and(|breach| breach.law == law)
    };
    let mut best = scenario.clone();
    loop {
        let before = (best.jobs.len(), best.happenings.len(), best.length);
        // Shorter, by halves and then by little.
        for part in [2, 4, 16, 64] {
            let shorter = |best: &Scenario| {
                let length = best.length.saturating_sub(best.length / part);
                let happenings = best.happenings.iter().filter(|(at, _)| *at < length).cloned();
                Scenario { length, happenings: happenings.collect(), ..best.clone() }
            };
            let mut smaller = shorter(&best);
            while smaller.length > Duration::from_secs(1) && breaks(&smaller) {
                best = smaller;
                smaller = shorter(&best);
            }
        }
        let smaller = Scenario { disturbed: 0, ..best.clone() };
        if best.disturbed > 0 && breaks(&smaller) {
            best = smaller;
        }
        for place in (0..best.happenings.len()).rev() {
            let mut smaller = best.clone();
            smaller.happenings.remove(place);
            if breaks(&smaller) {
                best = smaller;
            }
        }
        for place in (0..best.jobs.len()).rev() {
            let mut smaller = best.clone();
            smaller.jobs.remove(place);
            if breaks(&smaller) {
                best = smaller;
            }
        }
        if before == (best.jobs.len(), best.happenings.len(), best.length) {
            return best;
        }
    }
}
