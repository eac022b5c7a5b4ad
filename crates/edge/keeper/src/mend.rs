//! Stripes that lack fragments: found by a survey of the catalog, or told of as their writes end.

mod pause;
mod waiting;

pub(crate) use waiting::Mends;

use crate::{
    Keeper,
    listing::Stripes,
    round::{Halt, Job, Round},
};
use pause::{Pause, RETRY_AFTER, Seen};
use ripstop_catalog::Change;
use ripstop_gateway::{NodeGauge, NodeState};
use ripstop_host::unix_ms;
use ripstop_model::StripeId;
use ripstop_runtime::{Pool, Purpose, StripePlace};
use ripstop_store::StoreError;
use std::time::{Duration, Instant};

/// How often the catalog is surveyed for stripes that lack fragments; the first time at the start.
const SURVEY_EVERY: Duration = Duration::from_hours(1);

/// Mends, one stripe at a time and behind everything else.
pub(crate) struct Mending {
    is_begun: bool,
    survey_at: Instant,
    pause: Pause,
}

impl Mending {
    pub(crate) fn new() -> Self {
        Self { is_begun: false, survey_at: ripstop_host::now(), pause: Pause::new() }
    }
}

impl Job for Mending {
    const NAME: &'static str = "mending";
    const IS_UPKEEP: bool = true;

    fn pause(&mut self) -> Duration {
        if std::mem::replace(&mut self.is_begun, true) { RETRY_AFTER } else { Duration::ZERO }
    }

    fn is_due(&mut self, keeper: &Keeper) -> Result<bool, Halt> {
        let now = ripstop_host::now();
        Ok(now >= self.survey_at || self.pause.is_over(now, &keeper.seen()))
    }

    /// The survey of the gateway that has the lease finds what waits here.
    fn stand_aside(&mut self, keeper: &Keeper) {
        keeper.mends().clear();
        if ripstop_host::now() >= self.survey_at {
            self.survey_at += SURVEY_EVERY;
        }
    }

    async fn turn(&mut self, round: &Round) -> Result<(), Halt> {
        if ripstop_host::now() >= self.survey_at {
            self.survey_at += SURVEY_EVERY;
            match survey(round).await {
                Err(Halt::Failed(error)) => {
                    tracing::warn!(%error, "catalog not surveyed for stripes to mend");
                }
                other => other?,
            }
        }
        let keeper = round.keeper()?;
        let seen = keeper.seen();
        if self.pause.is_over(ripstop_host::now(), &seen) {
            let mended = keeper.mend_waiting().await;
            if mended > 0 {
                tracing::info!(stripes = mended, "mended stripes that lacked fragments");
            }
            let after = Seen { waiting: keeper.mends().len(), ..seen };
            self.pause.passed(ripstop_host::now(), mended, after);
        }
        Ok(())
    }
}

/// Notes every stripe that the catalog knows to lack fragments.
async fn survey(round: &Round) -> Result<(), Halt> {
    let mut stripes = Stripes::default();
    while let Some(page) = round.page(&mut stripes).await? {
        let keeper = round.keeper()?;
        for (id, _) in page.iter().filter(|(_, stripe)| stripe.nodes.contains(&None)) {
            keeper.mends().add(*id);
        }
    }
    Ok(())
}

/// Whether a pool has a node that could take a fragment which a stripe lacks.
fn has_room(pool: &Pool, place: &StripePlace) -> bool {
    if place.cut.is_together() {
        return true;
    }
    pool.inspect(|machine| {
        let free =
            |node: NodeGauge| node.state == NodeState::Up && !place.nodes.contains(&Some(node.id));
        machine.nodes().any(free)
    })
}

impl Keeper {
    fn seen(&self) -> Seen {
        let up = |pool: &Pool| {
            pool.inspect(|machine| {
                let up = machine.nodes().filter(|node| node.state == NodeState::Up);
                up.map(|node| node.id).collect::<Vec<_>>()
            })
        };
        let nodes_up = self.keeping().pools().iter().flat_map(up).collect();
        Seen { waiting: self.mends().len(), nodes_up }
    }

    /// Tries every stripe once that was written without all its fragments; answers how many are
    /// whole now. It is done by itself, with pauses that grow while nothing can be mended.
    pub async fn mend_waiting(&self) -> usize {
        let (mut at, mut mended) = (StripeId(0), 0);
        while let Some(id) = self.mends().after(at) {
            at = id;
            match self.mend_stripe(id).await {
                Ok(()) => {
                    self.mends().remove(id);
                    mended += 1;
                }
                Err(error) => tracing::debug!(stripe = %id, %error, "not mended yet"),
            }
        }
        mended
    }

    /// Makes the fragments that a stripe is known to lack.
    async fn mend_stripe(&self, id: StripeId) -> Result<(), StoreError> {
        // What is being moved would have two of its fragments at one node.
        let Some(_pin) = self.pins().try_pin(id) else {
            return Err(StoreError::Busy { retry_after: RETRY_AFTER });
        };
        let Some(Some(stripe)) = self.catalog().stripes(&[id]).await?.pop() else {
            return Ok(());
        };
        let Ok((pool, place)) = self.keeping().locate(id, &stripe) else { return Ok(()) };
        let lacking = (0..).zip(&place.nodes).filter(|(_, node)| node.is_none());
        let lacking: Vec<_> = lacking.map(|(index, _)| (index, None)).collect();
        if lacking.is_empty() {
            return Ok(());
        }
        // Without a place for it, nothing is read and nobody is asked.
        if !has_room(pool, &place) {
            return Err(StoreError::Unavailable { stripe: id });
        }
        let _share = self.keeping().memory().acquire(Purpose::Background, place.memory()).await;
        for (index, node) in pool.mend(&place, &lacking).await? {
            let change = Change::PlaceFragment { stripe: id, index, node: Some(node) };
            let change = self.under_lease(change);
            self.catalog().commit_one(unix_ms(), change).await?;
        }
        self.note_placed(id).await;
        Ok(())
    }
}
