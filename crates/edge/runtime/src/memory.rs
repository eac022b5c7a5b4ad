use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Smallest share of memory that is counted, in bytes.
const UNIT: usize = 1 << 10;

/// The least of an object that is fetched at once, in bytes, unless less is wanted.
const SLICE_MIN: usize = 256 << 10;

/// What memory is wanted for. Each has a part of its own, so that none holds up the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Bytes from a client: half of the memory.
    Write,
    /// Stripes that are checked or mended: an eighth.
    Background,
}

/// The bytes of strips that may be in memory at once: the named limit `memory_max`.
///
/// Whoever wants more waits its turn. Nobody waits for memory while others need what it holds: a
/// stripe asks once, for all it takes, and gives back as its fragments are done with.
#[derive(Clone, Debug)]
pub struct Memory {
    writes: Part,
    background: Part,
    /// Slices of objects on their way to clients: a quarter and a sixteenth.
    slices: Part,
    /// Those of at most [`SLICE_MIN`]: a sixteenth. However slowly large objects are read, small ones
    /// pass.
    small: Part,
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

    fn units(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX).clamp(1, self.units_max)
    }

    async fn acquire(&self, bytes: usize) -> Share {
        let permit = self.units.clone().acquire_many_owned(self.units(bytes)).await;
        Share(permit.expect("the semaphore is never closed"))
    }

    fn try_acquire(&self, bytes: usize) -> Option<Share> {
        self.units.clone().try_acquire_many_owned(self.units(bytes)).ok().map(Share)
    }

    fn free(&self) -> usize {
        self.units.available_permits() * UNIT
    }
}

/// A share of the memory, given back as it is dropped.
#[derive(Debug)]
pub struct Share(OwnedSemaphorePermit);

impl Memory {
    /// At most `bytes_max` bytes at once.
    pub fn new(bytes_max: usize) -> Self {
        let units = bytes_max / UNIT;
        let (background, small) = (units / 8, units / 16);
        let slices = units / 2 - background - small;
        Self {
            writes: Part::new(units - background - small - slices),
            background: Part::new(background),
            slices: Part::new(slices),
            small: Part::new(small),
        }
    }

    fn parts(&self) -> [&Part; 4] {
        [&self.writes, &self.background, &self.slices, &self.small]
    }

    /// Waits for `bytes`; for all there is for this purpose, if they are more than that.
    pub async fn acquire(&self, purpose: Purpose, bytes: usize) -> Share {
        let part = match purpose {
            Purpose::Write => &self.writes,
            Purpose::Background => &self.background,
        };
        part.acquire(bytes).await
    }

    /// Memory for the next slice of an object that a client reads, and the slice's length: `wanted`
    /// bytes while memory is plentiful, less when many readers share it. Half is kept for slices of the
    /// least length, so that a few clients that read slowly do not come to hold all.
    ///
    /// What is `indivisible` is had as a whole until only that half is left.
    pub async fn acquire_slice(&self, wanted: usize, indivisible: bool) -> (Share, usize) {
        if wanted <= SLICE_MIN {
            return (self.small.acquire(wanted).await, wanted);
        }
        let spare = self.slices.free().saturating_sub(self.slices.units_max as usize * UNIT / 2);
        let most = if indivisible && wanted <= spare { wanted } else { spare / 2 };
        let len = wanted.min(most.max(SLICE_MIN));
        match self.slices.try_acquire(len) {
            Some(share) => (share, len),
            None => (self.slices.acquire(SLICE_MIN).await, SLICE_MIN),
        }
    }

    /// Bytes that nobody has now.
    pub fn free(&self) -> usize {
        self.parts().iter().map(|part| part.free()).sum()
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
        let memory = Memory::new(32 * UNIT);
        assert_eq!(memory.free(), 32 * UNIT);
        let mut share = memory.acquire(Purpose::Write, 8 * UNIT).await;
        assert_eq!(memory.free(), 24 * UNIT);
        share.release(5 * UNIT);
        assert_eq!(memory.free(), 29 * UNIT);
        drop(share);
        drop(memory.acquire(Purpose::Write, 1000 * UNIT).await);
        assert_eq!(memory.free(), 32 * UNIT);
    }

    #[tokio::test]
    async fn writers_and_slow_readers_hold_up_no_small_read() {
        let memory = Memory::new(128 << 20);
        let _written = memory.acquire(Purpose::Write, 128 << 20).await;
        let _checked = memory.acquire(Purpose::Background, 128 << 20).await;
        let mut slices = Vec::new();
        for _ in 0..80 {
            slices.push(memory.acquire_slice(8 << 20, false).await);
        }
        assert_eq!(slices[0].1, 8 << 20, "plenty for the first");
        assert_eq!(slices[79].1, SLICE_MIN, "little for the last");
        drop(memory.acquire_slice(1000, false).await);
    }
    #[tokio::test]
    async fn what_is_indivisible_is_whole_until_half_is_left() {
        let memory = Memory::new(128 << 20);
        let mut slices = Vec::new();
        for _ in 0..6 {
            slices.push(memory.acquire_slice(6 << 20, true).await);
        }
        let lens: Vec<usize> = slices.iter().map(|(_, len)| *len).collect();
        assert_eq!(lens[..4], [6 << 20, 6 << 20, 6 << 20, 1 << 20], "of 40 MiB for slices");
        assert!(lens[4] < 6 << 20);
    }
}
