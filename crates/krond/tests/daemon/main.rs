//! The real `krond` from outside: what it promises, on a clock that a test sets.
//!
//! Each test names the rows of `docs/REQUIREMENTS.md` (LIF, SCH, EXE, STA, ERR,
//! OBS) and the faults it stands for.

mod faults;
mod lifecycle;
mod load;
mod logs;
mod recovery;
mod running;
mod scheduling;
mod states;
mod support;
mod talking;
