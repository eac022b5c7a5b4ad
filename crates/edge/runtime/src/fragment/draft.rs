use super::{
    BLOCK_LEN, Header, Origin, body_len,
    strip::{Strip, StripDraft},
};
use crate::{Cut, Share};
use bytes::Bytes;
use ripstop_block::{Blocks, Buffer};
use ripstop_codec::Codec;
use ripstop_model::{FragmentId, StripSet, StripeId, StripeShape};
use std::ops::Range;

/// A stripe being filled with payload: data strips are laid out and sealed as the bytes come, in blocks
/// that are taken as they are needed.
#[derive(Debug)]
pub struct StripeDraft {
    id: StripeId,
    shape: StripeShape,
    /// The data strips; all before the last are whole.
    strips: Vec<StripDraft>,
    filled: u32,
    blocks: Blocks,
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
    /// All that are stored, once it is encoded; the data strips before.
    strips: Vec<Strip>,
    /// Known once it is encoded.
    cut: Option<Cut>,
    blocks: Blocks,
    share: Share,
}

impl StripeDraft {
    /// An empty draft of this shape, in memory that was asked for: [`StripeDraft::memory`] bytes.
    pub fn new(id: StripeId, shape: StripeShape, share: Share) -> Self {
        let strips = Vec::with_capacity(shape.code().k());
        let blocks = share.blocks().clone();
        Self { id, shape, strips, filled: 0, blocks, share }
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

    /// Bytes of payload that came.
    pub fn filled(&self) -> u32 {
        self.filled
    }

    /// Whether others wait for memory such as it has.
    pub fn is_wanted(&self) -> bool {
        self.share.is_wanted()
    }

    /// Takes `bytes` of memory more, if they are free.
    #[must_use]
    pub fn grow(&mut self, bytes: usize) -> bool {
        self.share.try_grow(bytes)
    }

    /// The stripe of just what came: laid out again for that, full, and with as much less memory.
    #[must_use]
    pub fn close(self) -> Self {
        let shape = StripeShape::new(self.shape.code(), self.filled)
            .expect("less than a stripe within limits is within limits");
        let Self { id, strips, blocks, mut share, .. } = self;
        share.shrink_to(Self::memory(shape));
        let mut closed =
            Self { id, shape, strips: Vec::new(), filled: shape.payload_len(), blocks, share };
        for strip in strips {
            strip.filled().for_each(|bytes| closed.append(bytes));
        }
        closed
    }

    /// Takes from the front of `bytes` what there is room for.
    pub fn fill(&mut self, bytes: &mut Bytes) {
        let taken = bytes.split_to(bytes.len().min(self.room() as usize));
        self.filled += taken.len() as u32;
        self.append(&taken);
    }

    fn append(&mut self, bytes: &[u8]) {
        let mut bytes = bytes;
        while !bytes.is_empty() {
            if self.strips.last().is_none_or(StripDraft::is_whole) {
                let number = self.strips.len() as u8;
                self.strips.push(StripDraft::new(self.id, number, self.shape.strip_len()));
            }
            let strip = self.strips.last_mut().expect("one was added where there was none");
            bytes = strip.append(bytes, &self.blocks);
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
        self.append(&vec![0; padding]);
        let mut strips: Vec<Strip> = self.strips.into_iter().map(StripDraft::finish).collect();
        strips.resize_with(k, Strip::default);
        let Self { id, shape, blocks, share, .. } = self;
        Sealed { id, shape, origin, record, strips, cut: None, blocks, share }
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
        let mut drafts: Vec<StripDraft> =
            wanted.iter().map(|&strip| StripDraft::new(self.id, strip as u8, strip_len)).collect();
        for number in 0..strip_len.div_ceil(BLOCK_LEN) as usize {
            let data: Vec<&[u8]> =
                self.strips[..k].iter().map(|strip| &strip.blocks[number][..]).collect();
            let len = data[0].len();
            let mut out: Vec<Buffer> = (0..parity).map(|_| self.blocks.buffer(len)).collect();
            let mut into: Vec<&mut [u8]> = out.iter_mut().map(Buffer::whole).collect();
            let computed = match &some {
                None => codec.encode(&data, &mut into),
                Some(plan) => plan.run(&data, &mut into),
            };
            computed.expect("K strips in, those to be stored out, all of one length");
            for (mut block, draft) in out.into_iter().zip(&mut drafts) {
                block.fill_to(len);
                draft.push(block);
            }
        }
        self.strips.extend(drafts.into_iter().map(StripDraft::finish));
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
        let range = self.strips_of(index);
        let strips = self.strips[range].iter_mut().map(std::mem::take);
        let len = strips.map(|strip| strip.len()).sum();
        self.share.release(len);
    }

    /// Fragment `index`, header and body, once it is encoded.
    pub(crate) fn fragment(&self, index: u8) -> Vec<Bytes> {
        let name = FragmentId { stripe: self.id, index };
        let (origin, record) = (self.origin, self.record.clone());
        let header = Header { name, shape: self.shape, cut: self.cut(), origin, record };
        assemble(&header, self.strips[self.strips_of(index)].iter())
    }
}

/// A fragment: its header, its strips, and the header again where all are at one node.
pub(crate) fn assemble<'a>(header: &Header, strips: impl Iterator<Item = &'a Strip>) -> Vec<Bytes> {
    let encoded = header.segments();
    let end = if header.cut.is_together() { encoded.clone() } else { Vec::new() };
    let bodies = strips.flat_map(Strip::segments);
    encoded.into_iter().chain(bodies).chain(end).collect()
}
