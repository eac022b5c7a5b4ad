use core::time::Duration;

/// What bounds a batcher. Zeros count as one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BatchLimits {
    /// Bytes with which a batch is full; no member may have more.
    pub batch_bytes_max: u64,
    /// Members with which a batch is full.
    pub batch_members_max: usize,
    /// Bytes that wait at most; further members are refused.
    pub waiting_bytes_max: u64,
    /// Members that wait at most, those included whose bytes were dropped; further ones are
    /// refused.
    pub waiting_members_max: usize,
    /// Members of one key that wait one behind another at most; further ones are refused.
    pub key_waiting_max: usize,
    /// Batches that have departed and not ended, at most, where the rhythm is
    /// [`Rhythm::AfterEnd`](crate::Rhythm::AfterEnd). With two, one is stored while the one before
    /// it commits.
    pub outstanding_max: usize,
    /// The same for the other rhythms, which do not wait for ends.
    pub outstanding_free_max: usize,
}

impl Default for BatchLimits {
    fn default() -> Self {
        Self {
            batch_bytes_max: 4 << 20,
            batch_members_max: 4096,
            waiting_bytes_max: 64 << 20,
            waiting_members_max: 16_384,
            key_waiting_max: 64,
            outstanding_max: 1,
            outstanding_free_max: 1024,
        }
    }
}

/// How a batcher treats members.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BatchSettings {
    /// What bounds it.
    pub limits: BatchLimits,
    /// Whether a later write of a key drops the bytes of an earlier one that waits; off where every
    /// version is kept.
    pub collapse: bool,
    /// Batches that depart in a second at most: what a budget for puts buys. None, or what is not
    /// above 0, bounds nothing.
    pub puts_per_second_max: Option<f64>,
    /// The step in which the timer that is set for the deadline counts: it fires up to one late.
    /// Intervals end by half a step sooner, so that they last as long as they should on average,
    /// and one that is shorter than that lets a lone write leave at once.
    pub timer_step: Duration,
}

impl Default for BatchSettings {
    fn default() -> Self {
        Self {
            limits: BatchLimits::default(),
            collapse: true,
            puts_per_second_max: None,
            timer_step: Duration::ZERO,
        }
    }
}
