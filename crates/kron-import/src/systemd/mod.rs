//! systemd timers, with the services that they start.
//!
//! `unit` reads a file, `calendar` turns `OnCalendar=` into cron fields, `exec`
//! and `service` say what is run. Here timer and service are brought together,
//! one draft for each calendar. Drop-ins are files of their own to systemd and
//! are not read here.

mod calendar;
mod exec;
mod service;
mod span;
mod specifier;
mod unit;

use crate::draft::{Draft, least_gap_seconds, not_carried_over};
use crate::message::{duration, quoted};
use crate::model::{File, Host, Remark};
use kron_tab::words;
use span::Span;
use specifier::Specifiers;
use unit::{Unit, is_false};

const TIMER: &str = "Timer";
/// Times that count from an event, not from the calendar.
const MONOTONIC: [&str; 5] =
    ["OnActiveSec", "OnBootSec", "OnStartupSec", "OnUnitActiveSec", "OnUnitInactiveSec"];
/// More calendars than this in one timer are a mistake.
const CALENDARS: usize = 64;
/// Settings of a timer that are read, or that a calendar does not depend on.
const READ: [&str; 9] = [
    "OnCalendar",
    "Unit",
    "Persistent",
    "RandomizedDelaySec",
    "RandomizedOffsetSec",
    "FixedRandomDelay",
    "AccuracySec",
    "RemainAfterElapse",
    "DeferReactivation",
];
const WITHOUT_EFFECT: [&str; 5] =
    ["Description", "Documentation", "After", "Before", "DefaultDependencies"];

/// Reads units.
pub(crate) fn read(files: &[File<'_>], host: &Host<'_>) -> (Vec<Draft>, Vec<Remark>) {
    let units: Vec<Unit> = files.iter().map(|file| Unit::parse(file.name, file.text)).collect();
    let mut drafts = Vec::new();
    let mut started = Vec::new();
    for (file, timer) in units.iter().enumerate().filter(|(_, unit)| is(unit, ".timer")) {
        let name = service_name(timer);
        drafts.extend(timer_drafts(file, timer, &name, &units, host));
        started.push(name);
    }
    let mut remarks = Vec::new();
    for (file, unit) in units.iter().enumerate() {
        let text = if is(unit, ".timer") || started.iter().any(|name| serves(unit, name)) {
            continue;
        } else if is(unit, ".service") {
            format!("no timer given here starts {}", quoted(&unit.name))
        } else {
            format!("{} is neither a timer nor a service; skipped", quoted(&unit.name))
        };
        remarks.push(Remark { file, line: None, text });
    }
    (drafts, remarks)
}

fn is(unit: &Unit, suffix: &str) -> bool {
    unit.name.ends_with(suffix)
}

fn service_name(timer: &Unit) -> String {
    timer.last(TIMER, "Unit").map_or_else(|| format!("{}.service", timer.stem()), String::from)
}

/// Whether a file is the text of a service: by name, or as its template.
fn serves(unit: &Unit, name: &str) -> bool {
    let template =
        || Some(format!("{}@.service", name.strip_suffix(".service")?.split_once('@')?.0));
    unit.name == name || template().is_some_and(|template| unit.name == template)
}

fn timer_drafts(
    file: usize,
    timer: &Unit,
    service_name: &str,
    units: &[Unit],
    host: &Host<'_>,
) -> Vec<Draft> {
    let base = timer.stem().to_string();
    let calendars = timer.all(TIMER, "OnCalendar");
    if calendars.is_empty() || calendars.len() > CALENDARS {
        let line = timer.settings.iter().find(|s| s.section == TIMER).map_or(1, |s| s.line);
        let mut draft = Draft { file, line, source: timer.name.clone(), base, ..Draft::default() };
        if calendars.is_empty() {
            draft.reasons = without_calendar(timer);
        } else {
            draft.refuse(format!("the timer has more than {CALENDARS} calendars"));
        }
        return vec![draft];
    }
    let exact = units.iter().find(|unit| unit.name == service_name);
    let service = exact.or_else(|| units.iter().find(|unit| serves(unit, service_name)));
    let several = calendars.len() > 1;
    let mut drafts = Vec::new();
    for setting in calendars {
        let mut draft = Draft {
            file,
            line: setting.line,
            source: format!("{} OnCalendar={}", timer.name, setting.value),
            base: base.clone(),
            ..Draft::default()
        };
        if base.ends_with('@') {
            draft.refuse("this is a template; import its instances, such as `name@instance.timer`");
        }
        match service {
            Some(service) => service::read(service, service_name, host, &mut draft),
            None => start_by_systemd(service_name, host, &mut draft),
        }
        when(timer, &setting.value, host, &mut draft);
        if several {
            draft.hints = vec![setting.value.clone()];
        }
        drafts.push(draft);
    }
    drafts
}

/// A service that we cannot see is left to systemd.
fn start_by_systemd(service: &str, host: &Host<'_>, draft: &mut Draft) {
    let words: &[&str] = if host.system {
        &["systemctl", "start", service]
    } else {
        &["systemctl", "--user", "start", service]
    };
    draft.field("command", words::join(words));
    draft.change(format!(
        "the text of {} was not given, so systemd is asked to start it",
        quoted(service)
    ));
}

/// Why a timer without `OnCalendar=` is refused.
fn without_calendar(timer: &Unit) -> Vec<String> {
    let mut reasons = Vec::new();
    for key in MONOTONIC {
        for setting in timer.all(TIMER, key) {
            let hint = match span::parse(&setting.value) {
                Some(Span::Seconds(3600)) if key.starts_with("OnUnit") => {
                    "; `0 * * * * @win(after,59m)` runs once in every hour"
                }
                Some(Span::Seconds(86_400)) if key.starts_with("OnUnit") => {
                    "; `0 0 * * * @win(after,23h)` runs once a day"
                }
                _ => "",
            };
            reasons.push(format!(
                "{} counts from an event, and Kron only knows the calendar{hint}",
                quoted(&format!("{key}={}", setting.value))
            ));
        }
    }
    if reasons.is_empty() {
        reasons.push("the timer has no `OnCalendar`".into());
    }
    reasons
}

fn when(timer: &Unit, text: &str, host: &Host<'_>, draft: &mut Draft) {
    let user = if host.system { "root" } else { host.user };
    let home = (host.home)(user);
    let specifiers = Specifiers { unit: &timer.name, system: host.system, user, home };
    let calendar = match specifiers.expand(text).and_then(|text| calendar::convert(&text)) {
        Ok(calendar) => calendar,
        Err(reason) => return draft.refuse(reason),
    };
    draft.in_zone(calendar.zone.as_deref().unwrap_or(host.zone));
    draft.cron = calendar.cron;
    draft.changes.extend(calendar.changes);
    for key in ["RandomizedDelaySec", "RandomizedOffsetSec"] {
        let Some(value) = timer.last(TIMER, key) else { continue };
        match span::parse(value) {
            Some(Span::Seconds(0)) => {}
            Some(Span::Seconds(seconds)) => {
                draft.window_seconds = draft.window_seconds.saturating_add(seconds);
                let note = if key.ends_with("OffsetSec") || timer.is_true(TIMER, "FixedRandomDelay")
                {
                    "drawn for each period, not once for the machine"
                } else {
                    "drawn from the definition, so that it is known in advance"
                };
                draft.change(format!("`{key}={}` becomes a window, {note}", duration(seconds)));
            }
            _ => draft.refuse(format!("`{key}` is not a length of time: {}", quoted(value))),
        }
    }
    if let Some(weekdays) = calendar.only_weekdays {
        if calendar.latest_second.saturating_add(draft.window_seconds) >= 86_400 {
            draft.refuse(
                "weekday and day of the month are both given, and the window passes midnight",
            );
        }
        draft.only_weekdays = Some(weekdays);
    }
    if timer.is_true(TIMER, "Persistent") && draft.reasons.is_empty() {
        draft.deadline_seconds = least_gap_seconds(&draft.cron);
        draft.change(format!(
            "`Persistent=true` catches up at any time later; here a start may be {} late",
            duration(draft.deadline_seconds)
        ));
    }
    rest(timer, draft);
}

/// Settings of the timer that have no equal.
fn rest(timer: &Unit, draft: &mut Draft) {
    let lost: Vec<String> = timer
        .settings
        .iter()
        .filter(|setting| match setting.section.as_str() {
            TIMER => !READ.contains(&setting.key.as_str()) && !is_false(&setting.value),
            "Unit" => !WITHOUT_EFFECT.contains(&setting.key.as_str()),
            _ => false,
        })
        .filter(|setting| !setting.value.is_empty() && !setting.key.starts_with("X-"))
        .map(|setting| format!("{}={}", setting.key, setting.value))
        .collect();
    draft.changes.extend(not_carried_over(&lost));
}
