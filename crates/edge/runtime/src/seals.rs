//! The keys of a store, and what becomes of stripes with them.

use ripstop_model::StripeId;
use ripstop_seal::{Cipher, KeyId, Sealer, StoreKey};
use std::{fmt, sync::Arc};

/// How the blocks and headers of a stripe are sealed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Sealing {
    /// By checksums, which find accidents and take no key.
    #[default]
    Checksum,
    /// By seals that take the store's key to make.
    Keyed,
    /// Encrypted with the store's key; the tags of what is encrypted are its seals.
    Encrypted,
    /// By seals whose key is lost: nothing verifies them. No header says so, only a catalog that
    /// was made again without the key.
    Unverified,
}

impl Sealing {
    /// As a number in records and headers: for ever.
    pub const fn number(self) -> u8 {
        match self {
            Self::Checksum => 0,
            Self::Keyed => 1,
            Self::Encrypted => 2,
            Self::Unverified => 3,
        }
    }

    /// What a number stands for; `None` if that is not known.
    pub const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::Checksum,
            1 => Self::Keyed,
            2 => Self::Encrypted,
            3 => Self::Unverified,
            _ => return None,
        })
    }

    /// Bytes behind each block.
    pub(crate) const fn seal_len(self) -> u32 {
        match self {
            Self::Checksum | Self::Keyed | Self::Unverified => ripstop_seal::BLOCK_SEAL_LEN as u32,
            Self::Encrypted => ripstop_seal::CIPHER_TAG_LEN as u32,
        }
    }

    /// What stands in the headers of such a stripe.
    pub(crate) const fn in_headers(self) -> Self {
        match self {
            Self::Checksum | Self::Keyed | Self::Encrypted => self,
            Self::Unverified => Self::Keyed,
        }
    }
}

/// What is made and verified with one key.
#[derive(Clone)]
pub(crate) struct Keys {
    pub id: KeyId,
    pub sealer: Sealer,
    pub cipher: Cipher,
}

/// The keys that a store has: with the first, new stripes are sealed; all are tried as one is read.
/// Without any, stripes are sealed by checksums. Cheap to clone.
#[derive(Clone, Default)]
pub struct Seals {
    keys: Arc<[Keys]>,
    /// Stripes named from this time on, milliseconds since 1970, are sealed with a key.
    since_ms: Option<u64>,
    /// Whether seals pass whose key is not there.
    unsealed: bool,
}

impl Seals {
    /// Seals with this key, and knows no other.
    pub fn new(key: &StoreKey) -> Self {
        Self::default().knowing(key)
    }

    /// The same, and this key too: for reading, if there is another before it.
    #[must_use]
    pub fn knowing(&self, key: &StoreKey) -> Self {
        let more = Keys { id: key.id(), sealer: Sealer::new(key), cipher: Cipher::new(key) };
        let keys = self.keys.iter().cloned().chain([more]).collect();
        Self { keys, ..self.clone() }
    }

    /// The same of a store that seals all stripes named from this time on, milliseconds since 1970.
    #[must_use]
    pub fn since(self, since_ms: u64) -> Self {
        Self { since_ms: Some(since_ms), ..self }
    }

    /// The same, and headers pass that are sealed with keys which are not there: for what is to be
    /// had of a store whose key is lost.
    #[must_use]
    pub fn unsealed(self) -> Self {
        Self { unsealed: true, ..self }
    }

    /// Whether headers pass that are sealed with keys which are not there.
    pub fn is_unsealed(&self) -> bool {
        self.unsealed
    }

    /// The key with which new stripes are sealed.
    pub fn key(&self) -> Option<KeyId> {
        self.keys.first().map(|key| key.id)
    }

    /// Whether this is one of the keys.
    pub fn knows(&self, key: KeyId) -> bool {
        self.of(key).is_some()
    }

    /// Whether a stripe of this name may be sealed by checksums alone.
    pub fn may_be_unkeyed(&self, stripe: StripeId) -> bool {
        self.since_ms.is_none_or(|since_ms| stripe.unix_ms() < since_ms)
    }

    pub(crate) fn of(&self, key: KeyId) -> Option<&Keys> {
        self.keys.iter().find(|known| known.id == key)
    }

    /// All keys.
    pub(crate) fn all(&self) -> Arc<[Keys]> {
        self.keys.clone()
    }
}

impl fmt::Debug for Seals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seals")
            .field("keys", &self.keys)
            .field("since_ms", &self.since_ms)
            .field("unsealed", &self.unsealed)
            .finish()
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.id)
    }
}
