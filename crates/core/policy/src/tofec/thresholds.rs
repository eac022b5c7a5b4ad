use super::{Demand, optimum::solve, queue};
use crate::{Limits, RequestClass};
use alloc::vec::Vec;
use ripstop_model::Code;

/// Which code is best at which length of the request queue: equation (14).
#[derive(Clone, PartialEq, Debug)]
pub struct Thresholds {
    /// Each possible k with the queue length from which a smaller one is better, largest k last.
    ks: Vec<(usize, f64)>,
    /// `ns[i]`: the queue length from which less than i + 1 tasks are better.
    ns: Vec<f64>,
}

impl Thresholds {
    /// The thresholds for requests of this class on this many lanes.
    pub fn new(demand: &Demand, lanes: usize, class: &RequestClass, limits: Limits) -> Self {
        let lanes = lanes as f64;
        let best_n = |r: f64| r * demand.best_k(r);
        let length = |r: f64| queue::length(demand.gain(r, demand.best_k(r)), lanes);
        let at_n = |n: usize| length(solve(n as f64, best_n));
        let at_k = |k: usize| length(solve(k as f64, |r| demand.best_k(r)));
        let possible: Vec<usize> = limits.ks(class).collect();
        let largest = *possible.last().expect("there is a possible k");
        let n_max = limits.n_max(class, largest);
        Self {
            ks: possible.iter().copied().zip(between(possible.iter().map(|&k| at_k(k)))).collect(),
            ns: between((1..=n_max).map(at_n)),
        }
    }

    /// Thresholds for n alone, k being set: those of the gains `g_n` = Ψ(B)·k / (Δ(B)·n(n−k))
    /// (Liang and Kozat: FAST CLOUD).
    pub fn of_dimension(
        demand: &Demand,
        lanes: usize,
        class: &RequestClass,
        limits: Limits,
        k: usize,
    ) -> Self {
        let (m, chunk) = (demand.model, demand.megabytes / k as f64);
        let (shift, mean) =
            (m.shift_ms + m.shift_ms_per_mb * chunk, m.mean_ms + m.mean_ms_per_mb * chunk);
        let at_n = |n: usize| {
            if n <= k {
                return f64::INFINITY;
            }
            let gain = mean * k as f64 / (shift * (n * (n - k)) as f64);
            queue::length(gain, lanes as f64)
        };
        let n_max = limits.n_max(class, k);
        Self { ks: [(k, 0.0)].into(), ns: between((1..=n_max).map(at_n)) }
    }

    /// The code for this mean length of the request queue: Algorithm 1, steps 2 and 3.
    pub fn code(&self, queue: f64, class: &RequestClass, limits: Limits) -> Code {
        let k = self.ks.iter().find(|&&(_, from)| queue >= from).map_or(1, |&(k, _)| k);
        let n = 1 + self.ns.iter().position(|&from| queue >= from).unwrap_or(0);
        limits.nearest(class, n, k)
    }

    /// Each possible k and the queue length H from which it is used (the next smaller from its
    /// own).
    pub fn ks(&self) -> &[(usize, f64)] {
        &self.ks
    }

    /// The queue length H from which n = i + 1 is used, by i.
    pub fn ns(&self) -> &[f64] {
        &self.ns
    }
}

/// `H_x` = (`Q_x` + `Q_(x+1)`)/2, the last 0.
fn between(lengths: impl Iterator<Item = f64>) -> Vec<f64> {
    let lengths: Vec<f64> = lengths.collect();
    let mut thresholds: Vec<f64> =
        lengths.windows(2).map(|pair| f64::midpoint(pair[0], pair[1]).max(0.0)).collect();
    thresholds.push(0.0);
    // A model far from any real one may not be monotonic: a larger code never starts later.
    for at in (1..thresholds.len()).rev() {
        thresholds[at - 1] = thresholds[at - 1].max(thresholds[at]);
    }
    thresholds
}
