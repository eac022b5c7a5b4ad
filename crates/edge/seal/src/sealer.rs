use crate::{
    address::Address,
    hash::Hash,
    kernel::Kernel,
    key::{KeyId, StoreKey},
    siv::Siv,
};
use std::{fmt, sync::Arc};
use subtle::ConstantTimeEq as _;

/// Bytes of a block's seal.
pub const BLOCK_SEAL_LEN: usize = 8;

/// Bytes of a header's seal.
pub const HEADER_SEAL_LEN: usize = 16;

/// What a seal is for.
const BLOCK: [u8; 12] = *b"block\0\0\0\0\0\0\0";
const HEADER: [u8; 12] = *b"header\0\0\0\0\0\0";

/// Makes and verifies the seals of one store's fragments. Clones share their keys, which are wiped
/// from memory when the last of them is dropped.
#[derive(Clone)]
pub struct Sealer(Arc<Keys>);

struct Keys {
    id: KeyId,
    blocks: Siv,
    headers: Siv,
}

/// The seal of a block whose bytes are still coming.
pub struct BlockSeal {
    sealer: Sealer,
    hash: Hash,
}

impl Sealer {
    /// Seals with a store's key, as fast as this processor can.
    pub fn new(key: &StoreKey) -> Self {
        Self::with_kernel(key, Kernel::best())
    }

    /// Seals with a store's key and the kernel that is asked for: the seals are the same.
    pub fn with_kernel(key: &StoreKey, kernel: Kernel) -> Self {
        let root = key.derive("ripstop seal 1");
        let blocks = Siv::new(&root, BLOCK, kernel);
        Self(Arc::new(Keys { id: key.id(), blocks, headers: Siv::new(&root, HEADER, kernel) }))
    }

    /// Which key it is.
    pub fn key_id(&self) -> KeyId {
        self.0.id
    }

    /// The seal of block `number` of what is at `address`, whose bytes are the pieces, one behind
    /// the other. How they are cut makes no difference.
    pub fn block<P: AsRef<[u8]>>(
        &self,
        address: &Address,
        number: u32,
        pieces: impl IntoIterator<Item = P>,
    ) -> [u8; BLOCK_SEAL_LEN] {
        cut(self.0.blocks.tag(&address.of_block(number), pieces))
    }

    /// Begins the seal of a block whose bytes are not all there yet.
    pub fn begin_block(&self, address: &Address, number: u32) -> BlockSeal {
        let hash = self.0.blocks.begin(&address.of_block(number));
        BlockSeal { sealer: self.clone(), hash }
    }

    /// Whether `seal` is that of the block. How long that takes says nothing of the right one.
    #[must_use]
    pub fn block_holds<P: AsRef<[u8]>>(
        &self,
        address: &Address,
        number: u32,
        pieces: impl IntoIterator<Item = P>,
        seal: &[u8],
    ) -> bool {
        self.block(address, number, pieces).ct_eq(seal).into()
    }

    /// The seal of a header, whose bytes are the pieces, one behind the other. They must say what
    /// they are the header of: nothing else binds the seal to a place.
    pub fn header<P: AsRef<[u8]>>(
        &self,
        pieces: impl IntoIterator<Item = P>,
    ) -> [u8; HEADER_SEAL_LEN] {
        self.0.headers.tag(&[], pieces)
    }

    /// Whether `seal` is that of the header. How long that takes says nothing of the right one.
    #[must_use]
    pub fn header_holds<P: AsRef<[u8]>>(
        &self,
        pieces: impl IntoIterator<Item = P>,
        seal: &[u8],
    ) -> bool {
        self.header(pieces).ct_eq(seal).into()
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealer({})", self.key_id())
    }
}

impl BlockSeal {
    /// Goes on over the block's next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.sealer.0.blocks.update(&mut self.hash, bytes);
    }

    /// The seal of all bytes that came.
    pub fn finish(self) -> [u8; BLOCK_SEAL_LEN] {
        cut(self.sealer.0.blocks.finish(self.hash))
    }
}

impl fmt::Debug for BlockSeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockSeal({})", self.sealer.key_id())
    }
}

fn cut(tag: [u8; HEADER_SEAL_LEN]) -> [u8; BLOCK_SEAL_LEN] {
    *tag.first_chunk().expect("a block's seal is the shorter one")
}
