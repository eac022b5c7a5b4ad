use super::line::{Line, Point};
use alloc::vec::Vec;
use ripstop_estimator::{Bins, Survival};

/// Most chunk sizes that are told apart; beyond that, the least used makes room.
const SIZES_MAX: usize = 48;
/// Sizes whose logarithms are this near are one.
const SAME_SIZE: f64 = 0.08;
/// A size counts once this many tasks have ended.
const ENDED_MIN: f64 = 8.0;
/// Delays of sizes within this factor are pooled.
const POOLED: f64 = 6.5;
/// With fewer tasks at risk than this, nothing is said about longer delays.
const AT_RISK_MIN: f64 = 3.0;
/// With fewer tasks at risk than this, longer delays do not count for a size's own mean and
/// deviation. One request whose tasks were late together would be taken for a tenth of all, where
/// most tasks are cancelled early.
const OWN_AT_RISK_MIN: f64 = 6.0;

/// The delays of tasks with chunks of nearly one size.
#[derive(Clone, Debug)]
pub(super) struct SizeDelays {
    /// The size of the first of them, bytes.
    bytes: f64,
    bins: Bins,
    /// Trimmed mean of the delays when they were looked at last, milliseconds.
    pub mean_ms: f64,
    /// Trimmed deviation likewise.
    deviation_ms: f64,
}

impl SizeDelays {
    pub(super) fn new(bytes: f64) -> Self {
        Self { bytes, bins: Bins::default(), mean_ms: 0.0, deviation_ms: 0.0 }
    }

    pub(super) fn add(&mut self, ms: f64, finished: bool) {
        self.bins.add(ms, finished);
    }

    /// Looks at mean and deviation again. What only few tasks exceed is left out of both, so that a
    /// straggler does not bend the lines through them.
    pub(super) fn renew(&mut self) {
        let survival = self.bins.survival(OWN_AT_RISK_MIN);
        self.mean_ms = survival.trimmed(0.05).0;
        self.deviation_ms = survival.trimmed(0.1).1;
    }
}

/// The delays of one operation, by chunk size: alike but for mean and deviation, which grow in a
/// line with the size.
#[derive(Clone, Debug, Default)]
pub(super) struct Delays {
    sizes: Vec<SizeDelays>,
    mean: Line,
    deviation: Line,
    known: bool,
}

/// The distribution of delays for chunks of a certain size, and the lines that lead to other sizes.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub survival: Survival,
    /// The size it is for.
    pub bytes: f64,
    pub mean: Line,
    pub deviation: Line,
}

impl Delays {
    pub(super) fn is_known(&self) -> bool {
        self.known
    }

    fn find(&self, bytes: f64) -> Option<usize> {
        let near = |size: &SizeDelays| libm::fabs(libm::log(size.bytes / bytes)) < SAME_SIZE;
        self.sizes.iter().position(near)
    }

    pub(super) fn add(&mut self, bytes: u64, ms: f64, finished: bool) {
        let bytes = bytes.max(1) as f64;
        let at = self.find(bytes).unwrap_or_else(|| {
            if self.sizes.len() >= SIZES_MAX {
                let least = (0..self.sizes.len()).min_by(|&a, &b| {
                    self.sizes[a].bins.ended().total_cmp(&self.sizes[b].bins.ended())
                });
                self.sizes.swap_remove(least.expect("there are sizes"));
            }
            self.sizes.push(SizeDelays::new(bytes));
            self.sizes.len() - 1
        });
        self.sizes[at].add(ms, finished);
    }

    /// Tasks with chunks of nearly this size that ended recently.
    pub(super) fn count(&self, bytes: u64) -> f64 {
        self.find(bytes.max(1) as f64).map_or(0.0, |at| self.sizes[at].bins.ended())
    }

    fn usable(&self) -> impl Iterator<Item = &SizeDelays> {
        self.sizes.iter().filter(|size| size.bins.ended() >= ENDED_MIN)
    }

    /// Draws the lines again.
    pub(super) fn renew(&mut self) {
        for size in &mut self.sizes {
            if size.bins.ended() >= ENDED_MIN {
                size.renew();
            }
        }
        let Some(most) = self.usable().max_by(|a, b| a.bins.ended().total_cmp(&b.bins.ended()))
        else {
            return;
        };
        let point =
            |size: &SizeDelays, y: f64| Point { x: size.bytes, y, weight: size.bins.ended() };
        let means = self.usable().map(|size| point(size, size.mean_ms));
        let mean = Line::through(means, point(most, most.mean_ms), 0.7);
        let deviations = self.usable().map(|size| point(size, size.deviation_ms));
        let deviation = Line::through(deviations, point(most, most.deviation_ms), 0.9);
        (self.mean, self.deviation, self.known) = (mean, deviation, true);
    }

    /// The delays for a size near `bytes` of which much is known: those of all sizes around, moved
    /// there.
    pub(super) fn shape(&self, bytes: f64) -> Option<Shape> {
        if !self.known {
            return None;
        }
        let worth = |size: &SizeDelays| {
            libm::log(size.bins.ended().min(1000.0)) - libm::fabs(libm::log(size.bytes / bytes))
        };
        let near = self.usable().max_by(|a, b| worth(a).total_cmp(&worth(b)))?.bytes;
        let mut bins = Bins::default();
        for size in &self.sizes {
            if size.bytes < near / POOLED || size.bytes > near * POOLED {
                continue;
            }
            bins.add_moved(&size.bins, |ms| self.moved(ms, size.bytes, near));
        }
        let survival = bins.survival(AT_RISK_MIN);
        Some(Shape { survival, bytes: near, mean: self.mean, deviation: self.deviation })
    }

    fn moved(&self, ms: f64, from: f64, to: f64) -> f64 {
        moved(self.mean, self.deviation, ms, from, to)
    }
}

/// Where a delay of one size lies for another: as many deviations off the mean.
fn moved(mean: Line, deviation: Line, ms: f64, from: f64, to: f64) -> f64 {
    let stretch = deviation.at(to).max(1e-9) / deviation.at(from).max(1e-9);
    (mean.at(to) + (ms - mean.at(from)) * stretch).max(0.0)
}

impl Shape {
    /// The points of the distribution, moved to another size.
    pub(super) fn points_at(&self, bytes: f64) -> Vec<(f64, f64)> {
        let moved = |ms| moved(self.mean, self.deviation, ms, self.bytes, bytes);
        let points = self.survival.points().iter().enumerate();
        points.map(|(at, &(ms, share))| (if at == 0 { 0.0 } else { moved(ms) }, share)).collect()
    }

    /// Mean delay of a size, stragglers included, milliseconds.
    pub(super) fn mean_at(&self, bytes: f64) -> f64 {
        self.survival.mean() + self.mean.slope * (bytes - self.bytes)
    }

    /// Deviation over mean for a size, stragglers left out.
    pub(super) fn variation_at(&self, bytes: f64) -> f64 {
        self.deviation.at(bytes) / self.mean.at(bytes).max(1e-9)
    }
}
