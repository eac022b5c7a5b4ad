/// a + b·x with neither below zero: least squares, held near a guess while there is little to go
/// by.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(crate) struct Line {
    /// From sums about zero in one pass over what is made up as it is asked for. The estimator's
    /// line
    /// takes them about the mean in two, holds a falling line level, and knows no guess: choices
    /// that were recorded would round otherwise.
    pub at_zero: f64,
    pub slope: f64,
}

/// A point and how much it counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub x: f64,
    pub y: f64,
    pub weight: f64,
}

/// How much each of the two guessed points counts, and the most that a real one does.
const WEIGHT_OF_GUESS: f64 = 5.0;
pub(super) const WEIGHT_MAX: f64 = 500.0;

impl Line {
    /// Through `points`; the guess is a line through the `anchor` of which `share` is there at
    /// zero.
    pub(crate) fn through(points: impl Iterator<Item = Point>, anchor: Point, share: f64) -> Self {
        let weight = WEIGHT_OF_GUESS;
        let low = Point { x: 0.0, y: share * anchor.y, weight };
        let high = Point { x: 2.0 * anchor.x, y: (2.0 - share) * anchor.y, weight };
        let (mut n, mut x, mut y, mut xx, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for point in points.chain([low, high]) {
            let w = point.weight.min(WEIGHT_MAX);
            n += w;
            x += w * point.x;
            y += w * point.y;
            xx += w * point.x * point.x;
            xy += w * point.x * point.y;
        }
        let slope = ((n * xy - x * y) / (n * xx - x * x)).max(0.0);
        let at_zero = (y - slope * x) / n;
        if at_zero < 0.0 { Self { at_zero: 0.0, slope: y / x } } else { Self { at_zero, slope } }
    }

    pub(crate) fn at(self, x: f64) -> f64 {
        self.at_zero + self.slope * x
    }
}
