use core::{fmt, time::Duration};
use ripstop_model::Timestamp;

/// When requests arrived, in order: 8 bytes each, borrowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrivals<'times>(&'times [Timestamp]);

impl<'times> Arrivals<'times> {
    /// These times, none of which may be before the one ahead of it.
    pub fn new(times: &'times [Timestamp]) -> Result<Self, DisorderError> {
        match times.windows(2).position(|pair| pair[1] < pair[0]) {
            Some(at) => Err(DisorderError { index: at + 1 }),
            None => Ok(Self(times)),
        }
    }

    /// Times that are known to be in order.
    pub(crate) const fn ordered(times: &'times [Timestamp]) -> Self {
        Self(times)
    }

    /// The times.
    pub const fn times(self) -> &'times [Timestamp] {
        self.0
    }

    /// How many requests there are.
    pub const fn count(self) -> u64 {
        self.0.len() as u64
    }

    /// The first; the origin if there is none.
    pub fn first(self) -> Timestamp {
        self.0.first().copied().unwrap_or_default()
    }

    /// From the first to the last.
    pub fn span(self) -> Duration {
        self.0.last().copied().unwrap_or_default().since(self.first())
    }
}

/// A time is before the one ahead of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DisorderError {
    /// Its place, from 0.
    pub index: usize,
}

impl fmt::Display for DisorderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "arrival {} is before the one ahead of it", self.index)
    }
}

impl core::error::Error for DisorderError {}
