use ripstop_model::Timestamp;
use ripstop_shaping::{Arrivals, Promise, undecomposed_capacity};
use std::collections::VecDeque;

/// Work is counted in billionths of a request.
const REQUEST: u128 = 1_000_000_000;

/// One server that all tiers share: a request is served when no tier before its own has any, and
/// stands back as soon as one does. So no capacity is idle while somebody waits.
///
/// A request belongs to the first tier in which, with what is there of it and of the tiers before
/// it, it would end within the bound; if there is none, it is served last, without a bound. Those
/// that come later can make all but the first tier late, so what counts is what is measured.
struct SharedServer<'promise> {
    promise: &'promise Promise,
    capacity: u128,
    /// Of each tier, and of those without: when its requests arrived, oldest first.
    queues: Vec<VecDeque<Timestamp>>,
    /// What is left to do of each queue's oldest request.
    left: Vec<u128>,
    /// How many requests ended within each tier's bound.
    within: Vec<u64>,
}

impl<'promise> SharedServer<'promise> {
    fn new(promise: &'promise Promise, capacity: u64) -> Self {
        let tiers = promise.tiers().len();
        Self {
            promise,
            capacity: capacity.into(),
            queues: vec![VecDeque::new(); tiers + 1],
            left: vec![REQUEST; tiers + 1],
            within: vec![0; tiers],
        }
    }

    /// Works from a time on, so much.
    fn serve(&mut self, from: Timestamp, budget: u128) {
        let mut done = 0;
        for tier in 0..self.queues.len() {
            while let Some(arrival) = self.queues[tier].front() {
                let part = self.left[tier].min(budget - done);
                done += part;
                self.left[tier] -= part;
                if self.left[tier] > 0 {
                    return;
                }
                let waited = u128::from(from.as_nanos() - arrival.as_nanos()) * self.capacity;
                self.ended(waited + done);
                self.queues[tier].pop_front();
                self.left[tier] = REQUEST;
            }
        }
    }

    /// Counts a request that ended when the server could have done so much since its arrival.
    fn ended(&mut self, response: u128) {
        for (count, tier) in self.within.iter_mut().zip(self.promise.tiers()) {
            *count += u64::from(response <= tier.bound().as_nanos() * self.capacity);
        }
    }

    fn take(&mut self, now: Timestamp) {
        let mut backlog = REQUEST;
        let fits = self.promise.tiers().iter().enumerate().position(|(at, tier)| {
            let waiting = self.queues[at].len() as u128;
            backlog += (waiting * REQUEST).saturating_sub(REQUEST - self.left[at]);
            backlog <= tier.bound().as_nanos() * self.capacity
        });
        self.queues[fits.unwrap_or(self.promise.tiers().len())].push_back(now);
    }

    /// How many requests end within each tier's bound.
    fn play(mut self, arrivals: Arrivals<'_>) -> Vec<u64> {
        let mut last = arrivals.first();
        for now in arrivals.times() {
            self.serve(last, now.since(last).as_nanos() * self.capacity);
            self.take(*now);
            last = *now;
        }
        self.serve(last, u128::MAX);
        self.within
    }
}

/// The smallest capacity, in requests a second, with which one server that all tiers share keeps a
/// promise, as far as bisection finds it: with this capacity it does, with one less it does not.
pub fn shared_capacity(arrivals: Arrivals<'_>, promise: &Promise) -> u64 {
    let keeps = |capacity: u64| {
        let within = SharedServer::new(promise, capacity).play(arrivals);
        let mut pairs = within.iter().zip(promise.tiers());
        pairs.all(|(count, tier)| *count >= tier.fraction().of(arrivals.count()))
    };
    let (mut low, mut high) = (0, undecomposed_capacity(arrivals, promise.tiers()).max(1));
    while !keeps(high) {
        (low, high) = (high, high.saturating_mul(2));
    }
    let rate = u128::from(arrivals.count()) * 500_000_000 / arrivals.span().as_nanos().max(1);
    if let Ok(rate) = u64::try_from(rate)
        && rate > low
        && rate < high
        && !keeps(rate)
    {
        low = rate;
    }
    while high - low > 1 {
        let middle = low.midpoint(high);
        if keeps(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(millis: &[u64]) -> Vec<Timestamp> {
        millis.iter().map(|millis| Timestamp::from_nanos(millis * 1_000_000)).collect()
    }

    #[test]
    fn the_first_tier_goes_ahead_and_nobody_waits_for_an_idle_server() {
        // At 100 a second: 0 and 1 are primary; the third waits for both, and stands back again at
        // 15 ms.
        let times = times(&[0, 0, 0, 15]);
        let arrivals = Arrivals::new(&times).unwrap();
        let promise: Promise = "0.75:20ms,1:40ms".parse().unwrap();
        assert_eq!(SharedServer::new(&promise, 100).play(arrivals), [3, 4]);
        let promise: Promise = "0.75:20ms,1:39ms".parse().unwrap();
        assert_eq!(SharedServer::new(&promise, 100).play(arrivals), [3, 3]);
    }

    #[test]
    fn with_one_tier_it_is_the_capacity_of_decomposition() {
        let times = times(&[0, 0, 0, 2, 9, 10, 30, 31, 31, 33, 80]);
        let arrivals = Arrivals::new(&times).unwrap();
        for fraction in ["0.5", "0.8", "1"] {
            let promise: Promise = format!("{fraction}:10ms").parse().unwrap();
            let plan = ripstop_shaping::CapacityPlan::new(
                arrivals,
                &promise,
                ripstop_shaping::Rule::Exact,
            );
            assert_eq!(shared_capacity(arrivals, &promise), plan.total(), "{fraction}");
        }
    }
}
