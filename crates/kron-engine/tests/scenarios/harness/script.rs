//! A scenario as text.
//!
//! ```text
//! 09:59:30                                  where the clock starts
//! job a * * * * * @win(after,0s)            an entry; fields may follow
//! proc a ready=2s run=forever ignores=term  how its processes behave
//! set grace=5s max-running=1 commit=2s      settings
//! show commits
//! start                                     what happens, in order…
//! 10:00:30 stop wait                        …and when
//! +1h end
//! ```

use super::process::Behaviour;
use super::{Point, World, duration, instant};
use kron_engine::event::{Event, Shutdown};

/// Plays a script; the log must be as expected.
#[track_caller]
pub fn check(script: &str, expected: &str) {
    let world = play(script);
    let expected: Vec<String> = tidy(expected);
    let log: Vec<String> = world.log.iter().flat_map(|line| tidy(line)).collect();
    assert!(log == expected, "expected\n  {}\ngot\n  {}", expected.join("\n  "), log.join("\n  "));
    assert_eq!(world.idle_ticks, 0, "the engine wakes up for nothing\n  {}", log.join("\n  "));
}

fn tidy(text: &str) -> Vec<String> {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().map(words).filter(|line| !line.is_empty()).collect()
}

pub fn play(script: &str) -> World {
    let mut lines = tidy(script).into_iter();
    let mut world = World::new(instant(&lines.next().expect("where the clock starts")));
    for line in lines {
        act(&mut world, &line);
    }
    world
}

/// Does one line of a script.
pub fn act(world: &mut World, line: &str) {
    let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
    if let Some(by) = first.strip_prefix('+') {
        world.run_for(duration(by));
        return act(world, rest);
    }
    if first.starts_with(|c: char| c.is_ascii_digit()) {
        world.until(instant(first));
        return act(world, rest);
    }
    let (word, more) = rest.split_once(' ').unwrap_or((rest, ""));
    match first {
        "job" => {
            let command = if more.contains("command=") { "" } else { " command=/bin/true" };
            world.entries.insert(word.into(), format!("{more} name={word}{command}"));
        }
        "drop" => drop(world.entries.remove(word)),
        "proc" => drop(world.behaviours.insert(word.into(), Behaviour::parse(more))),
        "set" => rest.split(' ').for_each(|word| set(world, word)),
        "show" => world.shows_commits = true,
        "start" => world.start(),
        "reload" => world.reload(),
        "crash" => world.crash(),
        "crash-at" => world.crash_at = Some(point(word)),
        "clock" => world.set_clock(clock(world, word)),
        "stall" => world.stall(duration(word)),
        "quiet-stall" => world.stall_quietly(duration(word)),
        "stop" => world.send(Event::Shutdown(match word {
            "wait" => Shutdown::Wait,
            "terminate" => Shutdown::Terminate,
            "detach" => Shutdown::Detach,
            _ => panic!("{line}"),
        })),
        "reset" => {
            let key = world.key(word);
            let identity = world.engine().entry(key).expect("a job").job.identity().clone();
            world.store.resets.push(identity);
            world.send(Event::Reset(key));
        }
        "vanish" | "quarantine" => {
            let known = world.store.files.keys().find(|known| known.as_str().ends_with(word));
            let known = known.expect("a state file").clone();
            if first == "vanish" {
                world.store.files.remove(&known);
            } else {
                world.store.quarantined.push(known);
            }
        }
        "say" => world.say(format!("-- {rest}")),
        "state" => state(world, word),
        "end" => {}
        _ => panic!("unknown: {line}"),
    }
}

/// What is durable of a job, in short.
fn state(world: &mut World, name: &str) {
    let file = world.store.files.iter().find(|(known, _)| known.as_str().ends_with(name));
    let text = file.map_or("none".to_string(), |(identity, kept)| {
        let last = kept.last.as_ref().map_or("-".into(), |last| {
            let period = last.period.to_string();
            let code = last.exit_code.map_or(String::new(), |code| format!("={code}"));
            format!("{} {}{code}", super::brief_period(&period), last.outcome)
        });
        let history: Vec<String> = world.store.history[identity]
            .iter()
            .map(|entry| {
                let code = entry.exit_code.map_or("?".into(), |code| code.to_string());
                let reason = match entry.reason.as_deref() {
                    Some(why) if why.len() < 12 => format!(":{why}"),
                    _ => String::new(),
                };
                format!("{} {code}{reason}", entry.outcome)
            })
            .collect();
        format!("last {last}, active {}, history {}", kept.active.len(), history.join("; "))
    });
    world.say(format!("state {name}: {text}"));
}

fn clock(world: &World, word: &str) -> kron_core::UtcInstant {
    match word.split_at(1) {
        ("+", by) => world.wall.saturating_add(duration(by)),
        ("-", by) => world.wall.saturating_sub(duration(by)),
        _ => instant(word),
    }
}

fn point(word: &str) -> Point {
    match word {
        "prepare" => Point::Prepare,
        "ready" => Point::Ready,
        "commit" => Point::Commit,
        "durable" => Point::Durable,
        "release" => Point::Release,
        "exit" => Point::Exit,
        _ => panic!("unknown: {word}"),
    }
}

fn set(world: &mut World, word: &str) {
    match word.split_once('=').expect("a setting") {
        ("grace", text) => world.settings.grace = duration(text),
        ("max-running", text) => world.settings.max_running = text.parse().ok(),
        ("shutdown-limit", text) => world.settings.shutdown_limit = Some(duration(text)),
        ("preparing", text) => world.settings.preparing = text.parse().expect("a number"),
        ("commit", text) => world.commit_takes = duration(text),
        _ => panic!("unknown: {word}"),
    }
}
