use alloc::vec::Vec;

/// Points of a curve that only falls: (milliseconds, share that takes longer).
pub(crate) type Curve = [(f64, f64)];

/// What becomes of a request's tasks: e that start at once, any k of which suffice, and spare ones.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    /// The chance that the request takes longer than a time.
    pub curve: Vec<(f64, f64)>,
    /// Ds: mean time until k are done, milliseconds.
    pub delay_ms: f64,
    /// Mean lane time of the e tasks until then, milliseconds.
    pub lane_ms: f64,
}

/// Tasks that start later, where there is a lane for them.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Spares {
    pub count: usize,
    pub after_ms: f64,
    /// The chance that there is a lane.
    pub share: f64,
}

impl Course {
    /// The course of tasks whose delays are independent and have these points.
    pub(crate) fn of(points: &Curve, k: usize, e: usize, spares: Spares) -> Self {
        let (mut delay_ms, mut lane_ms) = (0.0, 0.0);
        let mut curve = Vec::with_capacity(points.len() + 1);
        curve.push((0.0, 1.0));
        // By how many are missing: the chance that the spare tasks are no help.
        let mut helpless: Vec<f64> = Vec::with_capacity(k + 1);
        for pair in points.windows(2) {
            let span = pair[1].0 - pair[0].0;
            let longer = f64::midpoint(pair[0].1, pair[1].1);
            if longer <= 0.0 {
                break;
            }
            let at = f64::midpoint(pair[0].0, pair[1].0);
            let begun = spares.count > 0 && at > spares.after_ms;
            if begun {
                spares.helpless(longer_than(points, at - spares.after_ms), k, &mut helpless);
            }
            let (mut open, mut running) = (0.0, 0.0);
            for (done, chance) in chances(longer, e).take(k).enumerate() {
                let chance = if begun { chance * helpless[k - done] } else { chance };
                open += chance;
                running += chance * (e - done) as f64;
            }
            delay_ms += open * span;
            lane_ms += running * span;
            curve.push((at, open));
        }
        curve.push((points.last().map_or(0.0, |last| last.0), 0.0));
        Self { curve, delay_ms, lane_ms }
    }

    /// How long a request is open after a time, on average, milliseconds.
    pub(super) fn open_after_ms(&self, ms: f64) -> f64 {
        let open = |pair: &[(f64, f64)]| {
            let ((from, high), (until, low)) = (pair[0], pair[1]);
            (until - from.max(ms)).max(0.0) * f64::midpoint(high, low)
        };
        self.curve.windows(2).map(open).sum()
    }
}

impl Spares {
    /// By how many tasks are missing, up to k: the chance that fewer spare ones are done.
    fn helpless(&self, longer: f64, k: usize, chance_of: &mut Vec<f64>) {
        chance_of.clear();
        let mut fewer = 0.0;
        let mut done = chances(longer.max(1e-9), self.count);
        for _ in 0..=k {
            chance_of.push(1.0 - self.share + self.share * fewer);
            fewer = done.next().map_or(1.0, |chance| fewer + chance);
        }
    }
}

/// The chances that exactly 0, 1 … of this many are done, each of which is not done with this
/// chance.
fn chances(longer: f64, of: usize) -> impl Iterator<Item = f64> {
    let odds = (1.0 - longer) / longer;
    let mut chance = power(longer, of);
    (0..=of).map(move |done| {
        if done > 0 {
            chance *= odds * (of - done + 1) as f64 / done as f64;
        }
        chance
    })
}

/// x to a small whole power, the same on every platform.
pub(super) fn power(x: f64, exponent: usize) -> f64 {
    (0..exponent).fold(1.0, |product, _| product * x)
}

/// The chance that fewer than k of e tasks are done at this time.
pub(crate) fn still_open(points: &Curve, k: usize, e: usize, ms: f64) -> f64 {
    match longer_than(points, ms) {
        longer if longer > 0.0 => chances(longer, e).take(k).sum(),
        _ => 0.0,
    }
}

/// The share that takes longer than this.
pub(super) fn longer_than(points: &Curve, ms: f64) -> f64 {
    if ms < 0.0 {
        return 1.0;
    }
    let next = points.partition_point(|&(at, _)| at <= ms);
    let (Some(&(from, high)), Some(&(until, low))) =
        (points.get(next.wrapping_sub(1)), points.get(next))
    else {
        return 0.0;
    };
    straight((from, high), (until, low), ms)
}

/// The share at a time between two points.
pub(super) fn straight((from, high): (f64, f64), (until, low): (f64, f64), ms: f64) -> f64 {
    high + (low - high) * (ms - from) / (until - from).max(1e-9)
}

/// The first point that at most this share takes longer than, milliseconds.
pub(super) fn exceeded_by(points: &Curve, share: f64) -> f64 {
    points.iter().find(|point| point.1 <= share).map_or(0.0, |point| point.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Survival e^-t in steps of 0.01.
    fn exponential() -> Vec<(f64, f64)> {
        (0..=2000).map(|i| (f64::from(i) / 100.0, libm::exp(-f64::from(i) / 100.0))).collect()
    }

    #[test]
    fn order_statistics_of_exponential_delays_are_harmonic_sums() {
        let points = exponential();
        for (k, e) in [(1, 1), (1, 2), (2, 3), (6, 12), (12, 24)] {
            let harmonic: f64 = (e - k + 1..=e).map(|i| 1.0 / i as f64).sum();
            let course = Course::of(&points, k, e, Spares::default());
            let (delay, lane) = (course.delay_ms, course.lane_ms);
            assert!((delay / harmonic - 1.0).abs() < 1e-3, "({k},{e}): {delay} {harmonic}");
            // Each of the k that end takes its mean off the lanes' time.
            assert!((lane / k as f64 - 1.0).abs() < 1e-3, "({k},{e}): {lane}");
            assert!((course.open_after_ms(0.0) / delay - 1.0).abs() < 1e-3);
            let open = still_open(&points, k, e, delay);
            assert!((longer_than(&course.curve, delay) - open).abs() < 0.01);
        }
    }

    #[test]
    fn spare_tasks_that_surely_start_at_once_are_as_good_as_any() {
        let points = exponential();
        let spares = |after_ms, share| Spares { count: 2, after_ms, share };
        let delay = |e, spares| Course::of(&points, 2, e, spares).delay_ms;
        let (few, all) = (delay(2, Spares::default()), delay(4, Spares::default()));
        assert!((delay(2, spares(0.0, 1.0)) - all).abs() < 1e-9);
        assert!((delay(2, spares(0.0, 0.0)) - few).abs() < 1e-9);
        assert!((delay(2, spares(0.0, 0.5)) - f64::midpoint(few, all)).abs() < 1e-9);
        // What has no memory gains as much by a spare task from half a unit on, if it is open then.
        let single = Course::of(&points, 1, 1, Spares { count: 1, after_ms: 0.5, share: 1.0 });
        let expected = 1.0 - 0.5 * libm::exp(-0.5);
        assert!((single.delay_ms - expected).abs() < 0.01, "{}", single.delay_ms);
    }
}
