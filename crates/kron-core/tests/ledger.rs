//! The ledger by model: random events in random order, and what must never
//! happen, whatever the order.

mod support;

use core::time::Duration;
use kron_core::{
    Attention, Job, Ledger, Outcome, PeriodId, Situation, UtcInstant, UtcSecond, Verdict, agenda,
    judge,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use support::{instant, job, period};

/// Definitions between which edits switch: exact, jittered, overlapping,
/// around, constrained to nothing at times, and in a zone with DST changes.
const DEFINITIONS: [&str; 8] = [
    "*/5 * * * *",
    "0 * * * * @win(after,30m) @policy(deadline=10m)",
    "*/10 * * * * @win(after,1h) @policy(deadline=2h,concurrency=allow)",
    "0 * * * * @win(around,90m) @policy(deadline=15m,concurrency=replace)",
    "*/20 * * * * @win(around,2h) @only(hours=2-20) @policy(deadline=1h)",
    "*/15 * * * * @win(after,10m) @only(between=00:00-00:20;dow=MON-FRI)",
    "30 * * * * @tz(America/New_York) @win(after,2h) @policy(concurrency=allow,deadline=26h)",
    "*/30 2 * * * @tz(Europe/Paris) @win(around,3h) @policy(deadline=300h)",
];

#[derive(Clone, Debug)]
enum Event {
    /// Time passes.
    Pass(u32),
    /// Time passes to the next thing due, and a little more.
    PassToNext(u32),
    /// The clock is set, forward or back.
    Jump(i32),
    /// The daemon dies and starts again; the executions may survive.
    Restart {
        survivors: bool,
        downtime: u32,
    },
    /// Another definition.
    Edit(usize),
    Suspend,
    Resume,
    /// All executions end.
    Finish,
    /// Starting fails until told otherwise.
    Failing(bool),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (0..7200_u32).prop_map(Event::Pass),
        12 => (0..3000_u32).prop_map(Event::PassToNext),
        2 => (-20_000..20_000_i32).prop_map(Event::Jump),
        1 => prop_oneof![Just(-700_000_000), Just(700_000_000)].prop_map(Event::Jump),
        2 => (any::<bool>(), 0..200_000_u32)
            .prop_map(|(survivors, downtime)| Event::Restart { survivors, downtime }),
        2 => (0..DEFINITIONS.len()).prop_map(Event::Edit),
        1 => Just(Event::Suspend),
        2 => Just(Event::Resume),
        5 => Just(Event::Finish),
        1 => any::<bool>().prop_map(Event::Failing),
    ]
}

/// An adapter as simple as can be, and a memory of everything it did.
struct World {
    jobs: Vec<Job>,
    definition: usize,
    suspended: bool,
    failing: bool,
    now: UtcInstant,
    planned: Option<UtcInstant>,
    attention: Attention,
    resumed: bool,
    ledger: Ledger,
    active: Vec<PeriodId>,
    outcomes: BTreeMap<PeriodId, Outcome>,
    starts: u32,
}

fn job_at(definition: usize, suspended: bool) -> Job {
    let schedule = DEFINITIONS[definition];
    let schedule = match (suspended, schedule.contains("@policy(")) {
        (false, _) => schedule.to_string(),
        (true, true) => schedule.replace("@policy(", "@policy(suspend=true,"),
        (true, false) => format!("{schedule} @policy(suspend=true)"),
    };
    job(&schedule)
}

impl World {
    fn new(definition: usize) -> Self {
        let now = instant("2026-03-27T22:17:03.5Z");
        // Every definition, active and suspended.
        let jobs: Vec<Job> =
            (0..DEFINITIONS.len()).flat_map(|i| [job_at(i, false), job_at(i, true)]).collect();
        let ledger = Ledger::first_sight(&jobs[2 * definition], now);
        Self {
            jobs,
            definition,
            suspended: false,
            failing: false,
            now,
            planned: None,
            attention: Attention::begin(now),
            resumed: false,
            ledger,
            active: Vec::new(),
            outcomes: BTreeMap::new(),
            starts: 0,
        }
    }

    fn apply(&mut self, event: &Event) {
        match *event {
            Event::Pass(seconds) => self.pass(i64::from(seconds)),
            Event::PassToNext(late_millis) => {
                if let Some(planned) = self.planned.filter(|planned| *planned > self.now) {
                    self.now = planned.saturating_add(Duration::from_millis(late_millis.into()));
                }
            }
            Event::Jump(seconds) => self.pass(seconds.into()),
            Event::Restart { survivors, downtime } => {
                self.pass(downtime.into());
                self.attention = Attention::begin(self.now);
                self.planned = None;
                if !survivors {
                    self.active.clear();
                }
                // What is kept is the marks.
                self.ledger = Ledger::restore(
                    self.ledger.handled_through(),
                    self.ledger.handled_ahead().to_vec(),
                    Some(self.ledger.not_before()),
                    self.ledger.definition(),
                );
            }
            Event::Edit(definition) => self.definition = definition,
            Event::Suspend => self.suspended = true,
            Event::Resume => {
                self.resumed |= self.suspended;
                self.suspended = false;
            }
            Event::Finish => self.active.clear(),
            Event::Failing(failing) => self.failing = failing,
        }
        self.wake();
    }

    fn pass(&mut self, seconds: i64) {
        self.now =
            UtcInstant::new(self.now.unix_seconds() + seconds, self.now.subsec_nanos()).unwrap();
    }

    /// One wake-up, as an adapter would do it, with every promise checked.
    fn wake(&mut self) {
        self.attention.wake(self.planned, self.now);
        let since =
            if std::mem::take(&mut self.resumed) { self.now } else { self.attention.since() };
        let job = self.jobs[2 * self.definition + usize::from(self.suspended)].clone();
        let now = self.now;
        let before = self.ledger.clone();
        self.ledger.adopt_definition(&job, now);
        let waiting = self.waiting(&job);
        let agenda = agenda(&job, &self.ledger, since, &[], now);
        self.ledger.supersede(&job, &agenda.superseded, now);

        let unattended =
            agenda.due.iter().filter(|d| d.due() < since && d.chosen().is_some()).count();
        assert!(unattended <= 1, "a backlog: {unattended}");
        for decision in &agenda.due {
            assert!(decision.due() <= now);
            assert!(!self.ledger.is_closed(decision), "superseded and due: {}", decision.period());
            let situation =
                Situation { ledger: &self.ledger, active: &self.active, obstacle: None, now };
            let closure = match judge(decision, situation) {
                Verdict::Start(_) | Verdict::Replace(_) if self.failing => continue,
                Verdict::Start(permit) => {
                    self.started(&job, permit.chosen(), decision.period());
                    permit.closure()
                }
                Verdict::Replace(replacement) => {
                    self.active.clear();
                    let permit = replacement.complete(&self.active).unwrap();
                    self.started(&job, permit.chosen(), decision.period());
                    permit.closure()
                }
                Verdict::Close(closure) => closure,
                // Survivors of a restart may be executions of this very period.
                Verdict::Handled => continue,
                other => panic!("{other:?}"),
            };
            let earlier = self.outcomes.insert(closure.period(), closure.outcome());
            // CORE-49: no terminal outcome is followed by another.
            assert_eq!(earlier, None, "{} ended twice", closure.period());
            self.ledger.close(&job, &closure, now);
            assert!(self.ledger.is_marked(closure.period()));
        }
        for period in waiting {
            assert!(!self.ledger.is_marked(period), "{period} was still to come");
        }
        self.check_marks(&before, &job);
        self.planned = agenda.next.map(|decision| decision.due());
        if let Some(planned) = self.planned {
            assert!(planned > now);
        }
    }

    /// Open periods whose time is still to come, found by looking at every one.
    fn waiting(&self, job: &Job) -> Vec<PeriodId> {
        let mut at = self.now.saturating_sub(job.window().trail() + Duration::from_secs(1)).floor();
        let mut waiting = Vec::new();
        while let Some(period) = job.next_period(at)
            && job.window().of(period).start() <= self.now
        {
            at = period.nominal();
            let decision = job.decide(period);
            if decision.due() > self.now && !self.ledger.is_closed(&decision) {
                waiting.push(period);
            }
        }
        waiting
    }

    /// CORE-50: once for each period, never before its time, never too late.
    fn started(&mut self, job: &Job, chosen: UtcSecond, period: PeriodId) {
        assert!(!self.suspended, "started while suspended");
        let late = self.now.since(chosen.instant()).expect("started early");
        let deadline = job.policy().deadline;
        assert!(late <= deadline || (deadline.is_zero() && late < Duration::from_secs(1)));
        assert!(chosen.instant() >= self.ledger.not_before());
        assert_ne!(self.outcomes.get(&period), Some(&Outcome::Executed), "{period} started twice");
        self.active.push(period);
        self.starts += 1;
    }

    /// Marks only grow, and everything that ended is closed.
    fn check_marks(&self, before: &Ledger, job: &Job) {
        let after = &self.ledger;
        assert!(after.handled_through() >= before.handled_through());
        // Not beyond now, unless it was before the clock went back.
        let through =
            after.handled_through().filter(|_| after.handled_through() > before.handled_through());
        assert!(through.is_none_or(|through| through.nominal().instant() <= self.now));
        assert!(after.not_before() >= before.not_before());
        assert!(before.handled_ahead().iter().all(|period| after.is_marked(*period)));
        assert!(self.outcomes.keys().all(|period| after.is_marked(*period)));
        assert!(after.handled_ahead().len() <= kron_core::bounds::HANDLED_AHEAD);
        assert!(after.handled_ahead().is_sorted());
        if self.suspended {
            // CORE-41
            assert_eq!(after.handled_through(), before.handled_through());
            assert_eq!(after.handled_ahead(), before.handled_ahead());
        }
        // What is closed for good is never due again.
        let again = agenda(job, after, self.attention.since(), &[], self.now);
        assert!(again.superseded.is_empty());
        assert!(again.due.iter().all(|decision| !self.outcomes.contains_key(&decision.period())));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    /// CORE-47, CORE-49, CORE-50, CORE-41: under every order of events.
    #[test]
    fn no_order_of_events_breaks_a_promise(
        definition in 0..DEFINITIONS.len(),
        events in prop::collection::vec(event(), 1..60),
    ) {
        let mut world = World::new(definition);
        for event in &events {
            world.apply(event);
        }
    }
}

/// The model starts things: without that the promises would be empty.
#[test]
fn the_model_is_not_idle() {
    for (definition, schedule) in DEFINITIONS.iter().enumerate() {
        let mut world = World::new(definition);
        for _ in 0..300 {
            world.apply(&Event::PassToNext(3));
            world.apply(&Event::Finish);
        }
        assert!(world.starts >= 3, "{schedule}: {}", world.starts);
    }
}

/// Watched without a break, every period gets exactly one outcome, at its time.
#[test]
fn every_period_is_handled_exactly_once() {
    for (definition, schedule) in DEFINITIONS.iter().enumerate() {
        let mut world = World::new(definition);
        let start = world.now;
        world.wake();
        for _ in 0..400 {
            world.apply(&Event::PassToNext(2));
            world.apply(&Event::Finish);
        }
        let job = &world.jobs[2 * definition];
        let lead = job.window().lead();
        let mut at = start.saturating_sub(job.window().trail()).floor();
        let mut expected = BTreeMap::new();
        while let Some(period) = job.next_period(at)
            && period.nominal().instant().saturating_sub(lead) <= world.now
        {
            at = period.nominal();
            let decision = job.decide(period);
            if decision.due() >= start && decision.due() <= world.now {
                let outcome = if decision.chosen().is_some() {
                    Outcome::Executed
                } else {
                    Outcome::Unschedulable
                };
                expected.insert(period, outcome);
            }
        }
        assert!(expected.len() >= 300, "{}", expected.len());
        assert_eq!(world.outcomes, expected, "{schedule}");
        // And the ledger is small again.
        assert!(world.ledger.handled_ahead().len() <= 12, "{:?}", world.ledger);
    }
}

/// Marks beyond the bound close what lies before them rather than growing.
#[test]
fn a_ledger_is_bounded() {
    let far = period("2030-01-01T00:00:00Z").nominal().unix_seconds();
    let minute = |i: i64| PeriodId::new(UtcSecond::new(far + 60 * i).unwrap()).unwrap();
    let ahead: Vec<PeriodId> = (1..=3000).map(minute).collect();
    let ledger = Ledger::restore(None, ahead.clone(), None, None);
    assert_eq!(ledger.handled_ahead().len(), kron_core::bounds::HANDLED_AHEAD);
    assert!(ahead.iter().all(|period| ledger.is_marked(*period)));
    assert!(ledger.is_marked(minute(-10)));
    // Within the bound nothing else is closed.
    let ledger = Ledger::restore(None, ahead[..2000].to_vec(), None, None);
    assert!(!ledger.is_marked(minute(-10)));
}

/// Marks are read in any order, and double ones count once.
#[test]
fn restored_marks_are_put_in_order() {
    let days = ["2026-03-05", "2026-03-03", "2026-03-05", "2026-03-04"];
    let ahead = days.map(|day| period(&format!("{day}T00:00:00Z"))).to_vec();
    let through = Some(period("2026-03-03T00:00:00Z"));
    let ledger = Ledger::restore(through, ahead, None, None);
    let kept: Vec<String> = ledger.handled_ahead().iter().map(ToString::to_string).collect();
    assert_eq!(kept, ["2026-03-04T00:00:00Z", "2026-03-05T00:00:00Z"]);
}

/// A reset opens what has not begun, and nothing else: one row is a schedule, until when
/// everything was handled, the time of the reset, and the periods left open until noon.
#[test]
fn a_reset_opens_what_has_not_begun() {
    for (schedule, through, now, open) in [
        // A window that begins with its nominal time has begun if that is over.
        ("0 * * * *", "23:00", "08:30:00", "09:00 10:00 11:00 12:00"),
        ("0 * * * *", "23:00", "09:00:00", "10:00 11:00 12:00"),
        ("0 * * * * @win(after,3h)", "23:00", "08:59:59", "09:00 10:00 11:00 12:00"),
        // Around it: begun half of it before.
        ("0 * * * * @win(around,1h)", "23:00", "08:29:59", "09:00 10:00 11:00 12:00"),
        ("0 * * * * @win(around,1h)", "23:00", "08:30:00", "10:00 11:00 12:00"),
        ("0 * * * * @win(around,5h)", "23:00", "08:30:00", "12:00"),
        // What had not been handled stays open.
        ("0 * * * * @win(around,5h)", "09:00", "08:30:00", "10:00 11:00 12:00"),
        ("0 * * * * @win(around,5h)", "07:00", "08:30:00", "08:00 09:00 10:00 11:00 12:00"),
    ] {
        let job = job(schedule);
        let at = |time: &str| format!("2026-03-02T{time}Z");
        let through = period(&at(&format!("{through}:00")));
        let ledger = Ledger::restore(Some(through), Vec::new(), None, None);
        let reset = ledger.reset(&job, instant(&at(now)), &[]);
        assert_eq!(reset.not_before(), instant(&at(now)));
        assert_eq!(reset.idle_until(instant(&at(now))), None, "{schedule} {now}");
        let hours = (0..=12).map(|hour| format!("{hour:02}:00"));
        let left = hours.filter(|hour| !reset.is_marked(period(&at(&format!("{hour}:00")))));
        assert_eq!(left.collect::<Vec<_>>().join(" "), open, "{schedule} {now}");
        // What is on record stays closed.
        let (ten, twelve) = (period(&at("10:00:00")), period(&at("12:00:00")));
        let reset = ledger.reset(&job, instant(&at(now)), &[twelve]);
        assert!(reset.is_marked(twelve), "{schedule} {now}");
        assert_eq!(reset.is_marked(ten), !open.contains("10:00"), "{schedule} {now}");
    }
}

/// A period due at the very instant of `NotBefore` is not closed by it, nor by
/// closing a later one.
#[test]
fn due_at_not_before_is_open() {
    let job = job("0 * * * * @policy(deadline=10h)");
    let mut ledger = Ledger::first_sight(&job, instant("2026-03-02T10:00:00Z"));
    let (ten, eleven) = (period("2026-03-02T10:00:00Z"), period("2026-03-02T11:00:00Z"));
    let now = instant("2026-03-02T11:00:00Z");
    let decision = job.decide(eleven);
    let situation = Situation { ledger: &ledger, active: &[], obstacle: None, now };
    let Verdict::Start(permit) = judge(&decision, situation) else { panic!() };
    ledger.close(&job, &permit.closure(), now);
    assert!(ledger.is_marked(eleven));
    assert!(!ledger.is_closed(&job.decide(ten)));
}

/// A state that does not know its definition yet takes it without a jolt.
#[test]
fn an_unknown_definition_is_not_a_changed_one() {
    let job = job("0 * * * *");
    let not_before = instant("2026-03-02T10:00:00Z");
    let mut ledger = Ledger::restore(None, vec![], Some(not_before), None);
    assert!(!ledger.adopt_definition(&job, instant("2026-03-02T12:00:00Z")));
    assert_eq!(ledger.not_before(), not_before);
    assert!(ledger.definition().is_some());
}

/// Adapters keep this hash: if it changed without a change of the definition,
/// an upgrade would count as an edit of every job.
#[test]
fn definition_hashes_are_frozen() {
    let job = job("0 10 * * * @tz(Europe/Paris) @win(around,90m) @dist(skewLate,shape=2.5) \
         @seed(daily,salt=msgs) @policy(deadline=1h) @only(dow=MON-FRI) @avoid(hours=12)");
    let hash = kron_core::DefinitionHash::of(&job).to_string();
    assert_eq!(hash, "580a2184707a3c21b872fc9e62e6403006a0b1483e1b7603ef3cb51fa8de5194");
    assert_eq!(hash.parse::<kron_core::DefinitionHash>().unwrap().to_string(), hash);
}
