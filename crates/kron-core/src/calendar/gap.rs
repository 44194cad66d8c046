//! How far apart the nominal times of a schedule are, at the least.

use super::Cron;
use super::days::DAY_MINUTES;
use super::open::YEARS;
use core::time::Duration;

impl Cron {
    /// The shortest time from one nominal time to the next, on a calendar
    /// without DST changes.
    ///
    /// ```
    /// use core::time::Duration;
    /// use kron_core::syntax::Spec;
    /// let gap = |text| Spec::parse(text).unwrap().cron().value.least_gap();
    /// assert_eq!(gap("*/20 * * * *"), Duration::from_secs(20 * 60));
    /// assert_eq!(gap("0 1,23 * * *"), Duration::from_secs(2 * 3600));
    /// assert_eq!(gap("0 0 1 * *"), Duration::from_secs(28 * 86_400));
    /// ```
    #[must_use]
    pub fn least_gap(&self) -> Duration {
        let within = self.least_gap_in_day();
        let across = |days: i64| {
            days * DAY_MINUTES + i64::from(self.first_time()) - i64::from(self.last_time())
        };
        let minutes = match within {
            // Days cannot be nearer than one; usually that settles it.
            Some(within) if within <= across(1) => within,
            _ => {
                let across = across(self.least_day_gap());
                within.map_or(across, |within| within.min(across))
            }
        };
        Duration::from_secs(minutes as u64 * 60)
    }

    /// The shortest time between two matches of one day; nothing if there is
    /// only one.
    fn least_gap_in_day(&self) -> Option<i64> {
        let minutes = least_distance(self.minutes);
        let hours = least_distance(self.hours.into()).map(|hours| {
            hours * 60 + i64::from(self.minutes.trailing_zeros()) - i64::from(self.minutes.ilog2())
        });
        minutes.into_iter().chain(hours).min()
    }

    fn least_day_gap(&self) -> i64 {
        if self.every_day_matches() {
            return 1;
        }
        let days = self.matching_days(YEARS);
        // Fewer than two in 28 years: further apart than any window is long.
        days.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(28 * 366)
    }
}

/// The least distance between two values of a set.
fn least_distance(set: u64) -> Option<i64> {
    (1..64).find(|&distance| set & (set >> distance) != 0)
}

#[cfg(test)]
mod tests {
    use crate::syntax::Spec;

    /// Against nominal times listed one by one over the years.
    #[test]
    fn least_gap_is_the_least_of_all_gaps() {
        let zone = crate::Zone::utc();
        for text in [
            "* * * * *",
            "*/7 * * * *",
            "5,55 * * * *",
            "0 0 * * *",
            "10 22,1 * * *",
            "59 0,23 * * *",
            "0 0 * * MON",
            "0 0 31 * *",
            "0 0 1,31 * *",
            "0 0 13 * FRI",
            "0 6 29 2 *",
            "0,30 6 1 JAN,DEC *",
            "0 0 */2 * *",
            "0 0 * * */3",
        ] {
            let cron = Spec::parse(text).unwrap().cron().value;
            let mut at = "2000-12-31T00:00:00Z".parse().unwrap();
            let mut least = i64::MAX;
            for i in 0..20_000 {
                let next = cron.next_nominal(&zone, at).unwrap();
                if i > 0 {
                    least = least.min(next.unix_seconds() - at.unix_seconds());
                }
                if next > "2028-12-31T23:59:00Z".parse().unwrap() {
                    break;
                }
                at = next;
            }
            assert_eq!(cron.least_gap().as_secs() as i64, least, "{text}");
        }
    }
}
