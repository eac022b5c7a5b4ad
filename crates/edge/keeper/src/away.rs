use crate::Keeper;
use ripstop_catalog::Stripe;
use ripstop_model::{FragmentId, NodeId, StripeId};
use ripstop_node::{Node, NodeError};
use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Nodes that did not answer in one round: garbage at the others does not wait for them again.
#[derive(Default)]
pub(crate) struct Away(Mutex<BTreeSet<NodeId>>);

impl Away {
    fn nodes(&self) -> MutexGuard<'_, BTreeSet<NodeId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Deletes a fragment; whether it is gone from its node.
    pub(crate) async fn delete(&self, id: NodeId, node: &dyn Node, name: FragmentId) -> bool {
        if self.nodes().contains(&id) {
            return false;
        }
        let Err(error) = node.delete(name).await else { return true };
        tracing::debug!(fragment = %name, %error, "not deleted for now");
        if matches!(error, NodeError::Unavailable { .. }) {
            self.nodes().insert(id);
        }
        false
    }

    /// Deletes every fragment of a garbage stripe; whether all are gone. Those on nodes that are no
    /// longer configured count as gone.
    pub(crate) async fn delete_stripe(
        &self,
        keeper: &Keeper,
        id: StripeId,
        stripe: &Stripe,
    ) -> bool {
        let mut gone = true;
        for index in 0..stripe.nodes.len() {
            let Some(at) = stripe.node(index) else { continue };
            let Some(node) = keeper.keeping().node(at) else { continue };
            let name = FragmentId { stripe: id, index: index as u8 };
            gone &= self.delete(at, &**node, name).await;
        }
        gone
    }
}
