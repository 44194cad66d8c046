//! What the engine wants done with processes.

use super::processes::Door;
use super::search::{Asked, Search};
use super::{Daemon, End, Surroundings};
use crate::crash;
use crate::exec::group::{Leader, signal_group};
use crate::exec::{Order, Report, Spawned, Target, is_transient, process};
use crate::poll::{Interest, Source};
use kron_core::line::{Level, Line};
use kron_engine::event::{Event, Exit, Preparation, RunId, Signal, StartFailure};
use kron_engine::kept::Process;
use kron_host::launch::{self, LaunchError, Limit, Plan, Step};
use kron_tab::{Command, Entry, Output};
use std::os::fd::AsFd;
use std::task::Poll as Ready;

impl Daemon {
    /// Has a process made.
    pub(super) fn prepare(&mut self, preparation: Preparation) {
        let Preparation { run, job, period, chosen } = preparation;
        let Some(entry) = self.engine.entry(job) else { return };
        let target = |output: &Output| match output {
            Output::Inherit => Target::Inherit,
            Output::Discard => Target::Discard,
            Output::Syslog => Target::Syslog,
            Output::File(path) => Target::File(path.render(entry.job.zone().local_time(chosen))),
        };
        let (stdout, stderr) = (target(&entry.stdout), target(&entry.stderr));
        let tag = entry.name().to_string();
        let variables = [
            ("KRON_JOB", entry.name().to_string()),
            ("KRON_IDENTITY", entry.job.identity().to_string()),
            ("KRON_PERIOD_ID", period.to_string()),
            ("KRON_NOMINAL_TIME", period.nominal().to_string()),
            ("KRON_CHOSEN_TIME", chosen.to_string()),
        ];
        let user = becomes(entry);
        let (entry, surroundings) = (entry.clone(), self.surroundings.clone());
        let asks = entry.user.is_some() || entry.group.is_some();
        let mut order = Order::new(run.0, tag, move || {
            let mut plan = plan(&entry, &surroundings)?;
            for (name, value) in variables {
                plan.set_env(name, value);
            }
            Ok(plan)
        });
        (order.stdout, order.stderr) = (stdout, stderr);
        self.processes.expect(run, user);
        // Users are looked up where it may take its time.
        self.launcher.prepare(order.asking(asks));
    }

    /// Nobody wants a process any more that has not become a command.
    pub(super) fn abandon(&mut self, run: RunId) {
        self.launcher.withdraw(run.0);
        self.processes.abandon(run, &self.poll);
    }

    /// Processes were made, or could not be.
    pub(super) fn spawned(&mut self) {
        for spawned in self.launcher.results() {
            let Spawned { run, begun, result } = spawned;
            let run = RunId(run);
            let failure = match result {
                Ok(prepared) => match self.processes.arrived(run, prepared, begun, &self.poll) {
                    Ok(_) => {
                        crash::point("spawned");
                        continue;
                    }
                    Err(error) => StartFailure {
                        operation: "watch the process",
                        message: error.to_string(),
                        is_transient: true,
                    },
                },
                Err(_) if !self.processes.failed(run) => continue,
                Err(refusal) => StartFailure {
                    operation: "start a process",
                    message: refusal.to_string(),
                    is_transient: refusal.is_transient(),
                },
            };
            self.events.push_back(Event::Unprepared { run, failure });
        }
    }

    /// A process on its way to the gate says something.
    pub(super) fn at_gate(&mut self, run: RunId) {
        let Some(tended) = self.processes.get(run) else { return };
        let Door::Closed(gate) = &mut tended.gate else { return };
        let failure = match gate.report() {
            Ready::Pending => return,
            Ready::Ready(Report::Ready) => {
                self.poll.remove(gate.fd());
                tended.gate = match std::mem::replace(&mut tended.gate, Door::None) {
                    Door::Closed(gate) => Door::Reached(gate),
                    other => other,
                };
                let (process, user) = (tended.process.clone(), tended.user.clone());
                let begun = tended.begun;
                crash::point("ready");
                return self.events.push_back(Event::Prepared { run, process, user, begun });
            }
            Ready::Ready(Report::Failed(error)) => StartFailure {
                operation: error.step.as_str(),
                message: self.in_full(run, error),
                is_transient: is_transient(error.errno),
            },
            Ready::Ready(Report::Gone) => StartFailure {
                operation: "prepare",
                message: "the process ended while it was being prepared".into(),
                is_transient: true,
            },
        };
        self.processes.abandon(run, &self.poll);
        self.events.push_back(Event::Unprepared { run, failure });
    }

    /// What failed, with the name of what it failed for. Never arguments or
    /// variables, which may hold secrets.
    fn in_full(&self, run: RunId, error: LaunchError) -> String {
        let Some((entry, _, chosen)) = self.engine.run(run) else { return error.to_string() };
        let file = |output: &Output| match output {
            Output::File(path) => Some(path.render(entry.job.zone().local_time(chosen))),
            _ => None,
        };
        let what = match error.step {
            Step::Directory => entry.cwd.as_deref().map(String::from),
            Step::Stdout => file(&entry.stdout),
            Step::Stderr => file(&entry.stderr),
            Step::User | Step::Groups => entry.user.as_deref().map(String::from),
            Step::Group => entry.group.as_deref().or(entry.user.as_deref()).map(String::from),
            Step::Execute => match &entry.command {
                Command::Direct(words) => words.first().cloned(),
                Command::Shell(_) => Some("/bin/sh".into()),
            },
            _ => None,
        };
        match what {
            Some(what) => format!("{error}: `{what}`"),
            None => error.to_string(),
        }
    }

    /// Opens a gate.
    pub(super) fn release(&mut self, run: RunId) {
        crash::point("released");
        let Some(tended) = self.processes.get(run) else { return };
        tended.gate = match std::mem::replace(&mut tended.gate, Door::None) {
            // If it is gone already, we hear that from its end.
            Door::Reached(gate) => gate.release().map_or(Door::None, Door::Open),
            other => other,
        };
        crash::point("started");
    }

    pub(super) fn adopt(&mut self, run: RunId, process: Process) {
        let adopted = match process::find(&process) {
            Ok(Some(pidfd)) => self.processes.adopt(run, process, pidfd, &self.poll),
            Ok(None) => {
                return self.events.push_back(Event::Exited { run, exit: Exit::UNSEEN });
            }
            Err(error) => Err(error),
        };
        if let Err(error) = adopted {
            // Not knowing whether it runs, nobody may say that it does not.
            let what = "watch a process of an earlier daemon";
            let line = self.about(run, crate::failure_line::system(what, &error));
            self.say(&line.with("fatal", true));
            self.end = Some(End::Fatal);
        }
    }

    pub(super) fn process_ended(&mut self, run: RunId) {
        let Some(tended) = self.processes.get(run) else { return };
        self.poll.remove(&tended.pidfd);
        if let Door::Closed(_) = tended.gate {
            // Its last words say why; they may not have been read yet.
            return self.at_gate(run);
        }
        let exit = tended.exit();
        let failure = match &mut tended.gate {
            Door::Open(released) => released.failure(),
            _ => None,
        };
        if let Some(error) = failure {
            // Between the gate and the command: a program replaced in between, or
            // arguments too large.
            let line = Line::new(Level::Error, "error")
                .with("pid", tended.process.pid)
                .with("error_type", "ExecutionError")
                .with("operation", error.step.as_str())
                .with("message", self.in_full(run, error));
            let line = self.about(run, line);
            self.say(&line);
        }
        crash::point("exited");
        self.events.push_back(Event::Exited { run, exit });
    }

    /// Adds what the engine knows of a run to a line.
    fn about(&self, run: RunId, line: Line) -> Line {
        match self.engine.run(run) {
            Some((entry, period, chosen)) => line
                .with("identity", entry.job.identity())
                .with("job", entry.name())
                .with("period_id", period)
                .with("nominal_time", period.nominal())
                .with("chosen_time", chosen),
            None => line,
        }
    }

    /// Sends a signal to the group of a run.
    pub(super) fn send(&mut self, run: RunId, signal: Signal) {
        let Some(tended) = self.processes.get(run) else { return };
        let leader = if tended.is_child { Leader::Child } else { Leader::Other };
        let signal = match signal {
            Signal::Terminate => rustix::process::Signal::TERM,
            Signal::Kill => rustix::process::Signal::KILL,
        };
        let sent = signal_group(&tended.process, tended.pidfd.as_fd(), leader, signal);
        if let Err(error) = sent {
            let line = crate::failure_line::system("signal a process group", &error);
            let line = self.about(run, line);
            self.say(&line);
        }
    }

    /// Has the rest of a group looked for.
    pub(super) fn watch_group(&mut self, run: RunId) {
        let Some(tended) = self.processes.get(run) else { return };
        if tended.is_alone() {
            return self.events.push_back(Event::GroupGone(run));
        }
        self.searcher.ask(Asked { run, process: tended.process.clone(), is_urgent: true });
    }

    /// Somebody has looked.
    pub(super) fn searched(&mut self) {
        for search in self.searcher.mailbox().take() {
            let (run, failure) = match search {
                Search::Failed(run, error) => (run, error),
                Search::Found(run, None) => {
                    self.events.push_back(Event::GroupGone(run));
                    continue;
                }
                Search::Found(run, Some(member)) => {
                    let Some(tended) = self.processes.get(run) else { continue };
                    match self.poll.add(&member, Source::Member(run), Interest::Read) {
                        Ok(()) => {
                            tended.member = Some(member);
                            continue;
                        }
                        Err(error) => {
                            let process = tended.process.clone();
                            self.searcher.ask(Asked { run, process, is_urgent: false });
                            (run, error)
                        }
                    }
                }
            };
            let line =
                crate::failure_line::system("look for the rest of a process group", &failure);
            let line = self.about(run, line);
            self.say(&line);
        }
    }

    /// The one of a group that was waited for has ended: who is left?
    pub(super) fn member_ended(&mut self, run: RunId) {
        if self.processes.get(run).is_some_and(|tended| tended.member.take().is_some()) {
            self.watch_group(run);
        }
    }
}

/// Who a process becomes that is not to be what we are: `user` or `user:group`.
fn becomes(entry: &Entry) -> Option<Box<str>> {
    if !kron_host::places::is_system() {
        return None;
    }
    let user = entry.user.as_deref().unwrap_or("root");
    match entry.group.as_deref() {
        Some(group) => Some(format!("{user}:{group}").into()),
        None if user == "root" => None,
        None => Some(user.into()),
    }
}

/// The process of an entry, with what every job gets.
fn plan(entry: &Entry, surroundings: &Surroundings) -> Result<Plan, launch::PlanError> {
    let mut daemon = launch::Daemon::here();
    daemon.nofile = surroundings.nofile;
    let mut plan = Plan::of(entry, daemon)?;
    if let (None, Some(most)) = (entry.limits.nofile, surroundings.limit_nofile) {
        plan.limits.push(Limit::Nofile(most));
    }
    if let (None, Some(most)) = (entry.limits.nproc, surroundings.limit_nproc) {
        plan.limits.push(Limit::Nproc(most));
    }
    Ok(plan)
}
