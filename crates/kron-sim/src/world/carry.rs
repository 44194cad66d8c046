//! What the engine wants done with processes and the disk.

use super::process::{Habits, Preparation, Process};
use super::{Run, Todo, Told, World};
use crate::fact::{Fact, Recorded};
use crate::law::{Breach, Law};
use crate::rng::Rng;
use crate::scenario::{Change, Definition, Happening};
use core::time::Duration;
use kron_core::Outcome;
use kron_engine::commit::{Batch, Snapshot};
use kron_engine::event::{Exit, RunId, Signal, StartFailure};
use kron_engine::{event, kept, state};
use std::rc::Rc;

const SOON: Duration = Duration::from_millis(1);

impl World<'_> {
    pub(super) fn prepare(&mut self, wanted: event::Preparation) -> Result<(), Breach> {
        let event::Preparation { run, job, period, chosen } = wanted;
        let entry = self.engine.as_ref().and_then(|engine| engine.entry(job));
        let Some(entry) = entry else {
            let what = format!("a process for a job that is not there (run {})", run.0);
            return Err(Breach { law: Law::Protocol, what });
        };
        let identity: Rc<str> = entry.job.identity().as_str().into();
        self.figures.attempts += 1;
        let seed = self.scenario.seed;
        let subject = [Rng::number(&identity), period.nominal().unix_seconds() as u64];
        let mut rng = Rng::of(seed, &[5, subject[0], subject[1], self.clock.now().as_secs()]);
        let known =
            Run { identity: Rc::clone(&identity), period, process: None, is_watched: false };
        self.runs.insert(run, known);
        self.note(Fact::Prepare { run, identity: Rc::clone(&identity), period, chosen })?;
        self.disturb(&identity, &subject);
        match Preparation::draw(&mut rng) {
            Preparation::Hangs => {}
            Preparation::Fails { after, is_transient } => {
                let message = if is_transient { "try again" } else { "no such command" };
                let message = message.to_string();
                let failure = StartFailure { operation: "exec", message, is_transient };
                self.tell_later(after, Told::NotMade(run, failure));
            }
            plan @ (Preparation::Ready(after) | Preparation::DiesAtGate(after)) => {
                let number = self.next_process;
                self.next_process += 1;
                let process = Process {
                    identity,
                    pid: self.next_pid,
                    boot: self.boot,
                    ticks: self.clock.moment().uptime.as_millis() as u64 / 10,
                    made: self.clock.now(),
                    is_released: false,
                    is_ended: false,
                    is_adopted: false,
                    habits: Habits::draw(&mut rng),
                    turn: 0,
                    stuck_until: None,
                    group_gone: None,
                };
                self.next_pid += 1;
                self.processes.insert(number, process);
                if let Some(run) = self.runs.get_mut(&run) {
                    run.process = Some(number);
                }
                self.tell_later(after, Told::AtGate(run, number));
                if matches!(plan, Preparation::DiesAtGate(_)) {
                    self.later(after + SOON, Todo::Exit(number, 0));
                }
            }
        }
        Ok(())
    }

    /// Sometimes the daemon does not run while a process is prepared, the clock is set, or the
    /// job is edited.
    fn disturb(&mut self, identity: &str, subject: &[u64; 2]) {
        let now = self.clock.now().as_secs();
        let mut rng = Rng::of(self.scenario.seed, &[11, subject[0], subject[1], now]);
        // What is tried again at once is not disturbed again.
        let is_again = self.disturbed_at == Some(now);
        if is_again || rng.below(1000) >= self.scenario.disturbed {
            return;
        }
        self.disturbed_at = Some(now);
        let after = Duration::from_micros(rng.below(15_000));
        let length = rng.length(Duration::from_secs(1), Duration::from_secs(600));
        let name = crate::fact::short(identity);
        let known = self.config.iter().find(|known| known.name == name).cloned();
        let happening = match (rng.below(10), known) {
            (0..2, Some(known)) => {
                let timeout = Some(Duration::from_secs(10) + length);
                let change = Change::Put(Definition { timeout, ..(*known).clone() });
                Happening::Edit { change, reload: true }
            }
            (0..7, _) => Happening::Absent { length, machine: false },
            (7..9, _) => Happening::Absent { length, machine: true },
            _ => Happening::SetClock(length.as_millis() as i64 * rng.pick(&[1, -1])),
        };
        self.later(after, Todo::Happen(happening));
    }

    pub(super) fn commit(&mut self, batch: &Batch) -> Result<(), Breach> {
        if !self.in_flight.is_empty() {
            let what = "a batch before the answer to the last".into();
            return Err(Breach { law: Law::Protocol, what });
        }
        self.figures.commits += 1;
        self.note(Fact::Commit(batch.jobs.iter().flat_map(outcomes).collect()))?;
        let (ops, contents) = self.disk.operations(batch, self.scenario.history);
        self.unanswered.extend(contents);
        let mut rng = Rng::of(self.scenario.seed, &[6, self.told]);
        let took = if rng.percent(10) {
            rng.length(Duration::from_millis(5), Duration::from_secs(20))
        } else {
            Duration::from_micros(rng.below(5000))
        };
        if rng.percent(50) {
            self.in_flight = ops;
            self.tell_later(took, Told::Durable);
            return Ok(());
        }
        for op in ops {
            if self.step(true)? {
                return Ok(());
            }
            self.disk.apply(op);
        }
        self.tell_later(took, Told::Committed);
        Ok(())
    }

    pub(super) fn release(&mut self, run: RunId) -> Result<(), Breach> {
        let Some(Run { identity, period, process: Some(number), .. }) = self.runs.get(&run) else {
            let what = format!("a gate is opened where nobody stands (run {})", run.0);
            return Err(Breach { law: Law::Protocol, what });
        };
        let (identity, period, number) = (Rc::clone(identity), *period, *number);
        let Some(process) = self.processes.get_mut(&number) else { return Ok(()) };
        let id = kron_core::Identity::new(&identity).ok();
        let kept = id.zip(self.disk.read_durable(&identity));
        let kept = kept.and_then(|(id, bytes)| state::decode(bytes, &id).ok());
        let is_it =
            |active: &kept::Active| active.period == period && active.process == process.kept();
        // What somebody did to the file since then is another matter.
        let durable = self.disk.is_meddled(&identity)
            || kept.is_some_and(|kept| kept.active.iter().any(is_it));
        let is_dead = process.is_ended;
        process.is_released = !is_dead;
        let runs = process.habits.runs;
        self.figures.runs += 1;
        self.note(Fact::Released { run, process: number, durable })?;
        if is_dead {
            return self.note(Fact::Ended { process: number });
        }
        self.arrange_exit(number, runs);
        Ok(())
    }

    fn arrange_exit(&mut self, number: u64, after: Duration) {
        if let Some(process) = self.processes.get_mut(&number) {
            process.turn += 1;
            let turn = process.turn;
            self.later(after, Todo::Exit(number, turn));
        }
    }

    pub(super) fn exit(&mut self, number: u64, turn: u32) -> Result<(), Breach> {
        let now = self.clock.now();
        let Some(process) = self.processes.get_mut(&number) else { return Ok(()) };
        if process.is_ended || process.turn != turn {
            return Ok(());
        }
        process.is_ended = true;
        process.group_gone = Some(now + process.habits.rest);
        let exit = if process.is_adopted {
            Exit::UNSEEN
        } else {
            let code = process.habits.code;
            Exit { code: Some(code), signal: Some(code - 128).filter(|s| (1..65).contains(s)) }
        };
        if process.is_released {
            self.note(Fact::Ended { process: number })?;
        }
        let run = self.runs.iter().find(|(_, run)| run.process == Some(number));
        if let Some((run, _)) = run {
            let run = *run;
            self.tell_later(Duration::from_micros(50), Told::Exited(run, exit));
        }
        Ok(())
    }

    pub(super) fn adopt(&mut self, run: RunId, wanted: &kept::Process) -> Result<(), Breach> {
        let found = self.processes.iter_mut().find(|(_, known)| known.kept() == *wanted);
        let Some((number, process)) = found.filter(|(_, process)| !process.is_ended) else {
            self.tell_later(Duration::ZERO, Told::Exited(run, Exit::UNSEEN));
            return Ok(());
        };
        process.is_adopted = true;
        let (number, identity) = (*number, Rc::clone(&process.identity));
        let period = self.engine.as_ref().and_then(|engine| engine.run(run)).map(|(_, p, _)| p);
        let Some(period) = period else { return Ok(()) };
        let known = Run { identity, period, process: Some(number), is_watched: false };
        self.runs.insert(run, known);
        self.figures.adoptions += 1;
        self.note(Fact::Adopted { run, process: number })
    }

    pub(super) fn signal(&mut self, run: RunId, signal: Signal) -> Result<(), Breach> {
        self.note(Fact::Signalled { run, kill: signal == Signal::Kill })?;
        let now = self.clock.now();
        let Some(Run { process: Some(number), is_watched, .. }) = self.runs.get(&run) else {
            return Ok(());
        };
        let (number, is_watched) = (*number, *is_watched);
        let Some(process) = self.processes.get_mut(&number) else { return Ok(()) };
        let is_kill = signal == Signal::Kill;
        if !is_kill && process.habits.is_deaf {
            return Ok(());
        }
        if is_kill {
            process.habits.rest = Duration::ZERO;
        }
        if process.is_ended {
            if is_kill {
                process.group_gone = Some(now);
                if is_watched {
                    self.tell_later(Duration::ZERO, Told::GroupGone(run));
                }
            }
            return Ok(());
        }
        process.habits.code = if is_kill { 137 } else { 143 };
        // What is stuck in the kernel gets the signal when it comes out.
        let stuck_until = *process.stuck_until.get_or_insert(now + process.habits.stuck);
        let mut rng = Rng::of(self.scenario.seed, &[7, number]);
        let after = if is_kill { SOON } else { rng.length(SOON, Duration::from_secs(3)) };
        self.arrange_exit(number, after + stuck_until.saturating_sub(now));
        Ok(())
    }

    pub(super) fn watch_group(&mut self, run: RunId) {
        let Some(known) = self.runs.get_mut(&run) else { return };
        known.is_watched = true;
        let process = known.process.and_then(|number| self.processes.get(&number));
        let gone = process.map_or(Some(Duration::ZERO), |process| process.group_gone);
        if let Some(gone) = gone {
            self.at(gone, Todo::Tell(self.life, Told::GroupGone(run)));
        }
    }
}

/// The outcomes that a snapshot records.
fn outcomes(snapshot: &Snapshot) -> Vec<Recorded> {
    let identity: Rc<str> = snapshot.identity.as_str().into();
    let of = |period, outcome| Recorded { identity: Rc::clone(&identity), period, outcome };
    let finished = snapshot.finished.iter().map(|entry| of(entry.period, entry.outcome));
    let active = snapshot.kept.active.iter().map(|active| of(active.period, Outcome::Executed));
    finished.chain(active).collect()
}
