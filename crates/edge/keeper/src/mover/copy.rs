//! One fragment to another node: the copy, then the switch.

use crate::Keeper;
use ripstop_catalog::{CatalogError, Change, Leftover, Refusal, Stripe};
use ripstop_host::unix_ms;
use ripstop_model::{FragmentId, NodeId, StripeId};
use ripstop_runtime::{Pin, Purpose};
use ripstop_store::StoreError;
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;

/// Longest that a copy may take before it is given up until the next walk.
const COPY_MAX: Duration = Duration::from_mins(5);

impl Keeper {
    /// Copies a fragment of a stripe, whose pin the caller holds, and then makes that its place.
    /// Answers the bytes written. Whatever fails, the fragment is where it was.
    pub(super) async fn move_fragment(
        &self,
        pin: &Arc<Pin>,
        id: StripeId,
        stripe: &Stripe,
        index: u8,
        to: NodeId,
    ) -> Result<u64, StoreError> {
        let (pool, place) = self.keeping().locate(id, stripe)?;
        let share = self.keeping().memory().acquire(Purpose::Background, place.memory()).await;
        let copied = timeout(COPY_MAX, pool.copy_fragment(&place, index, to)).await;
        let bytes = copied.map_err(|_| StoreError::Unavailable { stripe: id })??;
        drop(share);
        let change = Change::MoveFragment { stripe: id, nodes: stripe.nodes.clone(), index, to };
        let change = self.under_lease(change);
        let (catalog, pin) = (self.catalog().clone(), pin.clone());
        // To its end even if the mover is stopped now: until its fate is known no sweep may take
        // the copy for misplaced.
        let committed = ripstop_host::spawn(async move {
            let committed = catalog.commit_one(unix_ms(), change).await;
            drop(pin);
            committed
        });
        match committed.await.unwrap_or_else(|error| Err(CatalogError::Unavailable(error.into()))) {
            Ok(_) => Ok(bytes),
            Err(error) => {
                let is_refused = matches!(
                    error,
                    CatalogError::Refused(Refusal::StripeGone { .. } | Refusal::ConditionFailed)
                );
                if is_refused && let Err(error) = self.discard_copy(id, index, to).await {
                    tracing::debug!(stripe = %id, index, %error, "a listing finds the copy");
                }
                Err(error.into())
            }
        }
    }

    /// Deletes a copy that did not become the fragment, while the stripe is still pinned.
    async fn discard_copy(&self, id: StripeId, index: u8, to: NodeId) -> Result<(), StoreError> {
        let found = self.catalog().stripes(&[id]).await?.pop().flatten();
        let is_there = found.and_then(|stripe| stripe.node(index.into())) == Some(to);
        // A leftover is swept when its readers have gone.
        let copy = Leftover { stripe: id, index, node: to };
        if is_there || self.catalog().is_leftover(copy).await? {
            return Ok(());
        }
        if let Some(node) = self.keeping().node(to)
            && let Err(error) = node.delete(FragmentId { stripe: id, index }).await
        {
            tracing::debug!(stripe = %id, index, %error, "a listing finds the copy");
        }
        Ok(())
    }
}
