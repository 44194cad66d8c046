//! One round: a fresh directory, many lives of a daemon in it, all of them cut
//! short, one last life that may settle everything, and then the check.

use crate::check::{Finding, Law, PROMPT, check};
use crate::daemon::{Daemon, Options, PATIENCE, code};
use crate::ending::{Expected, KILLED};
use crate::evidence::Evidence;
use crate::jobs::{Definition, Jobs, Kind, Marks, Planned};
use crate::place::Place;
use crate::plan::{Approach, Ending, POINTS, STEPS, Trick};
use crate::random::Random;
use crate::story::{Damage, Life, Span, Story, Version};
use crate::tally::Tally;
use crate::time::{MICRO, MILLI, MINUTE, Nanos, SECOND, nanos, now, sleep};
use crate::verify::verify;
use kron_core::{UtcSecond, Zones};
use nix::sys::signal::Signal;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a round needs to know.
#[derive(Debug)]
pub struct Setup {
    pub krond: PathBuf,
    pub mutant: Option<String>,
    /// This program, which is what jobs run.
    pub mark: PathBuf,
    pub jobs: usize,
    /// Whether file systems can be mounted.
    pub can_mount: bool,
}

pub struct Round<'a> {
    setup: &'a Setup,
    place: Place,
    random: Random,
    zones: Zones,
    story: Story,
    evidence: Evidence,
    tally: Tally,
    findings: Vec<Finding>,
    jobs: Jobs,
    /// Every name there ever was.
    names: Vec<String>,
    shift: Nanos,
    /// How long a daemon takes to be ready, about.
    startup: Nanos,
}

impl<'a> Round<'a> {
    pub fn new(
        setup: &'a Setup,
        directory: PathBuf,
        mut random: Random,
        own_volume: bool,
    ) -> io::Result<Self> {
        let place = Place::new(directory, own_volume && setup.can_mount)?;
        // A Monday in the future, at some second of some hour.
        let begin = (1_906_718_400 + random.between(0, 86_400)) * SECOND;
        let mut round = Self {
            setup,
            place,
            random,
            zones: Zones::bundled(),
            story: Story::default(),
            evidence: Evidence::default(),
            tally: Tally::default(),
            findings: Vec::new(),
            jobs: Jobs::new(),
            names: Vec::new(),
            shift: 0,
            startup: 40 * MILLI,
        };
        round.set_shift(begin - now())?;
        for _ in 0..setup.jobs {
            round.add_job()?;
        }
        round.write_jobs()?;
        Ok(round)
    }

    /// Lives until so many kills, and checks.
    pub fn run(mut self, kills: u64, is_over: impl Fn() -> bool) -> io::Result<Outcome> {
        // Late, when it is known how busy the machine is.
        let mut watched = Some(self.random.between(kills as i64 / 2, kills.max(1) as i64) as u64);
        while self.tally.kills() < kills && self.findings.is_empty() && !is_over() {
            match watched.take_if(|at| *at <= self.tally.kills()) {
                Some(_) => self.watch()?,
                None => self.live()?,
            }
        }
        self.settle()?;
        let record = fs::read_to_string(self.place.file("record")).unwrap_or_default();
        self.evidence.read_record(&record);
        let (mut tally, findings) = check(&self.story, &self.evidence);
        tally.add(&self.tally);
        tally.violations += self.findings.len() as u64;
        self.findings.extend(findings);
        let krontab = self.setup.krond.with_file_name("krontab");
        let logs = logs(&self.place.file("logs"))?;
        if let Some(text) = verify(&krontab, &logs, &self.place.file("decisions"))? {
            tally.violations += 1;
            self.note(Law::Unverified, text);
        }
        let failed = !self.findings.is_empty();
        self.place.unmount(failed)?;
        let told = self.tell();
        if failed {
            fs::write(self.place.file("findings"), told.join("\n"))?;
            fs::write(self.place.file("story"), format!("{:#?}", self.story))?;
        } else {
            fs::remove_dir_all(&self.place.directory)?;
        }
        Ok(Outcome { tally, told, kept: failed.then_some(self.place.directory) })
    }

    fn note(&mut self, law: Law, text: String) {
        self.findings.push(Finding { law, name: String::new(), period: 0, at: now(), text });
    }

    fn clock(&self) -> Nanos {
        now() + self.shift
    }

    fn set_shift(&mut self, shift: Nanos) -> io::Result<()> {
        self.shift = shift;
        self.story.shifts.push((now(), shift));
        self.place.set_shift(shift)
    }

    /// Whether the clock is behind what it showed once.
    fn is_behind(&self) -> bool {
        self.clock() < self.story.furthest(now()) - MILLI
    }

    fn add_job(&mut self) -> io::Result<()> {
        let name = format!("j{}", self.names.len());
        self.names.push(name.clone());
        let definition = Definition::draw(&mut self.random);
        self.define(&name, definition)
    }

    fn define(&mut self, name: &str, definition: Definition) -> io::Result<()> {
        let planned = Planned::new(&self.place.identity(name), definition, &mut self.zones);
        let planned = planned.map_err(io::Error::other)?;
        self.jobs.insert(name.into(), Arc::new(planned));
        Ok(())
    }

    fn write_jobs(&mut self) -> io::Result<()> {
        let marks = Marks { program: &self.setup.mark, directory: &self.place.directory };
        let text = marks.write(&self.jobs);
        let version = Version { written: now(), settled: None, jobs: self.jobs.clone() };
        self.story.versions.push(version);
        self.place.replace("jobs.kron", &text)
    }

    /// Adds, removes and edits some jobs.
    fn edit(&mut self) -> io::Result<()> {
        self.tally.reloads += 1;
        for _ in 0..self.random.between(1, 4) {
            match self.random.between(0, 10) {
                0 => self.add_job()?,
                1 | 2 => {
                    // One that was there before may come back.
                    let name = self.random.pick(&self.names).cloned().unwrap_or_default();
                    if self.jobs.remove(&name).is_none() {
                        let known = self.story.versions.iter().rev();
                        let last = known.into_iter().find_map(|version| version.jobs.get(&name));
                        if let Some(definition) = last.map(|planned| planned.definition.clone()) {
                            self.define(&name, definition)?;
                        }
                    }
                }
                _ => {
                    let name = self.random.pick(&self.names).cloned().unwrap_or_default();
                    if let Some(planned) = self.jobs.get(&name) {
                        let mut definition = planned.definition.clone();
                        definition.edit(&mut self.random);
                        self.define(&name, definition)?;
                    }
                }
            }
        }
        self.write_jobs()
    }

    /// The first chosen second after a time of the daemon's clock.
    fn next_due(&self, after: Nanos) -> Option<Nanos> {
        let mut soonest: Option<Nanos> = None;
        for planned in self.jobs.values().filter(|planned| !planned.definition.suspend) {
            let mut at = UtcSecond::new((after - 4 * MINUTE) / SECOND).ok()?;
            while let Some(period) = planned.job.next_period(at) {
                at = period.nominal();
                if nanos(at) > soonest.unwrap_or(after + 2 * MINUTE) + MINUTE {
                    break;
                }
                let chosen = planned.job.decide(period).chosen().map(nanos);
                let chosen = chosen.filter(|chosen| *chosen > after);
                soonest = [soonest, chosen].into_iter().flatten().min();
            }
        }
        soonest
    }

    /// Sets the clock while no daemon runs.
    fn approach(&mut self) -> io::Result<Approach> {
        let furthest = self.story.furthest(now());
        let approach = Approach::draw(&mut self.random);
        if self.is_behind() && self.random.percent(60) {
            self.set_shift(furthest + 20 * MILLI - now())?;
            return Ok(approach);
        }
        let behind = self.is_behind();
        match approach {
            Approach::Align => {
                let lead = self.startup + self.random.between(10, 60) * MILLI;
                if let Some(target) = self.next_due(self.clock() + lead) {
                    self.set_shift(target - lead - now())?;
                }
            }
            Approach::Forward(by) if !behind => self.set_shift(self.shift + by)?,
            Approach::Back(by) if !behind => self.set_shift(self.shift - by)?,
            Approach::AtOnce | Approach::Forward(_) | Approach::Back(_) => {}
        }
        Ok(approach)
    }

    /// Damages state, or edits the configuration, while no daemon runs.
    fn meddle(&mut self) -> io::Result<()> {
        // State that is lost while the clock is behind takes with it what ran in
        // its future; nobody could know better.
        if self.random.percent(4) && !self.is_behind() {
            self.damage()?;
        }
        if self.random.percent(5) {
            self.edit()?;
        }
        Ok(())
    }

    fn damage(&mut self) -> io::Result<()> {
        let whose =
            if self.random.percent(15) { None } else { self.random.pick(&self.names).cloned() };
        let path = match &whose {
            Some(name) => self.place.state_file(name),
            None => self.place.state().join("roster"),
        };
        let Ok(mut text) = fs::read(&path) else { return Ok(()) };
        self.story.damages.push(Damage { at: now(), name: whose });
        match self.random.between(0, 4) {
            0 => return fs::remove_file(&path),
            1 => text.clear(),
            // The whole of it would be no damage.
            2 => text.truncate(self.random.between(0, text.len().max(3) as i64 - 2) as usize),
            _ => {
                text.splice(..text.len().min(40), [0xFF, 0x00, b'{', b'{']);
            }
        }
        fs::write(&path, text)?;
        self.place.look_away(&path);
        Ok(())
    }

    fn start(&mut self, crash_at: Option<String>, shutdown: &'static str) -> io::Result<Daemon> {
        let options = Options {
            krond: &self.setup.krond,
            number: self.story.lives.len(),
            crash_at,
            mutant: self.setup.mutant.as_deref(),
            shutdown,
        };
        Daemon::start(&self.place, &options)
    }

    /// One life, up to its end.
    fn live(&mut self) -> io::Result<()> {
        let approach = self.approach()?;
        self.meddle()?;
        let ending = Ending::draw(&mut self.random, approach, self.place.has_volume());
        let crash_at = match ending {
            Ending::Point if self.random.percent(70) => {
                let point = self.random.pick(&POINTS).copied().unwrap_or_default();
                Some(format!("{point}:{}", self.random.between(1, 4)))
            }
            Ending::Point => {
                let step = self.random.pick(&STEPS).copied().unwrap_or_default();
                Some(format!("{step}:{}", self.random.between(1, 16)))
            }
            _ => None,
        };
        if ending == Ending::ReadOnly {
            self.place.set_read_only(true)?;
        }
        let shutdown = ["wait", "terminate", "detach"][self.random.between(0, 3) as usize];
        let mut daemon = self.start(crash_at, shutdown)?;
        if self.random.percent(15) && daemon.wait_ready(now() + PATIENCE)? {
            self.ready(&daemon);
            self.play(&mut daemon)?;
        }
        let expected = match ending {
            Ending::Random => {
                let after = self.random.between(0, 160_000) * MICRO;
                daemon.wait_ready(now() + after)?;
                sleep(daemon.from + after - now());
                self.tally.random += 1;
                Expected::Kill
            }
            Ending::Around => self.kill_around(&mut daemon)?,
            Ending::Point => {
                let until = now() + 500 * MILLI;
                daemon.wait_ready(until)?;
                if daemon.wait_end(until)? {
                    self.tally.points += 1;
                } else {
                    self.tally.random += 1;
                }
                Expected::Kill
            }
            Ending::Stop => self.stop_past(&mut daemon)?,
            Ending::Term => self.terminate(&mut daemon)?,
            Ending::Full => {
                daemon.wait_ready(now() + PATIENCE)?;
                self.place.fill()?;
                self.trouble(&mut daemon)?
            }
            Ending::ReadOnly => self.trouble(&mut daemon)?,
        };
        self.bury(daemon, expected)?;
        match ending {
            Ending::Full => self.place.free()?,
            Ending::ReadOnly => self.place.set_read_only(false)?,
            _ => {}
        }
        Ok(())
    }

    /// A life that nothing happens to, for so long that all that comes due in it must have
    /// been handled; then it is killed like the others.
    fn watch(&mut self) -> io::Result<()> {
        self.catch_up()?;
        let mut daemon = self.start(None, "detach")?;
        if !daemon.wait_ready(now() + PATIENCE)? {
            self.note(Law::Ended, "a daemon left alone was never ready".into());
        }
        self.ready(&daemon);
        sleep(8 * SECOND + PROMPT + self.story.slack().min(MINUTE));
        self.tally.random += 1;
        self.bury(daemon, Expected::Kill)
    }

    /// The clock shows what it showed once, and no less.
    fn catch_up(&mut self) -> io::Result<()> {
        if self.is_behind() {
            let furthest = self.story.furthest(now());
            self.set_shift(furthest + 20 * MILLI - now())?;
        }
        Ok(())
    }

    /// The configuration is in force, if it was written before the daemon began.
    fn ready(&mut self, daemon: &Daemon) {
        let Some(ready) = daemon.ready else { return };
        let took = ready - daemon.from;
        self.startup = (self.startup * 7 + took) / 8;
        self.story.slowest_start = self.story.slowest_start.max(took);
        if let Some(version) = self.story.versions.last_mut()
            && version.settled.is_none()
            && version.written < daemon.from
        {
            version.settled = Some(ready);
        }
    }

    fn kill_around(&mut self, daemon: &mut Daemon) -> io::Result<Expected> {
        let from = self.clock();
        let due = self.next_due(from).map(|due| due - self.shift);
        let (early, late) = if self.random.percent(40) { (-20, 40) } else { (0, 20) };
        let jitter = self.random.between(early * 1_000, late * 1_000) * MICRO;
        match due.filter(|due| *due < now() + 1_300 * MILLI) {
            Some(due) => {
                daemon.wait_ready(due + jitter)?;
                sleep(due + jitter - now());
                self.tally.around += 1;
            }
            None => self.tally.random += 1,
        }
        Ok(Expected::Kill)
    }

    /// Something that happens to a daemon that is ready.
    fn play(&mut self, daemon: &mut Daemon) -> io::Result<()> {
        match Trick::draw(&mut self.random) {
            Trick::Reload { signals } => {
                let offset = daemon.log_length();
                self.edit()?;
                for _ in 0..signals {
                    daemon.signal(Signal::SIGHUP);
                }
                let seen = daemon.wait_log(offset, "event=reloaded", now() + SECOND)?;
                if let Some(version) = self.story.versions.last_mut().filter(|_| seen) {
                    version.settled = Some(now());
                }
            }
            Trick::Burst { signals } => {
                self.tally.bursts += 1;
                for _ in 0..signals {
                    daemon.signal(Signal::SIGHUP);
                }
            }
            Trick::Step(by) => {
                if !self.is_behind() {
                    self.set_shift(self.shift + by)?;
                    daemon.signal(Signal::SIGUSR2);
                }
            }
        }
        sleep(self.random.between(0, 60) * MILLI);
        Ok(())
    }

    /// Stops it, lets something come due, and lets it go on or kills it.
    fn stop_past(&mut self, daemon: &mut Daemon) -> io::Result<Expected> {
        self.tally.other += 1;
        if !daemon.wait_ready(now() + PATIENCE)? {
            return Ok(Expected::Kill);
        }
        let due = self.next_due(self.clock()).map_or(now(), |due| due - self.shift);
        sleep((due - 200 * MILLI - now()).min(SECOND));
        // Now and then in the very moment, when it may have judged already.
        if self.random.percent(40) {
            sleep(due + self.random.between(0, 25) * MILLI - now());
        }
        let from = now();
        daemon.signal(Signal::SIGSTOP);
        let past = self.random.between(50, 2_600) * MILLI;
        sleep((due + past - now()).min(3 * SECOND));
        if self.random.percent(70) {
            daemon.signal(Signal::SIGCONT);
            self.story.stops.push(Span { from, until: now() });
            sleep(self.random.between(0, 250) * MILLI);
        } else {
            self.story.stops.push(Span { from, until: now() });
        }
        Ok(Expected::Kill)
    }

    fn terminate(&mut self, daemon: &mut Daemon) -> io::Result<Expected> {
        self.tally.terms += 1;
        if self.random.percent(80) {
            let due = self.next_due(self.clock()).map_or(now(), |due| due - self.shift);
            daemon.wait_ready(now() + PATIENCE)?;
            let jitter = self.random.between(-10, 30) * MILLI;
            sleep((due + jitter - now()).min(SECOND));
        } else {
            sleep(self.random.between(30, 100) * MILLI);
        }
        daemon.signal(Signal::SIGTERM);
        if self.random.percent(20) {
            sleep(self.random.between(0, 30) * MILLI);
            daemon.signal(Signal::SIGTERM);
        }
        if !daemon.wait_end(now() + PATIENCE)? {
            self.note(Law::Ended, "the daemon does not end by TERM".into());
        }
        Ok(Expected::Asked)
    }

    /// A disk that takes nothing: the daemon ends, or is killed.
    fn trouble(&mut self, daemon: &mut Daemon) -> io::Result<Expected> {
        if daemon.wait_end(now() + 1_200 * MILLI)? {
            self.tally.troubled += 1;
        } else {
            self.tally.other += 1;
        }
        Ok(Expected::Trouble)
    }

    /// Ends a life, and takes note of everything that it left.
    fn bury(&mut self, mut daemon: Daemon, expected: Expected) -> io::Result<()> {
        let ended_itself = daemon.has_ended()?;
        let code = code(daemon.end()?);
        let until = now();
        self.ready(&daemon);
        let killed = code == KILLED;
        self.story.lives.push(Life { ready: daemon.ready, until, is_clean: code == 0 });
        let log = String::from_utf8_lossy(&fs::read(&daemon.log)?).into_owned();
        if !expected.allows(code, daemon.ready.is_some()) {
            let last: Vec<&str> = log.lines().rev().take(5).collect();
            let which = daemon.log.display();
            let text = format!("code {code}, by itself: {ended_itself}, {which}: {last:#?}");
            self.note(Law::Ended, text);
        }
        self.tally.adopted += log.matches("event=adopting").count() as u64;
        self.evidence.read_log(&log, until);
        let mut amid = false;
        for (name, text, written) in self.place.changed_state(&self.names) {
            self.evidence.read_state(&name, &text, until, written);
            let quick = self.jobs.get(&name).is_some_and(|p| p.definition.kind == Kind::Quick);
            let begun = daemon.from + self.shift;
            let last = self.evidence.snapshots.get(&name).and_then(|all| all.last());
            amid |= quick && last.is_some_and(|s| s.active.iter().any(|(_, at)| *at >= begun));
        }
        let is_amid = killed && (amid || self.has_unrecorded(until + self.shift));
        self.tally.amid += u64::from(is_amid);
        Ok(())
    }

    /// Whether something had just come due that state does not know of.
    fn has_unrecorded(&self, at: Nanos) -> bool {
        self.jobs.iter().filter(|(_, planned)| !planned.definition.suspend).any(
            |(name, planned)| {
                let Ok(minute) = UtcSecond::new((at - 3 * MINUTE) / SECOND) else { return false };
                let mut after = minute;
                while let Some(period) = planned.job.next_period(after) {
                    after = period.nominal();
                    if nanos(after) > at + MINUTE {
                        return false;
                    }
                    let chosen = planned.job.decide(period).chosen().map(nanos);
                    if chosen.is_some_and(|chosen| at - 60 * MILLI < chosen && chosen <= at)
                        && self.evidence.closing(name, after.unix_seconds()).is_none()
                    {
                        return true;
                    }
                }
                false
            },
        )
    }

    /// The last life: everything that is due is judged, and it ends as it should.
    fn settle(&mut self) -> io::Result<()> {
        self.catch_up()?;
        let mut daemon = self.start(None, "terminate")?;
        if !daemon.wait_ready(now() + PATIENCE)? {
            self.note(Law::Ended, "the last daemon was never ready".into());
        }
        self.ready(&daemon);
        sleep(2_600 * MILLI);
        self.story.end = now();
        daemon.signal(Signal::SIGTERM);
        daemon.wait_end(now() + PATIENCE)?;
        self.bury(daemon, Expected::Clean)?;
        // What was released may still be on its way to its line.
        sleep(300 * MILLI);
        Ok(())
    }

    /// The findings, each with what the logs say of its period.
    fn tell(&self) -> Vec<String> {
        let mut told = Vec::new();
        for finding in self.findings.iter().take(5) {
            let mut text = finding.to_string();
            if finding.period != 0 {
                let period = crate::time::period_name(finding.period);
                let (name, period) =
                    (format!("job={} ", finding.name), format!("period_id={period}"));
                for log in logs(&self.place.file("logs")).unwrap_or_default() {
                    let lines = fs::read(&log).unwrap_or_default();
                    let lines = String::from_utf8_lossy(&lines).into_owned();
                    let life = log.file_name().unwrap_or_default().display();
                    let lines = lines.lines().filter(|line| !line.contains("event=decision"));
                    for line in lines {
                        if line.contains(&name) && line.contains(&period) {
                            let line: String = line.chars().take(300).collect();
                            text += &format!("\n    {life}: {line}");
                        }
                    }
                }
            }
            told.push(text);
        }
        if let Some(more) = self.findings.len().checked_sub(told.len()).filter(|more| *more > 0) {
            told.push(format!("and {more} more"));
        }
        told
    }
}

fn logs(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all: Vec<PathBuf> = fs::read_dir(directory)?.flatten().map(|e| e.path()).collect();
    all.sort();
    Ok(all)
}

/// What came of a round.
pub struct Outcome {
    pub tally: Tally,
    pub told: Vec<String>,
    /// Where everything is, if something was wrong.
    pub kept: Option<PathBuf>,
}
