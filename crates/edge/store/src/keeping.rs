//! What a keeper needs of a store, and no request does.

use crate::{Batch, Store, StoreError, lineage::Lineage, strays::Strays};
use ripstop_catalog::{Catalog, Stripe};
use ripstop_model::{NodeId, PoolId, StripeId};
use ripstop_node::Node;
use ripstop_runtime::{Memory, Pins, Pool, StripePlace};
use std::sync::Arc;

/// A store as its keeper sees it: what it stands on, below objects and buckets. A change made here
/// must leave what requests rely on as it is.
#[derive(Clone, Copy, Debug)]
pub struct Keeping<'a>(&'a Store);

impl Store {
    /// What a keeper needs of the store.
    pub fn keeping(&self) -> Keeping<'_> {
        Keeping(self)
    }
}

impl<'a> Keeping<'a> {
    /// The store itself.
    pub(crate) fn store(self) -> &'a Store {
        self.0
    }

    /// What is stored where.
    pub fn catalog(self) -> &'a Arc<dyn Catalog> {
        &self.0.inner.catalog
    }

    /// All pools, of which there is at least one.
    pub fn pools(self) -> &'a [Pool] {
        &self.0.inner.pools
    }

    /// A pool by number.
    pub fn pool(self, id: PoolId) -> Option<&'a Pool> {
        self.0.pool(id)
    }

    /// The pool that objects of a class of storage are written to in a bucket.
    pub fn pool_of_class(self, bucket: &str, class: &str) -> &'a Pool {
        self.0.pool_of(bucket, class)
    }

    /// An empty batch, with room for as much as one stripe is to hold, and no more than this.
    pub fn batch_within(self, room: usize) -> Batch {
        Batch::within(room.min(self.0.inner.settings.stripe_max as usize))
    }

    /// Objects shorter than this are gathered in a pool; 0: none are.
    pub fn gathered_below(self, pool: PoolId) -> u32 {
        self.0.inner.settings.packs_of(pool).map_or(0, |packs| packs.below)
    }

    /// The nodes of all pools.
    pub fn nodes(self) -> impl Iterator<Item = (NodeId, &'a Arc<dyn Node>)> {
        self.pools().iter().flat_map(Pool::nodes)
    }

    /// A node by number, in whichever pool it is.
    pub fn node(self, id: NodeId) -> Option<&'a Arc<dyn Node>> {
        self.nodes().find(|(at, _)| *at == id).map(|(_, node)| node)
    }

    /// A stripe's pool, and where it is.
    pub fn locate(
        self,
        id: StripeId,
        stripe: &Stripe,
    ) -> Result<(&'a Pool, StripePlace), StoreError> {
        self.0.locate(id, stripe)
    }

    /// The one budget of strips.
    pub fn memory(self) -> &'a Memory {
        &self.0.inner.memory
    }

    /// Stripes that are being written, moved or mended now.
    pub fn pins(self) -> &'a Pins {
        &self.0.inner.pins
    }

    /// Where plans want stripes.
    pub fn strays(self) -> &'a Strays {
        &self.0.inner.strays
    }

    /// The session that names stripes, and what the catalog knows of it and others.
    pub fn lineage(self) -> &'a Lineage {
        &self.0.inner.lineage
    }
}
