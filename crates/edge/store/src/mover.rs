//! Brings what is stored to where a plan wants it, behind everything else.

mod census;
mod copy;
mod plans;

pub use plans::MoveProgress;
pub(crate) use plans::Movers;

use crate::{Store, StoreError, store::Inner};
use plans::{is_spread, spot};
use ripstop_catalog::{CatalogError, Stripe};
use ripstop_gateway::{NodeGauge, NodeState, Placement};
use ripstop_model::{PoolId, StripeId, TenantId, Timestamp};
use ripstop_placement::moving::{
    Assignment, Errand, FragmentMove, Goal, LOOK_EVERY, MovePace, Tally, Walked, Watch, goals,
};
use ripstop_runtime::Layout;
use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

/// Stripes of the catalog looked at together.
const PAGE: usize = 256;
/// How long after it was told that another gateway moves a mover asks again.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(1);

impl Store {
    /// From now on a pool's new stripes go where a plan says, and those stored before are brought
    /// there: no more than it takes for the groups to have their parts, at most
    /// [`Settings::move_rate_max`](crate::Settings) bytes each second, behind everything else:
    /// while the pool has a backlog, one fragment a second. A plan without groups ends that.
    ///
    /// Must be called within a tokio runtime. Pools that the store does not have are passed over.
    pub fn follow(&self, pool: PoolId, placement: &Placement) {
        let Some(found) = self.pool(pool) else { return };
        found.place(placement.clone());
        let (rate, home_after) =
            (self.inner.settings.move_rate_max, self.inner.settings.home_after);
        let goals = if rate > 0 && found.layout() == Layout::Spread {
            let groups = placement.groups.iter().map(|group| (group.weight, &*group.nodes));
            goals(groups, |id| found.nodes().any(|(node, _)| node == id))
        } else {
            Vec::new()
        };
        let goals: Arc<[Goal]> = goals.into();
        let plan = self.inner.movers.replace(pool, goals.clone());
        if goals.is_empty() {
            return;
        }
        let (store, now) = (Arc::downgrade(&self.inner), ripstop_host::now());
        let watch = Watch::new(Timestamp::ZERO, home_after);
        let pace = MovePace::new(Timestamp::ZERO, rate);
        let mover = Mover { store, pool, plan, goals, begun: now, pace, watch };
        ripstop_host::spawn(mover.run());
    }

    /// How far the moves are that [`Store::follow`] began, of all pools together.
    pub fn moves(&self) -> MoveProgress {
        self.inner.movers.progress()
    }

    /// The same of one pool.
    pub fn moves_of(&self, pool: PoolId) -> MoveProgress {
        self.inner.movers.progress_of(pool)
    }
}

impl Inner {
    /// Lets the pool's mover know if a stripe, fragments of which were just placed, is not where
    /// its plan wants it.
    pub(crate) async fn note_placed(&self, id: StripeId) {
        match self.catalog.stripes(&[id]).await {
            Ok(mut found) => {
                let found = found.pop().flatten().map(|stripe| (id, stripe));
                self.movers.strayed(&self.movers.strays(found.as_slice()));
            }
            Err(error) => tracing::debug!(stripe = %id, %error, "the next walk finds it"),
        }
    }
}

/// Brings the stripes of one pool to the groups of one plan.
struct Mover {
    store: Weak<Inner>,
    pool: PoolId,
    plan: u64,
    goals: Arc<[Goal]>,
    /// When its clock shows zero.
    begun: Instant,
    pace: MovePace,
    watch: Watch,
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

impl Mover {
    async fn run(mut self) {
        while self.walk_and_rest().await.is_ok() {}
    }

    /// Walks, and waits until it is time for the next walk.
    async fn walk_and_rest(&mut self) -> Result<(), Halt> {
        self.look()?;
        if !self.is_mine().await? {
            return self.sleep_until(ripstop_host::now() + ASK_AGAIN_AFTER).await;
        }
        self.watch.walk_began(self.now(), self.strays()?);
        let walked = match self.walk().await {
            Err(Halt::Failed(error)) => {
                tracing::warn!(pool = self.pool.0, %error, "stripes not brought to their nodes");
                Walked { left: 1, ..Walked::default() }
            }
            walked => walked?,
        };
        let Walked { moved, left, .. } = walked;
        if moved > 0 {
            tracing::info!(pool = self.pool.0, moved, left, "moved fragments");
        }
        self.watch.walk_ended(self.now(), walked);
        self.rest().await
    }

    /// The time by its clock.
    fn now(&self) -> Timestamp {
        Timestamp::ZERO + ripstop_host::since(self.begun)
    }

    /// The store, while it is there and follows this plan. Never kept while waiting: the store ends
    /// when its users have gone.
    fn store(&self) -> Result<Store, Halt> {
        let inner = self.store.upgrade().ok_or(Halt::Unwanted)?;
        let is_present = inner.movers.is_present(self.pool, self.plan);
        is_present.then(|| Store { inner, tenant: TenantId::ANYBODY }).ok_or(Halt::Unwanted)
    }

    /// Whether this store's mover is the one that walks. Where the catalog does not say so, it is
    /// not.
    async fn is_mine(&self) -> Result<bool, Halt> {
        let asked = self.store()?.has_upkeep().await;
        Ok(asked.unwrap_or_else(|error| {
            tracing::warn!(pool = self.pool.0, %error, "no stripes moved");
            false
        }))
    }

    /// Looks which of the plan's nodes are in service.
    fn look(&mut self) -> Result<(), Halt> {
        let store = self.store()?;
        let pool = store.pool(self.pool).ok_or(Halt::Unwanted)?;
        let is_wanted =
            |node: &NodeGauge| self.goals.iter().any(|goal| goal.nodes.contains(&node.id));
        let down = pool.inspect(|machine| {
            let down = machine.nodes().filter(|node| node.state == NodeState::Down);
            down.filter(is_wanted).map(|node| node.id).collect()
        });
        self.watch.look(self.now(), down);
        Ok(())
    }

    fn strays(&self) -> Result<u64, Halt> {
        Ok(self.store()?.inner.movers.strays_of(self.pool))
    }

    async fn sleep_until(&mut self, end: Instant) -> Result<(), Halt> {
        loop {
            self.look()?;
            let left = end.saturating_duration_since(ripstop_host::now());
            if left.is_zero() {
                return Ok(());
            }
            tokio::time::sleep(left.min(LOOK_EVERY)).await;
        }
    }

    /// Sleeps until the next walk is due.
    async fn rest(&mut self) -> Result<(), Halt> {
        loop {
            let end = self.begun + self.watch.next().since(Timestamp::ZERO);
            self.sleep_until(end.min(ripstop_host::now() + LOOK_EVERY)).await?;
            let now = self.now();
            if self.watch.is_due(now, self.strays()?) {
                if now < self.watch.next() {
                    tracing::debug!(pool = self.pool.0, "looks for stripes to bring home");
                }
                return Ok(());
            }
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
        if !self.is_mine().await? {
            return Err(Halt::Failed(StoreError::Busy { retry_after: ASK_AGAIN_AFTER }));
        }
        let page = self.store()?.inner.catalog.stripes_after(*after, PAGE).await?;
        let Some(&(last, _)) = page.last() else { return Ok(None) };
        *after = last;
        let mine =
            |(_, stripe): &(StripeId, Stripe)| stripe.pool() == self.pool && is_spread(stripe);
        Ok(Some(page.into_iter().filter(mine).collect()))
    }

    /// Counts what is where, decides where it belongs, and brings it there.
    async fn walk(&mut self) -> Result<Walked, Halt> {
        let (mut after, mut tally) = (StripeId(0), Tally::new(self.goals.to_vec()));
        while let Some(page) = self.page(&mut after).await? {
            for (_, stripe) in &page {
                tally.note(spot(stripe));
            }
        }
        let mut assignment: Assignment = tally.assign();
        self.note(|_, left| *left = assignment.fragments())?;
        let (mut after, mut walked) = (StripeId(0), Walked::default());
        while let Some(page) = self.page(&mut after).await? {
            for (id, stripe) in page {
                self.note(|progress, _| progress.stripes_seen += 1)?;
                if let Some(goal) = assignment.next(&spot(&stripe)).cloned() {
                    self.bring(id, goal, &mut walked).await?;
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

    /// Moves what of a stripe is not in its group, one fragment after the other. What belongs at a
    /// node that is out of service stays until it is back.
    async fn bring(&mut self, id: StripeId, goal: Goal, walked: &mut Walked) -> Result<(), Halt> {
        let mut errand = Errand::new(goal);
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
            let next = errand.next(&self.watch, stripe.n, &stripe.nodes, walked);
            let Some(FragmentMove { index, to, is_last }) = next else { return Ok(()) };
            match store.move_fragment(&pin, id, &stripe, index, to).await {
                Ok(bytes) => {
                    self.count(bytes, walked)?;
                    if is_last {
                        return Ok(());
                    }
                }
                Err(error) => {
                    tracing::debug!(stripe = %id, index, %error, "not moved yet");
                    errand.failed(index, walked);
                    self.note(|progress, _| progress.failed += 1)?;
                }
            }
        }
    }

    fn count(&mut self, bytes: u64, walked: &mut Walked) -> Result<(), Halt> {
        self.pace.moved(self.now(), bytes);
        walked.moved += 1;
        self.note(|progress, left| {
            progress.fragments_moved += 1;
            progress.bytes_moved += bytes;
            *left = left.saturating_sub(1);
        })
    }

    /// Waits until the next fragment may go, behind what waits for the pool's nodes.
    async fn give_way(&mut self) -> Result<(), Halt> {
        loop {
            self.look()?;
            let store = self.store()?;
            let pool = store.pool(self.pool).ok_or(Halt::Unwanted)?;
            let has_backlog = pool.inspect(|machine| machine.load().backlog) > 0;
            drop(store);
            let Some(pause) = self.pace.wait(self.now(), has_backlog) else { return Ok(()) };
            self.sleep_until(ripstop_host::now() + pause).await?;
        }
    }
}
