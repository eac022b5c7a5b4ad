//! POLYVAL over whole blocks, one way per set of instructions.
#![expect(unsafe_code, reason = "the instructions exist only on some processors")]

mod portable;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod strides;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod pclmul;
#[cfg(target_arch = "aarch64")]
mod pmull;
#[cfg(target_arch = "x86_64")]
mod rounds;

#[cfg(test)]
mod tests;

use crate::powers::{BLOCK_LEN, Block, Powers};
#[cfg(target_arch = "x86_64")]
pub(crate) use rounds::RoundKeys;
use std::fmt;

/// The instructions that multiply and encrypt. All kernels give the same seals.
///
/// A value of this type proves that this processor has the instructions, so its holder may
/// use it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Kernel(Instructions);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Instructions {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Pclmul,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "aarch64")]
    Pmull,
}

/// Slowest first.
const COMPILED: &[Instructions] = &[
    Instructions::Portable,
    #[cfg(target_arch = "x86_64")]
    Instructions::Pclmul,
    #[cfg(target_arch = "x86_64")]
    Instructions::Avx2,
    #[cfg(target_arch = "x86_64")]
    Instructions::Avx512,
    #[cfg(target_arch = "aarch64")]
    Instructions::Pmull,
];

impl Kernel {
    /// Integer multiplications: runs everywhere, and takes the same time whatever the bytes are.
    pub const PORTABLE: Self = Self(Instructions::Portable);

    /// Those that this processor can run, slowest first.
    pub fn available() -> impl Iterator<Item = Self> {
        COMPILED.iter().copied().filter(|instructions| instructions.detected()).map(Self)
    }

    /// The fastest that this processor can run.
    pub fn best() -> Self {
        Self::available().last().unwrap_or(Self::PORTABLE)
    }

    /// Its name: `portable`, `pclmul`, `avx2-vpclmul`, `avx512-vpclmul` or `pmull`.
    pub const fn name(self) -> &'static str {
        match self.0 {
            Instructions::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Instructions::Pclmul => "pclmul",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => "avx2-vpclmul",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => "avx512-vpclmul",
            #[cfg(target_arch = "aarch64")]
            Instructions::Pmull => "pmull",
        }
    }

    /// Goes on with POLYVAL from `state` over `bytes`, which are whole blocks.
    #[inline]
    pub(crate) fn absorb(self, powers: &Powers, state: &mut Block, bytes: &[u8]) {
        debug_assert_eq!(bytes.len() % BLOCK_LEN, 0, "whole blocks");
        match self.0 {
            Instructions::Portable => portable::absorb(powers, state, bytes),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has the instructions, or this value would not exist.
            Instructions::Pclmul => unsafe { pclmul::absorb(powers, state, bytes) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Instructions::Avx2 => unsafe { avx2::absorb(powers, state, bytes) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Instructions::Avx512 => unsafe { avx512::absorb(powers, state, bytes) },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: as above.
            Instructions::Pmull => unsafe { pmull::absorb(powers, state, bytes) },
        }
    }

    /// Expands a key of AES-256. `None` if this kernel encrypts nothing itself.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn round_keys(self, key: &[u8; 2 * BLOCK_LEN]) -> Option<RoundKeys> {
        match self.0 {
            Instructions::Portable => None,
            Instructions::Pclmul | Instructions::Avx2 | Instructions::Avx512 => {
                // SAFETY: the processor has the instructions, or this value would not exist.
                Some(unsafe { RoundKeys::new(key) })
            }
        }
    }

    /// Adds to `bytes` the encrypted counters from `start` on.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn add_stream(self, keys: &RoundKeys, start: &Block, bytes: &mut [u8]) {
        match self.0 {
            // SAFETY: the processor has the instructions, or there were no such keys.
            Instructions::Portable | Instructions::Pclmul => unsafe {
                pclmul::add_stream(keys, start, bytes);
            },
            // SAFETY: the processor has the instructions, or this value would not exist.
            Instructions::Avx2 => unsafe { avx2::add_stream(keys, start, bytes) },
            // SAFETY: as above.
            Instructions::Avx512 => unsafe { avx512::add_stream(keys, start, bytes) },
        }
    }
}

impl Instructions {
    /// Whether this processor has every instruction that the kernel is compiled with.
    fn detected(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Pclmul => {
                is_x86_feature_detected!("pclmulqdq") && is_x86_feature_detected!("aes")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                Self::Pclmul.detected()
                    && is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("vpclmulqdq")
                    && is_x86_feature_detected!("vaes")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => Self::Avx2.detected() && is_x86_feature_detected!("avx512f"),
            #[cfg(target_arch = "aarch64")]
            Self::Pmull => {
                std::arch::is_aarch64_feature_detected!("neon")
                    && std::arch::is_aarch64_feature_detected!("aes")
            }
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
