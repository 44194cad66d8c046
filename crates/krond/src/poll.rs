//! Waiting for whatever comes first: one `epoll`, each descriptor with a word
//! that says whose it is.

use kron_engine::event::RunId;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use std::io;

/// Whose descriptor it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// An alarm of the clock.
    Alarm,
    /// Signals.
    Signals,
    /// Processes that were made.
    Launcher,
    /// A batch that became durable.
    Commits,
    /// A configuration that was read.
    Loader,
    /// Somebody wants to talk to the daemon.
    Control,
    /// Somebody who does.
    Client(u32),
    /// Somebody wants metrics.
    Metrics,
    /// Somebody who gets them.
    Scraper(u32),
    /// A process at the gate.
    Gate(RunId),
    /// The process of a run.
    Process(RunId),
    /// Another process of its group.
    Member(RunId),
    /// What was found of process groups.
    Search,
    /// What state files say.
    Shelf,
    /// A process that only has to be reaped.
    Remains(u32),
    /// The log, which was not read for a while.
    Log,
}

impl Source {
    fn word(self) -> u64 {
        let (kind, number) = match self {
            Self::Alarm => (0, 0),
            Self::Signals => (1, 0),
            Self::Launcher => (2, 0),
            Self::Commits => (3, 0),
            Self::Loader => (4, 0),
            Self::Control => (5, 0),
            Self::Client(id) => (6, id.into()),
            Self::Metrics => (7, 0),
            Self::Scraper(id) => (8, id.into()),
            Self::Gate(run) => (9, run.0),
            Self::Process(run) => (10, run.0),
            Self::Member(run) => (11, run.0),
            Self::Remains(id) => (12, id.into()),
            Self::Log => (13, 0),
            Self::Search => (14, 0),
            Self::Shelf => (15, 0),
        };
        kind << 56 | number
    }

    fn of(word: u64) -> Option<Self> {
        let number = word & ((1 << 56) - 1);
        Some(match word >> 56 {
            0 => Self::Alarm,
            1 => Self::Signals,
            2 => Self::Launcher,
            3 => Self::Commits,
            4 => Self::Loader,
            5 => Self::Control,
            6 => Self::Client(number as u32),
            7 => Self::Metrics,
            8 => Self::Scraper(number as u32),
            9 => Self::Gate(RunId(number)),
            10 => Self::Process(RunId(number)),
            11 => Self::Member(RunId(number)),
            12 => Self::Remains(number as u32),
            13 => Self::Log,
            14 => Self::Search,
            15 => Self::Shelf,
            _ => return None,
        })
    }
}

/// What a descriptor is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Something to read.
    Read,
    /// Room to write.
    Write,
}

impl Interest {
    const fn flags(self) -> EventFlags {
        match self {
            Self::Read => EventFlags::IN,
            Self::Write => EventFlags::OUT,
        }
    }
}

/// The descriptors that are waited for.
#[allow(missing_debug_implementations)]
pub struct Poll {
    epoll: OwnedFd,
    buffer: Vec<Event>,
}

impl Poll {
    /// Waits for nothing yet.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn new() -> io::Result<Self> {
        const AT_ONCE: usize = 256;
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Self { epoll, buffer: Vec::with_capacity(AT_ONCE) })
    }

    /// Waits for a descriptor too. Closing it ends that.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn add(&self, fd: impl AsFd, source: Source, interest: Interest) -> io::Result<()> {
        let data = EventData::new_u64(source.word());
        Ok(epoll::add(&self.epoll, fd, data, interest.flags())?)
    }

    /// Waits for something else of a descriptor.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn change(&self, fd: impl AsFd, source: Source, interest: Interest) -> io::Result<()> {
        let data = EventData::new_u64(source.word());
        Ok(epoll::modify(&self.epoll, fd, data, interest.flags())?)
    }

    /// No longer waits for a descriptor.
    pub fn remove(&self, fd: impl AsFd) {
        // One that is not waited for is what we want.
        let _ = epoll::delete(&self.epoll, fd);
    }

    /// Waits, for ever if need be, and says whose descriptors are ready. After a
    /// signal that nobody waits for, nobody's are.
    ///
    /// # Errors
    /// When waiting is impossible.
    pub fn wait(&mut self, at_most: Option<&Timespec>) -> io::Result<Vec<Source>> {
        self.buffer.clear();
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut self.buffer), at_most) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(self.buffer.iter().filter_map(|event| Source::of(event.data.u64())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back() {
        for source in [
            Source::Alarm,
            Source::Client(u32::MAX),
            Source::Scraper(3),
            Source::Gate(RunId((1 << 56) - 1)),
            Source::Process(RunId(0)),
            Source::Member(RunId(77)),
            Source::Remains(1),
        ] {
            assert_eq!(Source::of(source.word()), Some(source));
        }
    }
}
