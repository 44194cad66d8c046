//! Man pages and completions are committed, and are those of this program; the
//! page for operators leaves nothing out.
//!
//! `make generate` writes man pages and completions anew.

use clap::CommandFactory;
use kron_tidy::{files, generated, root};
use krond::cli::Cli;
use std::collections::BTreeSet;
use std::fs;

#[test]
fn man_pages() {
    assert!(generated::man_pages(Cli::command(), "8", env!("CARGO_PKG_VERSION")) > 9);
}

#[test]
fn completions() {
    generated::completions(Cli::command());
}

fn page() -> String {
    fs::read_to_string(root().join("docs/KROND.md")).unwrap()
}

/// The words in the sources that follow one of these beginnings, up to a quote.
fn words(beginnings: &[&str]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for source in ["crates/krond/src", "crates/kron-engine/src"] {
        for path in files(&root().join(source)).unwrap() {
            let text = fs::read_to_string(path).unwrap();
            let text = text.split("#[cfg(test)]").next().unwrap().replace('\n', " ");
            for beginning in beginnings {
                for (at, _) in text.match_indices(beginning) {
                    let rest = &text[at + beginning.len()..];
                    found.extend(rest.split('"').next().map(String::from));
                }
            }
        }
    }
    found
}

#[test]
fn every_option_of_the_daemon_is_explained() {
    let page = page();
    let command = Cli::command();
    let start = command.find_subcommand("start").unwrap();
    let options = start.get_arguments().filter(|option| !option.is_hide_set());
    let names: Vec<&str> = options.filter_map(clap::Arg::get_long).collect();
    assert!(names.len() > 12, "{names:?}");
    for name in names {
        assert!(page.contains(&format!("| `--{name}")), "--{name}");
    }
}

#[test]
fn every_event_is_explained() {
    let page = page();
    let mut events = BTreeSet::new();
    for level in ["Debug", "Info", "Warn", "Error"] {
        let made = format!("Line::new(Level::{level}, \"");
        let about = format!("about(Level::{level}, \"");
        events.extend(words(&[&made, &about]));
    }
    events.extend(words(&["Why::Timeout => \"", "Why::Replaced => \"", "Why::Shutdown => \""]));
    assert!(events.len() > 15, "{events:?}");
    for event in events {
        assert!(page.contains(&format!("| `{event}`")), "{event}");
    }
}

#[test]
fn every_metric_is_explained() {
    let page = page();
    let metrics: BTreeSet<String> = words(&["\"kron_"]).into_iter().collect();
    assert!(metrics.len() > 10, "{metrics:?}");
    for metric in metrics {
        assert!(page.contains(&format!("| `kron_{metric}`")), "kron_{metric}");
    }
}

#[test]
fn every_key_of_a_state_file_is_explained() {
    let page = page();
    let path = root().join("crates/krond/tests/states/v1-full.json");
    let state: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let mut keys: Vec<&String> = state.as_object().unwrap().keys().collect();
    keys.extend(state["History"][0].as_object().unwrap().keys());
    keys.extend(state["ActiveExecution"].as_object().into_iter().flatten().map(|(key, _)| key));
    for key in keys {
        assert!(page.contains(&format!("`{key}`")), "{key}");
    }
}
