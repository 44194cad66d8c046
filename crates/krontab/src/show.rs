//! `krontab show`: one job in full.

use crate::cli::{Format, Show};
use crate::{clock, jobs, list};
use anstyle::{AnsiColor, Style};
use kron_core::time::duration::Pretty;
use kron_core::{Job, UtcSecond, Zones};
use kron_tab::{Command, Entry, Lines};
use kron_term::failure::Failure;
use kron_term::{moment, terminal};
use serde_json::{Map, Value, json};

pub fn show(arguments: &Show) -> Result<u8, Failure> {
    let mut zones = Zones::bundled();
    let files = jobs::load(&arguments.source, &mut zones)?;
    let (file, entry) = jobs::find(&files, &arguments.job)?;
    let line = Lines::new(&file.bytes).position(entry.span().start).line;
    match arguments.format {
        Format::Json => {
            let mut value = entry_json(entry);
            value["file"] = file.shown.clone().into();
            value["line"] = line.into();
            terminal::print_json(&value);
        }
        Format::Text => terminal::print(&page(entry, &file.shown, line, clock::now())),
    }
    Ok(0)
}

/// An entry for programs: what it means, defaults included.
pub fn entry_json(entry: &Entry) -> Value {
    let job = &entry.job;
    let mut params = Map::new();
    job.distribution().for_each_param(|key, value| {
        params.insert(key.into(), value.to_string().into());
    });
    let (shell, command) = match &entry.command {
        Command::Direct(words) => (false, json!(words)),
        Command::Shell(text) => (true, json!(text)),
    };
    let env: Map<String, Value> = entry
        .env
        .iter()
        .map(|variable| (variable.name.to_string(), variable.value.as_ref().into()))
        .collect();
    let policy = job.policy();
    let limits = &entry.limits;
    json!({
        "job": entry.name(),
        "identity": job.identity().as_str(),
        "description": entry.description,
        "schedule": job.schedule().to_string(),
        "cron": job.cron().to_string(),
        "timezone": job.zone().name(),
        "window": { "mode": job.window().mode.as_str(), "duration": Pretty(job.window().duration).to_string() },
        "distribution": { "name": job.distribution().name(), "params": params },
        "seedStrategy": job.seed_strategy().as_str(),
        "salt": job.salt(),
        "constraints": {
            "only": clauses(job, true),
            "avoid": clauses(job, false),
        },
        "policy": {
            "concurrency": policy.concurrency.as_str(),
            "deadline": Pretty(policy.deadline).to_string(),
            "suspend": policy.suspend,
        },
        "shell": shell,
        "command": command,
        "user": entry.user,
        "group": entry.group,
        "cwd": entry.cwd,
        "env": env,
        "umask": entry.umask.map(|mask| format!("{mask:03o}")),
        "timeout": entry.timeout.map(|length| Pretty(length).to_string()),
        "stdout": entry.stdout.to_string(),
        "stderr": entry.stderr.to_string(),
        "limits": {
            "nofile": limits.nofile,
            "nproc": limits.nproc,
            "memory": limits.memory,
            "cpu": limits.cpu,
            "fsize": limits.fsize,
            "core": limits.core,
        },
    })
}

fn clauses(job: &Job, only: bool) -> Option<String> {
    let clauses = if only { job.constraints().only() } else { job.constraints().avoid() };
    (!clauses.is_empty()).then(|| clauses.to_string())
}

fn page(entry: &Entry, file: &str, line: usize, now: UtcSecond) -> String {
    let bold = Style::new().bold();
    let cyan = Style::new().fg_color(Some(AnsiColor::Cyan.into()));
    let mut out = format!("{bold}{}{bold:#}  {file}:{line}\n\n", entry.name());
    let mut put = |key: &str, value: String| {
        out += &format!("{cyan}{key:<13}{cyan:#} {value}\n");
    };
    let job = &entry.job;
    put("identity", job.identity().to_string());
    if let Some(description) = &entry.description {
        put("description", description.to_string());
    }
    put("schedule", job.schedule().to_string());
    put("zone", job.zone().to_string());
    put("window", format!("{} {}", job.window().mode.as_str(), Pretty(job.window().duration)));
    let mut distribution = job.distribution().name().to_string();
    job.distribution().for_each_param(|key, value| distribution += &format!(" {key}={value}"));
    put("distribution", distribution);
    put("seed", format!("{} salt={:?}", job.seed_strategy().as_str(), job.salt()));
    let policy = job.policy();
    put(
        "policy",
        format!(
            "concurrency={} deadline={} suspend={}",
            policy.concurrency.as_str(),
            Pretty(policy.deadline),
            policy.suspend
        ),
    );
    for (key, text) in [("only", clauses(job, true)), ("avoid", clauses(job, false))] {
        if let Some(text) = text {
            put(key, text);
        }
    }
    match &entry.command {
        Command::Direct(words) => {
            for (i, word) in words.iter().enumerate() {
                put(if i == 0 { "command" } else { "" }, word.clone());
            }
        }
        Command::Shell(text) => put("command", format!("/bin/sh -c, with: {text}")),
    }
    for (key, value) in entry.line().fields {
        use kron_tab::Key;
        if !matches!(key, Key::Name | Key::Description | Key::Command | Key::Shell) {
            put(key.as_str(), value);
        }
    }
    let next = list::next_run(job, now)
        .map_or_else(|| "not within a year".into(), |at| moment::in_full(job.zone(), at, now));
    put("next", if policy.suspend { format!("suspended (would be {next})") } else { next });
    out + &format!("\n{}\n", entry.line())
}
