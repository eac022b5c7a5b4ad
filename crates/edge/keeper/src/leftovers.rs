//! What is left at nodes: the old copies of fragments that moved, and files of writes that never
//! ended.

use crate::{
    Keeper,
    away::Away,
    listing::Leftovers,
    round::{Halt, Round},
};
use futures::{StreamExt as _, TryStreamExt as _};
use ripstop_catalog::{Change, Leftover};
use ripstop_host::unix_ms;
use ripstop_model::{FragmentId, NodeId};
use ripstop_node::Node;
use ripstop_runtime::Pin;
use ripstop_store::StoreError;
use std::sync::Arc;

/// Stripes whose leftovers are being deleted at once.
const DELETES: usize = 16;

/// Deletes what moved fragments left behind before `due_ms`, each at the node that it left.
pub(crate) async fn sweep(round: &Round, due_ms: u64, away: &Away) -> Result<(), Halt> {
    let mut leftovers = Leftovers::until(due_ms);
    while let Some(page) = round.page(&mut leftovers).await? {
        let keeper = &round.keeper()?;
        let stripes: Vec<Vec<Leftover>> =
            page.chunk_by(|one, next| one.stripe == next.stripe).map(<[_]>::to_vec).collect();
        let deleted = futures::stream::iter(stripes)
            .map(|copies| keeper.delete_leftovers(copies, away))
            .buffer_unordered(DELETES)
            .try_collect::<Vec<_>>()
            .await?;
        let (_pins, leftovers): (Vec<_>, Vec<_>) = deleted.into_iter().unzip();
        let leftovers = leftovers.concat();
        if !leftovers.is_empty() {
            let change = keeper.under_lease(Change::ForgetLeftovers { leftovers });
            keeper.catalog().commit_one(unix_ms(), change).await?;
        }
    }
    Ok(())
}

/// Removes what writes left at nodes that never ended, once it is as old as the grace.
pub(crate) async fn free(round: &Round) -> Result<(), Halt> {
    let keeper = round.keeper()?;
    let grace = keeper.settings().grace;
    let free = |(id, node): (NodeId, Arc<dyn Node>)| async move {
        match node.leftovers(grace, true).await {
            Ok(left) if left.freed > 0 => {
                tracing::info!(node = id.0, files = left.freed, "freed leftovers of writes");
            }
            Ok(_) => {}
            Err(error) => tracing::debug!(node = id.0, %error, "leftovers not freed"),
        }
    };
    let nodes = keeper.keeping().nodes().map(|(id, node)| (id, node.clone()));
    futures::future::join_all(nodes.map(free)).await;
    Ok(())
}

impl Keeper {
    /// Deletes leftovers of one stripe; answers those that are gone, and what keeps others from
    /// moving a fragment back, and away again, before they are forgotten. At a node that is no
    /// longer configured they count as gone.
    async fn delete_leftovers(
        &self,
        copies: Vec<Leftover>,
        away: &Away,
    ) -> Result<(Option<Pin>, Vec<Leftover>), StoreError> {
        let mut gone = Vec::with_capacity(copies.len());
        let pin = copies.first().and_then(|copy| self.pins().try_pin(copy.stripe));
        let Some(pin) = pin else { return Ok((None, gone)) };
        for copy in copies {
            if !self.catalog().is_leftover(copy).await? {
                continue;
            }
            let name = FragmentId { stripe: copy.stripe, index: copy.index };
            match self.keeping().node(copy.node) {
                None => gone.push(copy),
                Some(node) if away.delete(copy.node, &**node, name).await => gone.push(copy),
                Some(_) => {}
            }
        }
        Ok((Some(pin), gone))
    }
}
