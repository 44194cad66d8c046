//! `kron-operator`: the Kubernetes adapter. It creates a Job at the second that Kron chose,
//! one for each period of a `KronJob`.
//!
//! [`plan`] says what is to be done, from what is known: [`book`] (the status), [`facts`]
//! (the Jobs) and the definition that [`convert`] makes of a spec; [`unusable`], if it makes none.
//! These are pure.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod alarm;
pub mod announce;
pub mod api;
pub mod book;
pub mod cli;
pub mod cluster;
pub mod conditions;
pub mod convert;
pub mod desk;
pub mod facts;
pub mod lanes;
pub mod lease;
pub mod meter;
pub mod obstacle;
pub mod operator;
pub mod plan;
pub mod pulse;
pub mod reconcile;
pub mod serve;
pub mod start;
pub mod tell;
pub mod template;
pub mod trial;
pub mod unusable;
pub mod upkeep;
