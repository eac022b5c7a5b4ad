//! A look at fragments where they should be, straight at their nodes.

use crate::{
    Chunk, Header, Pool, Sealing, Seals, StripePlace,
    fragment::{Guard, body_len},
};
use bytes::Bytes;
use ripstop_block::Blocks;
use ripstop_model::{FragmentId, StripSet};
use ripstop_node::{Node, NodeError};

/// What a fragment is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FragmentState {
    /// Headers and every block are as they were written.
    Whole,
    /// The node does not have it.
    Missing,
    /// It is not what was written.
    Damaged,
    /// Nor is this, and no accident made it: a checksum holds where the store's key should have
    /// sealed.
    Forged,
    /// The node could not be asked.
    Unknown,
}

/// What a look at one fragment found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Look {
    /// What it is like.
    pub state: FragmentState,
    /// Strips of its stripe that are whole there: some may be in a damaged fragment.
    pub strips: StripSet,
}

/// What is whole of a fragment.
#[derive(Debug)]
pub(crate) struct Found {
    pub state: FragmentState,
    pub header: Option<Header>,
    /// By strip.
    pub strips: Vec<(usize, Chunk)>,
}

impl Found {
    fn nothing(state: FragmentState) -> Self {
        Self { state, header: None, strips: Vec::new() }
    }
}

impl Pool {
    /// Looks at one fragment where it should be, headers and every block.
    pub async fn examine(&self, place: &StripePlace, index: u8) -> Look {
        let found = self.find(place, index).await;
        let strips = found.strips.iter().map(|&(strip, _)| strip);
        Look { state: found.state, strips: strips.collect() }
    }

    /// What is whole of one fragment.
    pub(crate) async fn find(&self, place: &StripePlace, index: u8) -> Found {
        let node = place.nodes.get(usize::from(index)).copied().flatten();
        let Some(node) = node.and_then(|id| self.shared.node(id)) else {
            return Found::nothing(FragmentState::Missing);
        };
        let name = FragmentId { stripe: place.id, index };
        match fetch(&**node, name, place).await {
            Ok(bytes) => {
                let judge = Judge { place, name, seals: &self.seals, guard: self.guard(place) };
                judge.judge(&bytes, &self.shared.blocks)
            }
            Err(state) => Found::nothing(state),
        }
    }
}

/// The bytes of a fragment, or as many of them as there are.
async fn fetch(
    node: &dyn Node,
    name: FragmentId,
    place: &StripePlace,
) -> Result<Bytes, FragmentState> {
    let got = match node.get(name, 0..place.fragment_len()).await {
        Err(NodeError::Short { len, asked }) if len < asked => node.get(name, 0..len).await,
        got => got,
    };
    got.map_err(|error| match error {
        NodeError::Missing => FragmentState::Missing,
        NodeError::Short { .. } => FragmentState::Damaged,
        NodeError::Refused { .. } | NodeError::Unavailable { .. } => FragmentState::Unknown,
    })
}

/// What a fragment is held against.
struct Judge<'a> {
    place: &'a StripePlace,
    name: FragmentId,
    seals: &'a Seals,
    guard: Guard,
}

impl Judge<'_> {
    fn judge(&self, bytes: &Bytes, into: &Blocks) -> Found {
        let Self { place, name, guard, .. } = self;
        let header_len = place.header_len as usize;
        let (code, shape) = (place.shape.code(), place.shape);
        let first = self.header_at(bytes, 0);
        let end = bytes.len().saturating_sub(header_len);
        let last = self.header_at(bytes, end).filter(|_| place.cut.is_together());
        let headers = first.is_some() && (last == first || !place.cut.is_together());
        let header = first.or(last);
        let strips = place.cut.strips_of(code, name.index);
        let (count, body) = (strips.len(), body_len(shape, place.sealing) as usize);
        let mut forged = header.is_none() && self.is_forged_header(bytes);
        let strips: Vec<_> = strips
            .enumerate()
            // Without payload a fragment is no more than its header.
            .filter(|_| shape.strip_len() > 0 || header.is_some())
            .filter_map(|(before, strip)| {
                let (start, number) = (header_len + before * body, strip as u8);
                let sealed =
                    (start + body <= bytes.len()).then(|| bytes.slice(start..start + body))?;
                let chunk = Chunk::verify_whole(guard, number, shape, &sealed, into);
                forged |= chunk.is_none() && Chunk::is_forged(guard, number, shape, &sealed);
                Some((strip, chunk?))
            })
            .collect();
        let whole = headers && strips.len() == count && bytes.len() as u64 == place.fragment_len();
        let state = match (whole, forged) {
            (true, _) => FragmentState::Whole,
            (false, true) => FragmentState::Forged,
            (false, false) => FragmentState::Damaged,
        };
        Found { state, header, strips }
    }

    /// The header at `start`, if it is what it should be.
    fn header_at(&self, bytes: &Bytes, start: usize) -> Option<Header> {
        let Self { place, name, seals, .. } = self;
        let is_unverified = place.sealing == Sealing::Unverified;
        let seals = if is_unverified { (*seals).clone().unsealed() } else { (*seals).clone() };
        let (header, len) = Header::parse(&bytes.slice(start..), &seals).ok()?;
        (header.is_of(place, *name) && len == place.header_len).then_some(header)
    }

    /// Whether a header by checksum stands where one sealed with the key should.
    fn is_forged_header(&self, bytes: &Bytes) -> bool {
        let parsed = Header::parse(bytes, &Seals::default());
        self.place.sealing != Sealing::Checksum && parsed.is_ok()
    }
}

impl Header {
    /// Whether it is that of a fragment of a stripe as the catalog knows it.
    pub(crate) fn is_of(&self, place: &StripePlace, name: FragmentId) -> bool {
        let is = (self.name, self.shape, self.cut, self.sealing);
        is == (name, place.shape, place.cut, place.sealing.in_headers())
    }
}
