use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Smallest share of memory that is counted, in bytes.
const UNIT: usize = 1 << 10;

/// What memory is wanted for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Bytes on their way to a client, or to be checked: a third of the memory.
    Read,
    /// Bytes from a client: the rest. Clients that send slowly hold up each other, never readers.
    Write,
}

/// The bytes of strips that may be in memory at once: the named limit `memory_max`.
///
/// Whoever wants more waits its turn. Nobody waits for memory while others need what it holds: a
/// stripe asks once, for all it takes, and gives back as its fragments are done with.
#[derive(Clone, Debug)]
pub struct Memory {
    reads: Part,
    writes: Part,
}

#[derive(Clone, Debug)]
struct Part {
    units: Arc<Semaphore>,
    units_max: u32,
}

impl Part {
    fn new(units_max: usize) -> Self {
        let units_max = u32::try_from(units_max).unwrap_or(u32::MAX).clamp(1, u32::MAX >> 4);
        Self { units: Arc::new(Semaphore::new(units_max as usize)), units_max }
    }
}

/// A share of the memory, given back as it is dropped.
#[derive(Debug)]
pub struct Share(OwnedSemaphorePermit);

impl Memory {
    /// At most `bytes_max` bytes at once.
    pub fn new(bytes_max: usize) -> Self {
        let units = bytes_max / UNIT;
        Self { reads: Part::new(units / 3), writes: Part::new(units - units / 3) }
    }

    /// Waits for `bytes`; for all there is for this purpose, if they are more than that.
    pub async fn acquire(&self, purpose: Purpose, bytes: usize) -> Share {
        let part = match purpose {
            Purpose::Read => &self.reads,
            Purpose::Write => &self.writes,
        };
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let permit = part.units.clone().acquire_many_owned(units.clamp(1, part.units_max)).await;
        Share(permit.expect("the semaphore is never closed"))
    }

    /// Bytes that no reader has now.
    pub fn free_for_reads(&self) -> usize {
        self.reads.units.available_permits() * UNIT
    }

    /// Bytes that nobody has now.
    pub fn free(&self) -> usize {
        (self.reads.units.available_permits() + self.writes.units.available_permits()) * UNIT
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
        let memory = Memory::new(12 * UNIT);
        let mut share = memory.acquire(Purpose::Write, 8 * UNIT).await;
        assert_eq!(memory.free(), 4 * UNIT);
        share.release(5 * UNIT);
        assert_eq!(memory.free(), 9 * UNIT);
        drop(share);
        assert_eq!(memory.free(), 12 * UNIT);
        drop(memory.acquire(Purpose::Write, 1000 * UNIT).await);
        assert_eq!(memory.free(), 12 * UNIT);
    }

    #[tokio::test]
    async fn writers_that_hold_all_they_may_hold_up_no_reader() {
        let memory = Memory::new(12 * UNIT);
        let _all = memory.acquire(Purpose::Write, 12 * UNIT).await;
        drop(memory.acquire(Purpose::Read, 4 * UNIT).await);
    }
}
