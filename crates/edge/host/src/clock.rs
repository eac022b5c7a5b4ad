use crate::rehearsal::current;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The step in which the runtime's timers count: they fire up to one later than told.
pub const TIMER_STEP: Duration = Duration::from_millis(1);

/// The steady clock: only for durations and deadlines. It never goes back, whatever the wall clock
/// does.
#[inline]
pub fn now() -> Instant {
    // The runtime's timers follow this one; in what ships it is the system's.
    tokio::time::Instant::now().into_std()
}

/// How long ago that was, by the steady clock.
#[inline]
pub fn since(begun: Instant) -> Duration {
    now().saturating_duration_since(begun)
}

/// The wall clock: what people and other machines call the time. It may jump, either way.
#[inline]
pub fn wall() -> SystemTime {
    current().map_or_else(SystemTime::now, |host| host.wall())
}

/// What the wall clock shows, since the beginning of 1970; nothing if it shows a time before.
#[inline]
pub fn since_1970() -> Duration {
    wall().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The same in milliseconds.
#[inline]
pub fn unix_ms() -> u64 {
    u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX)
}
