//! The loop: waits for something to happen, tells the engine, does what it says.
//!
//! Everything slow is done elsewhere (processes are made, state is written and
//! configuration is read by other threads); nothing here waits for anything but
//! the next event. What is to be done is decided by the engine alone.

mod act;
mod answer;
mod commits;
mod processes;
mod reading;
mod scrape;
mod search;
mod shelf;

pub use reading::{Enrolled, enrol, entries};

use crate::clock::{Alarms, Clock};
use crate::control::server::Server;
use crate::exec::Launcher;
use crate::greeting::{self, Way};
use crate::log::{Form, Logger};
use crate::metrics::Commits;
use crate::notify;
use crate::poll::{Interest, Poll, Source};
use crate::signals::{Asked, Signals};
use crate::store::Store;
use crate::{crash, failure_line};
use commits::{Committer, committer};
use kron_core::line::{Level, Line};
use kron_core::{UtcInstant, UtcSecond};
use kron_engine::Engine;
use kron_engine::event::{Effect, Event, Moment, Shutdown};
use kron_host::memory;
use kron_term::terminal;
use processes::Processes;
use reading::{Reader, Reading};
use scrape::Scrapes;
use search::{Searcher, searcher};
use shelf::{Shelf, shelf};
use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How long before something is due the daemon gets ready for it.
const HEAD_START: Duration = Duration::from_secs(1);

/// What the daemon is made of.
pub struct Parts {
    /// The time.
    pub clock: Clock,
    /// The log.
    pub log: Logger,
    /// Signals, blocked before any thread was made.
    pub signals: Signals,
    /// The state directory.
    pub store: Arc<Store>,
    /// Makes processes.
    pub launcher: Launcher,
    /// Who talks to us.
    pub server: Server,
    /// Who measures us.
    pub scrapes: Option<std::net::TcpListener>,
    /// Where configuration comes from.
    pub paths: Vec<PathBuf>,
    /// What becomes of running jobs at the end.
    pub shutdown: Shutdown,
    /// What a client types to reach us.
    pub way: Way,
    /// What jobs get of us.
    pub surroundings: Surroundings,
    /// Mistakes in the configuration, whose entries are left out of it.
    pub left_out: usize,
}

/// What every job gets unless it says otherwise.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Limits of open files that we were started with.
    pub nofile: Option<(u64, u64)>,
    /// Most open files.
    pub limit_nofile: Option<u64>,
    /// Most processes.
    pub limit_nproc: Option<u64>,
}

/// Why the loop ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// As it should.
    Stopped,
    /// State could not be kept, or the loop could not go on. It has been logged.
    Fatal,
}

/// The daemon at work.
pub struct Daemon {
    engine: Engine,
    clock: Clock,
    alarms: Alarms,
    poll: Poll,
    log: Logger,
    signals: Signals,
    store: Arc<Store>,
    committer: Committer,
    launcher: Launcher,
    processes: Processes,
    searcher: Searcher,
    shelf: Shelf,
    server: Server,
    conversations: answer::Conversations,
    scrapes: Option<Scrapes>,
    reader: Reader,
    shutdown: Shutdown,
    way: Way,
    surroundings: Surroundings,
    commits: Commits,
    started_at: UtcInstant,
    /// When something is due that everything is ready for.
    ready_for: Option<UtcInstant>,
    /// What is told the engine next.
    events: VecDeque<Event>,
    /// Whether it has been logged that the daemon is ready.
    is_ready: bool,
    /// Whether a configuration was read since memory was given back.
    is_wasteful: bool,
    /// When the latest configuration was refused, if it was.
    rejected_at: Option<UtcSecond>,
    /// Mistakes in the configuration in force, whose entries are left out of it.
    left_out: usize,
    end: Option<End>,
}

impl Daemon {
    /// Puts the parts together.
    ///
    /// # Errors
    /// When the system has no descriptors or threads left.
    pub fn new(engine: Engine, parts: Parts) -> io::Result<Self> {
        let alarms = Alarms::new()?;
        let poll = Poll::new()?;
        let committer = committer(Arc::clone(&parts.store))?;
        let reader = Reader::new(parts.paths, Arc::clone(&parts.store))?;
        let searcher = searcher()?;
        let shelf = shelf(Arc::clone(&parts.store))?;
        poll.add(alarms.wall(), Source::Alarm, Interest::Read)?;
        poll.add(alarms.uptime(), Source::Alarm, Interest::Read)?;
        poll.add(&parts.signals, Source::Signals, Interest::Read)?;
        poll.add(parts.launcher.descriptor(), Source::Launcher, Interest::Read)?;
        poll.add(committer.mailbox(), Source::Commits, Interest::Read)?;
        poll.add(reader.mailbox(), Source::Loader, Interest::Read)?;
        poll.add(searcher.mailbox(), Source::Search, Interest::Read)?;
        poll.add(shelf.mailbox(), Source::Shelf, Interest::Read)?;
        parts.server.register(&poll)?;
        let scrapes = match parts.scrapes {
            Some(listener) => Some(Scrapes::new(listener, &poll)?),
            None => None,
        };
        let started_at = parts.clock.moment().now;
        Ok(Self {
            engine,
            clock: parts.clock,
            alarms,
            poll,
            log: parts.log,
            signals: parts.signals,
            store: parts.store,
            committer,
            launcher: parts.launcher,
            processes: Processes::default(),
            searcher,
            shelf,
            server: parts.server,
            conversations: answer::Conversations::default(),
            scrapes,
            reader,
            shutdown: parts.shutdown,
            way: parts.way,
            surroundings: parts.surroundings,
            commits: Commits::default(),
            started_at,
            ready_for: None,
            events: VecDeque::new(),
            is_ready: false,
            is_wasteful: false,
            rejected_at: None,
            left_out: parts.left_out,
            end: None,
        })
    }

    /// Runs until it is told to end, beginning with this configuration.
    pub fn run(mut self, configuration: Event) -> End {
        self.events.push_back(configuration);
        let moment = self.clock.moment();
        self.settle(moment);
        while self.end.is_none() {
            if let Err(error) = self.turn() {
                self.fatal("wait for events", &error);
            }
        }
        self.server.say_goodbye();
        self.log.finish();
        self.end.unwrap_or(End::Fatal)
    }

    /// One turn: wait, hear, decide, act.
    fn turn(&mut self) -> io::Result<()> {
        let (due, uptime) = self.engine.next_wake();
        let wall = due.map(|due| self.get_ready(due));
        if self.alarms.set(&self.clock, wall, uptime)? {
            self.events.push_back(Event::Tick);
            self.settle(self.clock.moment());
            return Ok(());
        }
        if !self.log.flush() {
            // Whoever reads the log is slow; a file, which cannot be waited for, never is.
            let _ = self.poll.add(io::stderr(), Source::Log, Interest::Write);
        }
        let mut ready = self.poll.wait(None)?;
        // What has ended is known before what is due is judged.
        ready.sort_by_key(|source| *source == Source::Alarm);
        if ready.iter().any(|source| !matches!(source, Source::Control | Source::Metrics)) {
            self.listen_again();
        }
        if ready.contains(&Source::Signals) {
            // First, because one of them sets the clock, in tests.
            self.hear(Source::Signals, self.clock.moment());
        }
        let moment = self.clock.moment();
        for source in ready {
            self.hear(source, moment);
            if self.end.is_some() {
                return Ok(());
            }
        }
        self.settle(moment);
        Ok(())
    }

    /// When to wake up for what is due then: a little before it, to have ready what a start
    /// takes.
    fn get_ready(&mut self, due: UtcInstant) -> UtcInstant {
        let ahead = due.saturating_sub(HEAD_START);
        if self.clock.moment().now < ahead {
            return ahead;
        }
        if self.ready_for != Some(due) {
            self.ready_for = Some(due);
            self.launcher.expect();
        }
        due
    }

    /// Something has happened, so there may be a descriptor for whoever could not be let
    /// in. That somebody wants to come in does not count: two listeners would wake
    /// each other without end.
    fn listen_again(&mut self) {
        self.server.listen_again(&self.poll);
        if let Some(scrapes) = &mut self.scrapes {
            scrapes.listen_again(&self.poll);
        }
    }

    fn hear(&mut self, source: Source, moment: Moment) {
        match source {
            Source::Alarm => {
                self.alarms.rang();
                self.events.push_back(Event::Tick);
            }
            Source::Signals => {
                for asked in self.signals.take() {
                    self.signal(asked, moment);
                }
            }
            Source::Launcher => self.spawned(),
            Source::Commits => self.committed(),
            Source::Loader => self.read(moment),
            Source::Control => self.server.accept(&self.poll),
            Source::Client(id) => self.client(id, moment),
            Source::Metrics => {
                if let Some(scrapes) = &mut self.scrapes {
                    scrapes.accept(&self.poll);
                }
            }
            Source::Scraper(id) => self.scrape(id),
            Source::Gate(run) => self.at_gate(run),
            Source::Process(run) => self.process_ended(run),
            Source::Member(run) => self.member_ended(run),
            Source::Search => self.searched(),
            Source::Shelf => self.looked_up(moment),
            Source::Remains(id) => self.processes.bury(id),
            Source::Log => self.poll.remove(io::stderr()),
        }
    }

    fn signal(&mut self, asked: Asked, moment: Moment) {
        match asked {
            // Whoever closes the terminal it runs in does not ask for a reload.
            Asked::Reload if self.log.is_hung_up() => self.signal(Asked::Stop, moment),
            Asked::Stop => {
                notify::tell(notify::STOPPING);
                // Whoever asks twice does not want to wait.
                let how = if self.engine.is_stopping() { Shutdown::Detach } else { self.shutdown };
                self.events.push_back(Event::Shutdown(how));
            }
            // As for `krond reload`: on its way out it takes nothing new.
            Asked::Reload if self.engine.is_stopping() => {}
            Asked::Reload => self.reader.begin(&mut self.engine, moment.now),
            Asked::Clock => {
                if let Err(error) = self.clock.reread() {
                    self.complain("read the shift of the clock", &error);
                }
                self.alarms.rang();
                self.events.push_back(Event::Tick);
            }
        }
    }

    /// Tells the engine everything that happened and does what follows, until
    /// nothing more follows.
    fn settle(&mut self, moment: Moment) {
        self.tell_all(moment);
        if std::mem::take(&mut self.is_wasteful) {
            self.events.shrink_to_fit();
            memory::give_back();
        }
    }

    fn tell_all(&mut self, moment: Moment) {
        let mut effects = Vec::new();
        while let Some(event) = self.events.pop_front() {
            crash::point("panic");
            self.engine.handle(event, moment, &mut effects);
            for effect in effects.drain(..) {
                self.act(effect, moment);
                if self.end.is_some() {
                    return;
                }
            }
        }
    }

    fn committed(&mut self) {
        for done in self.committer.mailbox().take() {
            self.commits.count(done.took);
            match done.result {
                Ok(warnings) => {
                    for warning in warnings {
                        self.say(&failure_line::warning(&warning));
                    }
                    crash::point("committed");
                    self.events.push_back(Event::Committed);
                }
                Err(error) => {
                    // No gate is opened any more: those at one see its end and go.
                    self.say(&failure_line::commit(&error));
                    self.end = Some(End::Fatal);
                    return;
                }
            }
        }
    }

    fn fatal(&mut self, operation: &str, error: &io::Error) {
        self.say(&failure_line::fatal(failure_line::system(operation, error)));
        self.end = Some(End::Fatal);
    }

    fn complain(&mut self, operation: &str, error: &io::Error) {
        self.say(&failure_line::system(operation, error));
    }

    fn say(&mut self, line: &Line) {
        self.log.write(self.clock.moment().now, line);
    }

    /// The configuration is in force.
    fn ready(&mut self) {
        self.is_ready = true;
        let gauges = self.engine.gauges();
        let line = Line::new(Level::Info, "ready")
            .with("pid", std::process::id())
            .with("version", env!("CARGO_PKG_VERSION"))
            .with("jobs", gauges.jobs)
            .with("adopted", gauges.running)
            .with("state_dir", self.store.path().display())
            .with("algorithm", kron_core::ALGORITHM)
            .with("tzdb", kron_core::Zones::bundled().version());
        if matches!(self.log.form(), Form::Human { .. }) {
            self.greet();
        }
        self.say(&line);
        notify::tell(notify::READY);
        self.is_wasteful = true;
    }

    /// Shows somebody who watches what there is.
    fn greet(&mut self) {
        let entries = self.engine.keys().iter().filter_map(|key| {
            let (_, next) = self.engine.around_now(*key);
            Some((self.engine.entry(*key)?, next))
        });
        let jobs: Vec<greeting::Job<'_>> = entries
            .map(|(entry, next)| {
                let identity = entry.job.identity().as_str();
                greeting::Job {
                    name: entry.name(),
                    file: identity.rsplit_once(':').map_or(identity, |(file, _)| file),
                    next: next.and_then(|period| entry.job.decide(period).chosen()),
                    zone: entry.job.zone(),
                    suspended: entry.job.policy().suspend,
                }
            })
            .collect();
        let now = self.clock.moment().now.floor();
        let text = greeting::greeting(&jobs, now, terminal::width(), &self.way);
        self.log.flush();
        terminal::print_error(&text);
    }

    fn scrape(&mut self, id: u32) {
        let page = || {
            crate::metrics::page(
                self.engine.tally(),
                &self.engine.gauges(),
                &self.commits,
                self.started_at,
            )
        };
        if let Some(scrapes) = &mut self.scrapes {
            scrapes.ready(id, &self.poll, page);
        }
    }

    /// The files and directories that configuration is read from.
    fn sources(&self) -> Vec<PathBuf> {
        let given = self.reader.paths();
        let default = kron_host::places::config_dir().filter(|_| given.is_empty());
        given.iter().cloned().chain(default).collect()
    }

    /// A configuration was read, or could not be.
    fn read(&mut self, moment: Moment) {
        let Some((reading, lines)) = self.reader.take() else { return };
        for line in &lines {
            self.say(line);
        }
        match reading {
            Reading::Configuration(jobs) => self.events.push_back(Event::Reload(jobs)),
            Reading::Rejected(rejection) => {
                let is_fatal = self.store.has_failed();
                for line in rejection.lines {
                    self.say(&if is_fatal { line.with("fatal", true) } else { line });
                }
                self.rejected_at = Some(moment.now.floor());
                self.answer_reload(Err(&rejection.text));
                if is_fatal {
                    self.end = Some(End::Fatal);
                    return;
                }
                self.read_again(moment);
            }
        }
    }

    fn read_again(&mut self, moment: Moment) {
        self.engine.set_reading(false);
        if self.reader.finish() {
            self.reader.begin(&mut self.engine, moment.now);
        }
    }

    fn stopped(&mut self) {
        self.answer_stop();
        self.end = Some(End::Stopped);
    }

    fn act(&mut self, effect: Effect, moment: Moment) {
        match effect {
            Effect::Log(line) => self.say(&line),
            Effect::Plan(job, period) => {
                // The first plans are what the greeting shows.
                let is_greeted = !self.is_ready && matches!(self.log.form(), Form::Human { .. });
                if !is_greeted
                    && self.log.wants(Level::Info)
                    && let Some(line) = self.engine.plan(job, period)
                {
                    self.say(&line);
                }
            }
            Effect::Prepare(preparation) => self.prepare(preparation),
            Effect::Commit(batch) => self.committer.ask(batch),
            Effect::Release(run) => self.release(run),
            Effect::Abandon(run) => self.abandon(run),
            Effect::Adopt(run, process) => self.adopt(run, process),
            Effect::Signal(run, signal) => self.send(run, signal),
            Effect::WatchGroup(run) => self.watch_group(run),
            Effect::Forget(run) => self.processes.forget(run),
            Effect::Reloaded(changes) => {
                if self.is_ready {
                    (self.rejected_at, self.left_out) = (None, 0);
                    self.answer_reload(Ok(changes));
                    self.read_again(moment);
                    self.is_wasteful = true;
                } else {
                    self.ready();
                }
            }
            Effect::ResetDone => self.answer_reset(),
            Effect::Stop => self.stopped(),
        }
    }
}
