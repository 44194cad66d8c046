//! The laws, and whether what was seen keeps them.
//!
//! Written from the documents (SPEC, STATE, the start protocol), not from the
//! daemon: a period runs at most once, not before its chosen second, not after its
//! deadline, not while its job is suspended or gone, not for a time before its job
//! was new, edited or damaged; what ran is known to state; and every period that
//! came due and did not run has a reason.

use crate::evidence::{Evidence, Fate, Run, Snapshot};
use crate::jobs::Planned;
use crate::story::{Life, Span, Spell, Story};
use crate::tally::Tally;
use crate::time::{MILLI, MINUTE, Nanos, SECOND, period_name};
use kron_core::{PeriodId, UtcSecond};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// How late a line of the record may be for a start that was judged in time.
const TOLERANCE: Nanos = 3 * SECOND;
/// Daemons that were there for so long have handled what was due.
pub const PROMPT: Nanos = 5 * SECOND;
/// How long the preparation of a start may take without being judged again.
const PREPARATION: Nanos = 10 * SECOND;
/// From writing state down to the line about it.
const LINE: Nanos = SECOND;
/// From noting a stop to stopping.
const SIGNAL: Nanos = 100 * MILLI;
/// No run takes longer.
const LONGEST_RUN: Nanos = 26 * SECOND;

/// A law that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub law: Law,
    pub name: String,
    pub period: i64,
    /// About when, by the machine's clock.
    pub at: Nanos,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    Duplicate,
    Early,
    Late,
    Suspended,
    BeforeBar,
    Overlap,
    Unrecorded,
    Contradiction,
    NoReason,
    MarksWentBack,
    MissedThoughAwake,
    /// Missed, and its deadline had not passed.
    MissedInTime,
    /// Skipped, and nothing was in its way.
    SkippedFreely,
    /// Passed over, and the log does not count it.
    Uncounted,
    SaidToHaveRun,
    Unexplained,
    Unreadable,
    /// The daemon ended in a way that nobody asked for.
    Ended,
    /// A decision in the log does not come out again.
    Unverified,
}

/// A period that came due.
#[derive(Clone, Copy, Debug)]
struct Due {
    chosen: Nanos,
    period: i64,
    spell: usize,
}

/// Checks everything, and counts.
pub fn check(story: &Story, evidence: &Evidence) -> (Tally, Vec<Finding>) {
    let mut check = Check { story, evidence, tally: Tally::default(), findings: Vec::new() };
    check.runs();
    check.states();
    let names: BTreeSet<&String> = story.versions.iter().flat_map(|v| v.jobs.keys()).collect();
    for name in names {
        check.periods(name);
    }
    for text in &evidence.unreadable {
        check.find(Law::Unreadable, "", 0, 0, text.clone());
    }
    check.count();
    (check.tally, check.findings)
}

struct Check<'a> {
    story: &'a Story,
    evidence: &'a Evidence,
    tally: Tally,
    findings: Vec<Finding>,
}

impl Check<'_> {
    fn find(&mut self, law: Law, name: &str, period: i64, at: Nanos, text: impl Into<String>) {
        self.findings.push(Finding { law, name: name.into(), period, at, text: text.into() });
    }

    /// Laws about what ran.
    fn runs(&mut self) {
        let mut seen: HashMap<(&str, i64), &Run> = HashMap::new();
        for run in &self.evidence.runs {
            if let Some(first) = seen.insert((&run.name, run.period), run) {
                let apart = (run.at - first.at) as f64 / 1e9;
                let text = format!("pid {}, then pid {} {apart:.3} s later", first.pid, run.pid);
                self.find(Law::Duplicate, &run.name, run.period, run.at, text);
            }
            self.run_is_allowed(run);
            let fate = self.evidence.fates.get(&(run.name.clone(), run.period));
            if !fate.is_some_and(|fate| fate.executed) {
                let text = format!("pid {} ran; state and log say {fate:?}", run.pid);
                self.find(Law::Unrecorded, &run.name, run.period, run.at, text);
            }
        }
        for run in &self.evidence.overlaps {
            // Whoever lost its state does not know what runs; the roster knows of no run.
            let since = run.at - LONGEST_RUN - self.story.lag();
            if !self.story.damaged(&run.name, run.at).any(|at| at >= since) {
                let text = format!("pid {} began beside an earlier run", run.pid);
                self.find(Law::Overlap, &run.name, run.period, run.at, text);
            }
        }
    }

    /// Some definition that may have been in force must have allowed it.
    fn run_is_allowed(&mut self, run: &Run) {
        let story = self.story;
        let lag = story.lag() + story.stopped(run.at - 4 * story.lag(), run.at);
        let definitions = story.definitions(&run.name, run.at - lag, run.at);
        let awake: Vec<_> = definitions.iter().filter(|d| !d.definition.suspend).collect();
        if awake.is_empty() {
            let text = format!("pid {} ran while suspended or not configured", run.pid);
            return self.find(Law::Suspended, &run.name, run.period, run.at, text);
        }
        let Some(period) = period_id(run.period) else { return };
        // What it was stopped for before the start was recorded it has noticed itself.
        let started = self.started(run);
        let since = started.map_or(run.at, |(at, _)| at - SIGNAL);
        let excuse = story.stopped(since, run.at) + TOLERANCE + story.slack();
        let (mut early, mut late) = (Vec::new(), Vec::new());
        for planned in awake {
            let Some(chosen) = planned.chosen(period) else { continue };
            let accepted = match planned.definition.deadline_seconds {
                0 => SECOND,
                seconds => Nanos::from(seconds) * SECOND,
            };
            let recorded = started.map_or(Nanos::MIN, |(_, shown)| shown);
            let slowest = chosen + accepted + PREPARATION + story.slack();
            if story.latest(run.at) < chosen {
                early.push(chosen - story.latest(run.at));
            } else if story.earliest(run.at) - excuse > chosen + accepted || recorded > slowest {
                late.push(story.earliest(run.at) - chosen);
            } else {
                return self.run_respects_bar(run, chosen);
            }
        }
        if let Some(by) = early.first() {
            let text = format!("pid {}, {} ms before its chosen second", run.pid, by / MILLI);
            self.find(Law::Early, &run.name, run.period, run.at, text);
        } else {
            let by = late.first().map_or(0, |by| by / MILLI);
            let text = format!("pid {}, {by} ms after its chosen second", run.pid);
            self.find(Law::Late, &run.name, run.period, run.at, text);
        }
    }

    /// When a run was at the gate, and what the daemon's clock showed then.
    fn started(&self, run: &Run) -> Option<(Nanos, Nanos)> {
        let fate = self.evidence.fates.get(&(run.name.clone(), run.period))?;
        let (shown, noted) = (fate.started?, fate.noted?);
        let moments = self.story.moments(shown, noted).into_iter();
        // The line comes after it; a clock that was set back shows a time twice.
        let at = moments.filter(|at| *at <= run.at + MILLI).max();
        at.map(|at| (at, shown))
    }

    /// Nothing runs for a time before its job was new, edited or damaged.
    fn run_respects_bar(&mut self, run: &Run, chosen: Nanos) {
        let spells = self.story.spells(&run.name);
        let certain =
            spells.iter().find(|s| s.from <= run.at - self.story.lag() && run.at <= s.until);
        if let Some(spell) = certain
            && chosen < spell.barred_before
        {
            let by = (spell.barred_before - chosen) / MILLI;
            let text = format!("pid {}, due {by} ms before its job was new or edited", run.pid);
            self.find(Law::BeforeBar, &run.name, run.period, run.at, text);
        }
    }

    /// Laws about what state and log say.
    fn states(&mut self) {
        let evidence = self.evidence;
        for ((name, period), fate) in &evidence.fates {
            let outcomes = [fate.executed, fate.missed, fate.skipped, fate.unschedulable];
            if outcomes.iter().filter(|outcome| **outcome).count() > 1 {
                self.find(Law::Contradiction, name, *period, 0, format!("{fate:?}"));
            }
            if fate.reasonless && !fate.executed {
                self.find(Law::NoReason, name, *period, 0, format!("{fate:?}"));
            }
            if fate.missed && !self.was_too_late(name, *period, fate) {
                self.find(Law::MissedInTime, name, *period, 0, format!("{fate:?}"));
            }
            if fate.skipped && !self.was_in_the_way(name, *period, fate) {
                self.find(Law::SkippedFreely, name, *period, 0, format!("{fate:?}"));
            }
        }
        for (name, snapshots) in &evidence.snapshots {
            for pair in snapshots.windows(2) {
                let fell = pair[1].through < pair[0].through
                    || pair[1].not_before < pair[0].not_before
                    || pair[0].ahead.iter().any(|period| !pair[1].marks(*period));
                // Another job's file, or the roster, is no excuse.
                let excused = self.story.damaged(name, pair[1].at).any(|at| at >= pair[0].at);
                if fell && !excused {
                    let text = format!("{:?}, then {:?}", pair[0], pair[1]);
                    self.find(Law::MarksWentBack, name, 0, pair[1].at, text);
                }
            }
        }
    }

    /// When something may have been closed without a run, and what its job may have been.
    fn closed(&self, name: &str, fate: &Fate) -> Vec<(Nanos, Vec<&Arc<Planned>>)> {
        let (Some(shown), Some(noted)) = (fate.closed, fate.noted) else { return Vec::new() };
        let moments = self.story.moments(shown, noted).into_iter();
        let lag = self.story.lag();
        let lag = |at| lag + self.story.stopped(at - 4 * lag, at);
        moments.map(|at| (at, self.story.definitions(name, at - lag(at), at))).collect()
    }

    /// Whether a deadline had passed when a period was closed as missed.
    fn was_too_late(&self, name: &str, period: i64, fate: &Fate) -> bool {
        let (Some(shown), Some(period)) = (fate.closed, period_id(period)) else { return false };
        let is_over = |planned: &Planned| {
            let deadline = Nanos::from(planned.definition.deadline_seconds) * SECOND;
            planned.chosen(period).is_some_and(|chosen| match deadline {
                // Whole seconds.
                0 => shown >= chosen + SECOND,
                _ => shown > chosen + deadline,
            })
        };
        self.closed(name, fate).iter().any(|(_, all)| all.iter().any(|planned| is_over(planned)))
    }

    /// Whether another run of the job may have been there when a period was skipped, and
    /// that forbade it.
    fn was_in_the_way(&self, name: &str, period: i64, fate: &Fate) -> bool {
        let (story, lag) = (self.story, self.story.lag());
        let others = self.evidence.runs.iter().filter(|run| run.name == name);
        let mut began: Vec<(i64, Nanos)> = others.map(|run| (run.period, run.at)).collect();
        // One that ended before it could write its line.
        for ((of, other), fate) in &self.evidence.fates {
            if of == name
                && let (Some(shown), Some(noted)) = (fate.started, fate.noted)
            {
                began.extend(story.moments(shown, noted).into_iter().map(|at| (*other, at)));
            }
        }
        self.closed(name, fate).iter().any(|(at, definitions)| {
            let forbids = |planned: &Arc<Planned>| planned.definition.concurrency == "forbid";
            let kinds = definitions.iter().map(|planned| planned.definition.kind.lasts());
            let lasts = kinds.max().unwrap_or_default();
            let is_there = |(other, begun): &(i64, Nanos)| {
                // Whoever is stopped does not see the end of it.
                let unseen = story.stopped(*begun - lag, *at);
                *other != period && *begun - lag <= *at && *at <= *begun + lasts + unseen + lag
            };
            definitions.iter().any(|planned| forbids(planned)) && began.iter().any(is_there)
        })
    }

    /// Every period of a job that came due has a reason.
    fn periods(&mut self, name: &str) {
        let spells = self.story.spells(name);
        let mut dues: Vec<Due> = Vec::new();
        for (place, spell) in spells.iter().enumerate() {
            dues.extend(self.due_in(spell).map(|(chosen, period)| Due {
                chosen,
                period,
                spell: place,
            }));
        }
        dues.sort_by_key(|due| due.chosen);
        let ran: BTreeSet<i64> =
            self.evidence.runs.iter().filter(|r| r.name == name).map(|r| r.period).collect();
        let mut counted: BTreeSet<i64> = BTreeSet::new();
        let mut passed: BTreeMap<Nanos, Vec<Due>> = BTreeMap::new();
        for (place, due) in dues.iter().enumerate() {
            let next = dues[place + 1..].iter().find(|next| next.period != due.period);
            let spell = &spells[due.spell];
            let closing = self.evidence.closing(name, due.period);
            let attended =
                self.attention(name, due, spell, closing.map_or(Nanos::MAX, |closing| closing.at));
            let fate = if ran.contains(&due.period) {
                Explanation::Executed
            } else {
                self.explain(name, due, next, spell, closing, attended)
            };
            if let (Explanation::Superseded, Some(closing)) = (fate, closing) {
                passed.entry(closing.at).or_default().push(*due);
            }
            if counted.insert(due.period) {
                self.tally.due += 1;
                self.tally.awake += u64::from(self.is_awake_for(name, due, spell));
                self.tally.attended += u64::from(attended);
                if let Some(counter) = fate.counter(&mut self.tally) {
                    *counter += 1;
                }
            }
            if fate == Explanation::None {
                let at = self.story.reached(due.chosen).unwrap_or_default();
                let text = format!("due at {} and nothing said of it", due.chosen as f64 / 1e9);
                self.find(Law::Unexplained, name, due.period, at, text);
            }
        }
        for (until, mut all) in passed {
            all.sort_by_key(|due| due.period);
            all.dedup_by_key(|due| due.period);
            all.sort_by_key(|due| due.chosen);
            self.are_counted(name, until, &all);
        }
    }

    /// Periods that a life passed over are counted in its log, unless it was killed before
    /// it could write that.
    fn are_counted(&mut self, name: &str, until: Nanos, passed: &[Due]) {
        let story = self.story;
        let counted = self.evidence.counted.get(&(name.to_string(), until));
        let (counted, judged, is_at_least) =
            counted.map_or((0, None, false), |c| (c.superseded, c.judged, c.is_at_least));
        let Some(first) = passed.get(counted as usize).filter(|_| !is_at_least) else { return };
        let mut snapshots = self.evidence.snapshots.get(name).into_iter().flatten();
        let written = snapshots.find(|snapshot| snapshot.at == until).map_or(until, |s| s.written);
        let lived_on = until - written - story.stopped(written - LINE, until);
        // What is judged together is told in order.
        let is_told = judged.is_some_and(|judged| judged > first.chosen);
        let is_clean = story.life(until).is_some_and(|(life, _)| life.is_clean);
        if is_told || is_clean || lived_on > LINE + story.slack() {
            let text = format!("{} passed over, {counted} counted in the log", passed.len());
            self.find(Law::Uncounted, name, first.period, until, text);
        }
    }

    /// Periods that came due in a spell, with their chosen times.
    fn due_in(&self, spell: &Spell) -> impl Iterator<Item = (Nanos, i64)> {
        // What comes due in the last moment may not be judged any more.
        let margin = if spell.until >= self.story.end { 2 * SECOND } else { 0 };
        let until = self.story.furthest(spell.until) - margin;
        let from = spell.bar;
        let planned = Arc::clone(&spell.planned);
        let mut after = UtcSecond::new((from - 10 * MINUTE) / SECOND).ok();
        let last = (until + 10 * MINUTE) / SECOND;
        std::iter::from_fn(move || {
            loop {
                let period = planned.job.next_period(after?)?;
                after = Some(period.nominal());
                let nominal = period.nominal().unix_seconds();
                if nominal > last {
                    return None;
                }
                let chosen = planned.chosen(period);
                if let Some(chosen) = chosen.filter(|chosen| from <= *chosen && *chosen <= until) {
                    return Some((chosen, nominal));
                }
            }
        })
    }

    fn explain(
        &mut self,
        name: &str,
        due: &Due,
        next: Option<&Due>,
        spell: &Spell,
        closing: Option<&Snapshot>,
        attended: bool,
    ) -> Explanation {
        let story = self.story;
        let reached = story.reached(due.chosen).unwrap_or(spell.from);
        let fate = self.evidence.fates.get(&(name.to_string(), due.period));
        if let Some(fate) = fate.filter(|fate| fate.is_known()) {
            return self.explain_fate(name, due, spell, reached, fate);
        }
        if attended {
            return Explanation::None;
        }
        let closed_at = closing.map_or(Nanos::MAX, |closing| closing.at);
        if let Some(closing) = closing {
            let passed_by =
                next.is_some_and(|n| n.chosen <= story.furthest(closing.at) + story.lag());
            // Closed when another definition was in force, and closed for good. State is
            // looked at after each life, so that of the edit is the first to show it.
            let edited_in = story.lives.iter().find(|life| life.until >= spell.from);
            let before = edited_in.map_or(reached, |life| reached.max(life.until + story.lag()));
            let closed_before = due.spell > 0
                && closing.at <= before
                && due.period * SECOND <= story.furthest(closing.at) + story.lag();
            // What an edit, or lost state, closes with the past of its job nobody counts.
            let is_over = spell.until < story.end && closed_at > spell.until;
            if closed_before || (passed_by && is_over) {
                return Explanation::Edited;
            }
            if passed_by {
                return Explanation::Superseded;
            }
        }
        let over = spell.until.min(story.end);
        if self.was_suspended(name, over - story.lag(), over) {
            return Explanation::Suspended;
        }
        // What was closed before the edit was not closed by it.
        if spell.until < story.end && closed_at > spell.until {
            return Explanation::Barred;
        }
        Explanation::None
    }

    /// Whether a definition that may have been in force in a span is suspended.
    fn was_suspended(&self, name: &str, from: Nanos, until: Nanos) -> bool {
        let all = self.story.definitions(name, from, until);
        all.iter().any(|planned| planned.definition.suspend)
    }

    /// Whether daemons had all the time that they need to judge a period before state closed
    /// it: one of them at a time, or many that were cut short.
    fn attention(&self, name: &str, due: &Due, spell: &Spell, closed_at: Nanos) -> bool {
        let story = self.story;
        let reached = story.reached(due.chosen).unwrap_or(spell.from);
        let counts = |life: &Life, span: Span| {
            // Only what came due before it was there can be passed over.
            (life.ready.is_some_and(|ready| ready <= reached) || closed_at > life.until)
                && !self.was_suspended(name, span.from - story.lag(), span.until)
        };
        let spans =
            story.attention(due.chosen, spell.from.max(reached), spell.until.min(story.end));
        let spans = spans.filter(|(life, span)| counts(life, *span));
        let sum: Nanos = spans.map(|(_, span)| span.until - span.from).sum();
        sum >= PROMPT + story.slack()
    }

    /// Whether a daemon was there from before a period was due until long after, and a
    /// deadline was no obstacle.
    fn is_awake_for(&self, name: &str, due: &Due, spell: &Spell) -> bool {
        let story = self.story;
        let reached = story.reached(due.chosen).unwrap_or(spell.from);
        let (from, until) = (reached - SECOND, reached + PROMPT + story.slack());
        let definitions = story.definitions(name, reached - story.lag(), until);
        let deadline = definitions.iter().map(|d| d.definition.deadline_seconds).min();
        Nanos::from(deadline.unwrap_or(0)) * SECOND > until - reached
            && !definitions.iter().any(|d| d.definition.suspend)
            && spell.from <= from
            && until <= spell.until
            && story.attended(from, until)
    }

    fn explain_fate(
        &mut self,
        name: &str,
        due: &Due,
        spell: &Spell,
        reached: Nanos,
        fate: &Fate,
    ) -> Explanation {
        if fate.executed {
            // Recorded, and then the daemon died before the command ran, or it was
            // ended before it could write its line.
            if fate.exit_code.is_some() && !fate.signalled {
                let text = format!("state says that it ran, the record does not: {fate:?}");
                self.find(Law::SaidToHaveRun, name, due.period, reached, text);
            }
            return Explanation::Unrun;
        }
        if fate.missed {
            if self.is_awake_for(name, due, spell) {
                let text = "missed, though the daemon was there all the time";
                self.find(Law::MissedThoughAwake, name, due.period, reached, text);
            }
            return Explanation::Missed;
        }
        if fate.skipped { Explanation::Skipped } else { Explanation::None }
    }

    fn count(&mut self) {
        self.tally.runs = self.evidence.runs.len() as u64;
        for finding in &self.findings {
            match finding.law {
                Law::Duplicate => self.tally.duplicates += 1,
                Law::Unexplained => self.tally.unexplained += 1,
                _ => self.tally.violations += 1,
            }
        }
        self.tally.restarts = self.story.lives.len() as u64;
        self.tally.stops = self.story.stops.len() as u64;
        self.tally.steps = self.story.shifts.len() as u64;
        self.tally.damages = self.story.damages.len() as u64;
    }
}

/// What became of a period that came due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Explanation {
    Executed,
    Unrun,
    Missed,
    Skipped,
    Superseded,
    /// Superseded, or closed by what happened to its job since.
    Edited,
    Barred,
    Suspended,
    None,
}

impl Explanation {
    const fn counter(self, tally: &mut Tally) -> Option<&mut u64> {
        Some(match self {
            Self::Executed => &mut tally.executed,
            Self::Unrun => &mut tally.unrun,
            Self::Missed => &mut tally.missed,
            Self::Skipped => &mut tally.skipped,
            Self::Superseded | Self::Edited => &mut tally.superseded,
            Self::Barred => &mut tally.barred,
            Self::Suspended => &mut tally.suspended,
            Self::None => return None,
        })
    }
}

fn period_id(nominal: i64) -> Option<PeriodId> {
    PeriodId::new(UtcSecond::new(nominal).ok()?).ok()
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { law, name, period, at, text } = self;
        write!(f, "{law:?}: {name} {} at {:.3}: {text}", period_name(*period), *at as f64 / 1e9)
    }
}

#[cfg(test)]
mod tests;
