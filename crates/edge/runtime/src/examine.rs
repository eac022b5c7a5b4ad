//! A look at fragments where they should be, straight at their nodes.

use crate::{Chunk, Header, Pool, StripePlace, fragment::body_len};
use bytes::Bytes;
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
            Ok(bytes) => judge(place, name, &bytes),
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

fn judge(place: &StripePlace, name: FragmentId, bytes: &Bytes) -> Found {
    let header_len = place.header_len as usize;
    let (code, strip_len) = (place.shape.code(), place.shape.strip_len());
    let first = header_at(place, name, bytes, 0);
    let end = bytes.len().saturating_sub(header_len);
    let last = header_at(place, name, bytes, end).filter(|_| place.cut.is_together());
    let headers = first.is_some() && (last == first || !place.cut.is_together());
    let header = first.or(last);
    let strips = place.cut.strips_of(code, name.index);
    let (count, body) = (strips.len(), body_len(strip_len) as usize);
    let strips: Vec<_> = strips
        .enumerate()
        // Without payload a fragment is no more than its header.
        .filter(|_| strip_len > 0 || header.is_some())
        .filter_map(|(before, strip)| {
            let start = header_len + before * body;
            let sealed = (start + body <= bytes.len()).then(|| bytes.slice(start..start + body))?;
            let chunk = Chunk::verify_whole(place.id, strip as u8, strip_len, &sealed)?;
            Some((strip, chunk))
        })
        .collect();
    let whole = headers && strips.len() == count && bytes.len() as u64 == place.fragment_len();
    let state = if whole { FragmentState::Whole } else { FragmentState::Damaged };
    Found { state, header, strips }
}

/// The header at `start`, if it is what it should be.
fn header_at(place: &StripePlace, name: FragmentId, bytes: &Bytes, start: usize) -> Option<Header> {
    let (header, len) = Header::parse(&bytes.slice(start..)).ok()?;
    let expected = header.name == name && header.shape == place.shape && header.cut == place.cut;
    (expected && len == place.header_len).then_some(header)
}
