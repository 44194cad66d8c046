//! What is kept of a job between one start of the daemon and the next
//! (STATE, State File Schema).

use alloc::boxed::Box;
use alloc::vec::Vec;
use kron_core::{Ledger, Outcome, PeriodId, SeedHash, UtcInstant, UtcSecond};

/// Everything that is kept of one job, its history aside: nothing that is
/// decided depends on that.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// Which periods are closed.
    pub ledger: Ledger,
    /// The period handled most recently.
    pub last: Option<Box<Last>>,
    /// Executions that were active; the newest last.
    pub active: Vec<Active>,
}

/// The period handled most recently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Last {
    /// Which one.
    pub period: PeriodId,
    /// How it ended.
    pub outcome: Outcome,
    /// Its chosen time, unless unschedulable.
    pub chosen: Option<UtcSecond>,
    /// Why it was not executed.
    pub reason: Option<Box<str>>,
    /// When its execution began.
    pub started_at: Option<UtcInstant>,
    /// How its execution ended, if that was seen.
    pub exit_code: Option<i32>,
    /// The seed of its decision; absent in files of other programs.
    pub seed_hash: Option<SeedHash>,
    /// The distribution of its decision, name and parameters as in the syntax.
    pub distribution: Option<Box<str>>,
}

/// An execution that has begun and not ended, as far as is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Active {
    /// Its period.
    pub period: PeriodId,
    /// Chosen time of the period.
    pub chosen: UtcSecond,
    /// When it was started.
    pub started_at: UtcInstant,
    /// The process.
    pub process: Process,
}

/// A process such that no other can be mistaken for it: numbers are used again,
/// but not in the same boot with the same start time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When the kernel started it, in ticks since the boot; `None` in files of
    /// other programs, and then it is nobody's.
    pub start_ticks: Option<u64>,
    /// Which boot.
    pub boot_id: Option<Box<str>>,
}

/// The end of a period, for the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Which period.
    pub period: PeriodId,
    /// How it ended.
    pub outcome: Outcome,
    /// Its chosen time, unless unschedulable.
    pub chosen: Option<UtcSecond>,
    /// When it was over: the command ended, or nothing was to be started.
    pub completed_at: UtcInstant,
    /// Exit code, 128 + n for signal n; `None` if nothing ran or nobody saw.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Why it was not executed, or why it was ended.
    pub reason: Option<Box<str>>,
    /// When its execution began.
    pub started_at: Option<UtcInstant>,
    /// The seed of its decision.
    pub seed_hash: Option<SeedHash>,
}
