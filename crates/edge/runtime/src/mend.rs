//! Fragments computed again from what is whole of their stripe, or copied to other nodes.

use crate::{
    Chunk, FailedStripe, Header, Pool, Setback, StripePlace,
    examine::FragmentState,
    fragment::{Guard, Strip, assemble},
    job::{self, Job, MendJob},
};
use bytes::Bytes;
use ripstop_gateway::{Cause, RequestSpec};
use ripstop_model::{FragmentId, NodeId};
use std::collections::BTreeMap;
use tokio::sync::oneshot;

/// What is whole of a stripe: enough to make the rest.
struct Sources {
    /// Of some fragment; the others differ in the name.
    header: Header,
    strips: BTreeMap<usize, Chunk>,
}

impl Pool {
    /// Computes fragments again from K whole strips and stores them: each at the node given with
    /// it, or where the pool has room (beside the others, if all belong at one node). Answers where
    /// each is now.
    pub async fn mend(
        &self,
        place: &StripePlace,
        wanted: &[(u8, Option<NodeId>)],
    ) -> Result<Vec<(u8, NodeId)>, FailedStripe> {
        let lost = FailedStripe { id: place.id, setback: Setback::Failed(Cause::Lost) };
        let (code, cut) = (place.shape.code(), place.cut);
        let indices: Vec<u8> = wanted.iter().map(|&(index, _)| index).collect();
        let Sources { header, mut strips } = self.sources(place, &indices).await.ok_or(lost)?;
        let guard = self.guard(place).with_key(header.key).ok_or(lost)?;
        let all = indices.iter().flat_map(|&index| cut.strips_of(code, index));
        let missing: Vec<usize> = all.filter(|strip| !strips.contains_key(strip)).collect();
        let computed = if place.shape.strip_len() == 0 {
            missing.iter().map(|&strip| (strip, Chunk::computed(0, Vec::new()))).collect()
        } else {
            let sources: Vec<_> =
                strips.iter().map(|(&strip, chunk)| (strip, chunk.clone())).collect();
            let blocks = &self.shared.blocks;
            job::decode(&self.shared.codec(code), &missing, &sources, blocks).ok_or(lost)?
        };
        strips.extend(computed);
        let other =
            |(index, node): (u8, &Option<NodeId>)| node.filter(|_| !indices.contains(&index));
        let mut taken: Vec<NodeId> = (0..).zip(&place.nodes).filter_map(other).collect();
        let home = taken.first().copied().filter(|_| cut.is_together());
        let mut mended = Vec::with_capacity(wanted.len());
        for &(index, node) in wanted {
            let name = FragmentId { stripe: place.id, index };
            let header = Header { name, ..header.clone() };
            let bodies = cut.strips_of(code, index).map(|strip| (strip, &strips[&strip]));
            let fragment = self.fragment(&header, &guard, bodies).ok_or(lost)?;
            let node = self.store_fragment(name, fragment, node.or(home), &taken).await?;
            taken.push(node);
            mended.push((index, node));
        }
        Ok(mended)
    }

    /// Stores a fragment at another node too: as it is where it is, every block of it checked, or
    /// computed again where it is not whole there. Answers its bytes once that node was seen to
    /// have all of them, the header checked again; the put itself is whole or nothing.
    pub async fn copy_fragment(
        &self,
        place: &StripePlace,
        index: u8,
        to: NodeId,
    ) -> Result<u64, FailedStripe> {
        let name = FragmentId { stripe: place.id, index };
        let lost = FailedStripe { id: place.id, setback: Setback::Failed(Cause::Lost) };
        let found = self.find(place, index).await;
        match found.header.filter(|_| found.state == FragmentState::Whole) {
            Some(header) => {
                let guard = self.guard(place).with_key(header.key).ok_or(lost)?;
                let strips = found.strips.iter().map(|(strip, chunk)| (*strip, chunk));
                let fragment = self.fragment(&header, &guard, strips).ok_or(lost)?;
                let others: Vec<NodeId> = place.nodes.iter().copied().flatten().collect();
                self.store_fragment(name, fragment, Some(to), &others).await?;
            }
            None => {
                self.mend(place, &[(index, Some(to))]).await?;
            }
        }
        let failed = FailedStripe { id: place.id, setback: Setback::Failed(Cause::Unavailable) };
        let arrived = self.arrived(place, name, to).await;
        if arrived { Ok(place.fragment_len()) } else { Err(failed) }
    }

    /// The bytes of a fragment as they were written: its header and strips sealed with their key
    /// once more. `None` if that is not known.
    fn fragment<'a>(
        &self,
        header: &Header,
        guard: &Guard,
        strips: impl Iterator<Item = (usize, &'a Chunk)>,
    ) -> Option<Vec<Bytes>> {
        let blocks = &self.shared.blocks;
        let strips: Vec<Strip> =
            strips.map(|(strip, chunk)| chunk.sealed(guard, strip as u8, blocks)).collect();
        Some(assemble(&header.segments(&self.seals)?, header.cut, strips.iter()))
    }

    /// Whether a node has a fragment of the right header and length.
    async fn arrived(&self, place: &StripePlace, name: FragmentId, at: NodeId) -> bool {
        let Some(node) = self.shared.node(at) else { return false };
        let len = place.fragment_len();
        let header = self.header(&**node, name, len).await;
        let is_it = header.is_some_and(|(header, header_len)| {
            header.is_of(place, name) && header_len == place.header_len
        });
        is_it && node.get(name, len - 1..len).await.is_ok()
    }

    /// Finds enough to make the fragments `wanted`; `None` if it cannot be had.
    async fn sources(&self, place: &StripePlace, wanted: &[u8]) -> Option<Sources> {
        let (code, needed) = (place.shape.code(), place.shape.needed());
        let (mut header, mut strips) = (None, BTreeMap::new());
        // Of a run that is damaged some strips are whole; of a single strip nothing is.
        let own = wanted.iter().copied().filter(|_| place.cut.run(code) > 1);
        let others = (0..place.cut.fragments(code)).map(|index| index as u8);
        for index in own.chain(others.filter(|index| !wanted.contains(index))) {
            let found = self.find(place, index).await;
            header = header.or(found.header);
            strips.extend(found.strips);
            if header.is_some() && strips.len() >= needed {
                break;
            }
        }
        let header = header.filter(|_| strips.len() >= needed)?;
        Some(Sources { header, strips })
    }

    async fn store_fragment(
        &self,
        name: FragmentId,
        fragment: Vec<Bytes>,
        node: Option<NodeId>,
        taken: &[NodeId],
    ) -> Result<NodeId, FailedStripe> {
        let (answer, answered) = oneshot::channel();
        let (settle, settled) = oneshot::channel();
        let bytes: usize = fragment.iter().map(Bytes::len).sum();
        let strip_bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let operation = RequestSpec::Mend { fragment: name.index, node, taken: taken.to_vec() };
        let job = MendJob { name, fragment, answer: Some(answer), settled: Some(settle) };
        self.ask(name.stripe, operation, strip_bytes, Job::Mend(job), answered).await?;
        let failed = FailedStripe { id: name.stripe, setback: Setback::Failed(Cause::Unavailable) };
        settled.await.ok().flatten().ok_or(failed)
    }
}
