use libm::{exp, fabs, lgamma, log, log1p, sqrt};

/// A mean and how far it may be off.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// The mean of the samples.
    pub mean: f64,
    /// Half the width of its 95 % confidence interval: Student's t times the standard error.
    /// Infinite for one sample.
    pub half_width: f64,
    /// How many samples.
    pub count: usize,
}

impl Estimate {
    /// From independent samples (one a seed, say); none if there are none.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let (mean, count) = (mean(samples)?, samples.len());
        let half_width = match deviation(samples) {
            None => f64::INFINITY,
            Some(deviation) => {
                t_quantile(0.975, (count - 1) as f64) * deviation / sqrt(count as f64)
            }
        };
        Some(Self { mean, half_width, count })
    }

    /// Lower end of the interval.
    pub fn low(&self) -> f64 {
        self.mean - self.half_width
    }

    /// Upper end of the interval.
    pub fn high(&self) -> f64 {
        self.mean + self.half_width
    }
}

/// The arithmetic mean; none of nothing.
pub fn mean(samples: &[f64]) -> Option<f64> {
    let sum: f64 = samples.iter().sum();
    (!samples.is_empty()).then(|| sum / samples.len() as f64)
}

/// The standard deviation of what the samples are drawn from (n − 1 in the denominator); none of
/// fewer than two.
pub fn deviation(samples: &[f64]) -> Option<f64> {
    let mean = mean(samples).filter(|_| samples.len() > 1)?;
    let squares: f64 = samples.iter().map(|sample| (sample - mean) * (sample - mean)).sum();
    Some(sqrt(squares / (samples.len() - 1) as f64))
}

/// The nearest-rank percentile of samples in ascending order: the smallest sample that at least
/// `percent` of them do not exceed. 0 gives the first, 100 the last; none of nothing.
pub fn percentile(sorted: &[f64], percent: f64) -> Option<f64> {
    let rank = rank(sorted.len() as u64, percent)?;
    Some(sorted[rank as usize - 1])
}

/// The rank, from 1, of a percentile of `count` samples.
pub(crate) fn rank(count: u64, percent: f64) -> Option<u64> {
    // 99.9 % of 1000 is 999, though not in binary fractions.
    let rank = libm::ceil(percent / 100.0 * count as f64 - 1e-9);
    (count > 0).then(|| (rank as u64).clamp(1, count))
}

/// The share of samples above each, for at most about `points_max` points: (x, share above x), of
/// samples in ascending order. Where there are more samples, the points are dense in the upper
/// tail: their shares fall by equal factors.
pub fn ccdf(sorted: &[f64], points_max: usize) -> Vec<(f64, f64)> {
    let count = sorted.len();
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut next = count;
    let factor = exp(-log(count.max(2) as f64) / points_max.max(1) as f64);
    for (index, x) in sorted.iter().enumerate() {
        let above = count - 1 - index;
        let is_run = sorted.get(index + 1) == Some(x);
        if is_run || (above > next && above > 0) {
            continue;
        }
        points.push((*x, above as f64 / count as f64));
        if count > points_max {
            next = (above as f64 * factor) as usize;
        }
    }
    points
}

/// The quantile of Student's t distribution: the t that is exceeded with probability
/// `1 − probability`, to about 10 digits. `degrees` of freedom need not be whole.
///
/// # Panics
/// If `probability` is not between 0 and 1, or `degrees` is not positive.
pub fn t_quantile(probability: f64, degrees: f64) -> f64 {
    assert!(probability > 0.0 && probability < 1.0, "{probability} is no probability in (0, 1)");
    assert!(degrees > 0.0, "{degrees} degrees of freedom");
    if probability < 0.5 {
        return -t_quantile(1.0 - probability, degrees);
    }
    let above = 1.0 - probability;
    let mut high = 1.0;
    while t_tail(high, degrees) > above && high < 1e300 {
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if t_tail(middle, degrees) > above {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// How probable a value above `t` (not negative) is: half the regularised incomplete beta function
/// of x = d/(d + t²) with a = d/2, b = 1/2, by its continued fraction on the side where that
/// converges fast (DLMF 8.17.22).
fn t_tail(t: f64, degrees: f64) -> f64 {
    if t == 0.0 {
        return 0.5;
    }
    let (square, a, b) = (t * t, 0.5 * degrees, 0.5);
    // 1 − x loses digits where x is near 1: both are taken from t.
    let (x, rest) = (degrees / (degrees + square), square / (degrees + square));
    let logarithms = -a * log1p(square / degrees) - b * log1p(degrees / square);
    let front = exp(gamma_ratio(a) - lgamma(b) + logarithms);
    if x < (a + 1.0) / (a + b + 2.0) {
        0.5 * front * fraction(x, a, b) / a
    } else {
        0.5 - 0.5 * front * fraction(rest, b, a) / b
    }
}

/// The logarithm of Γ(a + 1/2) / Γ(a).
fn gamma_ratio(a: f64) -> f64 {
    if a < 100.0 {
        return lgamma(a + 0.5) - lgamma(a);
    }
    // The difference of two large numbers, as a series in 1/a.
    0.5 * log(a) - 1.0 / (8.0 * a) + 1.0 / (192.0 * a * a * a)
}

/// The continued fraction, evaluated from its front by Lentz's method.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |value: f64| if fabs(value) < TINY { TINY } else { value };
    let mut upper = 1.0;
    let mut lower = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut product = lower;
    for step in 1..1000 {
        let m = f64::from(step);
        let (even, odd) = (
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        );
        for coefficient in [even, odd] {
            lower = 1.0 / away(1.0 + coefficient * lower);
            upper = away(1.0 + coefficient / upper);
            product *= lower * upper;
        }
        if fabs(lower * upper - 1.0) < 1e-15 {
            break;
        }
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_t_are_those_of_the_tables() {
        for (probability, degrees, expected) in [
            (0.975, 1.0, 12.706_204_736_174_7),
            (0.975, 2.0, 4.302_652_729_749_46),
            (0.975, 4.0, 2.776_445_105_197_79),
            (0.975, 9.0, 2.262_157_162_798_2),
            (0.975, 30.0, 2.042_272_456_301_24),
            (0.975, 1000.0, 1.962_339_080_826_41),
            (0.95, 5.0, 2.015_048_372_669_16),
            (0.995, 3.0, 5.840_909_309_733_36),
            (0.5, 3.0, 0.0),
            (0.025, 4.0, -2.776_445_105_197_79),
            (0.975, 199.0, 1.971_956_544_249_395),
            (0.975, 201.0, 1.971_836_500_297_346),
            (0.975, 1e6, 1.959_966_356_794_955),
            (0.975, 1e9, 1.959_963_986_912_8),
        ] {
            let found = t_quantile(probability, degrees);
            assert!((found - expected).abs() < 1e-8, "{probability} {degrees}: {found}");
        }
    }

    #[test]
    fn a_quantile_of_t_with_one_or_two_degrees_has_a_formula() {
        for probability in [0.6, 0.9, 0.99, 0.9999] {
            let one = libm::tan(core::f64::consts::PI * (probability - 0.5));
            let two = (2.0 * probability - 1.0) / sqrt(2.0 * probability * (1.0 - probability));
            assert!((t_quantile(probability, 1.0) / one - 1.0).abs() < 1e-9, "{probability}");
            assert!((t_quantile(probability, 2.0) / two - 1.0).abs() < 1e-9, "{probability}");
        }
    }

    #[test]
    fn an_estimate_is_a_mean_and_its_interval() {
        let estimate = Estimate::of(&[2.0, 4.0, 4.0, 6.0]).unwrap();
        assert!((estimate.mean - 4.0).abs() < 1e-12);
        // t(0.975, 3) · √(8/3) / √4
        assert!((estimate.half_width - 2.598_456_9).abs() < 1e-6, "{estimate:?}");
        assert!((estimate.high() - estimate.low() - 2.0 * estimate.half_width).abs() < 1e-12);
        assert_eq!(Estimate::of(&[]), None);
        assert!(Estimate::of(&[1.0]).unwrap().half_width.is_infinite());
    }

    #[test]
    fn percentiles_are_samples() {
        let sorted: Vec<f64> = (1..=1000).map(f64::from).collect();
        for (percent, expected) in [
            (0.0, 1.0),
            (0.1, 1.0),
            (0.11, 2.0),
            (50.0, 500.0),
            (99.0, 990.0),
            (99.9, 999.0),
            (100.0, 1000.0),
        ] {
            assert_eq!(percentile(&sorted, percent), Some(expected), "{percent}");
        }
        assert_eq!(percentile(&[15.0, 20.0, 35.0, 40.0, 50.0], 40.0), Some(20.0));
        assert_eq!(percentile(&[], 50.0), None);
    }

    #[test]
    fn the_share_above_falls_from_all_to_none() {
        assert_eq!(ccdf(&[1.0, 2.0, 2.0, 4.0], 10), [(1.0, 0.75), (2.0, 0.25), (4.0, 0.0)]);
        assert_eq!(ccdf(&[], 10), []);
        let sorted: Vec<f64> = (0..100_000).map(f64::from).collect();
        let thin = ccdf(&sorted, 200);
        assert!(thin.len() > 100 && thin.len() <= 210, "{}", thin.len());
        assert_eq!(thin.last(), Some(&(99_999.0, 0.0)));
        assert!(thin.iter().all(|(x, share)| (share - (99_999.0 - x) / 100_000.0).abs() < 1e-12));
    }
}
