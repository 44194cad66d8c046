//! Deliberate mistakes, to prove that the checks notice them.
//!
//! Only a build with the feature `mutants` has any, and there one at a time is
//! switched on. Otherwise [`is`] is constantly false and nothing of this is left
//! in the program.

#[cfg(feature = "mutants")]
use core::sync::atomic::{AtomicU8, Ordering};

macro_rules! mutants {
    ($($name:ident = $text:literal, $says:literal;)+) => {
        /// A mistake.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Mutant {
            $(#[doc = $says] $name,)+
        }

        impl Mutant {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The name on a command line.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// What is wrong.
            #[must_use]
            pub const fn describe(self) -> &'static str {
                match self { $(Self::$name => $says,)+ }
            }
        }
    };
}

mutants! {
    CommitAfterExec = "commit-after-exec", "A command runs before its start is durable.";
    DeadlineLate = "deadline-late", "The first instant after the deadline is in time: `<=` for `<`.";
    StartEarly = "start-early", "A period is due a second before its chosen time.";
    AheadForgotten = "ahead-forgotten", "Periods closed ahead of the others are forgotten by a restart.";
    CatchUpTwo = "catch-up-two", "A catch-up judges more than the latest period.";
    SuspendIgnored = "suspend-ignored", "Suspended jobs run.";
    ForbidIgnored = "forbid-ignored", "Under forbid, executions overlap.";
    ReplaceAtOnce = "replace-at-once", "Under replace, nobody waits for the end of the active execution.";
    ActiveForgotten = "active-forgotten", "Executions of an earlier daemon are not watched.";
    StepReopens = "step-reopens", "A clock that is set back opens closed periods.";
    EditFires = "edit-fires", "An edited job runs for the past.";
    WrongSeed = "wrong-seed", "The log names another seed hash.";
    OutcomeTwice = "outcome-twice", "An outcome is logged twice.";
    OutcomeLost = "outcome-lost", "An outcome is recorded and not logged.";
    PeriodLost = "period-lost", "A missed period is closed and not recorded.";
    RetryForever = "retry-forever", "A start that failed is tried again after the deadline.";
    SupersededSilent = "superseded-silent", "Periods that are passed over are not counted.";
    TimeoutForgotten = "timeout-forgotten", "Nothing happens at a timeout.";
    StopIgnored = "stop-ignored", "A daemon that is to end goes on starting jobs.";
    NeverInTime = "never-in-time", "Who has no deadline is woken for when it is over.";
    PutOff = "put-off", "Who has no deadline is looked at in time, and judged when that is over.";
    SuspendMisses = "suspend-misses", "Periods of suspended jobs are missed.";
    ReplaceLate = "replace-late", "Under replace, a start that failed is tried again after the deadline.";
    TimeoutUnadopted = "timeout-unadopted", "Nothing happens at the timeout of an execution of an earlier daemon.";
    WaitingForgotten = "waiting-forgotten", "A lapse passes over what came due before it and waits.";
    GateLate = "gate-late", "What was prepared for too long is let go after its deadline.";
    HangForever = "hang-forever", "A preparation that hangs is never given up.";
    PreparedLost = "prepared-lost", "Some processes that are ready are forgotten.";
    WindowShift = "window-shift", "Windows around a time begin at it.";
    AvoidIgnored = "avoid-ignored", "What is to be avoided is not.";
    NewFires = "new-fires", "A new job runs for the past.";
    DamageFires = "damage-fires", "A job whose state is lost runs for the past.";
    ResetReopens = "reset-reopens", "A reset forgets all marks.";
    InvalidInForce = "invalid-in-force", "What is being prepared goes on by a definition that is not in force any more.";
    CrowdIgnored = "crowd-ignored", "More run at once than may.";
    ReasonMissing = "reason-missing", "The log has no reason for what was not executed.";
    WakesForNothing = "wakes-for-nothing", "The daemon asks to be woken at once, always.";
    CommitTwice = "commit-twice", "A batch is sent on its way while another is.";
    SkipEarly = "skip-early", "Under forbid, a period is skipped for one that is only being prepared.";
}

#[cfg(feature = "mutants")]
static CHOSEN: AtomicU8 = AtomicU8::new(0);

/// Switches one on, or all off.
#[cfg(feature = "mutants")]
pub fn choose(mutant: Option<Mutant>) {
    CHOSEN.store(mutant.map_or(0, |mutant| mutant as u8 + 1), Ordering::Relaxed);
}

/// Whether this mistake is to be made.
#[cfg(feature = "mutants")]
#[must_use]
pub fn is(mutant: Mutant) -> bool {
    CHOSEN.load(Ordering::Relaxed) == mutant as u8 + 1
}

/// Whether this mistake is to be made: no.
#[cfg(not(feature = "mutants"))]
#[must_use]
pub const fn is(_: Mutant) -> bool {
    false
}
