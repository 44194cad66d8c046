//! Many processes. Alone in its program, since it counts descriptors.

#[path = "exec/support.rs"]
#[allow(dead_code)]
mod support;

use krond::exec::{Gate, Order, Prepared, Report, Target, process};
use std::collections::HashMap;
use std::fs;
use std::task::Poll;
use support::{Host, shell, wait_for};

fn open() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Children are those of the thread that made them.
fn children() -> Vec<String> {
    let threads = fs::read_dir("/proc/self/task").unwrap();
    let files = threads.map(|thread| thread.unwrap().path().join("children"));
    let text: String = files.filter_map(|file| fs::read_to_string(file).ok()).collect();
    text.split_whitespace().map(String::from).collect()
}

/// FAULTS 23, EXE-28: a thousand children that wait for the same moment; every
/// code is seen, no zombie and no descriptor is left.
#[test]
fn a_thousand_at_once() {
    const COUNT: u64 = 1_000;
    nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE, 8192, 8192).ok();
    let host = Host::new();
    let before = open();
    for run in 0..COUNT {
        let plan = shell(&format!("exit {}", run % 100));
        let file = Target::File(host.path("file"));
        let order = Order::new(run, "a", move || Ok(plan));
        host.launcher.prepare(order.output(file, Target::Inherit));
    }
    let mut waiting: HashMap<u64, Prepared> = HashMap::new();
    let mut gates: HashMap<u64, Gate> = HashMap::new();
    let mut ready = 0;
    wait_for("all of them", || {
        for spawned in host.launcher.results() {
            waiting.insert(spawned.run, spawned.result.unwrap());
        }
        ready += waiting
            .values_mut()
            .map(|prepared| prepared.gate.report())
            .filter(|report| *report != Poll::Pending)
            .inspect(|report| assert_eq!(*report, Poll::Ready(Report::Ready)))
            .count() as u64;
        (ready == COUNT).then_some(())
    });
    let mut running = HashMap::new();
    for (run, prepared) in waiting {
        running.insert(run, prepared.pidfd);
        gates.insert(run, prepared.gate);
    }
    for (_, gate) in gates.drain() {
        gate.release().unwrap();
    }
    wait_for("all ends", || {
        running.retain(|run, pidfd| match process::reap(&*pidfd).unwrap() {
            None => true,
            Some(exit) => {
                assert_eq!((exit.code, exit.signal), ((run % 100) as i32, None));
                false
            }
        });
        running.is_empty().then_some(())
    });
    // One nursery waits for more.
    wait_for("all but one nursery to end", || (children().len() <= 1).then_some(()));
    assert!(open() <= before + 1, "{before} → {}", open());
    drop(host);
    wait_for("the last one to end", || children().is_empty().then_some(()));
}
