use crate::{MEMBERS_MAX, pack::ENTRIES_LEN_MAX};
use ripstop_batching::{
    BatchLimits, BatchSettings, Batcher, Controller, ControllerSettings, UnknownController, by_name,
};
use std::time::Duration;

/// Batches under way at once: while one is committed, the next is stored.
const OUTSTANDING_MAX: usize = 2;

/// Most that a batch weighs: its directory is within its limit whatever its members' parts of that
/// are, and it is a stripe.
pub(super) fn batch_bytes_max(stripe_max: u32) -> usize {
    ENTRIES_LEN_MAX.min(stripe_max as usize)
}

/// How a pool gathers small writes.
#[derive(Clone, PartialEq, Debug)]
pub struct PackSettings {
    /// Objects shorter than this are gathered, and deletions with them; 0: nothing is. Default 0.
    pub below: u32,
    /// How long a batch waits for company, by name; see [`ripstop_batching::descriptions`]. Default
    /// `natural`.
    pub batching: String,
    /// The interval of those that are told one. Default 20 ms.
    pub interval: Duration,
    /// Batches that depart in a second, at most: what a budget for puts buys. Default: any number.
    pub puts_per_second_max: Option<f64>,
}

impl Default for PackSettings {
    fn default() -> Self {
        Self {
            below: 0,
            batching: "natural".into(),
            interval: Duration::from_millis(20),
            puts_per_second_max: None,
        }
    }
}

impl PackSettings {
    /// How such a pool decides how long to wait, if there is one of the name.
    pub fn controller(&self) -> Result<Box<dyn Controller>, UnknownController> {
        let settings =
            ControllerSettings { interval: self.interval, ..ControllerSettings::default() };
        by_name(&self.batching, &settings)
    }

    /// What gathers as these say, with nothing in it; its batches are stripes of at most this many
    /// bytes.
    pub fn batcher(&self, stripe_max: u32) -> Result<Batcher, UnknownController> {
        let limits = BatchLimits {
            batch_bytes_max: batch_bytes_max(stripe_max) as u64,
            batch_members_max: MEMBERS_MAX,
            outstanding_max: OUTSTANDING_MAX,
            ..BatchLimits::default()
        };
        let puts_per_second_max = self.puts_per_second_max;
        let timer_step = ripstop_host::TIMER_STEP;
        let settings = BatchSettings { limits, collapse: true, puts_per_second_max, timer_step };
        Ok(Batcher::new(settings, self.controller()?))
    }
}
