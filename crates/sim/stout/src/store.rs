use core::time::Duration;
use libm::exp;
use ripstop_delay::Dice;
use std::collections::VecDeque;

/// No cycle is as long as if the store had less than this share to spare.
const SPARE_MIN: f64 = 0.05;

/// What a batch takes at a store: a fixed part and a part for each member, times a lognormal
/// variation of mean 1.
///
/// A share of that overlaps with other batches; for the rest the store serves one batch at a time,
/// first come, first served.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Store {
    /// The fixed part, in milliseconds.
    pub fixed_ms: f64,
    /// The part for each member, in milliseconds.
    pub each_ms: f64,
    /// Deviation of the variation's logarithm.
    pub deviation: f64,
    /// Share by which each batch that waits makes a service longer.
    pub slowdown: f64,
    /// Share in which the store is free for other batches: 0 serves one at a time, 1 all side by
    /// side.
    pub overlap: f64,
}

impl Store {
    /// One batch at a time: 5 ms and 0.05 ms for each member.
    pub const SERIAL: Self =
        Self { fixed_ms: 5.0, each_ms: 0.05, deviation: 0.3, slowdown: 0.0, overlap: 0.0 };
    /// The same, 5 % slower for each batch that waits.
    pub const SLOWING: Self = Self { slowdown: 0.05, ..Self::SERIAL };
    /// All batches side by side, as buckets at a cloud do: 20 ms and 0.05 ms for each member.
    pub const PARALLEL: Self = Self { fixed_ms: 20.0, overlap: 1.0, ..Self::SERIAL };

    /// Writes a second that the store cannot exceed, however large batches are; infinite where none
    /// waits for another.
    pub fn capacity_per_s(&self) -> f64 {
        1e3 / ((1.0 - self.overlap) * self.each_ms)
    }

    /// The cycle of each of this many writers with one batch each and no interval, in milliseconds:
    /// what one batch of each takes, of the members that come in the meantime. For a load that is
    /// less than the capacity.
    pub fn cycle_ms(&self, writers: u32, load_per_s: f64) -> f64 {
        let writers = f64::from(writers);
        let rate = load_per_s / writers / 1e3;
        let of = |at_once: f64| {
            let left = 1.0 - at_once * rate * self.each_ms;
            at_once * self.fixed_ms / left.max(SPARE_MIN)
        };
        of(1.0).max(of(writers * (1.0 - self.overlap)))
    }

    /// What a batch takes on average, waiting aside.
    pub(crate) fn cost_mean_ms(&self, members: u64) -> f64 {
        self.fixed_ms + self.each_ms * members as f64
    }

    /// What a batch takes, waiting aside.
    pub(crate) fn cost_ms(&self, members: u64, dice: &mut Dice) -> f64 {
        let normal = dice.normal();
        let variation = exp(self.deviation * normal - 0.5 * self.deviation * self.deviation);
        self.cost_mean_ms(members) * variation
    }
}

/// A batch at the store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit<B> {
    pub(crate) batch: B,
    pub(crate) cost_ms: f64,
}

/// The part of a store that serves one at a time.
#[derive(Debug)]
pub(crate) struct Server<B> {
    waiting: VecDeque<Visit<B>>,
    serving: Option<B>,
}

impl<B: Copy> Server<B> {
    pub(crate) fn new() -> Self {
        Self { waiting: VecDeque::new(), serving: None }
    }

    /// A batch comes; how long its service takes, if it begins at once.
    pub(crate) fn enter(&mut self, store: &Store, visit: Visit<B>) -> Option<Duration> {
        self.waiting.push_back(visit);
        if self.serving.is_some() { None } else { self.begin(store) }
    }

    /// The service ends: which, and how long the next one takes.
    pub(crate) fn end(&mut self, store: &Store) -> (B, Option<Duration>) {
        let served = self.serving.take().expect("a service ends that has begun");
        (served, self.begin(store))
    }

    fn begin(&mut self, store: &Store) -> Option<Duration> {
        let visit = self.waiting.pop_front()?;
        self.serving = Some(visit.batch);
        let slower = 1.0 + store.slowdown * self.waiting.len() as f64;
        let took = (1.0 - store.overlap) * visit.cost_ms * slower;
        Some(Duration::from_secs_f64(took / 1e3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_that_waits_makes_a_service_longer() {
        let store = Store { slowdown: 0.5, ..Store::SERIAL };
        let mut server = Server::new();
        let visit = |batch| Visit { batch, cost_ms: 10.0 };
        let ms = |span: Option<Duration>| span.map(|span| span.as_millis());
        assert_eq!(ms(server.enter(&store, visit(1))), Some(10));
        assert_eq!(ms(server.enter(&store, visit(2))), None);
        assert_eq!(ms(server.enter(&store, visit(3))), None);
        let (served, next) = server.end(&store);
        assert_eq!((served, ms(next)), (1, Some(15)), "the third waits");
        let (served, next) = server.end(&store);
        assert_eq!((served, ms(next)), (2, Some(10)));
        assert_eq!(server.end(&store), (3, None));
    }

    #[test]
    fn a_cycle_is_what_it_serves() {
        // 8 batches of 5 ms and 0.05 ms for each of the 250 members a second that a writer has.
        let cycle = Store::SERIAL.cycle_ms(8, 2000.0);
        assert!((cycle - 8.0 * (5.0 + 0.05 * 0.25 * cycle)).abs() < 1e-9);
        let alone = Store::PARALLEL.cycle_ms(8, 2000.0);
        assert!((alone - (20.0 + 0.05 * 0.25 * alone)).abs() < 1e-9);
    }
}
