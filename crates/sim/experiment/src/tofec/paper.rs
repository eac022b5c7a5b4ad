//! What the paper sets.

use ripstop_delay::Preset;
use ripstop_policy::Limits;

/// L of the paper.
pub(super) const LANES: u16 = 16;

/// The two fits to what the paper tells of S3.
pub(super) const PRESETS: [Preset; 2] = [Preset::S3In2013A, Preset::S3In2013B];

/// Rates of the sweeps: close together from 40 to 50, where the best fixed code goes from (2,1) to
/// (1,1), in mean before it does in the 99th percentile; the last is 95 % of the capacity.
pub(super) const RATES_PER_S: [f64; 17] = [
    2.0, 5.0, 10.0, 14.0, 17.0, 20.0, 25.0, 30.0, 35.0, 40.0, 42.0, 45.0, 48.0, 50.0, 60.0, 70.0,
    74.0,
];

/// What no adaptive policy exceeds in the paper.
pub(super) const fn limits() -> Limits {
    Limits { k_max: 6, r_max: 2.0 }
}
