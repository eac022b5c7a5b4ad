use super::{
    Guard, Header, Origin, body_len,
    header::RecordTag,
    strip::{Strip, StripDraft},
};
use crate::{Cut, Pin, Sealing, Seals, Share};
use bytes::Bytes;
use ripstop_block::{Blocks, Buffer};
use ripstop_codec::Codec;
use ripstop_model::{FragmentId, StripSet, StripeId, StripeShape};
use std::ops::Range;

/// A stripe being filled with payload: data strips are laid out and sealed as the bytes come, in
/// blocks that are taken as they are needed.
#[derive(Debug)]
pub struct StripeDraft {
    id: StripeId,
    shape: StripeShape,
    seals: Seals,
    guard: Guard,
    /// The data strips; all before the last are whole.
    strips: Vec<StripDraft>,
    filled: u32,
    blocks: Blocks,
    share: Share,
    /// Its name is being used, also while its bytes are still to come.
    pin: Option<Pin>,
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
    /// What its headers tell, encrypted where the blocks are.
    record: Bytes,
    tag: Option<RecordTag>,
    seals: Seals,
    guard: Guard,
    /// The data strips, until it is encoded.
    drafts: Vec<StripDraft>,
    /// All that are stored, once it is encoded.
    strips: Vec<Strip>,
    /// Known once it is encoded.
    cut: Option<Cut>,
    blocks: Blocks,
    share: Share,
    /// Of a pool's draft.
    pub(crate) pin: Option<Pin>,
}

impl StripeDraft {
    /// An empty draft of this shape, sealed by checksums, in memory that was asked for:
    /// [`StripeDraft::memory`] bytes.
    pub fn new(id: StripeId, shape: StripeShape, share: Share) -> Self {
        Self::guarded(id, shape, share, Seals::default(), Guard::unkeyed(id))
    }

    /// The same, sealed by this guard, whose keys are those of `seals`.
    pub(crate) fn guarded(
        id: StripeId,
        shape: StripeShape,
        share: Share,
        seals: Seals,
        guard: Guard,
    ) -> Self {
        let strips = Vec::with_capacity(shape.code().k());
        let blocks = share.blocks().clone();
        Self { id, shape, seals, guard, strips, filled: 0, blocks, share, pin: None }
    }

    /// The same, with what keeps sweeps off its name.
    pub(crate) fn pinned(self, pin: Pin) -> Self {
        Self { pin: Some(pin), ..self }
    }

    /// Bytes that all fragments of such a stripe take, if they are not encrypted.
    pub fn memory(shape: StripeShape) -> usize {
        Self::memory_of(shape, Sealing::Keyed)
    }

    /// Bytes that all fragments of such a stripe take.
    pub(crate) fn memory_of(shape: StripeShape, sealing: Sealing) -> usize {
        shape.code().n() * body_len(shape, sealing) as usize
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
            .expect("less than a stripe within limits is within limits")
            .in_blocks(self.shape.block_len());
        let Self { id, seals, guard, strips, mut share, pin, .. } = self;
        share.shrink_to(Self::memory_of(shape, guard.sealing()));
        let mut closed = Self::guarded(id, shape, share, seals, guard);
        closed.filled = shape.payload_len();
        closed.pin = pin;
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
                let guard = self.guard.clone();
                self.strips.push(StripDraft::new(guard, number, self.shape));
            }
            let strip = self.strips.last_mut().expect("one was added where there was none");
            bytes = strip.append(bytes, &self.blocks);
        }
    }

    /// Pads what was filled with zeros to the shape and adds what the headers shall tell.
    ///
    /// The payload must be complete: `room()` is 0; and the record at most
    /// [`RECORD_LEN_MAX`](crate::RECORD_LEN_MAX) bytes.
    pub fn seal(mut self, origin: Origin, record: Bytes) -> Sealed {
        debug_assert_eq!(self.room(), 0, "a draft is sealed when it is full");
        let k = self.shape.code().k();
        let padding = self.shape.strip_len() as usize * k - self.shape.payload_len() as usize;
        self.append(&vec![0; padding]);
        let Self { id, shape, seals, guard, strips: mut drafts, blocks, share, pin, .. } = self;
        // Without payload none was begun.
        let more = (drafts.len()..k).map(|at| StripDraft::new(guard.clone(), at as u8, shape));
        drafts.extend(more.collect::<Vec<_>>());
        let (record, tag) = guard.close_record(record);
        let (cut, strips) = (None, Vec::new());
        Sealed {
            id,
            shape,
            origin,
            record,
            tag,
            seals,
            guard,
            drafts,
            strips,
            cut,
            blocks,
            share,
            pin,
        }
    }
}

impl Sealed {
    /// Cuts it so, and computes the parity strips that are to be stored, sealed like the data
    /// strips. They are computed of plain text, and then all of them encrypted, where they are to
    /// be.
    pub(crate) fn encode(&mut self, codec: &Codec, cut: Cut) {
        self.cut = Some(cut);
        let code = self.shape.code();
        let mut drafts = std::mem::take(&mut self.drafts);
        let parity = self.parity(codec, &drafts, cut.stored(code) - code.k());
        drafts.extend(parity);
        self.strips = drafts.into_iter().map(StripDraft::finish).collect();
    }

    /// The first `parity` of the parity strips.
    fn parity(&self, codec: &Codec, data: &[StripDraft], parity: usize) -> Vec<StripDraft> {
        let code = self.shape.code();
        if parity == 0 {
            return Vec::new();
        }
        let k = code.k();
        let wanted: Vec<usize> = (k..k + parity).collect();
        let some = (parity < code.parity())
            .then(|| codec.plan(StripSet::first(k), &wanted).expect("K strips are there"));
        let draft = |&strip: &usize| StripDraft::new(self.guard.clone(), strip as u8, self.shape);
        let mut drafts: Vec<StripDraft> = wanted.iter().map(draft).collect();
        for number in 0..self.shape.blocks() as usize {
            let data: Vec<&[u8]> = data.iter().map(|strip| strip.block(number)).collect();
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
        drafts
    }

    /// Bytes of header of each of its fragments.
    pub fn header_len(&self) -> u32 {
        // The cut takes as many bytes whichever it is.
        self.header(0, Cut::Spread).len() as u32
    }

    /// How it is sealed.
    pub fn sealing(&self) -> Sealing {
        self.guard.sealing()
    }

    fn header(&self, index: u8, cut: Cut) -> Header {
        let name = FragmentId { stripe: self.id, index };
        Header {
            tag: self.tag,
            sealing: self.guard.sealing(),
            key: self.guard.key(),
            ..Header::new(name, self.shape, cut, self.origin, self.record.clone())
        }
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
        let header = self.header(index, self.cut()).segments(&self.seals);
        let header = header.expect("it is sealed with a key that is known");
        assemble(&header, self.cut(), self.strips[self.strips_of(index)].iter())
    }
}

/// A fragment: its header, its strips, and the header again where all are at one node.
pub(crate) fn assemble<'a>(
    header: &[Bytes],
    cut: Cut,
    strips: impl Iterator<Item = &'a Strip>,
) -> Vec<Bytes> {
    let end = if cut.is_together() { header } else { &[] };
    let bodies = strips.flat_map(Strip::segments);
    header.iter().cloned().chain(bodies).chain(end.iter().cloned()).collect()
}
