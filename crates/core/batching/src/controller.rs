use core::{fmt::Debug, time::Duration};
use ripstop_model::Timestamp;

/// Decides how long to wait for company. Looks at no clock and throws no dice.
pub trait Controller: Send + Debug {
    /// When the next batch may depart.
    fn rhythm(&self) -> Rhythm;

    /// Takes note of how a batch went, as it was committed; failed ones teach nothing.
    fn learn(&mut self, _now: Timestamp, _course: &BatchCourse) {}

    /// Takes note of how many batchers, this one among them, share the store.
    fn count_writers(&mut self, _writers: u32) {}
}

/// When the next batch may depart, given that something waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rhythm {
    /// This long after the last end, when no more is outstanding than may be.
    AfterEnd(Duration),
    /// This long after the last departure, whatever is outstanding.
    Every(Duration),
    /// At once, each member in a batch of its own, whatever is outstanding.
    Alone,
}

/// How a batch went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BatchCourse {
    /// Members that are answered with it.
    pub came: usize,
    /// Those of them that left: the others were collapsed.
    pub left: usize,
    /// Bytes that left.
    pub bytes: u64,
    /// From the end before to its departure: the interval and what the batcher idled. None for the
    /// first.
    pub held: Option<Duration>,
    /// From its departure to its end.
    pub latency: Duration,
    /// From the departure before to its own; none for the first.
    pub since_departure: Option<Duration>,
}
