//! The checker notices deliberate mistakes, and nothing where there are none.
//!
//! Mistakes are made by a whole process, so everything is one test.

use kron_core::Zones;
use kron_core::mutant::Mutant;
use kron_sim::mutants::{TABLE, hunt};
use kron_sim::{draw, simulate};

/// FAULTS 39: the harness must first catch a daemon that is broken on purpose.
#[test]
fn every_mistake_is_noticed() {
    for mutant in Mutant::ALL {
        assert!(TABLE.iter().any(|row| row.mutant == *mutant), "{} is missing", mutant.as_str());
    }
    let mut zones = Zones::bundled();
    for seed in 0..TABLE.iter().map(|row| row.seeds).max().unwrap_or_default() {
        let result = simulate(&draw::scenario(seed, &mut zones), &mut zones).1;
        assert!(result.is_ok(), "without a mistake, seed {seed}: {result:?}");
    }
    for row in TABLE {
        let (mutant, found) = (row.mutant.as_str(), hunt(row));
        let Some((seeds, breach)) = found else {
            panic!("{mutant} is not noticed in {} seeds", row.seeds);
        };
        assert!(row.laws.contains(&breach.law), "{mutant} after {seeds} seeds: {breach}");
        println!("{mutant:<20} {seeds:>3} of {:>3} seeds  {}", row.seeds, breach.law);
    }
}
