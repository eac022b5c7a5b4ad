//! Bytes on their way in: encrypted block by block.

use crate::error::Outcome;
use bytes::Bytes;
use ripstop_catalog::{CIPHER_BLOCK_LEN, CIPHER_BLOCK_TAG_LEN, Salt, encrypted_len};
use ripstop_envelope::{DataKey, StreamCipher};
use ripstop_store::BodyLen;

/// Bytes of a block.
const BLOCK_LEN: usize = CIPHER_BLOCK_LEN as usize;
/// The same with its tag.
const STORED_LEN: usize = BLOCK_LEN + CIPHER_BLOCK_TAG_LEN as usize;

/// Bytes as they came, in pieces.
pub(crate) trait Plain: Send {
    /// The next of them; `None` at the end, however often it is asked.
    fn next(&mut self) -> impl Future<Output = Option<Outcome<Bytes>>> + Send;
}

/// One stream that is being encrypted: one block of it is in memory, and the piece that goes on.
#[derive(Debug)]
pub(crate) struct Sealing {
    cipher: StreamCipher,
    salt: Salt,
    /// Which block is next.
    number: u32,
    block: Vec<u8>,
    waiting: Bytes,
}

impl Sealing {
    pub(super) fn new(key: &DataKey) -> Self {
        let salt = StreamCipher::salt();
        let cipher = key.stream(&salt);
        Self { cipher, salt, number: 0, block: Vec::new(), waiting: Bytes::new() }
    }

    /// What tells the stream from others.
    pub(crate) const fn salt(&self) -> Salt {
        self.salt
    }

    /// Takes the next piece, once all of the last one is in blocks.
    fn take(&mut self, piece: Bytes) {
        debug_assert!(self.waiting.is_empty());
        self.waiting = piece;
    }

    /// A whole block, if that much is here.
    fn whole(&mut self) -> Option<Bytes> {
        let room = BLOCK_LEN - self.block.len();
        let next = self.waiting.split_to(room.min(self.waiting.len()));
        self.block.extend_from_slice(&next);
        (self.block.len() == BLOCK_LEN).then(|| self.close())
    }

    /// What is left at the end.
    fn last(&mut self) -> Option<Bytes> {
        (!self.block.is_empty()).then(|| self.close())
    }

    fn close(&mut self) -> Bytes {
        self.cipher.encrypt(self.number, &mut self.block);
        self.number = self.number.checked_add(1).expect("no stream is of 256 TiB");
        let next = if self.block.len() < STORED_LEN { 0 } else { STORED_LEN };
        std::mem::replace(&mut self.block, Vec::with_capacity(next)).into()
    }
}

/// Bytes, encrypted if there is something that does it.
#[derive(Debug)]
pub(crate) struct Sealed<P> {
    pub(crate) plain: P,
    pub(crate) sealing: Option<Box<Sealing>>,
}

impl<P: Plain> Sealed<P> {
    /// The next bytes as they are to be stored.
    pub(crate) async fn next(&mut self) -> Option<Outcome<Bytes>> {
        let Self { plain, sealing } = self;
        let Some(sealing) = sealing else { return plain.next().await };
        loop {
            if let Some(block) = sealing.whole() {
                return Some(Ok(block));
            }
            match plain.next().await {
                Some(Ok(piece)) => sealing.take(piece),
                Some(Err(failure)) => return Some(Err(failure)),
                None => return sealing.last().map(Ok),
            }
        }
    }

    /// How many bytes are stored of as many.
    pub(crate) fn stored_len(&self, announced: BodyLen) -> BodyLen {
        match self.sealing {
            None => announced,
            Some(_) => announced.map(encrypted_len),
        }
    }
}
