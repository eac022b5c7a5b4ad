use crate::{
    cleaning::Cleanings,
    lease::Upkeep,
    lifecycle::AgedCounts,
    mend::Mends,
    mover::{MoveProgress, Movers},
    settings::KeeperSettings,
};
use ripstop_catalog::{Catalog, CatalogError, Change};
use ripstop_model::PoolId;
use ripstop_runtime::Pins;
use ripstop_store::{Keeping, Store};
use std::sync::{Arc, Weak};

/// Keeps a store: does what is to be done beside requests. Cheap to clone; its rounds end with the
/// last clone.
#[derive(Clone, Debug)]
pub struct Keeper {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    store: Store,
    settings: KeeperSettings,
    upkeep: Upkeep,
    mends: Mends,
    movers: Movers,
    cleanings: Cleanings,
    ages: Arc<AgedCounts>,
}

/// Who a round is done for, which does not keep it.
#[derive(Clone, Debug)]
pub(crate) struct Owner(Weak<Inner>);

impl Owner {
    /// The keeper, if somebody still has it.
    pub(crate) fn keeper(&self) -> Option<Keeper> {
        self.0.upgrade().map(|inner| Keeper { inner })
    }
}

impl Keeper {
    /// A keeper that does nothing by itself.
    pub(crate) fn of(store: Store, settings: KeeperSettings) -> Self {
        let (upkeep, mends, movers, cleanings, ages) = Default::default();
        let inner = Inner { store, settings, upkeep, mends, movers, cleanings, ages };
        Self { inner: Arc::new(inner) }
    }

    pub(crate) fn owner(&self) -> Owner {
        Owner(Arc::downgrade(&self.inner))
    }

    /// Whether this keeper is the one that sweeps, mends and moves, now and for as long as its next
    /// few steps take: takes the lease if nobody has it. To be asked before each round and each
    /// page of it.
    pub async fn has_upkeep(&self) -> Result<bool, CatalogError> {
        self.inner.upkeep.take(&**self.catalog(), self.keeping().lineage()).await
    }

    /// A change of what only the holder of the lease does.
    pub(crate) fn under_lease(&self, change: Change) -> Change {
        self.inner.upkeep.fence(change)
    }

    /// How far the moves are that [`Keeper::follow`] began, of all pools together.
    pub fn moves(&self) -> MoveProgress {
        self.movers().progress()
    }

    /// The same of one pool.
    pub fn moves_of(&self, pool: PoolId) -> MoveProgress {
        self.movers().progress_of(pool)
    }

    pub(crate) fn store(&self) -> &Store {
        &self.inner.store
    }

    pub(crate) fn settings(&self) -> &KeeperSettings {
        &self.inner.settings
    }

    pub(crate) fn mends(&self) -> &Mends {
        &self.inner.mends
    }

    pub(crate) fn movers(&self) -> &Movers {
        &self.inner.movers
    }

    pub(crate) fn cleanings(&self) -> &Cleanings {
        &self.inner.cleanings
    }

    pub(crate) fn ages(&self) -> &Arc<AgedCounts> {
        &self.inner.ages
    }

    pub(crate) fn keeping(&self) -> Keeping<'_> {
        self.inner.store.keeping()
    }

    pub(crate) fn catalog(&self) -> &Arc<dyn Catalog> {
        self.keeping().catalog()
    }

    pub(crate) fn pins(&self) -> &Pins {
        self.keeping().pins()
    }

    /// The grace in milliseconds.
    pub(crate) fn grace_ms(&self) -> u64 {
        self.inner.settings.grace.as_millis() as u64
    }
}
