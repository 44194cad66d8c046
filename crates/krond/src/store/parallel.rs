//! Doing many small things at once, each of which mostly waits for a disk.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Enough for a file and its path; they read and write, nothing deep.
const STACK_BYTES: usize = 512 << 10;

/// Does `work` for every number below `count`, on up to `threads` threads, and
/// collects what it gave, in no particular order.
///
/// The threads live as long as this call. That costs microseconds beside an
/// fsync, and an idle daemon keeps no stacks. Where no thread can be had (a
/// limit on processes that the jobs have used up) the caller does the work.
pub(super) fn collect<T: Send>(
    count: usize,
    threads: usize,
    work: impl Fn(usize) -> Option<T> + Sync,
) -> Vec<T> {
    /// Numbers taken at a time, so that threads do not fight for each.
    const MOST_AT_ONCE: usize = 64;
    let step = (count / (threads.max(1) * 8)).clamp(1, MOST_AT_ONCE);
    let next = AtomicUsize::new(0);
    let run = || {
        let mut done = Vec::new();
        loop {
            let from = next.fetch_add(step, Ordering::Relaxed);
            if from >= count {
                return done;
            }
            done.extend((from..count.min(from + step)).filter_map(&work));
        }
    };
    thread::scope(|scope| {
        let mut helpers = Vec::new();
        for _ in 1..threads.min(count) {
            let builder = thread::Builder::new().name("krond-disk".into()).stack_size(STACK_BYTES);
            match builder.spawn_scoped(scope, run) {
                Ok(helper) => helpers.push(helper),
                Err(_) => break,
            }
        }
        let mut all = run();
        for helper in helpers {
            match helper.join() {
                Ok(done) => all.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    })
}
