//! The jobs of a lane: what they are, how they are written, how they are edited.

use crate::random::Random;
use crate::time::{MILLI, Nanos, nanos};
use kron_core::{Job, PeriodId, Zones};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// What is written in the file about a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    pub window: Window,
    pub salt: u32,
    pub deadline_seconds: u32,
    pub concurrency: &'static str,
    pub suspend: bool,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    After(u32),
    Around(u32),
}

/// What a job does once it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Ends at once.
    Quick,
    /// Takes so many milliseconds.
    Slow(u32),
    /// Takes longer than its timeout.
    TimedOut,
    /// As the one before, and does not mind being asked to end.
    Stubborn,
}

impl Kind {
    /// How long a run takes at most.
    pub fn lasts(self) -> Nanos {
        match self {
            Self::Quick => 0,
            Self::Slow(millis) => Nanos::from(millis) * MILLI,
            Self::TimedOut | Self::Stubborn => Nanos::from(ENDLESS) * MILLI,
        }
    }
}

/// How many milliseconds a run takes that is too long for its timeout.
const ENDLESS: u32 = 5_000;

impl Definition {
    /// A job as chance will have it. Its concurrency stays as it is for life.
    pub fn draw(random: &mut Random) -> Self {
        let window = match random.between(0, 10) {
            0 => Window::Around(50),
            1 => Window::After(150),
            2 => Window::After(5),
            _ => Window::After(59),
        };
        let (concurrency, kind) = match random.between(0, 20) {
            0 => ("forbid", Kind::Slow(25_000)),
            1 => ("replace", Kind::Slow(25_000)),
            2 => ("allow", Kind::Slow(10_000)),
            3 => ("forbid", Kind::TimedOut),
            4 => ("replace", Kind::Stubborn),
            5..8 => ("forbid", Kind::Slow(random.between(20, 1_500) as u32)),
            8..11 => ("replace", Kind::Quick),
            11..14 => ("allow", Kind::Quick),
            _ => ("forbid", Kind::Quick),
        };
        let deadline_seconds = [0, 0, 1, 3, 20, 600][random.between(0, 6) as usize];
        Self { window, salt: 0, deadline_seconds, concurrency, suspend: false, kind }
    }

    /// Changes something about it.
    pub fn edit(&mut self, random: &mut Random) {
        match random.between(0, 6) {
            0 => self.salt += 1,
            1 => {
                let wider = self.window == Window::After(59);
                self.window = if wider { Window::After(40) } else { Window::After(59) };
            }
            2 => {
                self.deadline_seconds = [0, 2, 30, 900][random.between(0, 4) as usize];
            }
            3 => {
                if let Kind::Slow(millis) = &mut self.kind {
                    *millis += 1;
                }
            }
            _ => self.suspend = !self.suspend,
        }
    }

    /// The part that decides when it runs.
    pub fn timing(&self) -> (Window, u32) {
        (self.window, self.salt)
    }

    fn schedule(&self) -> String {
        let Self { salt, deadline_seconds, concurrency, suspend, .. } = self;
        let window = match self.window {
            Window::After(seconds) => format!("after,{seconds}s"),
            Window::Around(seconds) => format!("around,{seconds}s"),
        };
        format!(
            "* * * * * @win({window}) @seed(stable,salt=s{salt}) \
             @policy(concurrency={concurrency},deadline={deadline_seconds}s,suspend={suspend})"
        )
    }
}

/// A definition, with the job that it defines.
#[derive(Debug)]
pub struct Planned {
    pub definition: Definition,
    pub job: Job,
}

impl Planned {
    pub fn new(identity: &str, definition: Definition, zones: &mut Zones) -> Result<Self, String> {
        let job = Job::parse(identity, &definition.schedule(), zones)
            .map_err(|errors| format!("{}: {errors:?}", definition.schedule()))?;
        Ok(Self { definition, job })
    }

    /// The second that is chosen for a period.
    pub fn chosen(&self, period: PeriodId) -> Option<Nanos> {
        self.job.decide(period).chosen().map(nanos)
    }
}

/// All jobs, by name.
pub type Jobs = BTreeMap<String, Arc<Planned>>;

/// Where jobs leave their marks.
#[derive(Clone, Copy, Debug)]
pub struct Marks<'a> {
    pub program: &'a Path,
    pub directory: &'a Path,
}

impl Marks<'_> {
    /// The text of a file with these jobs.
    pub fn write(&self, jobs: &Jobs) -> String {
        jobs.iter().map(|(name, planned)| self.line(name, &planned.definition)).collect()
    }

    fn line(&self, name: &str, definition: &Definition) -> String {
        let (program, here) = (self.program.display(), self.directory.display());
        let lock = match definition.concurrency {
            "allow" => "-".into(),
            _ => format!("{here}/locks/{name}"),
        };
        let millis = definition.kind.lasts() / MILLI;
        let mark = format!("{program} mark {here}/record {lock} {millis}");
        let command = match definition.kind {
            Kind::Quick | Kind::Slow(_) => format!("command=\"{mark}\""),
            Kind::TimedOut => format!("timeout=300ms command=\"{mark}\""),
            // What is ignored stays ignored across an exec.
            Kind::Stubborn => {
                format!("timeout=300ms shell=true command=\"trap '' TERM; exec {mark}\"")
            }
        };
        format!("{} name={name} stdout=discard {command}\n", definition.schedule())
    }
}
