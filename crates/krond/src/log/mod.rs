//! The daemon's log: the only place that writes it.
//!
//! A line is data ([`Line`]) until it is written in one of three forms: `text`
//! (pairs, as `krontab verify` reads them), `json` (the same keys, an object a
//! line) and `human`, for somebody who watches. No value can forge a line in any
//! of them.
//!
//! Lines are kept until [`Logger::flush`], so that one turn of the daemon's loop
//! is one write. A log that cannot be written never stops the daemon; how many
//! lines were lost is told as soon as it can be written again.

mod human;

use clap::ValueEnum;
use kron_core::UtcInstant;
use kron_core::line::{Level, Line};
use kron_term::choice::LogLevel;
use kron_term::load::Wrong;
use kron_term::terminal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Stderr, Write};
use std::os::unix::fs::OpenOptionsExt;

/// Who writes these lines.
const COMPONENT: &str = "krond";
/// Bytes after which lines are written without being asked to.
const CHUNK: usize = 256 << 10;
/// Bytes that are kept for a reader that does not read.
const KEPT: usize = 4 << 20;

/// How lines are written, as chosen on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Pairs, one event a line
    Text,
    /// An object a line, with the same keys
    Json,
    /// Short, for people; the default on a terminal
    Human,
}

/// How lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Pairs.
    Text,
    /// Objects.
    Json,
    /// For a person.
    Human {
        /// Whether with colours.
        colour: bool,
    },
}

impl Form {
    /// The form that was asked for, or the one that fits standard error.
    #[must_use]
    pub fn of(asked: Option<LogFormat>) -> Self {
        let default = || {
            let watched = io::stderr().is_terminal();
            if watched { LogFormat::Human } else { LogFormat::Text }
        };
        match asked.unwrap_or_else(default) {
            LogFormat::Text => Self::Text,
            LogFormat::Json => Self::Json,
            LogFormat::Human => Self::Human { colour: terminal::error_has_colour() },
        }
    }
}

/// Standard error that nobody waits for: what its reader does not take now, it
/// may take later.
#[derive(Debug)]
pub struct Unblocked(Way);

#[derive(Debug)]
enum Way {
    /// A pipe or a terminal, opened anew: that it does not block is our affair alone.
    Own(File),
    /// Shared with jobs, so it must not be told not to block. A file never does; a
    /// socket is asked first, and given no more than it has room for.
    Shared(Stderr),
}

/// What a socket takes at once, if it says that it takes anything.
const AT_ONCE: usize = 4096;

impl Unblocked {
    fn stderr() -> Self {
        let stderr = io::stderr();
        let kind = rustix::fs::fstat(&stderr)
            .map(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode));
        // Not a file: jobs write where the shared position is, and would overwrite
        // what is written at another.
        let own = match kind {
            Ok(kind) if kind.is_fifo() || kind.is_char_device() => OpenOptions::new()
                .write(true)
                .custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC).bits() as i32)
                .open("/proc/self/fd/2")
                .ok(),
            _ => None,
        };
        Self(own.map_or(Way::Shared(stderr), Way::Own))
    }

    fn poll(&self, at_most: &Timespec) -> Option<PollFlags> {
        let mut fds = [match &self.0 {
            Way::Own(file) => PollFd::new(file, PollFlags::OUT),
            Way::Shared(stderr) => PollFd::new(stderr, PollFlags::OUT),
        }];
        poll(&mut fds, Some(at_most)).ok().map(|_| fds[0].revents())
    }
}

impl Write for Unblocked {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Way::Own(file) = &mut self.0 {
            return file.write(bytes);
        }
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        if self.poll(&at_once).is_some_and(|state| state.is_empty()) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        io::stderr().write(&bytes[..bytes.len().min(AT_ONCE)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes the log.
#[derive(Debug)]
pub struct Logger<W = Unblocked> {
    out: W,
    form: Form,
    least: Level,
    pending: String,
    /// Whether the last line written is not whole so far.
    cut: bool,
    /// Whether it never will be, because the rest of it was dropped.
    torn: bool,
    /// Lines that were not written and not told of.
    lost: usize,
    /// Lines that a pending line tells were lost.
    told: usize,
}

impl Logger {
    /// A log on standard error.
    #[must_use]
    pub fn stderr(asked: Option<LogFormat>, least: LogLevel) -> Self {
        Self::new(Unblocked::stderr(), Form::of(asked), least.into())
    }
}

impl Logger {
    /// Whether it is watched on a terminal that is gone.
    #[must_use]
    pub fn is_hung_up(&self) -> bool {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let gone = PollFlags::HUP | PollFlags::ERR;
        let is_gone = self.out.poll(&at_once).is_some_and(|state| state.intersects(gone));
        is_gone && matches!(self.form, Form::Human { .. })
    }

    /// Writes what was added, and waits a little for a reader that is slow: there
    /// will be no next time. One that reads gets all of it.
    pub fn finish(&mut self) {
        /// How often nothing is read before it is given up.
        const TRIES: usize = 20;
        /// How often a part is read: even of what a pipe of one page holds.
        const PARTS: usize = KEPT / 1024;
        let a_while = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        let mut tries = 0;
        for _ in 0..PARTS {
            if self.flush() || tries == TRIES {
                return;
            }
            let has_room = self.out.poll(&a_while).is_some_and(|state| !state.is_empty());
            tries += usize::from(!has_room);
        }
    }
}

impl<W: Write> Logger<W> {
    /// A log of lines that matter at least this much.
    pub const fn new(out: W, form: Form, least: Level) -> Self {
        Self { out, form, least, pending: String::new(), cut: false, torn: false, lost: 0, told: 0 }
    }

    /// How lines are written.
    pub const fn form(&self) -> Form {
        self.form
    }

    /// Whether lines of this level are written; others need not be made.
    pub fn wants(&self, level: Level) -> bool {
        level >= self.least
    }

    /// Adds a line.
    pub fn write(&mut self, at: UtcInstant, line: &Line) {
        if !self.wants(line.level) {
            return;
        }
        if self.lost > 0 {
            self.told += std::mem::take(&mut self.lost);
            let lost = Line::new(Level::Error, "error")
                .with("error_type", "SystemError")
                .with("operation", "write the log")
                .with("count", self.told)
                .with("message", "lines of this log were lost before this one");
            self.push(at, &lost);
        }
        self.push(at, line);
        if self.pending.len() >= CHUNK {
            self.flush();
        }
    }

    fn push(&mut self, at: UtcInstant, line: &Line) {
        match self.form {
            Form::Text => line.push_text(&mut self.pending, at, COMPONENT),
            Form::Json => line.push_json(&mut self.pending, at, COMPONENT),
            Form::Human { colour } => human::push(&mut self.pending, at, line, colour),
        }
    }

    /// Writes what was added. What a reader does not take yet is kept for the
    /// next time, within a limit; `false` if there is such.
    pub fn flush(&mut self) -> bool {
        self.write_out();
        self.pending.is_empty()
    }

    fn write_out(&mut self) {
        if self.torn && !self.pending.is_empty() {
            match self.out.write(b"\n") {
                Ok(1) => (self.cut, self.torn) = (false, false),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return self.keep(0),
                _ => return self.give_up(0),
            }
        }
        let mut written = 0;
        while written < self.pending.len() {
            match self.out.write(&self.pending.as_bytes()[written..]) {
                Ok(0) => return self.give_up(written),
                Ok(n) => {
                    written += n;
                    self.cut = self.pending.as_bytes().get(written - 1) != Some(&b'\n');
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return self.keep(written);
                }
                Err(_) => return self.give_up(written),
            }
        }
        self.pending.clear();
        self.told = 0;
    }

    /// Leaves what is behind `written` for the next time.
    fn keep(&mut self, written: usize) {
        if self.pending.len() - written > KEPT {
            return self.give_up(written);
        }
        // A character may have been cut in two.
        let mut rest = std::mem::take(&mut self.pending).into_bytes();
        rest.drain(..written);
        match String::from_utf8(rest) {
            Ok(rest) => self.pending = rest,
            Err(error) => {
                self.torn = true;
                self.lose(lines(error.as_bytes()));
            }
        }
    }

    /// Drops what is behind `written`.
    fn give_up(&mut self, written: usize) {
        self.torn |= self.cut;
        self.lose(lines(&self.pending.as_bytes()[written..]));
        self.pending.clear();
    }

    /// Counts lines that were dropped; what one of them told is to be told again.
    fn lose(&mut self, dropped: usize) {
        self.lost += match std::mem::take(&mut self.told) {
            0 => dropped,
            told => told + dropped.saturating_sub(1),
        };
    }

    /// What it writes to.
    pub const fn get_ref(&self) -> &W {
        &self.out
    }

    /// What it writes to.
    pub const fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }
}

/// What is wrong with a configuration, as an event. Somebody who watches is
/// better served by [`Report::render`](kron_term::load::Report::render).
#[must_use]
pub fn configuration_error(wrong: &Wrong<'_>) -> Line {
    Line::new(Level::Error, "error")
        .with("error_type", wrong.category)
        .with("operation", "read configuration")
        .with_some("path", Some(wrong.path).filter(|path| !path.is_empty()))
        .with_some("line", wrong.line)
        .with_some("column", wrong.column)
        .with("code", wrong.code)
        .with("message", &wrong.message)
        .with_some("hint", wrong.hint)
}

fn lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&b| b == b'\n').count()
}
