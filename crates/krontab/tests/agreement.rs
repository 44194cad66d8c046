//! SYN-45: every way to ask gives the same second.
//!
//! The golden vectors, the examples of the contract and those of our own
//! documents, through the real program.

use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const GOLDEN: &str = include_str!("../../kron-core/tests/vectors/golden-v1.json");
const CONTRACT: &str = include_str!("../../kron-core/tests/data/contract-examples.txt");
const SCHEDULE_PAGE: &str = include_str!("../../../docs/SCHEDULE.md");

fn krontab(arguments: &[&str], input: &str) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_krontab"))
        .args(arguments)
        .env("TZ", "Asia/Tokyo")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let input = input.to_string();
    let writer = std::thread::spawn(move || pipe.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&krontab(arguments, "")).unwrap()
}

/// `decide` on every golden vector; `explain` and `next` on each that lies on its
/// schedule.
#[test]
fn golden_vectors() {
    let golden: Value = serde_json::from_str(GOLDEN).unwrap();
    let cases = golden["cases"].as_array().unwrap();
    let requests: Vec<String> = cases
        .iter()
        .map(|case| {
            let field = |name: &str| case[name].clone();
            let request = [("identity", field("identity")), ("schedule", field("schedule"))];
            let request = request.into_iter().chain([("nominal", field("nominal"))]);
            request.map(|(k, v)| (k.to_string(), v)).collect::<serde_json::Map<_, _>>()
        })
        .map(|request| Value::from(request).to_string())
        .collect();
    let answers = krontab(&["decide"], &(requests.join("\n") + "\n"));
    let answers: Vec<Value> =
        answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), cases.len());
    for (case, answer) in cases.iter().zip(&answers) {
        for (name, expected) in case["expect"].as_object().unwrap() {
            assert_eq!(&answer[name], expected, "{} {name}", case["name"]);
        }
    }
    let (mut explained_cases, mut listed_cases) = (0, 0);
    // Each twelfth, because each is a process or two.
    for (case, answer) in cases.iter().zip(&answers).step_by(12) {
        let text = |name: &str| case[name].as_str().unwrap();
        let given = ["--schedule", text("schedule"), "--identity", text("identity")];
        let explain = [&["explain", "--format", "json", "--at", text("nominal")], &given[..]];
        let explained = json(&explain.concat());
        if explained["periodId"] == answer["periodId"] {
            explained_cases += 1;
            same(&explained, answer, text("name"));
            let from = answer["windowStart"].as_str().unwrap();
            let next = ["next", "--format", "json", "--count", "2000", "--from", from];
            let until = ["--until", answer["windowEnd"].as_str().unwrap()];
            let listed = json(&[&next[..], &until, &given].concat());
            let decisions = listed["decisions"].as_array().unwrap();
            let found = decisions.iter().find(|d| d["periodId"] == answer["periodId"]);
            // A window that begins within a second is asked for from that second on.
            if answer["chosenTime"].as_str() != Some(from) && !from.contains('.') {
                same(found.unwrap(), answer, text("name"));
                listed_cases += 1;
            }
            assert_eq!(listed["count"], decisions.len());
        }
    }
    assert!(explained_cases >= 40 && listed_cases >= 35, "{explained_cases} {listed_cases}");
}

#[track_caller]
fn same(a: &Value, decision: &Value, what: &str) {
    for (name, expected) in decision.as_object().unwrap() {
        assert_eq!(&a[name], expected, "{what}: {name}");
    }
}

/// SYN-28, SYN-29, SYN-43: lint accepts every example, and explain and next
/// decide it.
#[test]
fn every_example_is_linted_explained_and_listed() {
    let own = SCHEDULE_PAGE.split("```kron\n").skip(1);
    let own = own.flat_map(|block| block.split("```").next().unwrap().lines());
    let examples: Vec<&str> = CONTRACT.lines().chain(own).collect();
    assert!(examples.len() >= 50, "{}", examples.len());
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("examples.kron");
    let entry =
        |(i, schedule): (usize, &&str)| format!("{schedule} name=example-{i} command=/bin/true\n");
    std::fs::write(&file, examples.iter().enumerate().map(entry).collect::<String>()).unwrap();
    let path = file.to_str().unwrap();
    let lint = json(&["lint", "--format", "json", path]);
    assert_eq!(lint["errors"], 0);
    assert_eq!(lint["entries"], examples.len());
    let from = "2026-03-02T00:00:00Z";
    for (i, example) in examples.iter().enumerate() {
        let name = format!("example-{i}");
        let common = ["--file", path, "--format", "json", &name];
        let listed = json(&[&["next", "--from", from, "--count", "60"], &common[..]].concat());
        let decisions = listed["decisions"].as_array().unwrap();
        let chosen = decisions.iter().find(|decision| decision["chosenTime"].is_string()).unwrap();
        let at = chosen["nominalTime"].as_str().unwrap();
        let explained = json(&[&["explain", "--at", at], &common[..]].concat());
        same(&explained, chosen, example);
        let identity = format!("{}:{name}", Path::new(path).display());
        assert_eq!(explained["identity"], identity);
    }
}
