//! A simulator of the daemon, from one seed, and an independent checker.
//!
//! The real engine (`kron-engine`) runs in a false world: its clocks are set, its
//! machine sleeps and loses power, its disk tears what was not made durable, its
//! processes hang and ignore signals, its configuration changes. A checker that
//! knows the contract and not the engine watches everything that happens.
//!
//! ```
//! use kron_core::Zones;
//! let mut zones = Zones::bundled();
//! let scenario = kron_sim::draw::scenario(1, &mut zones);
//! let (figures, result) = kron_sim::simulate(&scenario, &mut zones);
//! assert!(result.is_ok(), "{result:?}");
//! assert_eq!(figures.seeds, 1);
//! ```
//!
//! It touches nothing real: no clock, no files, no processes, no network.

#![forbid(unsafe_code)]

pub mod check;
pub mod cli;
pub mod draw;
pub mod fact;
pub mod figures;
pub mod fleet;
pub mod law;
#[cfg(feature = "mutants")]
pub mod mutants;
pub mod rng;
pub mod scenario;
pub mod shrink;
pub mod world;

use figures::Figures;
use kron_core::Zones;
use law::Breach;
use scenario::Scenario;
use world::World;

/// Runs a scenario.
pub fn simulate(scenario: &Scenario, zones: &mut Zones) -> (Figures, Result<(), Breach>) {
    World::new(scenario, zones, None).run()
}
