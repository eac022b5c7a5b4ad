//! Fragments at nodes that are not as the catalog has them.

use crate::{Keeper, watched::Watched};
use ripstop_catalog::{Leftover, Stripe};
use ripstop_host::unix_ms;
use ripstop_model::{NodeId, StripeId};
use ripstop_node::{Listed, Node};
use ripstop_runtime::{Pool, StripePlace};
use ripstop_store::StoreError;

/// Why a fragment at a node is not as the catalog has it.
#[derive(Debug)]
pub(crate) enum Misfit {
    /// No stripe claims it, and the catalog does not know its name.
    Newer,
    /// No stripe claims it.
    Unclaimed,
    /// Its stripe has it elsewhere.
    Misplaced,
    /// It is longer than it was written.
    Grown(StripePlace, Pool),
}

/// What became of a fragment that was to be deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Removal {
    Gone,
    /// It is claimed again, or another store's, or nobody can tell whose.
    Left,
    /// Its node did not delete it.
    Failed,
}

impl Keeper {
    /// Whether this store wrote a fragment whose name the catalog does not know: then it is noted.
    pub(crate) async fn is_newer(&self, node: &dyn Node, found: &Listed) -> bool {
        let is_own = self.is_own(node, found).await;
        if is_own {
            self.keeping().lineage().note_newer(found.name);
        }
        is_own
    }

    /// Deletes a fragment that the catalog does not place at a node, if that is still so and this
    /// store wrote it.
    pub(crate) async fn delete_misfit(
        &self,
        id: NodeId,
        node: &dyn Node,
        found: &Listed,
        watched: &Watched,
    ) -> Result<Removal, StoreError> {
        if self.keeping().lineage().newer().is_some() {
            return Ok(Removal::Left);
        }
        // A move may have brought it there since it was listed.
        let pin = self.pins().try_pin(found.name.stripe);
        let Some(_pin) = pin else { return Ok(Removal::Left) };
        let stripe = self.catalog().stripes(&[found.name.stripe]).await?.pop().flatten();
        match self.judge_listed(id, found, stripe, watched).await? {
            Some(Misfit::Unclaimed | Misfit::Misplaced) => Ok(self.delete_own(node, found).await),
            Some(Misfit::Newer | Misfit::Grown(..)) | None => Ok(Removal::Left),
        }
    }

    /// Deletes an unclaimed fragment if its header says that this store wrote it. What another
    /// store wrote, or nobody can tell who, stays.
    async fn delete_own(&self, node: &dyn Node, found: &Listed) -> Removal {
        if !self.is_own(node, found).await {
            return Removal::Left;
        }
        match node.delete(found.name).await {
            Ok(()) => Removal::Gone,
            Err(error) => {
                tracing::debug!(fragment = %found.name, %error, "not deleted");
                Removal::Failed
            }
        }
    }

    /// Whether a fragment's header says that this store wrote it.
    async fn is_own(&self, node: &dyn Node, found: &Listed) -> bool {
        let pool = &self.keeping().pools()[0];
        let own = pool.origin().store;
        let header = pool.header(node, found.name, found.len).await;
        header.is_some_and(|(header, _)| header.origin.store == own)
    }

    /// Which of the fragments listed at a node are not as the catalog has them, and why. Left out
    /// are those that are being written or moved, are garbage or leftovers that are due anyway, or
    /// that nothing has there and that are younger than the grace.
    pub(crate) async fn misfits(
        &self,
        node: NodeId,
        listed: &[Listed],
    ) -> Result<Vec<(Listed, Misfit)>, StoreError> {
        let unpinned = |listed: &&Listed| !self.pins().contains(listed.name.stripe);
        let listed: Vec<&Listed> = listed.iter().filter(unpinned).collect();
        let ids: Vec<StripeId> = listed.iter().map(|listed| listed.name.stripe).collect();
        let watched = &self.watched().await?;
        let stripes = self.catalog().stripes(&ids).await?;
        let mut misfits = Vec::new();
        for (listed, stripe) in listed.into_iter().zip(stripes) {
            let mut misfit = self.judge_listed(node, listed, stripe, watched).await?;
            if matches!(misfit, Some(Misfit::Misplaced)) {
                // It may have moved here since the stripes of the page were read.
                let stripe = self.catalog().stripes(&[listed.name.stripe]).await?.pop();
                misfit = self.judge_listed(node, listed, stripe.flatten(), watched).await?;
            }
            misfits.extend(misfit.map(|misfit| (listed.clone(), misfit)));
        }
        Ok(misfits)
    }

    /// Whether a fragment is not as the catalog has it, `stripe` being what that says of its
    /// stripe.
    async fn judge_listed(
        &self,
        node: NodeId,
        listed: &Listed,
        stripe: Option<Stripe>,
        watched: &Watched,
    ) -> Result<Option<Misfit>, StoreError> {
        let id = listed.name.stripe;
        let is_old = id.unix_ms() <= unix_ms().saturating_sub(self.grace_ms());
        let misfit = match stripe {
            Some(stripe) => self.misfit(node, listed, &stripe),
            None if self.catalog().is_garbage(id).await? => None,
            None if watched.may_be_written(id) => None,
            None if !self.keeping().lineage().knows(id).await? => Some(Misfit::Newer),
            None if !is_old => None,
            None => Some(Misfit::Unclaimed),
        };
        match misfit {
            Some(Misfit::Newer | Misfit::Grown(..)) | None => Ok(misfit),
            Some(Misfit::Unclaimed | Misfit::Misplaced) if !is_old => Ok(None),
            Some(Misfit::Unclaimed | Misfit::Misplaced) => {
                let copy = Leftover { stripe: id, index: listed.name.index, node };
                let is_leftover = self.catalog().is_leftover(copy).await?;
                Ok(misfit.filter(|_| !is_leftover))
            }
        }
    }

    fn misfit(&self, node: NodeId, listed: &Listed, stripe: &Stripe) -> Option<Misfit> {
        let index = usize::from(listed.name.index);
        match stripe.node(index) {
            Some(place) if place == node => {
                let (pool, place) = self.keeping().locate(listed.name.stripe, stripe).ok()?;
                let grown = listed.len > place.fragment_len();
                grown.then(|| Misfit::Grown(place, pool.clone()))
            }
            // Not known to be anywhere: a repair may still use it.
            None if index < stripe.nodes.len() => None,
            Some(_) | None => Some(Misfit::Misplaced),
        }
    }
}
