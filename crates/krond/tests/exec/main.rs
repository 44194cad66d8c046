//! Starting processes, against the real kernel: one file a subject.

mod appearance;
mod attack;
mod failures;
mod gate;
mod groups;
mod injected;
mod launcher;
mod nursery;
mod output;
mod rights;
mod support;
mod syslog;
