//! Hand-made records, each of which breaks one law, and some that look odd and
//! break none.

use super::{Law, check};
use crate::evidence::{Evidence, Fate, Run, Snapshot};
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
            lives: vec![Life { ready: Some(NOON), until: END }],
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
        let fate = Fate { executed: true, exit_code: Some(0), ..Fate::default() };
        self.evidence.fates.insert(("j".into(), period), fate);
    }

    fn snapshot(&mut self, at: Nanos, through: Option<i64>) {
        let snapshot = Snapshot { at, through, ..Snapshot::default() };
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
    row("late after a stop that began before it was due", &[Law::Late], |case| {
        let chosen = case.due[3].1;
        case.evidence.runs[3].at = chosen + 26 * SECOND;
        case.story.stops.push(Span { from: chosen - SECOND, until: chosen + 25 * SECOND });
    });
    row("late after a stop that began when it was judged", &[], |case| {
        let chosen = case.due[3].1;
        case.evidence.runs[3].at = chosen + 26 * SECOND;
        case.story.stops.push(Span { from: chosen + MILLI, until: chosen + 25 * SECOND });
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
        case.did_not_run(3);
        case.fate(3).missed = true;
        case.story.lives[0].until = case.due[3].1 - SECOND;
    });
    row("missed without one", &[Law::NoReason], |case| {
        case.did_not_run(3);
        *case.fate(3) = Fate { missed: true, reasonless: true, ..Fate::default() };
        case.story.lives[0].until = case.due[3].1 - SECOND;
    });
    row("missed with the daemon there", &[Law::MissedThoughAwake], |case| {
        case.did_not_run(3);
        case.fate(3).missed = true;
    });
    row("missed, though it was there for seconds", &[Law::MissedThoughAwake], |case| {
        // Nobody was there any more when its deadline came.
        case.did_not_run(3);
        case.fate(3).missed = true;
        case.story.lives[0].until = case.due[3].1 + 6 * SECOND;
    });
    row("missed by one that had not the time", &[], |case| {
        case.did_not_run(3);
        case.fate(3).missed = true;
        case.story.lives[0].until = case.due[3].1 + 4 * SECOND;
    });
    row("missed by one on a busy machine", &[], |case| {
        case.did_not_run(3);
        case.fate(3).missed = true;
        case.story.slowest_start = SECOND;
        case.story.lives[0].until = case.due[3].1 + 6 * SECOND;
    });
    row("skipped", &[], |case| {
        case.did_not_run(3);
        case.fate(3).skipped = true;
    });
    row("two outcomes", &[Law::Contradiction], |case| case.fate(3).missed = true);
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

#[test]
fn what_nobody_judged() {
    // A daemon that was away from before the fourth until after the fifth.
    let absence = |case: &mut Case| {
        let (from, until) = (case.due[3].1 - SECOND, case.due[4].1 + SECOND);
        case.did_not_run(3);
        case.story.lives =
            vec![Life { ready: Some(NOON), until: from }, Life { ready: Some(until), until: END }];
        (from, until)
    };
    row("superseded by a later one", &[], |case| {
        absence(case);
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
            let life = |(from, until): &(Nanos, Nanos)| Life {
                ready: Some(chosen + from),
                until: chosen + until,
            };
            case.story.lives = vec![Life { ready: Some(NOON), until: chosen - SECOND }];
            case.story.lives.extend(lives.iter().map(life));
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
        let life = Life { ready: Some(from + 2 * SECOND), until: from + 8 * SECOND };
        case.story.lives.insert(1, life);
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
        case.evidence.read_state("j", b"{", END);
    });
    row("a line that is no line", &[Law::Unreadable], |case| {
        case.evidence.read_record("R\t/jobs.kron:j\t2030\n");
    });
}
