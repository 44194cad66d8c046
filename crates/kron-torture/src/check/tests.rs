//! Hand-made records, each of which breaks one law, and some that look odd and
//! break none.

use super::{Law, check};
use crate::evidence::{Counted, Evidence, Fate, Run, Snapshot};
use crate::jobs::{Definition, Jobs, Kind, Planned, Window};
use crate::story::{Damage, Life, Span, Story, Version};
use crate::time::{MILLI, MINUTE, Nanos, SECOND, nanos};
use kron_core::{PeriodId, UtcSecond, Zones};
use std::sync::Arc;

/// Noon of a day in 2030, at which everything begins.
const NOON: Nanos = 1_906_718_400 * SECOND;
const END: Nanos = NOON + 10 * MINUTE;

fn planned(edit: impl FnOnce(&mut Definition)) -> Arc<Planned> {
    let mut definition = Definition {
        window: Window::After(59),
        salt: 0,
        deadline_seconds: 20,
        concurrency: "forbid",
        suspend: false,
        kind: Kind::Quick,
    };
    edit(&mut definition);
    Arc::new(Planned::new("/jobs.kron:j", definition, &mut Zones::bundled()).unwrap())
}

fn jobs(planned: Arc<Planned>) -> Jobs {
    Jobs::from([("j".into(), planned)])
}

/// A daemon that was killed.
fn life(ready: Nanos, until: Nanos) -> Life {
    Life { ready: Some(ready), until, is_clean: false }
}

/// A story, and what was seen of it.
struct Case {
    story: Story,
    evidence: Evidence,
    /// Periods that come due, with their chosen times.
    due: Vec<(i64, Nanos)>,
}

impl Case {
    /// A daemon that did everything right for ten minutes, with one job.
    fn good() -> Self {
        let job = planned(|_| {});
        let mut due = Vec::new();
        let mut after = UtcSecond::new(NOON / SECOND).unwrap();
        while let Some(period) = job.job.next_period(after)
            && nanos(period.nominal()) < END - 2 * MINUTE
        {
            after = period.nominal();
            let chosen = nanos(job.job.decide(period).chosen().unwrap());
            due.push((after.unix_seconds(), chosen));
        }
        let written = NOON - SECOND;
        let story = Story {
            lives: vec![life(NOON, END)],
            shifts: vec![(NOON - MINUTE, 0)],
            versions: vec![Version { written, settled: Some(NOON), jobs: jobs(job) }],
            end: due.last().unwrap().1 + 3 * SECOND,
            ..Story::default()
        };
        let mut case = Self { story, evidence: Evidence::default(), due };
        // The period of noon itself is due, too, if its second was still ahead.
        let first = case.story.versions[0].jobs["j"]
            .job
            .prev_period(UtcSecond::new(NOON / SECOND).unwrap());
        if let Some(period) = first {
            let planned = &case.story.versions[0].jobs["j"];
            let chosen = nanos(planned.job.decide(period).chosen().unwrap());
            if chosen >= NOON {
                case.due.insert(0, (period.nominal().unix_seconds(), chosen));
            }
        }
        for (period, chosen) in case.due.clone() {
            case.ran(period, chosen + 10 * MILLI);
        }
        let through = case.due.last().map(|(period, _)| *period);
        case.snapshot(END, through);
        case
    }

    fn ran(&mut self, period: i64, at: Nanos) {
        self.evidence.runs.push(Run { name: "j".into(), period, pid: 1, at });
        let fate = Fate {
            executed: true,
            exit_code: Some(0),
            started: Some(at - 5 * MILLI),
            noted: Some(END),
            ..Fate::default()
        };
        self.evidence.fates.insert(("j".into(), period), fate);
    }

    /// Written in the last moment of a life.
    fn snapshot(&mut self, at: Nanos, through: Option<i64>) {
        let snapshot = Snapshot { at, through, written: at, ..Snapshot::default() };
        self.evidence.snapshots.entry("j".into()).or_default().push(snapshot);
    }

    fn did_not_run(&mut self, nth: usize) {
        let period = self.due[nth].0;
        self.evidence.runs.retain(|run| run.period != period);
        self.evidence.fates.remove(&("j".into(), period));
    }

    fn fate(&mut self, nth: usize) -> &mut Fate {
        self.evidence.fates.entry(("j".into(), self.due[nth].0)).or_default()
    }

    /// The nth was missed, so much later than it was due.
    fn missed(&mut self, nth: usize, by: Nanos) -> &mut Fate {
        self.did_not_run(nth);
        let closed = Some(self.due[nth].1 + by);
        *self.fate(nth) = Fate { missed: true, closed, noted: Some(END), ..Fate::default() };
        self.fate(nth)
    }

    /// The nth was skipped, so much later than it was due; the one before had begun so
    /// much earlier.
    fn skipped(&mut self, nth: usize, by: Nanos, after: Nanos) {
        self.did_not_run(nth);
        let at = self.due[nth].1 + by;
        self.evidence.runs[nth - 1].at = at - after;
        self.fate(nth - 1).started = Some(at - after);
        *self.fate(nth) =
            Fate { skipped: true, closed: Some(at), noted: Some(END), ..Fate::default() };
    }

    /// The only definition there is is another.
    fn define(&mut self, edit: impl FnOnce(&mut Definition)) {
        self.story.versions[0].jobs = jobs(planned(edit));
    }

    /// The log of a life says so much of periods passed over.
    fn counted(&mut self, until: Nanos, superseded: u64) -> &mut Counted {
        let counted = self.evidence.counted.entry(("j".into(), until)).or_default();
        counted.superseded = superseded;
        counted
    }

    /// Another definition, in force from a time on.
    fn edited(&mut self, at: Nanos, edit: impl FnOnce(&mut Definition)) {
        let version = Version { written: at, settled: Some(at + MILLI), jobs: jobs(planned(edit)) };
        self.story.versions.push(version);
    }
}

#[track_caller]
fn row(name: &str, expected: &[Law], change: impl FnOnce(&mut Case)) {
    let mut case = Case::good();
    change(&mut case);
    let (tally, findings) = check(&case.story, &case.evidence);
    let laws: Vec<Law> = findings.iter().map(|finding| finding.law).collect();
    assert_eq!(laws, expected, "{name}: {findings:#?}");
    assert_eq!(tally.is_clean(), expected.is_empty(), "{name}");
}

#[test]
fn a_good_record_is_clean() {
    row("good", &[], |_| {});
}

#[test]
fn what_ran() {
    row("twice", &[Law::Duplicate], |case| {
        let (period, chosen) = case.due[3];
        case.ran(period, chosen + SECOND);
    });
    row("early", &[Law::Early], |case| {
        case.evidence.runs[3].at = case.due[3].1 - MILLI;
    });
    row("as early as a clock that was set allows", &[], |case| {
        case.evidence.runs[3].at = case.due[3].1 - 500 * MILLI;
        case.story.shifts.push((case.due[3].1 - SECOND, 600 * MILLI));
    });
    row("late", &[Law::Late], |case| {
        case.evidence.runs[3].at = case.due[3].1 + 24 * SECOND;
    });
    // The start was recorded so much after it was due, and then or before it was stopped.
    let late = |started: Nanos, stopped: Nanos| {
        move |case: &mut Case| {
            let chosen = case.due[3].1;
            case.evidence.runs[3].at = chosen + 26 * SECOND;
            case.fate(3).started = Some(chosen + started);
            let span = Span { from: chosen + stopped, until: chosen + 25 * SECOND };
            case.story.stops.push(span);
        }
    };
    row("late after a stop that began before it was due", &[Law::Late], late(MILLI, -SECOND));
    row("late after a stop that began when it was recorded", &[], late(MILLI, MILLI));
    row("late after one that began before that", &[Law::Late], late(25 * SECOND, MILLI));
    row("late after a stop, and nobody knows when it was recorded", &[Law::Late], |case| {
        late(MILLI, MILLI)(case);
        case.fate(3).started = None;
    });
    let prepared = |by: Nanos| {
        move |case: &mut Case| {
            let started = case.due[3].1 + by;
            case.fate(3).started = Some(started);
            case.evidence.runs[3].at = started + 5 * SECOND;
            case.story.stops.push(Span { from: started, until: started + 5 * SECOND });
            // It takes so long that what follows is in its way.
            case.evidence.runs.truncate(4);
            case.story.end = case.due[4].1 - SECOND;
        }
    };
    row("recorded when it was late, within what it takes", &[Law::Late], prepared(29 * SECOND));
    row("recorded when it was late, then stopped for long", &[], |case| {
        prepared(22 * SECOND)(case);
    });
    row("recorded much too late, then stopped for long", &[Law::Late], |case| {
        prepared(31 * SECOND)(case);
        case.evidence.runs[3].at += 20 * SECOND;
        case.story.stops[0].until += 20 * SECOND;
    });
    row("beside another", &[Law::Overlap], |case| {
        case.evidence.overlaps.push(case.evidence.runs[3].clone());
    });
    let beside = |name: Option<&str>, after: Nanos| {
        let name = name.map(String::from);
        move |case: &mut Case| {
            let run = case.evidence.runs[3].clone();
            case.story.damages.push(Damage { at: run.at + after, name });
            case.evidence.overlaps.push(run);
            // What else follows from damage is not what this is about.
            case.evidence.snapshots.clear();
        }
    };
    row("beside another that lost state cannot know of", &[], beside(Some("j"), -SECOND));
    row("that was lost later", &[Law::Overlap], beside(Some("j"), SECOND));
    row("that was lost long before", &[Law::Overlap], beside(Some("j"), -MINUTE / 2 - SECOND));
    row("that another lost", &[Law::Overlap], beside(Some("other"), -SECOND));
    row("that only the roster lost", &[Law::Overlap], beside(None, -SECOND));
    row("state knows nothing of it", &[Law::Unrecorded], |case| {
        case.fate(3).executed = false;
    });
}

#[test]
fn what_should_not_have_run() {
    row("suspended", &[Law::Suspended], |case| {
        case.edited(case.due[3].1 - 10 * SECOND, |definition| definition.suspend = true);
        case.edited(case.due[3].1 + 5 * SECOND, |_| {});
    });
    row("suspended too late", &[], |case| {
        case.edited(case.due[3].1 - MILLI, |definition| definition.suspend = true);
        case.edited(case.due[3].1 + 5 * SECOND, |_| {});
    });
    row("removed", &[Law::Suspended], |case| {
        case.edited(case.due[3].1 - 10 * SECOND, |_| {});
        case.story.versions.last_mut().unwrap().jobs.clear();
        case.edited(case.due[3].1 + 5 * SECOND, |_| {});
    });
    row("due before its job was new", &[Law::BeforeBar], |case| {
        // Configured five seconds after the period was due, which ran ten seconds late.
        let chosen = case.due[0].1;
        case.evidence.runs[0].at = chosen + 10 * SECOND;
        let version = &mut case.story.versions[0];
        (version.written, version.settled) = (chosen + 4 * SECOND, Some(chosen + 5 * SECOND));
    });
}

#[test]
fn what_did_not_run() {
    row("nothing said", &[Law::Unexplained], |case| case.did_not_run(3));
    row("missed, with a reason", &[], |case| {
        case.missed(3, 20 * SECOND + 1);
        case.story.lives.insert(0, life(NOON, case.due[3].1 - SECOND));
        case.story.lives[1].ready = Some(case.due[3].1 + 20 * SECOND);
    });
    // Its deadline, and when it was missed.
    let missed = |deadline: u32, by: Nanos| {
        move |case: &mut Case| {
            case.define(|definition| definition.deadline_seconds = deadline);
            case.missed(3, by);
            case.story.lives.insert(0, life(NOON, case.due[3].1 - SECOND));
            case.story.lives[1].ready = Some(case.due[3].1 + MILLI);
        }
    };
    row("missed at its deadline", &[Law::MissedInTime], missed(20, 20 * SECOND));
    row("missed after it", &[], missed(20, 20 * SECOND + 1));
    row("missed within the second", &[Law::MissedInTime], missed(0, SECOND - 1));
    row("missed after the second", &[], missed(0, SECOND));
    row("missed, and nobody says when", &[Law::MissedInTime], |case| {
        missed(0, SECOND)(case);
        case.fate(3).closed = None;
    });
    row("missed by the deadline before an edit", &[], |case| {
        missed(20, 3 * SECOND)(case);
        let before = planned(|definition| definition.deadline_seconds = 2);
        case.story.versions[0].jobs = jobs(before);
        case.edited(case.due[3].1 + 2 * SECOND, |_| {});
    });
    row("missed by a clock that was ahead", &[], |case| {
        missed(20, MINUTE)(case);
        let at = case.due[3].1;
        case.story.shifts.extend([(at, MINUTE), (at + SECOND, 0)]);
    });
    row("missed without one", &[Law::NoReason], |case| {
        missed(20, 21 * SECOND)(case);
        case.fate(3).reasonless = true;
    });
    let there = |until: Nanos| {
        move |case: &mut Case| {
            // Nobody was there any more when its deadline came, and then somebody was.
            case.missed(3, 21 * SECOND);
            case.story.lives.insert(0, life(NOON, case.due[3].1 + until));
            case.story.lives[1].ready = Some(case.due[3].1 + 20 * SECOND);
        }
    };
    row("missed with the daemon there", &[Law::MissedThoughAwake], |case| {
        case.missed(3, 21 * SECOND);
    });
    row("missed, though it was there for seconds", &[Law::MissedThoughAwake], there(6 * SECOND));
    row("missed by one that had not the time", &[], there(4 * SECOND));
    row("missed by one on a busy machine", &[], |case| {
        there(6 * SECOND)(case);
        case.story.slowest_start = SECOND;
    });
    row("two outcomes", &[Law::Contradiction], |case| {
        let late = case.due[3].1 + 21 * SECOND;
        let fate = case.fate(3);
        (fate.missed, fate.closed) = (true, Some(late));
    });
    row("died between record and release", &[], |case| {
        case.did_not_run(3);
        case.fate(3).executed = true;
    });
    row("said to have ended well", &[Law::SaidToHaveRun], |case| {
        case.did_not_run(3);
        *case.fate(3) = Fate { executed: true, exit_code: Some(0), ..Fate::default() };
    });
    row("ended by a signal before its line", &[], |case| {
        case.did_not_run(3);
        let fate =
            Fate { executed: true, exit_code: Some(143), signalled: true, ..Fate::default() };
        *case.fate(3) = fate;
    });
}

/// A daemon that was away from before the fourth was due until after the fifth.
fn absence(case: &mut Case) -> (Nanos, Nanos) {
    let (from, until) = (case.due[3].1 - SECOND, case.due[4].1 + SECOND);
    case.did_not_run(3);
    case.story.lives = vec![life(NOON, from), life(until, END)];
    (from, until)
}

#[test]
fn what_was_skipped() {
    let skipped = |kind: Kind, concurrency: &'static str, after: Nanos| {
        move |case: &mut Case| {
            case.define(|definition| {
                (definition.kind, definition.concurrency) = (kind, concurrency);
                definition.deadline_seconds = 600;
            });
            case.skipped(3, 0, after);
        }
    };
    let slow = Kind::Slow(25_000);
    row("skipped", &[], skipped(slow, "forbid", 20 * SECOND));
    row("skipped after the other's end", &[Law::SkippedFreely], {
        skipped(slow, "forbid", 30 * SECOND)
    });
    row("skipped after one that is quick", &[Law::SkippedFreely], {
        skipped(Kind::Quick, "forbid", 20 * SECOND)
    });
    row("skipped, by what allows", &[Law::SkippedFreely], skipped(slow, "allow", 20 * SECOND));
    row("skipped, by what replaces", &[Law::SkippedFreely], {
        skipped(slow, "replace", 20 * SECOND)
    });
    row("skipped, and the other wrote no line", &[], |case| {
        skipped(slow, "forbid", 20 * SECOND)(case);
        case.evidence.runs.remove(2);
        *case.fate(2) = Fate { exit_code: None, ..case.fate(2).clone() };
    });
    row("skipped after an end that nobody saw", &[], |case| {
        skipped(slow, "forbid", 35 * SECOND)(case);
        let at = case.due[3].1;
        case.story.stops.push(Span { from: at - 15 * SECOND, until: at });
    });
}

#[test]
fn what_was_counted() {
    // The fourth was passed over by the second daemon, which lived on or did not.
    let passed = |count: u64, written: Nanos| {
        move |case: &mut Case| {
            let (_, until) = absence(case);
            case.evidence.runs[3].at = case.due[4].1 + SECOND;
            case.evidence.snapshots.clear();
            case.snapshot(END, case.due.last().map(|(period, _)| *period));
            let snapshot = &mut case.evidence.snapshots.get_mut("j").unwrap()[0];
            snapshot.written = until + written;
            case.counted(END, count);
            END - until
        }
    };
    row("superseded and counted", &[], |case| {
        passed(1, MILLI)(case);
    });
    row("superseded, by a daemon that lived on", &[Law::Uncounted], |case| {
        passed(0, MILLI)(case);
    });
    row("superseded, and killed at once", &[], |case| {
        let lived = passed(0, MILLI)(case);
        passed(0, lived - MILLI)(case);
    });
    row("superseded, killed and stopped before", &[], |case| {
        let lived = passed(0, MILLI)(case);
        passed(0, lived - 3 * SECOND)(case);
        case.story.stops.push(Span { from: END - 3 * SECOND, until: END });
    });
    row("superseded, and it ended as it should", &[Law::Uncounted], |case| {
        let lived = passed(0, MILLI)(case);
        passed(0, lived - MILLI)(case);
        case.story.lives[1].is_clean = true;
    });
    row("superseded, and what came after it is told", &[Law::Uncounted], |case| {
        let lived = passed(0, MILLI)(case);
        passed(0, lived - MILLI)(case);
        let judged = case.due[4].1;
        case.counted(END, 0).judged = Some(judged);
    });
    row("superseded, or closed with what its job lost", &[], |case| {
        passed(0, MILLI)(case);
        case.story.damages.push(Damage { at: case.due[4].1 - MINUTE / 2, name: None });
    });
    row("superseded, as many at least", &[], |case| {
        passed(0, MILLI)(case);
        case.counted(END, 0).is_at_least = true;
    });
}

#[test]
fn what_nobody_judged() {
    row("superseded by a later one", &[], |case| {
        absence(case);
        case.counted(END, 1);
        case.evidence.runs[3].at = case.due[4].1 + SECOND;
    });
    row("superseded by nothing", &[Law::Unexplained], |case| {
        absence(case);
        let period = case.due[3].0;
        // State closes it before the next was due.
        let at = case.due[4].1 - 30 * SECOND;
        let snapshots = case.evidence.snapshots.entry("j".into()).or_default();
        snapshots.insert(0, Snapshot { at, through: Some(period), ..Snapshot::default() });
        case.evidence.runs[3].at = case.due[4].1 + SECOND;
    });
    row("barred by an edit", &[], |case| {
        let (_, until) = absence(case);
        case.edited(case.due[4].1 - 500 * MILLI, |definition| definition.salt = 1);
        case.story.versions[1].settled = Some(until);
        // What comes after the edit is another matter.
        case.story.end = until + SECOND;
        case.evidence.runs.truncate(3);
        case.evidence.snapshots.clear();
    });
    // Due, and nobody did anything until its job was edited, much later.
    let edited_late = |lives: &[(Nanos, Nanos)], closed_at: Option<Nanos>| {
        let lives = lives.to_vec();
        move |case: &mut Case| {
            let chosen = case.due[3].1;
            case.evidence.runs.truncate(3);
            case.evidence.fates.retain(|(_, period), _| *period < case.due[3].0);
            let lives = lives.iter().map(|(from, until)| life(chosen + from, chosen + until));
            case.story.lives = vec![life(NOON, chosen - SECOND)];
            case.story.lives.extend(lives);
            case.edited(chosen + 20 * SECOND, |definition| definition.salt = 1);
            case.story.end = chosen + 21 * SECOND;
            case.evidence.snapshots.clear();
            if let Some(at) = closed_at {
                case.snapshot(chosen + at, Some(case.due[3].0));
            }
        }
    };
    let short: Vec<_> = (0..12).map(|n| (n * SECOND + MILLI, n * SECOND + 500 * MILLI)).collect();
    let all =
        |length: Nanos| short.iter().map(|(from, _)| (*from, from + length)).collect::<Vec<_>>();
    row("barred, and nobody was there", &[], edited_late(&[], None));
    row("barred, by some cut short", &[], edited_late(&short[..6], None));
    row("barred, and a daemon was there", &[Law::Unexplained], {
        edited_late(&[(SECOND, 7 * SECOND)], None)
    });
    row("barred, and many were there", &[Law::Unexplained], edited_late(&short, None));
    row("barred, and many had no chance", &[], |case| {
        edited_late(&all(190 * MILLI), None)(case);
        case.story.slowest_start = 100 * MILLI;
    });
    row("closed before the edit, by nothing", &[Law::Unexplained], {
        edited_late(&[(SECOND, 2 * SECOND)], Some(2 * SECOND))
    });
    row("closed by the edit", &[], edited_late(&[(SECOND, 2 * SECOND)], Some(21 * SECOND)));
    row("there, by a clock that was set back", &[], |case| {
        edited_late(&[(SECOND, 7 * SECOND)], None)(case);
        let chosen = case.due[3].1;
        case.story.shifts.extend([(chosen + SECOND / 2, -MINUTE), (chosen + 8 * SECOND, 0)]);
    });
    row("ignored, and then superseded", &[Law::Unexplained], |case| {
        let (from, until) = absence(case);
        case.evidence.runs[3].at = case.due[4].1 + SECOND;
        case.story.lives.insert(1, life(from + 2 * SECOND, from + 8 * SECOND));
        case.snapshot(from + 8 * SECOND, Some(case.due[2].0));
        case.snapshot(until + SECOND, Some(case.due[4].0));
        case.evidence.snapshots.get_mut("j").unwrap().sort_by_key(|snapshot| snapshot.at);
    });
    row("closed by an earlier definition", &[], |case| {
        // Superseded as it was; the edit chooses a later second for it.
        let (_, until) = absence(case);
        let edited = planned(|definition| definition.salt = 1);
        let later = |case: &Case, period: i64| {
            let period = PeriodId::new(UtcSecond::new(period).unwrap()).unwrap();
            nanos(edited.job.decide(period).chosen().unwrap()) - case.due[4].1
        };
        let closed = case.due[3].0;
        case.edited(until + SECOND, |definition| definition.salt = 1);
        case.story.end = until + 2 * SECOND + later(case, closed).max(0);
        case.evidence.runs.retain(|run| run.period <= case.due[4].0);
        case.evidence.snapshots.clear();
        case.snapshot(until + MILLI, Some(case.due[4].0));
    });
    row("still suspended", &[], |case| {
        let last = case.due.len() - 1;
        case.did_not_run(last);
        let at = case.due[last].1 - 10 * SECOND;
        case.edited(at, |definition| definition.suspend = true);
        case.evidence.snapshots.clear();
        case.story.end += 10 * SECOND;
    });
}

/// Laws that depend on how long a daemon was there: how often it was is counted.
#[test]
fn what_was_watched() {
    let case = Case::good();
    let (tally, _) = check(&case.story, &case.evidence);
    // All but what came due in the last seconds.
    assert_eq!((tally.due, tally.awake, tally.attended), (8, 7, 7));
    let mut case = Case::good();
    case.story.lives[0].until = NOON;
    let (tally, _) = check(&case.story, &case.evidence);
    assert_eq!((tally.awake, tally.attended), (0, 0));
    // The figure is of the law: a later daemon that found it closed was no chance.
    let mut case = Case::good();
    let closed = case.due[3].1 + SECOND;
    case.story.lives = vec![life(NOON, case.due[3].1 - SECOND), life(closed + SECOND, END)];
    case.evidence.snapshots.clear();
    case.snapshot(case.due[3].1 - SECOND, Some(case.due[3].0));
    case.snapshot(END, case.due.last().map(|(period, _)| *period));
    let (tally, _) = check(&case.story, &case.evidence);
    assert_eq!((tally.due, tally.attended), (8, 6));
}

#[test]
fn what_state_says() {
    row("marks went back", &[Law::MarksWentBack], |case| {
        case.snapshot(END + SECOND, Some(case.due[1].0));
    });
    row("marks went back with the file", &[], |case| {
        case.story.damages.push(Damage { at: END, name: Some("j".into()) });
        case.snapshot(END + SECOND, Some(case.due[1].0));
    });
    for name in [Some("other"), None] {
        row("marks went back with another's file", &[Law::MarksWentBack], |case| {
            case.story.damages.push(Damage { at: END, name: name.map(String::from) });
            case.snapshot(END + SECOND, Some(case.due[1].0));
        });
    }
    row("unreadable", &[Law::Unreadable], |case| {
        case.evidence.read_state("j", b"{", END, END);
    });
    row("a line that is no line", &[Law::Unreadable], |case| {
        case.evidence.read_record("R\t/jobs.kron:j\t2030\n");
    });
}
