//! What items are called at servers, and what their seals are bound to.

use bytes::{BufMut as _, Bytes, BytesMut};
use ripstop_model::Code;
use ripstop_seal::{Address, HEADER_SEAL_LEN, Sealer};
use ripstop_tier::{ChunkId, ItemName, KeyHash, SealId, Version};

/// Bytes of an item before what is coded: its seal.
pub(crate) const SEAL_LEN: usize = 8;
/// Bytes of the caller's key that are coded before a value, as a digest.
pub(crate) const CHECK_LEN: usize = 4;
/// Characters of names that tell this tier, and a run whose items the next does not know, from
/// others.
const PREFIX_LEN: usize = 6;
/// Bytes of an address that do so.
const RUN_LEN: usize = 16;
/// Bytes of a keepsake before its seal: a version.
const FLOOR_LEN: usize = 8;

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

/// What an item's key at a server tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StoredKey {
    /// What it is called.
    Named(ItemName),
    /// Where it is, and that it is a copy: which one it says itself.
    Place(u32),
}

/// Names and seals of a tier, or of one run of it.
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
        Self::with(sealer, of_tier, of_run)
    }

    /// Names of the tier that is called `tier`, the same in every run. What was stored with another
    /// code has others.
    pub(crate) fn lasting(sealer: Sealer, tier: &str, code: Code) -> Self {
        let of_tier = sealer.header([b"memory tier 1\0".as_slice(), tier.as_bytes()]);
        let shape = [code.n() as u16, code.k() as u16].map(u16::to_le_bytes).concat();
        let of_code = sealer.header([&b"memory code 1\0"[..], &of_tier, &shape]);
        Self::with(sealer, of_tier, of_code)
    }

    fn with(sealer: Sealer, tier: [u8; RUN_LEN], run: [u8; RUN_LEN]) -> Self {
        const { assert!(RUN_LEN == HEADER_SEAL_LEN, "a seal fills it") };
        let prefix = std::array::from_fn(|at| DIGITS[usize::from(run[at]) % 64]);
        Self { sealer, tier, run, prefix }
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

    /// The key of a copy at this place.
    pub(crate) fn put_place(&self, out: &mut BytesMut, place: u32) {
        out.put_slice(&self.prefix);
        out.put_u8(b'~');
        put_digits(out, place.into());
    }

    /// The key at servers.
    pub(crate) fn put_key(&self, out: &mut BytesMut, key: StoredKey) {
        match key {
            StoredKey::Named(name) => self.put_name(out, name),
            StoredKey::Place(place) => self.put_place(out, place),
        }
    }

    /// What a key at a server tells, if it is one of ours.
    pub(crate) fn stored_key(&self, key: &[u8]) -> Option<StoredKey> {
        let rest = key.strip_prefix(&self.prefix)?;
        let at = rest.iter().position(|byte| matches!(byte, b'.' | b'+' | b'*' | b'~'))?;
        let (place, part) = (number(&rest[..at])?, number(&rest[at + 1..])?);
        let named = match rest[at] {
            b'.' => ItemName::Object { chunk: ChunkId(place), slot: part.try_into().ok()? },
            b'+' => ItemName::Parity { stripe: SealId(place), strip: part.try_into().ok()? },
            b'*' => ItemName::Strip { value: ChunkId(place), strip: part.try_into().ok()? },
            _ => return self.if_so(key, StoredKey::Place(part.try_into().ok()?)),
        };
        self.if_so(key, StoredKey::Named(named))
    }

    /// A number has one spelling.
    fn if_so(&self, key: &[u8], stored: StoredKey) -> Option<StoredKey> {
        let mut spelled = BytesMut::new();
        self.put_key(&mut spelled, stored);
        (spelled == key).then_some(stored)
    }

    /// What the item is called by which a server shows that it still has what it had.
    pub(crate) fn keepsake(&self) -> Bytes {
        Bytes::from([&self.prefix[..], b"!"].concat())
    }

    /// What is in it in a run whose versions are above this one.
    pub(crate) fn token(&self, floor: Version) -> Bytes {
        let floor = floor.0.to_le_bytes();
        let seal = self.sealer.header([&b"memory keepsake 1\0"[..], &self.run, &floor]);
        Bytes::from([&floor[..], &seal].concat())
    }

    /// Above which version those of the run were that left this.
    pub(crate) fn floor(&self, token: &[u8]) -> Option<Version> {
        let floor = Version(u64::from_le_bytes(*token.first_chunk::<FLOOR_LEN>()?));
        (self.token(floor) == token).then_some(floor)
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

/// The number of these digits.
fn number(digits: &[u8]) -> Option<u64> {
    let digit = |byte: &u8| DIGITS.iter().position(|digit| digit == byte);
    digits.iter().rev().try_fold(0_u64, |number, byte| {
        let digit = digit(byte)? as u64;
        number.checked_mul(64)?.checked_add(digit)
    })
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

    #[test]
    fn names_that_last_are_of_a_tier_and_its_code() {
        let names = |tier, (n, k)| {
            let sealer = Sealer::new(&StoreKey::from_bytes([7; 32]));
            Names::lasting(sealer, tier, Code::new(n, k).unwrap())
        };
        let token = names("hot", (5, 3)).token(Version(77));
        assert_eq!(names("hot", (5, 3)).floor(&token), Some(Version(77)));
        assert_eq!(names("hot", (5, 4)).floor(&token), None);
        assert_eq!(names("cold", (5, 3)).floor(&token), None);
        assert_eq!(names("hot", (5, 3)).floor(&token[..20]), None);
        let name = ItemName::Object { chunk: ChunkId(64), slot: 2 };
        let spelled = text(&names("hot", (5, 3)), name);
        assert_eq!(
            names("hot", (5, 3)).stored_key(spelled.as_bytes()),
            Some(StoredKey::Named(name))
        );
        assert_eq!(names("hot", (6, 3)).stored_key(spelled.as_bytes()), None);
        // With a leading zero it is another item's name.
        assert_eq!(names("hot", (5, 3)).stored_key(format!("{spelled}A").as_bytes()), None);
    }

    proptest! {
        #[test]
        fn names_are_short_and_differ(one in name(), other in name(), at: u32) {
            let names = names("hot", 1);
            let (first, second) = (text(&names, one), text(&names, other));
            prop_assert!(first.len() <= 21 && first.bytes().all(|byte| byte.is_ascii_graphic()));
            prop_assert_eq!(one == other, first == second);
            prop_assert_eq!(names.stored_key(first.as_bytes()), Some(StoredKey::Named(one)));
            let mut place = BytesMut::new();
            names.put_place(&mut place, at);
            prop_assert_eq!(names.stored_key(&place), Some(StoredKey::Place(at)));
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
