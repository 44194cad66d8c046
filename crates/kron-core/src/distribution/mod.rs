//! Distributions: from a draw to a second of the window
//! (SPEC, Distribution Semantics).
//!
//! Each maps a draw *u* to a position *x* of the unit interval, and the
//! position to one of the window's *n* whole seconds, `floor(x·n)`. All are
//! monotone in *u* and bounded by construction. Transcendental functions come
//! from `libm`, whose results are the same on every machine.

mod normal;

use crate::identity::PeriodId;
use crate::time::duration::Pretty;
use crate::window::{Mode, Window, WindowSpec};
use core::fmt;
use core::time::Duration;

/// How chosen times spread over the window. Parameters are complete and in
/// range; [`Job`](crate::Job) fills in the defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Distribution {
    /// Every second alike.
    #[default]
    Uniform,
    /// A bell around an anchor, cut off at the window's ends.
    Normal {
        /// Where the bell's middle is.
        mu: Anchor,
        /// Its standard deviation.
        sigma: Duration,
    },
    /// Leaning to the start: `x = u^shape`.
    SkewEarly {
        /// 1 is uniform; larger leans more.
        shape: f64,
    },
    /// Leaning to the end: `x = 1 − (1 − u)^shape`.
    SkewLate {
        /// 1 is uniform; larger leans more.
        shape: f64,
    },
    /// Exponential decay from one end, cut off at the other.
    Exponential {
        /// Decay over the whole window.
        lambda: f64,
        /// The end at which it is densest.
        direction: Direction,
    },
}

/// Default `shape` of the skewed distributions.
pub const DEFAULT_SHAPE: f64 = 2.0;
/// Default `lambda` of `exponential`.
pub const DEFAULT_LAMBDA: f64 = 1.0;

/// The middle of a normal distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Anchor {
    /// The nominal time.
    Nominal,
    /// The window's first second.
    Start,
    /// The middle of the window.
    Mid,
    /// The window's last second.
    End,
}

impl Anchor {
    pub(crate) const ALL: [Self; 4] = [Self::Nominal, Self::Start, Self::Mid, Self::End];

    /// The word of the syntax.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nominal => "nominal",
            Self::Start => "start",
            Self::Mid => "mid",
            Self::End => "end",
        }
    }

    /// The anchor of a window whose schedule names none.
    #[must_use]
    pub const fn default_for(mode: Mode) -> Self {
        match mode {
            Mode::After => Self::Mid,
            Mode::Around => Self::Nominal,
        }
    }
}

/// The end of the window at which `exponential` is densest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The start.
    #[default]
    Early,
    /// The end.
    Late,
}

impl Direction {
    pub(crate) const ALL: [Self; 2] = [Self::Early, Self::Late];

    /// The word of the syntax.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Early => "early",
            Self::Late => "late",
        }
    }
}

impl Distribution {
    /// The five names of the syntax.
    pub const NAMES: [&str; 5] = ["uniform", "normal", "skewEarly", "skewLate", "exponential"];

    /// The standard deviation of a `normal` that names none: a sixth of the window.
    #[must_use]
    pub fn default_sigma(window: &WindowSpec) -> Duration {
        window.duration / 6
    }

    /// The word of the syntax.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Normal { .. } => "normal",
            Self::SkewEarly { .. } => "skewEarly",
            Self::SkewLate { .. } => "skewLate",
            Self::Exponential { .. } => "exponential",
        }
    }

    /// Calls `each` with every parameter, defaults included, in a fixed order.
    pub fn for_each_param(&self, mut each: impl FnMut(&'static str, &dyn fmt::Display)) {
        match self {
            Self::Uniform => {}
            Self::Normal { mu, sigma } => {
                each("mu", &mu.as_str());
                each("sigma", &Pretty(*sigma));
            }
            Self::SkewEarly { shape } | Self::SkewLate { shape } => each("shape", shape),
            Self::Exponential { lambda, direction } => {
                each("lambda", lambda);
                each("dir", &direction.as_str());
            }
        }
    }

    /// This distribution over one window.
    pub(crate) fn over(&self, window: &Window, period: PeriodId) -> Sampler {
        let seconds = window.seconds();
        let n = seconds as f64;
        let curve = match *self {
            Self::Uniform => Curve::Uniform,
            Self::SkewEarly { shape } => Curve::SkewEarly { shape },
            Self::SkewLate { shape } => Curve::SkewLate { shape },
            Self::Exponential { lambda, direction } => {
                Curve::Exponential { lambda, mass: libm::expm1(-lambda), direction }
            }
            Self::Normal { mu, sigma } => {
                let nominal = period.nominal().unix_seconds() - window.first().unix_seconds();
                let middle = match mu {
                    Anchor::Nominal => nominal as f64 + 0.5,
                    Anchor::Start => 0.5,
                    Anchor::Mid => n / 2.0,
                    Anchor::End => n - 0.5,
                };
                Curve::Normal(normal::Truncated::new(middle, sigma.as_secs_f64(), n))
            }
        };
        Sampler { curve, seconds, n }
    }
}

/// A distribution over the whole seconds of one window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampler {
    curve: Curve,
    seconds: u64,
    n: f64,
}

#[derive(Clone, Copy, Debug)]
enum Curve {
    Uniform,
    SkewEarly {
        shape: f64,
    },
    SkewLate {
        shape: f64,
    },
    /// `mass` is e^−λ − 1.
    Exponential {
        lambda: f64,
        mass: f64,
        direction: Direction,
    },
    Normal(normal::Truncated),
}

impl Sampler {
    /// The second that a draw falls on, counted from the window's first.
    #[inline]
    pub fn second(&self, u: f64) -> u64 {
        let position = match self.curve {
            Curve::Uniform => u * self.n,
            Curve::SkewEarly { shape } => libm::pow(u, shape) * self.n,
            Curve::SkewLate { shape } => (1.0 - libm::pow(1.0 - u, shape)) * self.n,
            Curve::Exponential { lambda, mass, direction } => {
                let x = -libm::log1p(u * mass) / lambda;
                match direction {
                    Direction::Early => x * self.n,
                    Direction::Late => (1.0 - x) * self.n,
                }
            }
            Curve::Normal(curve) => curve.position(u),
        };
        // The cast rounds down, and takes what is below zero to zero.
        (position as u64).min(self.seconds - 1)
    }

    /// The probability that a draw falls on one of the seconds `first..=last`.
    ///
    /// The value is that of the continuous curve. Rounding in `second` moves the
    /// border between two seconds by less than one draw in a hundred million, in
    /// year-long windows and for year-wide deviations, and by next to nothing
    /// in ordinary ones.
    pub fn probability(&self, first: u64, last: u64) -> f64 {
        if first == 0 && last + 1 >= self.seconds {
            return 1.0;
        }
        (self.below(last + 1) - self.below(first)).clamp(0.0, 1.0)
    }

    /// The probability of a second earlier than `second`.
    fn below(&self, second: u64) -> f64 {
        let t = second as f64 / self.n;
        if second == 0 {
            return 0.0;
        } else if second >= self.seconds {
            return 1.0;
        }
        match self.curve {
            Curve::Uniform => t,
            Curve::SkewEarly { shape } => libm::pow(t, 1.0 / shape),
            Curve::SkewLate { shape } => 1.0 - libm::pow(1.0 - t, 1.0 / shape),
            Curve::Exponential { lambda, mass, direction } => match direction {
                Direction::Early => libm::expm1(-lambda * t) / mass,
                Direction::Late => 1.0 - libm::expm1(-lambda * (1.0 - t)) / mass,
            },
            Curve::Normal(curve) => curve.below(second as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::UtcSecond;
    use alloc::vec::Vec;

    /// Distributions at and between the ends of their ranges.
    fn distributions() -> Vec<Distribution> {
        let mut all = Vec::from([Distribution::Uniform]);
        for x in [0.001, 0.1, 0.5, 1.0, 1.5, 2.0, 10.0, 1000.0] {
            all.push(Distribution::SkewEarly { shape: x });
            all.push(Distribution::SkewLate { shape: x });
            for direction in Direction::ALL {
                all.push(Distribution::Exponential { lambda: x, direction });
            }
        }
        for mu in Anchor::ALL {
            for millis in [1, 500, 1000, 20_000, 3_600_000, 366 * 86_400_000] {
                all.push(Distribution::Normal { mu, sigma: Duration::from_millis(millis) });
            }
        }
        all
    }

    fn samplers() -> impl Iterator<Item = (Distribution, u64, Sampler)> {
        let period = PeriodId::from_calendar(UtcSecond::new_unchecked(1_772_323_200));
        distributions().into_iter().flat_map(move |distribution| {
            [1_u64, 2, 59, 3600, 366 * 86_400].into_iter().flat_map(move |seconds| {
                Mode::ALL.into_iter().map(move |mode| {
                    let spec = WindowSpec { mode, duration: Duration::from_secs(seconds) };
                    let window = spec.of(period);
                    (distribution, window.seconds(), distribution.over(&window, period))
                })
            })
        })
    }

    const STEP: f64 = 1.0 / (1_u64 << 53) as f64;

    /// CORE-20: whatever the draw and the parameters, a second of the window.
    #[test]
    fn no_draw_leaves_the_window() {
        for (distribution, seconds, sampler) in samplers() {
            let mut last = 0;
            for u in [0.0, STEP, 1e-9, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0 - 1e-9, 1.0 - STEP] {
                let second = sampler.second(u);
                assert!(second < seconds, "{distribution:?} {seconds} {u}");
                let falls = matches!(
                    distribution,
                    Distribution::Exponential { direction: Direction::Late, .. }
                );
                assert!(falls || second >= last, "{distribution:?} is monotone");
                last = second;
            }
        }
    }

    /// The stated probability of a second is the share of the 2^53 draws that
    /// fall on it; the borders are found by bisection.
    #[test]
    fn probabilities_count_draws() {
        let draw = |i: u64| i as f64 * STEP;
        for (distribution, seconds, sampler) in samplers() {
            let falls = matches!(
                distribution,
                Distribution::Exponential { direction: Direction::Late, .. }
            );
            let below = |second: u64| {
                // The number of draws with an earlier second (or, if the map
                // falls, all but those with a later one).
                let (mut low, mut high) = (0_u64, 1 << 53);
                while low < high {
                    let middle = u64::midpoint(low, high);
                    let is_below = sampler.second(draw(middle)) < second;
                    if is_below == falls { high = middle } else { low = middle + 1 }
                }
                if falls { (1 << 53) - low } else { low }
            };
            for second in [0, 1, seconds / 3, seconds / 2, seconds - 1, seconds] {
                let counted = below(second) as f64 * STEP;
                let stated = sampler.below(second);
                let bell = matches!(distribution, Distribution::Normal { .. });
                let tolerance = if bell || seconds > 10_000 { 1e-8 } else { 1e-12 };
                assert!(
                    (counted - stated).abs() < tolerance,
                    "{distribution:?} {second}/{seconds}: {counted} vs {stated}"
                );
            }
            assert_eq!(sampler.probability(0, seconds - 1), 1.0);
        }
    }
}
