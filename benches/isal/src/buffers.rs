//! Stripes in memory, each strip an allocation of its own.

use ripstop_model::Code;

const LINE: usize = 64;

/// Bytes at a chosen offset from a cache line.
pub struct Strip {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl Strip {
    fn new(len: usize, misalign: usize, seed: usize) -> Self {
        let mut memory = vec![0; len + 2 * LINE + misalign];
        let start = memory.as_ptr().align_offset(LINE) + misalign;
        // Written in full, so that every page exists before time is taken.
        for (at, byte) in memory.iter_mut().enumerate() {
            *byte = (at.wrapping_mul(seed * 2 + 1) >> 3) as u8;
        }
        Self { memory, start, len }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.memory[self.start..][..self.len]
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..][..self.len]
    }
}

/// A stripe, and room for strips that are rebuilt and for a copy of the data.
pub struct Stripe {
    pub data: Vec<Strip>,
    pub parity: Vec<Strip>,
    pub rebuilt: Vec<Strip>,
    pub copies: Vec<Strip>,
}

impl Stripe {
    fn new(code: Code, strip_len: usize, misalign: usize) -> Self {
        let strips = |count: usize, first: usize| {
            (first..first + count).map(|seed| Strip::new(strip_len, misalign, seed)).collect()
        };
        Self {
            data: strips(code.k(), 0),
            parity: strips(code.parity(), 300),
            rebuilt: strips(code.parity().min(code.k()), 600),
            copies: strips(code.k(), 900),
        }
    }

    /// Enough stripes for their strips to add up to `total` bytes, at least one.
    pub fn fill(code: Code, strip_len: usize, total: usize, misalign: usize) -> Vec<Self> {
        let count = total.div_ceil(strip_len * code.n()).max(1);
        (0..count).map(|_| Self::new(code, strip_len, misalign)).collect()
    }
}
