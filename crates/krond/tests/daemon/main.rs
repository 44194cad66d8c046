//! The real `krond` from outside: what it promises, on a clock that a test sets.
//!
//! Each test names the rows of `docs/REQUIREMENTS.md` (LIF, SCH, EXE, STA, ERR,
//! OBS) and the faults it stands for.

mod clocks;
mod failing;
mod faults;
mod floods;
mod homes;
mod lifecycle;
mod load;
mod logs;
mod parting;
mod recovery;
mod refusals;
mod running;
mod scarcity;
mod scheduling;
#[path = "../support/skip.rs"]
mod skip;
mod starting;
mod states;
mod strangers;
mod support;
mod talking;
