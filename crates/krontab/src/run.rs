//! `krontab run`: a job's command, now, as the daemon would run it.
//!
//! The command gets a process and a session of its own. This program waits,
//! passes on signals, and ends it when its timeout is over.

use crate::cli::Run;
use crate::jobs;
use kron_core::Zones;
use kron_core::time::duration::Pretty;
use kron_host::launch::{self, Daemon, Plan, PlanError};
use kron_tab::{Entry, Output};
use kron_term::failure::{FATAL, Failure, INVALID, USER, note, plain};
use nix::sys::signal::{SigSet, Signal, kill, killpg};
use nix::unistd::Pid;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// The word by which this program calls itself to become a command.
pub const LAUNCH: &str = "__launch";
/// From asking a command to end until making it.
const GRACE: Duration = Duration::from_secs(10);
const FORWARDED: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];

pub fn run(arguments: &Run) -> Result<u8, Failure> {
    let files = jobs::load(&arguments.source, &mut Zones::bundled())?;
    let (_, entry) = jobs::find(&files, &arguments.job)?;
    let failed = |error: PlanError| Failure::new(USER, error.to_string());
    let daemon = if arguments.inherit_env {
        Daemon::here()
    } else {
        Daemon::as_service().map_err(failed)?
    };
    let plan = Plan::of(entry, daemon).map_err(failed)?;
    for (output, name) in [(&entry.stdout, "stdout"), (&entry.stderr, "stderr")] {
        if !matches!(output, Output::Inherit) {
            note(format_args!("{name} is shown here; krond would send it to {output}"));
        }
    }
    // Blocked before any thread exists, so that one thread gets them all.
    let signals: SigSet = FORWARDED.into_iter().collect();
    signals.thread_block().map_err(|errno| Failure::new(FATAL, errno.desc()))?;
    let child = start(&plan).map_err(|error| Failure::new(FATAL, plain(&error)))?;
    let status = wait(child, signals, entry)?;
    Ok(match status.code() {
        Some(code) => u8::try_from(code).unwrap_or(u8::MAX),
        None => 128 + status.signal().and_then(|n| u8::try_from(n).ok()).unwrap_or(0),
    })
}

/// Starts this program again, to become the command. The plan goes through a
/// pipe: command lines and environments can be read by others.
fn start(plan: &Plan) -> io::Result<Child> {
    let mut child =
        Command::new(std::env::current_exe()?).arg(LAUNCH).stdin(Stdio::piped()).spawn()?;
    if let Some(mut pipe) = child.stdin.take() {
        let text = serde_json::to_vec(plan).map_err(io::Error::other)?;
        pipe.write_all(&text)?;
    }
    Ok(child)
}

/// The other end of [`start`]: becomes the command, or says why not.
pub fn launch() -> Result<u8, Failure> {
    let mut text = Vec::new();
    let input = launch::begin().map_err(|error| Failure::new(FATAL, error.to_string()))?;
    let plan = File::from(input)
        .read_to_end(&mut text)
        .and_then(|_| serde_json::from_slice::<Plan>(&text).map_err(io::Error::other))
        .map_err(|error| {
            Failure::new(INVALID, format!("this is for `krontab run` only: {}", plain(&error)))
        })?;
    let error = plan.become_it();
    let word = plan.words.first().map_or("", String::as_str);
    Err(Failure::new(error.exit_code(), format!("`{word}`: {error}")))
}

/// Sends a signal to a command and all its own. Before it has a group of its
/// own, to the process alone; if it has ended already, to nobody.
fn send(group: Pid, signal: Signal) {
    if killpg(group, signal).is_err() {
        let _ = kill(group, signal);
    }
}

/// Ends what is left of a group whose time is over, after the same grace.
fn end_group(group: Pid) {
    let end = Instant::now() + GRACE;
    while killpg(group, None).is_ok() {
        if Instant::now() >= end {
            send(group, Signal::SIGKILL);
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

enum Event {
    Ended(io::Result<ExitStatus>),
    Signal(Signal),
}

fn wait(mut child: Child, signals: SigSet, entry: &Entry) -> Result<ExitStatus, Failure> {
    let group = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
    let (sender, events) = mpsc::channel();
    let ended = sender.clone();
    thread::spawn(move || ended.send(Event::Ended(child.wait())));
    thread::spawn(move || {
        while let Ok(signal) = signals.wait() {
            if sender.send(Event::Signal(signal)).is_err() {
                return;
            }
        }
    });
    let mut deadline = entry.timeout.map(|timeout| (Instant::now() + timeout, Signal::SIGTERM));
    let mut overdue = false;
    loop {
        let event = match deadline {
            Some((at, _)) => events.recv_timeout(at.saturating_duration_since(Instant::now())),
            None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match event {
            Ok(Event::Ended(status)) => {
                if overdue {
                    end_group(group);
                }
                return status.map_err(|error| Failure::new(FATAL, plain(&error)));
            }
            // If the command has ended already, that is what we hear next.
            Ok(Event::Signal(signal)) => send(group, signal),
            Err(RecvTimeoutError::Timeout) => {
                let signal = deadline.map_or(Signal::SIGKILL, |(_, signal)| signal);
                overdue = true;
                if signal == Signal::SIGTERM {
                    let timeout = Pretty(entry.timeout.unwrap_or_default());
                    note(format_args!("the timeout of {timeout} is over"));
                }
                send(group, signal);
                deadline =
                    (signal == Signal::SIGTERM).then(|| (Instant::now() + GRACE, Signal::SIGKILL));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::new(FATAL, "lost sight of the command"));
            }
        }
    }
}
