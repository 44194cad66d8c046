//! Chance: definitions, crashes after any step, requests that arrive late or whose answer
//! is lost, what is remembered out of date, two operators at once, Jobs that end and are
//! deleted, clocks that jump.
//!
//! What must hold always is asserted by the false cluster: no second Job of a period,
//! ever; none unclaimed, too early or too late; one outcome for each period; nothing
//! closed re-opened; no Job let go before it is recorded. OPR-03, OPR-04, OPR-05.

use crate::cluster::{Cluster, IDENTITY, parse};
use crate::krond::{duration, instant};
use crate::operator::{Did, Operator};
use kron_core::{PeriodId, UtcInstant, UtcSecond};
use kron_operator::unusable::Flaw;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeSet;
use std::time::Duration;

const SCHEDULES: [&str; 6] = [
    "* * * * * @policy(concurrency=CC,deadline=DL)",
    "*/2 * * * * @win(after,6m) @policy(concurrency=CC,deadline=DL)",
    "*/3 * * * * @win(around,10m) @policy(concurrency=CC,deadline=DL)",
    "*/5 * * * * @win(after,4m) @avoid(hours=10) @policy(concurrency=CC,deadline=DL)",
    "*/4 * * * * @win(around,7m) @dist(normal) @policy(concurrency=CC,deadline=DL)",
    "* * * * * @win(after,10m) @policy(concurrency=CC,deadline=DL)",
];

/// How long a request can take.
const REQUEST: Duration = Duration::from_secs(10);

#[derive(Clone, Debug)]
enum Action {
    Pass(u64),
    /// The operator dies after so many steps, and is back after so many seconds.
    Crash(usize, u64),
    /// The next request takes so many seconds, if it arrives; whether its sender dies.
    Far(Option<u64>, bool),
    /// A second operator looks around.
    Glimpse,
    /// It hears of Jobs, but not of the status.
    HalfGlimpse,
    /// It does so many steps by what it has seen.
    Other(usize),
    Deaf(bool),
    /// Somebody deletes one of the Jobs.
    Delete(usize),
    Edit(String),
    Suspend(bool),
    /// An edit after which it cannot be used.
    Spoil(Flaw),
    Refuse(bool),
    Jump(i64),
}

fn schedule() -> impl Strategy<Value = String> {
    let concurrency = select(&["allow", "forbid", "replace"][..]);
    let deadline = select(&["0s", "20s", "3m", "2h"][..]);
    (select(&SCHEDULES[..]), concurrency, deadline)
        .prop_map(|(schedule, c, d)| schedule.replace("CC", c).replace("DL", d))
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        6 => (0..200_u64).prop_map(Action::Pass),
        4 => (1..12_usize, prop_oneof![2 => Just(0), 2 => 0..30_u64, 1 => 0..600_u64])
            .prop_map(|(steps, down)| Action::Crash(steps, down)),
        3 => (prop::option::weighted(0.8, 0..=REQUEST.as_secs()), any::<bool>())
            .prop_map(|(delay, dies)| Action::Far(delay, dies)),
        3 => Just(Action::Glimpse),
        2 => Just(Action::HalfGlimpse),
        3 => (1..6_usize).prop_map(Action::Other),
        1 => any::<bool>().prop_map(Action::Deaf),
        2 => (0..4_usize).prop_map(Action::Delete),
        1 => schedule().prop_map(Action::Edit),
        1 => any::<bool>().prop_map(Action::Suspend),
        1 => select(&[Flaw::Schedule, Flaw::Template][..]).prop_map(Action::Spoil),
        1 => any::<bool>().prop_map(Action::Refuse),
        1 => (-400..400_i64).prop_map(Action::Jump),
    ]
}

/// An operator that is not alone.
fn rival(cluster: &Cluster) -> Operator {
    let mut operator = Operator::start(cluster);
    operator.is_sole = false;
    operator
}

struct Chaos {
    cluster: Cluster,
    schedule: String,
    operator: Option<Operator>,
    back_at: Option<UtcInstant>,
    dies_in: Option<usize>,
    far: Option<(Option<u64>, bool)>,
    /// It has never heard of what happened since it looked around last.
    other: Operator,
    in_flight: Vec<(UtcInstant, PeriodId, Option<UtcSecond>)>,
    /// Periods of which a request was under way when they had their outcome.
    overtaken: BTreeSet<PeriodId>,
}

impl Chaos {
    fn new(schedule: &str) -> Self {
        let cluster = Cluster::new(instant("09:59:30.25"), parse(IDENTITY, schedule));
        let (operator, other) = (rival(&cluster), rival(&cluster));
        let mut chaos = Self {
            cluster,
            schedule: schedule.into(),
            operator: Some(operator),
            back_at: None,
            dies_in: None,
            far: None,
            other,
            in_flight: Vec::new(),
            overtaken: BTreeSet::new(),
        };
        chaos.reconcile();
        chaos
    }

    fn act(&mut self, action: &Action) {
        match action {
            Action::Pass(seconds) => self.pass(Duration::from_secs(*seconds)),
            Action::Crash(steps, down) => {
                self.dies_in = Some(*steps);
                self.back_at = Some(self.cluster.now.saturating_add(Duration::from_secs(*down)));
            }
            Action::Far(delay, dies) => self.far = Some((*delay, *dies)),
            Action::Glimpse => self.glimpse(),
            Action::HalfGlimpse => self.other.hear_of_jobs(&self.cluster),
            Action::Other(steps) => self.other_acts(*steps),
            Action::Deaf(is_deaf) => {
                if let Some(operator) = &mut self.operator {
                    operator.is_deaf = *is_deaf;
                }
            }
            Action::Delete(which) => {
                if let Some(name) = self.cluster.jobs.keys().nth(*which).cloned() {
                    self.cluster.delete(&name);
                    self.reconcile();
                }
            }
            Action::Edit(schedule) => {
                self.schedule.clone_from(schedule);
                self.cluster.edit(parse(IDENTITY, schedule));
                self.reconcile();
            }
            Action::Suspend(suspend) => {
                let schedule = if *suspend {
                    self.schedule.replace("@policy(", "@policy(suspend=true,")
                } else {
                    self.schedule.clone()
                };
                self.cluster.edit(parse(IDENTITY, &schedule));
                self.reconcile();
            }
            Action::Spoil(flaw) => {
                self.cluster.spoil(*flaw);
                self.reconcile();
            }
            Action::Refuse(refuse) => {
                self.cluster.refusal = refuse.then(|| "over quota".into());
            }
            Action::Jump(by) => {
                // Requests are timed by another clock than that on the wall.
                self.in_flight.clear();
                let by = (*by, Duration::from_secs(by.unsigned_abs()));
                let now = self.cluster.now;
                self.cluster.now =
                    if by.0 < 0 { now.saturating_sub(by.1) } else { now.saturating_add(by.1) };
                // What ended meanwhile has, before anybody looks.
                self.cluster.settle();
                self.other = rival(&self.cluster);
                self.reconcile();
            }
        }
    }

    fn pass(&mut self, by: Duration) {
        let end = self.cluster.now.saturating_add(by);
        loop {
            let wake = self.operator.as_ref().and_then(|operator| operator.wake);
            let back = self.back_at.filter(|_| self.operator.is_none());
            let flight = self.in_flight.iter().map(|(at, ..)| *at).min();
            let times = [wake, back, flight, self.cluster.next_event()];
            let Some(next) = times.into_iter().flatten().min().filter(|at| *at <= end) else {
                break;
            };
            self.cluster.now = self.cluster.now.max(next);
            self.arrive();
            self.cluster.settle();
            if self.operator.is_none() && self.back_at.is_none_or(|at| at <= self.cluster.now) {
                self.operator = Some(rival(&self.cluster));
            }
            self.reconcile();
        }
        self.cluster.now = end;
    }

    /// Requests that were under way arrive.
    fn arrive(&mut self) {
        let now = self.cluster.now;
        let (arrived, rest) = self.in_flight.drain(..).partition(|(at, ..)| *at <= now);
        self.in_flight = rest;
        for (_, period, chosen) in arrived {
            let (book, _) = self.cluster.book();
            let is_first = self.cluster.land(period, chosen).is_ok();
            if is_first && book.ledger.is_marked(period) {
                self.overtaken.insert(period);
            }
        }
    }

    fn reconcile(&mut self) {
        if let Some(operator) = &mut self.operator {
            operator.wake_up(&self.cluster);
        }
        for round in 0.. {
            let Some(operator) = &mut self.operator else { return };
            assert!(round < 200, "no end of steps");
            operator.is_far = self.far.is_some();
            match operator.step(&mut self.cluster) {
                Did::Rest => return,
                Did::Conflict => operator.hear(&self.cluster),
                Did::Sent(period, chosen) => self.sent(period, chosen),
                _ => {}
            }
            self.dies_in = self.dies_in.map(|steps| steps.saturating_sub(1));
            if self.dies_in == Some(0) {
                self.dies_in = None;
                self.operator = None;
            }
        }
    }

    /// A request is under way; its sender dies, or waits in vain for an answer.
    fn sent(&mut self, period: PeriodId, chosen: Option<UtcSecond>) {
        let Some((delay, dies)) = self.far.take() else { return };
        let now = self.cluster.now;
        if let Some(delay) = delay {
            self.in_flight.push((now.saturating_add(Duration::from_secs(delay)), period, chosen));
        }
        if dies {
            self.operator = None;
            self.back_at = self.back_at.or(Some(now));
            return;
        }
        let until = now.saturating_add(REQUEST);
        while let Some(next) = self.in_flight.iter().map(|(at, ..)| *at).min() {
            self.cluster.now = next.max(self.cluster.now);
            self.arrive();
        }
        self.cluster.now = until.max(self.cluster.now);
        self.cluster.settle();
        if let Some(operator) = &mut self.operator {
            operator.give_up(period, self.cluster.now);
            operator.wake_up(&self.cluster);
        }
    }

    /// The second operator looks around; it has watched the clock as well.
    fn glimpse(&mut self) {
        let other = &mut self.other;
        other.is_late = true;
        other.wake = None;
        other.wake_up(&self.cluster);
    }

    /// The second operator does something by what it saw last.
    fn other_acts(&mut self, steps: usize) {
        self.other.is_late = true;
        self.other.look_anew();
        for _ in 0..steps {
            match self.other.step(&mut self.cluster) {
                Did::Rest | Did::Conflict => break,
                _ => {}
            }
        }
    }

    /// Everything becomes calm.
    fn end(&mut self) {
        self.far = None;
        self.dies_in = None;
        self.back_at = None;
        self.cluster.refusal = None;
        self.cluster.edit(parse(IDENTITY, &self.schedule));
        self.operator = Some(rival(&self.cluster));
        self.reconcile();
        self.pass(Duration::from_secs(3600));
        // Whatever was created is recorded as executed, and nothing else is.
        let executed = self.cluster.recorded.iter().filter(|(_, outcome)| *outcome == "executed");
        let executed: BTreeSet<PeriodId> = executed.map(|(period, _)| *period).collect();
        let ever: BTreeSet<PeriodId> =
            self.cluster.ever.difference(&self.overtaken).copied().collect();
        assert_eq!(executed, ever, "executed, and ever created");
        assert!(self.cluster.jobs.values().all(|job| !job.fact.is_held
            || job.fact.is_active()
            || self.cluster.now.since(job.fact.created) < Some(kron_operator::upkeep::HOLD)));
    }
}

/// So many cases, or `PROPTEST_CASES`.
const CASES: u32 = 512;

fn config() -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases = asked.unwrap_or(CASES);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// A history, and then calm.
fn happens(schedule: &str, actions: &[Action], set_up: impl FnOnce(&mut Cluster)) {
    let mut chaos = Chaos::new(schedule);
    set_up(&mut chaos.cluster);
    for action in actions {
        chaos.act(action);
    }
    chaos.end();
}

/// A history that somebody watches without a break, but for what happens to others.
fn is_attended(schedule: &str, actions: &[Action], run: Option<Duration>) {
    let mut chaos = Chaos::new(schedule);
    chaos.cluster.ways.run = run;
    let begin = chaos.cluster.now;
    for action in actions {
        if let Action::Pass(_)
        | Action::Other(_)
        | Action::Glimpse
        | Action::Deaf(_)
        | Action::Delete(_)
        | Action::Refuse(_)
        | Action::Crash(_, 0) = action
        {
            chaos.act(action);
            if chaos.operator.is_none() {
                chaos.operator = Some(Operator::start(&chaos.cluster));
                chaos.reconcile();
            }
        }
    }
    chaos.cluster.refusal = None;
    chaos.pass(Duration::from_secs(1800));
    // Of what comes due between a crash and the return, only the latest is judged.
    let is_whole = !actions.iter().any(|action| matches!(action, Action::Crash(..)));
    let (job, now) = (chaos.cluster.job.clone(), chaos.cluster.now);
    let (book, _) = chaos.cluster.book();
    let mut at = begin.saturating_sub(duration("10m")).floor();
    while let Some(period) = job.next_period(at).filter(|p| p.nominal().instant() <= now) {
        at = period.nominal();
        let decision = job.decide(period);
        // Jobs that are replaced are waited for.
        let is_over = decision.due().saturating_add(duration("121s")) < now;
        if is_over {
            assert!(book.ledger.is_closed(&decision), "{period} is open");
        }
        if is_over && decision.due() >= begin && is_whole {
            assert!(chaos.cluster.recorded.contains_key(&period), "{period} has no outcome");
        }
    }
}

/// What chance has found.
#[test]
fn known_histories() {
    use Action::{Crash, Edit, Jump, Other, Pass, Refuse, Suspend};
    const FOREVER: &str = "* * * * * @policy(concurrency=allow,deadline=0s)";
    const WIDE: &str = "* * * * * @win(after,10m) @policy(concurrency=allow,deadline=3m)";
    const ALONE: &str = "* * * * * @win(after,10m) @policy(concurrency=forbid,deadline=20s)";
    const PATIENT: &str = "* * * * * @policy(concurrency=forbid,deadline=2h)";
    // A period that one has skipped, begun by another that had not heard why.
    happens(ALONE, &[Pass(102), Other(1), Pass(44), Other(2)], |cluster| {
        cluster.ways.run = Some(duration("45s"));
    });
    // A period that one has begun, passed over by another that had not heard of its Job.
    let actions = [
        Suspend(true),
        Pass(44),
        Jump(-150),
        Crash(3, 0),
        Edit(WIDE.into()),
        Pass(77),
        Jump(173),
        Other(1),
    ];
    happens(FOREVER, &actions, |cluster| cluster.ways.run = None);
    // More outcomes at once than the history holds: each is told all the same.
    let actions = [Refuse(true), Pass(187), Pass(195), Pass(137), Pass(101)];
    is_attended(PATIENT, &actions, None);
}

proptest! {
    #![proptest_config(config())]

    /// OPR-03, OPR-04: whatever happens.
    #[test]
    fn whatever_happens(
        schedule in schedule(),
        actions in prop::collection::vec(action(), 1..60),
        run in select(&[None, Some("500ms"), Some("45s"), Some("4m")][..]),
        ttl in select(&[None, Some("0s"), Some("20s")][..]),
        lingers in select(&["0s", "0s", "20s", "3m"][..]),
        limit in 0..3_usize,
    ) {
        happens(&schedule, &actions, |cluster| {
            cluster.ways.run = run.map(duration);
            cluster.ways.ttl = ttl.map(duration);
            cluster.ways.lingers = duration(lingers);
            cluster.limits.succeeded = limit;
        });
    }

    /// OPR-09: who watches without a break judges each period once, whatever else happens
    /// to it.
    #[test]
    fn an_attentive_operator_judges_all(
        schedule in schedule(),
        actions in prop::collection::vec(action(), 1..40),
        run in select(&[None, Some("500ms"), Some("45s"), Some("4m")][..]),
    ) {
        is_attended(&schedule, &actions, run.map(duration));
    }
}
