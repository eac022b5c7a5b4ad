use crate::{Luck, logarithm::ln_unit, normal::normal_quantile};

/// A stream of random numbers that its seed determines for ever, on every platform.
///
/// The generator is `SplitMix64` (Steele, Lea, Flood: Fast splittable pseudorandom number
/// generators, 2014). Not for secrets. Every throw takes 64 bits of the stream and inverts a
/// distribution function, so that the place of a throw in the stream never depends on the values
/// before it, and equal places of two runs have equal luck.
#[derive(Clone, Debug)]
pub struct Dice {
    state: u64,
}

/// From one state to the next: the golden ratio's fraction of 2⁶⁴.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Dice {
    /// The stream of `seed`.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The stream number `index` of those that `seed` stands for.
    pub const fn numbered(seed: u64, index: u64) -> Self {
        Self::new(Self::numbered_seed(seed, index))
    }

    /// The seed of the stream number `index` of those that `seed` stands for.
    pub const fn numbered_seed(seed: u64, index: u64) -> u64 {
        Self::new(seed).next_u64() ^ Self::new(!index).next_u64().rotate_left(32)
    }

    /// The next 64 random bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        Self::mix(self.state)
    }

    /// The generator's last step: a bijection whose every output bit depends on every input bit.
    pub const fn mix(bits: u64) -> u64 {
        let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Uniform between 0 and 1, neither of which it ever is.
    pub const fn uniform(&mut self) -> f64 {
        ((self.next_u64() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Exponential with mean 1; never 0.
    pub fn exponential(&mut self) -> f64 {
        (-ln_unit(self.uniform())).max(f64::EPSILON)
    }

    /// Normal with mean 0 and deviation 1.
    pub fn normal(&mut self) -> f64 {
        normal_quantile(self.uniform())
    }

    /// Uniform among `0..end`; 0 if there is none.
    pub const fn below(&mut self, end: u64) -> u64 {
        ((self.next_u64() as u128 * end as u128) >> 64) as u64
    }
}

impl Luck for Dice {
    fn uniform(&mut self) -> f64 {
        Dice::uniform(self)
    }

    fn normal(&mut self) -> f64 {
        Dice::normal(self)
    }

    fn exponential(&mut self) -> f64 {
        Dice::exponential(self)
    }
}
