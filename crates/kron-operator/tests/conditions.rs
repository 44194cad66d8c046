//! What conditions say of a `KronJob` (OPR-07).

use kron_core::{Job, Zones};
use kron_operator::api::KronJobStatus;
use kron_operator::book::Book;
use kron_operator::conditions::Health;
use serde_json::json;

const NOW: &str = "2026-03-02T12:00:00Z";

/// What is said by a definition of one whose last period had no allowed time: those that are
/// true, with their reasons.
#[track_caller]
fn check(schedule: &str, expected: &str) {
    let job = Job::parse("shop/a", schedule, &mut Zones::bundled()).unwrap();
    let period = "2026-03-02T10:00:00Z";
    let status: KronJobStatus = serde_json::from_value(json!({
        "marks": { "notBefore": "2026-03-01T00:00:00Z" },
        "lastPeriod": {
            "periodId": period, "nominalTime": period, "outcome": "unschedulable", "reason": "why",
        },
        "nextPeriod": { "periodId": NOW, "nominalTime": NOW, "seedHash": "" },
    }))
    .unwrap();
    let now = NOW.parse().unwrap();
    let (book, _) = Book::read(Some(&status), &job, None, now);
    let conditions = Health::of(&book, &job, None).conditions(&[], 1, now);
    let said = conditions.iter().filter(|condition| condition.status == "True");
    let said: Vec<String> = said.map(|said| format!("{} {}", said.type_, said.reason)).collect();
    assert_eq!(said.join(", "), expected, "{schedule}");
}

/// A period without an allowed time is told of until there is another outcome, or an edit
/// by which it is none or would have one.
#[test]
fn unschedulable() {
    check("0 10 * * * @only(hours=3)", "Ready Scheduled, Unschedulable NoAllowedTime");
    check("0 10 * * * @only(hours=10)", "Ready Scheduled");
    check("30 10 * * * @only(hours=3)", "Ready Scheduled");
    check(
        "0 10 * * * @only(hours=3) @policy(suspend=true)",
        "Ready Suspended, Unschedulable NoAllowedTime",
    );
}
