//! kill -9 at each point between preparation and the end, and then again from
//! what was durable (DECISIONS 6; STA-19, STA-26, STA-27, STA-28, SCH-16).

use crate::harness::script::{act, check, play};
use crate::harness::{Point, instant};

/// The points by name: what was not durable happens anew, what was does not.
#[test]
fn each_point() {
    let anew = "10:00:30 prepare a 10:00
        10:00:30 release a 10:00
        10:00:33 exited a 10:00 0
        10:00:50 state a: last 10:00 executed=0, active 0, history executed 0";
    let unknown = "10:00:30 exited a 10:00 ?
        10:00:50 state a: last 10:00 executed, active 0, history executed ?";
    for (armed, point, before, after) in [
        ("09:59:40", "prepare", "10:00:00 prepare a 10:00\n 10:00:00 crash", anew),
        ("09:59:40", "ready", "10:00:00 prepare a 10:00\n 10:00:00 crash", anew),
        ("09:59:40", "commit", "10:00:00 prepare a 10:00\n 10:00:00 crash", anew),
        // Recorded as executed, and so it is, though the gate never opened.
        ("09:59:40", "durable", "10:00:00 prepare a 10:00\n 10:00:00 crash", unknown),
        (
            "09:59:40",
            "release",
            "10:00:00 prepare a 10:00\n 10:00:00 release a 10:00\n 10:00:00 crash",
            unknown,
        ),
        (
            "10:00:02",
            "exit",
            "10:00:00 prepare a 10:00\n 10:00:00 release a 10:00\n 10:00:03 crash",
            unknown,
        ),
        (
            "10:00:02",
            "commit",
            "10:00:00 prepare a 10:00\n 10:00:00 release a 10:00\n 10:00:03 crash",
            unknown,
        ),
        // The end is durable; only its line is lost.
        (
            "10:00:02",
            "durable",
            "10:00:00 prepare a 10:00\n 10:00:00 release a 10:00\n 10:00:03 crash",
            "10:00:50 state a: last 10:00 executed=0, active 0, history executed 0",
        ),
    ] {
        check(
            &format!(
                "09:59:30
                job a 0 10 * * * @win(after,0s) @policy(deadline=1h)
                proc a run=3s
                start
                {armed} crash-at {point}
                10:00:30 start
                10:00:40 crash
                10:00:45 start
                10:00:50 state a"
            ),
            &format!("{before}\n{after}"),
        );
    }
}

/// STA-26: a survivor is adopted: `forbid` sees it, `replace` ends it, and its end
/// is heard of, if not how.
#[test]
fn survivors() {
    check(
        "09:59:30
        job f * * * * * @win(after,0s)
        job r * * * * * @win(after,0s) @policy(concurrency=replace)
        proc f run=90s
        proc r run=forever
        start
        10:00:10 crash
        10:00:20 start
        10:01:50 state f
        10:01:50 stop detach",
        "10:00:00 prepare f 10:00
        10:00:00 prepare r 10:00
        10:00:00 release f 10:00
        10:00:00 release r 10:00
        10:00:20 adopt f 10:00
        10:00:20 adopt r 10:00
        10:01:00 replacing r 10:00
        10:01:00 term r 10:00
        10:01:00 outcome f 10:01 skipped
        10:01:00 prepare r 10:01
        10:01:00 exited r 10:00 ? replaced
        10:01:00 release r 10:01
        10:01:30 exited f 10:00 ?
        10:01:50 state f: last 10:01 skipped, active 0, history skipped ?; executed ?
        10:01:50 stopping detach 1
        10:01:50 stop",
    );
}

/// A crash at every single step of a busy hour, whatever it is: at most one run of
/// each period, at most one outcome, and after the restart all goes on.
#[test]
fn every_step() {
    let script = "09:59:30
        job a * * * * * @win(after,0s) @policy(deadline=5m)
        job b */2 * * * * @win(around,3m) @policy(concurrency=replace,deadline=1m) timeout=70s
        job c * * * * * @win(after,2m) @policy(concurrency=allow)
        job d */3 * * * * @win(after,1m) @only(hours=3)
        proc a run=20s
        proc b run=forever rest=2s
        proc c run=100s code=1
        set commit=300ms";
    let whole = {
        let mut world = play(script);
        world.start();
        act(&mut world, "10:06:00 end");
        world.steps
    };
    assert!(whole > 150, "{whole}");
    for step in 1..=whole {
        let mut world = play(script);
        world.crash_at = Some(Point::Step(step));
        world.start();
        world.until(instant("10:06:00"));
        if !world.is_up() {
            world.start();
        }
        world.crash_at = Some(Point::Step(world.steps + 1 + step % 7));
        world.until(instant("10:08:00"));
        if !world.is_up() {
            world.start();
        }
        world.until(instant("10:12:00"));
        let runs = world.laws.released();
        let late = runs
            .iter()
            .filter(|(id, period)| id.ends_with(":a") && **period > *"2026-03-02T10:08:30Z");
        assert!(late.count() >= 3, "step {step}: {:#?}", world.log);
    }
}

/// Fault 39: the harness itself. A daemon that lets commands go before their start is
/// durable is caught by crashes at some steps, and by those only.
#[test]
fn a_daemon_that_records_too_late_is_caught() {
    let script = "09:59:30
        job a * * * * * @win(after,0s) @policy(deadline=5m,concurrency=allow)
        proc a run=20s
        set commit=300ms";
    let mut caught = Vec::new();
    for step in 1..40 {
        let mut world = play(script);
        world.records_late = true;
        world.crash_at = Some(Point::Step(step));
        let lives = std::panic::AssertUnwindSafe(|| {
            for minute in 0..4 {
                for second in ["05", "30"] {
                    if !world.is_up() {
                        world.start();
                    }
                    world.until(instant(&format!("10:{minute:02}:{second}")));
                }
            }
        });
        if let Err(panic) = std::panic::catch_unwind(lives) {
            let message = panic.downcast_ref::<String>().expect("a message");
            assert!(message.contains("runs twice"), "step {step}: {message}");
            caught.push(step);
        }
    }
    assert!((1..30).contains(&caught.len()), "{caught:?}");
}

/// SCH-15, STA-18: planted state counts.
#[test]
fn what_is_durable_counts() {
    check(
        "09:59:30
        job a 0 10 * * * @win(after,0s) @policy(deadline=1h)
        proc a run=forever
        start
        10:00:10 crash
        10:00:10 clock 09:59:00
        09:59:10 start
        10:00:30 state a",
        "10:00:00 prepare a 10:00
        10:00:00 release a 10:00
        09:59:10 adopt a 10:00
        09:59:10 WARN idle a until 10:00:00
        10:00:30 state a: last 10:00 executed, active 1, history",
    );
}
