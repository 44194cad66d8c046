//! Scenarios of the engine on simulated time: setup and timeline as text, and
//! the effects that are expected, at their times. Each names the rows of the
//! requirements that it is evidence for.

mod clock;
mod crashes;
mod edits;
mod ending;
mod harness;
mod periods;
mod random;
mod starting;
