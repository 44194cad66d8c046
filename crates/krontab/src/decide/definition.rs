//! A definition, and the JSON of its decisions.
//!
//! The same text as that of a [`Record`](kron_core::Record), which a test
//! holds it to, but many times cheaper: it is written where it goes, and what
//! does not change from one decision to the next can be kept.

use kron_core::bounds::SAMPLING_BUDGET;
use kron_core::{ALGORITHM, Clauses, Decision, Identity, Job, PeriodId, UtcInstant, UtcSecond};
use std::fmt::Write;

/// A definition together with the parts of its JSON that stay the same.
pub struct Definition {
    job: Job,
    schedule: Box<str>,
    timing: Box<str>,
    constraints: Box<str>,
}

impl Definition {
    pub fn new(job: Job) -> Self {
        let text = |push: fn(&mut String, &Job)| {
            let mut out = String::new();
            push(&mut out, &job);
            out.into_boxed_str()
        };
        let (schedule, timing, constraints) =
            (text(push_schedule), text(push_timing), text(push_constraints));
        Self { job, schedule, timing, constraints }
    }

    /// Decides a period and writes it as a line of JSON.
    pub fn answer(&mut self, identity: Identity, period: PeriodId, tzdb: &str, out: &mut String) {
        self.job.set_identity(identity);
        push_line(
            out,
            &self.job.decide(period),
            tzdb,
            |out| out.push_str(&self.schedule),
            |out| out.push_str(&self.timing),
            |out| out.push_str(&self.constraints),
        );
    }
}

/// A line of JSON for a decision that may be the only one of its job.
pub fn answer_once(decision: &Decision<'_>, tzdb: &str, out: &mut String) {
    let job = decision.job();
    push_line(
        out,
        decision,
        tzdb,
        |out| push_schedule(out, job),
        |out| push_timing(out, job),
        |out| push_constraints(out, job),
    );
}

fn push_line(
    out: &mut String,
    decision: &Decision<'_>,
    tzdb: &str,
    schedule: impl Fn(&mut String),
    timing: impl Fn(&mut String),
    constraints: impl Fn(&mut String),
) {
    let nominal = decision.period().nominal();
    out.push_str(r#"{"algorithm":"#);
    push_string(out, ALGORITHM);
    out.push_str(r#","tzdb":"#);
    push_string(out, tzdb);
    out.push_str(r#","identity":"#);
    push_string(out, decision.job().identity().as_str());
    schedule(out);
    out.push_str(r#","periodId":""#);
    push_second(out, nominal);
    out.push_str(r#"","nominalTime":""#);
    push_second(out, nominal);
    out.push_str(r#"","windowStart":""#);
    push_instant(out, decision.window().start());
    out.push_str(r#"","windowEnd":""#);
    push_instant(out, decision.window().end());
    out.push_str(r#"","chosenTime":"#);
    match decision.chosen() {
        Some(chosen) => {
            out.push('"');
            push_second(out, chosen);
            out.push('"');
        }
        None => out.push_str("null"),
    }
    timing(out);
    out.push_str(r#","periodKey":""#);
    out.push_str(decision.period_key().as_str());
    out.push_str(r#"","seedHash":""#);
    push_hash(out, decision.seed_hash().as_bytes());
    out.push('"');
    constraints(out);
    out.push_str(r#","attempts":"#);
    push_number(out, decision.attempts());
    out.push_str(r#","maxAttempts":"#);
    push_number(out, SAMPLING_BUDGET);
    match decision.choice() {
        Ok(_) => out.push_str(",\"unschedulable\":false,\"reason\":null}\n"),
        Err(reason) => {
            out.push_str(r#","unschedulable":true,"reason":"#);
            push_string(out, &reason.to_string());
            out.push_str("}\n");
        }
    }
}

fn push_schedule(out: &mut String, job: &Job) {
    out.push_str(r#","schedule":"#);
    push_quoted(out, |out| job.schedule().push_to(out));
}

fn push_timing(out: &mut String, job: &Job) {
    out.push_str(r#","timezone":"#);
    push_string(out, job.zone().name());
    out.push_str(r#","mode":"#);
    push_string(out, job.window().mode.as_str());
    out.push_str(r#","distribution":{"name":"#);
    push_string(out, job.distribution().name());
    out.push_str(r#","params":{"#);
    // In alphabetical order, as a record has them.
    let mut params: Vec<(&str, String)> = Vec::new();
    job.distribution().for_each_param(|key, value| params.push((key, value.to_string())));
    params.sort_unstable();
    for (i, (key, value)) in params.iter().enumerate() {
        out.push_str(if i == 0 { "" } else { "," });
        push_string(out, key);
        out.push(':');
        push_string(out, value);
    }
    out.push_str(r#"}},"seedStrategy":"#);
    push_string(out, job.seed_strategy().as_str());
    out.push_str(r#","salt":"#);
    push_string(out, job.salt());
}

fn push_constraints(out: &mut String, job: &Job) {
    let clauses = |out: &mut String, clauses: &Clauses| {
        if clauses.is_empty() {
            out.push_str("null");
        } else {
            push_quoted(out, |out| clauses.push_to(out));
        }
    };
    out.push_str(r#","constraints":{"only":"#);
    clauses(out, job.constraints().only());
    out.push_str(r#","avoid":"#);
    clauses(out, job.constraints().avoid());
    out.push('}');
}

/// A string of JSON, quotes included.
fn push_string(out: &mut String, text: &str) {
    push_quoted(out, |out| out.push_str(text));
}

/// The same, for a text that is written in place.
fn push_quoted(out: &mut String, text: impl FnOnce(&mut String)) {
    let plain = |b: u8| !matches!(b, b'"' | b'\\') && b >= b' ' && b != 0x7f;
    let start = out.len();
    out.push('"');
    text(out);
    if out.as_bytes()[start + 1..].iter().all(|&b| plain(b)) {
        out.push('"');
    } else {
        let text = out.split_off(start).split_off(1);
        // Writing a string to memory cannot fail.
        let _ = write!(out, "{}", serde_json::Value::from(text));
    }
}

fn push_second(out: &mut String, at: UtcSecond) {
    // The text of a time is ASCII.
    out.push_str(std::str::from_utf8(&at.to_ascii()).unwrap_or_default());
}

fn push_instant(out: &mut String, at: UtcInstant) {
    if at.subsec_nanos() == 0 {
        push_second(out, at.floor());
    } else {
        let _ = write!(out, "{at}");
    }
}

fn push_hash(out: &mut String, hash: &[u8; 32]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 64];
    for (pair, byte) in text.chunks_exact_mut(2).zip(hash) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    out.push_str(std::str::from_utf8(&text).unwrap_or_default());
}

fn push_number(out: &mut String, number: u16) {
    if number >= 10 {
        push_number(out, number / 10);
    }
    out.push(char::from(b'0' + (number % 10) as u8));
}

#[cfg(test)]
mod tests {
    use super::*;
    use kron_core::{Record, Zones};

    /// CORE-09: byte for byte what a record is in JSON.
    #[test]
    fn the_same_as_a_record() {
        let mut zones = Zones::bundled();
        for schedule in [
            "0 10 * * *",
            "*/5 1-3 * * MON-FRI @win(after,90m) @policy(deadline=1h,concurrency=replace)",
            "0 10 * * * @tz(Europe/Paris) @win(around,45m1ns) @dist(normal,mu=end) @seed(weekly)",
            "0 10 * * * @win(after,2h) @dist(exponential,dir=late) @seed(daily,salt=\"a \\\"b\\\" \\\\ é\")",
            "0 10 * * * @win(after,2h) @dist(skewLate,shape=2.5) @only(dow=MON;hours=10-11) @avoid(date=2026-12-25)",
            "0 10 * * * @win(after,2h) @only(hours=3)",
            "0 10 * * * @win(after,366h) @avoid(hours=0-22;between=23:00-23:58)",
        ] {
            for (identity, nominal) in [
                ("/etc/krond.d/shop.kron:x", "2026-03-02T10:00:00Z"),
                ("a \"quoted\" \\ identity é", "2026-10-25T01:59:59+02:00"),
                ("\u{7f}x".trim_start_matches('\u{7f}'), "0005-01-01T00:00:00Z"),
            ] {
                let job = Job::parse("other", schedule, &mut zones).unwrap();
                let (mut line, mut once) = (String::new(), String::new());
                let identity = Identity::new(identity).unwrap();
                let period: PeriodId = nominal.parse().unwrap();
                Definition::new(job.clone()).answer(
                    identity.clone(),
                    period,
                    zones.version(),
                    &mut line,
                );
                let mut job = job;
                job.set_identity(identity);
                let record = Record::of(&job.decide(period), &zones);
                let expected = serde_json::to_string(&record).unwrap() + "\n";
                answer_once(&job.decide(period), zones.version(), &mut once);
                assert_eq!(line, expected, "{schedule}");
                assert_eq!(once, expected, "{schedule}");
            }
        }
    }
}
