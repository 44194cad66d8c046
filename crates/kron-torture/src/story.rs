//! What the harness did and when: lives of the daemon, settings of its clock,
//! versions of its configuration, damage to its state.
//!
//! Times are the machine's; the daemon's clock is the machine's plus a shift. A
//! daemon learns of a shift, a signal or a file a moment after it was given, so
//! questions about what it knew are answered by all that it may have known.

use crate::jobs::{Jobs, Planned};
use crate::time::{MILLI, Nanos, SECOND};
use std::sync::Arc;

/// Longest from a judgement to the line that the command writes, on a machine that
/// has time for it.
const LAG: Nanos = 4 * SECOND;

#[derive(Debug, Default)]
pub struct Story {
    pub lives: Vec<Life>,
    /// From when on the daemon's clock was ahead by how much.
    pub shifts: Vec<(Nanos, Nanos)>,
    /// When the daemon was stopped (SIGSTOP).
    pub stops: Vec<Span>,
    pub versions: Vec<Version>,
    pub damages: Vec<Damage>,
    /// The longest that a daemon took to be ready, which shows how busy the
    /// machine was.
    pub slowest_start: Nanos,
    /// When everything was over.
    pub end: Nanos,
}

#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub from: Nanos,
    pub until: Nanos,
}

/// A daemon from its start to its end.
#[derive(Clone, Copy, Debug)]
pub struct Life {
    /// When it said that it was ready.
    pub ready: Option<Nanos>,
    pub until: Nanos,
    /// Whether it ended by itself, all its lines written.
    pub is_clean: bool,
}

/// A configuration.
#[derive(Clone, Debug)]
pub struct Version {
    pub written: Nanos,
    /// When it was certainly in force, if ever.
    pub settled: Option<Nanos>,
    pub jobs: Jobs,
}

/// State that was damaged while no daemon ran: of one job, or the roster.
#[derive(Clone, Debug)]
pub struct Damage {
    pub at: Nanos,
    pub name: Option<String>,
}

/// A stretch in which a job was certainly configured, always with the same timing,
/// and nothing else moved its bar (`NotBefore`).
#[derive(Clone, Debug)]
pub struct Spell {
    pub from: Nanos,
    pub until: Nanos,
    /// Nothing due before this time of the daemon's clock has to run…
    pub bar: Nanos,
    /// …and nothing due before this one may.
    pub barred_before: Nanos,
    pub planned: Arc<Planned>,
}

impl Story {
    /// What everything may take longer, because the machine is busy.
    pub const fn slack(&self) -> Nanos {
        10 * self.slowest_start
    }

    /// Longest from a judgement to the line that the command writes.
    pub const fn lag(&self) -> Nanos {
        LAG + self.slack()
    }

    /// Settings of the clock that may have been in force in a span: the smallest
    /// and the largest shift.
    fn shift_range(&self, from: Nanos, until: Nanos) -> (Nanos, Nanos) {
        let first = self.shifts.partition_point(|(at, _)| *at <= from).saturating_sub(1);
        let in_force = self.shifts[first..].iter().take_while(|(at, _)| *at <= until);
        let all: Vec<Nanos> = in_force.map(|(_, shift)| *shift).collect();
        let least = all.iter().min().copied().unwrap_or_default();
        (least, all.iter().max().copied().unwrap_or_default())
    }

    /// What the daemon's clock is ahead by at a time.
    fn shift_at(&self, at: Nanos) -> Nanos {
        let next = self.shifts.partition_point(|(from, _)| *from <= at);
        self.shifts.get(next.saturating_sub(1)).map_or(0, |(_, shift)| *shift)
    }

    /// The earliest that the daemon's clock can have shown shortly before.
    pub fn earliest(&self, at: Nanos) -> Nanos {
        at + self.shift_range(at - self.lag(), at).0
    }

    /// The latest that the daemon's clock can have shown shortly before.
    pub fn latest(&self, at: Nanos) -> Nanos {
        at + self.shift_range(at - self.lag(), at).1
    }

    /// The furthest that the daemon's clock has ever shown up to a time.
    pub fn furthest(&self, at: Nanos) -> Nanos {
        let ends = self.shifts.iter().skip(1).map(|(next, _)| *next).chain([Nanos::MAX]);
        let spans = self.shifts.iter().zip(ends).filter(|((from, _), _)| *from <= at);
        spans.map(|((_, shift), end)| end.min(at) + shift).max().unwrap_or(at)
    }

    /// When the daemon's clock first showed this time.
    pub fn reached(&self, time: Nanos) -> Option<Nanos> {
        let ends = self.shifts.iter().skip(1).map(|(next, _)| *next).chain([self.end]);
        let mut spans = self.shifts.iter().zip(ends);
        spans.find_map(|((from, shift), end)| {
            (end + shift >= time).then(|| (time - shift).max(*from))
        })
    }

    /// The life that ended at a time, and when the one before it had.
    pub fn life(&self, until: Nanos) -> Option<(&Life, Nanos)> {
        let place = self.lives.iter().position(|life| life.until == until)?;
        let before = place.checked_sub(1).map_or(Nanos::MIN, |place| self.lives[place].until);
        Some((&self.lives[place], before))
    }

    /// When the daemon's clock may have shown a time, in the life that ended at another.
    pub fn moments(&self, time: Nanos, until: Nanos) -> Vec<Nanos> {
        let Some((_, from)) = self.life(until) else { return Vec::new() };
        // It goes by a setting until it hears of the next.
        let ends = self.shifts.iter().skip(1).map(|(next, _)| next + self.lag());
        let spans = self.shifts.iter().zip(ends.chain([Nanos::MAX]));
        let at = spans.filter_map(|((begin, shift), end)| {
            let at = time - shift;
            (*begin <= at && at <= end && from <= at && at <= until).then_some(at)
        });
        at.collect()
    }

    /// How much of a span the daemon was stopped; only stops that began after
    /// `since` count.
    pub fn stopped(&self, since: Nanos, until: Nanos) -> Nanos {
        let stops = self.stops.iter().filter(|stop| stop.from >= since && stop.from <= until);
        stops.map(|stop| stop.until.min(until) - stop.from).sum()
    }

    /// Definitions of a job that may have been in force in a span.
    pub fn definitions(&self, name: &str, from: Nanos, until: Nanos) -> Vec<&Arc<Planned>> {
        let mut found = Vec::new();
        for (place, version) in self.versions.iter().enumerate() {
            let over = self.versions[place + 1..].iter().find_map(|next| next.settled);
            if version.written <= until && over.is_none_or(|over| over >= from) {
                found.extend(version.jobs.get(name));
            }
        }
        found
    }

    /// The first time at or after this at which a daemon was ready.
    fn ready_after(&self, at: Nanos) -> Option<Nanos> {
        self.lives.iter().filter_map(|life| life.ready).find(|ready| *ready >= at)
    }

    /// The spells of a job.
    pub fn spells(&self, name: &str) -> Vec<Spell> {
        let mut spells: Vec<Spell> = Vec::new();
        let mut open: Option<Spell> = None;
        for version in &self.versions {
            let planned = version.jobs.get(name);
            if let (Some(spell), Some(planned)) = (&open, planned)
                && spell.planned.definition.timing() == planned.definition.timing()
            {
                continue;
            }
            spells.extend(open.take().map(|spell| Spell { until: version.written, ..spell }));
            if let (Some(planned), Some(settled)) = (planned, version.settled) {
                open = Some(self.spell(version.written, settled, planned));
            }
        }
        spells.extend(open);
        self.divide_by_damage(name, spells)
    }

    fn spell(&self, written: Nanos, settled: Nanos, planned: &Arc<Planned>) -> Spell {
        let (least, most) = self.shift_range(written - self.lag(), settled);
        Spell {
            from: settled,
            until: self.end,
            bar: settled + most,
            barred_before: written + least,
            planned: Arc::clone(planned),
        }
    }

    fn divide_by_damage(&self, name: &str, mut spells: Vec<Spell>) -> Vec<Spell> {
        let concerns = |damage: &&Damage| damage.name.as_ref().is_none_or(|of| of == name);
        for damage in self.damages.iter().filter(concerns) {
            let Some(at) = spells.iter().position(|s| s.from <= damage.at && damage.at < s.until)
            else {
                continue;
            };
            let before = spells[at].clone();
            spells[at].until = damage.at;
            if let Some(ready) = self.ready_after(damage.at)
                && ready < before.until
            {
                let after = self.spell(damage.at, ready, &before.planned);
                spells.insert(at + 1, Spell { until: before.until, ..after });
            }
        }
        spells
    }

    /// Whether a daemon lived, was ready and was neither stopped nor had its clock
    /// set from one time to the other.
    pub fn attended(&self, from: Nanos, until: Nanos) -> bool {
        let overlaps = |a: Nanos, b: Nanos| a <= until && b >= from;
        let alive = self
            .lives
            .iter()
            .any(|life| life.ready.is_some_and(|ready| ready <= from) && life.until >= until);
        alive
            && !self.stops.iter().any(|stop| overlaps(stop.from, stop.until))
            && !self.shifts.iter().any(|(at, _)| overlaps(*at, *at + 200 * MILLI))
    }

    /// For how long the daemons of some lives were there, ready and at work, while a time
    /// had come by their clocks and `until` had not; of each life that had a fair chance
    /// to do something about it.
    pub fn attention(
        &self,
        time: Nanos,
        from: Nanos,
        until: Nanos,
    ) -> impl Iterator<Item = (&Life, Span)> {
        // What takes longer than two starts is not done in less.
        let fair = 2 * self.slowest_start;
        self.lives.iter().filter_map(move |life| {
            let begun = life.ready?.max(from);
            let shift = self.shift_at(begun);
            let span = Span { from: begun.max(time - shift), until: life.until.min(until) };
            let is_set = |at: Nanos| life.ready < Some(at) && at <= span.until;
            let is_fair = span.until - span.from > fair
                && !self.shifts.iter().any(|(at, _)| is_set(*at))
                && self.stopped(begun, span.until) == 0;
            is_fair.then_some((life, span))
        })
    }

    /// When a job lost its state, up to a time.
    pub fn damaged<'a>(&'a self, name: &'a str, until: Nanos) -> impl Iterator<Item = Nanos> {
        let of = move |damage: &&Damage| damage.name.as_deref() == Some(name);
        self.damages.iter().filter(of).map(|damage| damage.at).filter(move |at| *at <= until)
    }
}
