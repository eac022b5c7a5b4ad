//! What items are called at servers, and what their seals are bound to.

use bytes::{BufMut as _, Bytes, BytesMut};
use ripstop_seal::{Address, HEADER_SEAL_LEN, Sealer};
use ripstop_tier::{ItemName, KeyHash};

/// Bytes of an item before what is coded: its seal.
pub(crate) const SEAL_LEN: usize = 8;
/// Bytes of the caller's key that are coded before a value, as a digest.
pub(crate) const CHECK_LEN: usize = 4;
/// Characters of names that tell this run of this tier from others.
const PREFIX_LEN: usize = 6;
/// Bytes of an address that do so.
const RUN_LEN: usize = 16;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Tells callers' keys apart: two digests under the tier's key, the second of which is stored
/// beside the value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KeyDigest {
    pub(crate) hash: KeyHash,
    pub(crate) check: [u8; CHECK_LEN],
}

impl KeyDigest {
    /// Of no key.
    pub(crate) const NONE: Self = Self { hash: KeyHash(0), check: [0; CHECK_LEN] };
}

/// Names and seals of one run of one tier.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    sealer: Sealer,
    tier: [u8; RUN_LEN],
    run: [u8; RUN_LEN],
    prefix: [u8; PREFIX_LEN],
}

impl Names {
    /// Names of the tier that is called `tier`, in a run that has this number to itself.
    pub(crate) fn new(sealer: Sealer, tier: &str, run: u64) -> Self {
        let of_tier = sealer.header([b"memory tier 1\0".as_slice(), tier.as_bytes()]);
        let of_run = sealer.header([&b"memory run 1\0"[..], &of_tier, &run.to_le_bytes()]);
        const { assert!(RUN_LEN == HEADER_SEAL_LEN, "a seal fills it") };
        let prefix = std::array::from_fn(|at| DIGITS[usize::from(of_run[at]) % 64]);
        Self { sealer, tier: of_tier, run: of_run, prefix }
    }

    /// The digest of a caller's key: the same in every run.
    pub(crate) fn key(&self, key: &[u8]) -> KeyDigest {
        let digest = |purpose: &[u8]| self.sealer.header([purpose, &self.tier, key]);
        let check = digest(b"memory check 1\0\0");
        let check = *check.first_chunk().expect("a digest is longer");
        KeyDigest { hash: KeyHash(u128::from_le_bytes(digest(b"memory key 1\0\0\0\0"))), check }
    }

    /// What an item is called at servers: at most 21 characters.
    pub(crate) fn put_name(&self, out: &mut BytesMut, name: ItemName) {
        out.put_slice(&self.prefix);
        match name {
            ItemName::Object { chunk, slot } => {
                put_digits(out, chunk.0);
                out.put_u8(b'.');
                put_digits(out, slot.into());
            }
            ItemName::Parity { stripe, strip } => {
                put_digits(out, stripe.0);
                out.put_u8(b'+');
                put_digits(out, strip.into());
            }
            ItemName::Strip { value, strip } => {
                put_digits(out, value.0);
                out.put_u8(b'*');
                put_digits(out, strip.into());
            }
        }
    }

    /// What the item is called by which a server shows that it still has what it had, and what is
    /// in it.
    pub(crate) fn keepsake(&self) -> (Bytes, Bytes) {
        let name = [&self.prefix[..], b"!"].concat();
        (Bytes::from(name), Bytes::copy_from_slice(&self.run))
    }

    /// The seal of an item.
    pub(crate) fn seal<P: AsRef<[u8]>>(
        &self,
        name: ItemName,
        pieces: impl IntoIterator<Item = P>,
    ) -> [u8; SEAL_LEN] {
        let (address, number) = self.address(name);
        self.sealer.block(&address, number, pieces)
    }

    /// Whether an item is what was stored under this name.
    pub(crate) fn holds(&self, name: ItemName, coded: &[u8], seal: &[u8]) -> bool {
        let (address, number) = self.address(name);
        self.sealer.block_holds(&address, number, [coded], seal)
    }

    fn address(&self, name: ItemName) -> (Address, u32) {
        let mut bytes = [0; 28];
        bytes[..RUN_LEN].copy_from_slice(&self.run);
        let (kind, place, part) = match name {
            ItemName::Object { chunk, slot } => (b'o', chunk.0, slot),
            ItemName::Parity { stripe, strip } => (b'p', stripe.0, strip.into()),
            ItemName::Strip { value, strip } => (b's', value.0, strip.into()),
        };
        bytes[RUN_LEN] = kind;
        bytes[RUN_LEN + 1..RUN_LEN + 9].copy_from_slice(&place.to_le_bytes());
        (Address::new(bytes), part.into())
    }
}

/// The number by digits of six bits, the lowest first, as few as it has.
fn put_digits(out: &mut BytesMut, number: u64) {
    let mut rest = number;
    loop {
        out.put_u8(DIGITS[rest as usize % 64]);
        rest /= 64;
        if rest == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ripstop_seal::StoreKey;
    use ripstop_tier::{ChunkId, SealId};

    fn names(tier: &str, run: u64) -> Names {
        Names::new(Sealer::new(&StoreKey::from_bytes([7; 32])), tier, run)
    }

    fn text(names: &Names, name: ItemName) -> String {
        let mut out = BytesMut::new();
        names.put_name(&mut out, name);
        String::from_utf8(out.to_vec()).unwrap()
    }

    fn name() -> impl Strategy<Value = ItemName> {
        prop_oneof![
            (any::<u64>(), any::<u16>())
                .prop_map(|(chunk, slot)| ItemName::Object { chunk: ChunkId(chunk), slot }),
            (any::<u64>(), any::<u8>())
                .prop_map(|(stripe, strip)| ItemName::Parity { stripe: SealId(stripe), strip }),
            (any::<u64>(), any::<u8>())
                .prop_map(|(value, strip)| ItemName::Strip { value: ChunkId(value), strip }),
        ]
    }

    #[test]
    fn the_digest_of_a_key_is_the_same_in_every_run_and_another_in_another_tier() {
        let digest = names("hot", 1).key(b"key");
        assert_eq!(names("hot", 2).key(b"key"), digest);
        assert_ne!(names("cold", 1).key(b"key").hash, digest.hash);
        assert_ne!(names("hot", 1).key(b"kez").check, digest.check);
        assert_ne!(names("hot", 1).keepsake(), names("hot", 2).keepsake());
    }

    proptest! {
        #[test]
        fn names_are_short_and_differ(one in name(), other in name()) {
            let names = names("hot", 1);
            let (first, second) = (text(&names, one), text(&names, other));
            prop_assert!(first.len() <= 21 && first.bytes().all(|byte| byte.is_ascii_graphic()));
            prop_assert_eq!(one == other, first == second);
        }

        #[test]
        fn a_seal_holds_for_one_name_and_those_bytes_alone(
            one in name(),
            other in name(),
            bytes in prop::collection::vec(any::<u8>(), 1..200),
            at: prop::sample::Index,
            bit in 0u8..8,
        ) {
            let names = names("hot", 1);
            let seal = names.seal(one, [&bytes]);
            prop_assert!(names.holds(one, &bytes, &seal));
            prop_assert_eq!(names.holds(other, &bytes, &seal), one == other);
            let mut flipped = bytes;
            let at = at.index(flipped.len());
            flipped[at] ^= 1 << bit;
            prop_assert!(!names.holds(one, &flipped, &seal));
        }
    }
}
