//! Plans, carried out in a false cluster on simulated time: setup and timeline as text,
//! and what is to happen, at its times. Each names the rows of the requirements that it
//! is evidence for.

mod answers;
mod cluster;
mod cronjob;
#[path = "../../../kron-engine/tests/scenarios/harness/mod.rs"]
mod krond;
mod operator;
mod order;
mod periods;
mod random;
mod script;
mod twins;
