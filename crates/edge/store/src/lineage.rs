//! Whether this catalog is the newest that wrote to the nodes.
//!
//! Every session of a gateway names stripes with a number of its own, which the catalog knows
//! before the first fragment is written, and until when. A fragment of this store whose name the
//! catalog does not know was written under a newer one: an old file was put back. It is nobody's
//! garbage then.

use crate::{
    StoreError,
    clock::{StampClock, StripeNames},
    error::RETRY_AFTER,
};
use ripstop_catalog::{Catalog, CatalogError, Change, Condition, Refusal, Session, Stamp, Vouched};
use ripstop_host::unix_ms;
use ripstop_model::{FragmentId, StripeId};
use ripstop_runtime::{Pin, Pins};
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};
use tokio::sync::OnceCell;

/// For how long ahead names are reserved, in milliseconds: one commit serves this long. An old file
/// that was copied while the gateway ran knows names given for this long afterwards.
const AHEAD_MS: u64 = 10_000;
/// When no more than this is left, more is reserved beside the requests.
const RENEWED_AT_MS: u64 = AHEAD_MS / 2;
/// For how much longer than names are reserved the session counts as alive, in milliseconds: what
/// its catalog may be away for while bodies come in, before another gateway may give it up.
const ALIVE_MS: u64 = 30_000;
/// How many sessions are tried for a name: only one that is given up as it begins takes a second.
const SESSIONS_TRIED: usize = 3;

/// What a store knows of its catalog's past.
#[derive(Debug)]
pub struct Lineage {
    catalog: Arc<dyn Catalog>,
    pins: Pins,
    /// Whether others may have the catalog open too.
    is_shared: bool,
    names: StripeNames,
    stamps: StampClock,
    /// This session may name stripes and give stamps until then.
    reserved_ms: AtomicU64,
    /// Held by the task that reserves.
    reserving: Arc<tokio::sync::Mutex<()>>,
    /// What the catalog knew as this session began.
    vouched: OnceCell<Vouched>,
    /// What it knew when it was last asked for a name that it had not known.
    later: Mutex<Vouched>,
    /// Until when this session counts as alive.
    alive_ms: AtomicU64,
    /// A fragment that was written under a newer catalog.
    newer: Mutex<Option<FragmentId>>,
    /// When this session began.
    begun_ms: u64,
    /// Of what was named until then, nodes hold only what the catalog has, in force or as garbage.
    swept_ms: AtomicU64,
    /// What was garbage before then is gone.
    emptied_ms: AtomicU64,
}

impl Lineage {
    pub(crate) fn new(catalog: Arc<dyn Catalog>, pins: Pins, is_shared: bool) -> Self {
        Self {
            catalog,
            pins,
            is_shared,
            names: StripeNames::new(),
            stamps: StampClock::default(),
            reserved_ms: AtomicU64::new(0),
            reserving: Arc::default(),
            vouched: OnceCell::new(),
            later: Mutex::default(),
            alive_ms: AtomicU64::new(0),
            newer: Mutex::default(),
            begun_ms: unix_ms(),
            swept_ms: AtomicU64::new(0),
            emptied_ms: AtomicU64::new(0),
        }
    }

    /// Whether other gateways may have the catalog open too.
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// A fragment that was written under a newer catalog than this, if one was noted.
    pub fn newer(&self) -> Option<FragmentId> {
        *self.newer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on stamps are later than this one.
    pub(crate) fn observe(&self, seen: Stamp) {
        self.stamps.observe(seen.when);
    }

    /// Reserves names for the session up to `AHEAD_MS` after `from_ms`, and says, where others may
    /// sweep, which stripes it may still be writing. One that was given up is followed by another.
    /// One caller at a time.
    async fn reserve(&self, from_ms: u64) -> Result<(), CatalogError> {
        let mut refusal = None;
        for _ in 0..SESSIONS_TRIED {
            let until_ms = from_ms.max(unix_ms()) + AHEAD_MS;
            let alive_until_ms = until_ms + ALIVE_MS;
            let (session, watched) = self.watched_until(alive_until_ms);
            let mut changes = vec![Change::Reserve { session, until_ms }];
            // Nobody would ever give up the sessions of gateways that are alone.
            if self.is_shared {
                changes.push(watched);
            }
            let outcomes = self.catalog.commit(unix_ms(), changes).await?;
            match outcomes.into_iter().collect::<Result<Vec<_>, _>>() {
                Ok(_) => {
                    self.reserved_ms.fetch_max(until_ms, Ordering::Release);
                    self.alive_ms.fetch_max(alive_until_ms, Ordering::Release);
                    return Ok(());
                }
                Err(Refusal::Retired { session }) => {
                    self.given_up(session);
                    refusal = Some(Refusal::Retired { session });
                }
                Err(other) => return Err(other.into()),
            }
        }
        Err(refusal.expect("it was tried").into())
    }

    /// That the session counts as alive until then, and what it may still be writing.
    pub fn watched_until(&self, alive_until_ms: u64) -> (Session, Change) {
        let (session, least) = self.names.least(&self.pins);
        (session, Change::Watch { session, least, alive_until_ms })
    }

    /// What this session still writes comes to nothing: another gives names from now on.
    pub fn given_up(&self, session: Session) {
        if self.names.session() == session {
            tracing::warn!(
                session = format!("{:08x}", session.0),
                "another gateway gave this one up for dead: what it was writing is refused"
            );
            self.names.renew(session);
            self.reserved_ms.store(0, Ordering::Release);
        }
    }

    /// The session that this store names stripes in.
    pub fn session(&self) -> Session {
        self.names.session()
    }

    /// Has the catalog know, while something is being written, that this session is alive.
    pub async fn stay_alive(&self) -> Result<(), CatalogError> {
        let writes = self.names.least(&self.pins).1;
        let is_writing = self.pins.contains(writes);
        let is_due = || self.alive_ms.load(Ordering::Acquire) < unix_ms() + ALIVE_MS;
        if is_writing && is_due() {
            let _turn = self.reserving.lock().await;
            if is_due() {
                self.reserve(unix_ms()).await?;
            }
        }
        Ok(())
    }

    /// Has the catalog know that this session is alive, and gives up those that are not.
    pub async fn give_up_others(&self) -> Result<(), CatalogError> {
        let turn = self.reserving.lock().await;
        self.reserve(unix_ms()).await?;
        drop(turn);
        self.catalog.commit_one(unix_ms(), Change::Retire).await?;
        Ok(())
    }

    /// What the catalog knew as this session began.
    async fn vouched(&self) -> Result<&Vouched, CatalogError> {
        let look = || async {
            let vouched = self.catalog.vouched().await?;
            self.stamps.observe(self.first_reading(&vouched));
            Ok(vouched)
        };
        self.vouched.get_or_try_init(look).await
    }

    /// The clock's first reading beyond those of the sessions before: none gave a stamp beyond what
    /// it had reserved.
    fn first_reading(&self, vouched: &Vouched) -> u64 {
        let own = self.names.session();
        let others = vouched.sessions.iter().filter(|(session, _)| **session != own);
        let until_ms = others.map(|(_, until_ms)| *until_ms).chain([vouched.before_ms]).max();
        Stamp::at(until_ms.unwrap_or_default() + 1)
    }

    /// Of what was named until then, nodes hold from now on only what the catalog has, in force or
    /// as garbage.
    pub fn swept(&self, until_ms: u64) {
        self.swept_ms.fetch_max(until_ms, Ordering::AcqRel);
    }

    /// What was garbage before then is gone from the nodes.
    pub fn emptied(&self, before_ms: u64) {
        self.emptied_ms.fetch_max(before_ms, Ordering::AcqRel);
    }

    /// Whether nodes may still tell what a session before this one began to write, and the catalog
    /// never had.
    pub(crate) async fn may_have_left(&self) -> Result<bool, CatalogError> {
        let since = [&self.swept_ms, &self.emptied_ms].map(|at| at.load(Ordering::Acquire));
        if since.into_iter().all(|at| at > self.begun_ms) {
            return Ok(false);
        }
        let (vouched, own) = (self.vouched().await?, self.session());
        Ok(vouched.before_ms > 0 || vouched.sessions.keys().any(|session| *session != own))
    }

    /// A stamp later than all that sessions before this one gave, and earlier than all of its own.
    pub(crate) async fn first_stamp(&self, stripe: StripeId) -> Result<Stamp, CatalogError> {
        Ok(Stamp { when: self.first_reading(self.vouched().await?), stripe })
    }

    /// Whether the catalog knows a name, or this session has given it.
    pub async fn knows(&self, id: StripeId) -> Result<bool, CatalogError> {
        let is_own = Session::of(id) == self.session();
        if is_own || self.vouched().await?.covers(id) || self.later().covers(id) {
            return Ok(true);
        }
        if self.newer().is_some() {
            return Ok(false);
        }
        // It may be of a gateway that began after this one.
        let vouched = self.catalog.vouched().await?;
        let is_known = vouched.covers(id);
        *self.later() = vouched;
        Ok(is_known)
    }

    fn later(&self) -> MutexGuard<'_, Vouched> {
        self.later.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a fragment of this store that was written under a newer catalog.
    pub fn note_newer(&self, name: FragmentId) {
        let mut newer = self.newer.lock().unwrap_or_else(PoisonError::into_inner);
        if newer.is_none() {
            tracing::error!(
                fragment = %name,
                "the nodes hold fragments that were written under a newer catalog than this: no unclaimed \
                 fragment is deleted. Stop the gateway and run `ripstop rebuild --onto`"
            );
            *newer = Some(name);
        }
    }

    /// A new name, known to the catalog before it is used; pinned until its draft is.
    pub(crate) async fn name(self: &Arc<Self>) -> Result<(StripeId, Pin), StoreError> {
        for _ in 0..SESSIONS_TRIED {
            let (id, pin) = self.names.next(&self.pins);
            self.reserve_to(id.unix_ms()).await?;
            if Session::of(id) == self.session() {
                return Ok((id, pin));
            }
        }
        Err(StoreError::Busy { retry_after: RETRY_AFTER })
    }

    /// The stamp of what a stripe is the first to tell, under this condition: later than all that
    /// this gateway, or one before it on this catalog, gave to anything.
    pub(crate) async fn stamp(
        self: &Arc<Self>,
        stripe: StripeId,
        condition: &Condition,
    ) -> Result<Stamp, StoreError> {
        self.vouched().await?;
        let stamp = self.stamps.next(stripe, condition);
        self.reserve_to(stamp.unix_ms()).await?;
        Ok(stamp)
    }

    /// Lets the catalog know that this session reaches this time, before it does.
    async fn reserve_to(self: &Arc<Self>, unix_ms: u64) -> Result<(), StoreError> {
        let left = self.reserved_ms.load(Ordering::Acquire).checked_sub(unix_ms);
        match left {
            Some(left) if left > RENEWED_AT_MS => {}
            Some(_) => {
                if let Ok(turn) = self.reserving.clone().try_lock_owned() {
                    let lineage = self.clone();
                    ripstop_host::spawn(async move {
                        if let Err(error) = lineage.reserve(unix_ms).await {
                            tracing::warn!(%error, "names could not be reserved ahead");
                        }
                        drop(turn);
                    });
                }
            }
            None => {
                let _turn = self.reserving.lock().await;
                if self.reserved_ms.load(Ordering::Acquire) < unix_ms {
                    self.reserve(unix_ms).await?;
                }
            }
        }
        Ok(())
    }
}
