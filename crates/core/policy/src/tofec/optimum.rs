//! The best code for a price of lane time: TOFEC, section IV, Theorem 1.
//!
//! Letters of the paper: Δ̄, Δ̃, Ψ̄, Ψ̃ are the delay model's `shift`, `shift_per_mb`, `mean` and
//! `mean_per_mb` in milliseconds; J the request's megabytes; r = n/k; u the lane time asked for
//! each millisecond, in lanes; L the lanes; g the gain of delay per lane time at the optimum, which
//! equals the price that one more lane's worth of load costs in queueing.

use ripstop_delay::ShiftedExponential;

/// A request's size and the delays of its tasks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Demand {
    /// Delays of tasks.
    pub model: ShiftedExponential,
    /// J: megabytes (10^6 bytes) of the request.
    pub megabytes: f64,
}

impl Demand {
    /// Mean time from the start of n tasks to the end of the k-th, milliseconds; n and k may be
    /// anything with n > k: equation (2), in its continuous form.
    pub fn service_ms(&self, n: f64, k: f64) -> f64 {
        let (m, chunk, r) = (self.model, self.megabytes / k, n / k);
        let (shift, mean) =
            (m.shift_ms + m.shift_ms_per_mb * chunk, m.mean_ms + m.mean_ms_per_mb * chunk);
        shift + mean * libm::log(r / (r - 1.0))
    }

    /// The same for whole numbers, exactly: equation (2).
    pub fn service_exact_ms(&self, n: usize, k: usize) -> f64 {
        let (m, chunk) = (self.model, self.megabytes / k as f64);
        let (shift, mean) =
            (m.shift_ms + m.shift_ms_per_mb * chunk, m.mean_ms + m.mean_ms_per_mb * chunk);
        let harmonic: f64 = (n - k + 1..=n).map(|i| 1.0 / i as f64).sum();
        shift + mean * harmonic
    }

    /// U: mean lane time of a request, milliseconds: equation (3).
    pub fn lane_time_ms(&self, n: f64, k: f64) -> f64 {
        let (m, j) = (self.model, self.megabytes);
        m.shift_ms * n + m.shift_ms_per_mb * j * n / k + m.mean_ms * k + m.mean_ms_per_mb * j
    }

    /// Variance of the service delay, square milliseconds, n and k as in
    /// [`Self::service_exact_ms`].
    pub fn service_variance(&self, n: usize, k: usize) -> f64 {
        let m = self.model;
        let mean = m.mean_ms + m.mean_ms_per_mb * self.megabytes / k as f64;
        let squares: f64 = (n - k + 1..=n).map(|i| 1.0 / (i * i) as f64).sum();
        mean * mean * squares
    }

    /// Γ(r), the right side of equation (8).
    fn gamma(&self, r: f64) -> f64 {
        let m = self.model;
        let spread = m.shift_ms_per_mb + m.mean_ms_per_mb * libm::log(r / (r - 1.0));
        r * (r - 1.0) * spread / (m.shift_ms * r + m.mean_ms)
    }

    /// k(r): the best k beside a redundancy r > 1; infinite where no k is large enough.
    pub fn best_k(&self, r: f64) -> f64 {
        let (m, gamma) = (self.model, self.gamma(r));
        // Ψ̄ x² + (Ψ̃ − ΓΔ̄) x − ΓΔ̃ = 0 for x = k/J, solved without cancellation.
        let (square, linear, constant) =
            (m.mean_ms, m.mean_ms_per_mb - gamma * m.shift_ms, gamma * m.shift_ms_per_mb);
        let root = libm::sqrt(linear * linear + 4.0 * square * constant);
        let x = if linear > 0.0 {
            2.0 * constant / (linear + root)
        } else {
            (root - linear) / (2.0 * square)
        };
        x * self.megabytes
    }

    /// g: delay gained per lane time by more redundancy, at the code (r·k, k).
    pub fn gain(&self, r: f64, k: f64) -> f64 {
        let (m, j) = (self.model, self.megabytes);
        let mean = m.mean_ms + m.mean_ms_per_mb * j / k;
        mean / (r * (r - 1.0) * (m.shift_ms * k + m.shift_ms_per_mb * j))
    }
}

/// Least and largest r that is looked at.
const R: (f64, f64) = (1.0 + 1e-9, 1e6);

/// The r in 1..∞ at which an increasing function reaches a value, to the last digits; the nearest
/// end of the range if it does not.
pub(crate) fn solve(value: f64, increasing: impl Fn(f64) -> f64) -> f64 {
    // In terms of ln(r − 1): r may be very near 1.
    let (mut low, mut high) = (libm::log(R.0 - 1.0), libm::log(R.1 - 1.0));
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if increasing(1.0 + libm::exp(middle)) < value {
            low = middle;
        } else {
            high = middle;
        }
        if high - low < 1e-13 {
            break;
        }
    }
    1.0 + libm::exp(f64::midpoint(low, high))
}
