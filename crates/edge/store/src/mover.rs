//! Brings what is stored to where a plan wants it, behind everything else.

mod assignment;
mod census;
mod copy;
mod plans;
mod transport;
mod watch;

pub use census::Census;
pub use plans::MoveProgress;
pub(crate) use plans::Movers;

use crate::{Store, StoreError, duty::Duty, store::Inner};
use assignment::{Assignment, Goal, Spot, Tally, goals};
use plans::is_spread;
use ripstop_catalog::{CatalogError, Stripe};
use ripstop_gateway::{NodeGauge, NodeState, Placement};
use ripstop_model::{PoolId, StripeId, TenantId};
use ripstop_runtime::Layout;
use std::{
    collections::BTreeSet,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};
use watch::Watch;

/// Stripes of the catalog looked at together.
const PAGE: usize = 256;
/// How often stripes are walked through once all are where they belong, if nothing calls for it before
/// ([`Watch`]): groups lose their parts as objects come and go.
const WALK_EVERY: Duration = Duration::from_hours(1);
/// How long after a walk that could not move everything the next one begins; twice as long after each
/// that moved nothing, up to the second.
const RETRY_AFTER: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(5));
/// How often a mover that waits looks whether it is still wanted, and at its nodes.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often a mover that gives way looks whether the pool still has a backlog.
const GIVE_WAY: Duration = Duration::from_millis(20);
/// How long it gives way for one fragment at most.
const GIVE_WAY_MAX: Duration = Duration::from_secs(1);

impl Store {
    /// From now on a pool's new stripes go where a plan says, and those stored before are brought
    /// there: no more than it takes for the groups to have their parts, at most
    /// [`Settings::move_rate_max`](crate::Settings) bytes each second, behind everything else: while the pool has a
    /// backlog, one fragment a second. A plan without groups ends that.
    ///
    /// Must be called within a tokio runtime. What the store has no pool of is passed over.
    pub fn follow(&self, pool: PoolId, placement: &Placement) {
        let Some(found) = self.pool(pool) else { return };
        found.place(placement.clone());
        let (rate, home_after) =
            (self.inner.settings.move_rate_max, self.inner.settings.home_after);
        let goals = if rate > 0 && found.layout() == Layout::Spread {
            goals(placement, |id| found.nodes().any(|(node, _)| node == id))
        } else {
            Vec::new()
        };
        let goals: Arc<[Goal]> = goals.into();
        let plan = self.inner.movers.replace(pool, goals.clone());
        if goals.is_empty() {
            return;
        }
        let (store, now) = (Arc::downgrade(&self.inner), ripstop_host::now());
        let watch = Watch::new(now, home_after);
        let mover = Mover { store, pool, plan, goals, rate, paid_until: now, watch };
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
    /// Has the pool's mover know if a stripe, fragments of which were just placed, is elsewhere than
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
    /// Bytes each second.
    rate: u64,
    /// Until when what was moved takes at this rate.
    paid_until: Instant,
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

/// What came of a walk, in fragments.
#[derive(Default)]
struct Walked {
    moved: u64,
    left: u64,
    /// Those of them whose node is out of service: there is no use in trying before it is back.
    waiting: u64,
}

impl Mover {
    async fn run(mut self) {
        let mut retry_after = RETRY_AFTER.0;
        while let Ok(next) = self.walk_and_rest(retry_after).await {
            retry_after = next;
        }
    }

    /// Walks, and waits until it is time for the next walk; answers how long after that one the
    /// following begins if something is left.
    async fn walk_and_rest(&mut self, retry_after: Duration) -> Result<Duration, Halt> {
        self.look()?;
        if !self.is_mine().await? {
            self.sleep_until(ripstop_host::now() + RETRY_AFTER.0).await?;
            return Ok(retry_after);
        }
        self.watch.walk_began(self.strays()?);
        let walked = match self.walk().await {
            Err(Halt::Failed(error)) => {
                tracing::warn!(pool = self.pool.0, %error, "stripes not brought to their nodes");
                Walked { left: 1, ..Walked::default() }
            }
            walked => walked?,
        };
        let Walked { moved, left, waiting } = walked;
        let retry_after = if moved > 0 { RETRY_AFTER.0 } else { retry_after };
        if moved > 0 {
            tracing::info!(pool = self.pool.0, moved, left, "moved fragments");
        }
        let now = ripstop_host::now();
        self.watch.walk_ended(now, left == 0);
        let may_rest = left == waiting;
        let end = now + if may_rest { WALK_EVERY } else { retry_after };
        let is_called = self.rest_until(end).await?;
        let is_first = is_called || may_rest;
        Ok(if is_first { RETRY_AFTER.0 } else { (retry_after * 2).min(RETRY_AFTER.1) })
    }

    /// The store, while it is there and follows this plan. Never kept while waiting: the store ends
    /// when its users have gone.
    fn store(&self) -> Result<Store, Halt> {
        let inner = self.store.upgrade().ok_or(Halt::Unwanted)?;
        let is_present = inner.movers.is_present(self.pool, self.plan);
        is_present.then(|| Store { inner, tenant: TenantId::ANYBODY }).ok_or(Halt::Unwanted)
    }

    /// Whether this store's mover is the one that walks. Where the catalog does not say so, it is not.
    async fn is_mine(&self) -> Result<bool, Halt> {
        let asked = self.store()?.is_mine(Duty::Move(self.pool)).await;
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
        self.watch.look(ripstop_host::now(), down);
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

    /// Sleeps until then, or until a walk is called for: whether that was before.
    async fn rest_until(&mut self, end: Instant) -> Result<bool, Halt> {
        loop {
            let now = ripstop_host::now();
            self.sleep_until(end.min(now + LOOK_EVERY)).await?;
            let now = ripstop_host::now();
            if now >= end {
                return Ok(false);
            }
            if self.watch.is_due(now, self.strays()?) {
                tracing::debug!(pool = self.pool.0, "looks for stripes to bring home");
                return Ok(true);
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
            return Err(Halt::Failed(StoreError::Busy { retry_after: RETRY_AFTER.0 }));
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

    /// Moves what of a stripe is not in its group, one fragment after the other. What belongs at a node
    /// that is out of service stays until it is back.
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
            let mut moves = goal.moves(&stripe);
            moves.retain(|(index, _)| !failed.contains(index));
            let Some(&(index, to)) = moves.iter().find(|(_, to)| self.watch.is_up(*to)) else {
                walked.left += moves.len() as u64;
                walked.waiting += moves.len() as u64;
                return Ok(());
            };
            match store.move_fragment(&pin, id, &stripe, index, to).await {
                Ok(bytes) => {
                    self.count(bytes, walked)?;
                    if moves.len() == 1 {
                        return Ok(());
                    }
                }
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
        self.paid_until = self.paid_until.max(ripstop_host::now()) + takes;
        walked.moved += 1;
        self.note(|progress, left| {
            progress.fragments_moved += 1;
            progress.bytes_moved += bytes;
            *left = left.saturating_sub(1);
        })
    }

    /// Waits until what was moved is paid for, and nobody else waits for the pool's nodes; for that so long at
    /// most, since a backlog may be there just because of what is to be moved.
    async fn give_way(&mut self) -> Result<(), Halt> {
        self.sleep_until(self.paid_until).await?;
        let end = ripstop_host::now() + GIVE_WAY_MAX;
        loop {
            let store = self.store()?;
            let pool = store.pool(self.pool).ok_or(Halt::Unwanted)?;
            if ripstop_host::now() >= end || pool.inspect(|machine| machine.load().backlog) == 0 {
                return Ok(());
            }
            drop(store);
            tokio::time::sleep(GIVE_WAY).await;
        }
    }
}
