//! From a spec to a schedule (OPR-01, OPR-06): everything that the syntax can say can be
//! said in the fields, means the same there, and what is wrong is told by its field.

#[path = "../../kron-core/tests/support/strategy.rs"]
#[allow(dead_code, reason = "only whole schedules are wanted here")]
mod strategy;

use kron_core::{Job, PeriodId, Zones};
use kron_operator::api::KronJobSpec;
use kron_operator::convert::{self, job_name, period_label};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::cell::RefCell;

thread_local! {
    static ZONES: RefCell<Zones> = RefCell::new(Zones::bundled());
}

/// A spec as users write it; the template goes without saying.
fn spec(yaml: &str) -> KronJobSpec {
    let mut value: Value = serde_yaml_ng::from_str(yaml).unwrap_or_else(|e| panic!("{yaml}: {e}"));
    value["jobTemplate"] = json!({ "spec": {} });
    serde_json::from_value(value).unwrap_or_else(|e| panic!("{yaml}: {e}"))
}

fn convert(yaml: &str) -> Result<Job, convert::Invalid> {
    ZONES.with_borrow_mut(|zones| convert::job("shop", "nightly", &spec(yaml), zones))
}

/// A mistake without what would be accepted, which is the parser's to say.
fn brief(problem: &convert::Problem) -> String {
    let hint = problem.hint.as_ref().map_or(String::new(), |hint| format!(" ({hint})"));
    format!("{}: {}{hint}\n", problem.field, problem.message)
}

/// The schedule that a spec stands for, or else what is wrong with it.
#[track_caller]
fn check(yaml: &str, expected: &str) {
    let yaml = if yaml.contains("schedule:") {
        yaml.to_string()
    } else {
        format!("schedule: 0 10 * * *\n{yaml}")
    };
    let found = match convert(&yaml) {
        Ok(job) => {
            assert_eq!(job.identity().as_str(), "shop/nightly");
            job.schedule().to_string()
        }
        Err(invalid) => invalid.problems.iter().map(brief).collect(),
    };
    assert_eq!(found.trim_end(), expected, "{yaml}");
}

fn parse(text: &str) -> Job {
    ZONES
        .with_borrow_mut(|zones| Job::parse("shop/nightly", text, zones))
        .unwrap_or_else(|errors| panic!("{text}: {errors}"))
}

#[test]
fn schedules() {
    check("schedule: 0 10 * * *", "0 10 * * *");
    check("schedule: '*/5 9-17 1,15 JAN-mar Mon'", "*/5 9-17 1,15 JAN-MAR MON");
    check("schedule: '  0   10 * * *  '", "0 10 * * *");
    check("schedule: '0 0 29 2 *'", "0 0 29 FEB *");
}

#[test]
fn zones() {
    check("timezone: UTC", "0 10 * * *");
    check("timezone: Europe/Paris", "0 10 * * * @tz(Europe/Paris)");
    check("timezone: America/Argentina/Ushuaia", "0 10 * * * @tz(America/Argentina/Ushuaia)");
    check("timezone: Etc/GMT+5", "0 10 * * * @tz(Etc/GMT+5)");
}

#[test]
fn windows() {
    check("window: {}", "0 10 * * *");
    check("window: { duration: '0' }", "0 10 * * *");
    check("window: { duration: 1h30m }", "0 10 * * * @win(after,1h30m)");
    check("window: { mode: after, duration: 90m }", "0 10 * * * @win(after,1h30m)");
    check("window: { mode: around, duration: 45m }", "0 10 * * * @win(around,45m)");
    check("window: { mode: around, duration: 1.5h }", "0 10 * * * @win(around,1h30m)");
    check("window: { mode: around }", "0 10 * * * @win(around,0s)");
}

#[test]
fn distributions() {
    let check = |fields: &str, expected: &str| {
        let yaml = format!("window: {{ duration: 1h }}\ndistribution: {{ {fields} }}");
        check(&yaml, &format!("0 10 * * * @win(after,1h){expected}"));
    };
    check("", "");
    check("name: uniform", "");
    check("name: normal", " @dist(normal)");
    check("name: normal, mu: start", " @dist(normal,mu=start)");
    check("name: normal, mu: nominal", " @dist(normal,mu=nominal)");
    check("name: normal, mu: end, sigma: 5m", " @dist(normal,mu=end,sigma=5m)");
    check("name: normal, sigma: 90s", " @dist(normal,sigma=1m30s)");
    check("name: skewEarly", " @dist(skewEarly)");
    check("name: skewEarly, shape: 3", " @dist(skewEarly,shape=3)");
    check("name: skewLate, shape: 0.5", " @dist(skewLate,shape=0.5)");
    check("name: skewLate, shape: 1.0e-3", " @dist(skewLate,shape=0.001)");
    check("name: exponential", " @dist(exponential)");
    check("name: exponential, lambda: 1.0e+2", " @dist(exponential,lambda=100)");
    check("name: exponential, dir: late", " @dist(exponential,dir=late)");
    check("name: exponential, lambda: 2, dir: late", " @dist(exponential,lambda=2,dir=late)");
    check("name: exponential, lambda: 2, dir: early", " @dist(exponential,lambda=2)");
}

#[test]
fn seeds() {
    check("seed: { strategy: stable }", "0 10 * * *");
    check("seed: { strategy: daily }", "0 10 * * * @seed(daily)");
    check("seed: { strategy: weekly, salt: blue }", "0 10 * * * @seed(weekly,salt=blue)");
    check("seed: { salt: v2 }", "0 10 * * * @seed(stable,salt=v2)");
    check("seed: { salt: '' }", "0 10 * * *");
    check("seed: { salt: 'a b' }", r#"0 10 * * * @seed(stable,salt="a b")"#);
    check("seed: { salt: 'a,b)' }", r#"0 10 * * * @seed(stable,salt="a,b)")"#);
    check(r#"seed: { salt: 'say "hi"' }"#, r#"0 10 * * * @seed(stable,salt="say \"hi\"")"#);
    check(r"seed: { salt: 'a\b' }", r#"0 10 * * * @seed(stable,salt="a\\b")"#);
    check(r#"seed: { salt: '\"' }"#, r#"0 10 * * * @seed(stable,salt="\\\"")"#);
    check(r"seed: { salt: '\' }", r#"0 10 * * * @seed(stable,salt="\\")"#);
    check("seed: { salt: 'été 雪 🎲' }", r#"0 10 * * * @seed(stable,salt="été 雪 🎲")"#);
    check(
        r#"seed: { salt: 'x") @policy(suspend=true' }"#,
        r#"0 10 * * * @seed(stable,salt="x\") @policy(suspend=true")"#,
    );
}

#[test]
fn policies() {
    check("policy: {}", "0 10 * * *");
    check("policy: { concurrency: forbid }", "0 10 * * *");
    check("policy: { concurrency: allow }", "0 10 * * * @policy(concurrency=allow)");
    check("policy: { concurrency: replace }", "0 10 * * * @policy(concurrency=replace)");
    check("policy: { deadline: 90s }", "0 10 * * * @policy(deadline=1m30s)");
    check("policy: { suspend: true }", "0 10 * * * @policy(suspend=true)");
    check(
        "policy: { suspend: true, deadline: 1h, concurrency: allow }",
        "0 10 * * * @policy(concurrency=allow,deadline=1h,suspend=true)",
    );
}

#[test]
fn constraints() {
    let all = "constraints:
  only: ['dow=MON-FRI', 'hours=8-18', 'between=08:00-20:00', 'dom=1-7,15', 'months=JAN-MAR']
  avoid: ['date=2026-12-25', 'dates=2026-12-24..2026-12-31', 'hours=22-6']";
    let job = convert(&format!("schedule: 0 10 * * *\n{all}")).expect("valid");
    let text = "0 10 * * * \
        @only(dow=MON-FRI;hours=8-18;between=08:00-20:00;dom=1-7,15;months=JAN-MAR) \
        @avoid(date=2026-12-25;dates=2026-12-24..2026-12-31;hours=22-6)";
    assert_eq!(job, parse(text));
    check("constraints: { only: [hours=8-18] }", "0 10 * * * @only(hours=8-18)");
    check("constraints: { avoid: [hours=8-18] }", "0 10 * * * @avoid(hours=8-18)");
    // Several of one kind are a union, as when they are written one after the other.
    check("constraints: { only: [hours=1, hours=2] }", "0 10 * * * @only(hours=1-2)");
    check("constraints: { only: ['hours=1;dow=MON'] }", "0 10 * * * @only(hours=1;dow=MON)");
    check("constraints: { only: [], avoid: [] }", "0 10 * * *");
}

/// OPR-06: each mistake by its field, and what would have been accepted.
#[test]
fn mistakes() {
    check(
        "timezone: Europe/Pariss",
        "spec.timezone: `Europe/Pariss` is not a time zone of the IANA database \
         (did you mean `Europe/Paris`?)",
    );
    check("timezone: ''", "spec.timezone: empty parentheses");
    check("schedule: '61 10 * * *'", "spec.schedule: minute `61` is out of range");
    check(
        "schedule: '0 10 * * 7'",
        "spec.schedule: day of week `7` is out of range (Sunday is `0` or `SUN`)",
    );
    check(
        "schedule: '0 0 30 2 *'",
        "spec.schedule: this day and month never occur together \
         (no year has such a date, so the job would never run)",
    );
    check(
        "schedule: '0 0 10 * * *'",
        "spec.schedule: 6 cron fields, but there must be five (there is no seconds or year field)",
    );
    check("schedule: '0 10 * *'", "spec.schedule: 4 cron fields, but there must be five");
    check("schedule: ''", "spec.schedule: no cron fields");
    check(
        "schedule: '0 10 * * * @tz(Europe/Paris)'",
        "spec.schedule: '@' cannot be part of it (modifiers are fields of their own: \
         timezone, window, distribution, seed, policy, constraints)",
    );
    check(
        "window: { duration: 8785h }",
        "spec.window.duration: window duration `8785h` is out of range",
    );
    check("window: { duration: -1h }", "spec.window.duration: window duration `-1h` is negative");
    check(
        "window: { duration: soon }",
        "spec.window.duration: a number is missing in window duration `soon`",
    );
    check("window: { duration: '' }", "spec.window.duration: window duration is missing");
    check(
        "schedule: '* * * * *'\nwindow: { duration: 8784h }",
        "spec.window.duration: more than 1024 windows of 8784h would be open at once \
         (shorten the window, or run less often)",
    );
    check(
        "distribution: { name: uniform, shape: 2 }",
        "spec.distribution.shape: `uniform` has no parameter `shape`",
    );
    check(
        "distribution: { name: normal, lambda: 2 }",
        "spec.distribution.lambda: `normal` has no parameter `lambda`",
    );
    check(
        "distribution: { name: skewLate, shape: 0 }",
        "spec.distribution.shape: shape `0` is out of range",
    );
    check(
        "distribution: { name: skewLate, shape: -2 }",
        "spec.distribution.shape: shape `-2` is out of range",
    );
    check(
        "distribution: { name: exponential, lambda: 1.0e+4 }",
        "spec.distribution.lambda: lambda `10000` is out of range",
    );
    check(
        "distribution: { name: normal, sigma: 0s }",
        "spec.distribution.sigma: sigma `0s` is out of range",
    );
    check(
        "distribution: { name: exponential, shape: 2, mu: end }",
        "spec.distribution.mu: `exponential` has no parameter `mu`
spec.distribution.shape: `exponential` has no parameter `shape`",
    );
    check(
        "policy: { deadline: tomorrow }",
        "spec.policy.deadline: a number is missing in deadline `tomorrow`",
    );
    check("policy: { deadline: '' }", "spec.policy.deadline: `deadline` has no value");
    check(
        "constraints: { only: [hours=25] }",
        "spec.constraints.only[0]: hour `25` is out of range",
    );
    check(
        "constraints: { only: [hours=8, weekday=MON] }",
        "spec.constraints.only[1]: unknown clause `weekday` (did you mean `dow`?)",
    );
    check(
        "constraints: { avoid: [dom=7-1] }",
        "spec.constraints.avoid[0]: day of month range `7-1` runs backward \
         (months differ in length; write `7-31,1` if that is meant)",
    );
    check("constraints: { avoid: [''] }", "spec.constraints.avoid[0]: empty parentheses");
    check("seed: { salt: \"a\\tb\" }", "spec.seed.salt: control character in a string");
    check("seed: { salt: \"a\\nb\" }", "spec.seed.salt: control character in a string");
}

/// What is written in the place of a macro.
#[test]
fn macros() {
    check(
        "schedule: '@daily'",
        "spec.schedule: macro `@daily` is not accepted (write `0 0 * * *`)",
    );
    check(
        "schedule: '@every 5m'",
        "spec.schedule: macro `@every` is not accepted (write a step, such as `*/15 * * * *`)
spec.schedule: unexpected `5m` after the modifiers",
    );
}

/// What people are shown.
#[test]
fn mistakes_in_full() {
    let invalid = convert("schedule: 0 25 * * *\ntimezone: Europe/Pariss").expect_err("invalid");
    assert_eq!(
        invalid.to_string(),
        "spec.schedule: hour `25` is out of range; accepted is 0-23; \
         spec.timezone: `Europe/Pariss` is not a time zone of the IANA database; accepted is an \
         IANA name such as `Europe/Paris` (did you mean `Europe/Paris`?)",
    );
}

/// ERR-01: what cannot be understood is a mistake of configuration, also beside others.
#[test]
fn categories() {
    for (yaml, expected) in [
        ("schedule: 61 * * * *", "ConfigurationError"),
        ("schedule: 0 0 * * *\nwindow: {duration: 9000h}", "ValidationError"),
        ("schedule: 61 * * * *\nwindow: {duration: 9000h}", "ConfigurationError"),
    ] {
        let category = convert(yaml).map_err(|invalid| invalid.category().as_str());
        assert_eq!(category, Err(expected), "{yaml}");
    }
}

/// All of them at once, in the order of the fields.
#[test]
fn several_mistakes() {
    check(
        "timezone: Mars/Olympus
window: { duration: 1y }
policy: { deadline: x }
constraints: { only: [hours=8], avoid: [hours=9, hours=25] }",
        "spec.timezone: `Mars/Olympus` is not a time zone of the IANA database
spec.window.duration: unknown unit `y` in window duration `1y`
spec.policy.deadline: a number is missing in deadline `x`
spec.constraints.avoid[1]: hour `25` is out of range",
    );
}

/// Nothing that is put into a field reaches beyond it.
#[test]
fn fields_end_where_they_end() {
    check("timezone: 'UTC) @policy(suspend=true'", "spec.timezone: ')' cannot be part of it");
    check("timezone: 'UTC @policy'", "spec.timezone: ' ' cannot be part of it");
    check("timezone: \"UTC\\n\"", r"spec.timezone: '\n' cannot be part of it");
    check(
        "window: { duration: '1h) @seed(daily' }",
        "spec.window.duration: ')' cannot be part of it",
    );
    check("window: { duration: '1h,2h' }", "spec.window.duration: ',' cannot be part of it");
    check("window: { duration: '1h ' }", "spec.window.duration: ' ' cannot be part of it");
    check(
        "distribution: { name: normal, sigma: '1m,mu=end' }",
        "spec.distribution.sigma: ',' cannot be part of it",
    );
    check(
        "policy: { deadline: '1h,suspend=true' }",
        "spec.policy.deadline: ',' cannot be part of it",
    );
    check(
        "constraints: { only: ['hours=8) @policy(suspend=true'] }",
        "spec.constraints.only[0]: ')' cannot be part of it",
    );
    check(
        "constraints: { only: ['hours=8 '] }",
        "spec.constraints.only[0]: white space inside parentheses \
         (remove the space; only a salt may have one, in double quotes)",
    );
    check(
        "constraints: { only: ['hours=8\"'] }",
        r#"spec.constraints.only[0]: '"' cannot be part of it"#,
    );
    check(
        "schedule: '0 10 * * *) @policy(suspend=true)'",
        "spec.schedule: ')' cannot be part of it",
    );
    check("schedule: \"0 10 * * *\\n0 11 * * *\"", r"spec.schedule: '\n' cannot be part of it");
    check("schedule: \"0\\t10 * * *\"", r"spec.schedule: '\t' cannot be part of it");
}

fn period(text: &str) -> PeriodId {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// OPR-04: the name says which period it is, and is never too long for a Job or its pods.
#[test]
fn names_of_jobs() {
    let check = |kronjob: &str, at: &str, expected: &str| {
        assert_eq!(job_name(kronjob, period(at)), expected);
        assert!(expected.len() <= 63, "{expected}");
    };
    check("nightly", "2026-02-25T10:00:00Z", "nightly-29533560");
    check("a", "1970-01-01T00:00:00Z", "a-0");
    let long = "x".repeat(52);
    check(&long, "2026-02-25T10:01:00Z", &format!("{long}-29533561"));
    // For the next thousand years there is room.
    check(&long, "3026-02-25T10:01:00Z", &format!("{long}-555482041"));
    assert_ne!(
        job_name("a", period("2026-02-25T10:00:00Z")),
        job_name("a", period("2026-02-25T10:01:00Z")),
    );
}

#[test]
fn labels_of_periods() {
    let check = |at: &str, expected: &str| {
        let label = period_label(period(at));
        assert_eq!(label, expected);
        let is_valid = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        assert!(label.len() <= 63 && label.chars().all(is_valid), "{label}");
        assert!(label.starts_with(char::is_alphanumeric) && label.ends_with(char::is_alphanumeric));
    };
    check("2026-02-25T10:00:00Z", "20260225T100000Z");
    check("0003-01-01T00:00:00Z", "00030101T000000Z");
    check("9997-12-31T23:59:00Z", "99971231T235900Z");
}

/// What a modifier of the syntax is in the fields.
fn put(fields: &mut Value, modifier: &str) {
    let (kind, inside) = modifier.split_once('(').unwrap_or_else(|| panic!("{modifier}"));
    let inside = inside.strip_suffix(')').unwrap_or_else(|| panic!("{modifier}"));
    let mut words = inside.split(',');
    match kind {
        "@tz" => fields["timezone"] = inside.into(),
        "@win" => {
            fields["window"] = json!({ "mode": words.next(), "duration": words.next() });
        }
        "@dist" => {
            let mut distribution = json!({ "name": words.next() });
            for word in words {
                let (key, value) = word.split_once('=').unwrap_or_else(|| panic!("{modifier}"));
                distribution[key] = match value.parse::<f64>() {
                    Ok(number) => number.into(),
                    Err(_) => value.into(),
                };
            }
            fields["distribution"] = distribution;
        }
        "@seed" => {
            let (strategy, salt) = inside.split_once(",salt=").unwrap_or((inside, ""));
            let quoted = salt.strip_prefix('"').and_then(|salt| salt.strip_suffix('"'));
            let salt = quoted.map_or(salt.to_string(), |salt| {
                let mut escaped = false;
                let is_kept = |c: &char| {
                    escaped = *c == '\\' && !escaped;
                    !escaped
                };
                salt.chars().filter(is_kept).collect()
            });
            fields["seed"] = json!({ "strategy": strategy, "salt": salt });
        }
        "@policy" => {
            let value = |key: &str| inside.split(',').find_map(|word| word.strip_prefix(key));
            fields["policy"] = json!({
                "concurrency": value("concurrency="),
                "deadline": value("deadline="),
                "suspend": value("suspend=") == Some("true"),
            });
        }
        _ => fields["constraints"][&kind[1..]] = inside.split(';').collect(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1024,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// OPR-01: whatever the syntax can say, the fields can, and it is the same job.
    #[test]
    fn fields_say_what_the_syntax_says(
        cron in strategy::cron(),
        modifiers in strategy::modifiers(),
    ) {
        let text = format!("{cron} {}", modifiers.join(" "));
        prop_assume!(kron_core::syntax::Spec::parse(&text).is_ok());
        let mut fields = json!({ "schedule": cron, "jobTemplate": { "spec": {} } });
        for modifier in &modifiers {
            put(&mut fields, modifier);
        }
        let spec: KronJobSpec = serde_json::from_value(fields.clone()).expect("a spec");
        let job = ZONES.with_borrow_mut(|zones| convert::job("shop", "nightly", &spec, zones));
        prop_assert_eq!(job, Ok(parse(&text)), "{} {}", text, fields);
    }

    /// Whatever is put into the fields, what comes of it is what they say, or a mistake
    /// by the name of one of them.
    #[test]
    fn no_field_becomes_another(
        zone in "\\PC{0,12}|UTC[ ),@a-z(]{0,12}|UTC",
        length in "[0-9hms.,) @]{0,8}|1h",
        clause in "hours=[0-9,;a-z=) @\"]{0,8}|hours=9",
        salt in "[a-z \u{e9}\\\\\"@(),]{0,12}",
    ) {
        let fields = json!({
            "schedule": "0 10 * * *", "timezone": zone, "window": { "duration": length },
            "seed": { "salt": salt }, "constraints": { "avoid": [clause] },
            "jobTemplate": { "spec": {} },
        });
        let spec: KronJobSpec = serde_json::from_value(fields).expect("a spec");
        match ZONES.with_borrow_mut(|zones| convert::job("shop", "nightly", &spec, zones)) {
            Ok(job) => {
                prop_assert_eq!(job.zone().name(), &*zone);
                prop_assert_eq!(job.salt(), &*salt);
                prop_assert!(!job.policy().suspend);
            }
            Err(invalid) => for problem in &invalid.problems {
                prop_assert!(problem.field.starts_with("spec."), "{}", problem);
                prop_assert!(!problem.message.is_empty());
            },
        }
    }
}
