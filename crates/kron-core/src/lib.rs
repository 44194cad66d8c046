//! Kron's engine: deterministic probabilistic scheduling.
//!
//! A job runs *around* a time: at a second chosen inside a window, from a
//! distribution, by a seed that everyone who knows the definition can compute.
//! This library is everything about that which needs no clock, no files, no
//! environment and no randomness. It is `no_std`, so it could not reach them.
//!
//! ```
//! use kron_core::{Job, Zones};
//!
//! let mut zones = Zones::bundled();
//! let job = Job::parse(
//!     "/etc/krond.d/shop.kron:invoices",
//!     "0 10 * * * @tz(Europe/Paris) @win(around,90m) @only(dow=MON-FRI)",
//!     &mut zones,
//! )?;
//! let monday = job.next_period("2026-03-01T12:00:00Z".parse()?).unwrap();
//! let decision = job.decide(monday);
//! assert_eq!(decision.period().to_string(), "2026-03-02T09:00:00Z");
//! assert_eq!(decision.chosen().unwrap().to_string(), "2026-03-02T09:26:57Z");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The way of a schedule through the modules:
//!
//! ```text
//! text → Spec → Job → PeriodId → Decision → Verdict → Closure → Ledger
//!        syntax job   calendar   decision   policy              ledger
//! ```
//!
//! What it does not do: read the time (`now` is an argument), keep state (a
//! [`Ledger`] is a value that adapters store), or start anything (a
//! [`StartPermit`] is only the right to).

#![no_std]
#![forbid(unsafe_code)]
// Input never panics; where something cannot fail, the code shows why.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

extern crate alloc;

mod acceptance;
mod agenda;
pub mod bounds;
mod calendar;
mod constraint;
mod decision;
mod distribution;
mod error;
mod identity;
mod job;
mod ledger;
pub mod line;
pub mod logfmt;
#[doc(hidden)]
pub mod mutant;
mod policy;
mod profile;
mod record;
mod seed;
mod suggest;
pub mod syntax;
pub mod time;
mod timeline;
mod window;

pub use acceptance::Acceptance;
pub use agenda::{Agenda, Attention, Lapse, Superseded, agenda};
pub use calendar::{ChangeKind, ClockChange, Cron};
pub use constraint::{ClauseKind, ClauseText, Clauses, Constraints, Rule, Violation};
pub use decision::{Decision, Rejected, Unschedulable};
pub use distribution::{Anchor, DEFAULT_LAMBDA, DEFAULT_SHAPE, Direction, Distribution};
pub use error::{Category, Code, DefinitionError, DefinitionErrors, Span, quoted};
pub use identity::{Identity, InvalidIdentity, InvalidPeriod, PeriodId};
pub use job::Job;
pub use ledger::{DefinitionHash, Ledger, Seen};
pub use policy::{
    Closure, Concurrency, Ending, Outcome, PolicySpec, Replacement, Situation, StartPermit,
    Verdict, judge,
};
pub use profile::Slice;
pub use record::{
    ALGORITHM, ConstraintsRecord, Difference, DistributionRecord, EVENT, IncompleteLine, Record,
    Unverifiable,
};
pub use seed::{InvalidSeedHash, PeriodKey, SeedHash, SeedStrategy};
pub use suggest::nearest;
pub use time::{
    Bundled, Database, OutOfRange, ParseTimeError, UnknownZone, UtcInstant, UtcSecond, Zone, Zones,
};
pub use timeline::timeline;
pub use window::{Mode, Window, WindowSpec};
