//! State files of every release, kept as they were written: each must load, with
//! the same result, for as long as the version is 1 (STA-33, STA-34). Files and
//! rows are added, never changed.

mod support;

use kron_core::Identity;
use kron_engine::commit::Rostered;
use kron_engine::state;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use support::{Place, now};

const ID: &str = "/etc/krond.d/shop.kron:invoices";

const ROWS: &[(&str, &str)] = &[
    (
        "v1-minimal",
        "last 2026-02-25T10:00:00Z executed chosen 2026-02-25T10:17:23Z; \
         through 2026-02-25T10:00:00Z; ahead; not before 0001-01-01T00:00:00Z; active; history 0",
    ),
    (
        "v1-nothing-handled",
        "last none; through none; ahead; not before 0001-01-01T00:00:00Z; active; history 0",
    ),
    (
        "v1-unschedulable",
        "last 2026-02-25T10:00:00Z unschedulable chosen none; \
         through 2026-02-25T10:00:00Z; ahead; not before 0001-01-01T00:00:00Z; active; history 0",
    ),
    (
        "v1-documents-active",
        "last 2026-02-24T10:00:00Z missed chosen 2026-02-24T10:05:00Z; \
         through 2026-02-24T10:00:00Z; ahead 2026-02-25T10:00:00Z; \
         not before 0001-01-01T00:00:00Z; active 2026-02-25T10:00:00Z 4711; history 1",
    ),
    (
        "v1-full",
        "last 2026-02-25T10:00:00Z executed chosen 2026-02-25T10:17:23Z; \
         through 2026-02-25T09:00:00Z; ahead 2026-02-25T10:00:00Z 2026-02-25T12:00:00Z; \
         not before 2026-02-20T08:00:00.5Z; \
         active 2026-02-25T10:00:00Z 814 123000 2f0a7f3e-7d0c-4a51-9d3b-1c9d7b6b0e11 \
         2026-02-25T12:00:00Z 815 123456 2f0a7f3e-7d0c-4a51-9d3b-1c9d7b6b0e11; history 1",
    ),
    (
        "v1-keys-of-the-future",
        "last 2026-02-25T10:00:00Z skipped chosen 2026-02-25T10:17:23Z; \
         through 2026-02-25T10:00:00Z; ahead; not before 0001-01-01T00:00:00Z; active; history 0",
    ),
];

#[test]
fn every_state_file_ever_written_loads() {
    let identity = Identity::new(ID).unwrap();
    let states = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/states");
    assert_eq!(fs::read_dir(&states).unwrap().count(), ROWS.len(), "a file without a row");
    for (name, expected) in ROWS {
        let bytes = fs::read(states.join(name).with_extension("json")).unwrap();
        let place = Place::new();
        let store = place.open();
        fs::write(store.path_of(&identity), &bytes).unwrap();
        let loaded = store.load(std::slice::from_ref(&identity), now()).unwrap();
        let kept = loaded.found.into_iter().next().unwrap().kept.unwrap();
        let history = store.read_history(&identity).unwrap().unwrap();
        assert_eq!(describe(&kept, history.len()), *expected, "{name}");
        // Written and read once more it is the same (STA-33).
        let entries: Vec<String> = history.iter().map(state::entry).collect();
        let again = state::encode(&identity, &kept, entries.iter().map(String::as_str), 100);
        assert_eq!(state::decode(&again, &identity).unwrap(), kept, "{name}");
    }
}

/// The roster of every release, too. Who is asked for, and what it says of each.
#[test]
fn every_roster_ever_written_loads() {
    check_roster(
        "v1.jsonl",
        &[
            ("job-000000", "2026-03-01T08:00:00Z a 0s - false false"),
            ("job-000001", "2026-03-01T09:00:00Z b 0s - true false"),
            ("job-000003", "nothing"),
            ("\"q\\ü", "2026-03-01T08:00:00Z a 0s - true false"),
        ],
    );
    check_roster(
        "v1-lead.jsonl",
        &[
            ("job-000000", "2026-03-01T08:00:00Z a 2700s - false false"),
            ("job-000001", "2026-03-01T09:00:00Z b 0s 2026-03-01T09:30:00Z true false"),
            ("job-000003", "2026-03-01T08:00:00Z a 15811200s 2026-09-01T00:00:00Z false false"),
        ],
    );
}

/// What is known of jobs by a roster in which the third is gone.
fn check_roster(file: &str, expected: &[(&str, &str)]) {
    let place = Place::new();
    // It is read when the store is opened.
    let directory = place.open().path().to_path_buf();
    let rosters = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rosters");
    fs::copy(rosters.join(file), directory.join("roster")).unwrap();
    let store = place.open();
    let identity = |name: &str| Identity::new(&format!("/etc/krond.d/shop.kron:{name}")).unwrap();
    let identities: Vec<_> = expected.iter().map(|(name, _)| identity(name)).collect();
    let loaded = store.load(&identities, now()).unwrap();
    for (found, (name, expected)) in loaded.found.iter().zip(expected) {
        let said = found.roster.as_ref().map_or("nothing".into(), |known| {
            let seen = known.seen.unwrap();
            let through = seen.through.map_or("-".into(), |through| through.to_string());
            let definition = &seen.definition.to_string()[..1];
            let Rostered { has_file, gone, .. } = known;
            let (not_before, lead) = (seen.not_before, seen.lead.as_secs());
            format!("{not_before} {definition} {lead}s {through} {has_file} {gone}")
        });
        assert_eq!(said, *expected, "{file}: {name}");
    }
    assert_eq!(loaded.others, [], "{file}: the third is gone");
}

fn describe(kept: &kron_engine::kept::Kept, history: usize) -> String {
    let mut out = String::from("last ");
    match &kept.last {
        Some(last) => {
            let chosen = last.chosen.map_or("none".into(), |chosen| chosen.to_string());
            write!(out, "{} {} chosen {chosen}", last.period, last.outcome).unwrap();
        }
        None => out.push_str("none"),
    }
    let through = kept.ledger.handled_through().map_or("none".into(), |p| p.to_string());
    write!(out, "; through {through}; ahead").unwrap();
    for period in kept.ledger.handled_ahead() {
        write!(out, " {period}").unwrap();
    }
    write!(out, "; not before {}; active", kept.ledger.not_before()).unwrap();
    for active in &kept.active {
        write!(out, " {} {}", active.period, active.process.pid).unwrap();
        if let (Some(ticks), Some(boot)) = (active.process.start_ticks, &active.process.boot_id) {
            write!(out, " {ticks} {boot}").unwrap();
        }
    }
    write!(out, "; history {history}").unwrap();
    out
}
