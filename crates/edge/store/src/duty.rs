//! What only one of the stores over a catalog does at a time, and how others know that one lives.
//!
//! A lease saves work, it protects nothing at a node: its holder may believe in it a moment longer
//! than the catalog does. Whatever is done under one is a change that the catalog refuses if it is
//! no longer right (a moved fragment names where it was; garbage is asked for before it is deleted)
//! or if another has taken the lease over ([`Inner::under_lease`]), and no fragment is taken for
//! abandoned that a living session may be writing ([`Watched`]).
//!
//! What was refused so, the next holder picks up: garbage and leftovers are still entered, and are
//! deleted again; a copy that did not become the fragment is claimed by nothing, and a listing of
//! its node finds it. The one who lost the lease deletes nothing more: what it would take for its
//! copy the next holder may have written.

use crate::{Store, StoreError, clock::unix_ms, store::Inner};
use ripstop_catalog::{CatalogError, Change, Refusal, Session, Watermark};
use ripstop_model::StripeId;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

/// For how long a lease is taken, in milliseconds: so long what its holder did rests if that dies.
const LEASE_MS: u64 = 60_000;
/// With no more than this left it is renewed.
const RENEWED_AT_MS: u64 = LEASE_MS / 2;
/// How often it is looked whether something is being written of which the catalog should know.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The lease of what only one store does at a time: it sweeps, mends and moves. They are one duty,
/// because what keeps them off each other's stripes ([`Pins`](ripstop_runtime::Pins)) is known to
/// one process.
pub const UPKEEP: &str = "upkeep";

/// The lease of the upkeep as this store had it last; it has it as far as it knows until then.
#[derive(Debug, Default)]
pub(crate) struct Duties(Mutex<Option<Held>>);

#[derive(Clone, Copy, Debug)]
struct Held {
    session: Session,
    epoch: u64,
    /// 0 once it is lost: what is still under way is done under its epoch all the same.
    until_ms: u64,
}

impl Duties {
    fn held(&self) -> MutexGuard<'_, Option<Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    /// Whether this store is the one that sweeps, mends and moves, now and for as long as its next
    /// few steps take: takes the lease if nobody has it. To be asked before each round and each
    /// page of it.
    pub async fn has_upkeep(&self) -> Result<bool, StoreError> {
        if !self.inner.settings.is_shared {
            return Ok(true);
        }
        let (session, now_ms) = (self.inner.session(), unix_ms());
        let held = *self.inner.duties.held();
        if held
            .is_some_and(|held| held.session == session && held.until_ms > now_ms + RENEWED_AT_MS)
        {
            return Ok(true);
        }
        let until_ms = now_ms + LEASE_MS;
        // A session that nobody watches would keep its leases when it dies.
        let (session, watched) = self.inner.watched_until(until_ms);
        let change = Change::Lease { name: UPKEEP.into(), holder: session, until_ms };
        let outcomes = self.inner.catalog.commit(now_ms, vec![watched, change]).await?;
        let refusal = match outcomes.into_iter().collect::<Result<Vec<_>, _>>() {
            Ok(applied) => {
                let epoch = applied.last().and_then(|applied| applied.epoch);
                let epoch = epoch.expect("a lease that is taken has an epoch");
                *self.inner.duties.held() = Some(Held { session, epoch, until_ms });
                return Ok(true);
            }
            Err(refusal) => refusal,
        };
        if let Some(held) = &mut *self.inner.duties.held() {
            held.until_ms = 0;
        }
        if let Refusal::Retired { session } = refusal {
            self.inner.given_up(session);
        }
        tracing::debug!(%refusal, "the upkeep is left to another gateway");
        Ok(false)
    }
}

/// What the sessions of a catalog may still be writing.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    own: Session,
    watermarks: BTreeMap<Session, Watermark>,
}

impl Watched {
    /// Whether another gateway may be writing a stripe that the catalog did not hold when it was
    /// asked for after this. What this one writes is pinned.
    pub(crate) fn may_be_written(&self, id: StripeId) -> bool {
        let session = Session::of(id);
        session != self.own
            && self
                .watermarks
                .get(&session)
                .is_some_and(|watermark| !watermark.is_retired && id >= watermark.least)
    }
}

impl Inner {
    /// A change of a duty: the catalog refuses it once another has the lease. Of a store that never
    /// took it, and of one that has the catalog to itself, it is the change as it is.
    pub(crate) fn under_lease(&self, change: Change) -> Change {
        match *self.duties.held() {
            Some(Held { epoch, .. }) => {
                Change::Fenced { lease: UPKEEP.into(), epoch, change: Box::new(change) }
            }
            None => change,
        }
    }

    /// What may be being written. To be asked before the catalog is asked for a stripe, and after
    /// its fragment was seen: then what is in neither is nobody's.
    pub(crate) async fn watched(&self) -> Result<Watched, CatalogError> {
        if !self.settings.is_shared {
            return Ok(Watched::default());
        }
        let watermarks = self.catalog.watermarks().await?.into_iter().collect();
        Ok(Watched { own: self.session(), watermarks })
    }
}

/// Has the catalog know of what is being written that its session is alive, until the store is
/// gone.
pub(crate) fn spawn(store: &Store) {
    ripstop_host::spawn(live(Arc::downgrade(&store.inner)));
}

async fn live(store: Weak<Inner>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(inner) = store.upgrade() else { return };
        if let Err(error) = inner.stay_alive().await {
            tracing::warn!(%error, "the catalog was not told that this gateway is alive");
        }
    }
}
