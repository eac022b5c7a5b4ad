use super::{
    BLOCK_LEN, Header, Origin,
    block::{SEAL_LEN, seal},
    body_len,
};
use crate::Share;
use bytes::Bytes;
use ripstop_codec::Codec;
use ripstop_model::{FragmentId, StripeId, StripeShape};

/// A stripe being filled with payload: data strips are laid out and sealed as the bytes come.
#[derive(Debug)]
pub struct StripeDraft {
    id: StripeId,
    shape: StripeShape,
    /// Bodies of the data strips; all before the last are whole.
    bodies: Vec<Vec<u8>>,
    filled: u32,
    /// Start of the block under way in the last body.
    block_start: usize,
    share: Share,
}

/// A filled stripe with its record: everything that its fragments are made of.
#[derive(Debug)]
pub struct Sealed {
    /// Its name.
    pub id: StripeId,
    /// How it is coded.
    pub shape: StripeShape,
    /// Who writes it.
    pub origin: Origin,
    /// What its headers tell.
    pub record: Bytes,
    bodies: Vec<Bytes>,
    share: Share,
}

impl StripeDraft {
    /// An empty draft of this shape, in memory that was asked for: [`StripeDraft::memory`] bytes.
    pub fn new(id: StripeId, shape: StripeShape, share: Share) -> Self {
        let bodies = Vec::with_capacity(shape.code().k());
        Self { id, shape, bodies, filled: 0, block_start: 0, share }
    }

    /// Bytes that all fragments of such a stripe take.
    pub fn memory(shape: StripeShape) -> usize {
        shape.code().n() * body_len(shape.strip_len()) as usize
    }

    /// Its name.
    pub fn id(&self) -> StripeId {
        self.id
    }

    /// Its shape.
    pub fn shape(&self) -> StripeShape {
        self.shape
    }

    /// Bytes of payload still to come.
    pub fn room(&self) -> u32 {
        self.shape.payload_len() - self.filled
    }

    /// Takes from the front of `bytes` what there is room for.
    pub fn fill(&mut self, bytes: &mut Bytes) {
        let mut taken = bytes.split_to(bytes.len().min(self.room() as usize));
        self.filled += taken.len() as u32;
        while !taken.is_empty() {
            self.append(&mut taken);
        }
    }

    /// Appends up to the end of the block or strip under way.
    fn append(&mut self, bytes: &mut Bytes) {
        let strip_len = self.shape.strip_len();
        let whole = body_len(strip_len) as usize;
        if self.bodies.last().is_none_or(|body| body.len() == whole) {
            self.bodies.push(Vec::with_capacity(whole));
            self.block_start = 0;
        }
        let strip = self.bodies.len() - 1;
        let body = &mut self.bodies[strip];
        let number = (self.block_start / (BLOCK_LEN + SEAL_LEN) as usize) as u32;
        let block_len = (strip_len - number * BLOCK_LEN).min(BLOCK_LEN) as usize;
        let missing = block_len - (body.len() - self.block_start);
        body.extend_from_slice(&bytes.split_to(missing.min(bytes.len())));
        if body.len() - self.block_start == block_len {
            let seal = seal(self.id, strip as u8, number, &body[self.block_start..]);
            body.extend_from_slice(&seal);
            self.block_start = body.len();
        }
    }

    /// Pads what was filled with zeros to the shape and adds what the headers shall tell.
    ///
    /// The payload must be complete: `room()` is 0.
    pub fn seal(mut self, origin: Origin, record: Bytes) -> Sealed {
        debug_assert_eq!(self.room(), 0, "a draft is sealed when it is full");
        let k = self.shape.code().k();
        let padding = self.shape.strip_len() as usize * k - self.shape.payload_len() as usize;
        let mut zeros = Bytes::from(vec![0; padding]);
        while !zeros.is_empty() {
            self.append(&mut zeros);
        }
        self.bodies.resize_with(k, Vec::new);
        let bodies = self.bodies.into_iter().map(Bytes::from).collect();
        Sealed { id: self.id, shape: self.shape, origin, record, bodies, share: self.share }
    }
}

impl Sealed {
    /// Computes the parity strips, sealed like the data strips.
    pub(crate) fn encode(&mut self, codec: &Codec) {
        let parity = self.shape.code().parity();
        let strip_len = self.shape.strip_len();
        let k = self.shape.code().k();
        let whole = body_len(strip_len) as usize;
        let mut bodies = vec![Vec::with_capacity(whole); parity];
        let mut scratch = vec![0; BLOCK_LEN.min(strip_len) as usize * parity];
        for number in 0..strip_len.div_ceil(BLOCK_LEN) {
            let len = (strip_len - number * BLOCK_LEN).min(BLOCK_LEN) as usize;
            let at = (number * (BLOCK_LEN + SEAL_LEN)) as usize;
            let data: Vec<&[u8]> =
                self.bodies[..k].iter().map(|body| &body[at..at + len]).collect();
            let mut out: Vec<&mut [u8]> = scratch.chunks_mut(len).take(parity).collect();
            codec.encode(&data, &mut out).expect("K strips in, N−K out, all of one length");
            for (index, (block, body)) in out.iter().zip(&mut bodies).enumerate() {
                body.extend_from_slice(block);
                body.extend_from_slice(&seal(self.id, (k + index) as u8, number, block));
            }
        }
        self.bodies.extend(bodies.into_iter().map(Bytes::from));
    }

    /// Bytes of header of each of its fragments.
    pub fn header_len(&self) -> u32 {
        Header::len_with(self.record.len()) as u32
    }

    /// Forgets fragment `index`, which is stored.
    pub(crate) fn release(&mut self, index: u8) {
        let body = std::mem::take(&mut self.bodies[usize::from(index)]);
        self.share.release(body.len());
    }

    /// Fragment `index`, header and body; parity fragments exist once it is encoded.
    pub(crate) fn fragment(&self, index: u8) -> Vec<Bytes> {
        let name = FragmentId { stripe: self.id, index };
        let header =
            Header { name, shape: self.shape, origin: self.origin, record: self.record.clone() };
        let body = self.bodies[usize::from(index)].clone();
        if body.is_empty() { vec![header.encode()] } else { vec![header.encode(), body] }
    }
}
