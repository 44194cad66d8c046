//! The false clocks: true time, the wall's, and the uptime of a boot.

use core::time::Duration;
use kron_core::UtcInstant;
use kron_engine::event::Moment;

/// What a machine shows at its boot.
const UPTIME_AT_BOOT: Duration = Duration::from_secs(20);

/// All clocks of a machine.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    now: Duration,
    booted: Duration,
    /// What the wall showed, and when that was.
    set: (UtcInstant, Duration),
}

impl Clock {
    /// Clocks at the beginning of a world.
    pub const fn new(wall: UtcInstant) -> Self {
        Self { now: Duration::ZERO, booted: Duration::ZERO, set: (wall, Duration::ZERO) }
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
        Moment {
            now: self.wall(),
            uptime: self.now.checked_sub(self.booted).unwrap() + UPTIME_AT_BOOT,
        }
    }

    /// Time passes.
    pub fn pass_to(&mut self, now: Duration) {
        self.now = self.now.max(now);
    }

    /// The clock on the wall is set.
    pub fn set(&mut self, by_millis: i64) {
        let by = Duration::from_millis(by_millis.unsigned_abs());
        let wall = self.wall();
        let wall = if by_millis < 0 { wall.saturating_sub(by) } else { wall.saturating_add(by) };
        self.set = (wall, self.now);
    }

    /// The machine boots.
    pub const fn boot(&mut self) {
        self.booted = self.now;
    }

    /// When the wall will show this, in true time; now if it is past that.
    pub fn when(&self, wall: UtcInstant) -> Duration {
        self.now.saturating_add(wall.since(self.wall()).unwrap_or_default())
    }

    /// When the uptime will be this, in true time.
    pub const fn when_up(&self, uptime: Duration) -> Duration {
        self.booted.saturating_add(uptime.saturating_sub(UPTIME_AT_BOOT))
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
}
