//! The log in its three forms.

use kron_core::line::{Level, Line};
use kron_core::{EVENT, Job, Record, UtcInstant, Zones};
use kron_term::load::Wrong;
use krond::log::{Form, Logger, configuration_error};
use std::io::{self, Write};

const PLAIN: Form = Form::Human { colour: false };

fn at(text: &str) -> UtcInstant {
    text.parse().unwrap()
}

fn now() -> UtcInstant {
    at("2026-03-02T10:04:11.001Z")
}

/// What a log says of one line.
fn written(form: Form, line: &Line) -> String {
    let mut log = Logger::new(Vec::new(), form, Level::Debug);
    log.write(now(), line);
    log.flush();
    String::from_utf8(log.get_ref().clone()).unwrap()
}

/// The event of a planned period, as the engine makes it.
fn decision(job: &Job, name: &str, nominal: &str, zones: &Zones) -> Line {
    let record = Record::of(&job.decide(nominal.parse().unwrap()), zones);
    let mut line = Line::new(Level::Info, EVENT).with("job", name);
    line.fields.append(&mut record.into_log_fields());
    line
}

fn decided(schedule: &str, nominal: &str) -> Line {
    let mut zones = Zones::bundled();
    let job = Job::parse("/etc/krond.d/shop.kron:backup", schedule, &mut zones).unwrap();
    decision(&job, "backup", nominal, &zones)
}

fn about(level: Level, event: &'static str) -> Line {
    Line::new(level, event).with("identity", "/etc/krond.d/shop.kron:backup").with("job", "backup")
}

fn of_period(level: Level, event: &'static str) -> Line {
    about(level, event)
        .with("period_id", "2026-03-02T10:00:00Z")
        .with("nominal_time", "2026-03-02T10:00:00Z")
        .with("chosen_time", "2026-03-02T10:04:11Z")
}

/// The form of a line, exactly.
#[test]
fn text_and_json() {
    let line = of_period(Level::Info, "started").with("pid", 4711).with("late", "1.000ms");
    assert_eq!(
        written(Form::Text, &line),
        "2026-03-02T10:04:11.001000000Z level=info component=krond event=started \
         identity=/etc/krond.d/shop.kron:backup job=backup period_id=2026-03-02T10:00:00Z \
         nominal_time=2026-03-02T10:00:00Z chosen_time=2026-03-02T10:04:11Z pid=4711 late=1.000ms\n"
    );
    assert_eq!(
        written(Form::Json, &line),
        "{\"time\":\"2026-03-02T10:04:11.001000000Z\",\"level\":\"info\",\"component\":\"krond\",\
         \"event\":\"started\",\"identity\":\"/etc/krond.d/shop.kron:backup\",\"job\":\"backup\",\
         \"period_id\":\"2026-03-02T10:00:00Z\",\"nominal_time\":\"2026-03-02T10:00:00Z\",\
         \"chosen_time\":\"2026-03-02T10:04:11Z\",\"pid\":4711,\"late\":\"1.000ms\"}\n"
    );
}

#[test]
fn numbers_and_booleans_of_json() {
    let line = Line::new(Level::Warn, "exited")
        .with("exit_code", -1)
        .with("signal", "007")
        .with("count", "many")
        .with("unschedulable", true)
        .with("at_least", "TRUE")
        .with("message", 1);
    let value: serde_json::Value = serde_json::from_str(&written(Form::Json, &line)).unwrap();
    let expected = serde_json::json!({
        "time": "2026-03-02T10:04:11.001000000Z", "level": "warn", "component": "krond",
        "event": "exited", "exit_code": -1, "signal": 7, "count": "many",
        "unschedulable": true, "at_least": "TRUE", "message": "1",
    });
    assert_eq!(value, expected);
}

/// No value forges a line, a pair, or a command to a terminal.
#[test]
fn forged_values() {
    for value in [
        "a\n2026-03-02T10:04:11.001000000Z level=error component=krond event=forged",
        "a\r\nb",
        "a\" event=forged b=\"",
        "a\",\"event\":\"forged",
        "\\\" event=forged",
        "trailing\\",
        "\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}31m\u{85}\0\u{7f}",
        "\u{2028}\u{2029}\u{202e}\u{2066}",
        "",
        " ",
        "a=b event=forged",
    ] {
        let line = about(Level::Error, "error").with("message", value).with("pid", value);
        for form in [Form::Text, Form::Json, PLAIN] {
            let text = written(form, &line);
            let body = text.strip_suffix('\n').unwrap();
            let odd = |c: char| c.is_control() || ('\u{2028}'..='\u{202e}').contains(&c);
            assert!(!body.contains(odd), "{form:?} {value:?} {text:?}");
        }
        let text = written(Form::Text, &line);
        let pairs: Vec<_> = kron_core::logfmt::pairs(text.trim_end_matches('\n'))
            .collect::<Result<_, _>>()
            .unwrap();
        let read = |wanted: &str| {
            let mut found = pairs.iter().filter(|(key, _)| *key == wanted);
            (found.next().unwrap().1.to_string(), found.count())
        };
        assert_eq!(read("message"), (value.into(), 0));
        assert_eq!(read("event"), ("error".into(), 0));
        let json: serde_json::Value = serde_json::from_str(&written(Form::Json, &line)).unwrap();
        assert_eq!((&json["message"], &json["event"]), (&value.into(), &"error".into()));
        assert_eq!(json["pid"], value);
    }
}

/// OBS-04: decisions in the log can be recomputed, in either form.
#[test]
fn krontab_verifies_decisions() {
    let home = tempfile::tempdir().unwrap();
    for form in [Form::Text, Form::Json] {
        let mut log = Logger::new(Vec::new(), form, Level::Info);
        for (schedule, nominal) in [
            ("0 10 * * *", "2026-03-02T10:00:00Z"),
            ("0 10 * * * @win(around,45m) @dist(normal)", "2026-03-02T10:00:00Z"),
            ("0 0 * * * @win(after,3h) @only(hours=23)", "2026-03-02T00:00:00Z"),
            (
                "0 0 * * * @tz(Europe/Paris) @win(after,3h) @seed(daily,salt=\"a=b c\")",
                "2026-03-02T23:00:00Z",
            ),
        ] {
            log.write(now(), &about(Level::Info, "ready"));
            log.write(now(), &decided(schedule, nominal));
        }
        log.flush();
        let text = String::from_utf8(log.get_ref().clone()).unwrap();
        let verify = |name: &str, text: &str| {
            let path = home.path().join(name);
            std::fs::write(&path, text).unwrap();
            krontab::main(["krontab".into(), "verify".into(), path.into_os_string()])
        };
        assert_eq!(verify("good.log", &text), 0, "{text}");
        let false_one = text.replacen("attempts=1 ", "attempts=2 ", 1);
        let false_one = false_one.replacen("\"attempts\":1,", "\"attempts\":2,", 1);
        assert_ne!(text, false_one);
        assert_eq!(verify("false.log", &false_one), 1, "{false_one}");
    }
}

#[test]
fn levels() {
    let lines =
        [Level::Debug, Level::Info, Level::Warn, Level::Error].map(|l| Line::new(l, "ready"));
    for (least, expected) in
        [(Level::Debug, 4), (Level::Info, 3), (Level::Warn, 2), (Level::Error, 1)]
    {
        let mut log = Logger::new(Vec::new(), Form::Text, least);
        for line in &lines {
            log.write(now(), line);
        }
        assert!(log.get_ref().is_empty(), "written before it was asked for");
        log.flush();
        assert_eq!(log.get_ref().iter().filter(|&&b| b == b'\n').count(), expected);
    }
}

/// A line as the text form has it.
fn read(text: &str) -> Line {
    let mut pairs = kron_core::logfmt::pairs(text).map(|pair| pair.unwrap());
    let (level, event) = (pairs.next().unwrap().1, pairs.next().unwrap().1);
    let level = [Level::Debug, Level::Info, Level::Warn, Level::Error]
        .into_iter()
        .find(|known| known.as_str() == level)
        .unwrap();
    pairs.fold(Line::new(level, leaked(&event)), |line, (key, value)| line.with(leaked(key), value))
}

fn leaked(text: &str) -> &'static str {
    Box::leak(text.into())
}

/// Every event, as somebody who watches sees it.
#[test]
fn human_lines() {
    let blocks = include_str!("data/human.txt").split("\n\n").filter(|b| b.starts_with("level="));
    let mut events = std::collections::BTreeSet::new();
    for block in blocks {
        let (input, expected) = block.split_once('\n').unwrap();
        let line = read(input);
        assert_eq!(written(PLAIN, &line).trim_end(), expected.trim_end(), "{input}");
        events.insert(line.event);
    }
    assert_eq!(events.len(), 22, "{events:?}");
}

/// What is next, in a window and out of one.
#[test]
fn human_decisions() {
    for (schedule, nominal, expected) in [
        (
            "0 10 * * * @win(around,45m) @dist(normal)",
            "2026-03-03T10:00:00Z",
            "in 23h 55m at 2026-03-03T10:00:09Z (window 09:37:30–10:22:30, normal)",
        ),
        ("0 10 * * *", "2026-03-03T10:00:00Z", "in 23h 55m at 2026-03-03T10:00:00Z"),
        (
            "0 0 * * * @win(around,2h)",
            "2026-03-03T00:00:00Z",
            "in 13h 46m at 2026-03-02T23:50:24Z (window 23:00–2026-03-03 01:00, uniform)",
        ),
        (
            "0 0 * * * @win(after,3h) @only(hours=23)",
            "2026-03-03T00:00:00Z",
            "period 2026-03-03T00:00:00Z will be unschedulable: the constraints allow no second of the window",
        ),
    ] {
        let text = written(PLAIN, &decided(schedule, nominal));
        assert_eq!(text, format!("10:04:11  next      backup  {expected}\n"), "{schedule}");
    }
}

#[test]
fn colours_of_outcomes() {
    let form = Form::Human { colour: true };
    for (outcome, colour) in
        [("executed", 32), ("missed", 31), ("skipped", 33), ("unschedulable", 33)]
    {
        let text = written(form, &of_period(Level::Info, "outcome").with("outcome", outcome));
        let expected = format!("10:04:11  \u{1b}[1m\u{1b}[{colour}m{outcome}\u{1b}[0m");
        assert!(text.starts_with(&expected), "{text:?}");
    }
}

/// What is wrong with a configuration, as events.
#[test]
fn configuration_errors() {
    let wrong = Wrong {
        path: "/etc/krond.d/a.kron",
        line: Some(3),
        column: Some(7),
        category: "ValidationError",
        code: "out-of-range",
        message: "minute `61` is too large".into(),
        hint: Some("0 to 59"),
    };
    assert_eq!(
        written(Form::Text, &configuration_error(&wrong)),
        "2026-03-02T10:04:11.001000000Z level=error component=krond event=error \
         error_type=ValidationError operation=\"read configuration\" path=/etc/krond.d/a.kron line=3 \
         column=7 code=out-of-range message=\"minute `61` is too large\" hint=\"0 to 59\"\n"
    );
    let bare = Wrong { path: "", line: None, column: None, hint: None, ..wrong };
    assert_eq!(
        written(PLAIN, &configuration_error(&bare)),
        "10:04:11  error     read configuration: minute `61` is too large\n\
         \x20                   help: `krontab lint` shows it in place\n"
    );
}

/// A place that takes so much and then fails in a certain way.
struct Place {
    taken: Vec<u8>,
    room: usize,
    then: io::ErrorKind,
}

impl Write for Place {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = bytes.len().min(self.room);
        if n == 0 {
            return Err(self.then.into());
        }
        self.room -= n;
        self.taken.extend(&bytes[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_slow_reader_gets_everything() {
    let place = Place { taken: Vec::new(), room: 50, then: io::ErrorKind::WouldBlock };
    let mut log = Logger::new(place, Form::Text, Level::Info);
    log.write(now(), &about(Level::Info, "ready").with("message", "é"));
    log.flush();
    log.get_mut().room = usize::MAX;
    log.write(now(), &about(Level::Info, "stopping"));
    log.flush();
    let text = String::from_utf8(log.get_ref().taken.clone()).unwrap();
    assert_eq!(text.lines().count(), 2);
    assert!(text.lines().all(|line| line.starts_with("2026-") && line.contains("job=backup")));
}

#[test]
fn a_full_disk_loses_lines_and_says_so() {
    let place = Place { taken: Vec::new(), room: 50, then: io::ErrorKind::StorageFull };
    let mut log = Logger::new(place, Form::Text, Level::Info);
    for _ in 0..3 {
        log.write(now(), &about(Level::Info, "ready"));
        log.flush();
    }
    log.get_mut().room = usize::MAX;
    log.write(now(), &about(Level::Info, "stopping"));
    log.flush();
    let text = String::from_utf8(log.get_ref().taken.clone()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[1].contains("event=error") && lines[1].contains(" count=3 "), "{text}");
    assert!(lines[2].contains("event=stopping"), "{text}");
}
