use super::course::{Course, longer_than};

/// The load of a pool, as far as an outlook depends on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pool {
    pub lanes: f64,
    /// Smoothed lanes that no task which starts at once holds or waits for.
    pub free: f64,
    /// Work that arrives: lane time without redundancy over time, lanes.
    pub offered: f64,
    /// Smoothed lane time that a cancellation costs, milliseconds.
    pub stopping_ms: f64,
    /// The price of lane time at the last request: own milliseconds for each of a lane.
    pub price: f64,
}

impl Pool {
    /// ρ: the load that arrives, per lane.
    pub(super) fn rho(self) -> f64 {
        self.offered / self.lanes
    }

    /// The price of lane time while this many lanes are free: lower with more than usual, higher
    /// with fewer.
    pub(super) fn price_now(self, free: f64) -> f64 {
        let (low, high) = MOMENT_FADES;
        let weight = MOMENT * ((high - self.rho()) / (high - low)).clamp(0.0, 1.0);
        self.price * (1.0 + weight * (self.free - free) / self.lanes).max(MOMENT_LEAST)
    }
}

/// How much the price changes for each share of the lanes by which those that are free now differ
/// from what is usual.
const MOMENT: f64 = 1.5;
/// Loads between which that fades: near saturation few lanes are free at any time, and many want
/// them next.
const MOMENT_FADES: (f64, f64) = (0.45, 0.65);
/// The least share of the price that is left, however many lanes are free.
const MOMENT_LEAST: f64 = 0.2;

/// Load below which lanes mostly lie free, and lane time costs others next to nothing.
const QUIET_BELOW: f64 = 0.2;

/// q: how quiet it is, from 1 where nothing arrives to 0 at a load of [`QUIET_BELOW`].
pub(super) fn quiet(rho: f64) -> f64 {
    (1.0 - rho / QUIET_BELOW).max(0.0)
}

/// How requests share the lanes if all are like one: others are there in a Poisson number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crowd {
    /// Requests that are there, on average.
    pub others: f64,
    /// Lanes that one holds with tasks that do not give way, on average.
    pub each: f64,
    /// Lanes of the pool.
    pub lanes: f64,
}

/// Most others that are counted: with more, waiting is not a matter of luck.
const OTHERS_MAX: f64 = 500.0;
/// Waits that are told apart.
const WAITS: usize = 16;
/// How long a task waits that finds all lanes taken: of the request's own delay, for each share of
/// the lanes that are lacking.
const LACK: f64 = 1.0;

/// A request that comes upon a crowd.
#[derive(Clone, Copy, Debug)]
pub(super) struct Comer {
    /// Tasks that it starts at once.
    pub at_once: f64,
    /// Lanes that each of the others holds with spare tasks, which have to be cancelled first, on
    /// average.
    pub spares: f64,
    /// What that takes, milliseconds.
    pub stopping_ms: f64,
}

impl Crowd {
    /// The chance of each number of others.
    fn chances(self) -> impl Iterator<Item = (f64, f64)> {
        let others = self.others.min(OTHERS_MAX);
        let mut chance = libm::exp(-others);
        let most = others + 6.0 * libm::sqrt(others) + 8.0;
        (0..most as usize).map(move |count| {
            if count > 0 {
                chance *= others / count as f64;
            }
            (count as f64, chance)
        })
    }

    /// The share of its wanted spare tasks that a request finds a lane for, everybody's first
    /// before anybody's second; `wanting` is the share of the requests that want any.
    pub(super) fn spare_share(self, wanted: usize, wanting: f64) -> f64 {
        let of = |(others, chance): (f64, f64)| {
            let free = (self.lanes - self.each * (others + 1.0)).max(0.0);
            chance * (free / ((others + 1.0) * wanting.max(0.01))).min(wanted as f64)
        };
        self.chances().map(of).sum::<f64>() / wanted as f64
    }

    /// How many tasks of a request find no lane if each of this many others holds that many.
    fn lacking(self, at_once: f64, others: f64, each: f64) -> f64 {
        (at_once - self.lanes + each * others).max(0.0)
    }

    /// Mean wait for lanes that others hold, milliseconds.
    pub(super) fn wait_ms(self, at_once: f64, delay_ms: f64) -> f64 {
        let of = |(others, chance)| chance * self.lacking(at_once, others, self.each);
        LACK * self.chances().map(of).sum::<f64>() / self.lanes * delay_ms
    }

    /// The share of a request's tasks that find no lane if each of this many others holds that
    /// many.
    fn held(self, at_once: f64, others: f64, each: f64) -> f64 {
        (self.lacking(at_once, others, each) / at_once).min(1.0)
    }

    /// Mean wait for spare tasks to be cancelled, milliseconds. They end one by one: half a
    /// cancellation, on average.
    pub(super) fn stopping_wait_ms(self, comer: Comer) -> f64 {
        let held = |others: f64, each: f64| self.held(comer.at_once, others, each);
        let by_spares = |(others, chance): (f64, f64)| {
            chance * (held(others, self.each + comer.spares) - held(others, self.each))
        };
        comer.stopping_ms / 2.0 * self.chances().map(by_spares).sum::<f64>()
    }

    /// The time within which 99 of 100 requests are done that come upon it, their waiting for lanes
    /// included.
    pub(super) fn p99_ms(self, course: &Course, comer: Comer) -> f64 {
        let wait = |others: f64| {
            let lacking = self.lacking(comer.at_once, others, self.each);
            let for_lanes = LACK * lacking / self.lanes * course.delay_ms;
            let held = self.held(comer.at_once, others, self.each + comer.spares);
            for_lanes.max(comer.stopping_ms * held)
        };
        let longest = self.chances().last().map_or(0.0, |(others, _)| wait(others));
        // Chance and mean wait, by how long it is.
        let mut waits = [(0.0, 0.0); WAITS + 1];
        for (others, chance) in self.chances() {
            let ms = wait(others);
            let of_longest = if longest > 0.0 { ms / longest } else { 0.0 };
            let slot = &mut waits[libm::ceil(of_longest * WAITS as f64) as usize];
            *slot = (slot.0 + chance, slot.1 + chance * ms);
        }
        let open = |ms: f64| -> f64 {
            let there = waits.iter().filter(|(chance, _)| *chance > 0.0);
            there.map(|&(chance, sum)| chance * longer_than(&course.curve, ms - sum / chance)).sum()
        };
        let most = course.curve.last().map_or(0.0, |last| last.0) + longest;
        let (mut low, mut high) = (0.0, most);
        for _ in 0..24 {
            let middle = f64::midpoint(low, high);
            if open(middle) > 0.01 { low = middle } else { high = middle }
        }
        high
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backfill::course::Spares;

    const POINTS: [(f64, f64); 3] = [(0.0, 1.0), (10.0, 1.0), (20.0, 0.0)];

    fn p99_ms(others: f64, spares: f64, stopping_ms: f64) -> f64 {
        let course = Course::of(&POINTS, 1, 4, Spares::default());
        let crowd = Crowd { others, each: 4.0, lanes: 16.0 };
        crowd.p99_ms(&course, Comer { at_once: 4.0, spares, stopping_ms })
    }

    #[test]
    fn the_more_others_the_later_the_last_of_a_hundred() {
        let course = Course::of(&POINTS, 1, 4, Spares::default());
        let alone = p99_ms(0.0, 0.0, 0.0);
        assert!(longer_than(&course.curve, alone - 0.01) >= 0.01);
        assert!(longer_than(&course.curve, alone + 0.01) <= 0.01);
        let by_others = [0.0, 0.3, 1.0, 2.0, 8.0, 400.0].map(|others| p99_ms(others, 0.0, 0.0));
        assert!(by_others.is_sorted() && by_others[5] > by_others[0] + 10.0, "{by_others:?}");
        assert!(p99_ms(0.3, 4.0, 5.0) > p99_ms(0.3, 0.0, 5.0), "spare tasks have to end first");
    }

    #[test]
    fn spare_tasks_of_others_are_waited_for_half_a_cancellation_where_they_hold_the_rest() {
        let wait = |others, spares| {
            let comer = Comer { at_once: 4.0, spares, stopping_ms: 20.0 };
            Crowd { others, each: 1.0, lanes: 16.0 }.stopping_wait_ms(comer)
        };
        assert!(wait(8.0, 0.0).abs() < 1e-12, "nobody cancels for those that are needed");
        assert!(wait(0.1, 1.0) < 0.01, "there are idle lanes");
        // Eleven others, on average, hold 22 lanes with spare tasks and 11 without.
        assert!((6.9..7.1).contains(&wait(11.0, 1.0)), "{}", wait(11.0, 1.0));
        let idle = Crowd { others: 0.1, each: 1.0, lanes: 16.0 };
        assert!(idle.wait_ms(4.0, 50.0) < 0.01);
        assert!((Crowd { others: 400.0, ..idle }.wait_ms(4.0, 16.0) - 388.0).abs() < 1.0);
    }

    #[test]
    fn few_find_spare_lanes_where_many_are() {
        let share =
            |others, wanting| Crowd { others, each: 2.0, lanes: 16.0 }.spare_share(2, wanting);
        assert!(share(0.0, 1.0) > 1.0 - 1e-9 && share(7.0, 1.0) < 0.3);
        assert!(share(7.0, 0.1) > 2.0 * share(7.0, 1.0), "the fewer want one, the more get one");
    }
}
