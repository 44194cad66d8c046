//! The false clocks: true time, the wall's, and the uptime of a boot, which stands
//! still while the machine sleeps.

use core::time::Duration;
use kron_core::UtcInstant;
use kron_engine::event::Moment;

/// What a machine shows at its boot.
const UPTIME_AT_BOOT: Duration = Duration::from_secs(20);

/// All clocks of a machine.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    now: Duration,
    /// Until when the machine sleeps, and how long it has slept so far.
    asleep_until: Duration,
    slept: Duration,
    /// When it booted, in the time it was not asleep.
    booted: Duration,
    /// What the wall showed, and when that was.
    set: (UtcInstant, Duration),
}

impl Clock {
    /// Clocks at the beginning of a world.
    pub const fn new(wall: UtcInstant) -> Self {
        let (now, asleep_until) = (Duration::ZERO, Duration::ZERO);
        let (slept, booted) = (Duration::ZERO, Duration::ZERO);
        Self { now, asleep_until, slept, booted, set: (wall, now) }
    }

    /// True time.
    pub const fn now(&self) -> Duration {
        self.now
    }

    /// What the wall shows.
    pub fn wall(&self) -> UtcInstant {
        self.set.0.saturating_add(self.now.checked_sub(self.set.1).unwrap())
    }

    /// What the engine is told.
    pub fn moment(&self) -> Moment {
        Moment { now: self.wall(), uptime: self.uptime() }
    }

    fn uptime(&self) -> Duration {
        self.awake().checked_sub(self.booted).unwrap() + UPTIME_AT_BOOT
    }

    /// True time that the machine was not asleep.
    pub fn awake(&self) -> Duration {
        self.now.checked_sub(self.slept).unwrap()
    }

    /// The machine sleeps until then.
    pub fn sleep(&mut self, until: Duration) {
        self.asleep_until = self.asleep_until.max(until);
    }

    /// Until when it does.
    pub const fn asleep_until(&self) -> Duration {
        self.asleep_until
    }

    /// Time passes.
    pub fn pass_to(&mut self, now: Duration) {
        let now = self.now.max(now);
        self.slept += self.asleep_until.min(now).saturating_sub(self.now);
        self.now = now;
    }

    /// The clock on the wall is set.
    pub fn set(&mut self, by_millis: i64) {
        let by = Duration::from_millis(by_millis.unsigned_abs());
        let wall = self.wall();
        let wall = if by_millis < 0 { wall.saturating_sub(by) } else { wall.saturating_add(by) };
        self.set = (wall, self.now);
    }

    /// The machine boots.
    pub fn boot(&mut self) {
        self.booted = self.awake();
    }

    /// When the wall will show this, in true time; now if it is past that.
    pub fn when(&self, wall: UtcInstant) -> Duration {
        self.now.saturating_add(wall.since(self.wall()).unwrap_or_default())
    }

    /// How long the uptime has been over this.
    pub fn since_up(&self, uptime: Option<Duration>) -> Duration {
        uptime.map_or(Duration::ZERO, |at| self.uptime().saturating_sub(at))
    }

    /// When the uptime will be this, in true time.
    pub fn when_up(&self, uptime: Duration) -> Duration {
        self.now.max(self.asleep_until).saturating_add(uptime.saturating_sub(self.uptime()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setting_the_wall_leaves_the_others_alone() {
        let mut clock = Clock::new("2026-03-02T10:00:00Z".parse().unwrap());
        clock.pass_to(Duration::from_secs(60));
        clock.set(-3_600_000);
        assert_eq!(clock.wall().to_string(), "2026-03-02T09:01:00Z");
        assert_eq!(clock.moment().uptime, UPTIME_AT_BOOT + Duration::from_secs(60));
        let ten = "2026-03-02T10:00:00Z".parse().unwrap();
        assert_eq!(clock.when(ten), Duration::from_secs(60 + 59 * 60));
        clock.boot();
        assert_eq!(clock.moment().uptime, UPTIME_AT_BOOT);
        assert_eq!(clock.when_up(UPTIME_AT_BOOT), Duration::from_secs(60));
    }

    /// As `CLOCK_MONOTONIC` does, by which the daemon measures what passes.
    #[test]
    fn the_uptime_stands_still_in_sleep() {
        let seconds = Duration::from_secs;
        let mut clock = Clock::new("2026-03-02T10:00:00Z".parse().unwrap());
        clock.pass_to(seconds(60));
        clock.sleep(seconds(3660));
        assert_eq!(clock.when_up(UPTIME_AT_BOOT + seconds(90)), seconds(3690));
        clock.pass_to(seconds(3670));
        assert_eq!(clock.wall().to_string(), "2026-03-02T11:01:10Z");
        assert_eq!(clock.moment().uptime, UPTIME_AT_BOOT + seconds(70));
        assert_eq!(clock.when_up(UPTIME_AT_BOOT + seconds(90)), seconds(3690));
        clock.boot();
        assert_eq!((clock.moment().uptime, clock.awake()), (UPTIME_AT_BOOT, seconds(70)));
    }
}
