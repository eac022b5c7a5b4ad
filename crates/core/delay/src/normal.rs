//! The normal distribution and its inverse.
//!
//! The inverse is algorithm AS 241, PPND16 (Wichura: The percentage points of the normal
//! distribution, Applied Statistics 37, 1988): right to about one part in 10^16.

use crate::logarithm::ln_unit;
use core::f64::consts::FRAC_1_SQRT_2;

/// The share of a standard normal's throws that lie below `z`; strictly between 0 and 1.
pub(crate) fn normal_below(z: f64) -> f64 {
    (0.5 * libm::erfc(-z * FRAC_1_SQRT_2)).clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON / 2.0)
}

/// The exponential with mean 1 that has as many throws below it as a standard normal has below `z`.
pub(crate) fn exponential_at(z: f64) -> f64 {
    let exponential =
        if z < 0.0 { -libm::log1p(-normal_below(z)) } else { -ln_unit(normal_below(-z)) };
    exponential.max(f64::MIN_POSITIVE)
}

/// Where a standard normal has the share `p` of its throws below, 0 < p < 1.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        return q * ratio(0.180_625 - q * q, &CENTRE);
    }
    let r = libm::sqrt(-ln_unit(if q < 0.0 { p } else { 1.0 - p }));
    let z = if r <= 5.0 { ratio(r - 1.6, &FLANK) } else { ratio(r - 5.0, &TAIL) };
    if q < 0.0 { -z } else { z }
}

/// Two polynomials, highest power first: one over the other.
type Ratio = ([f64; 8], [f64; 8]);

#[inline]
fn ratio(x: f64, (over, under): &Ratio) -> f64 {
    let at = |polynomial: &[f64; 8]| polynomial.iter().fold(0.0, |sum, term| sum * x + term);
    at(over) / at(under)
}

const CENTRE: Ratio = (
    [
        2_509.080_928_730_122_7,
        33_430.575_583_588_13,
        67_265.770_927_008_7,
        45_921.953_931_549_87,
        13_731.693_765_509_46,
        1_971.590_950_306_551_3,
        133.141_667_891_784_38,
        3.387_132_872_796_366_5,
    ],
    [
        5_226.495_278_852_855,
        28_729.085_735_721_943,
        39_307.895_800_092_71,
        21_213.794_301_586_597,
        5_394.196_021_424_751,
        687.187_007_492_057_9,
        42.313_330_701_600_91,
        1.0,
    ],
);

const FLANK: Ratio = (
    [
        7.745_450_142_783_414e-4,
        2.272_384_498_926_918_4e-2,
        2.417_807_251_774_506e-1,
        1.270_458_252_452_368_4,
        3.647_848_324_763_204_5,
        5.769_497_221_460_691,
        4.630_337_846_156_546,
        1.423_437_110_749_683_5,
    ],
    [
        1.050_750_071_644_416_9e-9,
        5.475_938_084_995_345e-4,
        1.519_866_656_361_645_7e-2,
        1.481_039_764_274_800_8e-1,
        6.897_673_349_851e-1,
        1.676_384_830_183_803_8,
        2.053_191_626_637_759,
        1.0,
    ],
);

const TAIL: Ratio = (
    [
        2.010_334_399_292_288_1e-7,
        2.711_555_568_743_487_6e-5,
        1.242_660_947_388_078_4e-3,
        2.653_218_952_657_612_4e-2,
        2.965_605_718_285_048_7e-1,
        1.784_826_539_917_291_3,
        5.463_784_911_164_114,
        6.657_904_643_501_103,
    ],
    [
        2.044_263_103_389_939_8e-15,
        1.421_511_758_316_446e-7,
        1.846_318_317_510_054_8e-5,
        7.868_691_311_456_133e-4,
        1.487_536_129_085_061_5e-2,
        1.369_298_809_227_358e-1,
        5.998_322_065_558_88e-1,
        1.0,
    ],
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantile_inverts_the_distribution() {
        for power in 1..=52 {
            for part in 0..20 {
                let p = libm::ldexp(1.0 + f64::from(part) / 20.0, -power - 1);
                let z = normal_quantile(p);
                let back = normal_below(z);
                assert!((back / p - 1.0).abs() < 3e-14 * (1.0 + z * z), "{p}: {back}");
                if power < 40 {
                    assert!((normal_quantile(1.0 - p) + z).abs() < 1e-4, "odd at {p}");
                }
            }
        }
        assert!((normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-14);
    }

    #[test]
    fn exponentials_keep_the_normals_rank() {
        for step in -110..=110 {
            let z = f64::from(step) / 10.0;
            let (exponential, below) = (exponential_at(z), normal_below(z));
            assert!(exponential > 0.0 && exponential >= exponential_at(z - 0.1));
            assert!((-libm::expm1(-exponential) - below).abs() < 1e-15, "at {z}");
        }
    }
}
