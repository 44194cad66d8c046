//! What Events say (OPR-07).

use kron_core::Closure;
use kron_operator::announce::Announcement;
use kron_operator::plan::{Created, Remark};

#[track_caller]
fn check(remark: &Remark, expected: &str) {
    let said = Announcement::of(remark);
    let said = said.map_or("nothing".into(), |Announcement { is_warning, reason, note, job }| {
        let job = job.map_or(String::new(), |job| format!(" ({job})"));
        format!("{}{reason}: {note}{job}", if is_warning { "warning " } else { "" })
    });
    assert_eq!(said, expected, "{remark:?}");
}

/// When a Job was created is not when it was to be, if it is late.
#[test]
fn executed() {
    let period = "2026-03-02T10:00:00Z".parse().unwrap();
    for created in ["2026-03-02T10:00:09Z", "2026-03-02T10:04:00Z"] {
        let end = Closure::found(period, "2026-03-02T10:00:09Z".parse().ok());
        let job = Some(Created { name: "a-1".into(), at: created.parse().unwrap() });
        check(
            &Remark::Outcome { end, seed_hash: None, job },
            &format!(
                "Executed: period 2026-03-02T10:00:00Z, chosen 2026-03-02T10:00:09Z: created Job \
                 a-1 at {created} (a-1)"
            ),
        );
    }
}

/// Nobody may have looked, or it was suspended.
#[test]
fn superseded() {
    let rest = "passed while nobody looked or nothing was to run; only the latest such period is \
                judged";
    check(&Remark::Superseded(1, false), &format!("Superseded: 1 period {rest}"));
    check(&Remark::Superseded(7, false), &format!("Superseded: 7 periods {rest}"));
    check(&Remark::Superseded(4095, true), &format!("Superseded: at least 4095 periods {rest}"));
}

/// It waited for another attempt, or until others had ended.
#[test]
fn barred() {
    let rest = "waited when the spec was changed, and will not run";
    check(&Remark::Barred(1), &format!("Superseded: 1 period {rest}"));
    check(&Remark::Barred(2), &format!("Superseded: 2 periods {rest}"));
}

/// What only the log has.
#[test]
fn not_worth_an_event() {
    check(&Remark::Planned("2026-03-02T10:00:00Z".parse().unwrap()), "nothing");
}
