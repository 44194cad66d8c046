//! Histories made by hand that break a law: the checker must name it.
//!
//! Each is a good history of one job with one thing wrong. The good one, which all
//! share, must pass: otherwise the bad ones would prove nothing.

use core::time::Duration;
use kron_core::line::{Level, Line};
use kron_core::{Job, Outcome, PeriodId, Record, UtcInstant, UtcSecond, Zones};
use kron_engine::event::{RunId, Shutdown};
use kron_engine::settings::Settings;
use kron_sim::check::Checker;
use kron_sim::fact::{Fact, OnDisk, Recorded, Time};
use kron_sim::law::Law;
use kron_sim::scenario::Definition;
use std::borrow::Cow;
use std::rc::Rc;

const BEGIN: &str = "2026-03-02T09:59:30Z";

/// A history as it is told to a checker.
struct History {
    checker: Checker,
    zones: Zones,
    job: Rc<Definition>,
    seconds: u64,
    /// What the wall is set away from true time, in seconds.
    shift: i64,
    broken: Option<Law>,
}

impl History {
    fn of(policy: &str, settings: Settings) -> Self {
        let job = Definition {
            name: "a".into(),
            timing: "* * * * *".into(),
            policy: policy.into(),
            suspend: false,
            timeout: Some(Duration::from_secs(20)),
        };
        Self {
            checker: Checker::new(settings),
            zones: Zones::bundled(),
            job: Rc::new(job),
            seconds: 0,
            shift: 0,
            broken: None,
        }
    }

    fn time(&self) -> Time {
        let begin: UtcInstant = BEGIN.parse().unwrap();
        let seconds = begin.unix_seconds() + self.seconds as i64 + self.shift;
        let wall = UtcSecond::new(seconds).unwrap().instant();
        let true_time = Duration::from_secs(self.seconds);
        Time { true_time, awake: true_time, wall }
    }

    fn note(&mut self, fact: Fact) {
        let time = self.time();
        if let Err(breach) = self.checker.note(time, fact, &mut self.zones) {
            self.broken.get_or_insert(breach.law);
        }
    }

    /// Something is heard by a daemon that had asked to be woken at the last minute.
    fn hear(&mut self, what: &'static str) {
        let wall = self.time().wall.unix_seconds();
        self.hear_planned(what, UtcSecond::new(wall - wall % 60).unwrap().instant());
    }

    fn hear_planned(&mut self, what: &'static str, planned: UtcInstant) {
        let overdue = Duration::ZERO;
        self.note(Fact::Heard { what, planned: Some(planned), overdue, idle: false });
    }

    fn at(&mut self, seconds: u64) {
        self.seconds = seconds;
    }

    /// A daemon starts with the job as it is.
    fn start(&mut self, found: OnDisk) {
        self.note(Fact::Started);
        self.hear("reload");
        let identity = self.identity();
        self.note(Fact::LookedUp { identity, found, survived: false, alive: Vec::new() });
        self.configure();
    }

    /// The job is another from here on.
    fn edit(&mut self, change: impl FnOnce(&mut Definition)) {
        change(Rc::make_mut(&mut self.job));
        self.hear("reload");
        self.configure();
    }

    /// It is missed, and that is recorded and told.
    fn miss(&mut self, minute: u32) {
        self.hear("tick");
        self.decide(minute);
        self.commit(minute, Outcome::Missed);
        self.outcome(minute, Outcome::Missed);
    }

    fn configure(&mut self) {
        self.note(Fact::Configured(vec![Rc::clone(&self.job)]));
        self.note(Fact::Confirmed);
    }

    fn identity(&self) -> Rc<str> {
        self.job.identity().into()
    }

    fn core(&mut self) -> Job {
        Job::parse(&self.job.identity(), &self.job.schedule(), &mut self.zones).unwrap()
    }

    fn decide(&mut self, minute: u32) {
        let core = self.core();
        let decision = core.decide(period(minute));
        let record = Record::of(&decision, &self.zones);
        let mut line = Line::new(Level::Info, "decision");
        line.fields = record.log_fields();
        self.note(Fact::Said(line));
    }

    fn prepare(&mut self, run: u64, minute: u32) {
        let (run, identity, period) = (RunId(run), self.identity(), period(minute));
        self.note(Fact::Prepare { run, identity, period, chosen: period.nominal() });
    }

    fn commit(&mut self, minute: u32, outcome: Outcome) {
        let (identity, period) = (self.identity(), period(minute));
        self.note(Fact::Commit(vec![Recorded { identity, period, outcome }]));
        self.note(Fact::Committed);
        self.hear("committed");
    }

    fn outcome(&mut self, minute: u32, outcome: Outcome) {
        let core = self.core();
        let decision = core.decide(period(minute));
        let mut line = Line::new(Level::Info, "outcome")
            .with("identity", self.identity())
            .with("period_id", period(minute))
            .with_some("chosen_time", decision.chosen())
            .with("outcome", outcome)
            .with("seed_hash", decision.seed_hash());
        if outcome != Outcome::Executed {
            line = line.with("reason", "because");
        }
        self.note(Fact::Said(line));
    }

    /// The whole way of a run, up to where its command runs.
    fn run(&mut self, run: u64, minute: u32) {
        self.hear("tick");
        self.decide(minute);
        self.prepare(run, minute);
        self.note(Fact::AtGate { run: RunId(run) });
        self.hear("prepared");
        self.commit(minute, Outcome::Executed);
        self.note(Fact::Released { run: RunId(run), process: run, durable: true });
        self.outcome(minute, Outcome::Executed);
    }

    /// A try that comes to nothing.
    fn fail(&mut self, run: u64, minute: u32) {
        self.hear("tick");
        self.decide(minute);
        self.prepare(run, minute);
        self.note(Fact::NotMade { run: RunId(run) });
        self.hear("unprepared");
    }

    /// It is told how many were passed over.
    fn pass_over(&mut self, count: u32) {
        let line = Line::new(Level::Info, "superseded").with("identity", self.identity());
        self.note(Fact::Said(line.with("count", count)));
    }

    fn end(&mut self, run: u64) {
        self.note(Fact::Ended { process: run });
        self.hear("exited");
        self.note(Fact::Forgotten { run: RunId(run) });
    }

    fn finish(mut self) -> Option<Law> {
        let time = self.time();
        if let Err(breach) = self.checker.finish(time, &mut self.zones) {
            self.broken.get_or_insert(breach.law);
        }
        self.broken
    }
}

/// The period at this minute after ten.
fn period(minute: u32) -> PeriodId {
    format!("2026-03-02T10:{minute:02}:00Z").parse().unwrap()
}

/// Tells a history and looks which law it breaks.
fn check(expected: Option<Law>, policy: &str, tell: impl FnOnce(&mut History)) {
    let settings = Settings { max_running: Some(2), ..Settings::default() };
    let mut history = History::of(policy, settings);
    history.start(OnDisk::Nothing);
    tell(&mut history);
    assert_eq!(history.finish(), expected);
}

const REPLACE: &str = "concurrency=replace,deadline=0s";
const FORBID: &str = "concurrency=forbid,deadline=0s";
const ALLOW: &str = "concurrency=allow,deadline=10m";

#[test]
fn a_good_history_passes() {
    check(None, FORBID, |h| {
        h.at(30);
        h.run(1, 0);
        h.at(40);
        h.end(1);
        h.at(90);
        h.run(2, 1);
        h.end(2);
    });
}

/// CORE-50.
#[test]
fn one_run() {
    check(Some(Law::OneRun), ALLOW, |h| {
        h.at(30);
        h.run(1, 0);
        h.end(1);
        h.prepare(2, 0);
    });
}

/// CORE-47, CORE-49.
#[test]
fn closed() {
    check(Some(Law::Closed), FORBID, |h| {
        h.at(40);
        h.hear("tick");
        h.decide(0);
        h.commit(0, Outcome::Missed);
        h.outcome(0, Outcome::Missed);
        h.prepare(1, 0);
    });
}

/// CORE-40.
#[test]
fn not_early() {
    check(Some(Law::NotEarly), FORBID, |h| {
        h.at(29);
        h.hear("tick");
        h.decide(0);
        h.prepare(1, 0);
    });
}

/// CORE-42, ERR-32.
#[test]
fn not_late() {
    check(Some(Law::NotLate), FORBID, |h| {
        h.at(31);
        h.hear("tick");
        h.decide(0);
        h.prepare(1, 0);
    });
}

/// CORE-43.
#[test]
fn missed_too_soon() {
    check(Some(Law::Missed), ALLOW, |h| {
        h.at(40);
        h.hear("tick");
        h.decide(0);
        h.commit(0, Outcome::Missed);
        h.outcome(0, Outcome::Missed);
    });
}

/// CORE-42: looked at in time, and put off.
#[test]
fn missed_though_in_time() {
    check(Some(Law::Missed), FORBID, |h| {
        h.at(30);
        h.hear("tick");
        h.at(32);
        h.miss(0);
    });
    // A try that failed is in its way.
    check(None, FORBID, |h| {
        h.at(30);
        h.fail(1, 0);
        h.at(31);
        h.miss(0);
    });
    // Nobody looked: whoever asked to be woken is not to blame.
    check(None, FORBID, |h| {
        h.at(32);
        h.miss(0);
    });
    check(Some(Law::Missed), FORBID, |h| {
        h.at(32);
        let late = h.time().wall;
        h.hear_planned("tick", late);
        h.decide(0);
        h.commit(0, Outcome::Missed);
    });
}

/// The deadline in force counts, not one before it.
#[test]
fn missed_by_an_old_deadline() {
    check(Some(Law::Missed), FORBID, |h| {
        h.at(10);
        h.edit(|job| job.policy = ALLOW.into());
        h.at(40);
        h.miss(0);
    });
    // What was judged before the edit may be on its way when it comes.
    check(None, FORBID, |h| {
        h.at(32);
        h.hear("tick");
        h.decide(0);
        let (identity, period) = (h.identity(), period(0));
        h.note(Fact::Commit(vec![Recorded { identity, period, outcome: Outcome::Missed }]));
        h.edit(|job| job.policy = ALLOW.into());
        h.note(Fact::Committed);
        h.hear("committed");
        h.outcome(0, Outcome::Missed);
    });
}

/// What was judged while a batch was on its way is held to what was known then, though the
/// clock went back before it could be sent on its way itself: some time before the answer, or
/// so that the answer is the first to show it.
#[test]
fn missed_before_the_clock_went_back() {
    let tell = |h: &mut History, was_tried: bool, is_late: bool| {
        h.at(10);
        h.hear("tick");
        h.note(Fact::Commit(Vec::new()));
        h.at(30);
        if was_tried {
            h.fail(1, 0);
        } else {
            h.hear("tick");
        }
        h.at(31);
        h.hear("tick");
        h.shift = -12;
        h.at(32);
        if is_late {
            h.hear("tick");
            h.at(45);
        }
        h.note(Fact::Committed);
        h.hear_planned("committed", period(1).nominal().instant());
        h.commit(0, Outcome::Missed);
        h.outcome(0, Outcome::Missed);
    };
    // What is named is what is wrong with the last moment at which it can have been judged.
    for (is_late, law) in [(true, Law::Missed), (false, Law::NotEarly)] {
        check(None, FORBID, |h| tell(h, true, is_late));
        check(Some(law), FORBID, |h| tell(h, false, is_late));
    }
}

#[test]
fn decision_missing_and_wrong() {
    check(Some(Law::Decision), FORBID, |h| {
        h.at(30);
        h.hear("tick");
        h.prepare(1, 0);
    });
    check(Some(Law::Decision), FORBID, |h| {
        let core = h.core();
        let record = Record::of(&core.decide(period(0)), &h.zones);
        let mut line = Line::new(Level::Info, "decision");
        line.fields = record.log_fields();
        for (key, value) in &mut line.fields {
            if *key == "seed_hash" {
                *value = Cow::Owned(value.chars().rev().collect());
            }
        }
        h.note(Fact::Said(line));
    });
}

/// LIF-16: nothing from a definition that is gone.
#[test]
fn in_force() {
    check(Some(Law::InForce), FORBID, |h| {
        h.at(30);
        h.hear("tick");
        h.decide(0);
        h.note(Fact::Configured(Vec::new()));
        h.prepare(1, 0);
    });
}

/// CORE-41.
#[test]
fn suspended() {
    check(Some(Law::Suspended), FORBID, |h| {
        h.decide(0);
        h.at(10);
        h.edit(|job| job.suspend = true);
        h.at(30);
        h.hear("tick");
        h.prepare(1, 0);
    });
    // Nor is anything recorded, however it came to be suspended.
    check(Some(Law::Suspended), FORBID, |h| {
        h.at(10);
        h.edit(|job| job.suspend = true);
        h.at(40);
        h.hear("tick");
        h.commit(0, Outcome::Missed);
    });
}

#[test]
fn not_before() {
    check(Some(Law::NotBefore), ALLOW, |h| {
        h.at(10);
        h.hear("tick");
        h.decide(0);
        h.at(50);
        h.edit(|job| job.timing = "* 10 * * *".into());
        h.decide(0);
        h.prepare(1, 0);
    });
}

/// STA, Period Advancement Rules: one period after downtime.
#[test]
fn catch_up() {
    check(Some(Law::CatchUp), ALLOW, |h| {
        h.note(Fact::Gone { stopped: false, reboot: false });
        h.at(200);
        h.start(OnDisk::Something);
        h.decide(0);
        h.prepare(1, 0);
    });
    // Passed over, and not counted.
    check(Some(Law::CatchUp), ALLOW, |h| {
        h.note(Fact::Gone { stopped: false, reboot: false });
        h.at(200);
        h.start(OnDisk::Something);
        h.run(1, 2);
        h.end(1);
        h.at(205);
        h.hear("tick");
        h.at(209);
    });
}

/// What was tried in vain waits still after the clock was set back by little, and counts when
/// it is passed over in the end.
#[test]
fn waiting_is_counted() {
    let tell = |h: &mut History, count: u32| {
        h.at(30);
        h.fail(1, 0);
        for minute in 1..4 {
            let run = u64::from(minute) + 1;
            h.at(30 + 60 * u64::from(minute));
            h.run(run, minute);
            h.end(run);
        }
        h.shift = -10;
        h.at(215);
        h.hear("tick");
        h.at(260);
        h.hear("tick");
        h.at(265);
        h.note(Fact::Gone { stopped: false, reboot: false });
        // The fourth to sixth minute have passed meanwhile.
        h.at(410);
        h.start(OnDisk::Something);
        h.pass_over(count);
    };
    check(None, ALLOW, |h| tell(h, 3));
    check(Some(Law::CatchUp), ALLOW, |h| tell(h, 2));
    // Nor is it forgotten while the daemon lives.
    check(Some(Law::EveryPeriod), "concurrency=allow,deadline=1m", |h| {
        h.at(30);
        h.fail(1, 0);
        h.at(40);
        h.hear("tick");
        h.shift = -2;
        h.at(41);
        h.hear("tick");
        h.at(92);
        h.run(2, 1);
        h.end(2);
        h.at(105);
    });
}

/// What a catch-up finds while the batch of the one before is on its way is in the next: if
/// that is lost, it is open again, though the job was suspended in between.
#[test]
fn one_catch_up_after_another() {
    let tell = |h: &mut History, count: u32| {
        h.note(Fact::Gone { stopped: false, reboot: false });
        h.at(200);
        h.start(OnDisk::Something);
        let (identity, period) = (h.identity(), period(2));
        h.note(Fact::Commit(vec![Recorded { identity, period, outcome: Outcome::Missed }]));
        // Over the third to the sixth minute.
        h.shift = 240;
        h.at(201);
        h.hear("tick");
        h.edit(|job| job.suspend = true);
        h.edit(|job| job.suspend = false);
        h.note(Fact::Committed);
        h.hear("committed");
        h.pass_over(2);
        h.outcome(2, Outcome::Missed);
        h.note(Fact::Gone { stopped: false, reboot: false });
        h.at(210);
        h.start(OnDisk::Something);
        h.pass_over(count);
    };
    check(None, FORBID, |h| tell(h, 3));
    check(Some(Law::CatchUp), FORBID, |h| tell(h, 2));
    // If it is the edit by which the jump is noticed, they are found when the job is resumed.
    check(None, FORBID, |h| {
        h.shift = 240;
        h.at(1);
        h.edit(|job| job.suspend = true);
        h.edit(|job| job.suspend = false);
        h.commit(3, Outcome::Missed);
        h.pass_over(3);
        h.outcome(3, Outcome::Missed);
        h.at(5);
        h.hear("tick");
        h.at(10);
    });
}

#[test]
fn every_period() {
    check(Some(Law::EveryPeriod), FORBID, |h| {
        h.at(30);
        h.hear("tick");
        h.at(50);
        h.hear("tick");
        h.at(60);
    });
}

/// CORE-49, ERR-23.
#[test]
fn one_outcome() {
    let skip = |h: &mut History| {
        h.at(40);
        h.hear("tick");
        h.decide(0);
        h.commit(0, Outcome::Missed);
    };
    check(Some(Law::OneOutcome), FORBID, |h| {
        skip(h);
        h.outcome(0, Outcome::Missed);
        h.outcome(0, Outcome::Missed);
    });
    check(Some(Law::OneOutcome), FORBID, |h| {
        skip(h);
        h.hear("tick");
    });
    check(Some(Law::OneOutcome), FORBID, |h| {
        skip(h);
        h.outcome(0, Outcome::Missed);
        h.commit(0, Outcome::Skipped);
    });
}

/// CORE-48, ERR-14.
#[test]
fn reason() {
    check(Some(Law::Reason), FORBID, |h| {
        h.at(30);
        h.hear("tick");
        h.decide(0);
        h.prepare(1, 0);
        h.note(Fact::AtGate { run: RunId(1) });
        h.commit(0, Outcome::Executed);
        h.outcome(0, Outcome::Executed);
    });
}

/// A reset forgets what died at its gate as well as what ran.
#[test]
fn reset_after_a_run_that_died_at_its_gate() {
    check(None, FORBID, |h| {
        h.at(30);
        h.hear("tick");
        h.decide(0);
        h.prepare(1, 0);
        h.note(Fact::AtGate { run: RunId(1) });
        h.hear("prepared");
        let (identity, period) = (h.identity(), period(0));
        h.note(Fact::Commit(vec![Recorded { identity, period, outcome: Outcome::Executed }]));
        h.hear("exited");
        h.note(Fact::Forgotten { run: RunId(1) });
        h.note(Fact::Committed);
        h.hear("committed");
        h.outcome(0, Outcome::Executed);
        h.at(90);
        h.run(2, 1);
        h.end(2);
        h.shift = -80;
        h.at(96);
        h.hear("tick");
        h.hear("reset");
        h.note(Fact::Reset(h.identity()));
        h.note(Fact::Said(Line::new(Level::Warn, "reset").with("identity", h.identity())));
        h.at(114);
        h.miss(0);
    });
}

/// STA-26.
#[test]
fn adopted() {
    check(Some(Law::Adopted), FORBID, |h| {
        h.at(30);
        h.run(1, 0);
        h.note(Fact::Gone { stopped: false, reboot: false });
        h.at(32);
        h.note(Fact::Started);
        h.hear("reload");
        let (identity, found) = (h.identity(), OnDisk::Something);
        h.note(Fact::LookedUp { identity, found, survived: false, alive: vec![1] });
        h.configure();
        h.hear("tick");
    });
}

/// CORE-45.
#[test]
fn forbid() {
    check(Some(Law::Forbid), FORBID, |h| {
        h.at(5);
        h.edit(|job| job.timeout = None);
        h.at(30);
        h.run(1, 0);
        h.at(90);
        h.run(2, 1);
    });
    check(Some(Law::Forbid), FORBID, |h| {
        h.at(100);
        h.hear("tick");
        h.decide(1);
        h.commit(1, Outcome::Skipped);
        h.outcome(1, Outcome::Skipped);
    });
    // By a policy that is not in force any more.
    check(Some(Law::Forbid), FORBID, |h| {
        h.at(10);
        h.edit(|job| (job.policy, job.timeout) = (ALLOW.into(), None));
        h.at(30);
        h.run(1, 0);
        h.at(90);
        h.hear("tick");
        h.decide(1);
        h.commit(1, Outcome::Skipped);
    });
}

/// CORE-46.
#[test]
fn replace() {
    check(Some(Law::Replace), REPLACE, |h| {
        h.at(5);
        h.edit(|job| job.timeout = None);
        h.at(30);
        h.run(1, 0);
        h.at(90);
        h.run(2, 1);
    });
}

/// Who replaces is not late by waiting for what it replaces, and by nothing else.
#[test]
fn replace_late() {
    let active = |h: &mut History| {
        h.at(30);
        h.run(1, 0);
        h.at(90);
        h.hear("tick");
        h.decide(1);
        h.note(Fact::Signalled { run: RunId(1), kill: false });
    };
    let replace = |expected, tell: &dyn Fn(&mut History)| {
        check(expected, REPLACE, |h| {
            h.at(5);
            h.edit(|job| job.timeout = None);
            tell(h);
        });
    };
    replace(None, &|h| {
        active(h);
        h.at(95);
        h.end(1);
        h.prepare(2, 1);
    });
    replace(Some(Law::NotLate), &|h| {
        active(h);
        h.at(95);
        h.end(1);
        h.at(99);
        h.hear("committed");
        h.prepare(2, 1);
    });
    replace(Some(Law::NotLate), &|h| {
        h.at(30);
        h.hear("tick");
        h.decide(0);
        h.at(32);
        h.hear("tick");
        h.prepare(1, 0);
    });
}

/// Who finds others being prepared is not late by waiting for its turn.
#[test]
fn queued_late() {
    let queue = |expected, seconds| {
        let settings = Settings { preparing: 1, ..Settings::default() };
        let mut h = History::of(FORBID, settings);
        let ours = Rc::clone(&h.job);
        let other = Definition { name: "b".into(), policy: ALLOW.into(), ..(*ours).clone() };
        let other = Rc::new(other);
        h.start(OnDisk::Nothing);
        h.hear("reload");
        h.note(Fact::Configured(vec![Rc::clone(&ours), Rc::clone(&other)]));
        h.at(30);
        h.hear("tick");
        h.decide(0);
        h.job = other;
        h.decide(0);
        h.prepare(1, 0);
        h.at(31);
        h.note(Fact::AtGate { run: RunId(1) });
        h.hear("prepared");
        h.commit(0, Outcome::Executed);
        h.note(Fact::Released { run: RunId(1), process: 1, durable: true });
        h.outcome(0, Outcome::Executed);
        h.job = ours;
        h.at(seconds);
        h.hear("tick");
        h.prepare(2, 0);
        assert_eq!(h.broken, expected);
    };
    queue(None, 31);
    queue(Some(Law::NotLate), 35);
}

/// CORE-42: what was judged in time and is ready late is let go only if that took no longer than
/// may be, and the clock and the daemon went on meanwhile.
#[test]
fn late_at_gate() {
    let start = |h: &mut History, seconds: u64, shift: i64| {
        h.at(30);
        h.hear("tick");
        h.decide(0);
        h.prepare(1, 0);
        h.at(seconds);
        h.shift = shift;
        h.note(Fact::AtGate { run: RunId(1) });
        h.hear("prepared");
        h.commit(0, Outcome::Executed);
        h.note(Fact::Released { run: RunId(1), process: 1, durable: true });
        h.outcome(0, Outcome::Executed);
    };
    check(None, FORBID, |h| start(h, 40, 0));
    check(Some(Law::LateAtGate), FORBID, |h| start(h, 41, 0));
    check(Some(Law::LateAtGate), FORBID, |h| start(h, 32, 2));
    // Within its deadline it may be as late as it likes.
    check(None, ALLOW, |h| start(h, 59, 0));
    // Withdrawn, it is missed.
    check(None, FORBID, |h| {
        h.at(30);
        h.hear("tick");
        h.decide(0);
        h.prepare(1, 0);
        h.at(50);
        h.note(Fact::AtGate { run: RunId(1) });
        h.hear("prepared");
        h.note(Fact::Abandoned { run: RunId(1) });
        h.commit(0, Outcome::Missed);
        h.outcome(0, Outcome::Missed);
    });
}

/// A try is no excuse for ever: neither one that hangs nor one whose process is forgotten.
#[test]
fn every_try_ends() {
    let begin = |h: &mut History| {
        h.at(30);
        h.hear("tick");
        h.decide(0);
        h.prepare(1, 0);
    };
    for (seconds, law) in [(58, None), (70, Some(Law::EveryPeriod))] {
        check(law, ALLOW, |h| {
            begin(h);
            h.at(seconds);
            h.hear("exited");
            h.at(seconds + 4);
        });
    }
    check(Some(Law::EveryPeriod), ALLOW, |h| {
        begin(h);
        h.at(31);
        h.note(Fact::AtGate { run: RunId(1) });
        h.hear("prepared");
        h.at(32);
        h.hear("tick");
    });
}

/// CORE-15 to CORE-19: what the core decides is held to the text of the line.
#[test]
fn window() {
    let forge = |timing: &str, key: &'static str, value: &'static str| {
        check(Some(Law::Window), ALLOW, |h| {
            h.edit(|job| job.timing = timing.into());
            let record = Record::of(&h.core().decide(period(0)), &h.zones);
            // The core has it so, too: its record is of another line that it could be.
            let mut line = Line::new(Level::Info, "decision");
            line.fields = record.log_fields();
            let rule = kron_sim::check::Rule::read(&h.job).expect("a line that can be read");
            assert_eq!(rule.check(period(0), &line), Ok(()));
            for (known, text) in &mut line.fields {
                if *known == key {
                    *text = Cow::Borrowed(value);
                }
            }
            if rule.check(period(0), &line).is_err() {
                h.broken.get_or_insert(Law::Window);
            }
        });
    };
    forge("* * * * * @win(around,1m)", "window_start", "2026-03-02T10:00:00Z");
    forge("* * * * * @win(around,1m)", "window_end", "2026-03-02T10:01:00Z");
    let normal = "* * * * * @win(after,1h) @dist(normal) @avoid(between=10:10-10:20)";
    forge(normal, "chosen_time", "2026-03-02T11:00:01Z");
    forge(normal, "chosen_time", "2026-03-02T09:59:59Z");
    forge(normal, "chosen_time", "2026-03-02T10:20:59Z");
    forge("* * * * * @win(after,1h)", "chosen_time", "2026-03-02T10:00:01Z");
    forge("* * * * * @seed(weekly,salt=a)", "seed_hash", "00");
    let berlin = "* * * * * @tz(Europe/Berlin) @win(after,2h) @dist(normal) @only(hours=11)";
    forge(berlin, "chosen_time", "2026-03-02T11:00:00Z");
}

/// STA-19, ERR-18.
#[test]
fn durable() {
    check(Some(Law::Durable), FORBID, |h| {
        h.at(30);
        h.hear("tick");
        h.decide(0);
        h.prepare(1, 0);
        h.note(Fact::AtGate { run: RunId(1) });
        h.note(Fact::Released { run: RunId(1), process: 1, durable: false });
    });
}

#[test]
fn crowd() {
    check(Some(Law::Crowd), ALLOW, |h| {
        for minute in 0..3 {
            h.at(30 + 60 * u64::from(minute));
            h.hear("tick");
            h.decide(minute);
            h.prepare(u64::from(minute), minute);
        }
    });
}

#[test]
fn timeout() {
    // Not asked to end.
    check(Some(Law::Timeout), FORBID, |h| {
        h.at(30);
        h.run(1, 0);
        h.at(60);
        h.end(1);
    });
    // Asked for no reason.
    check(Some(Law::Timeout), FORBID, |h| {
        h.at(30);
        h.run(1, 0);
        h.at(31);
        h.note(Fact::Signalled { run: RunId(1), kill: false });
    });
    // Killed without grace.
    check(Some(Law::Timeout), FORBID, |h| {
        h.at(30);
        h.run(1, 0);
        h.at(50);
        h.note(Fact::Signalled { run: RunId(1), kill: false });
        h.note(Fact::Signalled { run: RunId(1), kill: true });
    });
    // Replaced by a policy that is not in force any more.
    check(Some(Law::Timeout), REPLACE, |h| {
        h.at(10);
        h.edit(|job| job.policy = ALLOW.into());
        h.at(30);
        h.run(1, 0);
        h.at(31);
        h.note(Fact::Signalled { run: RunId(1), kill: false });
    });
}

/// STA-26: an execution that is adopted has its timeout, too.
#[test]
fn timeout_of_the_adopted() {
    let adopt = |h: &mut History| {
        h.at(30);
        h.run(1, 0);
        h.note(Fact::Gone { stopped: false, reboot: false });
        h.at(32);
        h.note(Fact::Started);
        h.hear("reload");
        let (identity, found) = (h.identity(), OnDisk::Something);
        h.note(Fact::LookedUp { identity, found, survived: false, alive: vec![1] });
        h.configure();
        h.note(Fact::Adopted { run: RunId(1), process: 1 });
    };
    let check = |expected, tell: &dyn Fn(&mut History)| {
        check(expected, FORBID, |h| {
            adopt(h);
            tell(h);
        });
    };
    check(None, &|h| {
        h.at(50);
        h.note(Fact::Signalled { run: RunId(1), kill: false });
        h.end(1);
    });
    check(Some(Law::Timeout), &|h| {
        h.at(54);
        h.end(1);
    });
    check(Some(Law::Timeout), &|h| {
        h.at(40);
        h.note(Fact::Signalled { run: RunId(1), kill: false });
    });
    check(Some(Law::Timeout), &|h| {
        h.at(54);
        h.note(Fact::Signalled { run: RunId(1), kill: false });
    });
}

/// LIF-11, LIF-12.
#[test]
fn ending() {
    check(Some(Law::Ending), FORBID, |h| {
        h.decide(0);
        h.note(Fact::Shutdown(Shutdown::Wait));
        h.at(30);
        h.hear("tick");
        h.prepare(1, 0);
    });
    check(Some(Law::Ending), FORBID, |h| {
        h.at(30);
        h.run(1, 0);
        h.note(Fact::Shutdown(Shutdown::Wait));
        h.note(Fact::Gone { stopped: true, reboot: false });
    });
}

/// FAULTS 38: no busy loop.
#[test]
fn calm() {
    check(Some(Law::Calm), FORBID, |h| {
        for _ in 0..100 {
            let overdue = Duration::ZERO;
            h.note(Fact::Heard { what: "tick", planned: None, overdue, idle: true });
        }
    });
}

#[test]
fn protocol() {
    check(Some(Law::Protocol), FORBID, |h| {
        h.note(Fact::Released { run: RunId(9), process: 9, durable: true });
    });
}
