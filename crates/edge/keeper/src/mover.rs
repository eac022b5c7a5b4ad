//! Brings what is stored to where a plan wants it, behind everything else.

mod census;
mod copy;
mod plans;

pub use plans::MoveProgress;
pub(crate) use plans::Movers;

use crate::{
    Keeper,
    listing::Stripes,
    round::{Halt, Job, LOOK_EVERY, Pace, Round, begin_at},
};
use ripstop_catalog::Stripe;
use ripstop_gateway::{NodeGauge, NodeState, Placement};
use ripstop_model::{PoolId, StripeId, Timestamp};
use ripstop_placement::moving::{
    Assignment, Errand, FragmentMove, Goal, StrayWatch, Tally, Walked, goals,
};
use ripstop_runtime::Layout;
use ripstop_store::{is_spread, spot};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

impl Keeper {
    /// From now on a pool's new stripes go where a plan says, and those stored before are brought
    /// there: no more than it takes for the groups to have their parts, at most
    /// [`KeeperSettings::move_rate_max`](crate::KeeperSettings) bytes each second, behind
    /// everything else: while the pool has a backlog, one fragment a second. A plan without groups
    /// ends that.
    ///
    /// Must be called within a tokio runtime. Pools that the store does not have are passed over.
    pub fn follow(&self, pool: PoolId, placement: &Placement) {
        let Some(found) = self.keeping().pool(pool) else { return };
        found.place(placement.clone());
        let rate = self.settings().move_rate_max;
        let goals = if rate > 0 && found.layout() == Layout::Spread {
            let groups = placement.groups.iter().map(|group| (group.weight, &*group.nodes));
            goals(groups, |id| found.nodes().any(|(node, _)| node == id))
        } else {
            Vec::new()
        };
        let goals: Arc<[Goal]> = goals.into();
        let plan = self.movers().replace(pool);
        self.keeping().strays().want(pool, goals.clone());
        if goals.is_empty() {
            return;
        }
        let (begun, home_after) = (ripstop_host::now(), self.settings().home_after);
        let watch = StrayWatch::new(Timestamp::ZERO, home_after);
        let mover = Mover { pool, plan, goals, begun, is_begun: false, watch };
        begin_at(self, Pace::of(rate), mover);
    }

    /// Lets the pool's mover know if a stripe, fragments of which were just placed, is not where
    /// its plan wants it.
    pub(crate) async fn note_placed(&self, id: StripeId) {
        match self.catalog().stripes(&[id]).await {
            Ok(mut found) => {
                let found = found.pop().flatten().map(|stripe| (id, stripe));
                let strays = self.keeping().strays();
                strays.note(&strays.of(found.as_slice()));
            }
            Err(error) => tracing::debug!(stripe = %id, %error, "the next walk finds it"),
        }
    }
}

/// Brings the stripes of one pool to the groups of one plan.
struct Mover {
    pool: PoolId,
    plan: u64,
    goals: Arc<[Goal]>,
    /// When its clock shows zero.
    begun: Instant,
    /// Whether it has begun to look when it should walk.
    is_begun: bool,
    watch: StrayWatch,
}

impl Job for Mover {
    const NAME: &'static str = "bringing stripes to their nodes";
    const IS_UPKEEP: bool = true;

    /// Until it looks again whether it is wanted, and at its nodes.
    fn pause(&mut self) -> Duration {
        if !std::mem::replace(&mut self.is_begun, true) {
            return Duration::ZERO;
        }
        match self.watch.next().since(Timestamp::ZERO).saturating_sub(self.passed()) {
            // A walk is due that did not begin.
            Duration::ZERO => LOOK_EVERY,
            left => left.min(LOOK_EVERY),
        }
    }

    fn is_due(&mut self, keeper: &Keeper) -> Result<bool, Halt> {
        self.look(keeper)?;
        let (now, strays) = (self.now(), keeper.keeping().strays().strayed(self.pool));
        let is_due = self.watch.is_due(now, strays);
        if is_due && now < self.watch.next() {
            tracing::debug!(pool = self.pool.0, "looks for stripes to bring home");
        }
        Ok(is_due)
    }

    async fn turn(&mut self, round: &Round) -> Result<(), Halt> {
        let strays = self.keeper(round)?.keeping().strays().strayed(self.pool);
        self.watch.walk_began(self.now(), strays);
        let walked = match self.walk(round).await {
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
        Ok(())
    }
}

impl Mover {
    fn passed(&self) -> Duration {
        ripstop_host::since(self.begun)
    }

    /// The time by its clock.
    fn now(&self) -> Timestamp {
        Timestamp::ZERO + self.passed()
    }

    /// Whether the pool still follows this plan.
    fn is_present(&self, keeper: &Keeper) -> Result<(), Halt> {
        let is_present = keeper.movers().is_present(self.pool, self.plan);
        is_present.then_some(()).ok_or(Halt::Unwanted)
    }

    /// The keeper, while somebody has it and the pool follows this plan.
    fn keeper(&self, round: &Round) -> Result<Keeper, Halt> {
        let keeper = round.keeper()?;
        self.is_present(&keeper)?;
        Ok(keeper)
    }

    /// Looks which of the plan's nodes are in service.
    fn look(&mut self, keeper: &Keeper) -> Result<(), Halt> {
        self.is_present(keeper)?;
        let pool = keeper.keeping().pool(self.pool).ok_or(Halt::Unwanted)?;
        let is_wanted =
            |node: &NodeGauge| self.goals.iter().any(|goal| goal.nodes.contains(&node.id));
        let down = pool.inspect(|machine| {
            let down = machine.nodes().filter(|node| node.state == NodeState::Down);
            down.filter(is_wanted).map(|node| node.id).collect()
        });
        self.watch.look(self.now(), down);
        Ok(())
    }

    /// Counts what was done, even if another plan has come meanwhile.
    fn note(
        &self,
        round: &Round,
        change: impl FnOnce(&mut MoveProgress, &mut u64),
    ) -> Result<(), Halt> {
        round.keeper()?.movers().note(self.pool, self.plan, change);
        Ok(())
    }

    /// The next stripes of the pool that are spread over nodes; `None` after the last.
    async fn page(
        &self,
        round: &Round,
        stripes: &mut Stripes,
    ) -> Result<Option<Vec<(StripeId, Stripe)>>, Halt> {
        self.keeper(round)?;
        let mine =
            |(_, stripe): &(StripeId, Stripe)| stripe.pool() == self.pool && is_spread(stripe);
        let page = round.page(stripes).await?;
        Ok(page.map(|page| page.into_iter().filter(mine).collect()))
    }

    /// Counts what is where, decides where it belongs, and brings it there.
    async fn walk(&mut self, round: &Round) -> Result<Walked, Halt> {
        let (mut stripes, mut tally) = (Stripes::default(), Tally::new(self.goals.to_vec()));
        while let Some(page) = self.page(round, &mut stripes).await? {
            for (_, stripe) in &page {
                tally.note(spot(stripe));
            }
        }
        let mut assignment: Assignment = tally.assign();
        self.note(round, |_, left| *left = assignment.fragments())?;
        let (mut stripes, mut walked) = (Stripes::default(), Walked::default());
        while let Some(page) = self.page(round, &mut stripes).await? {
            for (id, stripe) in page {
                self.note(round, |progress, _| progress.stripes_seen += 1)?;
                if let Some(goal) = assignment.next(&spot(&stripe)).cloned() {
                    self.bring(round, id, goal, &mut walked).await?;
                }
            }
        }
        drop(self.keeper(round)?);
        self.note(round, |progress, left| {
            *left = walked.left;
            progress.walks += u64::from(walked.left == 0);
        })?;
        Ok(walked)
    }

    /// Moves what of a stripe is not in its group, one fragment after the other. What belongs at a
    /// node that is out of service stays until it is back.
    async fn bring(
        &mut self,
        round: &Round,
        id: StripeId,
        goal: Goal,
        walked: &mut Walked,
    ) -> Result<(), Halt> {
        let mut errand = Errand::new(goal);
        loop {
            self.give_way(round).await?;
            let keeper = self.keeper(round)?;
            let Some(pin) = keeper.pins().try_pin(id).map(Arc::new) else {
                // It is still being written, or being mended.
                walked.left += 1;
                return Ok(());
            };
            let found = keeper.catalog().stripes(&[id]).await?.pop().flatten();
            let Some(stripe) = found else { return Ok(()) };
            let next = errand.next(&self.watch, stripe.n, &stripe.nodes, walked);
            let Some(FragmentMove { index, to, is_last }) = next else { return Ok(()) };
            match keeper.move_fragment(&pin, id, &stripe, index, to).await {
                Ok(bytes) => {
                    self.count(round, bytes, walked)?;
                    if is_last {
                        return Ok(());
                    }
                }
                Err(error) => {
                    tracing::debug!(stripe = %id, index, %error, "not moved yet");
                    errand.failed(index, walked);
                    self.note(round, |progress, _| progress.failed += 1)?;
                }
            }
        }
    }

    fn count(&self, round: &Round, bytes: u64, walked: &mut Walked) -> Result<(), Halt> {
        round.pay(bytes);
        walked.moved += 1;
        self.note(round, |progress, left| {
            progress.fragments_moved += 1;
            progress.bytes_moved += bytes;
            *left = left.saturating_sub(1);
        })
    }

    /// Waits until the round may move another fragment.
    async fn give_way(&mut self, round: &Round) -> Result<(), Halt> {
        let pool = self.keeper(round)?.keeping().pool(self.pool).ok_or(Halt::Unwanted)?.clone();
        round.give_way(&pool, |keeper| self.look(keeper)).await
    }
}
