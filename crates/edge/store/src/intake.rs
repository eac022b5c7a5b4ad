//! How fast a body comes, and what follows from that for the stripe that is filled next.

use std::time::Duration;

/// A stripe is planned so that it fills in this time at the pace its body has come so far: for that
/// long it may hold memory that others wait for.
const FILL_TIME: Duration = Duration::from_secs(4);
/// Least payload that a stripe is planned for, however slowly its body comes, unless the body ends
/// before.
const PAYLOAD_MIN: u32 = 256 << 10;
/// A stripe that others wait for is left alone for this long, and after it as long as it comes half
/// as fast as was planned.
const LEFT_ALONE: Duration = Duration::from_secs(1);
/// A stripe that is closed before it is full has at least this payload; a body that brought less in
/// its time is refused.
pub(crate) const CLOSED_MIN: u32 = 64 << 10;

/// What came of a body, and how long it was waited for. Only time spent waiting counts: a sender is
/// not slow because we are.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Pace {
    waited: Duration,
    came: u64,
    begun: bool,
}

impl Pace {
    /// `bytes` came, after this wait. The wait for the first bytes says nothing of how fast a body
    /// comes.
    pub(crate) fn note(&mut self, bytes: usize, waited: Duration) {
        if self.begun {
            self.waited += waited;
        }
        self.begun = true;
        self.came += bytes as u64;
    }

    /// Payload of the next stripe, of which `whole` bytes at most are to come: all of them if the
    /// body comes fast enough.
    pub(crate) fn plan(&self, whole: u32) -> u32 {
        match self.in_time(FILL_TIME) {
            Some(bytes) if bytes < u64::from(whole) => {
                (bytes as u32).next_multiple_of(CLOSED_MIN).max(PAYLOAD_MIN).min(whole)
            }
            Some(_) | None => whole,
        }
    }

    /// Bytes that come in this time; `None` if there was nothing to wait for.
    fn in_time(&self, time: Duration) -> Option<u64> {
        let waited_us = u64::try_from(self.waited.as_micros()).unwrap_or(u64::MAX);
        let time_us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.came.saturating_mul(time_us).checked_div(waited_us)
    }

    /// Whether a stripe of which this came so far, and of which `payload` is to come in all, takes
    /// longer than others should wait for.
    pub(crate) fn is_overdue(&self, payload: u32, waiting: Duration) -> bool {
        let so_far = Self { waited: self.waited + waiting, ..*self };
        so_far.waited >= LEFT_ALONE
            && so_far.in_time(2 * FILL_TIME).is_some_and(|bytes| bytes < payload.into())
    }

    /// The pace of the stripe that begins: the past counts for half of what it did.
    pub(crate) fn halve(&mut self) {
        self.waited /= 2;
        self.came /= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;
    const WHOLE: u32 = 8 << 20;

    fn pace(bytes: u64, waited_ms: u64) -> Pace {
        let mut pace = Pace::default();
        pace.note(0, Duration::from_secs(100));
        pace.note(bytes as usize, Duration::from_millis(waited_ms));
        pace
    }

    #[test]
    fn a_stripe_is_as_large_as_its_body_fills_in_time() {
        assert_eq!(Pace::default().plan(WHOLE), WHOLE, "nothing is known");
        assert_eq!(pace(16 * KIB, 0).plan(WHOLE), WHOLE, "it was all there");
        assert_eq!(pace(16 * KIB, 1).plan(WHOLE), WHOLE, "16 MB/s");
        assert_eq!(pace(1024 * KIB, 1000).plan(WHOLE), 4 << 20, "1 MiB/s");
        assert_eq!(pace(16 * KIB, 160).plan(WHOLE), 448 << 10, "100 KiB/s");
        assert_eq!(pace(16 * KIB, 16_000).plan(WHOLE), PAYLOAD_MIN, "1 KiB/s");
        assert_eq!(pace(16 * KIB, 16_000).plan(1000), 1000, "the body ends before");
    }

    #[test]
    fn what_comes_half_as_fast_as_planned_is_overdue_after_a_second() {
        let (zero, second) = (Duration::ZERO, Duration::from_secs(1));
        assert!(!pace(0, 900).is_overdue(WHOLE, zero), "it is left alone");
        assert!(pace(0, 900).is_overdue(WHOLE, second));
        assert!(pace(1000 * KIB, 1000).is_overdue(WHOLE, zero));
        assert!(!pace(1025 * KIB, 1000).is_overdue(WHOLE, zero));
    }

    #[test]
    fn the_past_fades() {
        let mut pace = pace(1024 * KIB, 1000);
        pace.halve();
        pace.note(0, Duration::from_millis(1500));
        assert_eq!(pace.plan(WHOLE), 1 << 20);
    }
}
