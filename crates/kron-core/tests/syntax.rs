//! The schedule syntax: what is accepted, what it means, and what is said
//! about everything else.

mod support;

use kron_core::{Category, Code, Job, Zones};
use proptest::prelude::*;
use support::walk::field;
use support::{job, period, strategy};

fn parse(schedule: &str) -> Result<Job, kron_core::DefinitionErrors> {
    Job::parse("test", schedule, &mut Zones::bundled())
}

/// An accepted schedule, and its canonical text, which is a fixed point.
fn check(schedule: &str, canonical: &str) {
    let first = job(schedule);
    let printed = first.schedule().to_string();
    assert_eq!(printed, canonical, "{schedule}");
    let second = job(&printed);
    assert_eq!(first, second, "{schedule}");
    assert_eq!(second.schedule().to_string(), canonical, "{schedule}");
}

/// Two schedules that mean the same.
fn same(a: &str, b: &str) {
    assert_eq!(job(a), job(b), "{a} | {b}");
}

#[test]
fn cron_fields() {
    // SYN-02, SYN-06: five fields and nothing else are a schedule.
    check("0 0 * * *", "0 0 * * *");
    // SYN-04: any blanks between tokens.
    check("  0\t0  *   * \t * ", "0 0 * * *");
    // SYN-07, SYN-08
    check("1,3,2 * * * *", "1-3 * * * *");
    check("0,15,30,45 * * * *", "0-45/15 * * * *");
    check("*/15 * * * *", "*/15 * * * *");
    check("10-30/7 * * * *", "10-24/7 * * * *");
    check("0-59 * * * *", "0-59 * * * *");
    check("30,0 * * * *", "0,30 * * * *");
    check("*/1 * * * *", "* * * * *");
    check("05 007 * * *", "5 7 * * *");
    check("*/20,5 * * * *", "*/20,5 * * * *");
    check("*,5 * * * *", "* * * * *");
    check("5-5/1 0 * * *", "5 0 * * *");
    // SYN-09: names, in ranges too, in any letter case.
    check("0 0 * JAN-MAR *", "0 0 * JAN-MAR *");
    check("0 0 * jan,Feb,3 mon-FRI", "0 0 * JAN-MAR MON-FRI");
    check("15 9 * * 1-5", "15 9 * * MON-FRI");
    check("0 0 * 1-12 *", "0 0 * * *");
    check("0 0 * */3 *", "0 0 * JAN,APR,JUL,OCT *");
    check("0 0 */2 * */3", "0 0 */2 * */3");
    // SYN-10: 0 is Sunday, 6 is Saturday.
    check("0 0 * * 0,6", "0 0 * * SUN,SAT");
    // SYN-12: possible in some year, or by the weekday alone.
    check("0 0 29 2 *", "0 0 29 FEB *");
    check("0 0 30 2 MON", "0 0 30 FEB MON");
    check("0 0 31 2,3 *", "0 0 31 FEB-MAR *");
}

#[test]
fn modifiers_in_canonical_form() {
    check(
        "0 10 * * * @tz(Europe/Paris) @win(around,90m) @dist(skewLate,shape=2.50) \
         @seed(daily,salt=msgs) @policy(deadline=600s,concurrency=replace,suspend=true) \
         @only(between=08:00-20:00;dow=MON-FRI) @avoid(hours=12)",
        "0 10 * * * @tz(Europe/Paris) @win(around,1h30m) @dist(skewLate,shape=2.5) \
         @seed(daily,salt=msgs) @policy(concurrency=replace,deadline=10m,suspend=true) \
         @only(dow=MON-FRI;between=08:00-20:00) @avoid(hours=12)",
    );
    check("0 0 * * * @tz(UTC) @win(after,0s) @dist(uniform) @seed(stable)", "0 0 * * *");
    check("0 0 * * * @tz(Etc/UTC)", "0 0 * * * @tz(Etc/UTC)");
    check("0 0 * * * @dist(normal,mu=mid)", "0 0 * * * @dist(normal)");
    check(
        "0 0 * * * @win(around,2h) @dist(normal,sigma=15m,mu=end)",
        "0 0 * * * @win(around,2h) @dist(normal,mu=end,sigma=15m)",
    );
    check("0 0 * * * @dist(exponential,dir=late)", "0 0 * * * @dist(exponential,dir=late)");
    check("0 0 * * * @dist(exponential,lambda=1e2)", "0 0 * * * @dist(exponential,lambda=100)");
    // SYN-32, SYN-33: salts, bare and quoted.
    check("0 0 * * * @seed(stable,salt=a=b)", r#"0 0 * * * @seed(stable,salt="a=b")"#);
    check(r#"0 0 * * * @seed(stable,salt="prod")"#, "0 0 * * * @seed(stable,salt=prod)");
    check(r#"0 0 * * * @seed(stable,salt="")"#, "0 0 * * *");
    check(r#"0 0 * * * @seed(stable,salt="a)")"#, r#"0 0 * * * @seed(stable,salt="a)")"#);
    check(
        r#"0 0 * * * @seed(stable,salt="a \"b\" \\ (c), d;é 時")"#,
        r#"0 0 * * * @seed(stable,salt="a \"b\" \\ (c), d;é 時")"#,
    );
    // SYN-36, SYN-37, SYN-38, SYN-39, SYN-40: clauses add up by kind, ranges wrap, runs join.
    check("0 0 * * * @only(hours=9;hours=8,10)", "0 0 * * * @only(hours=8-10)");
    check("0 0 * * * @only(hours=22-6)", "0 0 * * * @only(hours=22-6)");
    check("0 0 * * * @only(hours=0-6,22-23)", "0 0 * * * @only(hours=22-6)");
    check("0 0 * * * @only(dow=fri-mon)", "0 0 * * * @only(dow=FRI-MON)");
    check("0 0 * * * @avoid(months=11-2)", "0 0 * * * @avoid(months=NOV-FEB)");
    check("0 0 * * * @avoid(dom=1-5,7,9-12)", "0 0 * * * @avoid(dom=1-5,7,9-12)");
    check(
        "0 0 * * * @only(between=22:00-06:00;between=05:00-07:30)",
        "0 0 * * * @only(between=22:00-07:30)",
    );
    check(
        "0 0 * * * @avoid(date=2026-12-25;dates=2026-12-26..2026-12-31;date=2026-01-01)",
        "0 0 * * * @avoid(date=2026-01-01;dates=2026-12-25..2026-12-31)",
    );
    check("0 0 * * * @only(hours=0-23)", "0 0 * * * @only(hours=0-23)");
}

/// CORE-07, CORE-21 and the syntax's own defaults: leaving out is stating.
#[test]
fn defaults() {
    same("0 0 * * *", "0 0 * * * @tz(UTC)"); // SYN-14
    same("0 0 * * *", "0 0 * * * @win(after,0s)"); // SYN-18
    same("0 0 * * *", "0 0 * * * @win(after,0)"); // SYN-16
    same("0 0 * * * @win(after,1h)", "0 0 * * * @win(after,1h) @dist(uniform)"); // SYN-19
    same("0 0 * * * @dist(skewEarly)", "0 0 * * * @dist(skewEarly,shape=2.0)"); // SYN-24
    same("0 0 * * * @dist(skewLate)", "0 0 * * * @dist(skewLate,shape=2)");
    same("0 0 * * * @dist(exponential)", "0 0 * * * @dist(exponential,lambda=1.0,dir=early)"); // SYN-26
    same("0 0 * * *", "0 0 * * * @seed(stable)"); // SYN-31
    same("0 0 * * *", r#"0 0 * * * @seed(stable,salt="")"#); // CORE-28
    same("0 0 * * *", "0 0 * * * @policy(concurrency=forbid,deadline=0s,suspend=false)"); // SYN-35
    // SYN-23: the anchor depends on the mode, the deviation on the length.
    same(
        "0 0 * * * @win(around,2h) @dist(normal)",
        "0 0 * * * @win(around,2h) @dist(normal,mu=nominal,sigma=20m)",
    );
    same(
        "0 0 * * * @dist(normal) @win(after,1h)",
        "0 0 * * * @dist(normal,mu=mid,sigma=10m) @win(after,1h)",
    );
    same("0 0 * * * @win(after,1h30m)", "0 0 * * * @win(after,1.5h)"); // SYN-16
    same(r#"0 0 * * * @seed(stable,salt="prod")"#, "0 0 * * * @seed(stable,salt=prod)"); // SYN-33
}

/// SYN-01: read in one step or in two, as an adapter with fields of its own
/// does, a text is the same job or the same errors.
#[test]
fn one_syntax_for_every_front_end() {
    let two_steps = |text: &str| {
        let spec = kron_core::syntax::Spec::parse(text)?;
        let identity = kron_core::Identity::new("test").unwrap();
        Job::new(identity, spec, &mut Zones::bundled())
    };
    for text in [
        "0 10 * * * @tz(Europe/Paris) @win(around,90m) @seed(daily,salt=x) @only(dow=MON-FRI)",
        "*/5 * * * *",
        "0 10 * * * @tz(Europe/Pari)",
        "0 10 * * * @win(after,90)",
        "61 10 * *",
    ] {
        assert_eq!(two_steps(text), parse(text), "{text}");
    }
}

/// SYN-33: the value of a salt.
#[test]
fn salts() {
    for (text, value) in [
        ("salt=prod", "prod"),
        (r#"salt="a\"b""#, "a\"b"),
        (r#"salt="a\\b""#, "a\\b"),
        (r#"salt="a b,c)""#, "a b,c)"),
        ("salt=été", "été"),
        (r#"salt="""#, ""),
    ] {
        assert_eq!(job(&format!("0 0 * * * @seed(stable,{text})")).salt(), value, "{text}");
    }
}

/// SYN-43: every example line of the contract is a schedule, and every one
/// of them (SYN-28, SYN-29: all five distributions) gets a chosen time.
#[test]
fn examples_of_the_contract() {
    let examples = include_str!("data/contract-examples.txt").lines();
    assert_eq!(examples.clone().count(), 30);
    for example in examples {
        let job = job(example);
        // A Monday noon: every constraint above allows the periods after it soon.
        let mut at = support::second("2026-03-02T12:00:00Z");
        let chosen = (0..40).find_map(|_| {
            let period = job.next_period(at)?;
            at = period.nominal();
            job.decide(period).chosen()
        });
        assert!(chosen.is_some(), "{example}");
    }
}

/// CORE-06: each part of a definition can be set, and has its effect.
#[test]
fn every_part_of_a_definition_has_its_effect() {
    let base = "0 10 * * * @win(after,2h)";
    let at = period("2026-03-02T10:00:00Z");
    let chosen = |identity: &str, schedule: &str| {
        let job = support::job_of(identity, schedule);
        (job.decide(at).chosen(), *job.decide(at).seed_hash())
    };
    let ours = chosen("a", base);
    // CORE-24: the seed hangs on identity, key and salt, and on nothing else.
    for (identity, schedule, same_seed) in [
        ("b", base, false),
        ("a", "0 10 * * * @win(after,2h) @seed(stable,salt=x)", false),
        ("a", "0 10 * * * @win(after,2h) @seed(daily)", false),
        ("a", "0 10 * * * @win(around,2h)", true),
        ("a", "0 10 * * * @win(after,3h)", true),
        ("a", "0 10 * * * @win(after,2h) @dist(skewLate)", true),
    ] {
        let other = chosen(identity, schedule);
        assert_ne!(ours.0, other.0, "{identity} {schedule}");
        assert_eq!(ours.1 == other.1, same_seed, "{identity} {schedule}");
    }
    for policy in ["concurrency=allow", "deadline=5m", "suspend=true"] {
        assert_eq!(chosen("a", &format!("{base} @policy({policy})")), ours, "{policy}");
    }
    let zone =
        job("0 10 * * * @tz(Asia/Tokyo)").next_period(support::second("2026-03-01T12:00:00Z"));
    assert_eq!(zone, Some(period("2026-03-02T01:00:00Z")));
}

/// A refused schedule: its first error by code, category, underlined text, and
/// a part of what is expected or suggested.
fn refuse(schedule: &str, code: Code, underlined: &str, says: &str) -> kron_core::DefinitionError {
    let errors = match parse(schedule) {
        Ok(job) => panic!("{schedule}: accepted as {}", job.schedule()),
        Err(errors) => errors,
    };
    // ERR-06: no job comes with an error, so no decision can.
    let error = errors.as_slice()[0].clone();
    assert_eq!(error.code(), code, "{schedule}: {errors}");
    assert_eq!(error.span().slice(schedule), underlined, "{schedule}: {error}");
    let message = format!("{error} | {} | {}", error.expected(), error.suggestion().unwrap_or(""));
    assert!(message.contains(says), "{schedule}: {message}");
    assert!(!error.to_string().is_empty());
    error
}

fn configuration(schedule: &str, code: Code, underlined: &str, says: &str) {
    let error = refuse(schedule, code, underlined, says);
    assert_eq!(error.category(), Category::Configuration, "{schedule}");
}

fn validation(schedule: &str, code: Code, underlined: &str, says: &str) {
    let error = refuse(schedule, code, underlined, says);
    assert_eq!(error.category(), Category::Validation, "{schedule}");
}

/// FAULTS 5, SYN-06, SYN-07, SYN-08, SYN-09, SYN-10, SYN-11, SYN-12.
#[test]
fn refused_cron_fields() {
    configuration("", Code::FieldCount, "", "minute hour");
    configuration("0 0 * *", Code::FieldCount, "", "4 cron fields");
    configuration("0 0 * * * *", Code::FieldCount, "*", "no seconds");
    let zoned = "CRON_TZ=Europe/Berlin 0 3 * * *";
    configuration(zoned, Code::FieldCount, "*", "`@tz(Europe/Berlin)`");
    configuration("0 0 * * * 2026 7", Code::FieldCount, "2026 7", "7 cron fields");
    configuration("0 0 * * * win(after,1h)", Code::FieldCount, "win(after,1h)", "`@win(after,1h)`");
    configuration("@daily", Code::Macro, "@daily", "`0 0 * * *`");
    configuration("@weekly", Code::Macro, "@weekly", "`0 0 * * SUN`");
    configuration("@reboot", Code::Macro, "@reboot", "start-up");
    configuration("@hourly @tz(UTC)", Code::Macro, "@hourly", "`0 * * * *`");
    configuration("60 * * * *", Code::OutOfRange, "60", "0-59");
    configuration("0 24 * * *", Code::OutOfRange, "24", "hour `0`");
    configuration("0 0 0 * *", Code::OutOfRange, "0", "begins at `1`");
    configuration("0 0 32 * *", Code::OutOfRange, "32", "1-31");
    configuration("0 0 * 13 *", Code::OutOfRange, "13", "1-12 or JAN-DEC");
    configuration("0 0 * * 7", Code::OutOfRange, "7", "`0` or `SUN`"); // SYN-10
    configuration("0 0 * * 1-7", Code::OutOfRange, "7", "`SUN`");
    configuration("0 0 * * 8", Code::OutOfRange, "8", "0-6");
    configuration("99999999999999999999 0 * * *", Code::OutOfRange, "99999999999999999999", "");
    configuration("1,70 0 * * *", Code::OutOfRange, "70", "");
    configuration("*/0 * * * *", Code::InvalidStep, "0", "never advances"); // SYN-08
    configuration("*/60 * * * *", Code::InvalidStep, "60", "larger");
    configuration("10-20/11 * * * *", Code::InvalidStep, "11", "1-10");
    configuration("*/x * * * *", Code::InvalidStep, "x", "not a step");
    configuration("*/ * * * *", Code::InvalidStep, "", "");
    configuration("*/99999999999 * * * *", Code::InvalidStep, "99999999999", "");
    configuration("5/15 * * * *", Code::InvalidStep, "5/15", "`5-59/15`");
    configuration("30-10 * * * *", Code::ReversedRange, "30-10", "`30-59,0-10`");
    configuration("0 0 * * FRI-MON", Code::ReversedRange, "FRI-MON", "`FRI-SAT,SUN-MON`");
    configuration("0 0 * * SAT-SUN", Code::ReversedRange, "SAT-SUN", "`SAT,SUN`");
    configuration("? 0 * * *", Code::InvalidField, "?", "`*`");
    configuration("0 0 L * *", Code::InvalidField, "L", "standard cron");
    configuration("0 0 * * MON#2", Code::InvalidField, "MON#2", "standard cron");
    configuration("0 0 * * MONDAY", Code::InvalidField, "MONDAY", "`MON`");
    configuration("0 0 * JANUARY *", Code::InvalidField, "JANUARY", "`JAN`");
    configuration("0 0 * * MOO", Code::InvalidField, "MOO", "`MON`");
    configuration("MON 0 * * *", Code::InvalidField, "MON", "not a minute");
    configuration("-5 0 * * *", Code::InvalidField, "", "missing");
    configuration("1,,2 0 * * *", Code::InvalidField, "", "missing");
    configuration("1- 0 * * *", Code::InvalidField, "", "missing");
    configuration("1-2-3 0 * * *", Code::InvalidField, "2-3", "");
    configuration("** 0 * * *", Code::InvalidField, "**", "");
    configuration("0 0 30 2 *", Code::NeverMatches, "30 2", "never"); // SYN-12
    configuration("0 0 31 2,4,6,9,11 *", Code::NeverMatches, "31 2,4,6,9,11", "never");
    configuration("0 0 31 2 */2", Code::NeverMatches, "31 2", "never");
    configuration("0\u{a0}0 * * *", Code::UnexpectedCharacter, "\u{a0}", "no-break space");
    configuration("0 0 * *\n*", Code::UnexpectedCharacter, "\n", "line feed");
    configuration("0 0 * * *\r", Code::UnexpectedCharacter, "\r", "carriage return");
    configuration("0 0 * * *\0", Code::UnexpectedCharacter, "\0", "NUL");
}

/// SYN-02, SYN-04, SYN-13, SYN-15, SYN-16, SYN-17, SYN-19, SYN-20, SYN-21, SYN-22,
/// SYN-24, SYN-26, SYN-27, SYN-31, SYN-32, SYN-33, SYN-34: each refusal, word by word.
#[test]
fn refused_modifiers() {
    let c = |modifiers: &str, code, underlined: &str, says: &str| {
        configuration(&format!("0 0 * * * {modifiers}"), code, underlined, says);
    };
    let v = |modifiers: &str, code, underlined: &str, says: &str| {
        validation(&format!("0 0 * * * {modifiers}"), code, underlined, says);
    };
    // SYN-02
    c("@jitter(5m)", Code::UnknownModifier, "@jitter(5m)", "`@win`");
    c("@wim(after,5m)", Code::UnknownModifier, "@wim(after,5m)", "`@win`");
    c("@TZ(UTC)", Code::UnknownModifier, "@TZ(UTC)", "`@tz`");
    c("@(x)", Code::UnknownModifier, "@(x)", "@tz");
    c("@tz(UTC) hello", Code::UnexpectedCharacter, "hello", "end");
    c("@tz(UTC) @tz(UTC)", Code::DuplicateModifier, "@tz(UTC)", "twice");
    c("@tz(UTC)@win(after,1h)", Code::UnexpectedCharacter, "@win(after,1h)", "space");
    c("@tz(UTC)x", Code::UnexpectedCharacter, "x", "space");
    c("@win", Code::MissingArgument, "@win", "after,2h");
    c("@win()", Code::MissingArgument, "()", "after,2h");
    c("@tz()", Code::MissingArgument, "()", "Europe/Paris"); // FAULTS 7
    c("@only()", Code::MissingArgument, "()", "dow=");
    // SYN-04
    c("@win(after, 2h)", Code::Whitespace, " ", "quotes");
    c("@win( after,2h)", Code::Whitespace, " ", "");
    c("@seed(stable,salt=a b)", Code::Whitespace, " ", "double quotes");
    c("@seed(stable,salt=a\\ b)", Code::InvalidValue, "\\", "quoted");
    // FAULTS 3
    c("@win(after,2h", Code::Unclosed, "(", "`)`");
    c("@win(after,2h @tz(UTC)", Code::Unclosed, "(", "`)`");
    c("@seed(stable,salt=\"x)", Code::Unclosed, "\"", "closing");
    c("@seed(stable,salt=\"x\\", Code::Unclosed, "\"", "closing");
    c("@win((after,2h))", Code::UnexpectedCharacter, "(", "nest");
    // SYN-13, FAULTS 7
    c("@tz(Mars/Olympus)", Code::UnknownZone, "Mars/Olympus", "IANA");
    c("@tz(Local)", Code::UnknownZone, "Local", "host");
    c("@tz(+02:00)", Code::UnknownZone, "+02:00", "offset");
    c("@tz(UTC+2)", Code::UnknownZone, "UTC+2", "offset");
    c("@tz(../../etc/passwd)", Code::UnknownZone, "../../etc/passwd", "IANA");
    c("@tz(/etc/localtime)", Code::UnknownZone, "/etc/localtime", "IANA");
    c("@tz(europe/paris)", Code::UnknownZone, "europe/paris", "`Europe/Paris`");
    c("@tz(Europe/Pari)", Code::UnknownZone, "Europe/Pari", "`Europe/Paris`");
    c("@tz(Paris)", Code::UnknownZone, "Paris", "`Europe/Paris`");
    // SYN-15, SYN-16, SYN-17
    c("@win(before,2h)", Code::UnknownName, "before", "after, around");
    c("@win(arund,2h)", Code::UnknownName, "arund", "`around`");
    c("@win(After,2h)", Code::UnknownName, "After", "`after`");
    c("@win(after)", Code::MissingArgument, "", "duration");
    c("@win(2h)", Code::MissingArgument, "2h", "a mode and a duration, such as `after,2h`");
    c("@win(after,)", Code::MissingValue, "", "window duration");
    c("@win(after,2h,3h)", Code::ExtraArgument, "3h", "no more");
    c("@win(after,-1s)", Code::NegativeDuration, "-1s", "negative");
    c("@win(after,+1s)", Code::InvalidDuration, "+", "`+`");
    c("@win(after,90)", Code::InvalidDuration, "90", "`90m`");
    c("@win(after,2d)", Code::InvalidDuration, "d", "`48h`");
    c("@win(after,1w)", Code::InvalidDuration, "w", "`168h`");
    c("@win(after,5min)", Code::InvalidDuration, "min", "minutes are `m`");
    c("@win(after,9999999h)", Code::InvalidDuration, "9999999h", "too long");
    v("@win(after,8785h)", Code::ParameterOutOfRange, "8785h", "0s to 8784h"); // ERR-08
    // SYN-19, SYN-22, SYN-24, SYN-26, SYN-27, FAULTS 6
    c("@dist(poisson)", Code::UnknownName, "poisson", "uniform, normal");
    c("@dist(skewearly)", Code::UnknownName, "skewearly", "`skewEarly`");
    c("@dist(uniform,shape=2)", Code::UnknownKey, "shape", "no parameter"); // SYN-21
    c("@dist(skewEarly,foo=1)", Code::UnknownKey, "foo", "shape"); // SYN-20
    c("@dist(normal,shape=2)", Code::UnknownKey, "shape", "mu, sigma");
    c("@dist(skewEarly,shape)", Code::InvalidValue, "shape", "key=value");
    c("@dist(skewEarly,)", Code::MissingValue, "", "missing");
    c("@dist(skewEarly,shape=)", Code::MissingValue, "shape=", "no value");
    c("@dist(skewEarly,shape=1,shape=2)", Code::DuplicateKey, "shape", "twice");
    c("@dist(skewEarly,shape=wide)", Code::InvalidValue, "wide", "number");
    v("@dist(skewEarly,shape=0)", Code::ParameterOutOfRange, "0", "0.001 to 1000");
    v("@dist(skewEarly,shape=-1)", Code::ParameterOutOfRange, "-1", "");
    v("@dist(skewLate,shape=NaN)", Code::ParameterOutOfRange, "NaN", "");
    v("@dist(skewLate,shape=inf)", Code::ParameterOutOfRange, "inf", "");
    v("@dist(skewLate,shape=1e308)", Code::ParameterOutOfRange, "1e308", "");
    v("@dist(skewLate,shape=1e-300)", Code::ParameterOutOfRange, "1e-300", "");
    v("@dist(exponential,lambda=0)", Code::ParameterOutOfRange, "0", "0.001 to 1000");
    v("@dist(exponential,lambda=1e999)", Code::ParameterOutOfRange, "1e999", "");
    c("@dist(exponential,dir=up)", Code::UnknownName, "up", "early, late");
    c("@dist(normal,mu=middle)", Code::UnknownName, "middle", "nominal, start, mid, end");
    c("@dist(normal,sigma=wide)", Code::InvalidDuration, "w", "");
    v("@dist(normal,sigma=0s)", Code::ParameterOutOfRange, "0s", "1ms to 8784h");
    c("@dist(normal,sigma=-5m)", Code::NegativeDuration, "-5m", "");
    // SYN-31, SYN-32, SYN-33
    c("@seed(hourly)", Code::UnknownName, "hourly", "stable, daily, weekly");
    c("@seed(stable,pepper=x)", Code::UnknownKey, "pepper", "salt");
    c("@seed(salt=x)", Code::UnknownName, "salt=x", "stable");
    c("@seed(stable,salt=)", Code::MissingValue, "salt=", "");
    c("@seed(stable,salt=\"a\"b)", Code::InvalidValue, "b", "closing quote");
    c("@seed(stable,salt=a\"b\")", Code::InvalidValue, "\"", "quoted string");
    c("@seed(stable,salt=\"a\\n\")", Code::InvalidEscape, "\\n", "escape");
    c("@seed(stable,salt=\"a\u{7}\")", Code::UnexpectedCharacter, "\u{7}", "control");
    // Found by fuzzing: a control character of two bytes was half underlined.
    c("@seed(stable,salt=\"a\u{97}\")", Code::UnexpectedCharacter, "\u{97}", "control");
    // SYN-34
    c("@policy(retries=3)", Code::UnknownKey, "retries", "concurrency, deadline, suspend");
    c("@policy(concurrency=queue)", Code::UnknownName, "queue", "allow, forbid, replace");
    c("@policy(deadline=-1s)", Code::NegativeDuration, "-1s", "");
    c("@policy(suspend=yes)", Code::UnknownName, "yes", "true, false");
    c("@policy(deadline=1m,deadline=2m)", Code::DuplicateKey, "deadline", "");
}

/// SYN-36, SYN-37, SYN-38, SYN-39, SYN-40, SYN-41, ERR-08, ERR-11: malformed clauses
/// are found when the schedule is read, and are validation errors.
#[test]
fn refused_clauses() {
    let v = |clauses: &str, code, underlined: &str, says: &str| {
        validation(&format!("0 0 * * * @only({clauses})"), code, underlined, says);
        validation(&format!("0 0 * * * @avoid({clauses})"), code, underlined, says);
    };
    v("hours=8;", Code::MalformedClause, "", "empty clause");
    v(";hours=8", Code::MalformedClause, "", "empty clause");
    v("weekday=MON", Code::UnknownKey, "weekday", "`dow`");
    v("huors=8", Code::UnknownKey, "huors", "`hours`");
    v("hours=", Code::MissingValue, "hours=", "hours=8-18");
    v("hours", Code::MalformedClause, "hours", "`=`");
    v("hours=24", Code::OutOfRange, "24", "0-23");
    v("hours=1-2-3", Code::InvalidField, "2-3", "");
    v("hours=8-18/2", Code::InvalidField, "18/2", "");
    v("hours=1,,2", Code::InvalidField, "", "missing");
    v("hours=*", Code::InvalidField, "*", "");
    v("dom=32", Code::OutOfRange, "32", "1-31");
    v("dom=0", Code::OutOfRange, "0", "");
    v("dom=20-10", Code::ReversedRange, "20-10", "`20-31,1-10`");
    v("dow=7", Code::OutOfRange, "7", "`SUN`");
    v("dow=MOO", Code::InvalidField, "MOO", "`MON`");
    v("months=0", Code::OutOfRange, "0", "");
    v("months=13", Code::OutOfRange, "13", "");
    v("between=08:00", Code::MalformedClause, "08:00", "between=08:00-20:00");
    v("between=8:00-20:00", Code::MalformedClause, "8:00", "`08:00`");
    v("between=08:00-24:00", Code::MalformedClause, "24:00", "23:59");
    v("between=08:60-20:00", Code::MalformedClause, "08:60", "");
    v("between=0800-2000", Code::MalformedClause, "0800", "");
    v("between=08:00-20:00-22:00", Code::MalformedClause, "20:00-22:00", "");
    v("date=2026-02-30", Code::MalformedClause, "2026-02-30", "does not exist"); // SYN-40
    v("date=2026-2-3", Code::MalformedClause, "2026-2-3", "yyyy-mm-dd");
    v("date=0000-01-01", Code::MalformedClause, "0000-01-01", "");
    v("date=2026-1é-01", Code::MalformedClause, "2026-1é-01", "");
    v("dates=2026-12-24", Code::MalformedClause, "2026-12-24", "..");
    v(
        "dates=2026-12-31..2026-12-24",
        Code::ReversedRange,
        "2026-12-31..2026-12-24",
        "`2026-12-24..2026-12-31`",
    );
    configuration("0 0 * * * @only(hours=8; dow=MON)", Code::Whitespace, " ", "");
}

/// SYN-42: both may be given, and may leave nothing; that is no error.
#[test]
fn contradicting_constraints_are_valid() {
    let job = job("0 10 * * * @win(after,2h) @only(hours=8) @avoid(hours=8)");
    assert_eq!(job.decide(period("2026-03-02T10:00:00Z")).chosen(), None);
}

/// Several errors of one line come together, in the order of the text.
#[test]
fn all_errors_of_a_line() {
    let errors =
        parse("60 0 * * 7 @tz(Mars) @win(after,2x) @dist(uniform,a=1) @only(hours=25;dom=0)")
            .unwrap_err();
    let codes: Vec<Code> = errors.as_slice().iter().map(kron_core::DefinitionError::code).collect();
    assert_eq!(
        codes,
        [
            Code::OutOfRange,
            Code::OutOfRange,
            Code::UnknownZone,
            Code::InvalidDuration,
            Code::UnknownKey,
            Code::OutOfRange,
            Code::OutOfRange,
        ]
    );
    let starts: Vec<usize> = errors.as_slice().iter().map(|error| error.span().start).collect();
    assert!(starts.is_sorted());
    // And not without bound.
    let errors = parse(&format!("{} 0 * * *", ["99"; 500].join(","))).unwrap_err();
    assert_eq!(errors.as_slice().len(), kron_core::bounds::REPORTED_ERRORS);
}

/// Limits, ERR-08: window length and windows open at once.
#[test]
fn windows_open_at_once() {
    let ok = |schedule: &str| assert!(parse(schedule).is_ok(), "{schedule}");
    let v = |schedule: &str, text: &str| {
        validation(schedule, Code::TooManyOpenWindows, text, "1024");
    };
    // 1024 windows: the last minute that fits, and the first that does not.
    ok("* * * * * @win(after,1023m59s)");
    v("* * * * * @win(after,1024m)", "after,1024m");
    v("* * * * * @win(around,1024m)", "around,1024m");
    ok("0 * * * * @win(after,1023h)");
    v("0 * * * * @win(after,1024h)", "after,1024h");
    ok("0 0 * * * @win(after,8784h)");
    ok("0 * 1 * * @win(after,8784h)");
    ok("* * 1 * * @win(after,1h)");
    v("* * 1 * * @win(after,24h)", "after,24h");
    ok("* * 29 2 * @win(after,1023m)");
    v("*/30 * * * MON-FRI @win(after,8784h)", "after,8784h");
    ok("*/30 * * * MON-FRI @win(after,700h)");
}

/// FAULTS 3: nothing overflows, nothing takes long, whatever the nesting.
#[test]
fn hostile_input() {
    for text in [
        "(".repeat(60_000),
        format!("0 0 * * * @only{}", "(".repeat(60_000)),
        format!("0 0 * * * {}", "@only(".repeat(10_000)),
        format!("0 0 * * * {}", "@tz(UTC) ".repeat(7_000)),
        format!("0 0 * * * @seed(stable,salt=\"{}", "\\\"".repeat(30_000)),
        format!("0 0 * * * @only({})", "dom=1;".repeat(10_000)),
        format!("0 0 * * * @avoid({})", "date=2026-01-01;".repeat(4_000)),
        format!("{} 0 * * *", "1,".repeat(30_000)),
        format!("0 0 * * * @tz({})", "A/".repeat(30_000)),
        format!("0 0 * * * @dist(skewEarly,shape={})", "9".repeat(60_000)),
        format!("0 0 * * * @win(after,{})", "1h".repeat(30_000)),
        "\u{301}".repeat(30_000),
        "@".repeat(65_000),
        "\\".into(),
        "\"".into(),
    ] {
        let errors = parse(&text).expect_err(&text[..40.min(text.len())]);
        for error in errors.as_slice() {
            assert!(error.to_string().len() < 400, "{error}");
            assert!(text.get(error.span().start..error.span().end).is_some(), "{error}");
        }
    }
}

/// The borders of every range that is declared: the last value that is
/// accepted, and the first that is not.
#[test]
fn borders() {
    let mut zones = Zones::bundled();
    let mut check = |identity: &str, schedule: &str, code: Option<Code>| {
        let got = Job::parse(identity, schedule, &mut zones).err().map(|e| e.as_slice()[0].code());
        assert_eq!(got, code, "{identity:.60} {schedule:.60}");
    };
    let salt = |length: usize| format!("0 0 * * * @seed(stable,salt={})", "x".repeat(length));
    check("x", &salt(4096), None);
    check("x", &salt(4097), Some(Code::TooLong));
    check(&"x".repeat(8192), "0 0 * * *", None);
    check(&"x".repeat(8193), "0 0 * * *", Some(Code::InvalidIdentity));
    check("x", &format!("0 0 * * *{}", " ".repeat(65_536 - 9)), None);
    check("x", &format!("0 0 * * *{}", " ".repeat(65_537 - 9)), Some(Code::TooLong));
    let out = Some(Code::ParameterOutOfRange);
    for (modifier, code) in [
        ("@dist(skewEarly,shape=0.001)", None),
        ("@dist(skewEarly,shape=0.0009)", out),
        ("@dist(skewLate,shape=1000)", None),
        ("@dist(skewLate,shape=1000.1)", out),
        ("@dist(exponential,lambda=0.001)", None),
        ("@dist(exponential,lambda=0.0009)", out),
        ("@dist(exponential,lambda=1000)", None),
        ("@dist(exponential,lambda=1000.1)", out),
        ("@dist(normal,sigma=1ms)", None),
        ("@dist(normal,sigma=999us)", out),
        ("@dist(normal,sigma=8784h)", None),
        ("@dist(normal,sigma=8784h1ns)", out),
        ("@win(after,8784h)", None),
        ("@win(after,8784h1ns)", out),
    ] {
        check("x", &format!("0 0 1 1 * {modifier}"), code);
    }
}

/// What is quoted in a message is short and printable.
#[test]
fn quoted_input() {
    let message = |schedule: &str| parse(schedule).unwrap_err().as_slice()[0].to_string();
    let long = message(&format!("0 0 * * * @tz({})", "A".repeat(200)));
    assert_eq!(long, format!("`{}…` is not a time zone of the IANA database", "A".repeat(60)));
    let odd = message("0 0 * * * @dist(\u{1b}[31m)");
    assert_eq!(odd, "unknown distribution `\\u{1b}[31m`");
}

/// The limit on open windows is exact: the shortest span of 1025 nominal times.
#[test]
fn open_windows_are_counted_exactly() {
    for cron in [
        "0,30 9-17 * * *",
        "*/7 */5 1-10 * *",
        "5-55/5 8-18 * * MON-FRI",
        "0 */3 1,15 * FRI",
        "*/20 * * 2,3 *",
    ] {
        let job = job(cron);
        let mut nominal = Vec::new();
        let mut at = support::second("2001-01-01T00:00:00Z");
        while at < support::second("2029-01-01T00:00:00Z") {
            at = job.next_period(at).unwrap().nominal();
            nominal.push(at.unix_seconds());
        }
        let shortest = nominal.windows(1025).map(|span| (span[1024] - span[0]) / 60).min().unwrap();
        let accepted = |minutes: i64| parse(&format!("{cron} @win(after,{minutes}m)")).is_ok();
        if shortest <= 366 * 1440 {
            assert!(!accepted(shortest), "{cron} {shortest}");
        }
        assert!(accepted((shortest - 1).min(366 * 1440)), "{cron} {shortest}");
    }
}

#[test]
fn identities() {
    let mut zones = Zones::bundled();
    for (identity, ok) in [
        ("/etc/krond.d/a.kron:b", true),
        ("team a/naïve 時", true),
        ("", false),
        ("a\nb", false),
        ("a\u{7f}", false),
    ] {
        assert_eq!(Job::parse(identity, "0 0 * * *", &mut zones).is_ok(), ok, "{identity:?}");
    }
    let errors = Job::parse(&"x".repeat(9000), "0 0 * * 9", &mut zones).unwrap_err();
    assert_eq!(errors.as_slice().len(), 2);
    assert_eq!(errors.as_slice()[0].code(), Code::InvalidIdentity);
}

/// Every code has a word of its own.
#[test]
fn codes_are_distinct() {
    let mut words: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), Code::ALL.len());
}

/// SYN-07, SYN-08: the set of a field, against reading its text value by value.
fn check_field(cron: &str) {
    let job = job(&format!("{cron} * * *"));
    let printed = job.cron().to_string();
    let texts = |line: &str| line.split(' ').map(String::from).collect::<Vec<_>>();
    let (given, printed) = (texts(cron), texts(&printed));
    for minute in 0..60 {
        let expected = field(&given[0], minute, 0, 59, &[]);
        assert_eq!(field(&printed[0], minute, 0, 59, &[]), expected, "{cron} minute {minute}");
    }
    for hour in 0..24 {
        let expected = field(&given[1], hour, 0, 23, &[]);
        assert_eq!(field(&printed[1], hour, 0, 23, &[]), expected, "{cron} hour {hour}");
    }
}

#[test]
fn sets_of_fields() {
    for cron in ["*/7 */5", "0-59/7 1,2,3", "3-59/13,7 0-23/23", "*/59 */23", "1,1,1 5-5"] {
        check_field(cron);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// SYN-05: printing is a fixed point, and reading it back loses nothing.
    #[test]
    fn print_after_parse_is_a_fixed_point(schedule in strategy::schedule()) {
        let first = job(&schedule);
        let printed = first.schedule().to_string();
        let second = job(&printed);
        prop_assert_eq!(&first, &second, "{} | {}", schedule, printed);
        prop_assert_eq!(second.schedule().to_string(), printed);
    }

    /// SYN-03: the order of modifiers has no meaning.
    #[test]
    fn permuted_modifiers_are_the_same_job(
        (one, other) in (strategy::cron(), strategy::modifiers()).prop_flat_map(|(cron, modifiers)| {
            let shuffled = Just(modifiers.clone()).prop_shuffle();
            (Just(format!("{cron} {}", modifiers.join(" "))), shuffled.prop_map(move |m| {
                format!("{cron} {}", m.join("  "))
            }))
        })
    ) {
        match (parse(&one), parse(&other)) {
            (Ok(a), Ok(b)) => prop_assert_eq!(a, b),
            (Err(_), Err(_)) => {}
            _ => prop_assert!(false, "{} | {}", one, other),
        }
    }

    /// SYN-05: any text is a schedule or an error with a place inside it.
    #[test]
    fn parsing_is_total(text in "\\PC{0,80}|[0-9*/,@()=;a-z\" -]{0,60}") {
        if let Err(errors) = parse(&text) {
            prop_assert!(!errors.as_slice().is_empty());
            for error in errors.as_slice() {
                prop_assert!(text.get(error.span().start..error.span().end).is_some(), "{} {:?}", text, error);
            }
        }
    }

    /// SYN-05: damage to a valid line never panics.
    #[test]
    fn damaged_schedules_do_not_panic(
        schedule in strategy::schedule(),
        at in any::<prop::sample::Index>(),
        damage in "[@()\",;=\\\\ \\-/*a-zé0-9]{0,3}",
        cut in 0..4_usize,
    ) {
        let characters: Vec<char> = schedule.chars().collect();
        let at = at.index(characters.len());
        let end = (at + cut).min(characters.len());
        let text: String =
            characters[..at].iter().copied().chain(damage.chars()).chain(characters[end..].iter().copied()).collect();
        if let Ok(job) = parse(&text) {
            let printed = job.schedule().to_string();
            prop_assert_eq!(parse(&printed).map(|job| job.schedule().to_string()), Ok(printed));
        }
    }
}
