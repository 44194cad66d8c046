//! How long the store takes; run with
//! `cargo test -p krond --release --test store_speed -- --ignored --nocapture`.
//! The directory is in `TMPDIR`, so point that to the disk in question.

mod support;

use kron_engine::commit::Batch;
use kron_engine::state;
use std::time::Instant;
use support::{Place, batch, identity, now, seen};

#[test]
#[ignore = "measures, and asserts little"]
fn commits() {
    for files in [1000, 100, 10, 1] {
        for writers in [64, 32, 16, 8, 1] {
            let place = Place::new();
            let store = place.options(|options| options.writers = writers);
            let mut times = Vec::new();
            for number in 0..if files < 100 { 10 } else { 3 } {
                let batch = batch(files, number);
                let start = Instant::now();
                store.commit(&batch).unwrap();
                times.push(start.elapsed());
            }
            times.remove(0);
            times.sort();
            let (median, worst) = (times[times.len() / 2], times.last().unwrap());
            println!("{files:5} files {writers:2} writers: {median:?}, at most {worst:?}");
        }
    }
}

#[test]
#[ignore = "measures, and asserts little"]
fn a_hundred_thousand_jobs() {
    let place = Place::new();
    let store = place.open();
    let all: Vec<_> = (0..100_000).map(identity).collect();
    let new = Batch { jobs: vec![], roster: (0..100_000).map(seen).collect() };
    let time = |what: &str, work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        println!("{what}: {:?}", start.elapsed());
    };
    time("look up, nothing known", &mut || drop(store.load(&all, now()).unwrap()));
    time("commit as seen", &mut || drop(store.commit(&new).unwrap()));
    time("look up, all in the roster", &mut || drop(store.load(&all, now()).unwrap()));
    drop(store);
    let mut store = None;
    time("open", &mut || store = Some(place.open()));
    let store = store.unwrap();
    time("look up after opening", &mut || drop(store.load(&all, now()).unwrap()));
    // Put there without waiting for the disk.
    let entry = state::entry(&support::finished(0));
    for job in &all {
        let history = std::iter::repeat_n(entry.as_str(), 10).collect::<Vec<_>>();
        let bytes = state::encode(job, &support::kept(0), history.into_iter(), 10);
        std::fs::write(store.path_of(job), bytes).unwrap();
    }
    time("look up, all with files unknown to the roster", &mut || {
        drop(store.load(&all, now()).unwrap());
    });
    time("look up, all with files", &mut || drop(store.load(&all, now()).unwrap()));
}
