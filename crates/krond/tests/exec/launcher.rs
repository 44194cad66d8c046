//! Orders that wait, and those that are not wanted any more.

use crate::support::{Host, end, hear, order, plan, shell, wait_for};
use krond::exec::{Order, Report, Spawned};
use std::collections::BTreeMap;
use std::sync::mpsc;

/// What becomes of so many orders, by their numbers.
fn results(host: &Host, count: usize) -> BTreeMap<u64, Spawned> {
    let mut all = BTreeMap::new();
    wait_for("results", || {
        all.extend(host.launcher.results().into_iter().map(|spawned| (spawned.run, spawned)));
        (all.len() >= count).then_some(())
    });
    all
}

/// FAULTS 29: a user database that does not answer holds up those who need it, and nobody
/// else, however many they are.
#[test]
fn a_user_database_that_does_not_answer() {
    let host = Host::new();
    let (answer, answers) = mpsc::channel::<()>();
    let answers = std::sync::Arc::new(std::sync::Mutex::new(answers));
    for run in 100..140 {
        let answers = std::sync::Arc::clone(&answers);
        let slow = move || {
            let _ = answers.lock().unwrap().recv();
            Ok(plan(&["/bin/true"]))
        };
        host.launcher.prepare(Order::new(run, "slow", slow).asking(true));
    }
    assert_eq!(host.output(shell("echo on time")), "on time\n");
    // Those that nobody wants any more before their turn has come are never made.
    for run in 120..140 {
        host.launcher.withdraw(run);
    }
    drop(answer);
    let made = results(&host, 20);
    assert_eq!(made.keys().copied().collect::<Vec<_>>(), (100..120).collect::<Vec<u64>>());
    for spawned in made.into_values() {
        let prepared = spawned.result.unwrap();
        drop(prepared.gate);
        end(&prepared.pidfd);
    }
    // And the next who asks is served.
    let prepared = host.prepare(order(plan(&["/bin/true"])).asking(true));
    let mut gate = prepared.gate;
    assert_eq!(hear(&mut gate), Report::Ready);
    gate.release().unwrap();
    assert_eq!(end(&prepared.pidfd).code, 0);
    assert!(host.launcher.results().is_empty());
}
