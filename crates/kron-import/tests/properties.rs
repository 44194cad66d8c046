//! Bad input never panics, entries are always valid, plain crontab lines keep
//! their times, and names do not depend on the order of lines.

use kron_core::time::civil::Date;
use kron_core::{Job, UtcSecond, Zones};
use kron_import::{Entry, File, Format, Host, Import, Names, Verdict, import};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

thread_local! {
    static ZONES: RefCell<Zones> = RefCell::new(Zones::bundled());
}

const HOST: Host<'static> =
    Host { zone: "UTC", user: "ada", home: &|user| Some(format!("/home/{user}")), system: true };

fn run(format: Format, files: &[File<'_>]) -> Import {
    ZONES.with_borrow_mut(|zones| import(format, files, &HOST, &mut Names::new(), zones))
}

fn job(entry: &Entry) -> Job {
    ZONES
        .with_borrow_mut(|zones| Job::parse(&entry.name, &entry.schedule, zones))
        .unwrap_or_else(|errors| panic!("{}: {errors}", entry.schedule))
}

/// What holds for every import, whatever went in.
fn check(import: &Import) {
    let mut names = BTreeSet::new();
    for item in &import.items {
        assert!(item.line >= 1);
        assert_eq!(item.verdict.notes().is_empty(), matches!(item.verdict, Verdict::Exact(_)));
        let Some(entry) = item.verdict.entry() else { continue };
        job(entry);
        assert!(names.insert(&entry.name), "{} twice", entry.name);
        let (first, last) = (entry.name.chars().next(), entry.name.chars().last());
        assert!(first.is_some_and(|c| c.is_ascii_alphanumeric()), "{}", entry.name);
        assert!(last.is_some_and(|c| c.is_ascii_alphanumeric()), "{}", entry.name);
        let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-/._".contains(c);
        assert!(entry.name.chars().all(legal) && entry.name.len() <= 100, "{}", entry.name);
        assert_eq!(entry.fields.iter().filter(|(key, _)| *key == "command").count(), 1);
        for (key, value) in &entry.fields {
            assert!(!value.contains(|c: char| c.is_control() && c != '\t'), "{key}={value}");
            assert!(*key == "env" || !value.is_empty(), "{key} is empty");
        }
    }
}

/// Text of pieces that mean something, so that it gets past the first check.
fn pieces(known: &'static [&'static str]) -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => prop::sample::select(known).prop_map(String::from),
        1 => "\\PC{0,4}",
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

const CRONTAB: &[&str] = &[
    "0 ",
    "* ",
    "*/7 ",
    "1-5 ",
    "5~9 ",
    "~ ",
    "7 ",
    "fri-sun ",
    "H ",
    "@daily ",
    "@reboot ",
    "-",
    "\n",
    "MAILTO=",
    "SHELL=/bin/bash",
    "CRON_TZ=Europe/Paris",
    "RANDOM_DELAY=9",
    "PATH",
    "=",
    "\"",
    "'",
    "%",
    "\\%",
    "\\",
    "root ",
    "sleep ",
    "$RANDOM",
    "$((RANDOM % 60))",
    "; ",
    "&& ",
    "perl -e ",
    "sh -c ",
    "flock ",
    "run-parts ",
    "[ -x ",
    "] ",
    "(",
    ")",
    "`",
    "# ",
    "\t",
    "\r\n",
    "0 0 * * * x\n",
];
const UNIT: &[&str] = &[
    "[Timer]\n",
    "[Service]\n",
    "[Unit]\n",
    "OnCalendar=",
    "daily\n",
    "Mon..Fri ",
    "*-*-* ",
    "1..7",
    "/",
    ",",
    ":",
    "*:0/15\n",
    "~",
    "Persistent=true\n",
    "RandomizedDelaySec=",
    "1h 30min\n",
    "ExecStart=",
    "/bin/x ",
    "-",
    "+",
    "@",
    "$A ",
    "${A} ",
    "%i",
    "%%",
    "\"",
    "'",
    "\\",
    "\\x41",
    ";",
    " ; ",
    "User=",
    "Environment=",
    "A=b ",
    "UMask=022\n",
    "TimeoutStartSec=",
    "99999999999\n",
    "Type=oneshot\n",
    "StandardOutput=append:/x\n",
    "\n",
    "#",
    "OnCalendar=daily\n",
    "ExecStart=/bin/x\n",
    "UTC\n",
    ".5",
];
const MANIFEST: &[&str] = &[
    "kind: CronJob\n",
    "metadata: {name: a}\n",
    "spec:\n",
    "  schedule: ",
    "'0 0 * * *'\n",
    "@hourly\n",
    "  jobTemplate: {spec: {template: {spec: {containers: [{image: a, command: [x]}]}}}}\n",
    "  timeZone: Europe/Paris\n",
    "---\n",
    "kind: List\nitems:\n",
    "- ",
    "  ",
    "\n",
    "[",
    "]",
    "{",
    "}",
    ": ",
    ",",
    "&a ",
    "*a",
    "<<: *a\n",
    "|\n",
    ">\n",
    "\"",
    "'",
    "#",
    "? ",
    "!!str ",
    "%YAML 1.2\n",
    "...\n",
    "\t",
    "null",
    "$(A)",
    "suspend: true\n",
    "  startingDeadlineSeconds: 5\n",
    "\u{feff}",
    "\r\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn crontabs_never_panic(text in pieces(CRONTAB), noise in "(?s).{0,60}") {
        for text in [&text, &noise] {
            let files = [File { name: "a", text }];
            check(&run(Format::Crontab, &files));
            check(&run(Format::SystemCrontab, &files));
        }
    }

    #[test]
    fn units_never_panic(timer in pieces(UNIT), service in pieces(UNIT), name in "\\PC{0,6}") {
        let (a, b) = (format!("{name}.timer"), format!("{name}.service"));
        let timer = format!("[Timer]\nOnCalendar={timer}");
        let service = format!("[Service]\nExecStart={service}");
        check(&run(Format::Systemd, &[
            File { name: &a, text: &timer },
            File { name: &b, text: &service },
            File { name: &name, text: &timer },
        ]));
    }

    #[test]
    fn manifests_never_panic(text in pieces(MANIFEST), noise in "(?s).{0,60}") {
        for text in [&text, &noise] {
            check(&run(Format::CronJob, &[File { name: "a", text }]));
        }
    }
}

/// A field of numbers, ranges, lists and steps, as any cron reads it.
fn field(min: u8, max: u8, longest_step: u8) -> impl Strategy<Value = String> {
    let range = move || (min..=max, min..=max).prop_map(|(a, b)| (a.min(b), a.max(b)));
    let item = prop_oneof![
        (min..=max).prop_map(|n| n.to_string()),
        range().prop_map(|(a, b)| format!("{a}-{b}")),
        (range(), 1..20_u8).prop_map(|((a, b), step)| format!("{a}-{b}/{step}")),
    ];
    let star = prop_oneof![
        2 => Just("*".to_string()),
        1 => (1..=longest_step).prop_map(|step| format!("*/{step}")),
    ];
    prop_oneof![2 => star, 3 => prop::collection::vec(item, 1..4).prop_map(|items| items.join(","))]
}

/// The values of a field, by the book.
fn values(text: &str, min: u8, max: u8) -> BTreeSet<u8> {
    let mut values = BTreeSet::new();
    for item in text.split(',') {
        let (range, step) = item.split_once('/').unwrap_or((item, "1"));
        let step: usize = step.parse().unwrap();
        let (first, last) = match range {
            "*" => (min, max),
            _ => {
                let (first, last) = range.split_once('-').unwrap_or((range, range));
                (first.parse().unwrap(), last.parse().unwrap())
            }
        };
        values.extend((first..=last).step_by(step));
    }
    values
}

/// Minutes of a stretch of days that match, one after the other.
fn naive(fields: &[String; 5], first_day: i64, days: i64) -> Vec<i64> {
    let [minutes, hours, doms, months, dows] = [
        values(&fields[0], 0, 59),
        values(&fields[1], 0, 23),
        values(&fields[2], 1, 31),
        values(&fields[3], 1, 12),
        values(&fields[4], 0, 7),
    ];
    let both = fields[2].starts_with('*') || fields[4].starts_with('*');
    let mut found = Vec::new();
    for day in first_day..first_day + days {
        let date = Date::from_day_number(day);
        let dom = doms.contains(&date.day);
        // 1 January 1970 was a Thursday.
        let weekday = u8::try_from((day + 4).rem_euclid(7)).unwrap();
        let dow = dows.contains(&weekday) || (weekday == 0 && dows.contains(&7));
        let matches = if both { dom && dow } else { dom || dow };
        if !matches || !months.contains(&date.month) {
            continue;
        }
        for hour in &hours {
            for minute in &minutes {
                found.push(day * 86_400 + i64::from(*hour) * 3600 + i64::from(*minute) * 60);
            }
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn plain_lines_keep_their_times(
        fields in (
            field(0, 59, 59), field(0, 23, 23), field(1, 28, 30), field(1, 12, 11), field(0, 7, 6),
        ),
        first_day in 19_000_i64..22_000,
    ) {
        const DAYS: i64 = 40;
        let fields = [fields.0, fields.1, fields.2, fields.3, fields.4];
        let text = format!("{} true\n", fields.join("\t"));
        let import = run(Format::Crontab, &[File { name: "a", text: &text }]);
        check(&import);
        let Verdict::Exact(entry) = &import.items[0].verdict else {
            panic!("{text}: {:?}", import.items[0].verdict)
        };
        let job = job(entry);
        let end = (first_day + DAYS) * 86_400;
        let mut at = UtcSecond::new(first_day * 86_400 - 1).unwrap();
        let mut found = Vec::new();
        while let Some(period) = job.next_period(at) {
            at = period.nominal();
            if at.unix_seconds() >= end {
                break;
            }
            found.push(at.unix_seconds());
        }
        prop_assert_eq!(found, naive(&fields, first_day, DAYS), "{} became {}", text, entry.schedule);
    }

    #[test]
    fn names_do_not_depend_on_order(
        lines in prop::collection::btree_set(
            (0..3_u8, prop::sample::select(&["a.sh", "/x/a", "b", "sudo b"]), prop::sample::select(&["", "p", "q", "p q"])),
            1..10,
        ).prop_map(|set| set.into_iter().collect::<Vec<_>>()),
        seed in any::<u64>(),
    ) {
        let lines: Vec<String> = lines
            .into_iter()
            .map(|(minute, program, argument)| format!("{minute} 0 * * * {program} {argument}"))
            .collect();
        let mut shuffled = lines.clone();
        shuffled.sort_by_key(|line| line.bytes().fold(seed, |hash, b| (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)));
        let names = |lines: &[String]| -> BTreeMap<String, Option<String>> {
            let text = lines.join("\n") + "\n";
            let import = run(Format::Crontab, &[File { name: "a", text: &text }]);
            check(&import);
            let name = |item: kron_import::Item| {
                let name = item.verdict.entry().map(|entry| entry.name.clone());
                (item.source, name)
            };
            import.items.into_iter().map(name).collect()
        };
        prop_assert_eq!(names(&lines), names(&shuffled));
    }
}
