use super::{
    BLOCK_LEN, Header, Origin,
    block::{SEAL_LEN, seal},
    body_len,
};
use crate::{Cut, Share};
use bytes::Bytes;
use ripstop_codec::Codec;
use ripstop_model::{FragmentId, StripSet, StripeId, StripeShape};
use std::ops::Range;

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
    /// By strip.
    bodies: Vec<Bytes>,
    /// Known once it is encoded.
    cut: Option<Cut>,
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
    /// The payload must be complete: `room()` is 0; and the record at most [`RECORD_LEN_MAX`](crate::RECORD_LEN_MAX)
    /// bytes.
    pub fn seal(mut self, origin: Origin, record: Bytes) -> Sealed {
        debug_assert_eq!(self.room(), 0, "a draft is sealed when it is full");
        let k = self.shape.code().k();
        let padding = self.shape.strip_len() as usize * k - self.shape.payload_len() as usize;
        let mut zeros = Bytes::from(vec![0; padding]);
        while !zeros.is_empty() {
            self.append(&mut zeros);
        }
        self.bodies.resize_with(k, Vec::new);
        let bodies = std::mem::take(&mut self.bodies).into_iter().map(Bytes::from).collect();
        let Self { id, shape, share, .. } = self;
        Sealed { id, shape, origin, record, bodies, cut: None, share }
    }
}

impl Sealed {
    /// Cuts it so, and computes the parity strips that are to be stored, sealed like the data strips.
    pub(crate) fn encode(&mut self, codec: &Codec, cut: Cut) {
        self.cut = Some(cut);
        let code = self.shape.code();
        let (k, parity) = (code.k(), cut.stored(code) - code.k());
        if parity == 0 {
            return;
        }
        let strip_len = self.shape.strip_len();
        let wanted: Vec<usize> = (k..k + parity).collect();
        let some = (parity < code.parity())
            .then(|| codec.plan(StripSet::first(k), &wanted).expect("K strips are there"));
        let whole = body_len(strip_len) as usize;
        let mut bodies = vec![Vec::with_capacity(whole); parity];
        let mut scratch = vec![0; BLOCK_LEN.min(strip_len) as usize * parity];
        for number in 0..strip_len.div_ceil(BLOCK_LEN) {
            let len = (strip_len - number * BLOCK_LEN).min(BLOCK_LEN) as usize;
            let at = (number * (BLOCK_LEN + SEAL_LEN)) as usize;
            let data: Vec<&[u8]> =
                self.bodies[..k].iter().map(|body| &body[at..at + len]).collect();
            let mut out: Vec<&mut [u8]> = scratch.chunks_mut(len).take(parity).collect();
            let computed = match &some {
                None => codec.encode(&data, &mut out),
                Some(plan) => plan.run(&data, &mut out),
            };
            computed.expect("K strips in, those to be stored out, all of one length");
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

    fn cut(&self) -> Cut {
        self.cut.expect("its fragments are asked for once it is encoded")
    }

    fn strips_of(&self, index: u8) -> Range<usize> {
        self.cut().strips_of(self.shape.code(), index)
    }

    /// Forgets fragment `index`, which is stored.
    pub(crate) fn release(&mut self, index: u8) {
        let strips = self.strips_of(index);
        let bodies = self.bodies[strips].iter_mut().map(std::mem::take);
        let len = bodies.map(|body| body.len()).sum();
        self.share.release(len);
    }

    /// Fragment `index`, header and body, once it is encoded.
    pub(crate) fn fragment(&self, index: u8) -> Vec<Bytes> {
        let name = FragmentId { stripe: self.id, index };
        let (origin, record) = (self.origin, self.record.clone());
        let header = Header { name, shape: self.shape, cut: self.cut(), origin, record };
        assemble(&header, self.bodies[self.strips_of(index)].iter().cloned())
    }
}

/// A fragment: its header, its strips' bodies, and the header again where all are at one node.
pub(crate) fn assemble(header: &Header, bodies: impl Iterator<Item = Bytes>) -> Vec<Bytes> {
    let encoded = header.segments();
    let end = if header.cut.is_together() { encoded.clone() } else { Vec::new() };
    let bodies = bodies.filter(|body| !body.is_empty());
    encoded.into_iter().chain(bodies).chain(end).collect()
}
