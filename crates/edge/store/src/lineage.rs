//! Whether this catalog is the newest that wrote to the nodes.
//!
//! Every session of a gateway names stripes with a number of its own, which the catalog knows before
//! the first fragment is written, and until when. A fragment of this store whose name the catalog does
//! not know was written under a newer one: an old file was put back. It is nobody's garbage then.

use crate::{
    Store, StoreError,
    clock::{StampClock, StripeNames, unix_ms},
    store::Inner,
};
use ripstop_catalog::{CatalogError, Change, Session, Stamp, Vouched};
use ripstop_model::{FragmentId, StripeId};
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};
use tokio::sync::OnceCell;

/// For how long ahead names are reserved, in milliseconds: one commit serves so long. An old file that
/// was copied while the gateway ran knows names given for so long afterwards.
const AHEAD_MS: u64 = 10_000;
/// When no more than this is left, more is reserved beside the requests.
const RENEWED_AT_MS: u64 = AHEAD_MS / 2;

/// What a store knows of its catalog's past.
#[derive(Debug)]
pub(crate) struct Lineage {
    names: StripeNames,
    stamps: StampClock,
    /// Until when this session may name stripes and give stamps.
    reserved_ms: AtomicU64,
    /// Held by who reserves.
    reserving: Arc<tokio::sync::Mutex<()>>,
    /// What the catalog knew as this session began.
    vouched: OnceCell<Vouched>,
    /// A fragment that was written under a newer catalog.
    newer: Mutex<Option<FragmentId>>,
}

impl Default for Lineage {
    fn default() -> Self {
        Self {
            names: StripeNames::new(),
            stamps: StampClock::default(),
            reserved_ms: AtomicU64::new(0),
            reserving: Arc::default(),
            vouched: OnceCell::new(),
            newer: Mutex::default(),
        }
    }
}

impl Lineage {
    fn newer(&self) -> Option<FragmentId> {
        *self.newer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on stamps are later than this one.
    pub(crate) fn observe(&self, seen: Stamp) {
        self.stamps.observe(seen.when);
    }
}

impl Inner {
    /// Reserves names for the session up to `AHEAD_MS` after `from_ms`.
    async fn reserve(&self, from_ms: u64) -> Result<(), CatalogError> {
        let until_ms = from_ms.max(unix_ms()) + AHEAD_MS;
        let session = self.lineage.names.session();
        self.catalog.commit_one(unix_ms(), Change::Reserve { session, until_ms }).await?;
        self.lineage.reserved_ms.fetch_max(until_ms, Ordering::Release);
        Ok(())
    }

    /// What the catalog knew as this session began.
    async fn vouched(&self) -> Result<&Vouched, CatalogError> {
        let look = || async {
            let vouched = self.catalog.vouched().await?;
            // No session gave a stamp beyond what it had reserved.
            let own = self.lineage.names.session();
            let others = vouched.sessions.iter().filter(|(session, _)| **session != own);
            let until_ms = others.map(|(_, until_ms)| *until_ms).chain([vouched.before_ms]).max();
            self.lineage.stamps.observe(Stamp::at(until_ms.unwrap_or_default() + 1));
            Ok(vouched)
        };
        self.lineage.vouched.get_or_try_init(look).await
    }

    /// Whether the catalog knows a name, or this session has given it.
    pub(crate) async fn knows(&self, id: StripeId) -> Result<bool, CatalogError> {
        Ok(Session::of(id) == self.lineage.names.session() || self.vouched().await?.covers(id))
    }

    /// Notes a fragment of this store that was written under a newer catalog.
    pub(crate) fn note_newer(&self, name: FragmentId) {
        let mut newer = self.lineage.newer.lock().unwrap_or_else(PoisonError::into_inner);
        if newer.is_none() {
            tracing::error!(
                fragment = %name,
                "the nodes hold fragments that were written under a newer catalog than this: nothing that \
                 no stripe claims is deleted. Stop the gateway and run `ripstop rebuild --onto`"
            );
            *newer = Some(name);
        }
    }
}

impl Store {
    /// A new name, known to the catalog before it is used.
    pub(crate) async fn name(&self) -> Result<StripeId, StoreError> {
        let id = self.inner.lineage.names.next();
        self.reserve_to(id.unix_ms()).await?;
        Ok(id)
    }

    /// The stamp of what a stripe is the first to tell: later than all that this gateway, or one before
    /// it on this catalog, gave to anything.
    pub(crate) async fn stamp(&self, stripe: StripeId) -> Result<Stamp, StoreError> {
        self.inner.vouched().await?;
        let stamp = self.inner.lineage.stamps.next(stripe);
        self.reserve_to(stamp.unix_ms()).await?;
        Ok(stamp)
    }

    /// Has the catalog know that this session reaches this time before it does.
    async fn reserve_to(&self, unix_ms: u64) -> Result<(), StoreError> {
        let lineage = &self.inner.lineage;
        let left = lineage.reserved_ms.load(Ordering::Acquire).checked_sub(unix_ms);
        match left {
            Some(left) if left > RENEWED_AT_MS => {}
            Some(_) => {
                if let Ok(turn) = lineage.reserving.clone().try_lock_owned() {
                    let inner = self.inner.clone();
                    ripstop_host::spawn(async move {
                        if let Err(error) = inner.reserve(unix_ms).await {
                            tracing::warn!(%error, "no names reserved ahead");
                        }
                        drop(turn);
                    });
                }
            }
            None => {
                let _turn = lineage.reserving.lock().await;
                if lineage.reserved_ms.load(Ordering::Acquire) < unix_ms {
                    self.inner.reserve(unix_ms).await?;
                }
            }
        }
        Ok(())
    }

    /// A fragment that was written under a newer catalog than this, if a listing of the nodes has shown
    /// one: then the catalog is an old file that was put back.
    pub fn newer(&self) -> Option<FragmentId> {
        self.inner.lineage.newer()
    }
}
