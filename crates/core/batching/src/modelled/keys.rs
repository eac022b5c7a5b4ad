//! How many members leave of those that come, as if all keys were equally likely.
//!
//! Of n writes to K keys K(1 − e^(−n/K)) are the last of theirs.

use libm::{exp, expm1};

/// Where fewer than this share collapse, keys are told apart too badly to count them.
const COLLAPSED_MIN: f64 = 1e-3;
/// Halvings of the interval in which the number of writes a key is sought.
const HALVINGS: u32 = 40;

/// How many keys there seem to be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Keys(f64);

impl Keys {
    /// By how many left of those that came.
    pub(super) fn seen(came: f64, left: f64) -> Self {
        let share = left / came;
        if share.is_nan() || share > 1.0 - COLLAPSED_MIN {
            return Self(f64::INFINITY);
        }
        // n/K: writes a key. (1 − e^−y)/y falls from 1 to 0.
        let (mut low, mut high) = (-20.0, 20.0);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            let writes = exp(middle);
            if -expm1(-writes) / writes > share {
                low = middle;
            } else {
                high = middle;
            }
        }
        Self(came / exp(low))
    }

    /// How many leave of as many that come.
    pub(super) fn left(self, came: f64) -> f64 {
        if self.0.is_finite() { -self.0 * expm1(-came / self.0) } else { came }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_are_counted_by_what_collapses() {
        for keys in [50.0, 100.0, 10_000.0] {
            let of = |came: f64| -keys * expm1(-came / keys);
            let seen = Keys::seen(300.0, of(300.0));
            assert!((seen.left(900.0) / of(900.0) - 1.0).abs() < 1e-6, "{keys}: {seen:?}");
        }
        assert!((Keys::seen(10.0, 10.0).left(1e6) - 1e6).abs() < 1e-6);
    }
}
