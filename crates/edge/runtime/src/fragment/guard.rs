use super::block::checksum;
use crate::seals::{Keys, Sealing, Seals};
use bytes::Bytes;
use ripstop_block::Blocks;
use ripstop_model::StripeId;
use ripstop_seal::{ADDRESS_LEN, Address, CIPHER_TAG_LEN, KeyId};
use std::sync::Arc;

/// What an address is of: no two kinds share one.
const BLOCKS: u8 = 0;
const RECORD: u8 = 1;

/// Seals the blocks of one stripe, and verifies them.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    store: u64,
    stripe: StripeId,
    sealing: Sealing,
    /// The first seals; any of them may have sealed what is read.
    keys: Arc<[Keys]>,
}

impl Guard {
    /// Of a stripe of a store, with every key that is known.
    pub(crate) fn new(seals: &Seals, sealing: Sealing, store: u64, stripe: StripeId) -> Self {
        Self { store, stripe, sealing, keys: seals.all() }
    }

    /// Of a stripe whose blocks have checksums.
    pub(crate) fn unkeyed(stripe: StripeId) -> Self {
        Self::new(&Seals::default(), Sealing::Checksum, 0, stripe)
    }

    /// The same with one key alone; `None` if it is not known.
    pub(crate) fn with_key(&self, key: Option<KeyId>) -> Option<Self> {
        let Some(key) = key else {
            return (self.sealing == Sealing::Checksum).then(|| self.clone());
        };
        let keys = self.keys.iter().find(|known| known.id == key)?;
        Some(Self {
            keys: [keys.clone()].into(),
            sealing: self.sealing.in_headers(),
            ..self.clone()
        })
    }

    /// How it seals.
    pub(crate) fn sealing(&self) -> Sealing {
        self.sealing
    }

    /// The key with which it seals.
    pub(crate) fn key(&self) -> Option<KeyId> {
        let is_keyed = self.sealing != Sealing::Checksum;
        self.keys.first().map(|key| key.id).filter(|_| is_keyed)
    }

    fn first(&self) -> &Keys {
        self.keys.first().expect("nothing is sealed without a key but by checksums")
    }

    fn address(&self, strip: u8, kind: u8) -> Address {
        let mut bytes = [0; ADDRESS_LEN];
        bytes[..8].copy_from_slice(&self.store.to_le_bytes());
        bytes[8..24].copy_from_slice(&self.stripe.0.to_le_bytes());
        bytes[24] = strip;
        bytes[25] = kind;
        Address::new(bytes)
    }

    /// Appends the seal of a block of a strip. What is to be encrypted has none before it is.
    pub(crate) fn seal(&self, strip: u8, number: u32, block: &[u8], seals: &mut Vec<u8>) {
        match self.sealing {
            Sealing::Checksum => {
                seals.extend_from_slice(&checksum(self.stripe, strip, number, block));
            }
            Sealing::Keyed => {
                let address = self.address(strip, BLOCKS);
                seals.extend_from_slice(&self.first().sealer.block(&address, number, [block]));
            }
            Sealing::Encrypted => {}
            Sealing::Unverified => unreachable!("nothing is written without its key"),
        }
    }

    /// Encrypts a block of a strip in place, and appends its tag; where blocks are only sealed,
    /// that is done already.
    pub(crate) fn encrypt(&self, strip: u8, number: u32, block: &mut [u8], seals: &mut Vec<u8>) {
        if self.sealing == Sealing::Encrypted {
            let address = self.address(strip, BLOCKS);
            seals.extend_from_slice(&self.first().cipher.encrypt(&address, number, block));
        }
    }

    /// A block of a strip as it stands in fragments, its seal behind it; encrypted, where blocks
    /// are.
    pub(crate) fn close(&self, strip: u8, number: u32, block: &[u8]) -> Bytes {
        let seal_len = self.sealing.seal_len() as usize;
        let mut closed = Vec::with_capacity(block.len() + seal_len);
        closed.extend_from_slice(block);
        let mut seal = Vec::with_capacity(seal_len);
        self.seal(strip, number, block, &mut seal);
        self.encrypt(strip, number, &mut closed, &mut seal);
        closed.extend_from_slice(&seal);
        closed.into()
    }

    /// The block of a strip that stands there, if its seal holds.
    pub(crate) fn open(
        &self,
        strip: u8,
        number: u32,
        block: Bytes,
        seal: &[u8],
        blocks: &Blocks,
    ) -> Option<Bytes> {
        let holds = match self.sealing {
            Sealing::Checksum => checksum(self.stripe, strip, number, &block) == *seal,
            Sealing::Keyed => {
                let address = self.address(strip, BLOCKS);
                let holds = |key: &Keys| key.sealer.block_holds(&address, number, [&block], seal);
                self.keys.iter().any(holds)
            }
            Sealing::Encrypted => {
                return self.decrypt(strip, number, &block, seal.try_into().ok()?, blocks);
            }
            Sealing::Unverified => seal.len() == self.sealing.seal_len() as usize,
        };
        holds.then_some(block)
    }

    fn decrypt(
        &self,
        strip: u8,
        number: u32,
        block: &[u8],
        tag: &[u8; CIPHER_TAG_LEN],
        blocks: &Blocks,
    ) -> Option<Bytes> {
        let address = self.address(strip, BLOCKS);
        self.keys.iter().find_map(|key| {
            // What was read may be a node's own memory.
            let mut opened = blocks.buffer(block.len());
            opened.extend_from_slice(block);
            key.cipher.decrypt(&address, number, opened.whole(), tag).ok()?;
            Some(opened.freeze())
        })
    }

    /// A record as headers tell it, with its tag where it is encrypted.
    pub(crate) fn close_record(&self, record: Bytes) -> (Bytes, Option<[u8; CIPHER_TAG_LEN]>) {
        if self.sealing != Sealing::Encrypted || record.is_empty() {
            return (record, None);
        }
        let mut closed = record.to_vec();
        let tag = self.first().cipher.encrypt(&self.address(0, RECORD), 0, &mut closed);
        (closed.into(), Some(tag))
    }

    /// The record that was closed so; `None` if it is none.
    pub(crate) fn open_record(
        &self,
        record: &Bytes,
        tag: Option<&[u8; CIPHER_TAG_LEN]>,
    ) -> Option<Bytes> {
        let Some(tag) = tag else { return Some(record.clone()) };
        self.keys.iter().find_map(|key| {
            let mut opened = record.to_vec();
            key.cipher.decrypt(&self.address(0, RECORD), 0, &mut opened, tag).ok()?;
            Some(opened.into())
        })
    }

    /// Whether a block that should be sealed with a key has a checksum that holds: it is no
    /// accident.
    pub(crate) fn is_downgraded(&self, strip: u8, number: u32, block: &[u8], seal: &[u8]) -> bool {
        let wanted = checksum(self.stripe, strip, number, block);
        self.sealing != Sealing::Checksum && wanted == *seal
    }
}
