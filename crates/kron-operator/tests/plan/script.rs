//! A scenario as text.
//!
//! ```text
//! 09:59:30                               where the clock starts
//! job * * * * * @policy(deadline=1m)     the schedule; later on, an edit
//! flaw schedule | template               it cannot be used, until it is edited again
//! runs 30s | forever                     how long Jobs run that are created from here on
//! fails 30s                              …and fail
//! lingers 20s                            how long they take to go when they are deleted
//! ttl 5s                                 when somebody deletes them after their end
//! keep 3 1                               how many that succeeded and failed are kept
//! start, crash                           the operator
//! lease 15s                              its lease outlives it for so long
//! 10:00:30 refuse over quota             what happens when: nothing can be created…
//! 10:00:40 accept                        …and again it can
//! quota 2                                there can be no more Jobs than that
//! bind forbidden, unbind                 nothing can be deleted, and again it can
//! theirs 10:00                           a Job of somebody else has that name
//! orphan 10:00                           a Job of ours that nobody recorded
//! delete 10:00                           somebody deletes a Job
//! deaf, hear                             whether it hears what becomes of Jobs
//! cut-off                                it creates, but hears nothing of it
//! clock 09:00:00                         the clock is set
//! lose marks | all; garble marks         something happens to the status
//! crash-after create                     …after the next such step
//! age 1h                                 the KronJob is older than the scenario
//! reconcile                              everything is looked at again
//! show steps, status
//! ```

use crate::cluster::{Cluster, FalseJob, IDENTITY, parse};
use crate::krond::{DAY, duration, instant};
use crate::operator::{Did, Operator};
use kron_core::{PeriodId, UtcInstant, UtcSecond};
use kron_operator::book::Finished;
use kron_operator::convert::job_name;
use kron_operator::plan::Remark;
use kron_operator::unusable::Flaw;
use serde_json::Value;
use std::time::Duration;

/// Plays a script; the log must be as expected.
#[track_caller]
pub fn check(script: &str, expected: &str) {
    let world = play(script);
    let (expected, log) = (tidy(expected), tidy(&world.log.join("\n")));
    assert!(log == expected, "expected\n  {}\ngot\n  {}", expected.join("\n  "), log.join("\n  "));
}

pub fn tidy(text: &str) -> Vec<String> {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().map(words).filter(|line| !line.is_empty()).collect()
}

pub fn play(script: &str) -> World {
    let mut world = World::new(script);
    for line in tidy(script).iter().skip(1) {
        world.act(line);
    }
    world
}

pub struct World {
    pub cluster: Cluster,
    pub identity: String,
    pub operator: Option<Operator>,
    pub log: Vec<String>,
    /// Steps done so far, and after which of them the operator dies and another begins.
    pub steps: usize,
    pub dies_after: Option<usize>,
    crash_after: Option<String>,
    shows_steps: bool,
}

impl World {
    /// The world in which a script begins.
    pub fn new(script: &str) -> Self {
        let first = tidy(script).into_iter().next().expect("where the clock starts");
        let now = instant(&first);
        Self {
            cluster: Cluster::new(now, parse(IDENTITY, "0 0 1 1 *")),
            identity: IDENTITY.into(),
            operator: None,
            log: Vec::new(),
            steps: 0,
            dies_after: None,
            crash_after: None,
            shows_steps: false,
        }
    }

    /// Does one line of a script.
    pub fn act(&mut self, line: &str) {
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        if first.starts_with(|c: char| c.is_ascii_digit()) {
            self.until(instant(first));
            return self.act(rest);
        }
        if let Some(by) = first.strip_prefix('+') {
            self.until(self.cluster.now.saturating_add(duration(by)));
            return self.act(rest);
        }
        let cluster = &mut self.cluster;
        match first {
            "job" => {
                cluster.edit(parse(&self.identity, rest));
                self.reconcile();
            }
            "flaw" => {
                cluster.spoil(match rest {
                    "schedule" => Flaw::Schedule,
                    "template" => Flaw::Template,
                    _ => panic!("unknown: {line}"),
                });
                self.reconcile();
            }
            "runs" | "fails" => {
                cluster.ways.run = (rest != "forever").then(|| duration(rest));
                cluster.ways.fails = first == "fails";
            }
            "lingers" => cluster.ways.lingers = duration(rest),
            "ttl" => cluster.ways.ttl = Some(duration(rest)),
            "keep" => {
                let (succeeded, failed) = rest.split_once(' ').expect("two numbers");
                cluster.limits.succeeded = succeeded.parse().expect("a number");
                cluster.limits.failed = failed.parse().expect("a number");
            }
            "start" => {
                self.operator = Some(Operator::start(cluster));
                self.reconcile();
            }
            "crash" => {
                let crashed = self.operator.take();
                let term = |operator: Operator, good: Duration| {
                    (operator.begun, cluster.now.saturating_add(good))
                };
                cluster.led = crashed.zip(cluster.lease).map(|(o, good)| term(o, good));
            }
            "lease" => cluster.lease = Some(duration(rest)),
            "crash-after" => self.crash_after = Some(rest.into()),
            "refuse" => cluster.refusal = Some(rest.into()),
            "accept" => cluster.refusal = None,
            "quota" => cluster.quota = rest.parse().expect("a number"),
            "bind" => cluster.bound = Some(rest.into()),
            "unbind" => cluster.bound = None,
            "theirs" => drop(cluster.foreign.insert(name(rest))),
            "orphan" => {
                let period = period(rest);
                let chosen = cluster.job.decide(period).chosen();
                cluster.land(period, chosen).expect("a free name");
                self.reconcile();
            }
            "delete" => {
                cluster.delete(&name(rest));
                self.reconcile();
            }
            "deaf" | "hear" => {
                let operator = self.operator.as_mut().expect("it runs");
                operator.is_deaf = first == "deaf";
            }
            "cut-off" => self.operator.as_mut().expect("it runs").is_cut_off = true,
            "clock" => {
                cluster.now = instant(rest);
                self.reconcile();
            }
            "lose" | "garble" => self.spoil(first, rest),
            "age" => cluster.created = cluster.now.saturating_sub(duration(rest)),
            "reconcile" => self.reconcile(),
            "show" => self.shows_steps = true,
            "status" => {
                let status = self.status();
                self.say(&status);
            }
            "end" => {}
            _ => panic!("unknown: {line}"),
        }
    }

    fn spoil(&mut self, how: &str, what: &str) {
        let cluster = &mut self.cluster;
        cluster.has_lost = true;
        cluster.version += 1;
        let status = cluster.status.as_mut().expect("a status");
        match (how, what) {
            ("lose", "marks") => status["marks"] = Value::Null,
            ("lose", "all") => cluster.status = None,
            ("garble", key) => status["marks"][key] = "yesterday".into(),
            _ => panic!("{how} {what}"),
        }
        self.reconcile();
    }

    pub fn say(&mut self, what: &str) {
        let at = self.cluster.now.to_string();
        self.log.push(format!("{} {what}", brief(&at)));
    }

    /// Lets the time pass.
    pub fn until(&mut self, end: UtcInstant) {
        assert!(end >= self.cluster.now, "{end} is before {}", self.cluster.now);
        loop {
            let wake = self.operator.as_ref().and_then(|operator| operator.wake);
            let event = self.cluster.next_event();
            let next = [wake, event].into_iter().flatten().min().filter(|at| *at <= end);
            let Some(next) = next else { break };
            self.cluster.now = self.cluster.now.max(next);
            self.cluster.settle();
            self.reconcile();
        }
        self.cluster.now = end;
    }

    /// Does steps until there is nothing to do.
    pub fn reconcile(&mut self) {
        if let Some(operator) = &mut self.operator {
            operator.wake_up(&self.cluster);
        }
        for round in 0.. {
            let Some(operator) = &mut self.operator else { return };
            assert!(round < 600, "no end of steps");
            let (stuck, idle) = (operator.stuck.clone(), operator.idle);
            let did = operator.step(&mut self.cluster);
            if did == Did::Conflict {
                operator.hear(&self.cluster);
            }
            let idle = operator.idle.filter(|until| idle != Some(*until));
            let stuck = operator.stuck.clone().filter(|now| stuck.as_ref() != Some(now));
            if let Some(why) = stuck {
                self.say(&format!("error: {why}"));
            }
            if let Some(until) = idle {
                self.say(&format!("idle until {}", brief(&until.to_string())));
            }
            self.tell(&did);
            if matches!(did, Did::Rest | Did::Unended) {
                return;
            }
            self.steps += 1;
            if self.crash_after.as_deref() == Some(word(&did)) {
                self.say("crash");
                self.crash_after = None;
                self.operator = None;
            }
            if self.dies_after == Some(self.steps) {
                self.operator = Some(Operator::start(&self.cluster));
            }
        }
    }

    fn tell(&mut self, did: &Did) {
        let shows = self.shows_steps;
        match did {
            Did::Look | Did::Conflict if shows => self.say(word(did)),
            Did::Began(None) if shows => self.say("begin"),
            Did::Began(Some(why)) => self.say(&format!("lost: {why}")),
            Did::Wrote(remarks) => {
                if shows && remarks.is_empty() {
                    self.say("write");
                }
                for remark in remarks {
                    self.tell_remark(remark);
                }
            }
            Did::Created(period) => self.say(&format!("create {}", brief_period(*period))),
            Did::Refused(period, why) => {
                self.say(&format!("refused {}: {why}", brief_period(*period)));
            }
            Did::Ended(_, names) => self.say(&format!("end {}", list(names))),
            Did::Tidied(release, delete) => {
                if shows && !release.is_empty() {
                    self.say(&format!("release {}", list(release)));
                }
                if !delete.is_empty() {
                    self.say(&format!("delete {}", list(delete)));
                }
            }
            _ => {}
        }
    }

    fn tell_remark(&mut self, remark: &Remark) {
        match remark {
            Remark::Outcome { end, .. } => {
                let reason = end.reason().map_or(String::new(), |reason| format!(": {reason}"));
                self.say(&format!("{} {}{reason}", end.outcome(), brief_period(end.period())));
            }
            Remark::Superseded(count, more) => {
                self.say(&format!("superseded {count}{}", if *more { " or more" } else { "" }));
            }
            Remark::Barred(count) => self.say(&format!("superseded {count}")),
            Remark::Planned(period) if self.shows_steps => {
                self.say(&format!("planned {}", brief_period(*period)));
            }
            Remark::Finished(Finished { period, result, .. }) if self.shows_steps => {
                self.say(&format!("finished {} {result:?}", brief_period(*period)));
            }
            _ => {}
        }
    }

    /// What is durable, in short.
    fn status(&self) -> String {
        let (book, _) = self.cluster.book();
        let id = |text: &String| brief_period(text.parse().expect("a period"));
        let last = book
            .last
            .as_ref()
            .map_or("-".into(), |last| format!("{} {}", id(&last.period_id), last.outcome));
        let next = book.next.as_ref().map_or("-".into(), |next| {
            let at = next.chosen_time.as_deref().map_or("never", brief);
            format!("{} at {at}", id(&next.period_id))
        });
        let active: Vec<String> = book.active.iter().map(|active| id(&active.period_id)).collect();
        let history: Vec<String> = book
            .history
            .iter()
            .map(|entry| match entry.result {
                Some(result) => format!("{} {result:?}", id(&entry.period_id)),
                None => format!("{} {}", id(&entry.period_id), entry.outcome),
            })
            .collect();
        let history = history.join(", ");
        format!("status: last {last}; next {next}; active [{}]; {history}", active.join(" "))
    }

    /// The Jobs that are there.
    pub fn jobs(&self) -> Vec<&FalseJob> {
        self.cluster.jobs.values().collect()
    }
}

fn word(did: &Did) -> &'static str {
    match did {
        Did::Rest => "rest",
        Did::Look => "look",
        Did::Wrote(_) => "write",
        Did::Began(_) => "begin",
        Did::Created(_) | Did::Sent(..) => "create",
        Did::Refused(..) => "refusal",
        Did::Ended(..) => "end",
        Did::Unended => "no end",
        Did::Tidied(..) => "tidy",
        Did::Conflict => "conflict",
    }
}

/// A time without what goes without saying.
fn brief(text: &str) -> &str {
    text.strip_prefix(DAY).unwrap_or(text).trim_end_matches('Z')
}

fn brief_period(period: PeriodId) -> String {
    let text = period.to_string();
    let text = brief(&text);
    text.strip_suffix(":00").unwrap_or(text).to_string()
}

pub fn period(text: &str) -> PeriodId {
    let text = if text.contains('T') { text.to_string() } else { format!("{DAY}{text}:00Z") };
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The name of the Job of a period.
fn name(text: &str) -> String {
    job_name("a", period(text))
}

fn list(names: &[String]) -> String {
    let period = |name: &String| {
        let minutes: i64 = name.strip_prefix("a-").expect("ours").parse().expect("minutes");
        let nominal = UtcSecond::new(minutes * 60).expect("a second");
        brief_period(PeriodId::new(nominal).expect("a period"))
    };
    names.iter().map(period).collect::<Vec<_>>().join(" ")
}
