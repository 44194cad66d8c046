//! The verdict over the full product of its inputs, against a literal reading
//! of the contract.

mod support;

use core::time::Duration;
use kron_core::{
    Concurrency, Decision, Ending, Job, Ledger, Outcome, PeriodId, Situation, UtcInstant, Verdict,
    judge,
};
use support::{instant, job, period};

/// What the contract says is to be done, in its own terms.
#[derive(Debug, PartialEq)]
enum Expected {
    Handled,
    Suspended,
    Wait,
    Close(Outcome),
    EndOthersFirst,
    Start,
}

/// What has been seen, in the contract's terms.
#[derive(Clone, Copy, Debug)]
struct Seen {
    recorded: bool,
    running_this_period: bool,
    other_active: usize,
}

/// SPEC's sections on triggering, deadlines, concurrency and idempotency, read
/// one sentence at a time. Times are nanoseconds.
fn literal(job: &Job, decision: &Decision<'_>, seen: Seen, now: i128) -> Expected {
    let nanos =
        |t: UtcInstant| i128::from(t.unix_seconds()) * 1_000_000_000 + i128::from(t.subsec_nanos());
    let policy = job.policy();
    // "If an execution for the period is already recorded as started or
    // completed, the period is handled and must not be executed again."
    if seen.recorded || seen.running_this_period {
        return Expected::Handled;
    }
    // "If policy.suspend=true, no trigger occurs and no period is handled."
    if policy.suspend {
        return Expected::Suspended;
    }
    // Unschedulable is recorded when now reaches the window's start.
    let Some(chosen) = decision.chosen() else {
        return if now >= nanos(decision.window().start()) {
            Expected::Close(Outcome::Unschedulable)
        } else {
            Expected::Wait
        };
    };
    let chosen = nanos(chosen.instant());
    // "A period becomes eligible for trigger when now ≥ chosen_time."
    if now < chosen {
        return Expected::Wait;
    }
    // "If DL=0s … missed if now > C", in whole seconds; "If now > C + DL, missed."
    let deadline = policy.deadline.as_nanos() as i128;
    let missed = if deadline == 0 {
        now.div_euclid(1_000_000_000) > chosen / 1_000_000_000
    } else {
        now > chosen + deadline
    };
    if missed {
        return Expected::Close(Outcome::Missed);
    }
    match policy.concurrency {
        Concurrency::Forbid if seen.other_active > 0 => Expected::Close(Outcome::Skipped),
        Concurrency::Replace if seen.other_active > 0 => Expected::EndOthersFirst,
        Concurrency::Allow | Concurrency::Forbid | Concurrency::Replace => Expected::Start,
    }
}

/// Ledgers that leave the period open, and that close it, each in every way.
fn ledgers(decision: &Decision<'_>) -> Vec<(Ledger, bool)> {
    let job = decision.job();
    let this = decision.period();
    let earlier = job
        .prev_period(kron_core::UtcSecond::new(this.nominal().unix_seconds() - 1).unwrap())
        .unwrap();
    let later = job.next_period(this.nominal()).unwrap();
    let due = decision.due();
    let nanosecond = Duration::from_nanos(1);
    let restore =
        |through: Option<PeriodId>, ahead: Vec<PeriodId>, not_before: Option<UtcInstant>| {
            Ledger::restore(through, ahead, not_before, None)
        };
    vec![
        (restore(None, vec![], None), false),
        (restore(Some(earlier), vec![later], None), false),
        (restore(None, vec![], Some(due)), false),
        (restore(None, vec![], Some(due.saturating_add(nanosecond))), true),
        (restore(Some(this), vec![], None), true),
        (restore(Some(later), vec![], None), true),
        (restore(Some(earlier), vec![this], None), true),
        (Ledger::first_sight(job, due), false),
        (Ledger::first_sight(job, due.saturating_add(Duration::from_secs(5))), true),
    ]
}

/// CORE-10, CORE-40, CORE-41, CORE-42, CORE-43, CORE-45, CORE-46, CORE-48: every
/// combination of definition, ledger, active executions and time.
#[test]
fn full_product() {
    let mut judged = 0;
    let mut kinds = std::collections::BTreeMap::new();
    for window in ["after,0s", "after,1h", "around,1h", "around,1.5s"] {
        for constraint in ["", "@only(hours=9-10)", "@only(hours=3)"] {
            for concurrency in ["allow", "forbid", "replace"] {
                for deadline in ["0s", "500ms", "1s", "10m", "300h"] {
                    for suspend in ["false", "true"] {
                        let job = job(&format!(
                            "0 10 * * * @win({window}) {constraint} \
                             @policy(concurrency={concurrency},deadline={deadline},suspend={suspend})"
                        ));
                        let decision = job.decide(period("2026-03-02T10:00:00Z"));
                        judged += check_all(&job, &decision, &mut kinds);
                    }
                }
            }
        }
    }
    assert!(judged > 150_000, "{judged}");
    // Every kind of verdict occurred.
    assert_eq!(kinds.len(), 8, "{kinds:?}");
}

fn check_all(
    job: &Job,
    decision: &Decision<'_>,
    kinds: &mut std::collections::BTreeMap<String, u32>,
) -> usize {
    let mut judged = 0;
    let others = [period("2026-02-27T10:00:00Z"), period("2026-02-28T10:00:00Z")];
    let active_sets: [Vec<PeriodId>; 5] = [
        vec![],
        vec![others[0]],
        others.to_vec(),
        vec![decision.period()],
        vec![others[0], decision.period()],
    ];
    for now in interesting_instants(job, decision) {
        for (ledger, recorded) in ledgers(decision) {
            for active in &active_sets {
                let seen = Seen {
                    recorded,
                    running_this_period: active.contains(&decision.period()),
                    other_active: active.iter().filter(|p| **p != decision.period()).count(),
                };
                let at =
                    i128::from(now.unix_seconds()) * 1_000_000_000 + i128::from(now.subsec_nanos());
                let expected = literal(job, decision, seen, at);
                let situation = Situation { ledger: &ledger, active, obstacle: None, now };
                let verdict = judge(decision, situation);
                let (got, kind) = summary(verdict, job, decision, active);
                assert_eq!(got, expected, "{} {seen:?} {now}", job.schedule());
                *kinds.entry(kind).or_default() += 1;
                judged += 1;
            }
        }
    }
    judged
}

/// CORE-40, CORE-42, CORE-43: each border, one nanosecond before, at, and after.
fn interesting_instants(job: &Job, decision: &Decision<'_>) -> Vec<UtcInstant> {
    let due = decision.due();
    let deadline = job.policy().deadline;
    let centres = [
        decision.window().start(),
        due,
        due.saturating_add(Duration::from_millis(500)),
        due.saturating_add(Duration::from_secs(1)),
        due.saturating_add(deadline),
        due.saturating_add(Duration::from_secs(60)),
        due.saturating_add(Duration::from_secs(40 * 86_400)),
        due.saturating_sub(Duration::from_secs(40 * 86_400)),
    ];
    let nanosecond = Duration::from_nanos(1);
    centres
        .into_iter()
        .flat_map(|t| [t.saturating_sub(nanosecond), t, t.saturating_add(nanosecond)])
        .collect()
}

fn summary(
    verdict: Verdict<'_>,
    job: &Job,
    decision: &Decision<'_>,
    active: &[PeriodId],
) -> (Expected, String) {
    match verdict {
        Verdict::Handled => (Expected::Handled, "handled".into()),
        Verdict::Suspended => (Expected::Suspended, "suspended".into()),
        Verdict::WaitUntil(until) => {
            assert_eq!(until, decision.due());
            (Expected::Wait, "wait".into())
        }
        Verdict::Close(closure) => {
            assert_eq!(closure.period(), decision.period());
            assert_eq!(closure.chosen(), decision.chosen());
            // CORE-10: never executed here; and what was not executed says why.
            assert_ne!(closure.outcome(), Outcome::Executed);
            assert!(!closure.reason().unwrap().to_string().is_empty());
            (Expected::Close(closure.outcome()), closure.outcome().to_string())
        }
        Verdict::Replace(replacement) => {
            assert_eq!(job.policy().concurrency, Concurrency::Replace);
            // CORE-46: no permit while one is active, a permit when none is.
            let replacement = replacement.complete(active).expect_err("still active");
            let permit = replacement.complete(&[]).expect("all gone");
            assert_eq!(permit.closure().outcome(), Outcome::Executed);
            (Expected::EndOthersFirst, "replace".into())
        }
        Verdict::Start(permit) => {
            assert_eq!(permit.decision().period(), decision.period());
            assert_eq!(Some(permit.chosen()), decision.chosen());
            assert_eq!(permit.closure().outcome(), Outcome::Executed);
            assert!(permit.closure().reason().is_none());
            (Expected::Start, "start".into())
        }
    }
}

/// CORE-08: the time that counts is the one handed in.
#[test]
fn now_is_an_argument() {
    let job = job("0 10 * * *");
    for (nominal, year) in [("1999-01-01T10:00:00Z", "1999"), ("2099-01-01T10:00:00Z", "2099")] {
        let decision = job.decide(period(nominal));
        let ledger = Ledger::restore(None, vec![], None, None);
        let at = |now: &str| {
            let situation =
                Situation { ledger: &ledger, active: &[], obstacle: None, now: instant(now) };
            judge(&decision, situation)
        };
        assert!(matches!(at(&format!("{year}-01-01T10:00:00Z")), Verdict::Start(_)));
        assert!(matches!(at(&format!("{year}-01-01T09:59:59.999999999Z")), Verdict::WaitUntil(_)));
        assert!(matches!(at(&format!("{year}-01-01T10:00:01Z")), Verdict::Close(_)));
    }
}

/// CORE-44: only executions of the same job are asked about, and only at the
/// time of the trigger.
#[test]
fn concurrency_is_judged_when_triggered() {
    let job = job("0 10 * * * @policy(deadline=10m)");
    let decision = job.decide(period("2026-03-02T10:00:00Z"));
    let ledger = Ledger::restore(None, vec![], None, None);
    let judge_with = |active: &[PeriodId]| {
        let now = instant("2026-03-02T10:00:00Z");
        judge(&decision, Situation { ledger: &ledger, active, obstacle: None, now })
    };
    let Verdict::Close(skipped) = judge_with(&[period("2026-03-01T10:00:00Z")]) else { panic!() };
    assert_eq!(skipped.ending(), &Ending::Skipped { active: 1 });
    assert!(matches!(judge_with(&[]), Verdict::Start(_)));
}

/// The reasons, word for word.
#[test]
fn reasons() {
    let ledger = Ledger::restore(None, vec![], None, None);
    let reason = |schedule: &str, now: &str, active: &[PeriodId], obstacle: Option<&str>| {
        let job = job(schedule);
        let decision = job.decide(period("2026-03-02T10:00:00Z"));
        let situation = Situation { ledger: &ledger, active, obstacle, now: instant(now) };
        match judge(&decision, situation) {
            Verdict::Close(closure) => closure.reason().unwrap().to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        reason("0 10 * * *", "2026-03-02T10:00:05.25Z", &[], None),
        "5s250ms after the chosen time, deadline 0s"
    );
    assert_eq!(
        reason(
            "0 10 * * * @policy(deadline=5m)",
            "2026-03-02T10:06:00Z",
            &[],
            Some("no such command")
        ),
        "6m after the chosen time, deadline 5m; last attempt: no such command"
    );
    let running = [period("2026-03-01T10:00:00Z"), period("2026-02-28T10:00:00Z")];
    assert_eq!(
        reason("0 10 * * *", "2026-03-02T10:00:00Z", &running[..1], None),
        "an execution is still active and concurrency is forbid"
    );
    assert_eq!(
        reason("0 10 * * *", "2026-03-02T10:00:00Z", &running, None),
        "2 executions are still active and concurrency is forbid"
    );
    assert_eq!(
        reason("0 10 * * * @only(hours=3)", "2026-03-02T10:00:00Z", &[], None),
        "the constraints allow no second of the window"
    );
}

/// CORE-42, CORE-46: that others take long to end does not make a period late, unless the next
/// one is in line behind it or something else is in its way.
#[test]
fn in_line_to_replace() {
    let job = job("0 10 * * * @policy(concurrency=replace,deadline=5m)");
    let decision = job.decide(period("2026-03-02T10:00:00Z"));
    let ledger = Ledger::restore(None, vec![], None, None);
    // Judged, now, followed, obstacle → what becomes of it.
    let rows = [
        ("10:05:00", "10:05:00", false, None, "start"),
        ("10:05:00", "10:59:00", false, None, "start"),
        ("10:00:00", "10:05:00", true, None, "start"),
        ("10:05:00", "10:05:01", true, None, "5m1s; what it was to replace had not ended"),
        ("10:00:00", "10:05:00", false, Some("no quota"), "start"),
        ("10:05:00", "10:05:01", false, Some("no quota"), "5m1s; no quota"),
        // The deadline was made shorter meanwhile.
        ("10:06:00", "10:07:00", false, None, "6m; what it was to replace had not ended"),
    ];
    let at = |time: &str| instant(&format!("2026-03-02T{time}Z"));
    for (judged, now, is_followed, obstacle, expected) in rows {
        let situation = Situation { ledger: &ledger, active: &[], obstacle, now: at(now) };
        let got = match judge(&decision, situation.having_waited(at(judged), is_followed)) {
            Verdict::Start(_) => "start".to_string(),
            Verdict::Close(closure) => {
                let reason = closure.reason().unwrap().to_string();
                reason.replace(" after the chosen time, deadline 5m; last attempt:", ";")
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(got, expected, "{judged} {now} {is_followed} {obstacle:?}");
    }
}

/// CORE-47: a handled period stays handled, whatever the time.
#[test]
fn a_thousand_evaluations_of_a_handled_period() {
    let job = job("0 10 * * * @policy(deadline=1h)");
    let decision = job.decide(period("2026-03-02T10:00:00Z"));
    let mut ledger = Ledger::first_sight(&job, instant("2026-03-01T12:00:00Z"));
    let now = instant("2026-03-02T10:00:00Z");
    let Verdict::Start(permit) =
        judge(&decision, Situation { ledger: &ledger, active: &[], obstacle: None, now })
    else {
        panic!()
    };
    ledger.close(&job, &permit.closure(), now);
    for i in 0..1000_i64 {
        let now = UtcInstant::new(1_772_000_000 + i * 1009, 7).unwrap();
        let verdict =
            judge(&decision, Situation { ledger: &ledger, active: &[], obstacle: None, now });
        assert!(matches!(verdict, Verdict::Handled), "{now}");
    }
}
