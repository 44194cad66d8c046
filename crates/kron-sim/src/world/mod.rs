//! The false world: clocks, disk, processes and a daemon around the real engine.
//!
//! Time does not tick; it jumps to whatever is next. Everything that happens is
//! told to the checker as a [`Fact`], and to whoever reads the trace.

mod carry;
mod clock;
mod configure;
pub mod disk;
mod happen;
pub mod process;

use crate::check::Checker;
use crate::fact::{Fact, Time};
use crate::figures::Figures;
use crate::law::Breach;
use crate::rng::Rng;
use crate::scenario::{Crash, Definition, Happening, Scenario};
use clock::Clock;
use core::cmp::Reverse;
use core::time::Duration;
use disk::{Disk, Op};
use kron_core::{PeriodId, UtcInstant, Zones};
use kron_engine::Engine;
use kron_engine::event::{Effect, Enrolment, Event, Exit, RunId, Shutdown, StartFailure};
use process::Process;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;

/// What reads along.
pub type Reader<'a> = dyn FnMut(Time, &Fact) + 'a;

/// What is under way outside the engine.
#[derive(Debug)]
enum Todo {
    /// The daemon of this life is to hear something.
    Tell(u32, Told),
    /// A process ends, if this is still its turn.
    Exit(u64, u32),
    /// Something happens that nobody has planned.
    Happen(Happening),
}

/// What a daemon hears.
#[derive(Debug)]
enum Told {
    Tick,
    AtGate(RunId, u64),
    NotMade(RunId, StartFailure),
    Durable,
    Committed,
    Exited(RunId, Exit),
    GroupGone(RunId),
    Read(Vec<Enrolment>, Vec<Rc<Definition>>, Vec<Fact>),
    Shutdown(Shutdown),
}

struct Run {
    identity: Rc<str>,
    period: PeriodId,
    process: Option<u64>,
    is_watched: bool,
}

/// A crash that is to come.
#[derive(Clone, Copy, Debug)]
struct Armed {
    how: Crash,
    steps: u32,
    down: Duration,
}

/// A world.
pub struct World<'a> {
    scenario: &'a Scenario,
    zones: &'a mut Zones,
    reader: Option<&'a mut Reader<'a>>,
    checker: Checker,
    /// What happened, in numbers.
    pub figures: Figures,
    clock: Clock,
    disk: Disk,
    processes: BTreeMap<u64, Process>,
    next_process: u64,
    next_pid: u32,
    boot: u32,
    todo: BinaryHeap<Reverse<(Duration, u64, Slot)>>,
    told: u64,
    happened: usize,
    // The daemon.
    engine: Option<Engine>,
    /// Which daemon it is.
    life: u32,
    runs: BTreeMap<RunId, Run>,
    /// When it wants to be woken: wall, uptime, and how late it is.
    wake: (Option<UtcInstant>, Option<Duration>, Duration),
    absent_until: Duration,
    in_flight: Vec<Op>,
    /// Files of a commit that was never answered.
    unanswered: BTreeMap<String, Vec<u8>>,
    /// Files of one whose answer is being dealt with.
    answered: BTreeMap<String, Vec<u8>>,
    restart_at: Option<Duration>,
    restart_after: Duration,
    /// When it was disturbed last, in seconds.
    disturbed_at: Option<u64>,
    armed: Option<Armed>,
    /// One that is to come while the disk is looked at.
    ambush: Option<Armed>,
    // The configuration.
    config: Vec<Rc<Definition>>,
    is_broken: bool,
    is_reading: bool,
    is_wanted: bool,
}

/// A todo in the heap; only its place in time matters there.
#[derive(Debug)]
struct Slot(Todo);

impl PartialEq for Slot {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for Slot {}
impl PartialOrd for Slot {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Slot {
    fn cmp(&self, _: &Self) -> core::cmp::Ordering {
        core::cmp::Ordering::Equal
    }
}

impl<'a> World<'a> {
    /// A world before its beginning.
    #[must_use]
    pub fn new(
        scenario: &'a Scenario,
        zones: &'a mut Zones,
        reader: Option<&'a mut Reader<'a>>,
    ) -> Self {
        Self {
            scenario,
            zones,
            reader,
            checker: Checker::new(scenario.settings),
            figures: Figures::default(),
            clock: Clock::new(scenario.begin),
            disk: Disk::default(),
            processes: BTreeMap::new(),
            next_process: 1,
            next_pid: 100,
            boot: 1,
            todo: BinaryHeap::new(),
            told: 0,
            happened: 0,
            engine: None,
            life: 0,
            runs: BTreeMap::new(),
            wake: (None, None, Duration::ZERO),
            absent_until: Duration::ZERO,
            in_flight: Vec::new(),
            unanswered: BTreeMap::new(),
            answered: BTreeMap::new(),
            restart_at: Some(Duration::ZERO),
            restart_after: Duration::from_secs(1),
            disturbed_at: None,
            armed: None,
            ambush: None,
            config: scenario.jobs.iter().cloned().map(Rc::new).collect(),
            is_broken: false,
            is_reading: false,
            is_wanted: false,
        }
    }

    /// Lets it all happen.
    ///
    /// # Errors
    /// With the first law that was broken.
    pub fn run(mut self) -> (Figures, Result<(), Breach>) {
        let result = self.go_on().and_then(|()| self.checker.finish(self.time(), self.zones));
        self.figures.periods += self.checker.periods();
        let years = self.scenario.length.as_secs_f64() / (365.25 * 86_400.0);
        self.figures.job_years += years * self.scenario.jobs.len() as f64;
        self.figures.seeds += 1;
        (self.figures, result)
    }

    fn go_on(&mut self) -> Result<(), Breach> {
        loop {
            let tick = self.tick_at();
            let todo = self.todo.peek().map(|Reverse((at, _, _))| *at);
            let happening = self.scenario.happenings.get(self.happened).map(|(at, _)| *at);
            let nexts = [tick, todo, happening, self.restart_at];
            let Some(next) = nexts.into_iter().flatten().min() else { return Ok(()) };
            let next = next.max(self.clock.asleep_until()).max(self.clock.now());
            if next > self.scenario.length {
                return Ok(());
            }
            self.clock.pass_to(next);
            let due = |at: Option<Duration>| at.is_some_and(|at| at <= next);
            // Of what comes at once, the daemon may hear either first.
            let tick_first = Rng::of(self.scenario.seed, &[2, self.told]).percent(50);
            if due(self.restart_at) {
                self.restart_at = None;
                self.start()?;
            } else if due(happening) {
                self.happened += 1;
                self.happen(self.scenario.happenings[self.happened - 1].1.clone())?;
            } else if due(tick) && (tick_first || !due(todo)) {
                self.figures.wakes += 1;
                self.tell(Told::Tick)?;
            } else if let Some(Reverse((_, _, Slot(todo)))) = self.todo.pop() {
                self.do_now(todo)?;
            }
        }
    }

    /// When the daemon wakes up by itself.
    fn tick_at(&self) -> Option<Duration> {
        self.engine.as_ref()?;
        let (wall, uptime, late) = self.wake;
        let at = [wall.map(|at| self.clock.when(at)), uptime.map(|at| self.clock.when_up(at))];
        let at = at.into_iter().flatten().min()?.saturating_add(late);
        Some(at.max(self.absent_until).max(self.clock.now()))
    }

    fn time(&self) -> Time {
        Time { true_time: self.clock.now(), awake: self.clock.awake(), wall: self.clock.wall() }
    }

    /// Tells whoever wants to know.
    fn note(&mut self, fact: Fact) -> Result<(), Breach> {
        let time = self.time();
        if let Some(reader) = &mut self.reader {
            reader(time, &fact);
        }
        self.checker.note(time, fact, self.zones)
    }

    fn later(&mut self, after: Duration, todo: Todo) {
        self.at(self.clock.now() + after, todo);
    }

    fn at(&mut self, at: Duration, todo: Todo) {
        self.told += 1;
        self.todo.push(Reverse((at.max(self.clock.now()), self.told, Slot(todo))));
    }

    fn tell_later(&mut self, after: Duration, told: Told) {
        self.later(after, Todo::Tell(self.life, told));
    }

    fn do_now(&mut self, todo: Todo) -> Result<(), Breach> {
        match todo {
            Todo::Tell(life, _) if life != self.life || self.engine.is_none() => Ok(()),
            Todo::Tell(life, told) if self.clock.now() < self.absent_until => {
                self.at(self.absent_until, Todo::Tell(life, told));
                Ok(())
            }
            Todo::Tell(_, told) => self.tell(told),
            Todo::Exit(process, turn) => self.exit(process, turn),
            Todo::Happen(happening) => self.happen(happening),
        }
    }

    /// Something reaches the daemon.
    fn tell(&mut self, told: Told) -> Result<(), Breach> {
        if self.step(false)? {
            return Ok(());
        }
        let event = match told {
            Told::Tick => Event::Tick,
            Told::AtGate(run, process) => {
                let Some(known) = self.processes.get(&process) else { return Ok(()) };
                let event = Event::Prepared {
                    run,
                    process: known.kept(),
                    user: None,
                    begun: Duration::ZERO,
                };
                self.note(Fact::AtGate { run })?;
                event
            }
            Told::NotMade(run, failure) => {
                self.note(Fact::NotMade { run })?;
                Event::Unprepared { run, failure }
            }
            Told::Durable => {
                for op in core::mem::take(&mut self.in_flight) {
                    if self.step(true)? {
                        return Ok(());
                    }
                    self.disk.apply(op);
                }
                self.at(self.clock.now(), Todo::Tell(self.life, Told::Committed));
                return Ok(());
            }
            Told::Committed => {
                self.note(Fact::Committed)?;
                // Answered only when everything that waits for it is done.
                self.answered = core::mem::take(&mut self.unanswered);
                self.handle(Event::Committed, Vec::new())?;
                self.answered.clear();
                return Ok(());
            }
            Told::Exited(run, exit) => Event::Exited { run, exit },
            Told::GroupGone(run) => Event::GroupGone(run),
            Told::Read(enrolments, defined, facts) => {
                return self.configuration_read(enrolments, defined, facts);
            }
            Told::Shutdown(how) => {
                return self.handle(Event::Shutdown(how), vec![Fact::Shutdown(how)]);
            }
        };
        self.handle(event, Vec::new())
    }

    /// The engine hears an event, and what it wants is done. `news` is what the
    /// event means, for the checker.
    fn handle(&mut self, event: Event, news: Vec<Fact>) -> Result<(), Breach> {
        let Some(engine) = &mut self.engine else { return Ok(()) };
        let what = match event {
            Event::Tick => "tick",
            Event::Prepared { .. } => "prepared",
            Event::Unprepared { .. } => "unprepared",
            Event::Committed => "committed",
            Event::Exited { .. } => "exited",
            Event::GroupGone(_) => "group gone",
            Event::Reload(_) => "reload",
            Event::Reset(_) => "reset",
            Event::Shutdown(_) => "shutdown",
        };
        let planned = self.wake.0;
        let overdue = self.clock.since_up(self.wake.1);
        let mut effects = Vec::new();
        engine.handle(event, self.clock.moment(), &mut effects);
        self.figures.events += 1;
        self.note(Fact::Heard { what, planned, overdue, idle: effects.is_empty() })?;
        for fact in news {
            if let Fact::LookedUp { identity, .. } = &fact {
                // It is told of; a daemon that dies before that leaves it to the next.
                self.unanswered.remove(&**identity);
            }
            self.note(fact)?;
        }
        for effect in effects {
            if self.engine.is_none() || self.step(false)? {
                return Ok(());
            }
            self.carry_out(effect)?;
        }
        self.plan_wake();
        Ok(())
    }

    fn plan_wake(&mut self) {
        let Some(engine) = &mut self.engine else { return };
        let (wall, uptime) = engine.next_wake();
        if (self.wake.0, self.wake.1) == (wall, uptime) {
            let at = [wall.map(|at| self.clock.when(at)), uptime.map(|at| self.clock.when_up(at))];
            if at.into_iter().flatten().any(|at| at <= self.clock.now()) {
                // It was woken for this, and asks for it again.
                self.wake.2 = Duration::ZERO;
            }
        } else {
            let mut rng = Rng::of(self.scenario.seed, &[3, self.told]);
            // Often on the dot, seldom late for good.
            let most = match rng.below(100) {
                0..3 => 1_500_000,
                3..40 => 1,
                _ => 3000,
            };
            self.wake = (wall, uptime, Duration::from_micros(rng.below(most)));
        }
    }

    /// One more thing is about to be done. Returns whether somebody dies first.
    fn step(&mut self, on_disk: bool) -> Result<bool, Breach> {
        let Some(armed) = &mut self.armed else { return Ok(false) };
        if armed.how == Crash::Disk && !on_disk {
            return Ok(false);
        }
        if armed.steps > 0 {
            armed.steps -= 1;
            return Ok(false);
        }
        let armed = *armed;
        self.armed = None;
        self.crash(armed)
    }

    /// Somebody dies.
    fn crash(&mut self, Armed { how, down, .. }: Armed) -> Result<bool, Breach> {
        self.figures.crashes += 1;
        match how {
            Crash::Kill => {}
            Crash::Disk => self.figures.commits_failed += 1,
            Crash::Reboot => self.figures.reboots += 1,
        }
        self.die(how == Crash::Reboot, false)?;
        self.restart_at = Some(self.clock.now() + down);
        Ok(true)
    }

    /// The daemon is gone, and with it what waits at gates.
    fn die(&mut self, reboot: bool, stopped: bool) -> Result<(), Breach> {
        self.engine = None;
        self.life += 1;
        self.runs.clear();
        self.in_flight.clear();
        for (name, bytes) in core::mem::take(&mut self.answered) {
            if !stopped {
                self.unanswered.entry(name).or_insert(bytes);
            }
        }
        self.wake = (None, None, Duration::ZERO);
        self.absent_until = Duration::ZERO;
        self.ambush = None;
        (self.is_reading, self.is_wanted) = (false, false);
        self.processes.retain(|_, process| process.is_released);
        if reboot {
            for (number, process) in core::mem::take(&mut self.processes) {
                if !process.is_ended {
                    self.note(Fact::Ended { process: number })?;
                }
            }
            let mut rng = Rng::of(self.scenario.seed, &[4, u64::from(self.boot)]);
            self.disk.power_fails(&mut rng);
            self.boot += 1;
            self.next_pid = 100;
            self.clock.boot();
        }
        self.note(Fact::Gone { stopped, reboot })
    }

    fn carry_out(&mut self, effect: Effect) -> Result<(), Breach> {
        match effect {
            Effect::Log(line) => self.note(Fact::Said(line)),
            Effect::Plan(job, period) => {
                let line = self.engine.as_ref().and_then(|engine| engine.plan(job, period));
                line.map_or(Ok(()), |line| self.note(Fact::Said(line)))
            }
            Effect::Prepare(preparation) => self.prepare(preparation),
            Effect::Commit(batch) => self.commit(&batch),
            Effect::Release(run) => self.release(run),
            Effect::Abandon(run) => {
                self.note(Fact::Abandoned { run })?;
                let known = self.runs.remove(&run).and_then(|run| run.process);
                if let Some(process) = known {
                    self.processes.remove(&process);
                }
                Ok(())
            }
            Effect::Adopt(run, process) => self.adopt(run, &process),
            Effect::Signal(run, signal) => self.signal(run, signal),
            Effect::WatchGroup(run) => {
                self.watch_group(run);
                Ok(())
            }
            Effect::Forget(run) => {
                self.runs.remove(&run);
                self.note(Fact::Forgotten { run })
            }
            Effect::Reloaded(_) => self.note(Fact::Confirmed),
            Effect::ResetDone => Ok(()),
            Effect::Stop => {
                self.restart_at = Some(self.clock.now() + self.restart_after);
                self.figures.shutdowns += 1;
                self.die(false, true)
            }
        }
    }
}
