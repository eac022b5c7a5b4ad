//! Where fragments are, and what is to be deleted of them.

use super::draft::Decision;
use super::stop::Decided;
use crate::{Absence, Applied, Garbage, Leftover, Refusal, Rows, Stripe};
use ripstop_model::{NodeId, StripeId};

impl<R: Rows> Decision<'_, '_, R> {
    pub(super) fn discard(
        &mut self,
        now_ms: u64,
        stripes: &[(StripeId, Stripe)],
    ) -> Decided<Applied, R> {
        for (id, stripe) in stripes {
            if self.stripe(*id, Absence::Believed)?.is_none() && !self.is_garbage(*id)? {
                let garbage = Garbage { since_ms: now_ms, stripe: stripe.clone() };
                self.writes.garbage.insert(*id, Some(garbage));
            }
        }
        Ok(Applied::default())
    }

    pub(super) fn place_fragment(
        &mut self,
        id: StripeId,
        index: u8,
        node: Option<NodeId>,
    ) -> Decided<Applied, R> {
        let Some(mut held) = self.stripe(id, Absence::Believed)? else {
            return Ok(Applied::default());
        };
        if let Some(node) = node {
            self.writes.leftovers.insert(Leftover { stripe: id, index, node }, None);
        }
        let (nodes, index) = (&mut held.stripe.nodes, usize::from(index));
        if index >= nodes.len() && node.is_some() {
            nodes.resize(index + 1, None);
        }
        if let Some(slot) = nodes.get_mut(index) {
            *slot = node.map(|node| node.0);
            self.writes.stripes.insert(id, Some(held));
        }
        Ok(Applied::default())
    }

    /// Places a fragment elsewhere if its stripe is as it was; what is left of it there is to be
    /// deleted.
    pub(super) fn move_fragment(
        &mut self,
        now_ms: u64,
        id: StripeId,
        nodes: &[Option<u16>],
        index: u8,
        to: NodeId,
    ) -> Decided<Applied, R> {
        let Some(held) = self.stripe(id, Absence::Certain)? else {
            return Err(Refusal::StripeGone { stripe: id }.into());
        };
        if held.stripe.nodes != nodes || usize::from(index) >= nodes.len() {
            return Err(Refusal::ConditionFailed.into());
        }
        if let Some(node) = held.stripe.node(index.into()) {
            self.writes.leftovers.insert(Leftover { stripe: id, index, node }, Some(now_ms));
        }
        self.place_fragment(id, index, Some(to))
    }

    pub(super) fn forget_leftovers(&mut self, leftovers: &[Leftover]) -> Applied {
        for copy in leftovers {
            self.writes.leftovers.insert(*copy, None);
        }
        Applied::default()
    }
}
