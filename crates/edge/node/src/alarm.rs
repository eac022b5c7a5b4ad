//! Wakes tasks within some tens of microseconds of a time, where the runtime's timer needs a
//! millisecond.

use std::{
    collections::BTreeMap,
    sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// The last so much of every wait is the alarm's, what comes before the runtime's: so the alarm
/// holds few that have gone meanwhile.
const LAST: Duration = Duration::from_millis(3);

static ALARM: LazyLock<&'static Alarm> = LazyLock::new(|| {
    let alarm: &Alarm = Box::leak(Box::default());
    ripstop_host::thread("alarm", || alarm.ring()).expect("the system has a thread to spare");
    alarm
});

/// Waits until `at`, by the machine's clock.
pub(crate) async fn sleep_until(at: Instant) {
    if let Some(early) = at.checked_sub(LAST) {
        tokio::time::sleep_until(early.into()).await;
    }
    if at > ripstop_host::now() {
        // The alarm never drops what it has not woken.
        let _ = ALARM.set(at).await;
    }
}

#[derive(Default)]
struct Alarm {
    wakes: Mutex<Wakes>,
    /// The earliest time has changed.
    changed: Condvar,
}

#[derive(Default)]
struct Wakes {
    /// Who sleeps, by time and number.
    sleepers: BTreeMap<(Instant, u64), oneshot::Sender<()>>,
    set: u64,
}

impl Alarm {
    fn wakes(&self) -> MutexGuard<'_, Wakes> {
        self.wakes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, at: Instant) -> oneshot::Receiver<()> {
        let (wake, woken) = oneshot::channel();
        let mut wakes = self.wakes();
        let key = (at, wakes.set);
        wakes.set += 1;
        wakes.sleepers.insert(key, wake);
        if wakes.sleepers.first_key_value().is_some_and(|(first, _)| *first == key) {
            self.changed.notify_one();
        }
        woken
    }

    fn ring(&self) {
        let mut wakes = self.wakes();
        loop {
            let now = ripstop_host::now();
            while let Some(first) = wakes.sleepers.first_entry()
                && first.key().0 <= now
            {
                // One that does not listen any longer needs no waking.
                let _ = first.remove().send(());
            }
            wakes = match wakes.sleepers.first_key_value() {
                None => self.changed.wait(wakes).unwrap_or_else(PoisonError::into_inner),
                Some((&(at, _), _)) => {
                    let wait = at.saturating_duration_since(now);
                    self.changed.wait_timeout(wakes, wait).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}
