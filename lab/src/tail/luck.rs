//! How much of what was measured is luck.

use ripstop_experiment::{Delays, Outcome};
use ripstop_figure::Estimate;

/// Blocks of a run that are left out, one at a time. They have to last much longer than a queue is
/// remembered, and there must be enough of them.
const BLOCKS: usize = 20;

/// The delays of a run, and what they are without each of its blocks.
pub(super) struct Sample {
    pub whole: Delays,
    without: Vec<Delays>,
}

/// A ratio, and half its 95 % confidence interval if that is known.
#[derive(Clone, Copy)]
pub(super) struct Ratio {
    pub value: f64,
    pub half_width: Option<f64>,
}

impl Sample {
    pub(super) fn of(outcome: &Outcome) -> Self {
        let took = &outcome.took_ns;
        let bound = |block: usize| took.len() * block / BLOCKS;
        let without = |block: usize| {
            let mut rest = [&took[..bound(block)], &took[bound(block + 1)..]].concat();
            Delays::of(&mut rest)
        };
        let blocks = if took.len() < BLOCKS { 0 } else { BLOCKS };
        Self { whole: outcome.delay(), without: (0..blocks).map(without).collect() }
    }

    /// A measure over that of another run with the same arrivals, whose blocks are the same part of
    /// the time: what a surge does to both says nothing of the ratio. The error is the jackknife's.
    pub(super) fn over(&self, other: &Self, measure: fn(&Delays) -> f64) -> Ratio {
        let value = measure(&self.whole) / measure(&other.whole);
        let blocks = self.without.len().min(other.without.len()) as f64;
        let pairs = self.without.iter().zip(&other.without);
        let pseudo = pairs.map(|(above, below)| {
            let without = measure(above) / measure(below);
            blocks * value - (blocks - 1.0) * without
        });
        let estimate = Estimate::of(&pseudo.collect::<Vec<_>>());
        let half_width = estimate.map(|estimate| estimate.half_width);
        Ratio { value, half_width: half_width.filter(|half| half.is_finite()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_delay::Dice;

    const COUNT: usize = 4000;
    const PAIRS: u64 = 30;

    fn exponential(seed: u64, count: usize) -> Sample {
        let mut dice = Dice::new(seed);
        let took_ns = (0..count).map(|_| (1e8 * dice.exponential()) as u64).collect();
        Sample::of(&Outcome { took_ns, ..Outcome::default() })
    }

    #[test]
    fn the_interval_of_independent_delays_is_that_of_their_order_statistics() {
        // Relative errors of mean and p99: 1/√n, and √(99/n)/ln 100.
        let p99_error = 99_f64.sqrt() / 100_f64.ln();
        is_as_wide_as(|delays| delays.mean_ms, 1.0);
        is_as_wide_as(|delays| delays.p99_ms, p99_error);
    }

    fn is_as_wide_as(measure: fn(&Delays) -> f64, error_of_one: f64) {
        let ratio = |pair: u64| {
            exponential(2 * pair, COUNT).over(&exponential(2 * pair + 1, COUNT), measure)
        };
        let ratios: Vec<Ratio> = (0..PAIRS).map(ratio).collect();
        let halves: f64 = ratios.iter().filter_map(|ratio| ratio.half_width).sum();
        let expected = 2.09 * (2.0 / COUNT as f64).sqrt() * error_of_one;
        let mean = halves / PAIRS as f64;
        assert!((mean / expected - 1.0).abs() < 0.2, "{mean} {expected}");
        let covers = |ratio: &&Ratio| (ratio.value - 1.0).abs() <= ratio.half_width.unwrap();
        let covering = ratios.iter().filter(covers).count();
        assert!(covering >= 25, "{covering} of {PAIRS}");
    }

    #[test]
    fn a_surge_that_both_meet_is_no_error() {
        let took_ns: Vec<u64> =
            (0..4000).map(|at| if at < 1000 { 900 } else { 100 + at % 7 }).collect();
        let slower = took_ns.iter().map(|took| took * 2).collect();
        let [one, other] =
            [took_ns, slower].map(|took_ns| Sample::of(&Outcome { took_ns, ..Outcome::default() }));
        let ratio = other.over(&one, |delays| delays.mean_ms);
        assert!((ratio.value - 2.0).abs() < 1e-9 && ratio.half_width.unwrap() < 1e-9);
    }

    #[test]
    fn few_requests_tell_nothing_of_the_error() {
        let few = exponential(1, 10);
        assert!(few.over(&few, |delays| delays.mean_ms).half_width.is_none());
    }
}
