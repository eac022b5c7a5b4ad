use crate::{
    AT_RISK_MIN, OUTLIERS_MAX, Outliers,
    size::Size,
    sizes::{SizeTimes, TimesBySize},
    survival::steps,
};
use alloc::vec::Vec;

/// How far out slow outliers are looked for, in mean excesses beyond the shift: there a shifted
/// exponential has one task in 7, …, one in 1,100 left. Nearer, the bulk hides them; farther,
/// fewer of them are met.
const FAR: [f64; 6] = [2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
/// More tasks are out there than chance puts there if the difference is this many of chance's
/// deviations.
const SURE: f64 = 4.0;
/// The excess that is fitted to n tasks of [the bulk](crate::size::BULK) has a deviation of at most
/// this share of itself over √n: of the best estimate 1.3, and moments are not the best.
const UNSURE: f64 = 2.0;
/// What ends before this share of the shift is a quick outlier: the law has none before all of it.
const QUICK: f64 = 0.5;
/// Fewer quick ones than this share say that the law bends at its start, not that they are others.
const QUICK_MIN: f64 = 0.005;
/// Most rounds of leaving out and fitting again; a share that moves by less than [`NEAR`] ends
/// them before.
const ROUNDS: usize = 30;
/// See [`ROUNDS`].
const NEAR: f64 = 1e-4;

/// What is left of the sizes' tasks once the outliers are left out that can be told apart, and
/// their shares: those beyond what the law of the others leaves room for, until both agree.
pub(crate) fn apart(times: &TimesBySize) -> (Vec<Size>, Outliers) {
    let (mut outliers, mut sizes) = (Outliers::NONE, Size::all(times, Some(Outliers::NONE)));
    for _ in 0..ROUNDS {
        let next = beyond(times, &sizes);
        let moved = (next.slow - outliers.slow).abs().max((next.quick - outliers.quick).abs());
        if moved < NEAR {
            break;
        }
        (outliers, sizes) = (next, Size::all(times, Some(next)));
    }
    if outliers == Outliers::NONE {
        sizes = Size::all(times, None);
    }
    (sizes, outliers)
}

fn beyond(times: &TimesBySize, sizes: &[Size]) -> Outliers {
    let fitted = |times: &SizeTimes<'_>| sizes.iter().find(|size| size.bytes == times.bytes);
    let pairs: Vec<(SizeTimes<'_>, &Size)> =
        times.sizes().filter_map(|times| Some((times, fitted(&times)?))).collect();
    let slow = FAR.iter().filter_map(|&far| slower(&pairs, far)).fold(0.0, f64::max);
    Outliers { quick: quicker(&pairs).min(OUTLIERS_MAX), slow: slow.min(OUTLIERS_MAX) }
}

/// The share beyond a point that is far out on every size's law, less what the law has there; none
/// if chance explains it.
fn slower(pairs: &[(SizeTimes<'_>, &Size)], far: f64) -> Option<f64> {
    let (mut weight, mut longer) = (0.0, 0.0);
    for (times, size) in pairs.iter().filter(|(_, size)| size.excess_ms > 0.0) {
        if let Some(share) = survival(times, size.shift_ms + far * size.excess_ms) {
            weight += size.finished as f64;
            longer += size.finished as f64 * share;
        }
    }
    let expected = libm::exp(-far);
    let excess = longer / weight - expected;
    // Of what is met out there, and of where "out there" is.
    let (met, placed) = (expected * (1.0 - expected), UNSURE * far * expected);
    let chance = libm::sqrt((met + placed * placed) / weight);
    (excess > SURE * chance).then(|| excess / (1.0 - expected))
}

/// The share of tasks that take longer, by Kaplan and Meier; none where too few are left to tell.
fn survival(times: &SizeTimes<'_>, ms: f64) -> Option<f64> {
    let mut survival = 1.0;
    for step in steps(times.served()) {
        if step.censored && step.at_risk < AT_RISK_MIN {
            return None;
        }
        if step.served.ms() > ms {
            return Some(survival);
        }
        survival = step.survival;
    }
    Some(survival)
}

fn quicker(pairs: &[(SizeTimes<'_>, &Size)]) -> f64 {
    let (mut finished, mut soon) = (0, 0);
    for (times, size) in pairs {
        let end = QUICK * size.shift_ms;
        let quick = times.served().filter(|served| served.finished() && served.ms() < end);
        finished += size.finished;
        soon += quick.count();
    }
    let share = soon as f64 / finished.max(1) as f64;
    if share >= QUICK_MIN { share } else { 0.0 }
}
