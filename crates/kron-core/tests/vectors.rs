//! Golden decisions (append-only). CORE-51: a file that stands here may grow
//! but not change; a new algorithm gets a new file and a new major version.
//!
//! `reference-v1.json` comes from another implementation of the contract;
//! `golden-v1.json` from `vectors/generate.py`, which was written from the
//! description alone and shares no code with the engine.

mod support;

use kron_core::{Job, Record, Zones};
use serde_json::Value;
use sha2::{Digest, Sha256};

fn check_file(text: &str, cases: usize) {
    let file: Value = serde_json::from_str(text).unwrap();
    let rows = file["cases"].as_array().unwrap();
    assert!(rows.len() >= cases, "vectors are append-only: {} of {cases} left", rows.len());
    let mut zones = Zones::bundled();
    for row in rows {
        check(row, &mut zones);
    }
}

/// CORE-22, CORE-39, CORE-51: every field of every recorded decision.
fn check(row: &Value, zones: &mut Zones) {
    let text = |key: &str| row[key].as_str().unwrap();
    let name = text("name");
    let job = Job::parse(text("identity"), text("schedule"), zones)
        .unwrap_or_else(|errors| panic!("{name}: {errors}"));
    let decision = job.decide(text("nominal").parse().unwrap());
    let record = serde_json::to_value(Record::of(&decision, zones)).unwrap();
    for (field, expected) in row["expect"].as_object().unwrap() {
        assert_eq!(&record[field], expected, "{name}: {field}");
    }
    // CORE-38: with no chosen time there is a reason, and only then.
    assert_eq!(record["unschedulable"], record["chosenTime"].is_null(), "{name}");
    assert_eq!(record["unschedulable"], !record["reason"].is_null(), "{name}");
    // CORE-28, CORE-29: the hash, from the text itself.
    let input = format!("{}\n{}\n{}", text("identity"), text_of(&record, "periodKey"), job.salt());
    let hash = hex(input.as_bytes());
    assert_eq!(record["seedHash"], hash.as_str(), "{name}");
    // The explained decision is the same decision.
    let (explained, rejected) = job.decide_explained(decision.period());
    assert_eq!(explained.choice(), decision.choice(), "{name}");
    let refused = match decision.chosen() {
        Some(_) => decision.attempts().saturating_sub(1),
        None => decision.attempts(),
    };
    assert_eq!(rejected.len(), usize::from(refused), "{name}");
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

fn text_of<'a>(record: &'a Value, key: &str) -> &'a str {
    record[key].as_str().unwrap()
}

#[test]
fn decisions_of_another_implementation() {
    check_file(include_str!("vectors/reference-v1.json"), 22);
}

#[test]
fn golden_decisions() {
    check_file(include_str!("vectors/golden-v1.json"), 570);
}

/// CORE-51: the published vectors are frozen, byte for byte. When rows are
/// added, the length grows and this line with it; the bytes before stay.
#[test]
fn golden_files_only_grow() {
    for (text, length, digest) in [
        (include_str!("vectors/reference-v1.json"), REFERENCE.0, REFERENCE.1),
        (include_str!("vectors/golden-v1.json"), GOLDEN.0, GOLDEN.1),
    ] {
        // Up to the end of the last case; what follows closes the JSON.
        let cases = text.rfind("\n]").unwrap();
        assert!(cases >= length, "{cases} of {length}");
        let got = hex(&text.as_bytes()[..length]);
        assert_eq!(got, digest, "{cases}");
    }
}

const REFERENCE: (usize, &str) =
    (11_879, "07cd29e103da1e6f4437fb5441769a3e50ce2cfc90499493dbafa56828ce902c");
const GOLDEN: (usize, &str) =
    (301_794, "cc0ab9adb324c2926da29812c3df2601c1de0d7e09bb5774996f49d44858d3fb");
