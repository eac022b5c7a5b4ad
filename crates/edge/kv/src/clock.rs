//! Time in whole seconds, as memcached's commands have it.

use std::time::Instant;

/// A span that is longer than this is a date.
const SPAN_MAX_S: i32 = 60 * 60 * 24 * 30;
/// The end of what has ended already; 0 would be never.
pub(crate) const ENDED: u32 = 1;

/// Seconds since 1970, counted by the steady clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    begun: Instant,
    begun_unix_ms: u64,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { begun: ripstop_host::now(), begun_unix_ms: ripstop_host::unix_ms() }
    }

    /// The second of now.
    pub(crate) fn now(&self) -> u32 {
        let since_ms = ripstop_host::since(self.begun).as_millis() as u64;
        let unix_s = self.begun_unix_ms.saturating_add(since_ms) / 1000;
        u32::try_from(unix_s).unwrap_or(u32::MAX)
    }

    /// Seconds since it started.
    pub(crate) fn uptime_s(&self) -> u32 {
        u32::try_from(ripstop_host::since(self.begun).as_secs()).unwrap_or(u32::MAX)
    }
}

/// The second at which what is given this `exptime` ends; 0: never.
pub(crate) const fn end_of(exptime: i32, now: u32) -> u32 {
    match exptime {
        0 => 0,
        ..0 => ENDED,
        1..=SPAN_MAX_S => now.saturating_add(exptime as u32),
        _ => exptime as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_begins_when_that_of_the_wall_clock_does() {
        let clock = Clock { begun: ripstop_host::now(), begun_unix_ms: 99_999 };
        assert!((99..=100).contains(&clock.now()));
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert_eq!((clock.now(), clock.uptime_s()), (100, 0));
    }

    #[test]
    fn thirty_days_are_a_span_and_more_is_a_date() {
        let now = 1_700_000_000;
        assert_eq!(end_of(0, now), 0);
        assert_eq!(end_of(-1, now), ENDED);
        assert_eq!(end_of(10, now), now + 10);
        assert_eq!(end_of(SPAN_MAX_S, now), now + SPAN_MAX_S as u32);
        assert_eq!(end_of(SPAN_MAX_S + 1, now), SPAN_MAX_S as u32 + 1);
        assert_eq!(end_of(1_800_000_000, now), 1_800_000_000);
    }
}
