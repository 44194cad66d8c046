//! Records: logged decisions that can be made again.

mod support;

use kron_core::{ALGORITHM, Record, Unverifiable, Zones};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::{job, job_of, period, strategy};

/// CORE-09: the serialised decision has every field, under its name.
#[test]
fn json_of_a_decision() {
    let zones = Zones::bundled();
    let job = job_of(
        "/etc/krond.d/a.kron:msgs",
        "0 10 * * * @tz(Europe/Paris) @win(around,1h1m1s) @dist(normal,sigma=15m) \
         @seed(daily,salt=\"a b\") @only(dow=MON-FRI)",
    );
    let record = Record::of(&job.decide(period("2026-03-02T09:00:00Z")), &zones);
    let got = serde_json::to_value(&record).unwrap();
    let expected = json!({
        "algorithm": "kron/1",
        "tzdb": zones.version(),
        "identity": "/etc/krond.d/a.kron:msgs",
        "schedule": "0 10 * * * @tz(Europe/Paris) @win(around,1h1m1s) @dist(normal,sigma=15m) \
                     @seed(daily,salt=\"a b\") @only(dow=MON-FRI)",
        "periodId": "2026-03-02T09:00:00Z",
        "nominalTime": "2026-03-02T09:00:00Z",
        "windowStart": "2026-03-02T08:29:29.5Z",
        "windowEnd": "2026-03-02T09:30:30.5Z",
        "chosenTime": got["chosenTime"],
        "timezone": "Europe/Paris",
        "mode": "around",
        "distribution": {"name": "normal", "params": {"mu": "nominal", "sigma": "15m"}},
        "seedStrategy": "daily",
        "salt": "a b",
        "periodKey": "2026-03-02",
        "seedHash": got["seedHash"],
        "constraints": {"only": "dow=MON-FRI", "avoid": null},
        "attempts": 1,
        "maxAttempts": 4096,
        "unschedulable": false,
        "reason": null,
    });
    assert_eq!(got, expected);
    assert!(got["chosenTime"].as_str().unwrap().ends_with('Z'));
    assert_eq!(got["seedHash"].as_str().unwrap().len(), 64);
}

#[test]
fn unschedulable_has_a_reason_and_no_time() {
    let job = job("0 10 * * SUN @only(dow=MON)");
    let record = Record::of(&job.decide(period("2026-03-01T10:00:00Z")), &Zones::bundled());
    assert_eq!(record.chosen_time, None);
    assert!(record.unschedulable);
    assert_eq!(record.reason.as_deref(), Some("the constraints allow no second of the window"));
}

/// A record with one field altered: the difference is found, and named.
#[test]
fn alterations_are_found() {
    let mut zones = Zones::bundled();
    let job = job("0 10 * * * @win(after,2h) @dist(skewLate) @avoid(hours=11)");
    let record = Record::of(&job.decide(period("2026-03-02T10:00:00Z")), &zones);
    let text = serde_json::to_value(&record).unwrap();
    for (field, value) in [
        ("nominalTime", json!("2026-03-02T11:00:00Z")),
        ("windowStart", json!("2026-03-02T09:00:00Z")),
        ("windowEnd", json!("2026-03-02T13:00:00Z")),
        ("chosenTime", json!(null)),
        ("timezone", json!("Europe/Paris")),
        ("mode", json!("around")),
        ("distribution", json!({"name": "skewLate", "params": {"shape": "3"}})),
        ("seedStrategy", json!("daily")),
        ("salt", json!("x")),
        ("periodKey", json!("2026-03-02")),
        ("seedHash", json!("00")),
        ("constraints", json!({"only": null, "avoid": null})),
        ("attempts", json!(99)),
        ("maxAttempts", json!(64)),
        ("unschedulable", json!(true)),
        ("reason", json!("none")),
    ] {
        let mut altered = text.clone();
        altered[field] = value;
        let altered: Record = serde_json::from_value(altered).unwrap();
        let differences = altered.verify(&mut zones).unwrap();
        let fields: Vec<&str> = differences.iter().map(|d| d.field).collect();
        assert_eq!(fields, [field]);
    }
    // Inputs: another period or schedule makes another decision.
    let mut altered = record.clone();
    altered.schedule = "0 10 * * * @win(after,2h)".into();
    assert!(!altered.verify(&mut zones).unwrap().is_empty());
    // The schedule is recorded in its canonical form.
    let mut altered = record.clone();
    altered.schedule = record.schedule.replace("2h", "120m");
    let fields: Vec<&str> = altered.verify(&mut zones).unwrap().iter().map(|d| d.field).collect();
    assert_eq!(fields, ["schedule"]);
    // Another tz database is not a difference by itself.
    let mut older = record.clone();
    older.tzdb = "2001a".into();
    assert_eq!(older.verify(&mut zones).unwrap(), []);
    older.attempts = 7;
    let fields: Vec<&str> = older.verify(&mut zones).unwrap().iter().map(|d| d.field).collect();
    assert_eq!(fields, ["attempts", "tzdb"]);
}

#[test]
fn unverifiable_records() {
    let mut zones = Zones::bundled();
    let job = job("0 10 * * *");
    let record = Record::of(&job.decide(period("2026-03-02T10:00:00Z")), &zones);
    assert_eq!(record.algorithm, ALGORITHM);
    let other = Record { algorithm: "kron/2".into(), ..record.clone() };
    assert!(matches!(other.verify(&mut zones), Err(Unverifiable::Algorithm(_))));
    let other = Record { schedule: "0 99 * * *".into(), ..record.clone() };
    assert!(matches!(other.verify(&mut zones), Err(Unverifiable::Definition(_))));
    let other = Record { period_id: "yesterday".into(), ..record };
    assert!(matches!(other.verify(&mut zones), Err(Unverifiable::Period(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// CORE-39, CORE-01: from the record alone, through text and back, the same
    /// decision comes out.
    #[test]
    fn every_record_can_be_recomputed(schedule in strategy::schedule(), at in 0..4_000_000_000_i64) {
        let mut zones = Zones::bundled();
        let job = job(&schedule);
        let period = job.next_period(kron_core::UtcSecond::new(at).unwrap()).unwrap();
        let text = serde_json::to_string(&Record::of(&job.decide(period), &zones)).unwrap();
        let record: Record = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(record.verify(&mut zones).unwrap(), vec![]);
        let value: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(value.as_object().unwrap().len(), 21);
    }
}

/// OBS-04: a record survives the way through a log line.
#[test]
fn records_as_log_lines() {
    use kron_core::logfmt::{Value, pairs};
    let zones = Zones::bundled();
    for schedule in [
        "0 10 * * *",
        "0 10 * * * @win(around,45m) @dist(normal) @seed(weekly,salt=\"a \\\"b\\\"=\")",
        "0 10 * * * @tz(Europe/Paris) @win(after,2h) @dist(skewLate,shape=2.5) @only(dow=MON-FRI;hours=8-18) @avoid(date=2026-12-25)",
        "0 10 * * * @win(after,1h) @only(hours=3)",
    ] {
        let job = job_of("/etc/krond.d/a b.kron:x", schedule);
        let record = Record::of(&job.decide("2026-03-02T10:00:00Z".parse().unwrap()), &zones);
        let line: Vec<String> = record
            .log_fields()
            .iter()
            .map(|(key, value)| format!("{key}={}", Value(value)))
            .collect();
        let line = format!("2026-03-02T10:00:00.000000000Z {}", line.join(" "));
        let read: std::collections::BTreeMap<_, _> = pairs(&line).map(Result::unwrap).collect();
        let again = Record::from_log_fields(|key| read.get(key).cloned()).unwrap();
        assert_eq!(again, record, "{line}");
        // Each key is needed, or its absence means something else.
        for (key, _) in record.log_fields() {
            let without = Record::from_log_fields(|k| read.get(k).filter(|_| k != key).cloned());
            assert_ne!(without.ok().as_ref(), Some(&record), "{key}");
        }
    }
}
