//! The text of state files and of the roster.

use core::time::Duration;
use kron_core::{Identity, Ledger, Outcome, PeriodId, SeedHash, Seen, UtcInstant, UtcSecond};
use kron_engine::commit::RosterLine;
use kron_engine::kept::{Active, Finished, Kept, Last, Process};
use kron_engine::roster;
use kron_engine::state::{self, StateError};
use proptest::prelude::*;
use serde_json::Value;

const ID: &str = "/etc/krond.d/shop.kron:invoices";

fn identity() -> Identity {
    Identity::new(ID).unwrap()
}

fn decode(text: &str) -> Result<Kept, StateError> {
    state::decode(text.as_bytes(), &identity())
}

fn period(text: &str) -> PeriodId {
    text.parse().unwrap()
}

/// A file of STATE.md's keys alone, one of them replaced or, if empty, left out.
fn plain(key: &str, value: &str) -> String {
    let keys = [
        ("Version", r#""1""#),
        ("Identity", r#""/etc/krond.d/shop.kron:invoices""#),
        ("LastHandledPeriodID", r#""2026-03-01T10:00:00Z""#),
        ("LastOutcome", r#""executed""#),
        ("LastChosenTime", r#""2026-03-01T10:07:00Z""#),
        ("LastNominalTime", r#""2026-03-01T10:00:00Z""#),
        ("ActiveExecution", "null"),
        ("History", "[]"),
    ]
    .map(|(k, v)| (k, if k == key { value } else { v }));
    let mut all: Vec<String> =
        keys.iter().filter(|(_, v)| !v.is_empty()).map(|(k, v)| format!("{k:?}: {v}")).collect();
    if keys.iter().all(|(k, _)| *k != key) && !key.is_empty() {
        all.push(format!("{key:?}: {value}"));
    }
    format!("{{{}}}", all.join(", "))
}

// --- values -----------------------------------------------------------------

fn seconds() -> impl Strategy<Value = UtcSecond> {
    (-62_000_000_000_i64..250_000_000_000).prop_map(|s| UtcSecond::new(s).unwrap())
}

fn periods() -> impl Strategy<Value = PeriodId> {
    (-1_000_000_000_i64..100_000_000_000)
        .prop_map(|s| PeriodId::new(UtcSecond::new(s).unwrap()).unwrap())
}

fn instants() -> impl Strategy<Value = UtcInstant> {
    (seconds(), 0_u32..1_000_000_000)
        .prop_map(|(s, nanos)| UtcInstant::new(s.unix_seconds(), nanos).unwrap())
}

fn texts() -> impl Strategy<Value = Box<str>> {
    any::<String>().prop_map(Into::into)
}

fn hashes() -> impl Strategy<Value = SeedHash> {
    any::<u64>().prop_map(|n| SeedHash::of(&identity(), &n.to_string(), ""))
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    proptest::sample::select(&Outcome::ALL[..])
}

fn lasts() -> impl Strategy<Value = Last> {
    (
        (periods(), outcomes(), proptest::option::of(seconds())),
        proptest::option::of(texts()),
        proptest::option::of(instants()),
        proptest::option::of(any::<i32>()),
        proptest::option::of(hashes()),
        proptest::option::of(texts()),
    )
        .prop_map(
            |((period, outcome, chosen), reason, started_at, exit_code, seed_hash, d)| Last {
                period,
                outcome,
                chosen,
                reason,
                started_at,
                exit_code,
                seed_hash,
                distribution: d,
            },
        )
}

fn actives() -> impl Strategy<Value = Active> {
    let process =
        (1..=i32::MAX as u32, proptest::option::of(any::<u64>()), proptest::option::of(texts()))
            .prop_map(|(pid, start_ticks, boot_id)| Process { pid, start_ticks, boot_id });
    (periods(), seconds(), instants(), process).prop_map(|(period, chosen, started_at, process)| {
        Active { period, chosen, started_at, process }
    })
}

fn kepts() -> impl Strategy<Value = Kept> {
    (
        proptest::option::of(periods()),
        prop::collection::vec(periods(), 0..5),
        proptest::option::of(instants()),
        proptest::option::of(hashes()),
        proptest::option::of(lasts()),
        prop::collection::vec(actives(), 0..4),
    )
        .prop_map(|(through, mut ahead, not_before, definition, last, active)| {
            // As the engine keeps it: what was handled and what runs is marked.
            ahead.extend(last.as_ref().map(|last| last.period));
            ahead.extend(active.iter().map(|active| active.period));
            let definition = definition.map(|hash| hash.to_string().parse().unwrap());
            let ledger = Ledger::restore(through, ahead, not_before, definition);
            Kept { ledger, last: last.map(Box::new), active }
        })
}

fn finisheds() -> impl Strategy<Value = Finished> {
    (
        (periods(), outcomes(), proptest::option::of(seconds()), instants()),
        proptest::option::of(any::<i32>()),
        proptest::option::of(any::<i32>()),
        proptest::option::of(texts()),
        proptest::option::of(instants()),
        proptest::option::of(hashes()),
    )
        .prop_map(
            |(
                (period, outcome, chosen, completed_at),
                exit_code,
                signal,
                reason,
                at,
                seed_hash,
            )| {
                Finished {
                    period,
                    outcome,
                    chosen,
                    completed_at,
                    exit_code,
                    signal,
                    reason,
                    started_at: at,
                    seed_hash,
                }
            },
        )
}

// --- tests ------------------------------------------------------------------

proptest! {
    /// STA-03, STA-04, STA-11, STA-12: what is written is read back, and the
    /// newest entries of the history are the ones that stay.
    #[test]
    fn what_is_written_is_read_back(
        kept in kepts(),
        finished in prop::collection::vec(finisheds(), 0..6),
        cap in 0_usize..8,
    ) {
        let entries: Vec<String> = finished.iter().map(state::entry).collect();
        let bytes =
            state::encode(&identity(), &kept, entries.iter().map(String::as_str), cap);
        prop_assert_eq!(state::decode(&bytes, &identity()).unwrap(), kept);
        let stay = &finished[finished.len().saturating_sub(cap)..];
        prop_assert_eq!(state::history(&bytes, usize::MAX).unwrap(), stay);
        let raw = state::raw_history(&bytes, 2).unwrap();
        let stay = &entries[entries.len().saturating_sub(cap.min(2))..];
        prop_assert_eq!(raw, stay);
        let value: Value = serde_json::from_slice(&bytes).unwrap();
        check_schema(&value);
    }

    /// A file cut short anywhere is damage, whatever was in it.
    #[test]
    fn a_file_cut_short_is_damage(kept in kepts(), cut in 0.0..1.0_f64) {
        let bytes = state::encode(&identity(), &kept, [].into_iter(), 100);
        let end = (bytes.len() as f64 * cut) as usize;
        let cut = bytes[..end].trim_ascii_end();
        let error = state::decode(&cut[..cut.len().min(bytes.len() - 2)], &identity()).unwrap_err();
        prop_assert!(error.is_damage(), "{}", error);
    }

    /// No bytes make reading panic.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = state::decode(&bytes, &identity());
        let _ = state::history(&bytes, 3);
        let _ = roster::read(&bytes);
    }

    /// A line of the roster is one line and is read back.
    #[test]
    fn a_roster_line_is_read_back(
        id in "[^\\p{Cc}]{1,80}",
        at in instants(),
        hash in hashes(),
        lead in prop_oneof![Just(0), 1..31_622_400_u64],
        through in prop::option::of(periods()),
    ) {
        let identity = Identity::new(&id).unwrap();
        let definition = hash.to_string().parse().unwrap();
        let lead = Duration::from_secs(lead);
        let seen = Seen { not_before: at, definition, lead, through };
        for line in [
            RosterLine::Seen { identity: identity.clone(), seen },
            RosterLine::HasFile(identity.clone()),
            RosterLine::Gone(identity),
        ] {
            let mut text = String::new();
            roster::write(&mut text, &line);
            let body = text.strip_suffix('\n').unwrap();
            prop_assert!(!body.contains('\n'));
            prop_assert_eq!(roster::read(body.as_bytes()).unwrap(), roster::Line::Of(line));
        }
    }
}

/// STA-03, STA-05, STA-08, STA-10: STATE.md's keys, all of them, with its types.
fn check_schema(file: &Value) {
    type Is = fn(&Value) -> bool;
    for key in [
        "Version",
        "Identity",
        "LastHandledPeriodID",
        "LastOutcome",
        "LastChosenTime",
        "LastNominalTime",
    ] {
        assert!(file[key].is_string(), "{key} in {file}");
    }
    assert_eq!(file["Version"], "1");
    let keys = |value: &Value, names: [(&str, Is); 4]| {
        for (name, is) in names {
            assert!(is(&value[name]), "{name} in {value}");
        }
    };
    let active = file.get("ActiveExecution").unwrap();
    let all = file["ActiveExecutions"].as_array().unwrap();
    assert_eq!(active, all.last().unwrap_or(&Value::Null));
    for active in all {
        keys(
            active,
            [
                ("PeriodID", Value::is_string),
                ("PID", Value::is_u64),
                ("StartedAt", Value::is_string),
                ("ChosenTime", Value::is_string),
            ],
        );
    }
    for entry in file["History"].as_array().unwrap() {
        keys(
            entry,
            [
                ("PeriodID", Value::is_string),
                ("Outcome", Value::is_string),
                ("NominalTime", Value::is_string),
                ("ChosenTime", Value::is_string),
            ],
        );
        assert!(entry["CompletedAt"].is_string());
        let code = entry.get("ExitCode").unwrap();
        assert!(code.is_null() || code.is_i64());
    }
}

#[test]
fn a_file_is_fit_for_people() {
    // STA-03, STA-10: a key a line, an entry a line, the history last.
    let at: UtcInstant = "2026-03-01T10:07:00.25Z".parse().unwrap();
    let kept = Kept {
        ledger: Ledger::restore(Some(period("2026-03-01T10:00:00Z")), vec![], Some(at), None),
        last: None,
        active: vec![],
    };
    let entries = [r#"{"PeriodID":"a"}"#, r#"{"PeriodID":"b"}"#];
    let text =
        String::from_utf8(state::encode(&identity(), &kept, entries.into_iter(), 9)).unwrap();
    let expected = r#"{
  "Version": "1",
  "Identity": "/etc/krond.d/shop.kron:invoices",
  "LastHandledPeriodID": "",
  "LastOutcome": "",
  "LastChosenTime": "",
  "LastNominalTime": "",
  "LastReason": null,
  "LastStartedAt": null,
  "LastExitCode": null,
  "LastSeedHash": null,
  "LastDistribution": null,
  "HandledThrough": "2026-03-01T10:00:00Z",
  "HandledAhead": [],
  "NotBefore": "2026-03-01T10:07:00.25Z",
  "DefinitionHash": null,
  "ActiveExecution": null,
  "ActiveExecutions": [],
  "History": [
    {"PeriodID":"a"},
    {"PeriodID":"b"}
  ]
}
"#;
    assert_eq!(text, expected);
}

#[test]
fn a_file_of_the_documents_keys_alone_loads() {
    // STA-03, STA-18: everything up to the period handled last is closed.
    let kept = decode(&plain("", "")).unwrap();
    assert_eq!(kept.ledger.handled_through(), Some(period("2026-03-01T10:00:00Z")));
    assert_eq!(kept.ledger.not_before(), UtcInstant::MIN);
    assert_eq!(kept.last.unwrap().outcome, Outcome::Executed);
    // What may be absent.
    for key in ["ActiveExecution", "History"] {
        assert!(decode(&plain(key, "")).is_ok(), "{key}");
    }
}

#[test]
fn the_period_of_an_active_execution_is_closed() {
    // STA-16, STA-18: planted, it prevents the start.
    let active = r#"{"PeriodID": "2026-03-02T10:00:00Z", "PID": 77,
        "StartedAt": "2026-03-02T10:01:00Z", "ChosenTime": "2026-03-02T10:01:00Z"}"#;
    for file in
        [plain("ActiveExecution", active), plain("ActiveExecutions", &format!("[{active}]"))]
    {
        let kept = decode(&file).unwrap();
        assert_eq!(kept.active.len(), 1);
        assert_eq!(kept.active[0].process, Process { pid: 77, start_ticks: None, boot_id: None });
        assert!(kept.ledger.is_marked(period("2026-03-02T10:00:00Z")));
        assert!(!kept.ledger.is_marked(period("2026-03-03T10:00:00Z")));
    }
    // Last handled beyond the mark: closed, too.
    let kept = decode(&plain("HandledThrough", r#""2026-02-01T10:00:00Z""#)).unwrap();
    assert!(kept.ledger.is_marked(period("2026-03-01T10:00:00Z")));
}

#[test]
fn what_is_not_ours_is_refused() {
    // STA-05, STA-06, STA-08, STA-32, ERR-24, fault 14.
    let rows: &[(&str, &str, &str)] = &[
        ("Version", "", "`Version` is missing"),
        ("Version", "null", "`Version` is missing"),
        ("Version", r#""2""#, "`Version` is `2`; this program knows \"1\" only"),
        ("Version", "1", "`Version`: invalid type"),
        ("Identity", "", "`Identity` is missing"),
        ("Identity", r#""/else:where""#, "`Identity` is `/else:where`, another job"),
        ("LastHandledPeriodID", "", "`LastHandledPeriodID` is missing"),
        ("LastHandledPeriodID", "7", "`LastHandledPeriodID`: invalid type"),
        ("LastHandledPeriodID", r#""yesterday""#, "`LastHandledPeriodID`: `yesterday`: not an"),
        ("LastHandledPeriodID", r#""""#, "`LastOutcome`: is `executed`, but"),
        ("LastOutcome", "", "`LastOutcome` is missing"),
        ("LastOutcome", r#""done""#, "`LastOutcome`: `done` is no outcome"),
        ("LastChosenTime", "", "`LastChosenTime` is missing"),
        ("LastNominalTime", "", "`LastNominalTime` is missing"),
        ("LastNominalTime", r#""2026-03-01T11:00:00Z""#, "`LastNominalTime`: is 2026"),
        ("ActiveExecution", "{}", "`ActiveExecution`: missing field `PeriodID`"),
        (
            "ActiveExecution",
            r#"{"PeriodID":"2026-03-02T10:00:00Z","PID":0,"StartedAt":"2026-03-02T10:01:00Z","ChosenTime":"2026-03-02T10:01:00Z"}"#,
            "`ActiveExecution`: `PID` cannot be 0",
        ),
        ("HandledAhead", r#"["x"]"#, "`HandledAhead`: `x`"),
        ("NotBefore", "{}", "`NotBefore`: invalid type"),
        ("DefinitionHash", r#""abc""#, "`DefinitionHash`: `abc`"),
    ];
    for (key, value, message) in rows {
        let error = decode(&plain(key, value)).expect_err(key);
        assert!(!error.is_damage(), "{key} {value}");
        assert!(error.to_string().starts_with(message), "{key} {value}: {error}");
    }
    for text in ["[]", "null", "7", "\"text\"", "{}", r#"{"Version":"1","Version":"1"}"#] {
        assert!(!decode(text).unwrap_err().is_damage(), "{text}");
    }
}

#[test]
fn what_is_not_json_is_damage() {
    // STA-30, fault 13.
    let whole = plain("", "");
    for text in
        ["", " \n", "\0\0\0\0", "{", "}", "krond", "{\"Version\": \"1\"", "[[[[", "\u{feff}{}"]
            .into_iter()
            .map(String::from)
            .chain([format!("{whole}x"), format!("{whole}\0"), whole.replace(':', "")])
    {
        assert!(decode(&text).unwrap_err().is_damage(), "{text:?}");
    }
    assert!(state::decode(b"{\"\xff\": 1}", &identity()).unwrap_err().is_damage());
}

#[test]
fn monstrous_files_are_read_in_bounded_memory() {
    // Fault 19. Nested a million deep, open and closed, at the top and within.
    let (open, close) = ("[".repeat(1_000_000), "]".repeat(1_000_000));
    assert!(decode(&open).unwrap_err().is_damage());
    assert!(decode(&"{\"a\":".repeat(1_000_000)).unwrap_err().is_damage());
    assert!(!decode(&format!("{open}{close}")).unwrap_err().is_damage());
    for key in ["Version", "ActiveExecution", "HandledAhead"] {
        assert!(!decode(&plain(key, &format!("{open}{close}"))).unwrap_err().is_damage());
    }
    for key in ["History", "Unknown"] {
        assert!(decode(&plain(key, &format!("{open}{close}"))).is_ok(), "{key}");
    }
    // A history of a million entries: the newest few are what is taken.
    let million = format!("[{}1]", "0,".repeat(1_000_000));
    let file = plain("History", &million);
    assert!(decode(&file).is_ok());
    assert_eq!(state::raw_history(file.as_bytes(), 3).unwrap(), ["0", "0", "1"]);
    // More than is ever read.
    let large = plain("Unknown", &format!("\"{}\"", "x".repeat(state::FILE_BYTES)));
    assert!(matches!(decode(&large).unwrap_err(), StateError::TooLarge { .. }));
}

#[test]
fn what_is_written_can_be_read_again_however_much_it_is() {
    // STA-12, STA-38: a large cap and long reasons.
    let long = "é".repeat(1_000_000);
    let kept = Kept {
        ledger: Ledger::restore(None, vec![], None, None),
        last: Some(Box::new(Last {
            period: period("2026-03-01T10:00:00Z"),
            outcome: Outcome::Missed,
            chosen: None,
            reason: Some(long.clone().into()),
            started_at: None,
            exit_code: None,
            seed_hash: None,
            distribution: None,
        })),
        active: vec![],
    };
    let entry = format!("{:?}", "x".repeat(1000));
    let entries = std::iter::repeat_n(entry.as_str(), 100_000);
    let entries: Vec<&str> = entries.collect();
    let bytes = state::encode(&identity(), &kept, entries.iter().copied(), usize::MAX);
    assert!(bytes.len() <= state::HISTORY_BYTES + 64 * 1024);
    let read = state::decode(&bytes, &identity()).unwrap();
    assert!(long.starts_with(&**read.last.unwrap().reason.as_ref().unwrap()));
    assert!(state::raw_history(&bytes, usize::MAX).unwrap().len() > 4000);
}

#[test]
fn the_history_decides_nothing() {
    // STA-13: whatever it is, the same is kept.
    let without = decode(&plain("History", "[]")).unwrap();
    for history in ["", "null", "[{\"PeriodID\": \"2030-01-01T00:00:00Z\"}]", "\"none\"", "[1, {}]"]
    {
        assert_eq!(decode(&plain("History", history)).unwrap(), without, "{history}");
    }
}
