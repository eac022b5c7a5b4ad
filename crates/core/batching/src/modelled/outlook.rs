//! The mean delay of a member under an interval, and the interval with the least.
//!
//! Let v be interval and latency together, and λ the rate at which members come. A batcher that is
//! idle then waits for the first member, e^(−λv)/λ on average; so a cycle takes C = v + e^(−λv)/λ
//! and brings n = λC members. Those that come within v wait for its end, which makes v²/2C for each
//! of the n; all then wait for the latency. From C follow the size of a batch, what it costs, and
//! by [`Ring::wait_in_cycle`] how long it waits, so the latency L; the interval is v − L, and there
//! is none for a v with v < L.

use super::{cost::Cost, keys::Keys, ring::Ring};
use libm::{exp, pow};

/// Values of v that are tried, in equal ratios.
const TRIED: u32 = 64;
/// Steps in which the least and the end of what is possible are found between two of them.
const NARROWED: u32 = 10;
/// Rounds in which cost and queue are brought together.
const ROUNDS: u32 = 8;
/// The shortest v that is tried, in lone costs.
const SHORTEST: f64 = 0.5;
const GOLDEN: f64 = 0.618_033_988_749_895;

/// What is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outlook {
    pub(super) ring: Ring,
    pub(super) overlap: f64,
    pub(super) cost: Cost,
    /// Members a millisecond.
    pub(super) rate: f64,
    pub(super) keys: Keys,
    pub(super) members_max: f64,
}

/// What comes of an interval.
#[derive(Clone, Copy, Debug)]
struct Expected {
    interval: f64,
    delay: f64,
}

impl Outlook {
    /// The interval up to this one with the least mean delay; none if the store cannot serve what
    /// comes.
    pub(super) fn best_interval(&self, most: f64) -> Option<f64> {
        let shortest = SHORTEST * self.cost.of(1.0, 0.0);
        let longest = most + self.cost.of(1.0, 0.0);
        let ratio = pow(longest / shortest, 1.0 / f64::from(TRIED)).max(1.0 + 1e-9);
        let mut best: Option<(f64, Expected)> = None;
        let mut before: Option<f64> = None;
        let mut v = shortest;
        let better = |best: &mut Option<(f64, Expected)>, v: f64, expected: Option<Expected>| {
            let Some(expected) = expected.filter(|it| it.interval <= most) else { return };
            if best.is_none_or(|(_, known)| expected.delay < known.delay) {
                *best = Some((v, expected));
            }
        };
        for _ in 0..=TRIED {
            let expected = self.expected(v);
            match (before, expected) {
                (Some(impossible), Some(_)) => {
                    let edge = self.edge(impossible, v);
                    better(&mut best, edge, self.expected(edge));
                    before = None;
                }
                (_, None) => before = Some(v),
                (None, Some(_)) => {}
            }
            better(&mut best, v, expected);
            v *= ratio;
        }
        let (near, _) = best?;
        let (mut low, mut high) = (near / ratio, near * ratio);
        for _ in 0..NARROWED {
            let inner = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)];
            let expected = inner.map(|v| self.expected(v));
            inner.into_iter().zip(expected).for_each(|(v, it)| better(&mut best, v, it));
            let delay = |at: usize| expected[at].map_or(f64::INFINITY, |it: Expected| it.delay);
            if delay(0) < delay(1) {
                high = inner[1];
            } else {
                low = inner[0];
            }
        }
        best.map(|(_, expected)| expected.interval)
    }

    /// The least v between one that is impossible and one that is not: no interval, where the
    /// store has time to idle.
    fn edge(&self, mut impossible: f64, mut possible: f64) -> f64 {
        for _ in 0..NARROWED {
            let middle = 0.5 * (impossible + possible);
            *(if self.expected(middle).is_some() { &mut possible } else { &mut impossible }) =
                middle;
        }
        possible
    }

    fn expected(&self, v: f64) -> Option<Expected> {
        let lone = exp(-self.rate * v);
        let cycle = v + lone / self.rate;
        let came = self.rate * cycle;
        if came > self.members_max {
            return None;
        }
        let left = self.keys.left(came);
        let ring = self.ring.with_lone(lone);
        let (mut queue, mut cost, mut latency, mut variance) = (0.0, 0.0, 0.0, 0.0);
        for _ in 0..ROUNDS {
            cost = self.cost.of(left, queue);
            let service = (1.0 - self.overlap) * cost;
            let wait = ring.wait_in_cycle(service, cycle)?;
            latency = cost + wait.mean;
            variance = wait.variance;
            queue = wait.mean * (ring.others + 1.0) / cycle;
            if self.cost.slowdown <= 0.0 {
                break;
            }
        }
        variance += self.ring.variation * cost * cost;
        let interval = v - latency;
        let delay = 0.5 * (v * v + variance) / cycle + latency;
        (interval >= 0.0).then_some(Expected { interval, delay })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outlook(writers: f64, rate: f64, overlap: f64) -> Outlook {
        Outlook {
            ring: Ring { others: writers - 1.0, variation: 0.094 },
            overlap,
            cost: Cost { fixed: 5.0, each: 0.05, slowdown: 0.0 },
            rate: rate / writers / 1e3,
            keys: Keys::seen(1.0, 1.0),
            members_max: 4096.0,
        }
    }

    #[test]
    fn who_is_alone_or_shares_what_does_not_queue_waits_for_no_company() {
        for load in [5.0, 50.0, 500.0, 5000.0, 15_000.0, 18_000.0] {
            for (writers, overlap) in [(1.0, 0.0), (8.0, 1.0), (32.0, 1.0)] {
                let interval = outlook(writers, load, overlap).best_interval(5000.0).unwrap();
                assert!(interval < 0.1, "{writers} writers, {load}/s: {interval}");
            }
        }
    }

    #[test]
    fn writers_that_share_a_busy_store_hold_back_about_what_the_others_take() {
        let interval = outlook(8.0, 2000.0, 0.0).best_interval(5000.0).unwrap();
        // Seven others of about 5.7 ms.
        assert!((35.0..50.0).contains(&interval), "{interval}");
        let busy = outlook(8.0, 16_000.0, 0.0).best_interval(5000.0).unwrap();
        assert!((120.0..200.0).contains(&busy), "{busy}");
        assert_eq!(outlook(8.0, 25_000.0, 0.0).best_interval(5000.0), None, "overloaded");
    }

    #[test]
    fn at_light_load_nobody_waits() {
        let interval = outlook(32.0, 20.0, 0.0).best_interval(5000.0).unwrap();
        assert!(interval < 0.5, "{interval}");
    }
}
