use core::time::Duration;
use ripstop_model::Timestamp;

/// Bytes that are moved each second at most, unless it is said how many.
pub const MOVE_RATE_MAX: u64 = 8 << 20;
/// How long nothing must have changed before strays are brought home, unless it is said.
pub const HOME_AFTER: Duration = Duration::from_mins(1);
/// How often a mover that gives way looks whether the pool still has a backlog.
const GIVE_WAY: Duration = Duration::from_millis(20);
/// How long it gives way for one fragment at most: a backlog may be there just because of what is
/// to be moved.
const GIVE_WAY_MAX: Duration = Duration::from_secs(1);

/// When a mover may move the next fragment: once those before are paid for at its rate, and behind
/// what waits for the pool's nodes.
#[derive(Clone, Copy, Debug)]
pub struct MovePace {
    /// Bytes each second.
    rate: u64,
    /// When what was moved will be paid for at this rate.
    paid_until: Timestamp,
    /// Until when it gives way for the next fragment, once it has begun to.
    gives_way_until: Option<Timestamp>,
}

impl MovePace {
    /// At most this many bytes each second.
    ///
    /// # Panics
    /// If that is none.
    pub fn new(now: Timestamp, rate: u64) -> Self {
        assert!(rate > 0, "a mover that moves nothing");
        Self { rate, paid_until: now, gives_way_until: None }
    }

    /// How long to wait before asking again; `None`: the next fragment may go now.
    pub fn wait(&mut self, now: Timestamp, has_backlog: bool) -> Option<Duration> {
        let unpaid = self.paid_until.since(now);
        if self.gives_way_until.is_none() && !unpaid.is_zero() {
            return Some(unpaid);
        }
        let until = *self.gives_way_until.get_or_insert(now + GIVE_WAY_MAX);
        if now < until && has_backlog {
            return Some(GIVE_WAY);
        }
        self.gives_way_until = None;
        None
    }

    /// A fragment of this many bytes was moved.
    pub fn moved(&mut self, now: Timestamp, bytes: u64) {
        let takes = Duration::from_secs_f64(bytes as f64 / self.rate as f64);
        self.paid_until = self.paid_until.max(now) + takes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn bytes_are_paid_for_and_time_without_moves_is_not_saved_up() {
        let mut pace = MovePace::new(at(0), 1000);
        assert_eq!(pace.wait(at(0), false), None);
        pace.moved(at(100), 500);
        assert_eq!(pace.wait(at(200), false), Some(Duration::from_millis(400)));
        assert_eq!(pace.wait(at(600), false), None);
        pace.moved(at(5000), 500);
        assert_eq!(pace.wait(at(5000), false), Some(Duration::from_millis(500)));
    }

    #[test]
    fn a_backlog_is_given_way_to_for_a_second_for_each_fragment() {
        let mut pace = MovePace::new(at(0), 1000);
        assert_eq!(pace.wait(at(0), true), Some(GIVE_WAY));
        assert_eq!(pace.wait(at(980), true), Some(GIVE_WAY));
        assert_eq!(pace.wait(at(1000), true), None);
        assert_eq!(pace.wait(at(1000), true), Some(GIVE_WAY), "it is another fragment");
        assert_eq!(pace.wait(at(1020), false), None);
    }
}
