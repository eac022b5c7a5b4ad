//! Garbage past its grace: its fragments are deleted, and then it is forgotten.

use crate::{
    Keeper,
    away::Away,
    leftovers,
    listing::Garbage,
    round::{Halt, Round},
};
use futures::StreamExt as _;
use ripstop_catalog::Change;
use ripstop_host::unix_ms;
use ripstop_model::StripeId;
use ripstop_store::StoreError;
use std::collections::BTreeSet;

/// Stripes whose fragments are being deleted at once.
const DELETES: usize = 16;
/// Most names that one stripe's telling is looked for at.
const OUTLIVED_MAX: usize = 500;

impl Keeper {
    /// Deletes the fragments of garbage older than the grace, and what is as old of fragments that
    /// moved; answers how many stripes are gone.
    pub async fn sweep_garbage(&self) -> Result<usize, StoreError> {
        Ok(sweep(&Round::by_hand(self)).await?)
    }

    /// The stripes that tell of deletions because of what these tell.
    async fn tombstones_of(&self, stripes: &[StripeId]) -> Result<BTreeSet<StripeId>, StoreError> {
        let (catalog, mut tombstones) = (self.catalog(), BTreeSet::new());
        for &id in stripes {
            for (bucket, key) in catalog.outlived_by(id, ("", ""), OUTLIVED_MAX).await? {
                let tombstone = catalog.tombstone(&bucket, &key).await?;
                tombstones.extend(tombstone.map(|tombstone| tombstone.told_by));
            }
        }
        Ok(tombstones)
    }

    /// Deletes stripes that told of deletions and need not any more: nobody reads them, so they
    /// need no grace.
    async fn sweep_tombstones(
        &self,
        stripes: BTreeSet<StripeId>,
        away: &Away,
    ) -> Result<(), StoreError> {
        let (catalog, mut gone) = (self.catalog(), Vec::new());
        for id in stripes {
            let before = StripeId(id.0.saturating_sub(1));
            let found = catalog.garbage(u64::MAX, before, 1).await?.pop();
            if let Some((_, stripe)) =
                found.filter(|(found, it)| *found == id && it.payload_len == 0)
                && away.delete_stripe(self, id, &stripe).await
            {
                gone.push(id);
            }
        }
        if !gone.is_empty() {
            let change = self.under_lease(Change::ForgetGarbage { stripes: gone });
            catalog.commit_one(unix_ms(), change).await?;
        }
        Ok(())
    }
}

/// Sweeps once; answers how many stripes are gone.
pub(crate) async fn sweep(round: &Round) -> Result<usize, Halt> {
    let due_ms = unix_ms().saturating_sub(round.keeper()?.grace_ms());
    let away = &Away::default();
    leftovers::sweep(round, due_ms, away).await?;
    let (mut garbage, mut swept) = (Garbage::until(due_ms), 0);
    let mut is_all = true;
    while let Some(page) = round.page(&mut garbage).await? {
        let keeper = &round.keeper()?;
        let deleted: Vec<Option<StripeId>> = futures::stream::iter(page)
            .map(|(id, stripe)| async move {
                away.delete_stripe(keeper, id, &stripe).await.then_some(id)
            })
            .buffer_unordered(DELETES)
            .collect()
            .await;
        is_all &= deleted.iter().all(Option::is_some);
        let stripes: Vec<StripeId> = deleted.into_iter().flatten().collect();
        swept += stripes.len();
        let tombstones = keeper.tombstones_of(&stripes).await?;
        let change = keeper.under_lease(Change::ForgetGarbage { stripes });
        keeper.catalog().commit_one(unix_ms(), change).await?;
        keeper.sweep_tombstones(tombstones, away).await?;
    }
    if is_all {
        round.keeper()?.keeping().lineage().emptied(due_ms);
    }
    Ok(swept)
}
