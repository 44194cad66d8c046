//! Whether the loop goes round (`/healthz`).

use kron_operator::pulse::{Pulse, STUCK};
use std::time::{Duration, Instant};

#[test]
fn a_loop_that_is_stuck() {
    let (pulse, begin) = (Pulse::default(), Instant::now());
    // One that waits for the lease has no loop yet.
    assert_eq!(pulse.health(begin + 10 * STUCK), Ok(()));
    for (age, is_healthy) in [
        (Duration::ZERO, true),
        (Duration::from_secs(61), true),
        (STUCK, true),
        (STUCK + Duration::from_secs(1), false),
    ] {
        pulse.turn(true, begin);
        let health = pulse.health(begin + age);
        assert_eq!(health.is_ok(), is_healthy, "{age:?}: {health:?}");
        // It goes on.
        pulse.turn(false, begin + age);
        assert_eq!((pulse.health(begin + age), pulse.is_synced()), (Ok(()), false));
    }
}
