//! Scenarios of the engine: when jobs start, and what becomes of their periods.

mod harness;

use harness::script::check;

/// SCH-01, SCH-02, SCH-04: at the chosen time, once, and then the next.
#[test]
fn on_time() {
    check(
        "09:59:30
        job a * * * * * @win(after,0s)
        show commits
        start
        10:01:30 state a
        10:01:30 stop wait",
        "09:59:30 commit seen:a
        10:00:00 prepare a 10:00
        10:00:00 commit a[10:00 executed, active 1, history +0]
        10:00:00 release a 10:00
        10:00:01 commit a[10:00 executed=0, active 0, history +1]
        10:00:01 exited a 10:00 0
        10:01:00 prepare a 10:01
        10:01:00 commit a[10:01 executed, active 1, history +0]
        10:01:00 release a 10:01
        10:01:01 commit a[10:01 executed=0, active 0, history +1]
        10:01:01 exited a 10:01 0
        10:01:30 state a: last 10:01 executed=0, active 0, history executed 0; executed 0
        10:01:30 stopping wait 0
        10:01:30 stop",
    );
}
