//! Tells the tier that time passed, when it wants to be told.

use ripstop_model::Timestamp;
use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{sync::Notify, time};

/// Longest that nobody looks whether it is time: timers count no further than some years.
const NAP_MAX: Duration = Duration::from_hours(1);

/// Who wants to be woken.
pub(crate) trait Wake: Send + Sync + 'static {
    /// Now, on the clock of deadlines.
    fn now(&self) -> Timestamp;

    /// It is time.
    fn wake(&self);
}

/// When to wake whom.
#[derive(Debug, Default)]
pub(crate) struct Alarm {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    deadline: AtomicU64,
    changed: Notify,
}

impl Default for Shared {
    fn default() -> Self {
        Self { deadline: AtomicU64::new(u64::MAX), changed: Notify::new() }
    }
}

impl Alarm {
    /// Wakes it as long as it is there.
    pub(crate) fn start<W: Wake>(&self, sleeper: Weak<W>) {
        ripstop_host::spawn(ring(self.shared.clone(), sleeper));
    }

    pub(crate) fn set(&self, deadline: Option<Timestamp>) {
        let deadline = deadline.map_or(u64::MAX, Timestamp::as_nanos);
        // A later one than before is looked up when the earlier one is over.
        if deadline < self.shared.deadline.swap(deadline, Ordering::AcqRel) {
            self.shared.changed.notify_one();
        }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.shared.changed.notify_one();
    }
}

async fn ring<W: Wake>(shared: Arc<Shared>, sleeper: Weak<W>) {
    loop {
        let Some(owner) = sleeper.upgrade() else { return };
        let deadline = Timestamp::from_nanos(shared.deadline.load(Ordering::Acquire));
        let now = owner.now();
        if deadline <= now {
            owner.wake();
        }
        drop(owner);
        let deadline = Timestamp::from_nanos(shared.deadline.load(Ordering::Acquire));
        // A deadline that is over and still there: once more, and not at once.
        let nap = if deadline <= now { Duration::from_millis(1) } else { deadline.since(now) };
        drop(time::timeout(nap.min(NAP_MAX), shared.changed.notified()).await);
    }
}
