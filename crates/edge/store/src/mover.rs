//! Brings what is stored to where a plan wants it, behind everything else.

mod assignment;
mod copy;
mod transport;

use crate::{Store, StoreError, store::Inner};
use assignment::{Assignment, Goal, Spot, Tally, goals};
use ripstop_catalog::{CatalogError, Stripe};
use ripstop_gateway::Placement;
use ripstop_model::{PoolId, StripeId, TenantId};
use ripstop_runtime::Layout;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};
use tokio::time::Instant;

/// Stripes of the catalog looked at together.
const PAGE: usize = 256;
/// How often stripes are walked through once all are where they belong: later ones may have had nodes
/// stood in for.
const WALK_EVERY: Duration = Duration::from_hours(1);
/// How long after a walk that could not move everything the next one begins; twice as long after each
/// that moved nothing, up to the second.
const RETRY_AFTER: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(5));
/// How often a mover that waits looks whether it is still wanted.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often a mover that gives way looks whether the pool still has a backlog.
const GIVE_WAY: Duration = Duration::from_millis(20);

/// How far stripes have been brought to where plans want them, over all pools since the start.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct MoveProgress {
    /// Stripes that were looked at, as often as they were.
    pub stripes_seen: u64,
    /// Fragments that are elsewhere now.
    pub fragments_moved: u64,
    /// Their bytes, headers included.
    pub bytes_moved: u64,
    /// Fragments still to be moved, by the last count of where stripes are.
    pub fragments_left: u64,
    /// Moves that failed; each is tried again.
    pub failed: u64,
    /// Walks through all stripes of a pool at whose end none was left to move.
    pub walks: u64,
}

/// The movers of all pools.
#[derive(Debug, Default)]
pub(crate) struct Movers(Mutex<Moving>);

#[derive(Debug, Default)]
struct Moving {
    /// By pool: the number of its present plan, and the fragments still to be moved.
    plans: BTreeMap<PoolId, (u64, u64)>,
    progress: MoveProgress,
}

impl Movers {
    fn moving(&self) -> MutexGuard<'_, Moving> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the pool's mover; answers the number of the one that follows.
    fn replace(&self, pool: PoolId) -> u64 {
        let mut moving = self.moving();
        let plan = moving.plans.entry(pool).or_default();
        *plan = (plan.0 + 1, 0);
        plan.0
    }

    fn is_present(&self, pool: PoolId, plan: u64) -> bool {
        self.moving().plans.get(&pool).is_some_and(|present| present.0 == plan)
    }

    fn note(&self, pool: PoolId, plan: u64, change: impl FnOnce(&mut MoveProgress, &mut u64)) {
        let Moving { plans, progress } = &mut *self.moving();
        // What a mover does after its end counts too, but no longer as its pool's.
        let mut nobodys = 0;
        let present = plans.get_mut(&pool).filter(|present| present.0 == plan);
        change(progress, present.map_or(&mut nobodys, |(_, left)| left));
    }
}

impl Store {
    /// From now on a pool's new stripes go where a plan says, and those stored before are brought
    /// there: no more than it takes for the groups to have their parts, at most
    /// [`Settings::move_rate_max`](crate::Settings) bytes each second, behind everything else and only while the pool
    /// has no backlog. A plan without groups ends that.
    ///
    /// Must be called within a tokio runtime. What the store has no pool of is passed over.
    pub fn follow(&self, pool: PoolId, placement: &Placement) {
        let Some(found) = self.pool(pool) else { return };
        found.place(placement.clone());
        let plan = self.inner.movers.replace(pool);
        let goals = goals(placement, |id| found.nodes().any(|(node, _)| node == id));
        let rate = self.inner.settings.move_rate_max;
        if goals.is_empty() || rate == 0 || found.layout() != Layout::Spread {
            return;
        }
        let (store, paid_until) = (Arc::downgrade(&self.inner), Instant::now());
        let mover = Mover { store, pool, plan, goals, rate, paid_until };
        tokio::spawn(mover.run());
    }

    /// How far the moves are that [`Store::follow`] began.
    pub fn moves(&self) -> MoveProgress {
        let moving = self.inner.movers.moving();
        let fragments_left = moving.plans.values().map(|(_, left)| left).sum();
        MoveProgress { fragments_left, ..moving.progress }
    }
}

/// Brings the stripes of one pool to the groups of one plan.
struct Mover {
    store: Weak<Inner>,
    pool: PoolId,
    plan: u64,
    goals: Vec<Goal>,
    /// Bytes each second.
    rate: u64,
    /// Until when what was moved takes at this rate.
    paid_until: Instant,
}

/// Why a walk ended early.
enum Halt {
    /// The store is gone, or follows another plan.
    Unwanted,
    /// What went wrong.
    Failed(StoreError),
}

impl From<CatalogError> for Halt {
    fn from(error: CatalogError) -> Self {
        Self::Failed(error.into())
    }
}

/// What came of a walk, in fragments.
#[derive(Default)]
struct Walked {
    moved: u64,
    left: u64,
}

impl Mover {
    async fn run(mut self) {
        let mut retry_after = RETRY_AFTER.0;
        loop {
            let walked = match self.walk().await {
                Ok(walked) => walked,
                Err(Halt::Unwanted) => return,
                Err(Halt::Failed(error)) => {
                    tracing::warn!(pool = self.pool.0, %error, "stripes not brought to their nodes");
                    Walked { moved: 0, left: 1 }
                }
            };
            if walked.moved > 0 {
                let Walked { moved, left } = walked;
                tracing::info!(pool = self.pool.0, moved, left, "moved fragments");
                retry_after = RETRY_AFTER.0;
            }
            let wait = if walked.left == 0 { WALK_EVERY } else { retry_after };
            retry_after = (retry_after * 2).min(RETRY_AFTER.1);
            if self.sleep_until(Instant::now() + wait).await.is_err() {
                return;
            }
        }
    }

    /// The store, while it is there and follows this plan. Never kept while waiting: the store ends
    /// when its users have gone.
    fn store(&self) -> Result<Store, Halt> {
        let inner = self.store.upgrade().ok_or(Halt::Unwanted)?;
        let is_present = inner.movers.is_present(self.pool, self.plan);
        is_present.then(|| Store { inner, tenant: TenantId::ANYBODY }).ok_or(Halt::Unwanted)
    }

    async fn sleep_until(&self, end: Instant) -> Result<(), Halt> {
        loop {
            drop(self.store()?);
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            tokio::time::sleep(left.min(LOOK_EVERY)).await;
        }
    }

    /// Counts what was done, even if another plan has come meanwhile.
    fn note(&self, change: impl FnOnce(&mut MoveProgress, &mut u64)) -> Result<(), Halt> {
        let inner = self.store.upgrade().ok_or(Halt::Unwanted)?;
        inner.movers.note(self.pool, self.plan, change);
        Ok(())
    }

    /// The next stripes of the pool that are spread over nodes; `None` after the last.
    async fn page(&self, after: &mut StripeId) -> Result<Option<Vec<(StripeId, Stripe)>>, Halt> {
        let page = self.store()?.inner.catalog.stripes_after(*after, PAGE).await?;
        let Some(&(last, _)) = page.last() else { return Ok(None) };
        *after = last;
        let mine = |(_, stripe): &(StripeId, Stripe)| {
            stripe.pool() == self.pool && stripe.run == 0 && stripe.n > 1
        };
        Ok(Some(page.into_iter().filter(mine).collect()))
    }

    /// Counts what is where, decides where it belongs, and brings it there.
    async fn walk(&mut self) -> Result<Walked, Halt> {
        let (mut after, mut tally) = (StripeId(0), Tally::new(self.goals.clone()));
        while let Some(page) = self.page(&mut after).await? {
            for (_, stripe) in &page {
                tally.note(Spot::of(stripe));
            }
        }
        let mut assignment: Assignment = tally.assign();
        self.note(|_, left| *left = assignment.fragments())?;
        let (mut after, mut walked) = (StripeId(0), Walked::default());
        while let Some(page) = self.page(&mut after).await? {
            for (id, stripe) in page {
                self.note(|progress, _| progress.stripes_seen += 1)?;
                if let Some(goal) = assignment.next(&Spot::of(&stripe)).cloned() {
                    self.bring(id, &goal, &mut walked).await?;
                }
            }
        }
        drop(self.store()?);
        self.note(|progress, left| {
            *left = walked.left;
            progress.walks += u64::from(walked.left == 0);
        })?;
        Ok(walked)
    }

    /// Moves what of a stripe is not in its group, one fragment after the other.
    async fn bring(&mut self, id: StripeId, goal: &Goal, walked: &mut Walked) -> Result<(), Halt> {
        let mut failed = BTreeSet::new();
        loop {
            self.give_way().await?;
            let store = self.store()?;
            let Some(pin) = store.inner.pins.try_pin(id).map(Arc::new) else {
                // It is still being written, or being mended.
                walked.left += 1;
                return Ok(());
            };
            let found = store.inner.catalog.stripes(&[id]).await?.pop().flatten();
            let Some(stripe) = found else { return Ok(()) };
            let mut moves = goal.moves(&stripe).into_iter();
            let next = moves.find(|(index, _)| !failed.contains(index));
            let Some((index, to)) = next else { return Ok(()) };
            match store.move_fragment(&pin, id, &stripe, index, to).await {
                Ok(bytes) => self.count(bytes, walked)?,
                Err(error) => {
                    tracing::debug!(stripe = %id, index, %error, "not moved yet");
                    failed.insert(index);
                    walked.left += 1;
                    self.note(|progress, _| progress.failed += 1)?;
                }
            }
        }
    }

    fn count(&mut self, bytes: u64, walked: &mut Walked) -> Result<(), Halt> {
        let takes = Duration::from_secs_f64(bytes as f64 / self.rate as f64);
        self.paid_until = self.paid_until.max(Instant::now()) + takes;
        walked.moved += 1;
        self.note(|progress, left| {
            progress.fragments_moved += 1;
            progress.bytes_moved += bytes;
            *left = left.saturating_sub(1);
        })
    }

    /// Waits until what was moved is paid for, and nobody else waits for the pool's nodes.
    async fn give_way(&self) -> Result<(), Halt> {
        self.sleep_until(self.paid_until).await?;
        loop {
            let store = self.store()?;
            let pool = store.pool(self.pool).ok_or(Halt::Unwanted)?;
            if pool.inspect(|machine| machine.load().backlog) == 0 {
                return Ok(());
            }
            drop(store);
            tokio::time::sleep(GIVE_WAY).await;
        }
    }
}
