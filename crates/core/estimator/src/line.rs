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
