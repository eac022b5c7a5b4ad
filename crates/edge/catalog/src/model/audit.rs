//! The model is its own auditor: it has no counts that could be wrong.

use super::{Model, held_by};
use crate::audit::Recount;
use crate::{Audit, Audited, CatalogError};
use async_trait::async_trait;
use ripstop_model::StripeId;
use std::collections::BTreeSet;

#[async_trait]
impl Audited for Model {
    async fn audit(&self) -> Result<Audit, CatalogError> {
        let state = self.state();
        let mut recount = Recount::default();
        for (id, stripe) in &state.stripes {
            let names = |held: BTreeSet<StripeId>| u64::from(held.contains(id));
            let objects = state.objects.values();
            let parts = state.parts.values();
            let holders = state.buckets.values().filter(|it| it.told_by == *id).count() as u64
                + objects.map(|it| names(held_by(&it.extents, Some(it.told_by)))).sum::<u64>()
                + parts.map(|it| names(held_by(&it.extents, None))).sum::<u64>();
            recount.stripe(*id, stripe, holders);
        }
        state.garbage.keys().for_each(|id| recount.garbage(*id));
        state.buckets.values().for_each(|bucket| recount.bucket(bucket));
        for ((bucket, key), object) in &state.objects {
            recount.object(bucket, key, object);
        }
        state.uploads.values().for_each(|upload| recount.upload(upload));
        for ((upload, _), part) in &state.parts {
            recount.part(upload, part);
        }
        for bucket in state.buckets.keys() {
            recount.usage(bucket, state.usage(bucket));
        }
        Ok(recount.finish())
    }
}
