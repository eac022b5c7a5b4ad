use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// How fast a round may store bytes.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Bytes each second; none: as fast as it goes.
    rate: Option<u64>,
    /// When what was stored will be paid for at this rate.
    paid_until: Mutex<Instant>,
}

impl Pace {
    /// As fast as it goes.
    pub(crate) fn free() -> Self {
        Self { rate: None, paid_until: Mutex::new(ripstop_host::now()) }
    }

    /// This many bytes each second, of which there is at least one.
    pub(crate) fn of(rate: u64) -> Self {
        Self { rate: Some(rate.max(1)), ..Self::free() }
    }

    /// Counts bytes that were stored now.
    pub(super) fn pay(&self, bytes: u64, now: Instant) {
        let Some(rate) = self.rate else { return };
        let takes = Duration::from_secs_f64(bytes as f64 / rate as f64);
        let mut paid_until = self.paid_until.lock().unwrap_or_else(PoisonError::into_inner);
        *paid_until = (*paid_until).max(now) + takes;
    }

    /// When all is paid for.
    pub(super) fn due(&self) -> Instant {
        *self.paid_until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_paid_for_at_the_rate_and_idle_time_is_not_saved_up() {
        let (pace, free) = (Pace::of(1000), Pace::free());
        let now = pace.due() + Duration::from_mins(1);
        pace.pay(500, now);
        pace.pay(1500, now);
        assert_eq!(pace.due(), now + Duration::from_secs(2));
        let before = free.due();
        free.pay(1 << 40, now);
        assert_eq!(free.due(), before);
    }
}
