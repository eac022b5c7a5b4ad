use crate::{
    Survival,
    bin::{BINS, Bin, begin_of, bin_of},
};
use alloc::boxed::Box;

/// Once this many tasks have ended, older ones are forgotten by halves.
const FORGET_ABOVE: f64 = 4000.0;
/// Points that stand for a bin where it is moved.
const POINTS: usize = 4;

/// How many tasks ended in each range of delays, and how many were cancelled while they would have.
///
/// Coarser than [`Quantiles`](crate::Quantiles), since it is looked at as a whole, and of what was
/// cancelled too, for which that has no place.
#[derive(Clone, Debug)]
pub struct Bins {
    ended: f64,
    bins: Box<[Bin; BINS]>,
}

impl Default for Bins {
    fn default() -> Self {
        Self { ended: 0.0, bins: Box::new([Bin::default(); BINS]) }
    }
}

impl Bins {
    /// Tasks that ended, older ones counted for less.
    pub fn ended(&self) -> f64 {
        self.ended
    }

    /// Takes in that a task ended, or was cancelled, after this many milliseconds.
    pub fn add(&mut self, ms: f64, finished: bool) {
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

    /// Takes in what others hold, each delay moved to where it would be here.
    pub fn add_moved(&mut self, others: &Self, moved: impl Fn(f64) -> f64) {
        for (index, bin) in others.bins.iter().enumerate() {
            if bin.ended + bin.cancelled == 0.0 {
                continue;
            }
            let (from, until) = (begin_of(index), begin_of(index + 1));
            for point in 0..POINTS {
                let share = (point as f64 + 0.5) / POINTS as f64;
                let ms = from + (until - from) * share;
                let to = &mut self.bins[bin_of(moved(ms))];
                to.ended += bin.ended / POINTS as f64;
                to.cancelled += bin.cancelled / POINTS as f64;
            }
        }
        self.ended += others.ended;
    }

    /// The share of tasks that take longer than a time. Nothing is told of delays that fewer tasks
    /// than this are known to have been at risk of.
    pub fn survival(&self, at_risk_min: f64) -> Survival {
        Survival::of(&self.bins, at_risk_min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_in_the_bin_that_begins_before_it() {
        for ms in [0.2, 1.0, 1.1, 3.0, 50.0, 999.0, 20_000.0] {
            let bin = bin_of(ms);
            assert!(begin_of(bin) <= ms && ms <= begin_of(bin + 1) * (1.0 + 1e-9), "{ms}");
        }
        assert_eq!(bin_of(1e9), BINS - 1);
    }

    #[test]
    fn what_is_moved_is_as_many_and_as_much_later() {
        let mut bins = Bins::default();
        (0..100).for_each(|i| bins.add(10.0 + f64::from(i) / 10.0, i % 4 > 0));
        let mut moved = Bins::default();
        moved.add_moved(&bins, |ms| 3.0 * ms);
        let mean = |bins: &Bins| bins.survival(1.0).mean();
        assert!((moved.ended() - bins.ended()).abs() < 1e-9);
        assert!((mean(&moved) / mean(&bins) / 3.0 - 1.0).abs() < 0.05, "{}", mean(&moved));
    }

    #[test]
    fn the_old_is_forgotten_by_halves() {
        let mut bins = Bins::default();
        (0..4001).for_each(|_| bins.add(5.0, true));
        assert!((bins.ended() - 2000.5).abs() < 1e-9);
    }
}
