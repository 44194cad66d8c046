//! The normal distribution, truncated to the window.

use libm::{erfc, log, sqrt};

/// A bell over the interval [0, n) of seconds. Its middle lies inside, so the
/// interval never holds a vanishing share of the whole curve.
#[derive(Clone, Copy, Debug)]
pub(super) struct Truncated {
    middle: f64,
    sigma: f64,
    /// Share of the whole curve below 0…
    start: f64,
    /// …and inside.
    inside: f64,
}

impl Truncated {
    pub fn new(middle: f64, sigma: f64, n: f64) -> Self {
        let start = cdf(-middle / sigma);
        Self { middle, sigma, start, inside: cdf((n - middle) / sigma) - start }
    }

    /// The position of a draw; rounding may put it a hair outside.
    pub fn position(&self, u: f64) -> f64 {
        self.middle + self.sigma * inverse_cdf(self.start + u * self.inside)
    }

    /// The probability of a position before `second`.
    pub fn below(&self, second: f64) -> f64 {
        (cdf((second - self.middle) / self.sigma) - self.start) / self.inside
    }
}

/// Share of the standard normal curve below `z`.
fn cdf(z: f64) -> f64 {
    0.5 * erfc(-z * core::f64::consts::FRAC_1_SQRT_2)
}

/// The point below which a share `p` of the standard normal curve lies:
/// Wichura's algorithm AS 241, routine PPND16, good to about 1 part in 10^16.
fn inverse_cdf(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * polynomial(&A, r) / polynomial(&B, r);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    if tail <= 0.0 {
        return if q < 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    let r = sqrt(-log(tail));
    let z = if r <= 5.0 {
        polynomial(&C, r - 1.6) / polynomial(&D, r - 1.6)
    } else {
        polynomial(&E, r - 5.0) / polynomial(&F, r - 5.0)
    };
    if q < 0.0 { -z } else { z }
}

/// Horner's scheme; coefficients from the constant term up.
fn polynomial(coefficients: &[f64; 8], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

use coefficients::{A, B, C, D, E, F};

/// The published coefficients, digit for digit.
#[allow(clippy::excessive_precision)]
mod coefficients {
    pub(super) const A: [f64; 8] = [
        3.387_132_872_796_366_608,
        133.141_667_891_784_377_45,
        1_971.590_950_306_551_442_7,
        13_731.693_765_509_461_125,
        45_921.953_931_549_871_457,
        67_265.770_927_008_700_853,
        33_430.575_583_588_128_105,
        2_509.080_928_730_122_672_7,
    ];
    pub(super) const B: [f64; 8] = [
        1.0,
        42.313_330_701_600_911_252,
        687.187_007_492_057_908_3,
        5_394.196_021_424_751_107_7,
        21_213.794_301_586_595_867,
        39_307.895_800_092_710_61,
        28_729.085_735_721_942_674,
        5_226.495_278_852_854_561,
    ];
    pub(super) const C: [f64; 8] = [
        1.423_437_110_749_683_577_34,
        4.630_337_846_156_545_295_9,
        5.769_497_221_460_691_405_5,
        3.647_848_324_763_204_605_04,
        1.270_458_252_452_368_382_58,
        2.417_807_251_774_506_117_7e-1,
        2.272_384_498_926_918_458_33e-2,
        7.745_450_142_783_414_076_4e-4,
    ];
    pub(super) const D: [f64; 8] = [
        1.0,
        2.053_191_626_637_758_821_87,
        1.676_384_830_183_803_849_4,
        6.897_673_349_851_000_045_5e-1,
        1.481_039_764_274_800_745_9e-1,
        1.519_866_656_361_645_719_66e-2,
        5.475_938_084_995_344_946e-4,
        1.050_750_071_644_416_843_24e-9,
    ];
    pub(super) const E: [f64; 8] = [
        6.657_904_643_501_103_777_2,
        5.463_784_911_164_114_369_9,
        1.784_826_539_917_291_335_8,
        2.965_605_718_285_048_912_3e-1,
        2.653_218_952_657_612_309_3e-2,
        1.242_660_947_388_078_438_6e-3,
        2.711_555_568_743_487_578_15e-5,
        2.010_334_399_292_288_132_65e-7,
    ];
    pub(super) const F: [f64; 8] = [
        1.0,
        5.998_322_065_558_879_376_9e-1,
        1.369_298_809_227_358_053_1e-1,
        1.487_536_129_085_061_485_25e-2,
        7.868_691_311_456_132_591e-4,
        1.846_318_317_510_054_681_8e-5,
        1.421_511_758_316_445_888_7e-7,
        2.044_263_103_389_939_785_64e-15,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_the_standard_normal() {
        // Computed with 50-digit arithmetic, to 16 digits.
        for (p, expected) in [
            (0.5, 0.0),
            (0.025, -1.959_963_984_540_054),
            (0.975, 1.959_963_984_540_054),
            (0.000_1, -3.719_016_485_455_681),
            (1e-10, -6.361_340_902_404_056),
            (1e-20, -9.262_340_089_798_408),
            (1e-300, -37.047_096_299_361_2),
        ] {
            let got = inverse_cdf(p);
            assert!((got - expected).abs() <= 4e-15 * expected.abs(), "{p}: {got} vs {expected}");
        }
        assert_eq!(inverse_cdf(0.0), f64::NEG_INFINITY);
        assert_eq!(inverse_cdf(1.0), f64::INFINITY);
    }

    #[test]
    fn inverse_undoes_the_distribution_function() {
        for i in 1..10_000_u32 {
            let p = f64::from(i) / 10_000.0;
            let back = cdf(inverse_cdf(p));
            assert!((back - p).abs() <= 1e-14 * p, "{p}: {back}");
        }
    }
}
