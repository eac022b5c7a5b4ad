//! The one lease: what only one of the keepers over a catalog does at a time.
//!
//! It saves work, it protects nothing at a node: its holder may believe in it a moment longer than
//! the catalog does. Whatever is done under it is a change that the catalog refuses if it is no
//! longer right (a moved fragment names where it was; garbage is asked for before it is deleted) or
//! if another has taken the lease over ([`Upkeep::fence`]), and no fragment is taken for abandoned
//! that a living session may be writing ([`Watched`](crate::watched::Watched)).
//!
//! The next holder picks up what was refused so: garbage and leftovers are still entered, and are
//! deleted again; a copy that did not become the fragment is claimed by nothing, and a listing of
//! its node finds it. The one that lost the lease deletes nothing more: what it would take for its
//! copy the next holder may have written.

use ripstop_catalog::{Catalog, CatalogError, Change, Refusal, Session};
use ripstop_host::unix_ms;
use ripstop_store::Lineage;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// For how long a lease is taken, in milliseconds. If its holder dies, its work rests that long.
const LEASE_MS: u64 = 60_000;
/// With no more than this left it is renewed.
const RENEWED_AT_MS: u64 = LEASE_MS / 2;

/// The lease of what only one keeper does at a time: it sweeps, mends and moves. They are one duty,
/// because what keeps them off each other's stripes ([`Pins`](ripstop_runtime::Pins)) is known to
/// one process.
pub const UPKEEP: &str = "upkeep";

/// The lease of the upkeep as this keeper had it last; it has it, as far as it knows, until then.
#[derive(Debug, Default)]
pub(crate) struct Upkeep(Mutex<Option<Held>>);

#[derive(Clone, Copy, Debug)]
struct Held {
    session: Session,
    epoch: u64,
    /// 0 once it is lost: what is still under way is done under its epoch all the same.
    until_ms: u64,
}

impl Upkeep {
    fn held(&self) -> MutexGuard<'_, Option<Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the lease is held now and for as long as the next few steps take: takes it if nobody
    /// has it.
    pub(crate) async fn take(
        &self,
        catalog: &dyn Catalog,
        lineage: &Lineage,
    ) -> Result<bool, CatalogError> {
        if !lineage.is_shared() {
            return Ok(true);
        }
        let (session, now_ms) = (lineage.session(), unix_ms());
        let held = *self.held();
        if held
            .is_some_and(|held| held.session == session && held.until_ms > now_ms + RENEWED_AT_MS)
        {
            return Ok(true);
        }
        let until_ms = now_ms + LEASE_MS;
        // A session that nobody watches would keep its leases when it dies.
        let (session, watched) = lineage.watched_until(until_ms);
        let change = Change::Lease { name: UPKEEP.into(), holder: session, until_ms };
        let outcomes = catalog.commit(now_ms, vec![watched, change]).await?;
        let refusal = match outcomes.into_iter().collect::<Result<Vec<_>, _>>() {
            Ok(applied) => {
                let epoch = applied.last().and_then(|applied| applied.epoch);
                let epoch = epoch.expect("a lease that is taken has an epoch");
                *self.held() = Some(Held { session, epoch, until_ms });
                return Ok(true);
            }
            Err(refusal) => refusal,
        };
        if let Some(held) = &mut *self.held() {
            held.until_ms = 0;
        }
        if let Refusal::Retired { session } = refusal {
            lineage.given_up(session);
        }
        tracing::debug!(%refusal, "the upkeep is left to another gateway");
        Ok(false)
    }

    /// A change that is made under the lease: the catalog refuses it once another has taken that
    /// over. Of a keeper that never took it, as one is that has the catalog to itself, it is the
    /// change as it is.
    pub(crate) fn fence(&self, change: Change) -> Change {
        match *self.held() {
            Some(Held { epoch, .. }) => {
                Change::Fenced { lease: UPKEEP.into(), epoch, change: Box::new(change) }
            }
            None => change,
        }
    }
}
