//! The one lease: what only one of the keepers over a catalog does at a time.
//!
//! It saves work, it protects nothing: its holder may believe in it a moment longer than the
//! catalog does. Whatever is done under it is a change that the catalog refuses if it is no longer
//! right (a moved fragment names where it was; garbage is asked for before it is deleted), and no
//! fragment is taken for abandoned that a living session may be writing
//! ([`Watched`](crate::watched::Watched)).

use ripstop_catalog::{Catalog, CatalogError, Change, Refusal, Session};
use ripstop_host::unix_ms;
use ripstop_store::Lineage;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// For how long a lease is taken, in milliseconds: so long what its holder did rests if that dies.
const LEASE_MS: u64 = 60_000;
/// With no more than this left it is renewed.
const RENEWED_AT_MS: u64 = LEASE_MS / 2;

/// The lease of what only one keeper does at a time: it sweeps, mends and moves. They are one duty,
/// because what keeps them off each other's stripes ([`Pins`](ripstop_runtime::Pins)) is known to
/// one process.
pub const UPKEEP: &str = "upkeep";

/// Until when this keeper has the lease of the upkeep, as far as it knows.
#[derive(Debug, Default)]
pub(crate) struct Upkeep(Mutex<Option<Held>>);

#[derive(Clone, Copy, Debug)]
struct Held {
    session: Session,
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
        let Err(refusal) = outcomes.into_iter().collect::<Result<Vec<_>, _>>() else {
            *self.held() = Some(Held { session, until_ms });
            return Ok(true);
        };
        *self.held() = None;
        if let Refusal::Retired { session } = refusal {
            lineage.given_up(session);
        }
        tracing::debug!(%refusal, "the upkeep is left to another gateway");
        Ok(false)
    }
}
