//! Whether this catalog is the newest that wrote to the nodes.
//!
//! Every session of a gateway names stripes with a number of its own, which the catalog knows before
//! the first fragment is written, and until when. A fragment of this store whose name the catalog does
//! not know was written under a newer one: an old file was put back. It is nobody's garbage then.

use crate::{
    Store, StoreError,
    clock::{StripeNames, unix_ms},
    store::Inner,
};
use ripstop_catalog::{CatalogError, Change, Session, Vouched};
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
    /// Until when this session may name stripes.
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
        self.lineage.vouched.get_or_try_init(|| self.catalog.vouched()).await
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
        let lineage = &self.inner.lineage;
        let id = lineage.names.next();
        let left = lineage.reserved_ms.load(Ordering::Acquire).checked_sub(id.unix_ms());
        match left {
            Some(left) if left > RENEWED_AT_MS => {}
            Some(_) => {
                if let Ok(turn) = lineage.reserving.clone().try_lock_owned() {
                    let inner = self.inner.clone();
                    tokio::spawn(async move {
                        if let Err(error) = inner.reserve(id.unix_ms()).await {
                            tracing::warn!(%error, "no names reserved ahead");
                        }
                        drop(turn);
                    });
                }
            }
            None => {
                let _turn = lineage.reserving.lock().await;
                if lineage.reserved_ms.load(Ordering::Acquire) < id.unix_ms() {
                    self.inner.reserve(id.unix_ms()).await?;
                }
            }
        }
        Ok(id)
    }

    /// A fragment that was written under a newer catalog than this, if a listing of the nodes has shown
    /// one: then the catalog is an old file that was put back.
    pub fn newer(&self) -> Option<FragmentId> {
        self.inner.lineage.newer()
    }
}
