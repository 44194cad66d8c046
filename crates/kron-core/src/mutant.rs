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
