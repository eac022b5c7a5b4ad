//! When a task is so late that another one beside it takes less lane time than it would alone.

use super::course::{Curve, longer_than, straight};
use alloc::vec::Vec;

/// Share of the tasks that a late one is among, at most.
const LATE: f64 = 0.1;
/// Share of all lane time that a rescue saves, at least. With an exponential tail it never saves
/// any.
const SAVED_MIN: f64 = 0.001;
/// Share of the price of lane time that counts here: what is saved comes seldom and at once.
const PRICE_SHARE: f64 = 0.02;
/// Share of the tasks, at most, that are taken to last longer than any of which more is known.
const UNKNOWN_MAX: f64 = 0.01;
/// They end as seldom as those did that lasted until a time this many times shorter.
const STRETCH: f64 = 1.3;
/// How many times longer they last on average than any that was watched, at most.
const LONGER_MAX: f64 = 2.0;

/// The time after which a task that is still there is best joined by a fresh one, milliseconds:
/// where that saves most, in own time and in lane time; or, if it saves nothing that is known of,
/// when nothing more is known.
pub(crate) fn rescue_ms(points: &Curve, price: f64) -> Option<f64> {
    let known = points.iter().rposition(|&(_, share)| share > 0.0)?;
    let curve = prolonged(&points[..=known]);
    let (last_ms, last_share) = points[known];
    let mean_ms: f64 = curve.windows(2).map(area).sum();
    let mut best = (last_share <= UNKNOWN_MAX).then_some(last_ms);
    let mut most = 0.0;
    let mut alone: f64 = curve.windows(2).skip(known).map(area).sum();
    for at in (0..=known).rev() {
        let (ms, share) = curve[at];
        if share > LATE {
            break;
        }
        let joined = joined(&curve, ms);
        let lanes_saved = alone - 2.0 * joined;
        let saved = alone - joined + PRICE_SHARE * price * lanes_saved;
        if lanes_saved >= SAVED_MIN * mean_ms && saved > most {
            (best, most) = (Some(ms), saved);
        }
        alone += at.checked_sub(1).map_or(0.0, |before| area(&curve[before..=at]));
    }
    best
}

/// With what is not known: tasks are rescued before much is seen of what they would have taken.
fn prolonged(known: &Curve) -> Vec<(f64, f64)> {
    let mut curve = known.to_vec();
    if let Some(&(ms, share)) = known.last() {
        let from = ms / STRETCH;
        let fall = libm::log(longer_than(known, from).max(share) / share);
        let rest = ((ms - from) / fall.max(1e-9)).min(LONGER_MAX * ms);
        let unknown = share.min(UNKNOWN_MAX);
        curve.extend([(ms, unknown), (ms + rest, unknown), (ms + rest, 0.0)]);
    }
    curve
}

/// Time for each task between two points.
fn area(pair: &[(f64, f64)]) -> f64 {
    (pair[1].0 - pair[0].0) * f64::midpoint(pair[0].1, pair[1].1)
}

/// How much longer it takes from a time on until a task that is still there, or a fresh one beside
/// it, is done: milliseconds, for each task that ever was.
fn joined(curve: &Curve, ms: f64) -> f64 {
    let share = |segment: usize, at: f64| straight(curve[segment], curve[segment + 1], at);
    let segments = curve.len().saturating_sub(1);
    let (mut fresh, mut late) = (0, 0);
    let (mut from, mut sum) = (0.0, 0.0);
    loop {
        while fresh < segments && curve[fresh + 1].0 <= from {
            fresh += 1;
        }
        while late < segments && curve[late + 1].0 - ms <= from {
            late += 1;
        }
        if fresh == segments || late == segments {
            return sum;
        }
        let until = curve[fresh + 1].0.min(curve[late + 1].0 - ms);
        let (a0, a1) = (share(fresh, from), share(fresh, until));
        let (b0, b1) = (share(late, from + ms), share(late, until + ms));
        // Exact, as both are straight in between.
        sum += (until - from) / 6.0 * (2.0 * (a0 * b0 + a1 * b1) + a0 * b1 + a1 * b0);
        from = until;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends at 30 to 50 ms, one of a hundred at 150 to 250, one of a thousand at 1000 to 2000.
    const STRAGGLERS: [(f64, f64); 7] = [
        (0.0, 1.0),
        (30.0, 1.0),
        (50.0, 0.011),
        (150.0, 0.011),
        (250.0, 0.001),
        (1000.0, 0.001),
        (2000.0, 0.0),
    ];

    /// 10 ms, then exponential with a mean of 10.
    fn exponential() -> Vec<(f64, f64)> {
        let after = |i: i32| (10.0 + f64::from(i), libm::exp(-f64::from(i) / 10.0));
        core::iter::once((0.0, 1.0)).chain((0..=100).map(after)).collect()
    }

    #[test]
    fn a_task_is_joined_where_stragglers_are_all_that_is_left() {
        assert_eq!(rescue_ms(&STRAGGLERS, 0.0), Some(50.0));
        assert_eq!(rescue_ms(&STRAGGLERS, 50.0), Some(50.0));
    }

    #[test]
    fn where_a_fresh_task_takes_long_only_the_slowest_are_worth_one() {
        let slow: Vec<(f64, f64)> = STRAGGLERS
            .iter()
            .map(|&(ms, share)| (if ms > 0.0 { ms + 120.0 } else { ms }, share))
            .collect();
        assert_eq!(rescue_ms(&slow, 0.0), Some(170.0));
        assert_eq!(rescue_ms(&slow, 1000.0), Some(370.0));
    }

    #[test]
    fn delays_without_a_heavy_tail_are_hopeless_only_where_nothing_is_known_of_them() {
        let points = exponential();
        for price in [0.0, 1.0, 100.0] {
            assert_eq!(rescue_ms(&points, price), points.last().map(|last| last.0));
        }
        // Most of the tail is unknown: nothing can be said.
        assert_eq!(rescue_ms(&points[..30], 1.0), None);
    }

    #[test]
    fn stragglers_of_which_only_the_begin_was_seen_are_known_by_their_not_ending() {
        // Three of a thousand are there at 170 ms, and still at 300, when they were cancelled.
        let seen = [(0.0, 1.0), (130.0, 1.0), (150.0, 0.003), (170.0, 0.003), (300.0, 0.003)];
        assert_eq!(rescue_ms(&seen, 10.0), Some(150.0));
        let ending =
            [(0.0, 1.0), (130.0, 1.0), (150.0, 0.3), (170.0, 0.1), (190.0, 0.03), (210.0, 0.01)];
        assert_eq!(rescue_ms(&ending, 10.0), Some(210.0));
    }

    #[test]
    fn an_area_is_the_mean_and_two_of_one_kind_take_half_of_an_exponential() {
        let curve = prolonged(&exponential());
        let mean: f64 = curve.windows(2).map(area).sum();
        assert!((mean - 20.0).abs() < 0.03, "{mean}");
        // From 10 ms on the one is exponential; the other one's first 10 ms help nothing.
        let expected = 10.0 * (1.0 - libm::exp(-1.0)) + 5.0 * libm::exp(-1.0);
        let joined = joined(&curve, 10.0);
        assert!((joined / expected - 1.0).abs() < 2e-3, "{joined} {expected}");
    }
}
