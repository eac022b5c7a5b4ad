//! The natural logarithm of what dice throw, several times as fast as a general one.
//!
//! x = 2^e · m with m in [1, 2); the table has 1/c and ln c for the middle c of each of 128 parts
//! of that interval, and ln m = ln c + ln(1 + r) with r = m/c − 1, at most 1/256 either way.

use core::f64::consts::LN_2;

const PARTS: usize = 128;

/// 1/c and ln c.
static TABLE: [(f64, f64); PARTS] = {
    let mut table = [(0.0, 0.0); PARTS];
    let mut part = 0;
    while part < PARTS {
        let inverse = 1.0 / (1.0 + (part as f64 + 0.5) / PARTS as f64);
        table[part] = (inverse, ln_by_series(1.0 / inverse));
        part += 1;
    }
    table
};

/// ln x for x between 1 and 2: twice the series of the inverse hyperbolic tangent.
const fn ln_by_series(x: f64) -> f64 {
    let z = (x - 1.0) / (x + 1.0);
    let mut sum = 0.0;
    let mut exponent = 41;
    while exponent > 0 {
        sum = sum * z * z + 1.0 / exponent as f64;
        exponent -= 2;
    }
    2.0 * z * sum
}

/// ln x for a normal number x above 0, within 4 · 10^-16 of x's exponent plus one.
#[inline]
pub(crate) fn ln_unit(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = (bits >> 52) as i32 - 1023;
    let (inverse, ln_middle) = TABLE[(bits >> 45) as usize % PARTS];
    let mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    let r = mantissa * inverse - 1.0;
    let series = r - r * r * (0.5 - r * (1.0 / 3.0 - r * (0.25 - r * (0.2 - r / 6.0))));
    f64::from(exponent) * LN_2 + ln_middle + series
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dice;

    #[test]
    fn it_is_the_logarithm() {
        let mut dice = Dice::new(1);
        for power in 0..53 {
            for _ in 0..2000 {
                let x = dice.uniform() * libm::ldexp(1.0, -power);
                let error = (ln_unit(x) - libm::log(x)).abs();
                assert!(error < 4e-16 * (1.0 - libm::log(x)), "ln {x} is {error} off");
            }
        }
        assert!(ln_unit(1.0).abs() < 4e-16);
    }
}
