//! OPR-01, OPR-06: everything that can be wrong with a manifest is told, with its field
//! and its place.

use kron_core::Zones;
use kron_tab::Lines;
use kronctl::{manifest, schema};
use serde_json::Value;
use std::cell::RefCell;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

static SCHEMA: LazyLock<Value> = LazyLock::new(schema::spec);

thread_local! {
    static ZONES: RefCell<Zones> = RefCell::new(Zones::bundled());
}

/// What is wrong with a file: `code message (hint) @line:column-column`.
fn findings(text: &str) -> Vec<String> {
    let (objects, mistake) = manifest::objects(text);
    let mut found: Vec<_> = mistake.iter().map(manifest::not_yaml).collect();
    for node in objects.iter().filter(|node| manifest::is_ours(node)) {
        let read = ZONES.with_borrow_mut(|zones| manifest::check(text, node, None, &SCHEMA, zones));
        assert_eq!(read.job.is_some(), read.findings.is_empty());
        found.extend(read.findings);
    }
    let lines = Lines::new(text.as_bytes());
    let one = |finding: kron_term::diagnostic::Finding| {
        let problem = finding.problem;
        let (from, to) = (lines.position(problem.span.start), lines.position(problem.span.end));
        let hint = problem.hint.map_or(String::new(), |hint| format!(" ({hint})"));
        format!(
            "{} {}{hint} @{}:{}-{}",
            problem.code, problem.message, from.line, from.column, to.column
        )
    };
    found.into_iter().map(one).collect()
}

const HEAD: &str = "\
apiVersion: kron.io/v1alpha1
kind: KronJob
metadata:
  name: backup
spec:
";
const TEMPLATE: &str = "  jobTemplate: {spec: {template: {spec: {containers: []}}}}\n";

/// A whole file.
#[track_caller]
fn check_file(text: &str, expected: &[&str]) {
    assert_eq!(findings(text), expected, "\n{text}");
}

/// A spec whose first line is line 6, indented by two.
#[track_caller]
fn check(spec: &str, expected: &[&str]) {
    let schedule = if spec.contains("schedule") { "" } else { "\n  schedule: 0 10 * * *" };
    let spec = spec.replace('\n', "\n  ");
    check_file(&format!("{HEAD}  {spec}{schedule}\n{TEMPLATE}"), expected);
}

#[test]
fn valid() {
    check("schedule: 0 10 * * *", &[]);
    check("timezone: Europe/Paris\nwindow: {mode: around, duration: 90m}", &[]);
    check("distribution: {name: normal, mu: null, sigma: 5m}\nwindow: {duration: 1h}", &[]);
    check("policy: {suspend: yes, deadline: 0s, concurrency: replace}", &[]);
    check("successfulJobsHistoryLimit: 0\nfailedJobsHistoryLimit: 1000", &[]);
    check("window: ~\nseed: {}\nconstraints: {only: []}", &[]);
    let quantity = "containers: [{name: a, image: b, resources: {limits: {cpu: 1, memory: 1Gi}}}]";
    check_file(
        &format!("{HEAD}  schedule: 0 10 * * *\n{}", TEMPLATE.replace("containers: []", quantity)),
        &[],
    );
}

#[test]
fn schedules() {
    check(
        "schedule: 0 25 * * *",
        &["out-of-range spec.schedule: hour `25` is out of range @6:15-17"],
    );
    check(
        "schedule: \"0 25 * * *\"",
        &["out-of-range spec.schedule: hour `25` is out of range @6:16-18"],
    );
    check(
        "schedule: '  0 25 * * *'",
        &["out-of-range spec.schedule: hour `25` is out of range @6:18-20"],
    );
    check(
        "schedule: \"0\\t25 * * *\"",
        &[r"unexpected-character spec.schedule: '\t' cannot be part of it @6:13-26"],
    );
    check(
        "schedule: >-\n  0 25\n  * * *",
        &["out-of-range spec.schedule: hour `25` is out of range @7:5-3"],
    );
    check(
        "schedule: 61 25 * * *",
        &[
            "out-of-range spec.schedule: minute `61` is out of range @6:13-15",
            "out-of-range spec.schedule: hour `25` is out of range @6:16-18",
        ],
    );
    check(
        "schedule: 0 10 * *",
        &["field-count spec.schedule: 4 cron fields, but there must be five @6:21-21"],
    );
    check(
        "schedule: '@daily'",
        &["macro spec.schedule: macro `@daily` is not accepted (write `0 0 * * *`) @6:14-20"],
    );
    check(
        "schedule: '@tz(UTC) 0 0 * * *'",
        &[
            "unexpected-character spec.schedule: '@' cannot be part of it (modifiers are fields of their own: timezone, window, distribution, seed, policy, constraints) @6:14-15",
        ],
    );
    check(
        "schedule: 0 10 * * * @win(after,1h)",
        &[
            "unexpected-character spec.schedule: '@' cannot be part of it (modifiers are fields of their own: timezone, window, distribution, seed, policy, constraints) @6:24-25",
        ],
    );
    check("schedule: ''", &["missing-value spec.schedule: this is empty @6:13-15"]);
    check("schedule: 5", &[r#"wrong-type spec.schedule: `5` is a number (write `"5"`) @6:13-14"#]);
    check("schedule: [0, 10]", &["wrong-type spec.schedule: this is a list @6:3-11"]);
    check("schedule:", &["missing-field spec.schedule: this is missing @5:1-5"]);
    check(
        "shedule: 0 10 * * *",
        &["unknown-field spec.shedule: unknown field `shedule` (did you mean `schedule`?) @6:3-10"],
    );
    check(
        "schedule: 0 0 30 2 *",
        &[
            "never-matches spec.schedule: this day and month never occur together (no year has such a date, so the job would never run) @6:17-21",
        ],
    );
}

#[test]
fn zones_and_windows() {
    check(
        "timezone: Europe/Pariss",
        &[
            "unknown-zone spec.timezone: `Europe/Pariss` is not a time zone of the IANA database (did you mean `Europe/Paris`?) @6:13-26",
        ],
    );
    check("timezone: ''", &["missing-value spec.timezone: this is empty @6:13-15"]);
    check("timezone: 5", &[r#"wrong-type spec.timezone: `5` is a number (write `"5"`) @6:13-14"#]);
    check(
        "timeZone: UTC",
        &[
            "unknown-field spec.timeZone: unknown field `timeZone` (did you mean `timezone`?) @6:3-11",
        ],
    );
    check("window: 90m", &["wrong-type spec.window: `90m` is a text @6:11-14"]);
    check(
        "window: {mode: before}",
        &["unknown-name spec.window.mode: unknown name `before` @6:18-24"],
    );
    check(
        "window: {mode: After}",
        &["unknown-name spec.window.mode: unknown name `After` (did you mean `after`?) @6:18-23"],
    );
    check(
        "window:\n  duration: 5d",
        &[
            "invalid-duration spec.window.duration: unknown unit `d` in window duration `5d` (write `120h`) @7:16-17",
        ],
    );
    check(
        "window:\n  duration: 90",
        &[
            "wrong-type spec.window.duration: `90` is a number (must be a length of time such as 90m, 1h30m or 45s) @7:15-17",
        ],
    );
    check(
        "window:\n  durration: 90m",
        &[
            "unknown-field spec.window.durration: unknown field `durration` (did you mean `duration`?) @7:5-14",
        ],
    );
    check(
        "window: {duration: -5m}",
        &["negative-duration spec.window.duration: window duration `-5m` is negative @6:22-25"],
    );
    check(
        "window: {duration: 9000h}",
        &[
            "parameter-out-of-range spec.window.duration: window duration `9000h` is out of range @6:22-27",
        ],
    );
}

#[test]
fn distributions() {
    check(
        "distribution: {name: normall}",
        &[
            "unknown-name spec.distribution.name: unknown name `normall` (did you mean `normal`?) @6:24-31",
        ],
    );
    check(
        "distribution: {name: uniform, mu: mid}\nwindow: {duration: 1h}",
        &["unknown-key spec.distribution.mu: `uniform` has no parameter `mu` @6:37-40"],
    );
    check(
        "distribution: {mu: middle}",
        &["unknown-name spec.distribution.mu: unknown name `middle` @6:22-28"],
    );
    check(
        "distribution: {name: normal, sigma: 5x}\nwindow: {duration: 1h}",
        &["invalid-duration spec.distribution.sigma: unknown unit `x` in sigma `5x` @6:40-41"],
    );
    check(
        "distribution: {name: normal, sigma: 5 m}\nwindow: {duration: 1h}",
        &["unexpected-character spec.distribution.sigma: ' ' cannot be part of it @6:40-41"],
    );
    check(
        "distribution: {name: skewLate, shape: 0}\nwindow: {duration: 1h}",
        &["parameter-out-of-range spec.distribution.shape: shape `0` is out of range @6:41-42"],
    );
    check(
        "distribution: {name: skewLate, shape: two}\nwindow: {duration: 1h}",
        &["wrong-type spec.distribution.shape: `two` is a text (must be greater than 0) @6:41-44"],
    );
    check(
        "distribution: {name: exponential, lambda: -1, dir: up}\nwindow: {duration: 1h}",
        &["unknown-name spec.distribution.dir: unknown name `up` @6:54-56"],
    );
}

#[test]
fn the_rest() {
    check(
        "seed: {strategy: hourly}",
        &["unknown-name spec.seed.strategy: unknown name `hourly` @6:20-26"],
    );
    check(
        "seed: {salt: 5}",
        &[r#"wrong-type spec.seed.salt: `5` is a number (write `"5"`) @6:16-17"#],
    );
    check(
        "seed: {salt: \"a\\nb\"}",
        &["unexpected-character spec.seed.salt: control character in a string @6:16-22"],
    );
    check(
        "constraints: {only: dow=MON}",
        &["wrong-type spec.constraints.only: `dow=MON` is a text @6:23-30"],
    );
    check(
        "constraints:\n  only:\n    - dow=MON\n    - dow=MOM",
        &[
            "invalid-field spec.constraints.only[1]: `MOM` is not a day of week (did you mean `MON`?) @9:13-16",
        ],
    );
    check(
        "constraints:\n  avoid: ['', 'hours=25']",
        &["missing-value spec.constraints.avoid[0]: this is empty @7:13-15"],
    );
    check(
        "constraints: {except: []}",
        &["unknown-field spec.constraints.except: unknown field `except` @6:17-23"],
    );
    check(
        "policy: {concurrency: Forbid}",
        &[
            "unknown-name spec.policy.concurrency: unknown name `Forbid` (did you mean `forbid`?) @6:25-31",
        ],
    );
    check(
        "policy: {deadline: soon}",
        &["invalid-duration spec.policy.deadline: a number is missing in deadline `soon` @6:22-23"],
    );
    check(
        "policy: {suspend: maybe}",
        &["wrong-type spec.policy.suspend: `maybe` is a text @6:21-26"],
    );
    check(
        "policy: {suspend: 'true'}",
        &[
            "wrong-type spec.policy.suspend: `true` is a text (write `true`, without quotes) @6:21-27",
        ],
    );
    check(
        "successfulJobsHistoryLimit: -1",
        &["out-of-range spec.successfulJobsHistoryLimit: `-1` is out of range @6:31-33"],
    );
    check(
        "failedJobsHistoryLimit: 1001",
        &["out-of-range spec.failedJobsHistoryLimit: `1001` is out of range @6:27-31"],
    );
    check(
        "failedJobsHistoryLimit: 1.5",
        &["wrong-type spec.failedJobsHistoryLimit: `1.5` is a number @6:27-30"],
    );
    check(
        "startingDeadlineSeconds: 5",
        &[
            "unknown-field spec.startingDeadlineSeconds: unknown field `startingDeadlineSeconds` @6:3-26",
        ],
    );
}

#[test]
fn templates() {
    let check = |template: &str, expected: &[&str]| {
        check_file(&format!("{HEAD}  schedule: 0 10 * * *\n  {template}\n"), expected);
    };
    check("", &["missing-field spec.jobTemplate: this is missing @5:1-5"]);
    check("jobTemplate: {}", &["missing-field spec.jobTemplate.spec: this is missing @7:3-14"]);
    check(
        "jobTemplate: {spec: {}}",
        &["missing-field spec.jobTemplate.spec.template: this is missing @7:17-21"],
    );
    check(
        "jobTemplate: {spec: {template: {spec: {container: []}}}}",
        &[
            "unknown-field spec.jobTemplate.spec.template.spec.container: unknown field `container` (did you mean `containers`?) @7:42-51",
            "missing-field spec.jobTemplate.spec.template.spec.containers: this is missing @7:35-39",
        ],
    );
    check(
        "jobTemplate: {spec: {template: {spec: {containers: [{nane: a}]}}}}",
        &[
            "unknown-field spec.jobTemplate.spec.template.spec.containers[0].nane: unknown field `nane` (did you mean `name`?) @7:56-60",
            "missing-field spec.jobTemplate.spec.template.spec.containers[0].name: this is missing @7:55-56",
        ],
    );
    check(
        "jobTemplate: {spec: {template: {spec: {containers: [{name: a, imge: b, command: x}]}}}}",
        &[
            "unknown-field spec.jobTemplate.spec.template.spec.containers[0].imge: unknown field `imge` (did you mean `image`?) @7:65-69",
            "wrong-type spec.jobTemplate.spec.template.spec.containers[0].command: `x` is a text @7:83-84",
        ],
    );
    check(
        "jobTemplate: {spec: {template: {spec: {containers: [{name: a, resources: {limits: {cpu: 0.5}}}]}}}}",
        &[
            r#"wrong-type spec.jobTemplate.spec.template.spec.containers[0].resources.limits.cpu: `0.5` is a number (write `"0.5"`) @7:91-94"#,
        ],
    );
    check(
        "jobTemplate: {spec: {template: {spec: {containers: [{name: a, env: [{name: A, value: 5}]}]}}}}",
        &[
            r#"wrong-type spec.jobTemplate.spec.template.spec.containers[0].env[0].value: `5` is a number (write `"5"`) @7:88-89"#,
        ],
    );
}

#[test]
fn heads() {
    let spec = format!("spec:\n  schedule: 0 10 * * *\n{TEMPLATE}");
    let check = |head: &str, expected: &[&str]| check_file(&format!("{head}\n{spec}"), expected);
    check(
        "apiVersion: kron.io/v1\nkind: KronJob\nmetadata: {name: a}",
        &["unknown-name apiVersion: unknown name `kron.io/v1` @1:13-23"],
    );
    check(
        "apiVersion: kron.io/v1alpha1\nkind: Kronjob\nmetadata: {name: a}",
        &["unknown-name kind: unknown name `Kronjob` @2:7-14"],
    );
    check(
        "kind: KronJob\nmetadata: {name: a}",
        &["missing-field apiVersion: this is missing @1:1-1"],
    );
    check(
        "metadata: {name: a}",
        &[
            "missing-field apiVersion: this is missing @1:1-1",
            "missing-field kind: this is missing @1:1-1",
        ],
    );
    check("apiVersion: v1\nkind: ConfigMap", &[]);
    check(
        "apiVersion: kron.io/v1alpha1\nkind: KronJob",
        &["missing-field metadata: this is missing @1:1-1"],
    );
    check(
        "apiVersion: kron.io/v1alpha1\nkind: KronJob\nmetadata: {labels: {}}",
        &["missing-field metadata.name: this is missing @3:1-9"],
    );
    check(
        "apiVersion: kron.io/v1alpha1\nkind: KronJob\nmetadata: {name: Backup}",
        &["invalid-value metadata.name: `Backup` is not a name @3:18-24"],
    );
    check(
        "apiVersion: kron.io/v1alpha1\nkind: KronJob\nmetadata: {name: 5}",
        &[r#"wrong-type metadata.name: `5` is a number (write `"5"`) @3:18-19"#],
    );
    check(
        "apiVersion: kron.io/v1alpha1\nkind: KronJob\nmetadata: {name: a, namespace: -b}",
        &["invalid-value metadata.namespace: `-b` is not a name @3:32-34"],
    );
    // A namespace is a label, and no Job adds anything to it.
    let file = |namespace: &str| {
        let head = HEAD.replace("spec:", &format!("  namespace: {namespace}\nspec:"));
        format!("{head}  schedule: 0 10 * * *\n{TEMPLATE}")
    };
    check_file(&file(&"n".repeat(63)), &[]);
    check_file(
        &file(&"n".repeat(64)),
        &["too-long metadata.namespace: this has 64 characters @5:14-78"],
    );
    check_file(&file("a.b"), &["invalid-value metadata.namespace: `a.b` is not a name @5:14-17"]);
    let long = "n".repeat(53);
    check(
        &format!("apiVersion: kron.io/v1alpha1\nkind: KronJob\nmetadata: {{name: {long}}}"),
        &["too-long metadata.name: this has 53 characters @3:18-71"],
    );
    check(
        "apiVersion: kron.io/v1alpha1\nkind: KronJob\nmetadata: {name: a}\nspecs: {}",
        &["unknown-field specs: unknown field `specs` (did you mean `spec`?) @4:1-6"],
    );
    check_file(
        "apiVersion: kron.io/v1alpha1\nkind: KronJob\nmetadata: {name: a}\n",
        &["missing-field spec: this is missing @1:1-1"],
    );
    check_file("- a\n- b\n", &["wrong-type this is no manifest @1:1-1"]);
    check_file("just text\n", &["wrong-type this is no manifest @1:1-10"]);
}

/// What people begin with is in order.
#[test]
fn examples() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/kubernetes");
    let files =
        std::fs::read_dir(directory).expect("examples").map(|file| file.expect("one").path());
    let files: Vec<_> = files.collect();
    assert!(files.len() >= 2, "{files:?}");
    let validate = Command::new(env!("CARGO_BIN_EXE_kronctl"))
        .args(["validate", "-f"])
        .args(&files)
        .output()
        .expect("it starts");
    let told = String::from_utf8(validate.stdout).expect("text");
    assert!(validate.status.success(), "{told}");
    assert!(told.contains(&format!("{0} jobs in {0} files", files.len())), "{told}");
}

#[test]
fn files() {
    check_file("", &[]);
    check_file("---\n---\n# nothing\n", &[]);
    check_file(
        "a: [1\n",
        &["invalid-yaml this is not YAML that is understood: unclosed bracket '[' @1:4-4"],
    );
    check_file(
        "a: 1\na: 2\n",
        &["invalid-yaml this is not YAML that is understood: the key `a` is given twice @2:1-1"],
    );
    let one = format!("{HEAD}  schedule: 0 25 * * *\n{TEMPLATE}");
    check_file(
        &format!("{one}---\n{one}"),
        &[
            "out-of-range spec.schedule: hour `25` is out of range @6:15-17",
            "out-of-range spec.schedule: hour `25` is out of range @14:15-17",
        ],
    );
    // Indented by four to be an item.
    let item = one.replace('\n', "\n    ");
    check_file(
        &format!("kind: List\nitems:\n  - {}\n", item.trim_end()),
        &["out-of-range spec.schedule: hour `25` is out of range @8:19-21"],
    );
    check_file(
        &format!("\u{feff}{one}"),
        &["out-of-range spec.schedule: hour `25` is out of range @6:15-17"],
    );
    check_file(
        &one.replace('\n', "\r\n"),
        &["out-of-range spec.schedule: hour `25` is out of range @6:15-17"],
    );
}
