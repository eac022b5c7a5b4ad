use crate::{Store, StoreError, clock::unix_ms, store::Inner};
use ripstop_catalog::Change;
use ripstop_model::{StripeId, TenantId};
use ripstop_runtime::Purpose;
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

/// Most stripes that wait to be mended; what is beyond them waits for the next survey.
const WAITING_MAX: usize = 100_000;
/// How long after a failed mend the waiting stripes are tried again.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// How often the catalog is surveyed for stripes that lack fragments; the first time at the start.
const SURVEY_EVERY: Duration = Duration::from_hours(1);
/// Stripes of the catalog looked at together.
const PAGE: usize = 256;

/// Stripes in force that lack fragments: written while nodes were down or slow, or answered and left.
#[derive(Debug, Default)]
pub(crate) struct Mends {
    waiting: Mutex<BTreeSet<StripeId>>,
}

impl Mends {
    /// Has a stripe mended soon.
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
}

/// Starts mending, one stripe at a time and behind everything else, until the store is gone.
pub(crate) fn spawn(store: &Store) {
    tokio::spawn(mend(Arc::downgrade(&store.inner)));
}

async fn mend(store: Weak<Inner>) {
    let mut survey_at = tokio::time::Instant::now();
    loop {
        let Some(inner) = store.upgrade() else { return };
        let store_now = Store { inner, tenant: TenantId::ANYBODY };
        if tokio::time::Instant::now() >= survey_at {
            survey_at += SURVEY_EVERY;
            if let Err(error) = store_now.survey().await {
                tracing::warn!(%error, "catalog not surveyed for stripes to mend");
            }
        }
        let mended = store_now.mend_waiting().await;
        if mended > 0 {
            tracing::info!(stripes = mended, "mended stripes that lacked fragments");
        }
        drop(store_now);
        tokio::time::sleep(RETRY_AFTER).await;
    }
}

impl Store {
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

    /// Tries every stripe once that was written without all its fragments; answers how many are whole
    /// now. It is done every few seconds anyway.
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
        let _share = self.inner.memory.acquire(Purpose::Background, place.memory()).await;
        for (index, node) in pool.mend(&place, &lacking).await? {
            let change = Change::PlaceFragment { stripe: id, index, node: Some(node) };
            self.inner.catalog.commit(unix_ms(), change).await?;
        }
        self.inner.note_placed(id).await;
        Ok(())
    }
}
