//! The hazard of the normal distribution, h(x) = φ(x)/Φ(−x), and its inverse.

use core::f64::consts::{FRAC_1_SQRT_2, PI};
use libm::{erfc, exp, log, sqrt};

/// Beyond, the hazard is that of its expansion, whose next term is below one part in 10^6.
const FAR: f64 = 20.0;
/// The inverse is not sought below: there is less than one chance in 10^9.
const LOWEST: f64 = -6.0;
/// Steps of Newton's method at most, and when it has ended.
const STEPS_MAX: u32 = 12;
const ENOUGH: f64 = 1e-9;

/// h(x): about x + 1/x for large x, next to nothing for small.
pub(super) fn hazard(x: f64) -> f64 {
    if x > FAR {
        return x + 1.0 / x - 2.0 / (x * x * x);
    }
    let density = exp(-0.5 * x * x) / sqrt(2.0 * PI);
    density / (0.5 * erfc(x * FRAC_1_SQRT_2))
}

/// Where the hazard is y; y above 0.
pub(super) fn hazard_inverse(y: f64) -> f64 {
    if y <= hazard(LOWEST) {
        return LOWEST;
    }
    if y > FAR {
        return y - 1.0 / y;
    }
    let mut x = if y > 1.0 { y - 1.0 / (1.0 + y) } else { -sqrt((-2.0 * log(y)).max(0.0)) };
    for _ in 0..STEPS_MAX {
        // (ln h)' = h − x.
        let at = hazard(x);
        let step = (log(at) - log(y)) / (at - x);
        x -= step;
        if step.abs() < ENOUGH {
            break;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_leads_back() {
        for step in -59..199 {
            let x = f64::from(step) / 10.0;
            let back = hazard_inverse(hazard(x));
            assert!((back - x).abs() < 1e-4, "{x}: {back}");
        }
        assert!((hazard(0.0) - 0.797_884_560_802_865).abs() < 1e-12);
    }

    #[test]
    fn the_hazard_has_no_step_where_its_form_changes() {
        assert!((hazard(FAR) / hazard(FAR + 1e-9) - 1.0).abs() < 1e-5);
    }
}
