//! Deliberate mistakes in the engine, and how soon the checker notices them.

use crate::law::{Breach, Law};
use crate::{draw, simulate};
use kron_core::Zones;
use kron_core::mutant::{self, Mutant};

/// A mistake and what is expected of the checker.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The mistake.
    pub mutant: Mutant,
    /// Seeds within which it must be noticed.
    pub seeds: u64,
    /// Laws of which one must be named.
    pub laws: &'static [Law],
}

const fn row(mutant: Mutant, seeds: u64, laws: &'static [Law]) -> Row {
    Row { mutant, seeds, laws }
}

/// All of them.
pub const TABLE: &[Row] = &[
    row(Mutant::CommitAfterExec, 5, &[Law::Durable]),
    row(Mutant::DeadlineLate, 50, &[Law::NotLate, Law::EveryPeriod]),
    row(Mutant::StartEarly, 5, &[Law::NotEarly]),
    row(Mutant::AheadForgotten, 100, &[Law::OneRun, Law::Closed, Law::OneOutcome, Law::CatchUp]),
    row(Mutant::CatchUpTwo, 50, &[Law::CatchUp]),
    row(Mutant::SuspendIgnored, 50, &[Law::Suspended]),
    row(Mutant::ForbidIgnored, 20, &[Law::Forbid]),
    row(Mutant::ReplaceAtOnce, 20, &[Law::Replace]),
    row(Mutant::ActiveForgotten, 50, &[Law::Adopted]),
    row(Mutant::StepReopens, 100, &[Law::OneRun, Law::Closed, Law::OneOutcome]),
    row(Mutant::EditFires, 200, &[Law::NotBefore]),
    row(Mutant::WrongSeed, 5, &[Law::Decision]),
    row(Mutant::OutcomeTwice, 20, &[Law::OneOutcome]),
    row(Mutant::OutcomeLost, 20, &[Law::OneOutcome]),
    row(Mutant::PeriodLost, 20, &[Law::EveryPeriod, Law::CatchUp]),
    row(Mutant::RetryForever, 50, &[Law::NotLate, Law::EveryPeriod]),
    row(Mutant::SupersededSilent, 50, &[Law::CatchUp]),
    row(Mutant::TimeoutForgotten, 20, &[Law::Timeout]),
    row(Mutant::StopIgnored, 100, &[Law::Ending]),
    row(Mutant::NeverInTime, 20, &[Law::Missed]),
    row(Mutant::PutOff, 20, &[Law::Missed]),
    row(Mutant::SuspendMisses, 50, &[Law::Suspended]),
    row(Mutant::ReplaceLate, 50, &[Law::NotLate]),
    row(Mutant::TimeoutUnadopted, 50, &[Law::Timeout]),
    row(Mutant::SkipEarly, 100, &[Law::Forbid]),
    row(Mutant::GateLate, 50, &[Law::LateAtGate]),
    row(Mutant::HangForever, 50, &[Law::EveryPeriod]),
    row(Mutant::PreparedLost, 20, &[Law::EveryPeriod]),
    row(Mutant::WindowShift, 20, &[Law::Window]),
    row(Mutant::AvoidIgnored, 50, &[Law::Window]),
    row(Mutant::NewFires, 50, &[Law::NotBefore]),
    row(Mutant::DamageFires, 100, &[Law::NotBefore, Law::OneRun, Law::Closed]),
    row(Mutant::ResetReopens, 100, &[Law::OneOutcome, Law::NotBefore, Law::OneRun, Law::Closed]),
    row(Mutant::InvalidInForce, 100, &[Law::InForce]),
    row(Mutant::CrowdIgnored, 50, &[Law::Crowd]),
    row(Mutant::ReasonMissing, 20, &[Law::Reason]),
    row(Mutant::WakesForNothing, 5, &[Law::Calm]),
    row(Mutant::CommitTwice, 50, &[Law::Protocol]),
    row(Mutant::WaitingForgotten, 200, &[Law::CatchUp, Law::EveryPeriod]),
];

/// Makes the mistake in one world after the other until a law is broken. Returns
/// the number of worlds it took, and the law. Mistakes are made by the whole
/// process, so nothing else may run meanwhile.
#[must_use]
pub fn hunt(row: &Row) -> Option<(u64, Breach)> {
    let mut zones = Zones::bundled();
    mutant::choose(Some(row.mutant));
    let found = (0..row.seeds).find_map(|seed| {
        let scenario = draw::scenario(seed, &mut zones);
        simulate(&scenario, &mut zones).1.err().map(|breach| (seed + 1, breach))
    });
    mutant::choose(None);
    found
}
