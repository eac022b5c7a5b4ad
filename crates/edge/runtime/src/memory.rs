use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Smallest share of memory that is counted, in bytes.
const UNIT: usize = 1 << 10;

/// The bytes of strips that may be in memory at once: the named limit `memory_max`.
///
/// Whoever wants more waits its turn. Nobody waits for memory while others need what it holds: a
/// stripe asks once, for all it takes, and gives back as its fragments are done with.
#[derive(Clone, Debug)]
pub struct Memory {
    units: Arc<Semaphore>,
    units_max: u32,
}

/// A share of the memory, given back as it is dropped.
#[derive(Debug)]
pub struct Share(OwnedSemaphorePermit);

impl Memory {
    /// At most `bytes_max` bytes at once.
    pub fn new(bytes_max: usize) -> Self {
        let units_max = u32::try_from(bytes_max / UNIT).unwrap_or(u32::MAX >> 4).max(1);
        let units_max = units_max.min(u32::MAX >> 4);
        Self { units: Arc::new(Semaphore::new(units_max as usize)), units_max }
    }

    /// Waits for `bytes`; for all there is, if they are more than that.
    pub async fn acquire(&self, bytes: usize) -> Share {
        let units =
            u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX).clamp(1, self.units_max);
        let permit = self.units.clone().acquire_many_owned(units).await;
        Share(permit.expect("the semaphore is never closed"))
    }

    /// Bytes that nobody has now.
    pub fn free(&self) -> usize {
        self.units.available_permits() * UNIT
    }
}

impl Share {
    /// Gives back `bytes` of it, rounded down to what is counted.
    pub fn release(&mut self, bytes: usize) {
        drop(self.0.split((bytes / UNIT).min(self.0.num_permits())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn shares_come_back_whole_and_in_part() {
        let memory = Memory::new(10 * UNIT);
        let mut share = memory.acquire(8 * UNIT).await;
        assert_eq!(memory.free(), 2 * UNIT);
        share.release(5 * UNIT);
        assert_eq!(memory.free(), 7 * UNIT);
        drop(share);
        assert_eq!(memory.free(), 10 * UNIT);
        drop(memory.acquire(1000 * UNIT).await);
        assert_eq!(memory.free(), 10 * UNIT);
    }
}
