//! The laws: what must hold in every world, each with the words of the contract.

use core::fmt;

macro_rules! laws {
    ($($name:ident = $word:literal, $says:literal;)+) => {
        /// A law.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Law {
            $(#[doc = $says] $name,)+
        }

        impl Law {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// Its name.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)+ }
            }

            /// What it says.
            #[must_use]
            pub const fn says(self) -> &'static str {
                match self { $(Self::$name => $says,)+ }
            }
        }
    };
}

laws! {
    OneRun = "one-run", "At most one execution per (identity, period), ever.";
    Closed = "closed", "A period that has its outcome, or was passed over, never opens again.";
    NotEarly = "not-early", "Nothing starts, is missed or is given up before it is due.";
    NotLate = "not-late", "Nothing starts after its deadline.";
    LateAtGate = "late-at-gate", "What is past its deadline at the gate is let go only if its preparation took no longer than may be and nothing lapsed meanwhile.";
    Missed = "missed", "A period is missed only when its deadline has passed, and nobody who could have started it looked in time.";
    Decision = "decision", "What is logged of a decision is what a fresh computation gives, and is logged before anything is started.";
    Window = "window", "A chosen time lies in the window of its period, is allowed there, and is what its seed gives.";
    InForce = "in-force", "Nothing starts from a configuration that is invalid, superseded or gone.";
    Suspended = "suspended", "While a job is suspended nothing of it starts and no period is handled.";
    NotBefore = "not-before", "New, changed, returned, damaged and reset jobs never run for the past.";
    CatchUp = "catch-up", "Of the periods that passed unattended only the one with the latest chosen time is judged; the others are counted.";
    EveryPeriod = "every-period", "Every period that comes due while the daemon watches has an outcome, or a reason to be open.";
    OneOutcome = "one-outcome", "A period has one outcome with one record, and the log says the same.";
    Reason = "reason", "What was not executed has a reason; what was executed ran.";
    Adopted = "adopted", "An execution that is recorded and alive is watched again after a restart.";
    Forbid = "forbid", "Under forbid no two executions of a job run at once, and only then a period is skipped.";
    Replace = "replace", "Under replace the active execution has ended before the new one starts.";
    Durable = "durable", "Nothing runs before its start is durable.";
    Crowd = "crowd", "No more executions at once than may be.";
    Timeout = "timeout", "A run is asked to end at its timeout and made to after the grace, and not for no reason.";
    Ending = "ending", "A daemon that is asked to end starts nothing more and leaves nothing unrecorded.";
    Calm = "calm", "No busy loop: wake-ups are few and each has a purpose.";
    Protocol = "protocol", "Effects come in an order that a daemon can carry out.";
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A law that was broken.
#[derive(Clone, Debug)]
pub struct Breach {
    /// Which.
    pub law: Law,
    /// What was seen.
    pub what: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n  law: {}", self.law, self.what, self.law.says())
    }
}
