use crate::{Store, StoreError, clock::unix_ms, store::Inner};
use ripstop_catalog::Change;
use ripstop_gateway::{NodeGauge, NodeState};
use ripstop_model::{NodeId, StripeId, TenantId};
use ripstop_runtime::{Pool, Purpose, StripePlace};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::{Duration, Instant},
};

/// Most stripes that wait to be mended; what is beyond them waits for the next survey.
const WAITING_MAX: usize = 100_000;
/// How often the mender looks for something to mend, and the first pause after a pass in which
/// nothing could be mended.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// The longest such pause: each is twice as long as the one before.
const RETRY_AFTER_MAX: Duration = Duration::from_mins(5);
/// How often the catalog is surveyed for stripes that lack fragments; the first time at the start.
const SURVEY_EVERY: Duration = Duration::from_hours(1);
/// Stripes of the catalog looked at together.
const PAGE: usize = 256;

/// Stripes in force that lack fragments: written while nodes were down or slow, or answered and
/// left.
#[derive(Debug, Default)]
pub(crate) struct Mends {
    waiting: Mutex<BTreeSet<StripeId>>,
}

impl Mends {
    /// Asks for a stripe to be mended soon.
    pub(crate) fn add(&self, id: StripeId) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < WAITING_MAX {
            waiting.insert(id);
        }
    }

    fn after(&self, id: StripeId) -> Option<StripeId> {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.range(StripeId(id.0.saturating_add(1))..).next().copied()
    }

    fn remove(&self, id: StripeId) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    fn clear(&self) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn len(&self) -> usize {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// When stripes that could not be mended are tried again: later and later as long as nothing
/// changes, at once when a node goes or comes, or more stripes wait.
#[derive(Debug)]
struct Pause {
    len: Duration,
    until: Instant,
    /// How things stood at the last pass.
    seen: Option<Seen>,
}

/// What decides whether another pass could do better than the one before.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Seen {
    waiting: usize,
    nodes_up: Vec<NodeId>,
}

impl Pause {
    fn new() -> Self {
        Self { len: RETRY_AFTER, until: ripstop_host::now(), seen: None }
    }

    fn is_over(&self, now: Instant, seen: &Seen) -> bool {
        seen.waiting > 0 && (now >= self.until || self.seen.as_ref() != Some(seen))
    }

    /// A pass ended `now`, after which things stand like this.
    fn passed(&mut self, now: Instant, mended: usize, seen: Seen) {
        let as_before = self.seen.as_ref().is_some_and(|before| before.nodes_up == seen.nodes_up);
        self.len =
            if mended > 0 || !as_before { RETRY_AFTER } else { RETRY_AFTER_MAX.min(self.len * 2) };
        (self.until, self.seen) = (now + self.len, Some(seen));
    }
}

/// Starts mending, one stripe at a time and behind everything else, until the store is gone.
pub(crate) fn spawn(store: &Store) {
    ripstop_host::spawn(mend(Arc::downgrade(&store.inner)));
}

async fn mend(store: Weak<Inner>) {
    let (mut survey_at, mut pause) = (ripstop_host::now(), Pause::new());
    loop {
        let Some(inner) = store.upgrade() else { return };
        let store_now = Store { inner, tenant: TenantId::ANYBODY };
        if ripstop_host::now() >= survey_at {
            survey_at += SURVEY_EVERY;
            let surveyed = match store_now.has_upkeep().await {
                Ok(true) => store_now.survey().await,
                other => other.map(drop),
            };
            if let Err(error) = surveyed {
                tracing::warn!(%error, "catalog not surveyed for stripes to mend");
            }
        }
        if store_now.inner.mends.len() > 0 && store_now.has_upkeep().await.is_ok_and(|has| !has) {
            // The survey of the one that has it finds them.
            store_now.inner.mends.clear();
        }
        let seen = store_now.seen();
        if pause.is_over(ripstop_host::now(), &seen) {
            let mended = store_now.mend_waiting().await;
            if mended > 0 {
                tracing::info!(stripes = mended, "mended stripes that lacked fragments");
            }
            let after = Seen { waiting: store_now.inner.mends.len(), ..seen };
            pause.passed(ripstop_host::now(), mended, after);
        }
        drop(store_now);
        tokio::time::sleep(RETRY_AFTER).await;
    }
}

impl Store {
    fn seen(&self) -> Seen {
        let up = |pool: &Pool| {
            pool.inspect(|machine| {
                let up = machine.nodes().filter(|node| node.state == NodeState::Up);
                up.map(|node| node.id).collect::<Vec<_>>()
            })
        };
        let nodes_up = self.inner.pools.iter().flat_map(up).collect();
        Seen { waiting: self.inner.mends.len(), nodes_up }
    }

    /// Whether a pool has a node that could take a fragment which a stripe lacks.
    fn has_room(pool: &Pool, place: &StripePlace) -> bool {
        if place.cut.is_together() {
            return true;
        }
        pool.inspect(|machine| {
            let free = |node: NodeGauge| {
                node.state == NodeState::Up && !place.nodes.contains(&Some(node.id))
            };
            machine.nodes().any(free)
        })
    }

    /// Notes every stripe that the catalog knows to lack fragments.
    async fn survey(&self) -> Result<(), StoreError> {
        let mut after = StripeId(0);
        loop {
            let page = self.inner.catalog.stripes_after(after, PAGE).await?;
            let Some(&(last, _)) = page.last() else { return Ok(()) };
            after = last;
            for (id, _) in page.iter().filter(|(_, stripe)| stripe.nodes.contains(&None)) {
                self.inner.mends.add(*id);
            }
        }
    }

    /// Tries every stripe once that was written without all its fragments; answers how many are
    /// whole now. It is done by itself, with pauses that grow while nothing can be mended.
    pub async fn mend_waiting(&self) -> usize {
        let (mut at, mut mended) = (StripeId(0), 0);
        while let Some(id) = self.inner.mends.after(at) {
            at = id;
            match self.mend_stripe(id).await {
                Ok(()) => {
                    self.inner.mends.remove(id);
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
        let Some(_pin) = self.inner.pins.try_pin(id) else {
            return Err(StoreError::Busy { retry_after: RETRY_AFTER });
        };
        let Some(Some(stripe)) = self.inner.catalog.stripes(&[id]).await?.pop() else {
            return Ok(());
        };
        let Ok((pool, place)) = self.locate(id, &stripe) else { return Ok(()) };
        let lacking = (0..).zip(&place.nodes).filter(|(_, node)| node.is_none());
        let lacking: Vec<_> = lacking.map(|(index, _)| (index, None)).collect();
        if lacking.is_empty() {
            return Ok(());
        }
        // Without a place for it, nothing is read and nobody is asked.
        if !Self::has_room(pool, &place) {
            return Err(StoreError::Unavailable { stripe: id });
        }
        let _share = self.inner.memory.acquire(Purpose::Background, place.memory()).await;
        for (index, node) in pool.mend(&place, &lacking).await? {
            let change = Change::PlaceFragment { stripe: id, index, node: Some(node) };
            let change = self.inner.under_lease(change);
            self.inner.catalog.commit_one(unix_ms(), change).await?;
        }
        self.inner.note_placed(id).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(waiting: usize, up: &[u16]) -> Seen {
        Seen { waiting, nodes_up: up.iter().copied().map(NodeId).collect() }
    }

    #[test]
    fn pauses_grow_while_nothing_changes_and_end_when_a_node_comes_back() {
        let (mut pause, mut now) = (Pause::new(), Instant::now());
        let down = seen(7, &[1, 2]);
        let mut pauses_s = Vec::new();
        for _ in 0..9 {
            while !pause.is_over(now, &down) {
                now += Duration::from_secs(1);
            }
            pause.passed(now, 0, down.clone());
            pauses_s.push(pause.len.as_secs());
        }
        assert_eq!(pauses_s, [5, 10, 20, 40, 80, 160, 300, 300, 300]);
        assert!(pause.is_over(now, &seen(7, &[1, 2, 3])), "a node came back");
        assert!(pause.is_over(now, &seen(8, &[1, 2])), "one more stripe waits");
        assert!(!pause.is_over(now, &down));
        pause.passed(now, 1, down.clone());
        assert_eq!(pause.len, RETRY_AFTER, "some could be mended");
        assert!(!Pause::new().is_over(now, &seen(0, &[1])), "there is nothing to mend");
    }
}
