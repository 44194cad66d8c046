//! `krond start`: takes possession of the state directory, reads configuration
//! and state, and runs.
//!
//! The order matters: signals are blocked before there are threads, the lock is
//! taken before anything is read, and nothing is started before all of it is
//! known to be good.

use crate::cli::Start;
use crate::clock::Clock;
use crate::control::server::Server;
use crate::daemon::{self, Daemon, End, Enrolled, Parts, Surroundings};
use crate::exec::{self, Launcher};
use crate::log::{Form, Logger};
use crate::signals::Signals;
use crate::store::{self, Store};
use crate::{crash, failure_line, init, place};
use kron_core::line::{Level, Line};
use kron_core::{Identity, UtcInstant, Zones};
use kron_engine::Engine;
use kron_engine::commit::{Batch, RosterLine, Rostered};
use kron_engine::event::Event;
use kron_engine::settings::{PREPARING, Settings};
use kron_host::places;
use kron_term::failure::{FATAL, INVALID, STATE, USER};
use kron_term::terminal;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use rustix::fs::OFlags;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Runs the daemon; the exit code.
pub fn start(arguments: &Start) -> u8 {
    let mut log = Logger::stderr(arguments.log_format, arguments.log_level);
    match init::stand_in() {
        Ok(None) => {}
        Ok(Some(code)) => return code,
        Err(error) => {
            let failure = Failure::system("be the first process", &error);
            return failure.report(&mut log, &Clock::default());
        }
    }
    let clock = match &arguments.clock_shift {
        None => Ok(Clock::default()),
        Some(file) => Clock::shifted(file.clone()),
    };
    let clock = match clock {
        Ok(clock) => clock,
        Err(error) => {
            let failure = Failure::system("read the shift of the clock", &error);
            return failure.report(&mut log, &Clock::default());
        }
    };
    end_on_panic(arguments);
    match run(arguments, clock, log) {
        Ok(End::Stopped) => 0,
        Ok(End::Fatal) => FATAL,
        Err(code) => code,
    }
}

/// Whatever is broken inside is logged and ends the process: nothing is started
/// by a daemon that contradicts itself, and what was due is judged by the next.
fn end_on_panic(arguments: &Start) {
    let (format, level) = (arguments.log_format, arguments.log_level);
    std::panic::set_hook(Box::new(move |panic| {
        let mut log = Logger::stderr(format, level);
        let line = Line::new(Level::Error, "error")
            .with("error_type", "SchedulingError")
            .with("operation", "decide")
            .with("message", panic.to_string().replace('\n', " "))
            .with("fatal", true);
        log.write(Clock::default().moment().now, &line);
        log.finish();
        std::process::exit(FATAL.into());
    }));
}

/// Why the daemon does not start, with everything there is to say.
struct Failure {
    code: u8,
    lines: Vec<Line>,
    /// For a person who watches, instead of the lines.
    shown: Option<String>,
}

impl Failure {
    fn system(operation: &str, error: &io::Error) -> Self {
        Self { code: FATAL, lines: vec![failure_line::system(operation, error)], shown: None }
    }

    fn report(mut self, log: &mut Logger, clock: &Clock) -> u8 {
        match self.shown.take() {
            Some(text) if matches!(log.form(), Form::Human { .. }) => terminal::print_error(&text),
            _ => {
                // Of mistakes in files, the last word is what ends it.
                let is_last = self.code != INVALID;
                for line in self.lines {
                    let line = if is_last { failure_line::fatal(line) } else { line };
                    log.write(clock.moment().now, &line);
                }
            }
        }
        log.finish();
        self.code
    }
}

fn run(arguments: &Start, clock: Clock, mut log: Logger) -> Result<End, u8> {
    match prepare(arguments, &clock, &mut log) {
        Ok(prepared) => Ok(prepared.run(clock, log, arguments)),
        Err(failure) => Err(failure.report(&mut log, &clock)),
    }
}

/// Everything that was found to be good.
struct Prepared {
    engine: Engine,
    configuration: Event,
    signals: Signals,
    store: Arc<Store>,
    launcher: Launcher,
    server: Server,
    scrapes: Option<TcpListener>,
    paths: Vec<PathBuf>,
    surroundings: Surroundings,
    left_out: usize,
}

fn prepare(arguments: &Start, clock: &Clock, log: &mut Logger) -> Result<Prepared, Failure> {
    let system =
        |operation: &'static str| move |error: io::Error| Failure::system(operation, &error);
    let fault = crash::choose(arguments.crash_at.as_deref(), arguments.fail_at.as_ref());
    #[cfg(feature = "mutants")]
    kron_core::mutant::choose(arguments.mutant);
    let signals = Signals::new().map_err(system("block signals"))?;
    let state_dir = place::state_dir(&arguments.place).ok_or_else(|| Failure {
        code: USER,
        lines: vec![
            Line::new(Level::Error, "error")
                .with("error_type", "ConfigurationError")
                .with("operation", "find the state directory")
                .with(
                    "message",
                    "no home directory, so no state directory is known: name one by --state-dir",
                ),
        ],
        shown: None,
    })?;
    let mut options = store::Options::at(clock.moment().now);
    options.history = arguments.history;
    options.fault = fault;
    options.spare_age = arguments.spare_age.unwrap_or(options.spare_age);
    let (store, warnings) = Store::open(&state_dir, options).map_err(|error| refused(&error))?;
    for warning in &warnings {
        log.write(clock.moment().now, &failure_line::warning(warning));
    }
    let paths = clean(arguments.paths.iter().chain(&arguments.config))
        .map_err(system("find the configuration"))?;
    let (entries, report) = daemon::entries(&paths);
    let wrong = failure_line::configuration(&report);
    if !(report.is_empty() || arguments.keep_going) {
        return Err(Failure {
            code: INVALID,
            lines: wrong.into_iter().chain([failure_line::not_started(report.count())]).collect(),
            shown: Some(format!("{}error: nothing was started\n", report.render())),
        });
    }
    // A person is greeted with that.
    let is_watched = matches!(log.form(), Form::Human { .. });
    let no_jobs = (entries.is_empty() && !is_watched).then(failure_line::no_jobs);
    for line in wrong.into_iter().chain(no_jobs) {
        log.write(clock.moment().now, &line);
    }
    let Enrolled { jobs, others, lines } =
        daemon::enrol(entries, &store, &BTreeSet::new(), clock.moment().now)
            .map_err(|error| refused(&error))?;
    for line in lines {
        log.write(clock.moment().now, &line);
    }
    // One that is written wrong was not taken out, and where something is wrong nobody knows
    // which jobs those are.
    if report.is_empty() {
        note_gone(&store, others, clock.moment().now)?;
    }
    let surroundings = Surroundings {
        nofile: raise_nofile(),
        limit_nofile: arguments.limit_nofile,
        limit_nproc: arguments.limit_nproc,
    };
    // What may fail comes before the socket, which would be left behind.
    let scrapes = arguments.metrics.map(|address| {
        TcpListener::bind(address).map_err(|error| {
            let error = io::Error::new(error.kind(), format!("{address}: {error}"));
            Failure::system("serve metrics", &error)
        })
    });
    let scrapes = scrapes.transpose()?;
    let launcher =
        Launcher::new(exec::Options::default()).map_err(system("make threads to start jobs"))?;
    let socket = place::socket(&arguments.place, &state_dir);
    let mut server = Server::open(&socket).map_err(|error| {
        let error = io::Error::new(error.kind(), format!("{}: {error}", socket.display()));
        Failure::system("open the control socket", &error)
    })?;
    // Not before: another daemon that has the socket may have the file as well.
    if let Some(path) = &arguments.pid_file {
        write_pid(path).map_err(|error| {
            server.say_goodbye();
            let error = io::Error::new(error.kind(), format!("{}: {error}", path.display()));
            Failure::system("write the PID file", &error)
        })?;
    }
    let (settings, warning) = settings(arguments);
    if let Some(line) = warning {
        log.write(clock.moment().now, &line);
    }
    Ok(Prepared {
        engine: Engine::new(settings, Zones::bundled(), clock.moment()),
        configuration: Event::Reload(jobs),
        signals,
        store: Arc::new(store),
        launcher,
        server,
        scrapes,
        paths,
        surroundings,
        left_out: report.count(),
    })
}

/// A job that was taken out while nobody watched comes back without a past.
fn note_gone(
    store: &Store,
    others: Vec<(Identity, Rostered)>,
    now: UtcInstant,
) -> Result<(), Failure> {
    let departure = |(identity, known): (Identity, Rostered)| {
        RosterLine::departure(&identity, known.departed(now)).collect::<Vec<_>>()
    };
    let roster = others.into_iter().flat_map(departure).collect();
    store.commit(&Batch { jobs: Vec::new(), roster }).map(drop).map_err(|error| Failure {
        code: FATAL,
        lines: vec![failure_line::commit(&error)],
        shown: None,
    })
}

impl Prepared {
    fn run(self, clock: Clock, log: Logger, arguments: &Start) -> End {
        let parts = Parts {
            clock,
            log,
            signals: self.signals,
            store: self.store,
            launcher: self.launcher,
            server: self.server,
            scrapes: self.scrapes,
            paths: self.paths,
            shutdown: arguments.shutdown.into(),
            way: place::way(arguments),
            surroundings: self.surroundings,
            left_out: self.left_out,
        };
        let end = match Daemon::new(self.engine, parts) {
            Ok(daemon) => daemon.run(self.configuration),
            Err(error) => {
                let mut log = Logger::stderr(arguments.log_format, arguments.log_level);
                Failure::system("begin", &error).report(&mut log, &Clock::default());
                End::Fatal
            }
        };
        if let Some(path) = &arguments.pid_file {
            remove_pid(path);
        }
        end
    }
}

fn refused(error: &store::StoreError) -> Failure {
    Failure { code: STATE, lines: failure_line::store(error), shown: None }
}

fn clean<'p>(paths: impl Iterator<Item = &'p PathBuf>) -> io::Result<Vec<PathBuf>> {
    paths.map(|path| places::clean(Path::new(path))).collect()
}

/// What was chosen about the engine, and what there is to say about it.
fn settings(arguments: &Start) -> (Settings, Option<Line>) {
    let room = room();
    let most = arguments.max_running.map_or(usize::MAX, |most| most as usize);
    let settings = Settings {
        grace: arguments.grace,
        max_running: Some(most.min(room)),
        is_short_of_files: room < most,
        shutdown_limit: arguments.shutdown_limit,
        preparing: PREPARING.min(room),
    };
    (settings, (room < most.min(AMPLE)).then(|| failure_line::scarce_files(room)))
}

/// Room for fewer runs than this is worth a word, unless no more are wanted.
const AMPLE: usize = 1000;

/// How many runs there are descriptors for, when those are left out that the
/// daemon needs for itself: to record what it did, and to answer.
fn room() -> usize {
    const RESERVED: u64 = 160;
    const FOR_A_RUN: u64 = 3;
    let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(soft, _)| soft);
    usize::try_from(limit.saturating_sub(RESERVED) / FOR_A_RUN).unwrap_or(usize::MAX).max(1)
}

/// Writes our number to a file of our own, whatever was there before.
fn write_pid(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file =
        std::fs::OpenOptions::new().write(true).create_new(true).mode(0o644).open(path)?;
    file.write_all(format!("{}\n", std::process::id()).as_bytes())
}

/// Removes the file, unless another daemon has put its own number there.
fn remove_pid(path: &Path) {
    // Whatever others may have put there is neither followed nor waited for.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let mut text = String::new();
    let read = file.and_then(|file| file.take(PID_BYTES).read_to_string(&mut text));
    if read.is_ok() && text.trim() == std::process::id().to_string() {
        let _ = std::fs::remove_file(path);
    }
}

/// Longer than any number with its line end.
const PID_BYTES: u64 = 64;

/// Allows this process as many descriptors as it may have: each job under way
/// takes some. Returns what jobs are to get instead.
fn raise_nofile() -> Option<(u64, u64)> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    if soft >= hard {
        return None;
    }
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).ok()?;
    Some((soft, hard))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the file is removed that was put in the place of ours.
    #[track_caller]
    fn check(name: &str, removed: bool, put: impl FnOnce(&Path)) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("pid");
        put(&path);
        let (tell, told) = std::sync::mpsc::channel();
        let whose = path.clone();
        std::thread::spawn(move || {
            remove_pid(&whose);
            tell.send(())
        });
        told.recv_timeout(std::time::Duration::from_secs(20)).expect("it waits");
        assert_eq!(path.symlink_metadata().is_err(), removed, "{name}");
    }

    #[test]
    fn a_pid_file_that_is_another() {
        let ours = format!("{}\n", std::process::id());
        check("ours", true, |path| write_pid(path).unwrap());
        check("another's", false, |path| std::fs::write(path, "1\n").unwrap());
        check("a link", false, |path| {
            std::fs::write(path.with_extension("real"), &ours).unwrap();
            std::os::unix::fs::symlink(path.with_extension("real"), path).unwrap();
        });
        check("a long one", false, |path| {
            std::fs::write(path, format!("{}{ours}", " ".repeat(100))).unwrap();
        });
        check("a pipe", false, |path| {
            let mode = rustix::fs::Mode::RUSR;
            let kind = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
        });
    }
}
