//! Single questions: what one line, timer or manifest becomes.

use kron_core::Zones;
use kron_import::{File, Format, Host, Import, Names, Verdict, import};

fn run(format: Format, system: bool, files: &[(&str, &str)]) -> Import {
    let files: Vec<File<'_>> = files.iter().map(|&(name, text)| File { name, text }).collect();
    let home = |user: &str| (user == "ada").then(|| "/home/ada".into());
    let host = Host { zone: "UTC", user: "ada", home: &home, system };
    import(format, &files, &host, &mut Names::new(), &mut Zones::bundled())
}

/// The verdict, then the name, the schedule and the fields, or the first reason.
fn show(import: &Import) -> String {
    let Some(item) = import.items.first() else { return "nothing".into() };
    let entry = |verdict: &str| {
        let entry = item.verdict.entry().unwrap();
        let mut out = format!("{verdict} {}: {}", entry.name, entry.schedule);
        for (key, value) in &entry.fields {
            out = format!("{out} | {key}={value}");
        }
        out
    };
    match &item.verdict {
        Verdict::Exact(_) => entry("exact"),
        Verdict::Changed { .. } => entry("changed"),
        Verdict::Refused { reasons } => format!("refused: {}", reasons[0]),
    }
}

#[track_caller]
fn check(format: Format, system: bool, files: &[(&str, &str)], expected: &str) {
    let found = show(&run(format, system, files));
    if expected.ends_with('…') {
        let start = expected.trim_end_matches('…');
        assert!(found.starts_with(start), "{found}\nis not\n{expected}");
    } else {
        assert_eq!(found, expected);
    }
}

#[test]
fn crontabs() {
    for (system, text, expected) in [
        (
            false,
            "0 0 * * * x\n",
            "exact x: 0 0 * * * @policy(concurrency=allow) | command=x | shell=true | \
             cwd=/home/ada | env=PATH=/usr/bin:/bin",
        ),
        (
            true,
            "0 0 * * * x\n",
            "exact x: 0 0 * * * @policy(concurrency=allow) | command=x | shell=true | user=ada | \
             cwd=/home/ada | env=PATH=/usr/bin:/bin",
        ),
        (false, "*/60 3 * * * x\n", "exact x: 0 3 * * *…"),
        (false, "CRON_TZ=Europe/Paris\n*/60 3 * * * x\n", "changed x: 0 3 * * *…"),
        (
            false,
            "0 3 * * 7 sleep $((RANDOM % 3600)); x\n",
            "changed x: 0 3 * * 0 @win(after,59m59s)…",
        ),
        (false, "0~59 * * * * sleep $RANDOM; x\n", "changed x: 0 * * * * @win(after,10h5m7s)…"),
        (false, "* * * * * perl -e 'sleep int(rand(99999))'; x\n", "refused: …"),
        (false, "SHELL=bash\n0 0 * * * x\n", "refused: the shell `bash` is not an absolute path"),
        (false, "A.B=c\n0 0 * * * x\n", "refused: `A.B` is not the name of a variable"),
        (false, "HOME=here\n0 0 * * * x\n", "refused: `here` is not an absolute path"),
        (false, "RANDOM_DELAY=x\n0 0 * * * x\n", "refused: `RANDOM_DELAY` is not a number: `x`"),
        (false, "0 0 * * * %in\n", "refused: there is no command"),
        (false, "0 0 * * *\n", "refused: there is no command"),
        (false, "hello\n", "refused: this has 1 of five fields"),
        (false, "0 0 * * * a\u{1b}b\n", "refused: `command` has a line break or another…"),
        (false, "A=b\n", "nothing"),
    ] {
        check(Format::Crontab, system, &[("ada", text)], expected);
    }
    let many: Vec<String> = (0..1001).map(|i| format!("V{i}=x")).collect();
    let text = many.join("\n") + "\n0 0 * * * x\n";
    check(Format::Crontab, false, &[("a", &text)], "refused: there are more than 1000 variables…");
}

#[test]
fn timers() {
    const DAILY: &str = "[Timer]\nOnCalendar=daily\n";
    for (system, files, expected) in [
        (
            true,
            &[("a.timer", DAILY)][..],
            "changed a: 0 0 * * * | command=systemctl start a.service",
        ),
        (
            false,
            &[("a.timer", DAILY)],
            "changed a: 0 0 * * * | command=systemctl --user start a.service",
        ),
        (
            false,
            &[("a.timer", DAILY), ("a.service", "[Service]\nExecStart=%h/bin/x -n %u\n")],
            "exact a: 0 0 * * * | command=/home/ada/bin/x -n ada | cwd=/home/ada",
        ),
        (true, &[("a@.timer", DAILY)], "refused: this is a template…"),
        (true, &[("a.timer", "[Timer]\n")], "refused: the timer has no `OnCalendar`"),
        (true, &[("a.timer", "")], "refused: the timer has no `OnCalendar`"),
        (
            true,
            &[("a.timer", "[Timer]\nOnCalendar=hourly\nOnCalendar=\nOnCalendar=weekly UTC\n")],
            "changed a: 0 0 * * 1…",
        ),
        (
            true,
            &[("a.timer", "[Timer]\nOnCalendar=Sun *-*-1..7 20:00\nRandomizedDelaySec=5h\n")],
            "refused: weekday and day of the month are both given, and the window passes midnight",
        ),
        (
            true,
            &[("a.timer", "[Timer]\nOnCalendar=9,17,18:00\nPersistent=true\n")],
            "changed a: 0 9,17,18 * * * @policy(deadline=1h)…",
        ),
        (
            true,
            &[("a.timer", "[Timer]\nOnCalendar=monthly\nPersistent=true\n")],
            "changed a: 0 0 1 * * @policy(deadline=672h)…",
        ),
        (
            true,
            &[("a.timer", "[Timer]\nOnCalendar=*-02-29 00:00\nPersistent=true\n")],
            "changed a: 0 0 29 2 * @policy(deadline=8784h)…",
        ),
        (
            true,
            &[("a.timer", "[Timer]\nOnCalendar=*-02-30\n")],
            "refused: this day and month never…",
        ),
        (
            true,
            &[("a.timer", DAILY), ("a.service", "[Service]\nType=oneshot\n")],
            "refused: the service has no `ExecStart`",
        ),
        (
            true,
            &[("a.timer", DAILY), ("a.service", "[Service]\nExecStart=-/bin/x\nUser=12\n")],
            "refused: `12` is not the name of a user: numbers are not accepted; name the account",
        ),
        (
            true,
            &[("a.timer", DAILY), ("a.service", "[Service]\nExecStart=/bin/x \"a\\nb\"\n")],
            "refused: `command` has a line break…",
        ),
        (true, &[("a.service", "[Service]\nExecStart=/bin/x\n")], "nothing"),
    ] {
        check(Format::Systemd, system, files, expected);
    }
    let many = format!("[Timer]\n{}", "OnCalendar=daily\n".repeat(65));
    check(Format::Systemd, true, &[("a.timer", &many)], "refused: the timer has more than 64…");
}

#[test]
fn manifests() {
    let manifest = |spec: &str, job: &str, container: &str| {
        format!(
            "kind: CronJob\nmetadata: {{name: a}}\nspec: {{{spec}, jobTemplate: {{spec: {{{job} \
             template: {{spec: {{restartPolicy: Never, containers: [{{{container}}}]}}}}}}}}}}\n"
        )
    };
    for (spec, job, container, expected) in [
        (
            "schedule: '0 0 * * *', startingDeadlineSeconds: 60",
            "backoffLimit: 0,",
            "image: i, command: [a, 'b c']",
            "changed a: 0 0 * * * @policy(concurrency=allow,deadline=1m) | command=a 'b c'",
        ),
        (
            "schedule: '@daily', concurrencyPolicy: Forbid",
            "",
            "command: [a], env: [{name: A, value: 1}, {name: B, value: $(A)2}]",
            "changed a: 0 0 * * * @policy(deadline=24h) | command=a | env=A=1 | env=B=12",
        ),
        (
            "schedule: '0 0 0 * * *'",
            "",
            "command: [a]",
            "refused: `0 0 0 * * *` has 6 fields, not five",
        ),
        ("schedule: '@fortnightly'", "", "command: [a]", "refused: `@fortnightly` is not known"),
        ("timeZone: UTC", "", "command: [a]", "refused: `spec.schedule` is missing"),
        (
            "schedule: '@daily', timeZone: Nowhere",
            "",
            "command: [a]",
            "refused: `Nowhere` is not a…",
        ),
        (
            "schedule: '@daily', concurrencyPolicy: Maybe",
            "",
            "command: [a]",
            "refused: `Maybe` is…",
        ),
        (
            "schedule: '@daily', startingDeadlineSeconds: -1",
            "",
            "command: [a]",
            "refused: `starting…",
        ),
        ("schedule: '@daily'", "parallelism: 2,", "command: [a]", "refused: `parallelism` asks…"),
        ("schedule: '@daily'", "", "command: [[a]]", "refused: `command` is not a list of words"),
        ("schedule: '@daily'", "", "args: [a]", "refused: the command is inside the image…"),
        (
            "schedule: '@daily'",
            "",
            "command: [a], workingDir: b",
            "refused: `b` is not an absolute…",
        ),
        (
            "schedule: '@daily'",
            "",
            "command: [a], env: [{name: a.b}]",
            "refused: `a.b` is not the name…",
        ),
    ] {
        check(Format::CronJob, true, &[("a.yaml", &manifest(spec, job, container))], expected);
    }
    for (text, expected) in [
        ("", "nothing"),
        ("kind: CronJob", "refused: `metadata.name` is missing"),
        ("kind: CronJob\nmetadata: {name: a}", "refused: `spec` is missing"),
        ("kind: Pod", "nothing"),
        ("[", "refused: this is not YAML that is understood…"),
    ] {
        check(Format::CronJob, true, &[("a.yaml", text)], expected);
    }
}

/// Names that exist already are left alone, in one call as over several.
#[test]
fn names_that_are_taken() {
    let mut names = Names::new();
    assert!(names.insert("x"));
    let host = Host { zone: "UTC", user: "ada", home: &|_| None, system: false };
    let mut found = Vec::new();
    for text in ["0 0 * * * x a\n", "0 0 * * * x a\n", "0 0 * * * y\n"] {
        let files = [File { name: "a", text }];
        let import = import(Format::Crontab, &files, &host, &mut names, &mut Zones::bundled());
        found.push(import.items[0].verdict.entry().unwrap().name.clone());
    }
    assert_eq!(found[0], "x-a");
    assert!(found[1].starts_with("x-") && found[1].len() == 8, "{found:?}");
    assert_eq!(found[2], "y");
    assert!(names.contains("x-a"));
}
