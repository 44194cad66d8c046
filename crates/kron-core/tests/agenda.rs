//! Which periods matter at a given moment: hand-written situations.

mod support;

use core::time::Duration;
use kron_core::{
    Attention, Job, Lapse, Ledger, PeriodId, Situation, UtcInstant, Verdict, agenda, judge,
};
use support::{instant, job, job_of, period};

/// A job and its ledger, brought to a situation and asked what is due.
struct Scene {
    job: Job,
    ledger: Ledger,
}

impl Scene {
    fn first_seen(schedule: &str, now: &str) -> Self {
        let job = job(schedule);
        let ledger = Ledger::first_sight(&job, instant(now));
        Self { job, ledger }
    }

    /// `due` and `next` as chosen times, the number passed over between them.
    fn at(&self, since: &str, now: &str) -> (Vec<String>, u32, Option<String>) {
        let agenda = agenda(&self.job, &self.ledger, instant(since), &[], instant(now));
        let time = |t: UtcInstant| t.to_string();
        (
            agenda.due.iter().map(|decision| time(decision.due())).collect(),
            agenda.superseded.count(),
            agenda.next.map(|decision| time(decision.due())),
        )
    }

    #[track_caller]
    fn check(&self, since: &str, now: &str, due: &[&str], superseded: u32, next: &str) {
        let got = self.at(since, now);
        let due: Vec<String> = due.iter().map(ToString::to_string).collect();
        assert_eq!(got, (due, superseded, Some(next.to_string())), "{}", self.job.schedule());
    }

    /// Does what is due: closes what was passed over, judges, starts or closes.
    fn act(&mut self, since: &str, now: &str) -> Vec<String> {
        let now = instant(now);
        let agenda = agenda(&self.job, &self.ledger, instant(since), &[], now);
        self.ledger.supersede(&self.job, &agenda.superseded, now);
        let mut done = Vec::new();
        for decision in &agenda.due {
            let situation = Situation { ledger: &self.ledger, active: &[], obstacle: None, now };
            let closure = match judge(decision, situation) {
                Verdict::Start(permit) => permit.closure(),
                Verdict::Close(closure) => closure,
                other => panic!("{other:?}"),
            };
            self.ledger.close(&self.job, &closure, now);
            done.push(format!("{} {}", closure.period(), closure.outcome()));
        }
        done
    }
}

const DAY: &str = "2026-03-02T";

fn t(time: &str) -> String {
    format!("{DAY}{time}Z")
}

#[test]
fn a_new_job_does_not_run_for_the_past() {
    let scene = Scene::first_seen("0 10 * * * @policy(deadline=10h)", &t("11:00:00"));
    scene.check(&t("11:00:00"), &t("11:00:00"), &[], 0, "2026-03-03T10:00:00Z");
    // Not even for the second it is seen in, once that has begun.
    let scene = Scene::first_seen("0 10 * * *", &t("10:00:00.25"));
    scene.check(&t("10:00:00.25"), &t("10:00:00.25"), &[], 0, "2026-03-03T10:00:00Z");
    let scene = Scene::first_seen("0 10 * * *", &t("10:00:00"));
    scene.check(
        &t("10:00:00"),
        &t("10:00:00"),
        &["2026-03-02T10:00:00Z"],
        0,
        "2026-03-03T10:00:00Z",
    );
}

#[test]
fn a_window_already_open_runs_if_its_time_lies_ahead() {
    let schedule = "0 10 * * * @win(after,2h)";
    let chosen = job(schedule).decide(period(&t("10:00:00"))).chosen().unwrap().to_string();
    let scene = Scene::first_seen(schedule, &t("10:00:01"));
    scene.check(&t("10:00:01"), &t("10:00:01"), &[], 0, &chosen);
    let later = Scene::first_seen(schedule, &t("11:59:59.5"));
    assert_eq!(later.at(&t("11:59:59.5"), &t("11:59:59.5")).2.unwrap()[..10], *"2026-03-03");
}

#[test]
fn around_may_choose_before_the_nominal_time() {
    // Find an identity whose choice lies before the nominal time.
    let schedule = "0 10 * * * @win(around,2h)";
    let at = period(&t("10:00:00"));
    let early = (0..100)
        .map(|i| job_of(&format!("early/{i}"), schedule))
        .find(|job| job.decide(at).chosen().unwrap() < support::second(&t("09:30:00")))
        .unwrap();
    let chosen = early.decide(at).chosen().unwrap().to_string();
    let ledger = Ledger::first_sight(&early, instant(&t("08:00:00")));
    let mut scene = Scene { job: early, ledger };
    scene.check(&t("08:00:00"), &t("08:30:00"), &[], 0, &chosen);
    assert_eq!(scene.act(&t("08:00:00"), &chosen), [format!("{at} executed")]);
    // It is closed although its nominal time lies ahead, as one of its own:
    // another definition may have periods of its own before ten.
    assert_eq!(scene.ledger.handled_ahead(), [at]);
    assert!(scene.ledger.handled_through() < Some(at));
    assert_eq!(scene.ledger.idle_until(instant(&t("09:30:00"))), None);
    assert_eq!(scene.at(&t("08:00:00"), &t("10:30:00")).0, Vec::<String>::new());
}

/// Every minute, an hour away, a day's deadline: one run, 59 passed over.
#[test]
fn catching_up_after_an_absence() {
    let mut scene = Scene::first_seen("* * * * * @policy(deadline=24h)", &t("09:59:30"));
    scene.check(&t("11:00:30"), &t("11:00:30"), &[&t("11:00:00")], 60, &t("11:01:00"));
    assert_eq!(scene.act(&t("11:00:30"), &t("11:00:30")), [format!("{} executed", t("11:00:00"))]);
    assert_eq!(scene.ledger.handled_through(), Some(period(&t("11:00:00"))));
    assert!(scene.ledger.handled_ahead().is_empty());
    scene.check(&t("11:00:30"), &t("11:00:31"), &[], 0, &t("11:01:00"));
}

/// The same, without a deadline: the latest is missed, and recorded.
#[test]
fn catching_up_without_a_deadline() {
    let mut scene = Scene::first_seen("* * * * *", &t("09:59:30"));
    assert_eq!(scene.act(&t("11:00:30"), &t("11:00:30")), [format!("{} missed", t("11:00:00"))]);
}

/// What comes due while somebody watches is all judged, however late.
#[test]
fn attended_periods_are_all_judged() {
    let scene = Scene::first_seen("* * * * *", &t("09:59:30"));
    let due = [t("10:00:00"), t("10:01:00"), t("10:02:00")];
    let due: Vec<&str> = due.iter().map(String::as_str).collect();
    scene.check(&t("09:59:30"), &t("10:02:10"), &due, 0, &t("10:03:00"));
    // Attention that begins in the very second of a period attends to it.
    scene.check(&t("10:01:00"), &t("10:01:00"), &due[..2], 0, &t("10:02:00"));
    // Watching since 10:01:30: the first two are one absence.
    scene.check(&t("10:01:30"), &t("10:02:10"), &due[1..], 1, &t("10:03:00"));
}

/// What was seen to be due and is open still is judged again, however far back; what is
/// no period, not due or closed was not seen, and nothing is there twice.
#[test]
fn what_waits_is_never_passed_over() {
    let scene = Scene::first_seen("* * * * *", &t("09:59:30"));
    let seen = ["12:03:00", "10:01:00", "10:00:00", "10:01:00", "09:59:00", "10:01:30"];
    let seen: Vec<PeriodId> = seen.iter().filter_map(|at| t(at).parse().ok()).collect();
    let due = |now: &str| {
        let now = instant(&t(now));
        let agenda = agenda(&scene.job, &scene.ledger, now, &seen, now);
        let due = agenda.due.iter().map(|decision| decision.period().to_string());
        (due.collect::<Vec<_>>(), agenda.superseded.count())
    };
    let expected = |times: &[&str]| times.iter().map(|at| t(at)).collect::<Vec<_>>();
    let latest = expected(&["10:00:00", "10:01:00", "12:02:00"]);
    assert_eq!(due("12:02:30"), (latest, 120));
    assert_eq!(due("10:00:30"), (expected(&["10:00:00"]), 0));
    // Further back than anybody looks.
    let scene = Scene::first_seen("* * * * *", "2025-03-02T10:00:00Z");
    let seen = [period("2025-03-02T10:05:00Z")];
    let now = instant(&t("10:00:30"));
    let agenda = agenda(&scene.job, &scene.ledger, now, &seen, now);
    assert!(agenda.superseded.is_at_least());
    assert_eq!(agenda.due[0].period(), seen[0]);
}

/// A year away from a job that runs every minute is bounded work.
#[test]
fn a_long_absence() {
    let mut scene = Scene::first_seen("* * * * * @policy(deadline=1h)", "2025-03-02T10:00:00Z");
    let agenda =
        agenda(&scene.job, &scene.ledger, instant(&t("10:00:30")), &[], instant(&t("10:00:30")));
    assert!(agenda.superseded.is_at_least());
    assert!(agenda.superseded.count() >= 4000);
    assert_eq!(scene.act(&t("10:00:30"), &t("10:00:30")), [format!("{} executed", t("10:00:00"))]);
    assert_eq!(scene.ledger.handled_through(), Some(period(&t("10:00:00"))));
}

/// Overlapping windows: the latest chosen time wins, not the latest period.
#[test]
fn overlapping_windows_catch_up_by_chosen_time() {
    let schedule = "*/10 * * * * @win(after,1h) @policy(deadline=10h)";
    let mut scene = Scene::first_seen(schedule, &t("08:00:00"));
    let now = instant(&t("11:00:30"));
    let mut chosen: Vec<(UtcInstant, PeriodId)> = Vec::new();
    let mut at = support::second(&t("07:00:00"));
    while let Some(period) = scene.job.next_period(at)
        && period.nominal().instant() <= now
    {
        at = period.nominal();
        let due = scene.job.decide(period).due();
        if due <= now && due >= instant(&t("08:00:00")) {
            chosen.push((due, period));
        }
    }
    let latest = *chosen.iter().max().unwrap();
    let (due, superseded, next) = scene.at(&t("11:00:30"), &t("11:00:30"));
    assert_eq!(due, [latest.0.to_string()]);
    assert_eq!(superseded as usize, chosen.len() - 1);
    let next = next.unwrap();
    assert_eq!(scene.act(&t("11:00:30"), &t("11:00:30")), [format!("{} executed", latest.1)]);
    // Windows still open with a time ahead are still to come.
    assert_eq!(scene.at(&t("11:00:30"), &t("11:00:31")).2, Some(next));
    // And nothing that was passed over comes back.
    assert_eq!(scene.at(&t("11:00:30"), &t("11:00:31")).0, Vec::<String>::new());
}

/// Unschedulable periods are recorded when their window opens, not before.
#[test]
fn unschedulable_periods() {
    let mut scene = Scene::first_seen("0 10 * * * @win(around,2h) @only(hours=3)", &t("08:00:00"));
    scene.check(&t("08:00:00"), &t("08:30:00"), &[], 0, &t("09:00:00"));
    assert_eq!(
        scene.act(&t("08:00:00"), &t("09:00:00")),
        [format!("{} unschedulable", t("10:00:00"))]
    );
    scene.check(&t("08:00:00"), &t("09:00:01"), &[], 0, "2026-03-03T09:00:00Z");
}

/// After an absence a later unschedulable period does not cost the run of an
/// earlier one that could still be made.
#[test]
fn an_unschedulable_period_does_not_hide_a_run() {
    // Hourly; from twelve on nothing is allowed.
    let schedule = "0 * * * * @only(hours=0-11) @policy(deadline=24h)";
    let mut scene = Scene::first_seen(schedule, &t("08:30:00"));
    assert_eq!(
        scene.act(&t("14:10:00"), &t("14:10:00")),
        [format!("{} executed", t("11:00:00")), format!("{} unschedulable", t("14:00:00"))]
    );
    assert_eq!(scene.ledger.handled_through(), Some(period(&t("14:00:00"))));
}

/// CORE-41: suspended, nothing is due and nothing is passed over; resumed, the
/// catch-up rule applies.
#[test]
fn suspension() {
    let suspended = "0 * * * * @policy(deadline=30m,suspend=true)";
    let mut scene = Scene::first_seen(suspended, &t("08:30:00"));
    assert_eq!(scene.at(&t("08:30:00"), &t("12:10:00")), (vec![], 0, None));
    scene.job = job("0 * * * * @policy(deadline=30m)");
    let before = scene.ledger.clone();
    assert!(!scene.ledger.adopt_definition(&scene.job, instant(&t("12:10:00"))));
    assert_eq!(scene.ledger, before);
    scene.check(&t("12:10:00"), &t("12:10:00"), &[&t("12:00:00")], 3, &t("13:00:00"));
    assert_eq!(scene.act(&t("12:10:00"), &t("12:10:00")), [format!("{} executed", t("12:00:00"))]);
}

/// An edit never fires a job by itself.
#[test]
fn an_edit_does_not_fire() {
    let mut scene = Scene::first_seen("0 12 * * * @policy(deadline=10h)", &t("08:00:00"));
    scene.job = job("0 10 * * * @policy(deadline=10h)");
    assert!(scene.ledger.adopt_definition(&scene.job, instant(&t("11:00:00"))));
    assert!(!scene.ledger.adopt_definition(&scene.job, instant(&t("11:00:01"))));
    scene.check(&t("08:00:00"), &t("11:00:00"), &[], 0, "2026-03-03T10:00:00Z");
    // A change of policy is not an edit of the timing.
    scene.job = job("0 10 * * * @policy(deadline=1h,concurrency=allow)");
    assert!(!scene.ledger.adopt_definition(&scene.job, instant(&t("12:00:00"))));
}

/// A period closed under one definition is closed under any.
#[test]
fn closed_periods_stay_closed_over_edits() {
    let mut scene = Scene::first_seen("0 10 * * *", &t("08:00:00"));
    assert_eq!(scene.act(&t("08:00:00"), &t("10:00:00")).len(), 1);
    for schedule in ["0 * * * *", "*/30 8-11 * * *", "0 10 * * * @seed(stable,salt=other)"] {
        scene.job = job(schedule);
        scene.ledger.adopt_definition(&scene.job, instant(&t("09:00:00")));
        let decision = scene.job.decide(period(&t("10:00:00")));
        assert!(scene.ledger.is_closed(&decision), "{schedule}");
    }
}

/// The clock goes back: nothing comes back with it.
#[test]
fn clock_set_back() {
    let mut scene = Scene::first_seen("0 * * * *", &t("08:30:00"));
    for hour in ["09", "10", "11"] {
        assert_eq!(scene.act(&t("08:30:00"), &t(&format!("{hour}:00:00"))).len(), 1);
    }
    scene.check(&t("09:30:00"), &t("09:30:00"), &[], 0, &t("12:00:00"));
    assert_eq!(scene.ledger.idle_until(instant(&t("09:30:00"))), Some(instant(&t("11:00:00"))));
    assert_eq!(scene.ledger.idle_until(instant(&t("11:00:00"))), None);
}

/// A clock that was wrong by decades leaves a mark in the future: idle until
/// then, and the search for what comes next does not walk there.
#[test]
fn marks_in_the_far_future() {
    let scene = Scene::first_seen("* * * * *", "2046-03-02T10:00:30Z");
    scene.check(&t("10:00:00"), &t("10:00:00"), &[], 0, "2046-03-02T10:01:00Z");
    assert_eq!(
        scene.ledger.idle_until(instant(&t("10:00:00"))),
        Some(instant("2046-03-02T10:00:30Z"))
    );
}

/// Attention: what counts as a lapse.
#[test]
fn lapses() {
    let mut attention = Attention::begin(instant(&t("10:00:00")));
    let mut wake = |planned: Option<&str>, now: &str| {
        let lapse = attention.wake(planned.map(|p| instant(&t(p))), instant(&t(now)));
        (lapse, attention.since() == instant(&t(now)))
    };
    assert_eq!(wake(Some("10:01:00"), "10:01:00.002"), (None, false));
    assert_eq!(wake(Some("10:02:00"), "10:03:00"), (None, false));
    assert_eq!(wake(None, "18:00:00"), (None, false));
    let minute = Duration::from_secs(60);
    assert_eq!(
        wake(Some("18:00:00"), "18:01:00.5"),
        (Some(Lapse::Forward(minute + Duration::from_millis(500))), true)
    );
    assert_eq!(wake(None, "18:01:00.5"), (None, true));
    assert_eq!(wake(Some("19:00:00"), "17:01:00.5"), (Some(Lapse::Backward(minute * 60)), true));
}

/// A window that is open and waiting is not closed by passing over others, even
/// if its nominal time is the earliest of all.
#[test]
fn a_waiting_window_survives_a_catch_up() {
    let schedule = "*/10 * * * * @win(after,2h) @policy(deadline=10h)";
    let now = instant(&t("11:00:30"));
    // An identity whose earliest open period still waits while later ones passed.
    let (job, waiting) = (0..500)
        .find_map(|i| {
            let job = job_of(&format!("waiting/{i}"), schedule);
            let first = job.next_period(support::second(&t("09:05:00")))?;
            let later_passed = job.decide(job.next_period(first.nominal())?).due() < now;
            (job.decide(first).due() > now && later_passed).then_some((job, first))
        })
        .unwrap();
    let ledger = Ledger::first_sight(&job, instant(&t("08:00:00")));
    let mut scene = Scene { job, ledger };
    assert_eq!(scene.act(&t("11:00:30"), &t("11:00:30")).len(), 1);
    let decision = scene.job.decide(waiting);
    assert!(!scene.ledger.is_closed(&decision), "{:?}", scene.ledger);
    let at = decision.due().to_string();
    let done = scene.act(&t("11:00:30"), &at);
    assert!(done.contains(&format!("{waiting} executed")), "{done:?}");
}
