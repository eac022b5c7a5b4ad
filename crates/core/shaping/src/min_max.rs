use crate::{Arrivals, Fraction, Question, Rule, capacities};
use alloc::vec::Vec;
use core::time::Duration;
use ripstop_delay::Dice;
use ripstop_model::Timestamp;

/// Requests dropped so that no window of time has too many of them: the min–max load heuristic
/// (MML) with which the paper on graduated quality of service compares its decomposition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MinMaxLoad {
    /// How many requests a window keeps at most.
    pub cap: u64,
    /// When the requests that are kept arrived, in order.
    pub kept: Vec<Timestamp>,
}

impl MinMaxLoad {
    /// Caps windows of this length, from the first arrival on, at the smallest number with which
    /// the fraction of requests is kept. Which of a window go is thrown with dice, each with equal
    /// probability.
    pub fn new(arrivals: Arrivals<'_>, fraction: Fraction, window: Duration, seed: u64) -> Self {
        let counts = window_counts(arrivals, window);
        let cap = cap(&counts, fraction.of(arrivals.count()));
        let (mut dice, mut kept, mut at) = (Dice::new(seed), Vec::new(), 0);
        for (_, count) in counts {
            let mut places = cap.min(count);
            for (candidates, time) in (1..=count).rev().zip(&arrivals.times()[at..]) {
                if dice.below(candidates) < places {
                    places -= 1;
                    kept.push(*time);
                }
            }
            at += count as usize;
        }
        Self { cap, kept }
    }

    /// The smallest capacity, in requests a second, with which all that is kept ends within the
    /// bound, first come, first served.
    pub fn capacity(&self, bound: Duration) -> u64 {
        let kept = Arrivals::ordered(&self.kept);
        capacities(kept, &[Question { rule: Rule::Exact, bound, need: kept.count() }])[0]
    }
}

/// How many requests arrive in each window of this length, from the first arrival on: the window's
/// number and its requests, of windows that have any. A window of nothing is as long as a
/// nanosecond.
pub fn window_counts(arrivals: Arrivals<'_>, window: Duration) -> Vec<(u64, u64)> {
    let window = u64::try_from(window.as_nanos()).unwrap_or(u64::MAX).max(1);
    let first = arrivals.first().as_nanos();
    let mut counts: Vec<(u64, u64)> = Vec::new();
    for time in arrivals.times() {
        let number = (time.as_nanos() - first) / window;
        match counts.last_mut() {
            Some((last, count)) if *last == number => *count += 1,
            _ => counts.push((number, 1)),
        }
    }
    counts
}

/// The smallest cap with which at least `need` requests are kept.
fn cap(counts: &[(u64, u64)], need: u64) -> u64 {
    let kept = |cap: u64| counts.iter().map(|(_, count)| cap.min(*count)).sum::<u64>();
    let (mut low, mut high) = (0, counts.iter().map(|(_, count)| *count).max().unwrap_or(0));
    while low < high {
        let middle = low.midpoint(high);
        if kept(middle) >= need {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(millis: &[u64]) -> Vec<Timestamp> {
        millis.iter().map(|millis| Timestamp::from_nanos(millis * 1_000_000)).collect()
    }

    #[test]
    fn windows_begin_with_the_first_arrival() {
        let times = times(&[7, 8, 16, 17, 40]);
        let arrivals = Arrivals::new(&times).unwrap();
        let counts = window_counts(arrivals, Duration::from_millis(10));
        assert_eq!(counts, [(0, 3), (1, 1), (3, 1)]);
        assert_eq!(window_counts(Arrivals::new(&[]).unwrap(), Duration::ZERO), []);
    }

    #[test]
    fn the_cap_is_the_smallest_that_keeps_enough() {
        let counts = [(0, 10), (1, 4), (2, 1), (5, 7)];
        for need in 0..=22 {
            let kept = |cap: u64| counts.iter().map(|(_, count)| cap.min(*count)).sum::<u64>();
            let cap = cap(&counts, need);
            assert!(kept(cap) >= need && (cap == 0 || kept(cap - 1) < need), "{need}: {cap}");
        }
    }

    #[test]
    fn what_is_dropped_depends_on_the_seed_and_on_nothing_else() {
        let times = times(&(0..1000).map(|at| at * at / 400).collect::<Vec<_>>());
        let arrivals = Arrivals::new(&times).unwrap();
        let window = Duration::from_millis(100);
        let drop = |seed| MinMaxLoad::new(arrivals, "0.8".parse().unwrap(), window, seed);
        let (one, two) = (drop(1), drop(2));
        assert_eq!(one, drop(1));
        assert_eq!(one.cap, two.cap);
        assert_ne!(one.kept, two.kept);
        assert!(one.kept.len() >= 800 && one.kept.is_sorted());
        let kept = window_counts(Arrivals::new(&one.kept).unwrap(), window);
        assert!(kept.iter().all(|(_, count)| *count <= one.cap));
        let all = MinMaxLoad::new(arrivals, Fraction::ALL, window, 1);
        assert_eq!(all.kept, times);
    }

    #[test]
    fn the_capacity_for_what_is_kept_suffices_and_one_less_does_not() {
        let times = times(&[0, 1, 1, 1, 2, 30, 31, 90]);
        let arrivals = Arrivals::new(&times).unwrap();
        let load = MinMaxLoad::new(arrivals, "0.7".parse().unwrap(), Duration::from_millis(10), 3);
        let bound = Duration::from_millis(12);
        let capacity = load.capacity(bound);
        let kept = Arrivals::new(&load.kept).unwrap();
        let worst = |capacity| crate::responses(kept, capacity).max().unwrap();
        assert!(worst(capacity) <= bound && worst(capacity - 1) > bound, "{capacity}");
    }
}
