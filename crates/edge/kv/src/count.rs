//! What is counted of commands.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Something that is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Count {
    GetHit,
    GetMiss,
    Set,
    Flush,
    TouchHit,
    TouchMiss,
    Meta,
    DeleteHit,
    DeleteMiss,
    IncrHit,
    IncrMiss,
    DecrHit,
    DecrMiss,
    CasHit,
    CasMiss,
    CasBad,
    TooLarge,
    NoMemory,
    Auth,
    AuthError,
    /// Commands that could not be done, for want of servers for example.
    Failed,
    /// Connections that were idle for too long, or did not finish what they began.
    IdleKick,
    Connection,
    BytesRead,
    BytesWritten,
}

const COUNTS: usize = Count::BytesWritten as usize + 1;

/// What one connection has to add. It adds it now and then: counters that all share are dear.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Tally([u64; COUNTS]);

impl Tally {
    pub(crate) fn one(&mut self, count: Count) {
        self.add(count, 1);
    }

    pub(crate) fn add(&mut self, count: Count, more: u64) {
        self.0[count as usize] += more;
    }

    /// Adds what another one counted.
    pub(crate) fn append(&mut self, other: &Self) {
        for (own, more) in self.0.iter_mut().zip(other.0) {
            *own += more;
        }
    }
}

/// What all connections have counted.
#[derive(Default, Debug)]
pub(crate) struct Counts([AtomicU64; COUNTS]);

impl Counts {
    /// Adds what a connection counted, which begins with nothing again.
    pub(crate) fn take(&self, tally: &mut Tally) {
        for (all, own) in self.0.iter().zip(&mut tally.0) {
            if *own > 0 {
                all.fetch_add(std::mem::take(own), Relaxed);
            }
        }
    }

    /// How often this was counted.
    pub(crate) fn of(&self, count: Count) -> u64 {
        self.0[count as usize].load(Relaxed)
    }

    /// All of them, at one time.
    pub(crate) fn all(&self) -> Totals {
        let mut totals = Totals::default();
        for (total, count) in totals.0.iter_mut().zip(&self.0) {
            *total = count.load(Relaxed);
        }
        totals
    }
}

/// Counts at one time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Totals([u64; COUNTS]);

impl Totals {
    pub(crate) fn of(&self, count: Count) -> u64 {
        self.0[count as usize]
    }

    /// What came since.
    pub(crate) fn since(mut self, before: &Self) -> Self {
        for (total, before) in self.0.iter_mut().zip(&before.0) {
            *total = total.saturating_sub(*before);
        }
        self
    }
}
