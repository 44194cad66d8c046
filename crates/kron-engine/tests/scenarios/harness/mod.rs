//! Drives the engine with a false clock, false processes and a false store.
//!
//! A scenario is two texts: what is set up and what happens when, and the
//! effects that are expected, at their times. See [`script`] for the words.
#![allow(dead_code, reason = "each test file uses its own part")]

pub mod laws;
pub mod process;
pub mod script;
pub mod store;

use core::time::Duration;
use kron_core::line::{Level, Line};
use kron_core::{Concurrency, PeriodId, UtcInstant, UtcSecond, Zones};
use kron_engine::Engine;
use kron_engine::commit::{Batch, RosterLine};
use kron_engine::event::{
    Effect, Enrolment, Event, Exit, JobKey, Moment, Preparation, RunId, Signal, StartFailure,
};
use kron_engine::kept::Process;
use kron_engine::settings::{PREPARING, Settings};
use laws::Laws;
use process::{Behaviour, FalseProcess};
use std::collections::BTreeMap;
use store::Store;

pub const PATH: &str = "/etc/krond.d/test.kron";
/// Times without a date are of this day, a Monday.
pub const DAY: &str = "2026-03-02T";

pub fn duration(text: &str) -> Duration {
    kron_core::time::duration::parse(text).unwrap_or_else(|e| panic!("{text}: {e:?}"))
}

/// `10:00:05`, or with a date in front.
pub fn instant(text: &str) -> UtcInstant {
    let text = if text.contains('T') { text.to_string() } else { format!("{DAY}{text}Z") };
    text.parse().unwrap_or_else(|e| panic!("{text}: {e:?}"))
}

/// A time without what goes without saying.
fn brief(text: &str) -> &str {
    text.strip_prefix(DAY).unwrap_or(text).trim_end_matches('Z')
}

fn brief_period(text: &str) -> &str {
    let text = brief(text);
    text.strip_suffix(":00").unwrap_or(text)
}

/// Where the daemon may be made to die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    Prepare,
    Ready,
    Commit,
    Durable,
    Release,
    Exit,
    /// At the so-manieth step of whatever kind.
    Step(usize),
}

/// What is under way outside the engine.
#[derive(Clone, Debug)]
enum Todo {
    Ready(RunId, u32),
    Fail(RunId, bool),
    Durable,
    Committed,
    /// A batch becomes durable that was said to be.
    Late,
    Exit(u32),
    Gone(RunId, u32),
}

struct RunInfo {
    identity: String,
    job: String,
    period: PeriodId,
    chosen: UtcSecond,
    pid: Option<u32>,
}

pub struct World {
    pub entries: BTreeMap<String, String>,
    pub behaviours: BTreeMap<String, Behaviour>,
    pub settings: Settings,
    pub commit_takes: Duration,
    pub wall: UtcInstant,
    pub uptime: Duration,
    pub store: Store,
    pub laws: Laws,
    pub log: Vec<String>,
    pub lines: Vec<(UtcInstant, Line)>,
    pub shows_commits: bool,
    pub commits: usize,
    pub crash_at: Option<Point>,
    /// Whether starts are said to be durable before they are: a daemon that is wrong,
    /// to see that it is caught.
    pub records_late: bool,
    pub steps: usize,
    pub idle_ticks: usize,
    pub stopped: bool,
    pub zones: Zones,
    engine: Option<Engine>,
    processes: BTreeMap<u32, FalseProcess>,
    next_pid: u32,
    runs: BTreeMap<RunId, RunInfo>,
    todo: Vec<(Duration, Todo)>,
    in_flight: Option<Box<Batch>>,
    late: Vec<Batch>,
    /// Jobs that must be durable before the daemon is ready.
    not_ready: Vec<String>,
}

impl World {
    pub fn new(wall: UtcInstant) -> Self {
        Self {
            entries: BTreeMap::new(),
            behaviours: BTreeMap::new(),
            settings: Settings::default(),
            commit_takes: Duration::ZERO,
            wall,
            uptime: Duration::from_secs(1000),
            store: Store::default(),
            laws: Laws::default(),
            log: Vec::new(),
            lines: Vec::new(),
            shows_commits: false,
            commits: 0,
            crash_at: None,
            records_late: false,
            steps: 0,
            idle_ticks: 0,
            stopped: false,
            zones: Zones::bundled(),
            engine: None,
            processes: BTreeMap::new(),
            next_pid: 100,
            runs: BTreeMap::new(),
            todo: Vec::new(),
            in_flight: None,
            late: Vec::new(),
            not_ready: Vec::new(),
        }
    }

    pub fn is_up(&self) -> bool {
        self.engine.is_some()
    }

    pub fn engine(&mut self) -> &mut Engine {
        self.engine.as_mut().expect("the daemon runs")
    }

    pub fn key(&mut self, job: &str) -> JobKey {
        self.engine().find(job)[0]
    }

    fn moment(&self) -> Moment {
        Moment { now: self.wall, uptime: self.uptime }
    }

    pub fn say(&mut self, what: impl AsRef<str>) {
        let at = self.wall.to_string();
        self.log.push(format!("{} {}", brief(&at), what.as_ref()));
    }

    // ── The daemon ──────────────────────────────────────────────────────────

    fn enrolments(&mut self) -> Vec<Enrolment> {
        let lines: Vec<&str> = self.entries.values().map(String::as_str).collect();
        let text = lines.join("\n") + "\n";
        let tab = kron_tab::read(PATH, text.as_bytes(), &mut self.zones);
        assert!(tab.problems.is_empty(), "{:?}\n{text}", tab.problems);
        let enrol = |entry: kron_tab::Entry| {
            let found = self.store.found(entry.job.identity());
            let active = found.kept.as_ref().map_or(&[][..], |kept| &kept.active);
            let living = |pid: u32| self.processes.get(&pid).filter(|p| p.ended.is_none());
            let age = |process: &FalseProcess| self.uptime.saturating_sub(process.begun);
            let alive = active.iter().map(|active| living(active.process.pid).map(age)).collect();
            Enrolment { entry, found, alive }
        };
        tab.entries.into_iter().map(enrol).collect()
    }

    pub fn start(&mut self) {
        assert!(self.engine.is_none(), "it runs already");
        self.not_ready = self.entries.keys().cloned().collect();
        self.stopped = false;
        // The store's part: whoever is not configured at a start is gone.
        for (identity, known) in &mut self.store.roster {
            let name = identity.as_str().rsplit(':').next().unwrap_or_default();
            if !self.entries.contains_key(name) && !known.gone {
                known.seen = known.departed(self.wall).or(known.seen);
                known.gone = true;
            }
        }
        self.engine = Some(Engine::new(self.settings, Zones::bundled(), self.moment()));
        self.reload();
    }

    pub fn reload(&mut self) {
        let enrolments = self.enrolments();
        self.send(Event::Reload(enrolments));
    }

    /// kill -9: what is not durable is lost, what waits at the gate dies.
    pub fn crash(&mut self) {
        self.engine = None;
        self.in_flight = None;
        self.late.clear();
        self.crash_at = None;
        self.runs.clear();
        self.processes.retain(|_, process| process.is_released);
        self.todo.retain(|(_, todo)| matches!(todo, Todo::Exit(_)));
    }

    fn crashes(&mut self, point: Point) -> bool {
        let is_it = self.crash_at == Some(point);
        if is_it {
            self.say("crash");
            self.crash();
        }
        is_it
    }

    fn step_crashes(&mut self) -> bool {
        self.steps += 1;
        self.crashes(Point::Step(self.steps))
    }

    pub fn send(&mut self, event: Event) {
        let moment = self.moment();
        let mut effects = Vec::new();
        self.engine().handle(event, moment, &mut effects);
        for effect in effects {
            if self.engine.is_none() || self.step_crashes() {
                return;
            }
            self.carry_out(effect);
        }
    }

    // ── Time ────────────────────────────────────────────────────────────────

    /// The clock on the wall is set; the daemon's timer tells it.
    pub fn set_clock(&mut self, to: UtcInstant) {
        self.wall = to;
        if self.engine.is_some() {
            self.send(Event::Tick);
        }
    }

    /// Nobody runs for a while, then everything that has come up arrives.
    pub fn stall(&mut self, by: Duration) {
        self.uptime += by;
        self.wall = self.wall.saturating_add(by);
        if self.engine.is_some() {
            self.send(Event::Tick);
        }
    }

    /// As [`stall`](Self::stall), but other events are heard before the timer's.
    pub fn stall_quietly(&mut self, by: Duration) {
        self.uptime += by;
        self.wall = self.wall.saturating_add(by);
    }

    fn pass(&mut self, by: Duration) {
        self.uptime += by;
        self.wall = self.wall.saturating_add(by);
    }

    pub fn until(&mut self, wall: UtcInstant) {
        let by = wall.since(self.wall).unwrap_or_else(|| {
            panic!("{wall} is before {}", self.wall);
        });
        self.run_for(by);
    }

    pub fn run_for(&mut self, by: Duration) {
        let end = self.uptime + by;
        let mut rounds = 0_u32;
        let mut at = self.uptime;
        loop {
            // Progress: no instant is busy for ever.
            if self.uptime > at {
                (at, rounds) = (self.uptime, 0);
            }
            rounds += 1;
            assert!(rounds < 5_000, "busy at {}: {:#?}", self.wall, self.log.last());
            let tick = self.next_tick();
            let todo = self.todo.iter().map(|(at, _)| (*at).max(self.uptime)).min();
            let Some(next) = [tick, todo].into_iter().flatten().min().filter(|at| *at <= end)
            else {
                break;
            };
            self.pass(next.saturating_sub(self.uptime));
            if todo == Some(next) {
                self.do_next();
            } else {
                self.tick();
            }
        }
        self.pass(end.saturating_sub(self.uptime));
    }

    fn tick(&mut self) {
        let done = |world: &Self| world.lines.len() + world.log.len() + world.commits;
        let before = done(self);
        self.send(Event::Tick);
        if done(self) == before && self.engine.is_some() {
            self.idle_ticks += 1;
            if std::env::var("KRON_IDLE").is_ok() {
                self.say("idle tick");
            }
        }
        if let Some(next) = self.next_tick() {
            assert!(next > self.uptime, "{}: asks for {next:?} again", self.wall);
        }
    }

    /// When the engine wants to be woken up, on the uptime.
    fn next_tick(&mut self) -> Option<Duration> {
        let (wall, uptime) = self.engine.as_mut()?.next_wake();
        let wall = wall.map(|at| self.uptime + at.since(self.wall).unwrap_or_default());
        let uptime = uptime.map(|at| at.max(self.uptime));
        [wall, uptime].into_iter().flatten().min()
    }

    // ── What happens outside ────────────────────────────────────────────────

    fn later(&mut self, by: Duration, todo: Todo) {
        self.todo.push((self.uptime + by, todo));
    }

    fn do_next(&mut self) {
        let first = self.todo.iter().map(|(at, _)| *at).min().expect("something");
        let place = self.todo.iter().position(|(at, _)| *at == first).expect("it");
        let (_, todo) = self.todo.remove(place);
        if self.engine.is_some() && self.step_crashes() {
            // What happens to processes happens all the same.
            if !matches!(todo, Todo::Exit(_)) {
                return;
            }
        }
        match todo {
            Todo::Ready(run, pid) => {
                if self.crashes(Point::Ready) {
                    return;
                }
                if let Some(info) = self.runs.get_mut(&run) {
                    info.pid = Some(pid);
                }
                let behaviour = self.processes.get(&pid).map(|p| p.behaviour.clone());
                let behaviour = behaviour.unwrap_or_default();
                let took = behaviour.ready.unwrap_or_default().saturating_sub(behaviour.queued);
                let begun = self.uptime.saturating_sub(took);
                let dies = behaviour.dies_at_gate;
                self.send(Event::Prepared { run, process: process(pid), user: None, begun });
                if dies && self.engine.is_some() {
                    self.todo.insert(0, (self.uptime, Todo::Exit(pid)));
                }
            }
            Todo::Fail(run, is_transient) => {
                let message = if is_transient { "try again" } else { "no such command" };
                let message = message.to_string();
                let failure = StartFailure { operation: "exec", message, is_transient };
                self.send(Event::Unprepared { run, failure });
            }
            Todo::Durable => {
                let batch = self.in_flight.take().expect("a batch");
                self.store.apply(&batch);
                self.todo.insert(0, (self.uptime, Todo::Committed));
                self.crashes(Point::Durable);
            }
            Todo::Committed => self.send(Event::Committed),
            Todo::Late => {
                let batch = self.late.remove(0);
                self.store.apply(&batch);
            }
            Todo::Exit(pid) => {
                let code = self.processes[&pid].behaviour.code;
                self.exit(pid, Some(code), None);
            }
            Todo::Gone(run, pid) => {
                if self.processes[&pid].group_gone.is_some_and(|at| at <= self.uptime) {
                    self.send(Event::GroupGone(run));
                }
            }
        }
    }

    fn exit(&mut self, pid: u32, code: Option<i32>, signal: Option<i32>) {
        let uptime = self.uptime;
        let process = self.processes.get_mut(&pid).expect("a process");
        if process.ended.is_some() {
            return;
        }
        process.ended = Some((code, signal));
        process.group_gone = process.behaviour.rest.map(|rest| uptime + rest);
        let is_adopted = process.is_adopted;
        if self.engine.is_none() || self.crashes(Point::Exit) {
            return;
        }
        let run = self.runs.iter().find(|(_, info)| info.pid == Some(pid)).map(|(run, _)| *run);
        if let Some(run) = run {
            let exit = if is_adopted { Exit::UNSEEN } else { Exit { code, signal } };
            self.send(Event::Exited { run, exit });
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Log(line) => self.write(line),
            Effect::Plan(job, period) => {
                let line = self.engine.as_ref().and_then(|engine| engine.plan(job, period));
                self.write(line.expect("a plan of a job that is there"));
            }
            Effect::Prepare(preparation) => self.prepare(preparation),
            Effect::Commit(batch) => {
                assert!(self.in_flight.is_none(), "two batches at once");
                let waits = self.todo.iter().any(|(_, todo)| matches!(todo, Todo::Committed));
                assert!(!waits, "a batch before the answer to the last");
                self.commits += 1;
                if self.shows_commits {
                    let what = describe(&batch);
                    self.say(what);
                }
                if self.crashes(Point::Commit) {
                    return;
                }
                let is_start = batch.jobs.iter().any(|job| !job.kept.active.is_empty());
                if self.records_late && is_start {
                    self.late.push(*batch);
                    self.later(self.commit_takes, Todo::Late);
                    self.todo.insert(0, (self.uptime, Todo::Committed));
                    return;
                }
                self.in_flight = Some(batch);
                self.later(self.commit_takes, Todo::Durable);
            }
            Effect::Release(run) => self.release(run),
            Effect::Abandon(run) => {
                let what = self.about(run);
                self.say(format!("abandon {what}"));
            }
            Effect::Adopt(run, process) => self.adopt(run, &process),
            Effect::Signal(run, signal) => self.signal(run, signal),
            Effect::WatchGroup(run) => {
                let pid = self.runs[&run].pid.expect("a process");
                if let Some(at) = self.processes[&pid].group_gone {
                    self.later(at.saturating_sub(self.uptime), Todo::Gone(run, pid));
                }
            }
            Effect::Forget(run) => {
                self.runs.remove(&run).expect("a run is forgotten once");
            }
            Effect::Reloaded(_) => {
                for entry in std::mem::take(&mut self.not_ready) {
                    let identity = format!("{PATH}:{entry}");
                    let is_known = self.store.roster.keys().any(|id| id.as_str() == identity);
                    assert!(is_known, "{identity} is not durable before the daemon is ready");
                }
            }
            Effect::ResetDone => self.say("reset done"),
            Effect::Stop => {
                self.say("stop");
                assert!(self.in_flight.is_none(), "stops before everything is durable");
                self.crash();
                self.stopped = true;
            }
        }
    }

    fn about(&self, run: RunId) -> String {
        let Some(info) = self.runs.get(&run) else { return format!("{run:?}") };
        format!("{} {}", info.job, brief_period(&info.period.to_string()))
    }

    fn prepare(&mut self, preparation: Preparation) {
        let Preparation { run, job, period, chosen } = preparation;
        let entry = self.engine().entry(job).expect("an entry");
        let (identity, job) = (entry.job.identity().to_string(), entry.name().to_string());
        let policy = *entry.job.policy();
        self.laws.prepare(&identity, period, chosen.instant(), self.wall);
        if self.settings.preparing == PREPARING && policy.concurrency != Concurrency::Replace {
            // Prepared at the moment it was judged.
            assert!(self.wall < policy.expiry(chosen), "{identity} {period} is late");
        }
        if policy.concurrency != Concurrency::Allow {
            let is_alive = |p: &&FalseProcess| p.is_released && p.ended.is_none();
            let mut alive = self.processes.values().filter(is_alive);
            assert!(!alive.any(|p| p.identity == identity), "{identity} {period} overlaps");
        }
        let behaviour = self.behaviours.get(&job).cloned().unwrap_or_default();
        self.runs.insert(run, RunInfo { identity, job, period, chosen, pid: None });
        let what = self.about(run);
        self.say(format!("prepare {what}"));
        if self.crashes(Point::Prepare) {
            return;
        }
        if let Some(ready) = behaviour.ready {
            if let Some(is_transient) = behaviour.fail {
                self.later(ready, Todo::Fail(run, is_transient));
                return;
            }
            let pid = self.next_pid;
            self.next_pid += 1;
            self.processes.insert(
                pid,
                FalseProcess {
                    identity: self.runs[&run].identity.clone(),
                    behaviour,
                    is_released: false,
                    ended: None,
                    group_gone: None,
                    begun: self.uptime,
                    is_adopted: false,
                },
            );
            self.later(ready, Todo::Ready(run, pid));
        }
    }

    fn release(&mut self, run: RunId) {
        let info = &self.runs[&run];
        let pid = info.pid.expect("a process at the gate");
        self.laws.release(&info.identity, info.period);
        if !self.records_late {
            let file = self.store.files.iter().find(|(known, _)| known.as_str() == info.identity);
            let (_, kept) = file.expect("released before anything is durable");
            assert!(
                kept.ledger.is_marked(info.period),
                "released before it is durable: {} {kept:?}",
                info.period
            );
            let active = kept.active.iter().find(|active| active.process.pid == pid);
            assert_eq!(active.expect("active").period, info.period);
        }
        let what = self.about(run);
        self.say(format!("release {what}"));
        let process = self.processes.get_mut(&pid).expect("a process");
        process.is_released = true;
        if let Some(run) = process.behaviour.run {
            self.later(run, Todo::Exit(pid));
        }
        self.crashes(Point::Release);
    }

    fn adopt(&mut self, run: RunId, process: &Process) {
        let pid = process.pid;
        let file = self.store.files.iter().find_map(|(identity, kept)| {
            let active = kept.active.iter().find(|active| active.process.pid == pid)?;
            Some((identity.to_string(), active.period, active.chosen))
        });
        let (identity, period, chosen) = file.expect("it is recorded as active");
        let job = identity.rsplit(':').next().expect("a name").to_string();
        self.runs.insert(run, RunInfo { identity, job, period, chosen, pid: Some(pid) });
        let what = self.about(run);
        self.say(format!("adopt {what}"));
        let process = self.processes.get_mut(&pid).expect("it is there");
        process.is_adopted = true;
        if process.ended.is_some() {
            self.send(Event::Exited { run, exit: Exit::UNSEEN });
        }
    }

    fn signal(&mut self, run: RunId, signal: Signal) {
        let what = self.about(run);
        let (word, number) = match signal {
            Signal::Terminate => ("term", 15),
            Signal::Kill => ("kill", 9),
        };
        self.say(format!("{word} {what}"));
        let pid = self.runs[&run].pid.expect("a process");
        let uptime = self.uptime;
        let process = self.processes.get_mut(&pid).expect("a process");
        let is_deaf = match signal {
            Signal::Terminate => process.behaviour.ignores_term,
            Signal::Kill => process.behaviour.ignores_kill,
        };
        if is_deaf {
            return;
        }
        if signal == Signal::Kill {
            process.behaviour.rest = Some(Duration::ZERO);
            if process.ended.is_some() {
                process.group_gone = Some(uptime);
                self.later(Duration::ZERO, Todo::Gone(run, pid));
                return;
            }
        }
        process.behaviour.code = 128 + number;
        self.todo.retain(|(_, todo)| !matches!(todo, Todo::Exit(known) if *known == pid));
        // As the kernel does it: the signal is sent, the end is heard of later.
        self.later(Duration::ZERO, Todo::Exit(pid));
    }

    fn write(&mut self, line: Line) {
        self.laws.line(&line, &mut self.zones);
        if let Some(text) = tell(&line) {
            self.say(text);
        }
        self.lines.push((self.wall, line));
    }
}

fn process(pid: u32) -> Process {
    Process { pid, start_ticks: Some(u64::from(pid)), boot_id: Some("boot".into()) }
}

/// A line as scenarios show it; nothing for those that other words stand for.
fn tell(line: &Line) -> Option<String> {
    let get = |key: &str| line.get(key).unwrap_or("-");
    let level = match line.level {
        Level::Debug | Level::Info => "",
        Level::Warn => "WARN ",
        Level::Error => "ERROR ",
    };
    let of = || format!("{} {}", get("job"), brief_period(get("period_id")));
    let what = match line.event {
        "decision" | "started" | "privileges_dropped" | "adopting" => return None,
        // A release says the same.
        "outcome" if get("outcome") == "executed" => return None,
        "outcome" => {
            let obstacle = get("reason").split_once("last attempt: ").map(|(_, what)| what);
            let obstacle = obstacle.map_or(String::new(), |what| format!(": {what}"));
            format!("outcome {} {}{obstacle}", of(), get("outcome"))
        }
        "exited" => {
            let reason = line.get("reason").map_or(String::new(), |why| format!(" {why}"));
            return Some(format!(
                "exited {} {}{reason}",
                of(),
                line.get("exit_code").unwrap_or("?")
            ));
        }
        "error" if line.get("period_id").is_some() => {
            format!("error {} {}: {}", of(), get("operation"), get("message"))
        }
        "error" => format!("error {} {}: {}", get("job"), get("operation"), get("message")),
        "superseded" => {
            let least = if line.get("at_least").is_some() { " or more" } else { "" };
            format!("superseded {} {}{least}", get("job"), get("count"))
        }
        "clock_jump" => format!("clock {} {}", get("direction"), get("by")),
        "stalled" => format!("stalled {}", get("by")),
        "idle" => format!("idle {} until {}", get("job"), brief(get("idle_until"))),
        "reloaded" => {
            format!("reloaded +{} ~{} -{}", get("added"), get("changed"), get("removed"))
        }
        "stopping" => format!("stopping {} {}", get("shutdown"), get("running")),
        "quarantined" | "reset" => format!("{} {}", line.event, get("job")),
        other => format!("{other} {}", of()),
    };
    Some(format!("{level}{what}"))
}

fn describe(batch: &Batch) -> String {
    let mut words = vec!["commit".to_string()];
    for snapshot in &batch.jobs {
        let name = snapshot.identity.as_str().rsplit(':').next().unwrap_or_default();
        let last = snapshot.kept.last.as_ref();
        let last = last.map_or("-".into(), |last| {
            let code = last.exit_code.map_or(String::new(), |code| format!("={code}"));
            format!("{} {}{code}", brief_period(&last.period.to_string()), last.outcome)
        });
        let active = snapshot.kept.active.len();
        words
            .push(format!("{name}[{last}, active {active}, history +{}]", snapshot.finished.len()));
    }
    let name = |identity: &kron_core::Identity| {
        identity.as_str().rsplit(':').next().unwrap_or_default().to_string()
    };
    words.extend(batch.roster.iter().filter_map(|line| match line {
        RosterLine::Seen { identity, .. } => Some(format!("seen:{}", name(identity))),
        RosterLine::Gone(identity) => Some(format!("gone:{}", name(identity))),
        RosterLine::HasFile(_) => None,
    }));
    words.join(" ")
}
