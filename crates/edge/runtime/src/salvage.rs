//! The beginning of a payload, straight from nodes: a rebuild of a catalog has no pool.

use crate::{
    Chunk, Seals, StripePlace,
    fragment::{Guard, body_len, body_range, piece_lens},
    job,
};
use ripstop_block::Blocks;
use ripstop_codec::Codec;
use ripstop_model::{FragmentId, NodeId};
use ripstop_node::Node;
use std::{collections::BTreeMap, ops::Range, sync::Arc};

/// A stripe whose nodes can be asked.
#[expect(missing_debug_implementations, reason = "made for one question, of borrowed parts")]
pub struct Salvage<'a> {
    /// Where it is, as far as is known.
    pub place: &'a StripePlace,
    /// The store that wrote it.
    pub store: u64,
    /// Keys of its seals.
    pub seals: &'a Seals,
    /// A node by number.
    pub node: &'a (dyn Fn(NodeId) -> Option<Arc<dyn Node>> + Sync),
    /// Where computed bytes go.
    pub blocks: &'a Blocks,
}

impl Salvage<'_> {
    /// The first `len` bytes of the payload, if `is_it` says that it is they. Read from the strips
    /// that they are in, or computed from any K others: of a strip that misleads `is_it`, too.
    pub async fn prefix(&self, len: u32, is_it: impl Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
        let shape = self.place.shape;
        let strip_len = shape.strip_len();
        if len == 0 || len > shape.payload_len() {
            return None;
        }
        let columns = 0..len.min(strip_len);
        let wanted = 0..len.div_ceil(strip_len) as usize;
        let mut found = BTreeMap::new();
        for strip in wanted.clone() {
            self.fetch(strip, &columns, &mut found).await;
        }
        let prefix = |strips: &BTreeMap<usize, Chunk>| {
            let mut bytes = Vec::with_capacity(len as usize);
            for strip in wanted.clone() {
                strips.get(&strip)?.blocks().iter().for_each(|block| bytes.extend(block));
            }
            bytes.truncate(len as usize);
            Some(bytes).filter(|bytes| is_it(bytes))
        };
        if let Some(bytes) = prefix(&found) {
            return Some(bytes);
        }
        for strip in wanted.end..self.place.cut.stored(shape.code()) {
            self.fetch(strip, &columns, &mut found).await;
        }
        // Nothing is left out first, and then each strip by turns.
        let suspects = std::iter::once(None).chain(found.keys().copied().map(Some));
        suspects.into_iter().find_map(|suspect| {
            let mut strips = found.clone();
            if let Some(suspect) = suspect {
                strips.remove(&suspect);
            }
            self.compute(&wanted, &mut strips)?;
            prefix(&strips)
        })
    }

    /// Computes what is missing of the strips `wanted`.
    fn compute(&self, wanted: &Range<usize>, strips: &mut BTreeMap<usize, Chunk>) -> Option<()> {
        let missing: Vec<usize> =
            wanted.clone().filter(|strip| !strips.contains_key(strip)).collect();
        let codec = Codec::new(self.place.shape.code());
        let sources: Vec<_> = strips.iter().map(|(&strip, chunk)| (strip, chunk.clone())).collect();
        strips.extend(job::decode(&codec, &missing, &sources, self.blocks)?);
        Some(())
    }

    /// Fetches columns of a strip, if they are whole where it is.
    async fn fetch(&self, strip: usize, columns: &Range<u32>, into: &mut BTreeMap<usize, Chunk>) {
        let StripePlace { id, shape, cut, header_len, sealing, ref nodes } = *self.place;
        let (index, before) = cut.place_of(shape.code(), strip);
        let node = nodes.get(usize::from(index)).copied().flatten().and_then(self.node);
        let Some(node) = node else { return };
        let at = body_range(columns, shape, sealing);
        let body = u64::from(header_len) + before as u64 * u64::from(body_len(shape, sealing));
        let range = body + u64::from(at.start)..body + u64::from(at.end);
        let name = FragmentId { stripe: id, index };
        let Ok(mut bytes) = node.get(name, range).await else { return };
        let mut pieces = piece_lens(columns, shape, sealing)
            .map(|len| bytes.split_to(bytes.len().min(len as usize)));
        let guard = Guard::new(self.seals, sealing, self.store, id);
        let number = strip as u8;
        let chunk = Chunk::verify(&guard, number, shape, columns, &mut pieces, self.blocks);
        if let Some(chunk) = chunk {
            into.insert(strip, chunk);
        }
    }
}
