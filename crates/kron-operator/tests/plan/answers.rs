//! What is made of the API server's answers: what a failed request means, when it is sent
//! again, and what that says of a template.

use crate::krond::{duration, instant};
use crate::script::period;
use kron_operator::api::KronJobStatus;
use kron_operator::cluster::Fail;
use kron_operator::obstacle::{self, Failed, Obstacle};
use kron_operator::trial::{Trial, Tried};
use kube::core::Status;
use serde_json::json;

fn fail(code: u16, reason: &str, message: &str, field: Option<&str>) -> Fail {
    let causes = field.map(|field| json!({ "field": field, "message": message, "reason": "" }));
    let status = json!({
        "status": "Failure", "code": code, "reason": reason, "message": message,
        "details": { "causes": causes.into_iter().collect::<Vec<_>>() },
    });
    let status: Status = serde_json::from_value(status).expect("a status");
    Fail::from(kube::Error::Api(Box::new(status)))
}

/// Fault 44: only what is wrong with the object itself is wrong for ever.
#[test]
fn what_an_answer_means() {
    let webhook = "admission webhook \"x\" denied the request: no";
    for (code, reason, message, field, expected) in [
        (422, "Invalid", "Job is invalid", Some("spec.template"), "refused"),
        // A ValidatingAdmissionPolicy has a cause, but no field.
        (422, "Invalid", "no Jobs today", Some(""), "later"),
        (422, "Invalid", "no Jobs today", None, "later"),
        (422, "Invalid", webhook, Some("spec.template"), "later"),
        (400, "", webhook, None, "later"),
        (400, "BadRequest", "cannot be handled", None, "later"),
        (403, "Forbidden", "exceeded quota", None, "later"),
        (413, "RequestEntityTooLarge", "limit is 3145728", None, "later"),
        (429, "TooManyRequests", "slow down", None, "later"),
        (500, "InternalError", "failed calling webhook", None, "silent"),
        (404, "NotFound", "", None, "missing"),
        (409, "Conflict", "", None, "conflict"),
        (409, "AlreadyExists", "", None, "exists"),
    ] {
        let found = match fail(code, reason, message, field) {
            Fail::Refused(_) => "refused",
            Fail::Taken(_) => "taken",
            Fail::Later(_) => "later",
            Fail::Silent(_) => "silent",
            Fail::Missing => "missing",
            Fail::Conflict => "conflict",
            Fail::Exists => "exists",
            Fail::Deposed => "deposed",
        };
        assert_eq!(found, expected, "{code} {reason} {message} {field:?}");
    }
}

/// Fault 44, OPR-07: a template that is denied is asked about again, ever more rarely, until
/// there is a plain answer.
#[test]
fn templates_that_are_denied() {
    let denied = || Err(Fail::Later("no Jobs today".into()));
    let now = instant("10:00:00");
    let mut trial = None;
    let mut pauses = Vec::new();
    for _ in 0..11 {
        let next = Trial::new(1, trial.as_ref(), denied(), now);
        assert!(matches!(&next.tried, Tried::Denied(why) if why.contains("no Jobs today")));
        pauses.push(next.again_at.and_then(|at| at.since(now)).expect("a pause").as_secs());
        trial = Some(next);
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    for answer in [Ok(()), Err(Fail::Exists)] {
        let fine = Trial::new(1, trial.as_ref(), answer, now);
        assert_eq!((&fine.tried, fine.again_at), (&Tried::Fine, None));
    }
    let refused = Err(Fail::Refused("restartPolicy".into()));
    let invalid = Trial::new(1, trial.as_ref(), refused, now);
    assert!(invalid.is_invalid() && invalid.again_at.is_none());
    // Another generation begins anew.
    let other = Trial::new(2, trial.as_ref(), denied(), now);
    assert_eq!(other.again_at, Some(now.saturating_add(duration("1s"))));
    // No answer at all is nothing to speak of, unless it stays so.
    let silent = || Err(Fail::Silent("no answer".into()));
    let once = Trial::new(1, None, silent(), now);
    assert_eq!((&once.tried, once.is_due(instant("10:00:01"))), (&Tried::Fine, true));
    assert!(matches!(Trial::new(1, Some(&once), silent(), now).tried, Tried::Denied(_)));
    // And it does not make an invalid one valid.
    let kept = Trial::new(1, Some(&invalid), silent(), now);
    assert!(kept.is_invalid() && kept.again_at.is_some());
}

/// Fault 44: what an earlier operator said of a template is asked again unless it was in order.
#[test]
fn templates_known_from_before() {
    for (generation, invalid, error, expected) in [
        (1, "False", "False", Some((Tried::Fine, false))),
        (1, "True", "False", Some((Tried::Invalid("why".into()), true))),
        (1, "False", "True", None),
        (2, "False", "False", None),
    ] {
        let condition = |type_: &str, status: &str| {
            json!({
                "type": type_, "status": status, "reason": "InvalidTemplate", "message": "why",
                "lastTransitionTime": "2026-03-02T09:59:31Z",
            })
        };
        let conditions = [condition("InvalidSpec", invalid), condition("SchedulingError", error)];
        let status = json!({ "observedGeneration": 1, "conditions": conditions });
        let status: KronJobStatus = serde_json::from_value(status).expect("a status");
        let found = Trial::before(generation, &status);
        let found = found.map(|trial| (trial.tried.clone(), trial.is_due(instant("10:00:00"))));
        assert_eq!(found, expected, "{generation} {invalid} {error}");
    }
}

fn failed(obstacles: &mut Vec<Obstacle>, of: &str, at: &str, is_own: bool) {
    let (period, expiry) = (period(of), instant("11:00:00"));
    let failed = Failed { period, why: String::new(), is_own, lands_until: None, expiry };
    obstacle::failed(obstacles, failed, instant(at));
}

/// Fault 44: the pause belongs to the `KronJob`, not to each of its periods.
#[test]
fn pauses() {
    let mut all = Vec::new();
    for _ in 0..12 {
        failed(&mut all, "10:00", "10:01:00", false);
    }
    failed(&mut all, "10:01", "10:01:00", false);
    failed(&mut all, "10:02", "10:01:05", true);
    let again = |all: &[Obstacle], of: &str| {
        let one = all.iter().find(|known| known.period == period(of)).expect("an obstacle");
        obstacle::again_at(all, one)
    };
    assert_eq!(again(&all, "10:00"), instant("10:01:30"));
    assert_eq!(again(&all, "10:01"), instant("10:01:30"));
    // A name that is taken is in nobody else's way, nor they in its.
    assert_eq!(again(&all, "10:02"), instant("10:01:05.1"));
    obstacle::passed(&mut all, period("10:01"), instant("10:01:10"));
    assert_eq!(all.len(), 2);
    assert_eq!(again(&all, "10:00"), instant("10:01:10"));
    // The last attempt is not long before the end, but there are not many.
    let mut tried = Vec::new();
    let mut at = instant("10:59:00");
    let mut late: Vec<Obstacle> = Vec::new();
    for _ in 0..12 {
        failed(&mut late, "10:00", "10:58:00", false);
    }
    while at < instant("11:00:00") {
        failed(&mut late, "10:00", &at.to_string(), false);
        tried.push(at);
        at = late[0].retry_at;
    }
    assert_eq!(tried.len(), 7, "{tried:?}");
    assert!(tried.last() >= Some(&instant("10:59:58")), "{tried:?}");
}
