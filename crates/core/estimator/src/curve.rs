use crate::bin::{BINS, Bin, begin_of};
use alloc::vec::Vec;

/// The share of tasks that take longer than a time: Kaplan and Meier's estimate of what [`Bins`]
/// hold, straight between its points. Of times that are each known,
/// [`Distribution`](crate::Distribution) is that estimate; here it takes bounded memory, however
/// many tasks there were.
///
/// [`Bins`]: crate::Bins
#[derive(Clone, PartialEq, Debug)]
pub struct Survival {
    points: Vec<(f64, f64)>,
}

impl Survival {
    pub(crate) fn of(bins: &[Bin; BINS], at_risk_min: f64) -> Self {
        let mut at_risk: f64 = bins.iter().map(|bin| bin.ended + bin.cancelled).sum();
        let (mut points, mut share) = (Vec::with_capacity(BINS + 2), 1.0);
        for (index, bin) in bins.iter().enumerate() {
            let begin = begin_of(index);
            points.push((begin, share));
            // Those cancelled in the bin were at risk for half of it.
            let risk = at_risk - bin.cancelled / 2.0;
            if risk < at_risk_min {
                points.push((begin * 1.5, 0.0));
                return Self { points };
            }
            share *= 1.0 - (bin.ended / risk).min(1.0);
            at_risk -= bin.ended + bin.cancelled;
            if share < 1e-4 {
                points.push((begin_of(index + 1), 0.0));
                return Self { points };
            }
        }
        points.push((begin_of(BINS), 0.0));
        Self { points }
    }

    /// (milliseconds, share that takes longer), from (0, 1) to share 0.
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// Mean and deviation of the delays once the slowest share is left out, milliseconds.
    pub fn trimmed(&self, share: f64) -> (f64, f64) {
        let (mut first, mut second) = (0.0, 0.0);
        for pair in self.points.windows(2) {
            let ((from, high), (until, low)) = (pair[0], pair[1]);
            let kept = f64::midpoint((high - share).max(0.0), (low - share).max(0.0));
            first += kept * (until - from);
            second += kept * (until * until - from * from);
        }
        let (mean, square) = (first / (1.0 - share), second / (1.0 - share));
        (mean, libm::sqrt((square - mean * mean).max(0.0)))
    }

    /// Mean, milliseconds.
    pub fn mean(&self) -> f64 {
        self.trimmed(0.0).0
    }
}
