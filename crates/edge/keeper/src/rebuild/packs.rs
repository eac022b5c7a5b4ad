//! What packs tell, read from their payloads while stripes are judged.

use super::roster::Roster;
use futures::StreamExt as _;
use ripstop_block::Blocks;
use ripstop_catalog::Stripe;
use ripstop_model::StripeId;
use ripstop_runtime::{Cut, Salvage, Sealing, Seals, StripePlace};
use ripstop_store::{PackDirectory, PackMark};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Packs whose directories are read, and in memory, at once.
pub(super) const PACKS_AT_ONCE: usize = 4;
/// Bytes of blocks that are kept for what is computed of lost strips.
const BLOCKS_LEN: usize = 1 << 20;

/// A pack that is believed, and who wants to know what it tells.
pub(super) struct Asked {
    pub(super) id: StripeId,
    pub(super) stripe: Stripe,
    pub(super) mark: PackMark,
    pub(super) answer: oneshot::Sender<Option<PackDirectory>>,
}

/// Answers what packs tell for as long as somebody asks; `None` where too little of a pack is left,
/// or it is not what its headers say.
pub(super) async fn answer(
    asked: mpsc::Receiver<Asked>,
    roster: &Roster,
    store: u64,
    seals: &Seals,
) {
    let blocks = Blocks::new(BLOCKS_LEN);
    let asked = futures::stream::unfold(asked, async |mut from| {
        from.recv().await.map(|asked| (asked, from))
    });
    let answered = asked.for_each_concurrent(PACKS_AT_ONCE, |asked| {
        let blocks = &blocks;
        async move {
            let Asked { id, stripe, mark, answer } = asked;
            let found = read(roster, store, seals, blocks, (id, &stripe), &mark).await;
            // The judge that asked may have failed: its error is the rebuild's.
            let _ = answer.send(found);
        }
    });
    answered.await;
}

async fn read(
    roster: &Roster,
    store: u64,
    seals: &Seals,
    blocks: &Blocks,
    (id, stripe): (StripeId, &Stripe),
    mark: &PackMark,
) -> Option<PackDirectory> {
    let shape = stripe.shape()?;
    let place = StripePlace {
        id,
        shape,
        cut: Cut::new(shape.code(), stripe.run, stripe.nodes.len())?,
        header_len: stripe.header_len,
        sealing: Sealing::from_number(stripe.sealing)?,
        nodes: (0..stripe.nodes.len()).map(|index| stripe.node(index)).collect(),
    };
    let node = |id| roster.node(id).map(Arc::clone);
    let salvage = Salvage { place: &place, store, seals, node: &node, blocks };
    let is_it = |bytes: &[u8]| mark.is_of(bytes);
    let bytes = salvage.prefix(mark.directory_len, is_it).await?;
    match PackDirectory::decode(mark, shape.payload_len(), &bytes) {
        Ok(directory) => Some(directory),
        Err(error) => {
            tracing::warn!(stripe = %id, %error, "a pack's directory cannot be read");
            None
        }
    }
}
