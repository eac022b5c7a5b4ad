//! How long tasks take, by chunk size: Kaplan and Meier over fine bins.

use crate::backfill::{Line, Point};
use alloc::{boxed::Box, vec::Vec};

/// Most chunk sizes that are told apart; beyond that, the least used makes room.
const SIZES_MAX: usize = 32;
/// Sizes whose logarithms are this near are one.
const SAME_SIZE: f64 = 0.08;
/// Bins, and the ratio of their bounds: from 0.1 ms to half a minute.
const BINS: usize = 320;
const RATIO_LN: f64 = 0.04;
const FIRST_MS: f64 = 0.1;
/// Once this many tasks of a size have ended, older ones are forgotten by halves.
const FORGET_ABOVE: f64 = 4000.0;
/// What other sizes say of one counts like this many tasks of its own, at most.
const FOREIGN: f64 = 100.0;
/// A size counts for others once this many of its tasks have ended.
const ENDED_MIN: f64 = 8.0;
/// With fewer tasks at risk than this, nothing is said about longer delays.
const AT_RISK_MIN: f64 = 3.0;
/// The slowest share of the tasks, which location and scale of a size leave out: stragglers.
const TRIMMED: f64 = 0.25;
/// A curve has a point at least where this share of what is left has ended.
const STEP: f64 = 0.92;
/// The share at which a curve ends.
const LEAST: f64 = 1e-4;

/// Points of a curve that only falls: (milliseconds, share that takes longer), from (0, 1).
pub(super) type Curve = Vec<(f64, f64)>;

#[derive(Clone, Copy, Default, Debug)]
struct Bin {
    ended: f64,
    cancelled: f64,
}

#[derive(Clone, Debug)]
struct Histogram {
    ended: f64,
    bins: Box<[Bin; BINS]>,
}

fn bin_of(ms: f64) -> usize {
    if ms <= FIRST_MS {
        return 0;
    }
    ((libm::log(ms / FIRST_MS) / RATIO_LN) as usize + 1).min(BINS - 1)
}

/// Where a bin begins, milliseconds.
fn begin_of(bin: usize) -> f64 {
    if bin == 0 { 0.0 } else { FIRST_MS * libm::exp(RATIO_LN * (bin - 1) as f64) }
}

impl Histogram {
    fn new() -> Self {
        Self { ended: 0.0, bins: Box::new([Bin::default(); BINS]) }
    }

    fn add(&mut self, ms: f64, finished: bool) {
        let bin = &mut self.bins[bin_of(ms)];
        if !finished {
            bin.cancelled += 1.0;
            return;
        }
        bin.ended += 1.0;
        self.ended += 1.0;
        if self.ended > FORGET_ABOVE {
            self.ended /= 2.0;
            for bin in self.bins.iter_mut() {
                bin.ended /= 2.0;
                bin.cancelled /= 2.0;
            }
        }
    }

    /// Takes in what another holds, each delay moved to where it would be here.
    fn add_moved(&mut self, other: &Self, weight: f64, moved: impl Fn(f64) -> f64) {
        for (index, bin) in other.bins.iter().enumerate() {
            if bin.ended + bin.cancelled > 0.0 {
                let ms = f64::midpoint(begin_of(index), begin_of(index + 1));
                let to = &mut self.bins[bin_of(moved(ms))];
                to.ended += weight * bin.ended;
                to.cancelled += weight * bin.cancelled;
            }
        }
    }

    /// The share of tasks that take longer than a time.
    fn curve(&self) -> Curve {
        let mut at_risk: f64 = self.bins.iter().map(|bin| bin.ended + bin.cancelled).sum();
        let (mut points, mut share) = (Vec::with_capacity(128), 1.0);
        points.push((0.0, 1.0));
        let mut pending = None;
        for (index, bin) in self.bins.iter().enumerate() {
            if bin.ended + bin.cancelled == 0.0 {
                pending = pending.or(Some(index));
                continue;
            }
            let begin = begin_of(index);
            if pending.take().is_some() {
                points.push((begin, share));
            }
            // Those cancelled in the bin were at risk for half of it.
            let risk = at_risk - bin.cancelled / 2.0;
            if risk < AT_RISK_MIN {
                break;
            }
            let last = points.last().map_or(1.0, |point: &(f64, f64)| point.1);
            share *= 1.0 - (bin.ended / risk).min(1.0);
            at_risk -= bin.ended + bin.cancelled;
            if share <= STEP * last {
                points.push((begin_of(index + 1), share));
            }
            if share < LEAST {
                break;
            }
        }
        let last = points.last().map_or(0.0, |point| point.0);
        let left = points.last().map_or(0.0, |point| point.1);
        if left > 0.0 {
            // Of those of which nothing more is known it is assumed that they end soon.
            points.push((1.5 * last, 0.0));
        }
        points
    }
}

/// Mean and deviation of a curve's delays once the slowest share is left out, milliseconds.
fn trimmed(curve: &[(f64, f64)]) -> (f64, f64) {
    let (mut first, mut second) = (0.0, 0.0);
    for pair in curve.windows(2) {
        let ((from, high), (until, low)) = (pair[0], pair[1]);
        let kept = f64::midpoint((high - TRIMMED).max(0.0), (low - TRIMMED).max(0.0));
        first += kept * (until - from);
        second += kept * (until * until - from * from);
    }
    let (mean, square) = (first / (1.0 - TRIMMED), second / (1.0 - TRIMMED));
    (mean, libm::sqrt((square - mean * mean).max(0.0)))
}

/// The delays of tasks with chunks of nearly one size.
#[derive(Clone, Debug)]
struct SizeDelays {
    /// The size of the first of them, bytes.
    bytes: f64,
    seen: Histogram,
    /// When they were looked at last, milliseconds.
    location_ms: f64,
    scale_ms: f64,
}

/// The delays of one operation, by chunk size. Sizes of which little is known are taken to be like
/// the others but for location and scale, which grow in a line with the size.
#[derive(Clone, Default, Debug)]
pub(super) struct Delays {
    sizes: Vec<SizeDelays>,
    location: Line,
    scale: Line,
    known: bool,
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
                let ended = |at: &usize| self.sizes[*at].seen.ended;
                let least = (0..self.sizes.len()).min_by(|a, b| ended(a).total_cmp(&ended(b)));
                self.sizes.swap_remove(least.expect("there are sizes"));
            }
            let (location_ms, scale_ms) = (0.0, 0.0);
            let seen = Histogram::new();
            self.sizes.push(SizeDelays { bytes, seen, location_ms, scale_ms });
            self.sizes.len() - 1
        });
        self.sizes[at].seen.add(ms, finished);
    }

    /// Tasks with chunks of nearly this size that ended recently.
    pub(super) fn ended(&self, bytes: u64) -> f64 {
        self.find(bytes.max(1) as f64).map_or(0.0, |at| self.sizes[at].seen.ended)
    }

    fn usable(&self) -> impl Iterator<Item = &SizeDelays> {
        self.sizes.iter().filter(|size| size.seen.ended >= ENDED_MIN)
    }

    /// Looks at every size again.
    pub(super) fn renew(&mut self) {
        for size in &mut self.sizes {
            if size.seen.ended >= ENDED_MIN {
                (size.location_ms, size.scale_ms) = trimmed(&size.seen.curve());
            }
        }
        let Some(most) = self.usable().max_by(|a, b| a.seen.ended.total_cmp(&b.seen.ended)) else {
            return;
        };
        let point = |size: &SizeDelays, y: f64| Point { x: size.bytes, y, weight: size.seen.ended };
        let locations = self.usable().map(|size| point(size, size.location_ms));
        let location = Line::through(locations, point(most, most.location_ms), 0.7);
        let scales = self.usable().map(|size| point(size, size.scale_ms));
        let scale = Line::through(scales, point(most, most.scale_ms), 0.9);
        (self.location, self.scale, self.known) = (location, scale, true);
    }

    /// The delays of a size.
    pub(super) fn curve(&self, bytes: f64) -> Option<Curve> {
        if !self.known {
            return None;
        }
        let own = self.find(bytes);
        let is_other = |at: usize| Some(at) != own && self.sizes[at].seen.ended >= ENDED_MIN;
        // The nearer a size is, the more it counts.
        let near = |at: usize| {
            let far = libm::log(self.sizes[at].bytes / bytes);
            self.sizes[at].seen.ended.min(FOREIGN) / (1.0 + far * far)
        };
        let others = || (0..self.sizes.len()).filter(|&at| is_other(at));
        let all: f64 = others().map(near).sum();
        let mut seen = own.map_or_else(Histogram::new, |at| self.sizes[at].seen.clone());
        for at in others() {
            let size = &self.sizes[at];
            let weight = (FOREIGN / all).min(1.0) * near(at) / size.seen.ended;
            let stretch = self.scale.at(bytes) / self.scale.at(size.bytes).max(1e-9);
            let (from, to) = (self.location.at(size.bytes), self.location.at(bytes));
            seen.add_moved(&size.seen, weight, |ms| (to + (ms - from) * stretch).max(0.0));
        }
        Some(seen.curve())
    }
}
