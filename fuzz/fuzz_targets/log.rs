//! Any line is read as pairs or refused; what is written is read back, in one of the
//! three forms of a log. A decision found in a line is checked without trouble,
//! and a decision made again verifies.
#![no_main]

use kron_core::logfmt::{Value, pairs};
use kron_core::{EVENT, Job, Record, UtcInstant};
use kron_core::line::{Level, Line};
use kron_fuzz::with_zones;
use krond::log::{Form, Logger};
use krontab::verify::record;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &str| {
    let read: Result<Vec<_>, _> = pairs(line).collect();
    if let Ok(read) = read {
        let written: Vec<String> =
            read.iter().map(|(key, value)| format!("{key}={}", Value(value))).collect();
        let written = written.join(" ");
        let again: Result<Vec<_>, _> = pairs(&written).collect();
        assert_eq!(again.expect("what was written is read"), read);
    }
    forms(line);
    if let Some(Ok(record)) = record(line) {
        decision(line, &record);
    }
});

/// A text as a value of a line that is logged, in the form that its length chooses.
fn forms(text: &str) {
    match text.len() % 3 {
        0 => as_text(text),
        1 => as_json(text),
        _ => for_people(text),
    }
}

fn written(text: &str, form: Form) -> String {
    let logged = Line::new(Level::Warn, "error").with("message", text).with("pid", text);
    let mut log = Logger::new(Vec::new(), form, Level::Debug);
    log.write(UtcInstant::MIN, &logged);
    log.flush();
    String::from_utf8(log.get_ref().clone()).expect("a text")
}

fn as_text(text: &str) {
    let line = written(text, Form::Text);
    let line = line.strip_suffix('\n').expect("a line");
    assert!(!line.chars().any(char::is_control));
    let read: Vec<_> = pairs(line).map(|pair| pair.expect("a pair")).collect();
    assert_eq!(read[3..], [("message", text.into()), ("pid", text.into())]);
}

fn as_json(text: &str) {
    let line = written(text, Form::Json);
    let line = line.strip_suffix('\n').expect("a line");
    assert!(!line.chars().any(char::is_control));
    let read: serde_json::Value = serde_json::from_str(line).expect("JSON");
    assert_eq!(read["message"], text);
    assert!(read["pid"] == text || read["pid"].to_string().parse::<i64>() == text.parse());
}

fn for_people(text: &str) {
    let line = written(text, Form::Human { colour: false });
    assert!(line.lines().count() <= 2);
    assert!(!line.chars().any(|c| c.is_control() && c != '\n'));
}

/// A decision that a line tells of.
fn decision(line: &str, found: &Record) {
    // What `explain` prints is JSON of another shape, and stays that.
    if line.trim_start().starts_with('{') && line.contains("\"seedHash\"") {
        let json = serde_json::to_string(found).expect("JSON");
        assert_eq!(record(&json), Some(Ok(found.clone())));
    } else {
        let mut logged = Line::new(Level::Info, EVENT);
        logged.fields = found.log_fields();
        for form in [Form::Text, Form::Json] {
            let mut log = Logger::new(Vec::new(), form, Level::Debug);
            log.write(UtcInstant::MIN, &logged);
            log.flush();
            let text = String::from_utf8(log.get_ref().clone()).expect("a text");
            assert_eq!(record(text.trim_end_matches('\n')), Some(Ok(found.clone())), "{text}");
        }
    }
    with_zones(|zones| {
        let Ok(differences) = found.verify(zones) else { return };
        if differences.is_empty() {
            return;
        }
        let job = Job::parse(&found.identity, &found.schedule, zones).expect("it was verified");
        let period = found.period_id.parse().expect("it was verified");
        let made = Record::of(&job.decide(period), zones);
        assert_eq!(made.verify(zones), Ok(Vec::new()));
        assert_ne!(made, *found);
    });
}
