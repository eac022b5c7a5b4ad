use core::fmt;
use libm::sqrt;

/// How long a node serves one chunk: the first three moments of its service time.
///
/// Mean in seconds, second moment in s², third in s³: the paper's 1/μ, Γ² and Γ̂³.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Service {
    mean: f64,
    second: f64,
    third: f64,
    lanes: f64,
}

/// Why three numbers are not the moments of a service time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ServiceError {
    /// A moment is not a positive finite number.
    NotPositive {
        /// 1, 2 or 3.
        order: u8,
        /// What was given.
        value: f64,
    },
    /// The second moment is less than the square of the mean.
    SecondTooSmall {
        /// Seconds.
        mean: f64,
        /// Seconds squared.
        second: f64,
    },
    /// No positive random time has these: E X · E X³ is never less than (E X²)².
    ThirdTooSmall {
        /// Seconds cubed.
        third: f64,
        /// Seconds cubed.
        least: f64,
    },
    /// There are no samples.
    NoSamples,
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPositive { order, value } => {
                write!(f, "the moment of order {order} must be positive and finite, is {value}")
            }
            Self::SecondTooSmall { mean, second } => write!(
                f,
                "the second moment {second} s² is less than the square of the mean {mean} s"
            ),
            Self::ThirdTooSmall { third, least } => {
                write!(f, "the third moment {third} s³ is less than (E X²)²/E X = {least} s³")
            }
            Self::NoSamples => write!(f, "no samples"),
        }
    }
}

impl core::error::Error for ServiceError {}

/// Measured moments are rounded: this much below the least possible is taken as the least possible.
const ROUNDING: f64 = 1e-3;

impl Service {
    /// From E X, E X² and E X³. Moments up to 0.1 % too small for each other, as rounded
    /// measurements are, are raised to what is possible.
    pub fn new(mean: f64, second: f64, third: f64) -> Result<Self, ServiceError> {
        for (order, value) in [(1, mean), (2, second), (3, third)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(ServiceError::NotPositive { order, value });
            }
        }
        if second < mean * mean * (1.0 - ROUNDING) {
            return Err(ServiceError::SecondTooSmall { mean, second });
        }
        let second = second.max(mean * mean);
        let least = second * second / mean;
        if third < least * (1.0 - ROUNDING) {
            return Err(ServiceError::ThirdTooSmall { third, least });
        }
        Ok(Self { mean, second, third: third.max(least), lanes: 1.0 })
    }

    /// From the mean, the standard deviation (seconds) and E X³ (s³). Without a third moment, that
    /// of the Gamma distribution with this mean and deviation.
    pub fn from_mean_sd(mean: f64, sd: f64, third: Option<f64>) -> Result<Self, ServiceError> {
        let square = mean * mean;
        let variation = sd * sd / square;
        let gamma = mean * square * (1.0 + variation) * (1.0 + 2.0 * variation);
        Self::new(mean, square + sd * sd, third.unwrap_or(gamma))
    }

    /// The moments of measured service times, seconds.
    pub fn from_samples(seconds: &[f64]) -> Result<Self, ServiceError> {
        if seconds.is_empty() {
            return Err(ServiceError::NoSamples);
        }
        let count = seconds.len() as f64;
        let mean_of =
            |power: fn(f64) -> f64| seconds.iter().map(|&x| power(x)).sum::<f64>() / count;
        Self::new(mean_of(|x| x), mean_of(|x| x * x), mean_of(|x| x * x * x))
    }

    /// Of chunks `factor` times as large, where `fixed` seconds of each service do not depend on
    /// the size: the moments of `fixed + factor (X − fixed)`. None if that could be negative on
    /// average.
    pub fn resized(&self, fixed: f64, factor: f64) -> Option<Self> {
        let shift = fixed * (1.0 - factor);
        let (m1, m2, m3) = (
            factor * self.mean,
            factor * factor * self.second,
            factor * factor * factor * self.third,
        );
        Self::new(
            m1 + shift,
            m2 + 2.0 * shift * m1 + shift * shift,
            m3 + 3.0 * shift * m2 + 3.0 * shift * shift * m1 + shift * shift * shift,
        )
        .ok()
        .map(|service| Self { lanes: self.lanes, ..service })
    }

    /// The same at a node that serves this many chunks at once, at least 1.
    ///
    /// Its queue is then taken to wait as one does before a single server that is this many times
    /// as fast. For exponential service that is above the truth: of the waits of c servers and one,
    /// the quotient is the probability that all c are busy over ρ. For others it is an estimate,
    /// which simulation finds above the truth too; with one lane it is exact.
    #[must_use]
    pub fn with_lanes(self, lanes: u16) -> Self {
        Self { lanes: f64::from(lanes.max(1)), ..self }
    }

    /// How many chunks the node serves at once.
    pub fn lanes(&self) -> f64 {
        self.lanes
    }

    /// E X, seconds: 1/μ.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// E X², s².
    pub fn second(&self) -> f64 {
        self.second
    }

    /// E X³, s³.
    pub fn third(&self) -> f64 {
        self.third
    }

    /// σ², s².
    pub fn variance(&self) -> f64 {
        (self.second - self.mean * self.mean).max(0.0)
    }

    /// σ, seconds.
    pub fn sd(&self) -> f64 {
        sqrt(self.variance())
    }

    /// How many chunks per second the node can serve: μ on each lane.
    pub fn rate(&self) -> f64 {
        self.lanes / self.mean
    }

    /// The moments of serving `chunks` chunks one after the other, as one.
    pub(crate) fn repeated(&self, chunks: u32) -> Self {
        let (x, mean, variance) = (f64::from(chunks), self.mean, self.variance());
        let central = self.third - 3.0 * mean * self.second + 2.0 * mean * mean * mean;
        let sum = x * mean;
        Self {
            mean: sum,
            second: x * variance + sum * sum,
            third: x * central + 3.0 * sum * x * variance + sum * sum * sum,
            lanes: self.lanes,
        }
    }

    /// The moments of a mixture of services of one node; the weights need not sum to 1, but to more
    /// than 0.
    pub(crate) fn mixture(parts: impl Iterator<Item = (f64, Self)>) -> Option<Self> {
        let (mut weight, mut m, mut lanes) = (0.0, [0.0; 3], 1.0);
        for (share, part) in parts {
            lanes = part.lanes;
            weight += share;
            m[0] += share * part.mean;
            m[1] += share * part.second;
            m[2] += share * part.third;
        }
        (weight > 0.0).then(|| Self {
            mean: m[0] / weight,
            second: m[1] / weight,
            third: m[2] / weight,
            lanes,
        })
    }
}
