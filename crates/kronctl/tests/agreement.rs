//! OPR-08, OPR-09, SYN-45: `kronctl` and `krontab` print the same for the same
//! definition, byte for byte.
//!
//! This program is both: called with `as-krontab` it is `krontab`.

use std::path::Path;
use std::process::{Command, ExitCode};

/// Spec, and the same as a schedule.
const ROWS: [(&str, &str); 8] = [
    ("schedule: 0 10 * * *", "0 10 * * *"),
    (
        "schedule: 0 10 * * *\ntimezone: Europe/Paris\nwindow: {mode: around, duration: 90m}",
        "0 10 * * * @tz(Europe/Paris) @win(around,90m)",
    ),
    (
        "schedule: '*/20 9-17 * * MON-FRI'\nwindow: {duration: 15m}\ndistribution: {name: normal, mu: start, sigma: 3m}",
        "*/20 9-17 * * MON-FRI @win(after,15m) @dist(normal,mu=start,sigma=3m)",
    ),
    (
        "schedule: 0 2 * * *\nwindow: {duration: 3h}\ndistribution: {name: skewLate, shape: 2.5}\nseed: {strategy: weekly, salt: 'a \"b\"'}",
        r#"0 2 * * * @win(after,3h) @dist(skewLate,shape=2.5) @seed(weekly,salt="a \"b\"")"#,
    ),
    (
        "schedule: 0 10 * * *\nwindow: {duration: 2h}\ndistribution: {name: exponential, lambda: 3, dir: late}",
        "0 10 * * * @win(after,2h) @dist(exponential,lambda=3,dir=late)",
    ),
    (
        "schedule: 0 10 * * *\nwindow: {duration: 2h}\nconstraints: {only: [dow=MON-FRI, hours=10-11], avoid: [date=2026-12-25]}",
        "0 10 * * * @win(after,2h) @only(dow=MON-FRI;hours=10-11) @avoid(date=2026-12-25)",
    ),
    (
        "schedule: 0 10 * * *\npolicy: {concurrency: replace, deadline: 30m, suspend: yes}",
        "0 10 * * * @policy(concurrency=replace,deadline=30m,suspend=true)",
    ),
    (
        "schedule: 0 10 * * *\nwindow: {duration: 1h}\nconstraints: {only: [hours=3]}",
        "0 10 * * * @win(after,1h) @only(hours=3)",
    ),
];

const QUESTIONS: [&[&str]; 6] = [
    &["explain", "--at", "2026-03-02"],
    &["explain", "--at", "2026-10-25T09:30:00Z", "--format", "json"],
    &["explain", "--at", "2026-03-07", "--color", "always"],
    &["next", "--from", "2026-03-27"],
    &["next", "--from", "2026-03-01", "--until", "2026-03-20", "--format", "json"],
    &["next", "--from", "2026-03-01", "--count", "3", "--format", "ics"],
];

fn run(program: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(program).args(arguments).env_clear().output().expect("it starts");
    (output.status.code(), String::from_utf8(output.stdout).expect("text"))
}

/// How the time until a run is counted from now, it differs from second to second.
fn without_distance(text: &str) -> String {
    let is_chosen = |line: &&str| line.contains("chosen   ");
    let cut = |line: &str| match (is_chosen(&line), line.rsplit_once("  ")) {
        (true, Some((before, _))) => format!("{before}\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(cut).collect()
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    if arguments.get(1).is_some_and(|word| word == "as-krontab") {
        return ExitCode::from(krontab::main(arguments.into_iter().skip(1)));
    }
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("kronjob.yaml");
    let krontab = std::env::current_exe().expect("this program");
    let kronctl = Path::new(env!("CARGO_BIN_EXE_kronctl"));
    let mut compared = 0;
    for (spec, schedule) in ROWS {
        let spec = spec.replace('\n', "\n  ");
        let manifest = format!(
            "apiVersion: kron.io/v1alpha1\nkind: KronJob\nmetadata: {{name: backup, namespace: shop}}\n\
             spec:\n  {spec}\n  jobTemplate: {{spec: {{template: {{spec: {{containers: []}}}}}}}}\n"
        );
        std::fs::write(&file, &manifest).expect("written");
        for question in QUESTIONS {
            let theirs =
                ["as-krontab", question[0], "--schedule", schedule, "--identity", "shop/backup"];
            let theirs = run(&krontab, &[&theirs, &question[1..]].concat());
            let path = file.to_str().expect("a path");
            let ours = run(kronctl, &[&[question[0], "-f", path], &question[1..]].concat());
            assert_eq!(theirs.0, Some(0), "{question:?} {schedule}");
            assert_eq!(ours.0, Some(0), "{question:?}\n{manifest}");
            assert!(!ours.1.is_empty());
            assert_eq!(
                without_distance(&ours.1),
                without_distance(&theirs.1),
                "{question:?}\n{manifest}"
            );
            compared += 1;
        }
    }
    println!("{compared} outputs are the same");
    ExitCode::SUCCESS
}
