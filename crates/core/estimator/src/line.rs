use alloc::vec::Vec;

/// One point: where, how high, how much it counts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// Where.
    pub x: f64,
    /// How high.
    pub y: f64,
    /// How much it counts.
    pub weight: f64,
}

/// Intercept and slope, neither below 0, of the line with the least weighted sum of squared
/// vertical distances, given that the points have at least two different x and that no x or y is
/// below 0.
///
/// Where the free line has a negative slope, that is the level of the weighted mean; where it has a
/// negative intercept, the best line through the origin.
pub fn line(points: &[Point]) -> (f64, f64) {
    let sum = |term: fn(&Point) -> f64| points.iter().map(|p| p.weight * term(p)).sum::<f64>();
    let weight = sum(|_| 1.0);
    let (x, y) = (sum(|p| p.x) / weight, sum(|p| p.y) / weight);
    let (mut xx, mut xy) = (0.0, 0.0);
    for point in points {
        xx += point.weight * (point.x - x) * (point.x - x);
        xy += point.weight * (point.x - x) * (point.y - y);
    }
    let slope = xy / xx;
    let intercept = y - slope * x;
    if slope < 0.0 {
        (y, 0.0)
    } else if intercept < 0.0 {
        (0.0, sum(|p| p.x * p.y) / sum(|p| p.x * p.x))
    } else {
        (intercept, slope)
    }
}

/// How far off the line a point may be before it no longer counts, in deviations of the others:
/// Tukey's biweight keeps 95 % of the least squares' precision with it where nothing is off.
const BIWEIGHT: f64 = 4.685;
/// Of a normal law, the deviation is this times the median distance from the mean.
const MEDIAN_TO_DEVIATION: f64 = 1.4826;
/// Fewer points than this have no bulk that one of them could be off.
const STURDY_MIN: usize = 4;

/// As [`line()`], but points far off the line of the others hardly count, wherever they are: from
/// the median of the slopes between any two (Theil and Sen), least squares are repeated with
/// Tukey's biweight.
pub(crate) fn sturdy_line(points: &[Point]) -> (f64, f64) {
    if points.len() < STURDY_MIN {
        return line(points);
    }
    let pairs = points.iter().enumerate().flat_map(|(at, one)| {
        let others = points[at + 1..].iter().filter(|other| other.x > one.x);
        others.map(|other| ((other.y - one.y) / (other.x - one.x), one.weight.min(other.weight)))
    });
    let slope = median(pairs.collect());
    let intercept = median(points.iter().map(|p| (p.y - slope * p.x, p.weight)).collect());
    let mut best = (intercept, slope);
    // Where all the bulk lies on one line, what is left of its distances is rounding.
    let rounding =
        points.iter().map(|p| p.y.abs() * libm::sqrt(p.weight)).fold(0.0, f64::max) * 1e-9;
    for _ in 0..STURDY_ROUNDS {
        // Points are the surer the more they count: a distance is measured by what chance makes it.
        let off = |p: &Point| (p.y - best.0 - best.1 * p.x).abs() * libm::sqrt(p.weight);
        let deviation =
            MEDIAN_TO_DEVIATION * median(points.iter().map(|p| (off(p), 1.0)).collect());
        let far = (BIWEIGHT * deviation).max(rounding);
        let weighed = points.iter().map(|p| {
            let share = (off(p) / far).min(1.0);
            let near = 1.0 - share * share;
            Point { weight: p.weight * near * near, ..*p }
        });
        let weighed: Vec<Point> = weighed.filter(|p| p.weight > 0.0).collect();
        if weighed.iter().all(|p| p.x <= weighed[0].x) {
            return line(points);
        }
        best = line(&weighed);
    }
    best
}

/// Rounds of [`sturdy_line`]; a few settle it.
const STURDY_ROUNDS: usize = 20;

/// The value with half of the weight on either side.
fn median(mut values: Vec<(f64, f64)>) -> f64 {
    values.sort_by(|one, other| one.0.total_cmp(&other.0));
    let half = values.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    let middle = values.iter().find(|(_, weight)| {
        sum += weight;
        sum >= half
    });
    middle.map_or(0.0, |(value, _)| *value)
}

/// The `prior` line, intercept and slope multiplied alike, that has the points' weighted mean
/// height; level, if the prior is zero there.
pub(crate) fn scaled(points: &[Point], (intercept, slope): (f64, f64)) -> (f64, f64) {
    let sum = |term: &dyn Fn(&Point) -> f64| points.iter().map(|p| p.weight * term(p)).sum::<f64>();
    let (height, prior) = (sum(&|p| p.y), sum(&|p| intercept + slope * p.x));
    if prior > 0.0 {
        (intercept * height / prior, slope * height / prior)
    } else {
        (height / sum(&|_| 1.0), 0.0)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn residual(points: &[Point], (intercept, slope): (f64, f64)) -> f64 {
        let square = |p: &Point| p.weight * (p.y - intercept - slope * p.x).powi(2);
        points.iter().map(square).sum()
    }

    #[test]
    fn a_scaled_line_meets_the_mean_height() {
        let points = [Point { x: 1.0, y: 8.0, weight: 1.0 }, Point { x: 1.0, y: 5.0, weight: 2.0 }];
        assert_eq!(scaled(&points, (2.0, 1.0)), (4.0, 2.0));
        assert_eq!(scaled(&points, (0.0, 0.0)), (6.0, 0.0));
    }

    proptest! {
        #[test]
        fn no_line_without_negative_coefficients_is_nearer(
            ys in proptest::collection::vec((0.0f64..100.0, 0.1f64..10.0), 2..8),
            step in 0.1f64..3.0, nudge in -1.0f64..1.0, turn in -1.0f64..1.0,
        ) {
            let point = |(at, &(y, weight)): (usize, &_)| Point { x: at as f64 * step, y, weight };
            let points: Vec<Point> = ys.iter().enumerate().map(point).collect();
            let (intercept, slope) = line(&points);
            prop_assert!(intercept >= 0.0 && slope >= 0.0);
            let least = residual(&points, (intercept, slope));
            let other = ((intercept + nudge).max(0.0), (slope + turn).max(0.0));
            prop_assert!(least <= residual(&points, other) * (1.0 + 1e-9) + 1e-9);
        }
    }
}
