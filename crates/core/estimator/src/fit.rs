use crate::{
    Sample,
    apart::apart,
    line::{Point, line, scaled, sturdy_line},
    outliers::Outliers,
    size::Size,
    sizes::TimesBySize,
    trim::Trimmed,
};
use alloc::vec::Vec;
use ripstop_delay::ShiftedExponential;

/// How delays grow with the size is fitted if the largest size is at least this many times the
/// smallest; otherwise it cannot be told from chance.
pub const SPREAD_MIN: f64 = 1.25;

/// A shifted exponential fitted to samples, and how far to trust it.
///
/// As in TOFEC, section III: for each chunk size the slowest tenth of the delays is dropped, and
/// mean and deviation of the rest are taken. A line through the deviations over the sizes gives Ψ̄
/// and Ψ̃, one through mean less deviation Δ̄ and Δ̃. Each size counts as much as it has finished
/// tasks. A line that would have a negative slope is level, one that would start below zero goes
/// through zero.
///
/// Cancelled tasks count as delays longer than they were served: the quantiles are those of Kaplan
/// and Meier. That is right if what made the task be cancelled is no more than that others were
/// faster; where the delays of a request's tasks are correlated, those still served late are of
/// slow requests, and the fit is too slow: with the first 6 of 12 and a correlation of 0.3, Ψ by 40
/// %.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fit {
    /// Corrected: an exponential cut at its quantile has a known mean and deviation, so that each
    /// size's Δ and Ψ are those that the delays were drawn with, if they were drawn from the model.
    pub model: ShiftedExponential,
    /// The same with outliers, by least squares: `model` itself, unless [`Fit::sturdy`] made it.
    pub whole: ShiftedExponential,
    /// As the paper has it: Ψ is about 0.59 of what it is in `model`, and Δ larger.
    pub literal: ShiftedExponential,
    /// Tasks that finished, of the sizes that took part.
    pub finished: u64,
    /// Tasks that were cancelled, of the sizes that took part.
    pub cancelled: u64,
    /// Sizes that took part. From one size (or from sizes nearer than [`SPREAD_MIN`]) growth cannot
    /// be told: then it is the prior's, with all of its Δ and all of its Ψ multiplied so as to fit;
    /// without a prior, delays do not grow.
    pub sizes: usize,
    /// Smallest of them.
    pub bytes_min: u64,
    /// Largest of them.
    pub bytes_max: u64,
    /// The least, over the sizes, of the quantile up to which delays took part: at most about 0.9,
    /// lower where too many were cancelled to know the rest.
    pub kept_min: f64,
    /// How far the sizes' means are off the model's, root of the mean square, milliseconds.
    pub mean_residual_ms: f64,
    /// The same of their deviations.
    pub deviation_residual_ms: f64,
    /// What `model` leaves out: [none](Outliers::NONE) unless [`Fit::sturdy`] made it.
    pub outliers: Outliers,
}

impl Fit {
    /// The fit of `samples`, whatever their operation and node; none if no size has
    /// [`SIZE_FINISHED_MIN`](crate::SIZE_FINISHED_MIN) finished tasks that say enough. How the
    /// `prior` is used, `sizes` says.
    pub fn of(
        samples: impl IntoIterator<Item = Sample>,
        prior: Option<&ShiftedExponential>,
    ) -> Option<Self> {
        let mut times = TimesBySize::default();
        times.fill(samples.into_iter());
        Self::of_times(&times, prior)
    }

    /// The same, but `model` is what the bulk of the tasks follow: [`Outliers`] are told apart and
    /// left out, and a size whose delays lie far off the others' line hardly bends it. For a log
    /// that somebody reads; a policy wants what comes, outliers included.
    pub fn sturdy(
        samples: impl IntoIterator<Item = Sample>,
        prior: Option<&ShiftedExponential>,
    ) -> Option<Self> {
        let mut times = TimesBySize::default();
        times.fill(samples.into_iter());
        let (sizes, outliers) = apart(&times);
        Self::through(&sizes, prior, outliers, sturdy_line)
    }

    pub(crate) fn of_times(
        times: &TimesBySize,
        prior: Option<&ShiftedExponential>,
    ) -> Option<Self> {
        Self::through(&Size::all(times, None), prior, Outliers::NONE, line)
    }

    fn through(
        sizes: &[Size],
        prior: Option<&ShiftedExponential>,
        outliers: Outliers,
        nearest: fn(&[Point]) -> (f64, f64),
    ) -> Option<Self> {
        let (first, last) = (sizes.first()?, sizes.last()?);
        let model = fitted(sizes, prior, nearest, |size| (size.shift_ms, size.excess_ms));
        let whole = fitted(sizes, prior, line, |size| size.trimmed.shift_and_excess());
        let literal = fitted(sizes, prior, line, |size| {
            let Trimmed { mean_ms, deviation_ms, .. } = size.trimmed;
            ((mean_ms - deviation_ms).max(0.0), deviation_ms)
        });
        let residual = |off: &dyn Fn(&Size) -> f64| {
            let squares = sizes.iter().map(|size| size.finished as f64 * off(size) * off(size));
            let weight = sizes.iter().map(|size| size.finished as f64).sum::<f64>();
            libm::sqrt(squares.sum::<f64>() / weight)
        };
        let shift_off = |size: &Size| size.shift_ms - model.shift_at(size.bytes);
        let excess_off = |size: &Size| size.excess_ms - model.excess_at(size.bytes);
        Some(Self {
            model,
            whole,
            literal,
            finished: sizes.iter().map(|size| size.finished as u64).sum(),
            cancelled: sizes.iter().map(|size| size.cancelled as u64).sum(),
            sizes: sizes.len(),
            bytes_min: first.bytes,
            bytes_max: last.bytes,
            kept_min: sizes.iter().map(|size| size.trimmed.kept).fold(1.0, f64::min),
            mean_residual_ms: residual(&|size| shift_off(size) + excess_off(size)),
            deviation_residual_ms: residual(&excess_off),
            outliers,
        })
    }
}

/// The model through the sizes' (Δ, Ψ).
fn fitted(
    sizes: &[Size],
    prior: Option<&ShiftedExponential>,
    nearest: fn(&[Point]) -> (f64, f64),
    parameters: impl Fn(&Size) -> (f64, f64),
) -> ShiftedExponential {
    let point =
        |size: &Size, y| Point { x: size.bytes as f64 * 1e-6, y, weight: size.finished as f64 };
    let shifts: Vec<Point> = sizes.iter().map(|size| point(size, parameters(size).0)).collect();
    let excesses: Vec<Point> = sizes.iter().map(|size| point(size, parameters(size).1)).collect();
    let prior = prior.copied().unwrap_or_default();
    let spread = shifts.len() > 1 && shifts[shifts.len() - 1].x >= SPREAD_MIN * shifts[0].x;
    let through = |points: &[Point], prior| {
        if spread { nearest(points) } else { scaled(points, prior) }
    };
    let (shift_ms, shift_ms_per_mb) = through(&shifts, (prior.shift_ms, prior.shift_ms_per_mb));
    let (mean_ms, mean_ms_per_mb) = through(&excesses, (prior.mean_ms, prior.mean_ms_per_mb));
    ShiftedExponential { shift_ms, shift_ms_per_mb, mean_ms, mean_ms_per_mb }
}
