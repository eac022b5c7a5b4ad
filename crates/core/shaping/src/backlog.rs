use ripstop_model::Timestamp;

/// Backlogs are counted in billionths of a unit of work: what a server of one unit a second does in
/// a nanosecond. So every quantity is a whole number, whatever the capacity.
pub(crate) const SCALE: u128 = 1_000_000_000;

/// The work that a server has taken and not yet done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Backlog {
    /// In units of [`SCALE`], at the time below.
    pub(crate) work: u128,
    at: Timestamp,
}

impl Backlog {
    /// Lets the server work until `now` at this capacity; time does not go back.
    pub(crate) fn drain(&mut self, now: Timestamp, capacity: u64) {
        let elapsed = now.as_nanos().saturating_sub(self.at.as_nanos());
        self.work = self.work.saturating_sub(u128::from(elapsed) * u128::from(capacity));
        self.at = self.at.max(now);
    }

    /// Adds this many units of work.
    pub(crate) fn add(&mut self, cost: u64) {
        self.work = self.work.saturating_add(u128::from(cost) * SCALE);
    }

    /// Nanoseconds until all is done, rounded up.
    pub(crate) fn nanos(&self, capacity: u64) -> u64 {
        nanos_for(self.work, capacity)
    }
}

/// Nanoseconds that a server takes for this work, in units of [`SCALE`], rounded up; the most there
/// are if it never ends.
pub(crate) fn nanos_for(work: u128, capacity: u64) -> u64 {
    match (work, capacity) {
        (0, _) => 0,
        (_, 0) => u64::MAX,
        _ => u64::try_from(work.div_ceil(capacity.into())).unwrap_or(u64::MAX),
    }
}
